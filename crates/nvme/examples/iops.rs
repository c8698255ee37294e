//! How many 4-KiB random reads a second a host gets at a depth, by NBD and by NVMe/TCP, over TCP of this machine and
//! with the real clock: `iops [DEPTH] [SECONDS] [TIMES]`. The hosts are as plain as can be: one connection, one thread.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nvme::{Access, Subsystem};
use served::{Clock, Exported, Listener, Place, Server, Store};
use ssd::run::{Live, RunOptions};
use ssd::{Unwatched, presets};
use units::{Bytes, Stream};

const BLOCK: u64 = 4096;
/// Reads go to this many of the first blocks, which the aged drive holds.
const BLOCKS: u64 = 1 << 18;

/// A host: it sends a read of a block, and takes an answer.
struct Host {
    output: TcpStream,
    input: BufReader<TcpStream>,
}

impl Host {
    fn to(place: SocketAddr) -> Host {
        let output = TcpStream::connect(place).unwrap();
        output.set_nodelay(true).unwrap();
        let input = BufReader::with_capacity(1 << 18, output.try_clone().unwrap());
        Host { output, input }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).unwrap();
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.input.read_exact(&mut data).unwrap();
        data
    }
}

trait Speaks {
    fn connect(place: SocketAddr) -> Self;
    fn ask(&mut self, number: u16, offset: u64);
    fn hear(&mut self);
}

/// NBD, with replies of the old form.
struct Nbd(Host);

impl Speaks for Nbd {
    fn connect(place: SocketAddr) -> Nbd {
        let mut host = Host::to(place);
        host.take(18);
        host.send(&[&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &0u32.to_be_bytes()].concat());
        host.take(10);
        Nbd(host)
    }

    fn ask(&mut self, number: u16, offset: u64) {
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        request.extend([0; 4]);
        request.extend(u64::from(number).to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend((BLOCK as u32).to_be_bytes());
        self.0.send(&request);
    }

    fn hear(&mut self) {
        let reply = self.0.take(16 + BLOCK as usize);
        assert_eq!(reply[4..8], [0; 4], "a read fails");
    }
}

/// NVMe/TCP, without digests: an admin queue that is kept, and an I/O queue.
struct Nvme {
    _admin: Host,
    host: Host,
}

/// A command's entry: its fields by their bytes.
fn entry(opcode: u8, number: u16, fields: &[(usize, &[u8])]) -> [u8; 72] {
    let mut unit = [0; 72];
    (unit[0], unit[2], unit[4], unit[8], unit[9], unit[8 + 39]) = (4, 72, 72, opcode, 0x40, 0x5a);
    unit[10..12].copy_from_slice(&number.to_le_bytes());
    for (at, value) in fields {
        unit[8 + at..8 + at + value.len()].copy_from_slice(value);
    }
    unit
}

impl Nvme {
    fn queue(place: SocketAddr, queue: u16, controller: u16) -> (Host, u16) {
        let mut host = Host::to(place);
        let mut first = [0; 128];
        (first[2], first[4]) = (128, 128);
        host.send(&first);
        host.take(128);
        let mut data = vec![0; 1024];
        data[16..18].copy_from_slice(&controller.to_le_bytes());
        let nqn = Subsystem::new("", "", "", Bytes(0)).nqn;
        data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
        data[512] = b'h';
        let length = (data.len() as u32).to_le_bytes();
        let fields: [(usize, &[u8]); 5] =
            [(4, &[1]), (32, &length), (39, &[1]), (42, &queue.to_le_bytes()), (44, &127u16.to_le_bytes())];
        let mut unit = entry(0x7f, 0, &fields);
        unit[3] = 72;
        unit[4..8].copy_from_slice(&(72 + 1024u32).to_le_bytes());
        host.send(&[&unit[..], &data].concat());
        let answer = host.take(24);
        assert_eq!(answer[22..24], [0, 0], "Connect fails");
        (host, u16::from_le_bytes([answer[8], answer[9]]))
    }
}

impl Speaks for Nvme {
    fn connect(place: SocketAddr) -> Nvme {
        let (mut admin, controller) = Nvme::queue(place, 0, 0xffff);
        admin.send(&entry(0x7f, 1, &[(44, &[0x14]), (48, &[1, 0, 0x46])]));
        admin.take(24);
        let (host, _) = Nvme::queue(place, 1, controller);
        Nvme { _admin: admin, host }
    }

    fn ask(&mut self, number: u16, offset: u64) {
        let block = (offset / 512).to_le_bytes();
        let fields: [(usize, &[u8]); 4] = [(4, &[1]), (32, &(BLOCK as u32).to_le_bytes()), (40, &block), (48, &[7])];
        self.host.send(&entry(2, number, &fields));
    }

    fn hear(&mut self) {
        let reply = self.host.take(24 + BLOCK as usize + 24);
        assert_eq!((reply[0], reply[reply.len() - 24], reply[reply.len() - 1]), (7, 5, 0), "a read fails");
    }
}

fn iops<S: Speaks>(place: SocketAddr, depth: u16, span: Duration) -> f64 {
    let mut host = S::connect(place);
    let draw = Stream::new(1, "offsets");
    let offset = |number: u64| draw.below(number, BLOCKS) * BLOCK;
    let begun = Instant::now();
    (0..depth).for_each(|number| host.ask(number, offset(number.into())));
    let mut done = 0;
    while begun.elapsed() < span {
        host.hear();
        done += 1;
        host.ask((done % 0x8000) as u16, offset(done + u64::from(depth)));
    }
    let rate = done as f64 / begun.elapsed().as_secs_f64();
    (0..depth).for_each(|_| host.hear());
    rate
}

/// Serves a drive while a host works.
fn serve<S: Speaks + Send + 'static>(begin: impl Fn(Exported) -> Server, depth: u16, span: Duration) -> f64 {
    let spec = presets::load("tlc").unwrap();
    let live = Live::open(&spec.config, &RunOptions::default(), None, Unwatched).unwrap();
    let exported =
        Exported { live: Box::new(live), store: Store::in_memory(Bytes(1 << 32)), records: false, after_load: None };
    let mut server = begin(exported);
    let listener = Listener::tcp("--listen", "127.0.0.1:0", "").unwrap();
    let Place::Tcp(Some(place)) = listener.place() else { panic!("it has a place") };
    let host = thread::spawn(move || iops::<S>(place, depth, span));
    while !host.is_finished() {
        server.attend(&listener, Duration::from_millis(50)).unwrap();
    }
    let finished = server.stop().pop().unwrap();
    assert_eq!(finished.errors, 0);
    host.join().unwrap()
}

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (depth, seconds) = (words.first().copied().unwrap_or(32), words.get(1).copied().unwrap_or(3));
    let (depth, span) = (depth as u16, Duration::from_secs(seconds));
    for _ in 0..words.get(2).copied().unwrap_or(5) {
        let nbd = |exported: Exported| {
            let size = exported.live.drive().capacity();
            let offer = nbd::Offer { name: String::new(), about: String::new(), size, preferred: 4096 };
            nbd::serve(vec![(offer, exported)], Clock::Real)
        };
        let nvme = |exported: Exported| {
            let size = exported.live.drive().capacity();
            nvme::tcp::serve(vec![(Subsystem::new("", "", "", size), exported)], Access::default(), Clock::Real)
        };
        let (by_nbd, by_nvme) = (serve::<Nbd>(nbd, depth, span), serve::<Nvme>(nvme, depth, span));
        println!("depth {depth}: NBD {by_nbd:.0}, NVMe/TCP {by_nvme:.0} reads/s: {:.2}", by_nvme / by_nbd);
    }
}
