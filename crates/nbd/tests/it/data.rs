//! The data: what was written is read, whoever asks, and what a drive cannot do is refused.

use std::thread;

use served::{Clock, Pace, Store, Think};
use ssd::RunError;
use units::{Bytes, Span, Stream, Time};
use workload::Op;

use crate::client::{Client, FLUSH, FUA, NO_HOLE, READ, STATUS, TRIM, WRITE, ZEROES, exported, serving, size};
use crate::protocol::PACED;

/// Random requests of one client to its part of the drive, compared with plain memory; several are under way at once.
fn compare(mut client: Client, from: u64, length: u64, seed: u64) {
    let draw = Stream::new(seed, "requests");
    let draw = |counter: u64, below: u64| draw.below(counter, below);
    let mut memory = vec![0u8; length as usize];
    for round in 0..60 {
        // What is under way at once does not overlap: the order would be the drive's.
        let many = 1 + draw(round * 100, 6);
        let stretch = length / many;
        let mut expected = Vec::new();
        for index in 0..many {
            let at = |what: u64, below: u64| draw(round * 100 + index * 10 + what, below);
            let offset = index * stretch + at(1, stretch - 1);
            let most = (index + 1) * stretch - offset;
            let bytes = 1 + at(2, if at(3, 4) == 0 { most } else { most.min(9000) });
            let part = offset as usize..(offset + bytes) as usize;
            let (kind, flags, data, reply) = match at(4, 8) {
                0..3 => {
                    memory[part.clone()].fill(at(5, 256) as u8);
                    (WRITE, at(6, 2) as u16 * FUA, memory[part].to_vec(), vec![])
                }
                3 => {
                    memory[part].fill(0);
                    (TRIM, at(6, 2) as u16 * FUA, vec![], vec![])
                }
                4 => {
                    memory[part].fill(0);
                    (ZEROES, (at(6, 2) as u16 * FUA) | (at(7, 2) as u16 * NO_HOLE), vec![], vec![])
                }
                _ => (READ, 0, vec![], memory[part].to_vec()),
            };
            let cookie = client.request(flags, kind, from + offset, bytes as u32, &data);
            expected.push((cookie, reply));
        }
        for _ in 0..many {
            let reply = client.reply();
            let place = expected.iter().position(|(cookie, _)| *cookie == reply.cookie).unwrap();
            assert_eq!((reply.error, reply.data), (0, expected.swap_remove(place).1));
        }
    }
    assert_eq!(client.ask(0, FLUSH, 0, 0, &[]), (0, vec![]));
    let (error, found) = client.ask(0, READ, from, length as u32, &[]);
    assert!(error == 0 && found == memory);
    // The extents cover the part, and holes hold nothing.
    let (_, extents) = client.ask(0, STATUS, from, length as u32, &[]);
    let mut at = 0;
    for extent in extents.chunks(8) {
        let bytes = u32::from_be_bytes(extent[..4].try_into().unwrap()) as usize;
        assert!(extent[7] == 0 || memory[at..at + bytes].iter().all(|byte| *byte == 0));
        at += bytes;
    }
    assert_eq!(at, length as usize);
}

#[test]
fn several_clients_read_what_was_written() {
    let grace = Some(Span::ZERO);
    let file = std::env::temp_dir().join(format!("ssdlab-nbd-{}", std::process::id()));
    for clock in [Clock::Real, Clock::Virtual(Pace { think: Think::Measured, grace, depth: 1 })] {
        let ((offer, mut exported), _) = exported("drive", &[]);
        exported.store = Store::in_file(&file, offer.size).unwrap();
        let refused = Store::in_file(&file, offer.size).err().unwrap();
        assert!(refused.problem.contains("in use"), "{refused}");
        let mut server = nbd::serve(vec![(offer, exported)], clock);
        let part = size(&mut server) / 4;
        let clients: Vec<Client> = (0..4).map(|_| Client::ready(&mut server)).collect();
        let clients = (0..)
            .zip(clients)
            .map(|(index, client)| thread::spawn(move || compare(client, index * part, part.min(300_000), index)));
        clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
        let finished = server.stop().pop().unwrap();
        assert_eq!((finished.connections, finished.errors), (4, 0));
        assert!(finished.failure.is_none());
        finished.live.finish().unwrap();
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_file_keeps_the_data_for_the_next_server() {
    let file = std::env::temp_dir().join(format!("ssdlab-nbd-kept-{}", std::process::id()));
    for (written, expected) in [(b"one", b"\0\0\0"), (b"two", b"one")] {
        let ((offer, mut exported), _) = exported("drive", &[]);
        exported.store = Store::in_file(&file, offer.size).unwrap();
        let mut server = nbd::serve(vec![(offer, exported)], PACED);
        let mut client = Client::ready(&mut server);
        assert_eq!(client.ask(0, READ, 100_000, 3, &[]), (0, expected.to_vec()));
        assert_eq!(client.ask(0, WRITE, 100_000, 3, written), (0, vec![]));
        drop(client);
        server.stop();
    }
    let error = Store::in_file(&file, Bytes(1000)).err().unwrap();
    assert!(error.problem.contains("more than the device's 1000"), "{error}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn memory_that_is_full_is_a_full_drive() {
    let ((offer, mut exported), _) = exported("drive", &[]);
    exported.store = Store::in_memory(Bytes(8192));
    let mut server = nbd::serve(vec![(offer, exported)], PACED);
    let mut client = Client::ready(&mut server);
    assert_eq!(client.ask(0, WRITE, 0, 8192, &[1; 8192]).0, 0);
    assert_eq!(client.ask(0, WRITE, 8192, 1, &[1]).0, 28);
    assert_eq!(client.ask(0, TRIM, 0, 4096, &[]).0, 0);
    assert_eq!(client.ask(0, WRITE, 8192, 1, &[1]).0, 0);
    drop(client);
    server.stop();
}

#[test]
fn what_cannot_be_corrected_is_an_error_of_the_medium() {
    // asplos21: at this age no retry step reads the worst pages.
    let old = ["chip.model=tlc48", "age.pec=3000", "age.retention=150mo", "age.fill=1.0", "read.rpt=none"];
    let (mut server, log) = serving(&old, PACED);
    let mut client = Client::ready(&mut server);
    let mut errors = Vec::new();
    for page in 0..40 {
        let (error, data) = client.ask(0, READ, page * 16_384, 4096, &[]);
        assert!((error == 0 && data == [0; 4096]) || (error == 5 && data.is_empty()), "{error}");
        errors.push(error == 5);
    }
    assert!(errors.iter().filter(|error| **error).count() > 10, "{errors:?}");
    drop(client);
    server.stop();
    let log = log.0.lock().unwrap();
    assert_eq!(errors, log.iter().map(|completion| completion.uncorrectable).collect::<Vec<_>>());
}

#[test]
fn a_drive_at_the_end_of_its_life_is_read_only_or_dead() {
    for (mode, refused) in [("read-only", 1), ("stop", 5)] {
        let end = format!("wear.end_of_life={mode}");
        let (mut server, _) = serving(&["age.precondition=closed-form", "wear.erase_fail=0.3", &end], PACED);
        let pages = size(&mut server) / 16_384;
        let mut client = Client::ready(&mut server);
        assert_eq!(client.ask(0, WRITE, 0, 4, b"kept").0, 0);
        let error = (0..100_000u64).find_map(|count| {
            let page = 1 + count.wrapping_mul(0x9e37_79b9) % (pages - 1);
            let error = client.ask(0, WRITE, page * 16_384, 16_384, &[count as u8; 16_384]).0;
            (error != 0).then_some(error)
        });
        assert_eq!(error, Some(refused));
        for kind in [WRITE, TRIM, ZEROES] {
            let data = if kind == WRITE { b"lost" } else { &b""[..] };
            assert_eq!(client.ask(0, kind, 0, 4, data), (refused, vec![]));
        }
        let (error, data) = client.ask(0, READ, 0, 4, &[]);
        assert_eq!((error, data), if mode == "stop" { (5, vec![]) } else { (0, b"kept".to_vec()) });
        drop(client);
        let finished = server.stop().pop().unwrap();
        assert_eq!(matches!(finished.failure, Some(RunError::EndOfLife { .. })), mode == "stop");
        let outcome = finished.live.finish().unwrap();
        assert!(outcome.device.end_of_life().is_some_and(|time| time > Time::ZERO));
    }
}

#[test]
fn the_drive_is_asked_for_what_the_client_asks_for() {
    let (mut server, log) = serving(&[], PACED);
    let mut client = Client::ready(&mut server);
    for (flags, kind, offset, length) in [
        (FUA, WRITE, 1000, 700),
        (FUA, READ, 1000, 1),
        (0, TRIM, 16_384, 32_768),
        (0, ZEROES, 0, 100),
        (FUA | NO_HOLE, ZEROES, 5, 100),
        (FUA, FLUSH, 0, 0),
    ] {
        let data = vec![1; if kind == WRITE { length as usize } else { 0 }];
        assert_eq!(client.ask(flags, kind, offset, length, &data).0, 0);
    }
    drop(client);
    server.stop();
    let log = log.0.lock().unwrap();
    let asked: Vec<(Op, u64, u64)> =
        log.iter().map(|done| (done.request.op, done.request.offset.0, done.request.bytes.0)).collect();
    let flush = (Op::Flush, 0, 0);
    let expected = [
        (Op::Write, 1000, 700),
        flush,
        (Op::Read, 1000, 1),
        (Op::Trim, 16_384, 32_768),
        (Op::Trim, 0, 100),
        (Op::Write, 5, 100),
        flush,
        flush,
    ];
    assert_eq!(asked, expected);
    // Each comes when the one before is done.
    for pair in log.windows(2) {
        assert_eq!(pair[1].request.time, pair[0].finish + Span::ZERO);
    }
}
