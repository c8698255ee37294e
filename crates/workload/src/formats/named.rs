//! Columns by their names: files whose first line names the columns are read as `csv:…`, `semicolons:…`, `tabs:…` or
//! `blanks:…` with what the names say, and with units guessed from the first lines where they do not.

use super::columns::split;
use super::line::Separator;

/// What the names of a file's columns make of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The format as users declare it.
    pub(super) word: String,
    /// What the names leave open, and what is assumed of it.
    pub(super) guesses: Vec<String>,
    /// The names tell a unit, or which word is a write: no other format is meant.
    pub(super) is_certain: bool,
}

/// What a column is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Time,
    Offset,
    Size,
    Op,
    Device,
    Hint,
}

/// Names of columns, without blanks, underscores and units.
struct Names {
    role: Role,
    /// What a name of these implies.
    unit: Option<&'static str>,
    names: &'static [&'static str],
}

const fn names(role: Role, unit: Option<&'static str>, names: &'static [&'static str]) -> Names {
    Names { role, unit, names }
}

const NAMES: &[Names] = &[
    names(Role::Time, None, &["time", "timestamp", "ts", "t", "arrival", "arrivaltime", "arrivetime"]),
    names(Role::Time, None, &["start", "starttime", "submit", "submittime", "issue", "issuetime", "requesttime"]),
    names(Role::Offset, None, &["offset", "byteoffset", "startoffset", "address", "addr", "position", "pos"]),
    names(Role::Offset, Some("sector"), &["lba", "startlba", "lbn", "sector", "startsector", "sectornumber"]),
    names(Role::Size, None, &["size", "length", "len", "iosize", "requestsize", "reqsize", "transfersize"]),
    names(Role::Size, Some("B"), &["bytes", "nbytes"]),
    names(Role::Size, Some("sector"), &["sectors", "nsectors", "nsector", "numsectors", "sectorcount"]),
    names(Role::Op, None, &["op", "opcode", "operation", "optype", "type", "iotype", "requesttype", "reqtype"]),
    names(Role::Op, None, &["rw", "readwrite", "command", "cmd", "action", "direction", "iswrite", "write", "isread"]),
    names(Role::Device, None, &["device", "dev", "deviceid", "devid", "volume", "vol", "volumeid", "disk", "diskid"]),
    names(Role::Device, None, &["disknumber", "lun", "queue", "namespace", "nsid"]),
    names(Role::Hint, None, &["hint", "stream", "streamid"]),
];
const TIMES: &[(&str, &[&str])] = &[
    ("ns", &["ns", "nsec", "nanos", "nanoseconds"]),
    ("us", &["us", "µs", "usec", "micros", "microseconds"]),
    ("ms", &["ms", "msec", "millis", "milliseconds"]),
    ("s", &["s", "sec", "secs", "seconds"]),
];
const SIZES: &[(&str, &[&str])] =
    &[("B", &["b", "byte", "bytes"]), ("KiB", &["kib"]), ("sector", &["sector", "sectors"])];
/// Mean rates that a trace of a drive has \[requests/s]: a unit of time that gives another is not taken (assumed).
const RATES: std::ops::Range<f64> = 10.0..200e3;

/// Whether a line names columns: it has three or more, and none begins as a number does.
pub(crate) fn names_columns(line: &[u8]) -> bool {
    let words = words_of(line, separator_of(line));
    let named = words.iter().filter(|word| word.first().is_some_and(u8::is_ascii_alphabetic)).count();
    let unnamed = words.iter().filter(|word| word.is_empty()).count();
    named > 2 && named + unnamed == words.len()
}

/// What parts the columns of a line of names: what stands in it most often outside of quotes, and blanks where nothing
/// else does.
fn separator_of(line: &[u8]) -> Separator {
    let mut counts = [(Separator::Semicolon, 0), (Separator::Comma, 0), (Separator::Tab, 0)];
    let mut inside = false;
    for byte in line.trim_ascii() {
        inside ^= *byte == b'"';
        for (separator, count) in &mut counts {
            *count += usize::from(!inside && separator.byte() == Some(*byte));
        }
    }
    // The first of several: a comma and a tab may both stand behind each name.
    let most = counts.iter().rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
    // Columns under each other are parted by several tabs.
    let is_aligned = line.windows(2).any(|two| two == b"\t\t");
    match most {
        Some((Separator::Tab, _)) if is_aligned => Separator::Blanks,
        most => most.map_or(Separator::Blanks, |(separator, _)| *separator),
    }
}

/// The words of a line, without quotes and the mark of a comment.
fn words_of(line: &[u8], separator: Separator) -> Vec<&[u8]> {
    let bare = |word: &[u8]| -> std::ops::Range<usize> {
        let is_mark = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'#');
        let start = word.iter().position(|byte| !is_mark(byte)).unwrap_or(word.len());
        let end = word.iter().rposition(|byte| !is_mark(byte)).map_or(start, |last| last + 1);
        start..end
    };
    let bared = |word| -> &[u8] { &word[bare(word)] };
    let is_word = |word: &&[u8]| separator.byte().is_some() || !matches!(*word, b"" | b"#");
    split(line, separator).filter(is_word).map(bared).collect()
}

/// What a name says.
fn meaning(name: &str) -> Option<Meaning> {
    let lower = name.to_lowercase();
    let is_part = |token: &&str| !token.is_empty();
    let tokens: Vec<&str> = lower.split(|letter: char| !letter.is_alphanumeric()).filter(is_part).collect();
    let of = |tokens: &[&str]| {
        let bare = tokens.concat();
        let Names { role, unit, .. } = NAMES.iter().find(|of| of.names.contains(&bare.as_str()))?;
        Some(Meaning { role: *role, unit: *unit, bare })
    };
    of(&tokens).or_else(|| {
        let (last, rest) = tokens.split_last()?;
        let found = of(rest)?;
        let units = if found.role == Role::Time { TIMES } else { SIZES };
        let (unit, _) = units.iter().find(|(_, words)| words.contains(last))?;
        Some(Meaning { unit: Some(unit), ..found })
    })
}

/// What a first line and those behind it make of a file; none where the line does not name what a trace has. An error
/// is the problem and its remedy.
pub(super) fn named(head: &[u8], lines: &[&[u8]]) -> Option<Result<Named, (String, String)>> {
    if !names_columns(head) {
        return None;
    }
    let file = Columns::of(head, lines);
    let needed = [Role::Time, Role::Offset, Role::Size, Role::Op];
    let absent: Vec<&str> = needed.iter().filter(|role| file.place(**role).is_none()).map(|role| role.word()).collect();
    match absent.len() {
        0 => Some(file.declared()),
        1 | 2 => Some(Err(file.without(&absent))),
        _ => None,
    }
}

/// A column that has a role.
struct Meaning {
    role: Role,
    /// What its name tells.
    unit: Option<&'static str>,
    /// The name without its unit.
    bare: String,
}

/// The columns of a file.
struct Columns<'a> {
    separator: Separator,
    names: Vec<String>,
    meanings: Vec<Option<Meaning>>,
    rows: Vec<Vec<&'a [u8]>>,
}

impl<'a> Columns<'a> {
    fn of(head: &[u8], lines: &[&'a [u8]]) -> Columns<'a> {
        let separator = separator_of(head);
        let names: Vec<String> =
            words_of(head, separator).into_iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let mut meanings: Vec<Option<Meaning>> = Vec::new();
        for name in &names {
            // The first column of a role has it.
            let taken = |of: &Meaning| meanings.iter().flatten().any(|other| other.role == of.role);
            meanings.push(meaning(name).filter(|of| !taken(of)));
        }
        Columns { separator, names, meanings, rows: lines.iter().map(|line| words_of(line, separator)).collect() }
    }

    /// How declared formats with these separators begin.
    fn prefix(&self) -> &'static str {
        let mut declared = Separator::DECLARED.iter();
        let is_this = |of: &&(&str, Separator)| of.1.byte() == self.separator.byte();
        declared.find(is_this).expect("Invariant: names are parted by what can be declared").0
    }

    fn place(&self, role: Role) -> Option<usize> {
        self.meanings.iter().position(|of| of.as_ref().is_some_and(|of| of.role == role))
    }

    /// What the lines hold in a column.
    fn values(&self, at: usize) -> Vec<&'a str> {
        self.rows.iter().filter_map(|row| std::str::from_utf8(row.get(at)?).ok()).collect()
    }

    /// The unit of a column as its name tells it, or as it is guessed.
    fn unit(&self, at: usize, guesses: &mut Vec<String>, guess: impl Fn(&[&str]) -> &'static str) -> &'static str {
        self.meanings[at].as_ref().and_then(|of| of.unit).unwrap_or_else(|| {
            let unit = guess(&self.values(at));
            guesses.push(format!("`{}` in {}", self.names[at], in_words(unit)));
            unit
        })
    }

    /// The format of a file that has a column for everything.
    fn declared(&self) -> Result<Named, (String, String)> {
        let mut options = vec![String::from("skip"); self.names.len()];
        let mut guesses = Vec::new();
        let at = |role: Role| self.place(role).expect("Invariant: every role that is needed has a column");
        let (time, offset, size, op) = (at(Role::Time), at(Role::Offset), at(Role::Size), at(Role::Op));
        let is_small = |sizes: &[&str]| if sizes.iter().all(|size| number(size) < 512.0) { "sector" } else { "B" };
        let size_unit = self.unit(size, &mut guesses, is_small);
        let offset_unit = self.unit(offset, &mut guesses, |offsets| {
            let whole = offsets.iter().all(|offset| number(offset) % 512.0 == 0.0);
            if size_unit == "sector" && !whole { "sector" } else { "B" }
        });
        let tells_unit = |at: usize| self.meanings[at].as_ref().is_some_and(|of| of.unit.is_some());
        let guessed = if tells_unit(time) { "us" } else { time_unit(&self.values(time))? };
        let unit = self.unit(time, &mut guesses, |_| guessed);
        options[time] = format!("time={unit}");
        options[offset] = format!("offset={offset_unit}");
        options[size] = format!("size={size_unit}");
        for role in [Role::Device, Role::Hint] {
            // A host's name is no number.
            let is_number = |at: &usize| self.values(*at).iter().all(|of| of.bytes().all(|byte| byte.is_ascii_digit()));
            if let Some(at) = self.place(role).filter(is_number) {
                options[at] = role.word().into();
            }
        }
        let bare = self.meanings[op].as_ref().map_or("", |of| of.bare.as_str());
        let Some((words, is_guess)) = op_words(bare, &self.values(op)) else {
            return Err(self.unknown_words(op, options));
        };
        if is_guess {
            let said = words.replacen('/', " for reads and ", 1);
            guesses.push(format!("`{}` {said} for writes", self.names[op]));
        }
        options[op] = if words.is_empty() { "op".into() } else { format!("op={words}") };
        let is_certain = [time, offset, size].into_iter().any(tells_unit) || matches!(bare, "iswrite" | "isread");
        Ok(Named { word: format!("{}{}", self.prefix(), options.join(",")), guesses, is_certain })
    }

    /// What is wrong where no column holds something.
    fn without(&self, absent: &[&str]) -> (String, String) {
        let known: Vec<&str> = self.meanings.iter().map(|of| of.as_ref().map_or("skip", |of| of.role.word())).collect();
        let options = format!("{}{}", self.prefix(), known.join(","));
        (
            format!("names its columns, and none of them {}", absent.join(" or ")),
            format!(
                "say in their order what they hold: --format {options}, with {} in its place",
                absent.join(" and ")
            ),
        )
    }

    /// What is wrong where the words of reads and writes are not told.
    fn unknown_words(&self, op: usize, mut options: Vec<String>) -> (String, String) {
        let mut found = self.values(op);
        found.sort_unstable();
        found.dedup();
        // A decimal comma has cut a number in two.
        if matches!(self.separator, Separator::Comma)
            && self.rows.first().is_some_and(|row| row.len() > self.names.len())
        {
            return (
                format!(
                    "names {} columns, and the next lines have {}: their decimals stand behind commas, as columns do",
                    self.names.len(),
                    self.rows[0].len()
                ),
                "write the file with semicolons or tabs between columns, or with points before decimals".into(),
            );
        }
        let names_some = found.iter().any(|word| PLAIN.contains(&word.to_lowercase().as_str()));
        options[op] = if names_some { "op" } else { "op=READ/WRITE" }.into();
        let format = format!("--format {}{}", self.prefix(), options.join(","));
        let remedy = if names_some {
            format!("leave out the lines that are neither reads nor writes: {format} --skip-bad-lines N")
        } else {
            format!("say which words are reads and writes: {format}")
        };
        (format!("names its columns, and `{}` holds {}", self.names[op], found.join(", ")), remedy)
    }
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Role::Time => "time",
            Role::Offset => "offset",
            Role::Size => "size",
            Role::Op => "op",
            Role::Device => "device",
            Role::Hint => "hint",
        }
    }
}

fn in_words(unit: &str) -> &str {
    match unit {
        "B" => "bytes",
        "sector" => "sectors of 512 B",
        unit => unit,
    }
}

/// A number, with a point or a comma before its decimals; NaN where it is none.
fn number(text: &str) -> f64 {
    text.replacen(',', ".", 1).parse().unwrap_or(f64::NAN)
}

/// The unit that times are probably in: that of the years from 2001 on where they are so large, else the first in which
/// requests come at a rate of [`RATES`].
fn time_unit(times: &[&str]) -> Result<&'static str, (String, String)> {
    let values: Vec<f64> = times.iter().map(|time| number(time)).filter(|time| time.is_finite()).collect();
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Ok("us") };
    for (unit, second) in [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)] {
        // From 2001 to 2100.
        if (1e9..4.1e9).contains(&(first / second)) {
            return Ok(unit);
        }
    }
    if (1.2e17..1.6e17).contains(first) {
        return Err((
            "has times that look like ticks of 100 ns since 1601 (Windows)".into(),
            "give them in microseconds: divide them by 10, and name the column time_us".into(),
        ));
    }
    let gap = (last - first).abs() / (values.len() as f64 - 1.0).max(1.0);
    let decimals = times.iter().any(|time| time.contains(['.', ',']));
    let order =
        if decimals { [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)] } else { [("us", 1e-6), ("ms", 1e-3), ("ns", 1e-9)] };
    let likely = order.iter().find(|(_, seconds)| gap > 0.0 && RATES.contains(&(1.0 / (gap * seconds))));
    Ok(likely.unwrap_or(&order[0]).0)
}

/// Words that every column `op` may hold, in any case.
const PLAIN: [&str; 6] = ["r", "w", "read", "write", "trim", "flush"];

/// The words of reads and writes, and whether that is a guess; none where it cannot be told, and no words where they
/// are the plain ones, mixed.
fn op_words(name: &str, values: &[&str]) -> Option<(String, bool)> {
    let mut words: Vec<String> = values.iter().map(|word| word.to_lowercase()).collect();
    words.sort_unstable();
    words.dedup();
    let all_of = |known: &[&str]| words.iter().all(|word| known.contains(&word.as_str()));
    let is_read = name == "isread";
    let is_write = matches!(name, "iswrite" | "write");
    match words.as_slice() {
        _ if all_of(&["r", "w"]) => Some(("R/W".into(), false)),
        _ if all_of(&["read", "write"]) => Some(("read/write".into(), false)),
        _ if all_of(&PLAIN) => Some((String::new(), false)),
        _ if all_of(&["0", "1"]) => Some((if is_read { "1/0" } else { "0/1" }.into(), !is_read && !is_write)),
        _ if all_of(&["false", "true"]) && is_write => Some(("false/true".into(), false)),
        _ if all_of(&["false", "true"]) && is_read => Some(("true/false".into(), false)),
        [read, write] if read.starts_with('r') && write.starts_with('w') && is_word(read) && is_word(write) => {
            Some((format!("{read}/{write}"), true))
        }
        _ => None,
    }
}

/// Whether a format can be declared with it: what parts its options is not in it.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Format;
    use super::*;

    fn read(head: &str, lines: &[&str]) -> Result<Named, (String, String)> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        named(head.as_bytes(), &lines).expect("the first line names columns")
    }

    fn word(head: &str, lines: &[&str]) -> String {
        read(head, lines).unwrap().word
    }

    #[test]
    fn names_tell_columns_and_units_and_nothing_is_guessed_then() {
        let found = read("time_us,op,offset_bytes,size_bytes,device", &["5,R,4096,512,0", "9,W,0,8192,1"]).unwrap();
        assert_eq!(found.word, "csv:time=us,op=R/W,offset=B,size=B,device");
        assert_eq!((found.guesses.as_slice(), found.is_certain), (&[] as &[String], true));
        // A name that tells a write says more than lines that look like those of another format.
        let flashnet_like = read("timestamp,device,offset,size,is_write", &["0,0,4096,4096,1", "150,0,8192,4096,0"]);
        assert!(flashnet_like.unwrap().is_certain);
        let found = read("\"Time [ms]\";\"LBA\";\"Sectors\";\"Is Write\"", &["0.5;8;16;1"]).unwrap();
        assert_eq!(found.word, "semicolons:time=ms,offset=sector,size=sector,op=0/1");
        assert!(found.guesses.is_empty());
    }

    #[test]
    fn units_that_no_name_tells_are_guessed_from_the_lines() {
        let head = "timestamp,type,offset,size,latency";
        let guessed = |times: [&str; 2]| {
            let lines = times.map(|time| format!("{time},read,4096,8192,77"));
            read(head, &lines.each_ref().map(String::as_str)).unwrap()
        };
        assert_eq!(guessed(["0", "150"]).word, "csv:time=us,op=read/write,offset=B,size=B,skip");
        assert_eq!(guessed(["0", "150"]).guesses, ["`size` in bytes", "`offset` in bytes", "`timestamp` in us"]);
        assert!(!guessed(["0", "150"]).is_certain);
        assert!(guessed(["0", "150000"]).word.starts_with("csv:time=ns,"));
        assert!(guessed(["0.000", "0.012"]).word.starts_with("csv:time=s,"));
        assert!(guessed(["0.0", "2.5"]).word.starts_with("csv:time=ms,"));
        assert!(guessed(["1455516001.013", "1455516001.014"]).word.starts_with("csv:time=s,"));
        assert!(guessed(["1577808144360767", "1577808144360937"]).word.starts_with("csv:time=us,"));
        let (problem, _) = read(head, &["128166481075232275,read,4096,8192,1"]).unwrap_err();
        assert!(problem.contains("100 ns"), "{problem}");
        // Sizes of which none reaches a sector count sectors, and offsets that are no whole sectors then do too.
        assert_eq!(
            word("ts,rw,offset,size", &["0,r,17,8", "9,w,25,16"]),
            "csv:time=us,op=R/W,offset=sector,size=sector"
        );
    }

    #[test]
    fn what_parts_columns_is_found_beside_quotes_and_decimal_commas() {
        assert_eq!(
            word("\"time, s\",\"op\",\"offset, B\",\"size, B\"", &["\"0.5\",\"R\",\"4096\",\"512\""]),
            "csv:time=s,op=R/W,offset=B,size=B"
        );
        assert_eq!(
            word("Zeit;time_ms;op;lba;sectors", &["a;0,5;R;8;16"]),
            "semicolons:skip,time=ms,op=R/W,offset=sector,size=sector"
        );
        let tabs = "tabs:skip,time=s,op=R/W,offset=B,size=B";
        assert_eq!(
            word("host name\ttime\top\toffset\tsize", &["a b\t0,005\tR\t4096\t512", "\t0,008\tW\t4096\t512"]),
            tabs
        );
        // Columns under each other.
        assert_eq!(
            word("time_s\t\top\toffset_b\tsize_b", &["1\tR\t4096\t\t512"]),
            "blanks:time=s,op=R/W,offset=B,size=B"
        );
        assert_eq!(
            word("time_s,\top,\toffset_b,\tsize_b", &["1,\tR,\t4096,\t512"]),
            "csv:time=s,op=R/W,offset=B,size=B"
        );
        let (problem, remedy) = read("time_s,op,offset_b,size_b", &["0,5,R,4096,512", "0,9,W,4096,512"]).unwrap_err();
        assert_eq!(
            problem,
            "names 4 columns, and the next lines have 5: their decimals stand behind commas, as columns do"
        );
        assert!(remedy.contains("semicolons or tabs"), "{remedy}");
    }

    #[test]
    fn words_of_reads_and_writes_are_told_or_asked_for() {
        let op = |name: &str, lines: [&str; 2]| {
            let lines = lines.map(|op| format!("1,{op},0,512"));
            let found = read(&format!("time_s,{name},offset_b,size_b"), &lines.each_ref().map(String::as_str));
            found.map(|found| (found.word.split(',').nth(1).unwrap().to_owned(), found.guesses))
        };
        assert_eq!(op("is_write", ["0", "1"]), Ok(("op=0/1".into(), vec![])));
        assert_eq!(op("is_read", ["true", "false"]), Ok(("op=true/false".into(), vec![])));
        assert_eq!(op("op", ["0", "1"]), Ok(("op=0/1".into(), vec!["`op` 0 for reads and 1 for writes".into()])));
        assert_eq!(op("op", ["RS", "WS"]).unwrap().0, "op=rs/ws");
        // Words that a declaration could not hold.
        let (problem, _) = read("time_s;op;offset_b;size_b", &["1;r,1;0;512", "2;w,1;0;512"]).unwrap_err();
        assert_eq!(problem, "names its columns, and `op` holds r,1, w,1");
        assert_eq!(op("op", ["READ", "w"]), Ok(("op".into(), vec![])));
        assert_eq!(op("op", ["Trim", "w"]), Ok(("op".into(), vec![])));
        let (_, remedy) = op("op", ["read", "erase"]).unwrap_err();
        let format = "csv:time=s,op,offset=B,size=B";
        assert_eq!(
            remedy,
            format!("leave out the lines that are neither reads nor writes: --format {format} --skip-bad-lines N")
        );
        let (problem, remedy) = op("op", ["42", "17"]).unwrap_err();
        assert_eq!(problem, "names its columns, and `op` holds 17, 42");
        assert_eq!(remedy, "say which words are reads and writes: --format csv:time=s,op=READ/WRITE,offset=B,size=B");
    }

    proptest! {
        #[test]
        fn whatever_names_say_is_a_format_or_an_error(
            separator in prop::sample::select(vec![",", ";", " ", "\t"]),
            names in prop::collection::vec(
                prop::sample::select(vec!["time", "ts_us", "op", "is_write", "lba", "offset (B)", "size", "dev", "\"hint\"", "", "#x", "len_kib"]),
                3..9,
            ),
            rows in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(vec!["0", "1e9", "-3", "R", "w", "r,1", "w;1", "rd/x", "wr=y", "NaN", "1.5", "", "\u{b5}", "99999999999999999999"]),
                    0..9,
                ),
                0..5,
            ),
        ) {
            let text = |words: &[&str]| words.join(separator);
            let lines: Vec<String> = std::iter::once(text(&names)).chain(rows.iter().map(|row| text(row))).collect();
            if let Some(Ok((detected, _))) = Format::of_names(&lines) {
                prop_assert_eq!(Format::parse(&detected.format.to_string()), Ok(detected.format));
            }
        }
    }

    #[test]
    fn what_no_name_tells_is_asked_for_and_hosts_are_no_devices() {
        let (problem, remedy) = read("when,op,offset,size", &["1,R,0,512"]).unwrap_err();
        assert_eq!(problem, "names its columns, and none of them time");
        assert!(remedy.contains("--format csv:skip,op,offset,size, with time"), "{remedy}");
        assert_eq!(named(b"alpha,beta,gamma", &[b"1,2,3"]), None);
        assert_eq!(named(b"1,2,3", &[b"1,2,3"]), None);
        let of_host = word("time_s,device,op,offset_b,size_b", &["1,web,R,0,512"]);
        assert_eq!(of_host, "csv:time=s,skip,op=R/W,offset=B,size=B");
        // An index, as pandas writes it, has no name; the first column of a role has it.
        assert_eq!(
            word(",time_s,op,offset_b,size_b,start_s", &["0,1,R,0,512,9"]),
            "csv:skip,time=s,op=R/W,offset=B,size=B,skip"
        );
    }
}
