//! When requests come in simulated time, and when their replies leave.

use std::io::Write;
use std::thread;
use std::time::Instant;

use served::{Clock, Pace, Think};
use ssd::Completion;
use units::{Span, Stream};

use crate::client::{Client, FUA, Kept, READ, WRITE, request, serving};

const PAGE: u64 = 16_384;

fn pace(think: Think, grace: Option<Span>, depth: u32) -> Clock {
    Clock::Virtual(Pace { think, grace, depth })
}

/// Lets others run so often, drawn by `seed`: what the machine does to a client.
fn dawdle(seed: u64, counter: u64) {
    for _ in 0..Stream::new(seed, "delays").below(counter, 40) {
        thread::yield_now();
    }
}

/// A client that always has `depth` requests under way, and leaves with that many when it has made `requests`. Its
/// delays, and how its requests are cut into pieces, are drawn by `seed`.
fn keeps_busy(mut client: Client, depth: u64, requests: u64, seed: u64) {
    let draw = Stream::new(7, "requests");
    let ask = |client: &mut Client, number: u64| {
        dawdle(seed, number * 10);
        let kind = if draw.below(number * 3, 3) == 0 { WRITE } else { READ };
        let flags = if draw.below(number * 3 + 1, 5) == 0 { FUA } else { 0 };
        let offset = draw.below(number * 3 + 2, 500) * PAGE;
        let mut message = request(flags, kind, number, offset, 4096);
        message.extend(vec![1; if kind == WRITE { 4096 } else { 0 }]);
        let (first, rest) = message.split_at(Stream::new(seed, "pieces").below(number, message.len() as u64) as usize);
        client.send(first);
        dawdle(seed, number * 10 + 1);
        client.send(rest);
    };
    (0..depth).for_each(|number| ask(&mut client, number));
    for number in depth..requests {
        assert_eq!(client.reply().error, 0);
        ask(&mut client, number);
    }
    client.leave();
}

/// The log of some clients of a virtual clock that waits for them as long as it takes.
fn log_of(clients: u64, depth: u64, think: Think, seed: u64) -> Vec<Completion> {
    let aged = ["chip.model=tlc48", "age.pec=2000", "age.retention=6mo", "age.precondition=closed-form"];
    let (mut server, log) = serving(&aged, pace(think, None, depth as u32));
    let clients: Vec<Client> = (0..clients).map(|_| Client::ready(&mut server)).collect();
    let busy = |client| thread::spawn(move || keeps_busy(client, depth, 60, seed));
    let clients: Vec<_> = clients.into_iter().map(busy).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let finished = server.stop().pop().unwrap();
    assert_eq!((finished.watched.silences, finished.errors), (0, 0));
    assert!(finished.failure.is_none());
    Kept::taken(log)
}

#[test]
fn virtual_times_do_not_depend_on_the_machine() {
    for (clients, depth, think) in [(1, 1, 0), (1, 8, 0), (1, 8, 10_000), (3, 4, 0)] {
        let think = Think::Fixed(Span(think));
        let first = log_of(clients, depth, think, 1);
        assert!(first.len() as u64 >= clients * 60);
        for seed in 2..5 {
            let found = log_of(clients, depth, think, seed);
            let differs = found.iter().zip(&first).position(|(found, first)| found != first);
            assert_eq!((found.len(), differs), (first.len(), None), "{clients} clients, depth {depth}");
        }
    }
}

#[test]
fn a_request_comes_its_think_time_after_the_reply_that_caused_it() {
    let mut log = log_of(1, 4, Think::Fixed(Span(700)), 1);
    log.retain(|done| done.request.bytes.0 > 0);
    let mut causes: Vec<u64> = vec![0; 4];
    // Of a write with FUA the flush after it is the reply.
    let flushes = log_of(1, 4, Think::Fixed(Span(700)), 1).into_iter().filter(|done| done.request.bytes.0 == 0);
    causes.extend(log.iter().map(|done| done.finish.0 + 700));
    causes.extend(flushes.map(|done| done.finish.0 + 700));
    log.sort_by_key(|done| done.id);
    assert!(log[..4].iter().all(|done| done.request.time.0 == 0), "a connection begins with its slots");
    assert!(log[4..].iter().all(|done| causes.contains(&done.request.time.0)));
}

#[test]
fn a_silent_client_costs_one_grace() {
    let (mut server, log) = serving(&[], pace(Think::Fixed(Span::ZERO), Some(Span::from_ms(1)), 1));
    let mut client = Client::ready(&mut server);
    for _ in 0..3 {
        for page in 0..20 {
            client.request(0, READ, page * PAGE, 4096, &[]);
        }
        (0..20).for_each(|_| assert_eq!(client.reply().error, 0));
    }
    drop(client);
    let finished = server.stop().pop().unwrap();
    assert!((1..=3 * 20).contains(&finished.watched.silences), "{}", finished.watched.silences);
    assert_eq!(Kept::taken(log).len(), 60);
}

#[test]
fn a_client_that_does_not_listen_keeps_nobody_waiting() {
    let (mut server, log) = serving(&[], pace(Think::Fixed(Span::ZERO), Some(Span::ZERO), 1));
    let mut deaf = Client::ready(&mut server);
    // More replies than its socket holds, and more requests than are worked on at once.
    let mut sends = deaf.stream.try_clone().unwrap();
    let sender = thread::spawn(move || {
        for number in 0..3000 {
            sends.write_all(&request(0, READ, number, number % 500 * PAGE, 65_536)).unwrap();
        }
    });
    let mut other = Client::ready(&mut server);
    for page in 0..20 {
        assert_eq!(other.ask(0, READ, page * PAGE, 4096, &[]).0, 0);
    }
    other.leave();
    // At last it listens.
    let mut cookies: Vec<u64> = (0..3000).map(|_| deaf.reply().cookie).collect();
    sender.join().unwrap();
    cookies.sort_unstable();
    assert!(cookies.into_iter().eq(0..3000));
    deaf.leave();
    server.stop();
    assert_eq!(Kept::taken(log).len(), 3020);
}

#[test]
fn one_program_may_use_several_connections() {
    let (mut server, log) = serving(&[], pace(Think::Fixed(Span(5)), Some(Span::from_ms(1)), 1));
    let mut clients: Vec<Client> = (0..4).map(|_| Client::ready(&mut server)).collect();
    for page in 0..40 {
        assert_eq!(clients[page as usize % 4].ask(0, READ, page * PAGE, 4096, &[]).0, 0);
    }
    clients.into_iter().for_each(Client::leave);
    let finished = server.stop().pop().unwrap();
    assert_eq!(finished.watched.silences, 3, "connections that are not used at once");
    let log = Kept::taken(log);
    assert!(log.windows(2).all(|pair| pair[1].request.time == pair[0].finish + Span(5)));
}

#[test]
fn measured_think_time_is_the_clients() {
    let (mut server, log) = serving(&[], pace(Think::Measured, None, 1));
    let mut client = Client::ready(&mut server);
    let mut least = Vec::new();
    for page in 0..20 {
        let before = Instant::now();
        dawdle(3, page);
        least.push(before.elapsed());
        assert_eq!(client.ask(0, READ, page * PAGE, 4096, &[]).0, 0);
    }
    drop(client);
    server.stop();
    let log = Kept::taken(log);
    for (pair, least) in log.windows(2).zip(&least[1..]) {
        let think = pair[1].request.time.since(pair[0].finish);
        assert!(u128::from(think.0) >= least.as_nanos());
    }
}

#[test]
fn the_real_clock_answers_when_the_drive_would() {
    let (mut server, log) = serving(&["age.precondition=closed-form"], Clock::Real);
    let mut client = Client::ready(&mut server);
    let mut took = Vec::new();
    for page in 0..20 {
        let before = Instant::now();
        assert_eq!(client.ask(0, READ, page * 7 * PAGE, 4096, &[]).0, 0);
        took.push(before.elapsed());
    }
    drop(client);
    let finished = server.stop().pop().unwrap();
    let log = Kept::taken(log);
    for (done, took) in log.iter().zip(&took) {
        assert!(took.as_nanos() >= u128::from(done.latency().0), "{done:?} took {took:?}");
        assert!(done.latency().0 > 40_000, "a page is read from flash");
    }
    assert!(log.windows(2).all(|pair| pair[1].request.time >= pair[0].finish));
    let lag = finished.lag.json();
    // A reply takes its time; how long on a busy machine, no test may say.
    assert!(lag["p50"].as_u64().unwrap() > 100 && lag["max"].as_u64() >= lag["p50"].as_u64(), "{lag}");
}
