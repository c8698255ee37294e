//! Programs seen from outside: whether every thread of a client sleeps, so that nothing comes of it until it is
//! answered.
//!
//! A look at a thread is its state and how often it has been put on a processor (`stat` and `schedstat` of
//! `/proc/PID/task/TID`). Who was asleep in two looks and was not put on a processor between them slept all the time
//! between. If this holds for all threads, then when the last round began nobody could wake anybody: the program waits
//! for others, or for its own timers.
//!
//! Looks are what serving costs, `stat` above all. So a round begins with who was awake last and ends with who is awake
//! now; who sleeps on as it did needs only `wchan` (nothing there: it may run) and `schedstat`, as none changes how it
//! sleeps, begins a thread or begets a child without running.
//!
//! A program is a process, its forks (ancestors with the same command line), and all of their descendants: its jobs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;

/// A thread polls that has used so much processor time since it was last seen to sleep on from one look to the next,
/// or since its program's last request \[ns]. `assumed`: longer than programs work between two requests, and short for
/// who waits.
const POLLS: u64 = 5_000_000_000;

/// What a look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// All of it sleeps, and has slept since the look before if that found the same.
    Asleep,
    /// A thread of it is in a state (as `/proc` has it), and has worked since the look before or works.
    Awake(u32, u8),
    /// Threads of it begin and end.
    Changes,
    /// It works all the time, and asks for nothing.
    Polls(String),
    /// It cannot be seen any more.
    Gone,
}

/// A program that is watched.
pub(crate) struct Program {
    root: u32,
    /// By thread.
    threads: BTreeMap<u32, Thread>,
    /// The tree of processes is to be walked again.
    changed: bool,
    /// A thread is there that cannot be seen.
    hidden: bool,
    /// Who was awake in the last look.
    awake: Option<u32>,
}

struct Thread {
    stat: File,
    schedstat: File,
    children: File,
    wchan: Option<File>,
    /// It has been seen where it waits: not every kernel says so, and not to everybody.
    tells_where: bool,
    /// Its children when the tree was walked.
    begot: Vec<u8>,
    /// Threads of its process then.
    siblings: u64,
    /// How often it had been put on a processor at the last look, if it slept then.
    slept: Option<u64>,
    /// Its processor time when it was first seen not to sleep on \[ns].
    awake_from: Option<u64>,
}

/// What a look at a thread has shown.
enum Seen {
    /// It sleeps, as it did at the look before.
    Sleeps,
    /// It is in a state, as `/proc` has it; it may have run since the look before.
    In(u8),
    /// It works all the time.
    Works,
}

impl Program {
    /// The process at the root of a program that a process belongs to.
    pub fn root_of(pid: u32) -> u32 {
        let command = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|command| !command.is_empty());
        let (mut root, own) = (pid, command(pid));
        while let Some(parent) = parent_of(root)
            && parent > 1
            && parent != process::id()
            && own.is_some()
            && command(parent) == own
        {
            root = parent;
        }
        root
    }

    /// Watches the program of a root; fails with what keeps it from being seen, which is nothing if it has ended.
    pub fn watch(root: u32) -> Result<Program, Option<String>> {
        if root == process::id() {
            return Err(Some("is part of the server".into()));
        }
        let mut program = Program { root, threads: BTreeMap::new(), changed: true, hidden: false, awake: None };
        let mut seen = program.walk() && !program.hidden;
        // A kernel that does not count has zeros; the first thread of a client has run.
        seen &= program.threads.get(&root).and_then(Thread::ran).is_some_and(|(_, runs)| runs > 0);
        if !seen {
            let is_there = Path::new(&format!("/proc/{root}/task")).exists();
            let why = "has a process whose threads cannot be seen (/proc/PID/task/TID/schedstat)";
            return Err(is_there.then(|| format!("{} {why}", program.name())));
        }
        Ok(program)
    }

    /// Why its sleep says nothing, if it passes on what others ask for.
    pub fn passes_on(&self) -> Option<String> {
        let serves = |target: &str| target == "/dev/fuse" || target.starts_with("/dev/nbd");
        self.threads.keys().find_map(|thread| {
            let files = match fs::read_dir(format!("/proc/{thread}/fd")) {
                Ok(files) => files,
                // A thread that has ended has none.
                Err(_) if !Path::new(&format!("/proc/{thread}")).exists() => return None,
                Err(_) => return Some("has files that cannot be seen (/proc/PID/fd)".into()),
            };
            let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
            let found = targets.find(|target| target.to_str().is_some_and(serves))?;
            Some(format!("passes on what others ask for ({})", found.display()))
        })
    }

    /// It has been heard of: whoever is awake now may work for as long as another one.
    pub fn heard(&mut self) {
        self.threads.values_mut().for_each(|thread| thread.awake_from = None);
    }

    /// Looks at every thread.
    pub fn look(&mut self) -> Look {
        if self.changed && !self.walk() {
            return Look::Gone;
        }
        if self.changed {
            return Look::Changes;
        }
        // Who was awake is so still, mostly.
        let awake = self.awake.take().and_then(|id| Some((id, self.threads.get_mut(&id)?.look())));
        let rest = self.threads.iter_mut().map(|(id, thread)| (*id, thread.look()));
        let Some((id, seen)) = awake.into_iter().chain(rest).find(|(_, seen)| !matches!(seen, Some(Seen::Sleeps)))
        else {
            return Look::Asleep;
        };
        self.awake = Some(id);
        match seen {
            Some(Seen::Works) => Look::Polls(format!("thread {id} works on and on and asks for nothing")),
            Some(Seen::In(state)) => Look::Awake(id, state),
            _ => {
                self.changed = true;
                Look::Changes
            }
        }
    }

    /// What it does, in words.
    pub fn says(look: &Look) -> String {
        match look {
            Look::Awake(id, state) => format!("thread {id} {}", in_words(*state)),
            _ => "threads of it begin and end".into(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.root)).unwrap_or_default();
        format!("{} (process {})", name.trim_end(), self.root)
    }

    /// Finds all threads of the tree of processes, but those of the server; returns whether the root is there and can
    /// be seen.
    fn walk(&mut self) -> bool {
        let mut before = std::mem::take(&mut self.threads);
        let mut processes = vec![self.root];
        self.changed = false;
        while let Some(pid) = processes.pop() {
            let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            let tasks = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
            for id in tasks.collect::<Vec<u32>>() {
                let thread = before.remove(&id).or_else(|| Thread::open(pid, id));
                let Some(children) = thread.and_then(|mut thread| {
                    let children = thread.recount()?;
                    self.threads.insert(id, thread);
                    Some(children)
                }) else {
                    // It has ended meanwhile, or nobody may see it.
                    self.changed = true;
                    self.hidden |= Path::new(&format!("/proc/{pid}/task/{id}")).exists();
                    continue;
                };
                processes.extend(children.into_iter().filter(|child| *child != process::id()));
            }
        }
        self.threads.contains_key(&self.root)
    }
}

impl Thread {
    fn open(pid: u32, id: u32) -> Option<Thread> {
        let open = |name| File::open(format!("/proc/{pid}/task/{id}/{name}")).ok();
        let (stat, schedstat, children) = (open("stat")?, open("schedstat")?, open("children")?);
        let mut thread = Thread {
            stat,
            schedstat,
            children,
            wchan: open("wchan"),
            tells_where: false,
            begot: Vec::new(),
            siblings: 0,
            slept: None,
            awake_from: None,
        };
        thread.recount()?;
        Some(thread)
    }

    /// Takes down how many there are of its process and what it has begotten; returns the latter.
    fn recount(&mut self) -> Option<Vec<u32>> {
        self.siblings = self.state()?.1;
        self.begot = whole(&self.children)?;
        let children = std::str::from_utf8(&self.begot).ok()?.split_whitespace();
        Some(children.filter_map(|child| child.parse().ok()).collect())
    }

    /// Whether it sleeps and has not run since the last look; none where it or its process is not as it was.
    fn look(&mut self) -> Option<Seen> {
        let waits = self.tells_where && self.waits();
        // After it: who has run since then was put on a processor.
        let (cpu, runs) = self.ran()?;
        if waits && self.slept == Some(runs) {
            self.awake_from = None;
            return Some(Seen::Sleeps);
        }
        if self.tells_where && !waits {
            self.slept = None;
            return Some(self.works(b'R', cpu));
        }
        let (state, siblings) = self.state()?;
        if siblings != self.siblings || whole(&self.children)? != self.begot {
            return None;
        }
        // Who waits for a disk of the machine goes on by itself. Who was put on a processor meanwhile may have been
        // seen before.
        let sleeps = matches!(state, b'S' | b'Z' | b'X' | b'I');
        let slept = (sleeps && self.ran()?.1 == runs).then_some(runs);
        let before = std::mem::replace(&mut self.slept, slept);
        if !sleeps {
            return Some(self.works(state, cpu));
        }
        self.tells_where = self.tells_where || self.waits();
        if slept.is_none() || slept != before {
            // Who asks a controller on and on how far it is sleeps in between, never for long.
            return Some(self.works(state, cpu));
        }
        self.awake_from = None;
        Some(Seen::Sleeps)
    }

    /// Whether it is said to wait somewhere: then it neither runs nor is about to.
    fn waits(&self) -> bool {
        self.wchan.as_ref().and_then(whole).is_some_and(|place| !place.is_empty() && place != b"0")
    }

    /// It is awake, and has had so much processor time \[ns].
    fn works(&mut self, state: u8, cpu: u64) -> Seen {
        let from = *self.awake_from.get_or_insert(cpu);
        if cpu.saturating_sub(from) > POLLS { Seen::Works } else { Seen::In(state) }
    }

    /// Its state as `/proc` has it, and threads of its process.
    fn state(&self) -> Option<(u8, u64)> {
        let stat = whole(&self.stat)?;
        // The name before may hold anything.
        let fields = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(fields).ok()?.split_whitespace();
        Some((fields.next()?.bytes().next()?, fields.nth(16)?.parse().ok()?))
    }

    /// Its processor time \[ns], and how often it was put on a processor.
    fn ran(&self) -> Option<(u64, u64)> {
        let text = whole(&self.schedstat)?;
        let mut fields = std::str::from_utf8(&text).ok()?.split_whitespace().map(str::parse);
        Some((fields.next()?.ok()?, fields.nth(1)?.ok()?))
    }
}

/// What a file of `/proc` says now; none if its thread has ended.
fn whole(file: &File) -> Option<Vec<u8>> {
    let mut text = vec![0; 1024];
    let mut length = 0;
    loop {
        match file.read_at(&mut text[length..], length as u64).ok()? {
            0 => break,
            more => length += more,
        }
        // These files are short, and come whole where there is room.
        if length < text.len() {
            break;
        }
        text.resize(2 * length, 0);
    }
    text.truncate(length);
    Some(text)
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
}

fn in_words(state: u8) -> &'static str {
    match state {
        b'D' => "waits for the machine's disk",
        b'T' | b't' => "is stopped",
        _ => "works",
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that plays a script, which prints a line when it has begun.
    fn shell(script: &str) -> Child {
        let mut shell =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 1];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        shell
    }

    /// Looks until it finds what is looked for.
    fn until(program: &mut Program, wanted: impl Fn(&Look) -> bool) -> Look {
        loop {
            let look = program.look();
            if wanted(&look) {
                return look;
            }
            std::thread::yield_now();
        }
    }

    fn end(mut child: Child) {
        let pid = child.id();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!Path::new(&format!("/proc/{pid}/task")).exists());
    }

    #[test]
    fn who_sleeps_is_asleep_at_the_second_look_and_stays_so() {
        let child = shell("echo; read line");
        let mut program = Program::watch(child.id()).ok().unwrap();
        assert!(matches!(program.look(), Look::Awake(..)), "one look is none");
        until(&mut program, |look| *look == Look::Asleep);
        assert!((0..100).all(|_| program.look() == Look::Asleep));
        // Stopped, it is not waiting for anybody.
        let signal = |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(signal("-STOP").success());
        until(&mut program, |look| matches!(look, Look::Awake(_, b'T')));
        end(child);
        until(&mut program, |look| *look == Look::Gone);
        assert_eq!(Program::watch(program.root).err(), Some(None), "who is gone is no finding");
    }

    #[test]
    fn who_works_is_awake_and_so_is_who_has_a_child_that_works() {
        for script in ["echo; while :; do :; done", "(while :; do :; done) & echo; wait"] {
            let child = shell(script);
            let mut program = Program::watch(child.id()).ok().unwrap();
            assert!((0..200).all(|_| matches!(program.look(), Look::Awake(..))), "{script}");
            // Its jobs end with it.
            let group = program.threads.keys().map(u32::to_string).collect::<Vec<_>>();
            assert_eq!(group.len(), if script.contains('&') { 2 } else { 1 });
            assert!(Command::new("kill").arg("-KILL").args(group).status().unwrap().success());
            end(child);
        }
    }

    #[test]
    fn a_program_is_all_of_its_forks() {
        let child = shell("exec 3<&0; (read line <&3; :) & echo; wait");
        let root = Program::root_of(child.id());
        assert_eq!(root, child.id(), "the test itself is another program");
        let mut program = Program::watch(root).ok().unwrap();
        let fork = *program.threads.keys().find(|id| **id != root).unwrap();
        assert_eq!(Program::root_of(fork), root);
        until(&mut program, |look| *look == Look::Asleep);
        assert_eq!(Program::watch(process::id()).err(), Some(Some("is part of the server".into())));
        end(child);
    }

    #[test]
    fn who_has_ended_since_the_last_look_passes_nothing_on() {
        let child = shell("exec 3<&0; (read line <&3; :) & echo; wait");
        let program = Program::watch(child.id()).ok().unwrap();
        end(child);
        assert!(program.threads.len() > 1);
        // The fork ends as its input does.
        let fork = program.threads.keys().find(|id| **id != program.root).unwrap();
        while Path::new(&format!("/proc/{fork}/fd")).exists() {
            std::thread::yield_now();
        }
        assert_eq!(program.passes_on(), None);
    }

    #[test]
    fn who_passes_on_what_others_ask_for_says_nothing_by_its_sleep() {
        let child = shell("exec 7</dev/null; echo; read line");
        assert_eq!(Program::watch(child.id()).ok().unwrap().passes_on(), None);
        end(child);
        if Path::new("/dev/fuse").exists() && File::open("/dev/fuse").is_ok() {
            let child = shell("exec 7</dev/fuse; echo; read line");
            let why = Program::watch(child.id()).ok().unwrap().passes_on().unwrap();
            assert!(why.contains("/dev/fuse"), "{why}");
            end(child);
        }
    }
}
