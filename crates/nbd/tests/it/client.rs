//! A client of the protocol, for tests: as plain as can be, and able to break every rule.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nbd::Offer;
use served::{Clock, Exported, Server, Store, Stream};
use ssd::run::{Live, RunOptions};
use ssd::{Completion, Config, RequestLog, RunError, Unwatched};
use std::sync::{Arc, Mutex};
use units::Bytes;

pub const OPTION: u64 = 0x4948_4156_454f_5054;
pub const EXPORT_NAME: u32 = 1;
pub const ABORT: u32 = 2;
pub const LIST: u32 = 3;
pub const INFO: u32 = 6;
pub const GO: u32 = 7;
pub const STRUCTURED: u32 = 8;
pub const LIST_CONTEXTS: u32 = 9;
pub const SET_CONTEXTS: u32 = 10;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZEROES: u16 = 6;
pub const STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;

/// A small drive; settings are added.
pub fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.blocks=40",
        "geometry.pages=24",
        "ftl.over_provisioning=0.8",
        "buffer.size=1MiB",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// A log that the test keeps.
#[derive(Clone, Default)]
pub struct Kept(pub Arc<Mutex<Vec<Completion>>>);

impl RequestLog for Kept {
    fn push(&mut self, completion: &Completion) -> Result<(), RunError> {
        self.0.lock().unwrap().push(*completion);
        Ok(())
    }
    fn close(self: Box<Self>) -> Result<(u64, Vec<u8>), RunError> {
        Ok((0, Vec::new()))
    }
}

/// A drive to be served, and the log of its requests.
pub fn exported(name: &str, settings: &[&str]) -> ((Offer, Exported), Kept) {
    let log = Kept::default();
    let live = Live::open(&config(settings), &RunOptions::default(), Some(Box::new(log.clone())), Unwatched).unwrap();
    let size = live.capacity();
    let offer = Offer { name: name.into(), about: format!("the drive {name}"), size, preferred: 16_384 };
    let store = Store::in_memory(Bytes(1 << 30));
    ((offer, Exported { live: Box::new(live), store, records: false, after_load: None }), log)
}

/// A server of one drive.
pub fn serving(settings: &[&str], clock: Clock) -> (Server, Kept) {
    let (exported, log) = exported("drive", settings);
    (nbd::serve(vec![exported], clock), log)
}

/// A client that has just been let in.
pub struct Client {
    pub stream: UnixStream,
    cookie: u64,
}

/// A reply: the request's cookie, an error number, and data.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub cookie: u64,
    pub error: u32,
    pub data: Vec<u8>,
}

impl Client {
    /// Comes in; the server's greeting has been read and `flags` sent.
    pub fn of(server: &mut Server, flags: u32) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(1800))).unwrap();
        server.admit(Stream::Unix(theirs));
        let mut client = Client { stream: ours, cookie: 0 };
        assert_eq!(client.take(18), [&b"NBDMAGICIHAVEOPT"[..], &[0, 3]].concat());
        client.send(&flags.to_be_bytes());
        client
    }

    /// Comes in and chooses the first export, with replies in chunks and with its allocation.
    pub fn ready(server: &mut Server) -> Client {
        let mut client = Client::of(server, 3);
        client.option(STRUCTURED, &[]);
        assert_eq!(client.replies(), [(1, vec![])]);
        client.option(SET_CONTEXTS, &query("", &["base:allocation"]));
        assert_eq!(client.replies().len(), 2);
        client.option(GO, &go(""));
        assert_eq!(client.replies().last().unwrap().0, 1);
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.stream.read_exact(&mut data).unwrap();
        data
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).into_iter().fold(0, |value, byte| value << 8 | u64::from(byte))
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        let length = data.len() as u32;
        self.send(&[&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &length.to_be_bytes(), data].concat());
    }

    /// The replies to an option, the last one included: kind and data.
    pub fn replies(&mut self) -> Vec<(u32, Vec<u8>)> {
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.number(8), 0x3_e889_0455_65a9);
            self.number(4);
            let (kind, length) = (self.number(4) as u32, self.number(4) as usize);
            replies.push((kind, self.take(length)));
            if kind == 1 || kind >= 1 << 31 {
                return replies;
            }
        }
    }

    /// Sends a request; returns its cookie.
    pub fn request(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let head = request(flags, kind, self.cookie, offset, length);
        self.send(&[&head[..], data].concat());
        self.cookie
    }

    /// The next reply, in chunks.
    pub fn reply(&mut self) -> Reply {
        assert_eq!(self.number(4), 0x668e_33ef);
        assert_eq!(self.number(2), 1, "every reply is one chunk");
        let (kind, cookie, length) = (self.number(2), self.number(8), self.number(4) as usize);
        let mut data = self.take(length);
        match kind {
            0 => assert_eq!(length, 0),
            1 => drop(data.drain(..8)),
            5 => drop(data.drain(..4)),
            0x8001 => return Reply { cookie, error: u32::from_be_bytes(data[..4].try_into().unwrap()), data: vec![] },
            other => panic!("a chunk of kind {other}"),
        }
        Reply { cookie, error: 0, data }
    }

    /// The next simple reply; `length` bytes of data follow it where it is no error.
    pub fn simple_reply(&mut self, length: usize) -> Reply {
        assert_eq!(self.number(4), 0x6744_6698);
        let (error, cookie) = (self.number(4) as u32, self.number(8));
        Reply { cookie, error, data: self.take(if error == 0 { length } else { 0 }) }
    }

    /// Sends a request and takes its reply: the error number and data.
    pub fn ask(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> (u32, Vec<u8>) {
        let cookie = self.request(flags, kind, offset, length, data);
        let reply = self.reply();
        assert_eq!(reply.cookie, cookie);
        (reply.error, reply.data)
    }

    /// Whether the server has left.
    pub fn left(mut self) -> bool {
        self.stream.read(&mut [0]).map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |bytes| bytes == 0)
    }

    /// Leaves with requests under way, which are still answered.
    pub fn leave(mut self) {
        self.request(0, DISCONNECT, 0, 0, &[]);
        self.stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

pub fn request(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut head = 0x2560_9513u32.to_be_bytes().to_vec();
    head.extend(flags.to_be_bytes());
    head.extend(kind.to_be_bytes());
    head.extend(cookie.to_be_bytes());
    head.extend(offset.to_be_bytes());
    head.extend(length.to_be_bytes());
    head
}

/// The data of GO and INFO, which asks for name and description.
pub fn go(name: &str) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), &[0, 2, 0, 1, 0, 2]].concat()
}

/// The data of a query for metadata contexts.
pub fn query(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = [&(name.len() as u32).to_be_bytes()[..], name.as_bytes()].concat();
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(query.as_bytes());
    }
    data
}

/// The size of the first export.
pub fn size(server: &mut Server) -> u64 {
    let mut client = Client::of(server, 3);
    client.option(INFO, &go(""));
    let found = client.replies();
    u64::from_be_bytes(found[0].1[2..10].try_into().unwrap())
}

impl Kept {
    /// What completed, in this order; the run has ended.
    pub fn taken(self) -> Vec<Completion> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
