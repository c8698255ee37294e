//! The protocol: ways to choose an export, and clients that break the rules.

use std::io::Cursor;
use std::net::Shutdown;

use nbd::{Offer, Session, handshake};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use served::{Clock, Pace, Server, Think};
use units::{Bytes, Span};

use crate::client::{
    self, ABORT, Client, EXPORT_NAME, FLUSH, FUA, GO, INFO, LIST, LIST_CONTEXTS, NO_HOLE, OPTION, READ, Reply,
    SET_CONTEXTS, STATUS, STRUCTURED, TRIM, WRITE, ZEROES, exported, go, query, request, serving,
};

pub const PACED: Clock = Clock::Virtual(Pace { think: Think::Fixed(Span::ZERO), grace: None, depth: 1 });

const UNSUPPORTED: u32 = (1 << 31) | 1;
const INVALID: u32 = (1 << 31) | 3;
const UNKNOWN: u32 = (1 << 31) | 6;
const TOO_BIG: u32 = (1 << 31) | 9;

fn two_drives() -> Server {
    nbd::serve(vec![exported("first", &[]).0, exported("second", &["ftl.over_provisioning=0.6"]).0], PACED)
}

fn kinds(client: &mut Client, option: u32, data: &[u8]) -> Vec<u32> {
    client.option(option, data);
    client.replies().into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn a_client_looks_around_and_chooses() {
    let mut server = two_drives();
    let mut client = Client::of(&mut server, 3);
    client.option(LIST, &[]);
    let listed = client.replies();
    assert_eq!(listed[0], (2, [&[0, 0, 0, 5][..], b"firstthe drive first"].concat()));
    assert_eq!(listed.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [2, 2, 1]);

    assert_eq!(kinds(&mut client, LIST, &[0]), [INVALID]);
    assert_eq!(kinds(&mut client, 5, &[]), [UNSUPPORTED], "no TLS");
    assert_eq!(kinds(&mut client, 99, &[1, 2, 3]), [UNSUPPORTED]);
    assert_eq!(kinds(&mut client, INFO, &go("third")), [UNKNOWN]);
    assert_eq!(kinds(&mut client, INFO, &[0, 0, 0, 9]), [INVALID]);
    assert_eq!(kinds(&mut client, GO, &vec![0; 70_000]), [TOO_BIG]);
    assert_eq!(kinds(&mut client, SET_CONTEXTS, &query("", &["base:allocation"])), [INVALID], "not structured");
    assert_eq!(kinds(&mut client, STRUCTURED, &[]), [1]);
    assert_eq!(kinds(&mut client, LIST_CONTEXTS, &query("first", &[])), [4, 1]);
    assert_eq!(kinds(&mut client, LIST_CONTEXTS, &query("first", &["base:"])), [4, 1]);
    assert_eq!(kinds(&mut client, LIST_CONTEXTS, &query("first", &["x:y"])), [1]);
    assert_eq!(kinds(&mut client, SET_CONTEXTS, &query("third", &["base:allocation"])), [UNKNOWN]);
    assert_eq!(kinds(&mut client, SET_CONTEXTS, &query("first", &["base:allocation"])), [4, 1]);

    client.option(INFO, &go("second"));
    let found = client.replies();
    let (kind, export) = &found[0];
    assert_eq!((*kind, &export[..2]), (3, &[0, 0][..]));
    assert_eq!(export[10..], [0x01, 0xed], "flush, FUA, trim, zeroes, no fragments, several connections");
    assert_eq!(
        found[1],
        (3, [&[0, 3, 0, 0, 0, 1][..], &16_384u32.to_be_bytes(), &(32u32 << 20).to_be_bytes()].concat())
    );
    assert_eq!(found[2], (3, b"\0\x01second".to_vec()));
    assert_eq!(found[3], (3, b"\0\x02the drive second".to_vec()));

    // The allocation of another export was asked for.
    assert_eq!(kinds(&mut client, GO, &go("second")), [3, 3, 3, 3, 1]);
    assert_eq!(client.ask(0, STATUS, 0, 512, &[]).0, 22);
    assert_eq!(client.ask(0, READ, 512, 512, &[]), (0, vec![0; 512]));

    let mut other = Client::of(&mut server, 3);
    assert_eq!(kinds(&mut other, ABORT, &[]), [1]);
    assert!(other.left());
    drop(client);
    let finished = server.stop();
    assert_eq!(finished.iter().map(|of| (of.connections, of.errors)).collect::<Vec<_>>(), [(0, 0), (1, 1)]);
}

#[test]
fn the_old_way_to_choose() {
    for (flags, zeroes) in [(1, 124), (3, 0)] {
        let mut server = two_drives();
        let mut client = Client::of(&mut server, flags);
        client.option(EXPORT_NAME, b"second");
        let export = client.take(10 + zeroes);
        assert_eq!(export[8..10], [0x01, 0x6d]);
        let size = u64::from_be_bytes(export[..8].try_into().unwrap());
        let cookie = client.request(FUA, WRITE, size - 700, 700, &[7; 700]);
        assert_eq!(client.simple_reply(0), Reply { cookie, error: 0, data: vec![] });
        let cookie = client.request(0, READ, size - 701, 701, &[]);
        let data = [&[0][..], &[7; 700]].concat();
        assert_eq!(client.simple_reply(701), Reply { cookie, error: 0, data });
        let cookie = client.request(0, READ, size - 700, 701, &[]);
        assert_eq!(client.simple_reply(701), Reply { cookie, error: 22, data: vec![] });
        client.option(EXPORT_NAME, b"a name that is longer");
        assert!(client.left(), "no request begins like an option");
        let mut lost = Client::of(&mut server, flags);
        lost.option(EXPORT_NAME, b"third");
        assert!(lost.left());
        assert!(Client::of(&mut server, 4).left(), "an unknown flag");
        server.stop();
    }
}

#[test]
fn what_cannot_be_done_is_an_error() {
    let (mut server, _) = serving(&[], PACED);
    let mut client = Client::ready(&mut server);
    let size = client::size(&mut server);
    let huge = (32 << 20) + 1;
    for (flags, kind, offset, length, error) in [
        (0, READ, size, 1, 22),
        (0, READ, u64::MAX, 4096, 22),
        (0, READ, 0, 0, 22),
        (0, READ, 0, huge, 22),
        (NO_HOLE, READ, 0, 512, 22),
        (1 << 15, READ, 0, 512, 22),
        (0, TRIM, size - 1, 2, 22),
        (0, ZEROES, size - 1, 2, 28),
        (1 << 4, ZEROES, 0, 512, 22),
        (0, STATUS, size, 1, 22),
        (0, FLUSH, 1, 0, 22),
        (0, 5, 0, 512, 22),
        (0, 77, 0, 512, 22),
    ] {
        assert_eq!(client.ask(flags, kind, offset, length, &[]), (error, vec![]), "{kind} at {offset}");
    }
    assert_eq!(client.ask(0, WRITE, size - 1, 2, &[1, 2]), (28, vec![]));
    assert_eq!(client.ask(0, WRITE, 0, huge, &vec![1; huge as usize]), (22, vec![]));
    assert_eq!(client.ask(FUA, FLUSH, 0, 0, &[]), (0, vec![]), "after all of them it goes on");
    drop(client);
    assert_eq!(server.stop()[0].errors, 15);
}

/// Pieces of a conversation, whole and broken.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => (any::<u16>(), 0..9u16, any::<u64>(), prop_oneof![0..1u64 << 24, any::<u64>()], 0..5000u32)
            .prop_map(|(flags, kind, cookie, offset, length)| request(flags & 0x1f, kind, cookie, offset, length)),
        2 => (0..12u32, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(option, data)| {
            [&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &(data.len() as u32).to_be_bytes(), &data].concat()
        }),
        1 => (0..12u32, any::<u32>()).prop_map(|(option, length)| {
            [&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &length.to_be_bytes()].concat()
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => Just(go("")).prop_map(|data| {
            [&OPTION.to_be_bytes()[..], &GO.to_be_bytes(), &(data.len() as u32).to_be_bytes(), &data].concat()
        }),
    ];
    (any::<bool>(), proptest::collection::vec(piece, 0..12)).prop_map(|(flags, pieces)| {
        let first = if flags { 3u32.to_be_bytes().to_vec() } else { Vec::new() };
        [first, pieces.concat()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_handshake_is_a_fault(said in pieces()) {
        let offers = [Offer { name: "a".into(), about: String::new(), size: Bytes(1 << 20), preferred: 4096 }];
        let mut answers = Vec::new();
        let agreed = handshake(&mut Cursor::new(&said), &mut answers, &offers);
        prop_assert!(answers.len() < 10 * said.len() + 1000);
        if let Ok(Some((Session { export, structured, allocation }, _))) = agreed {
            prop_assert!(export == 0 && (structured || !allocation));
        }
    }
}

/// Whatever clients send, the server goes on, and others are served.
#[test]
fn no_request_is_a_fault() {
    use std::io::{Read, Write};

    let (mut server, _) = serving(&[], PACED);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..runner.config().cases {
        let said = pieces().new_tree(&mut runner).unwrap().current();
        let mut client = Client::ready(&mut server);
        // The server may leave before all is said.
        let _ = client.stream.write_all(&said);
        let _ = client.stream.shutdown(Shutdown::Write);
        let _ = client.stream.read_to_end(&mut Vec::new());
    }
    let mut client = Client::ready(&mut server);
    assert_eq!(client.ask(0, WRITE, 5, 3, b"abc"), (0, vec![]));
    assert_eq!(client.ask(0, READ, 4, 5, b""), (0, b"\0abc\0".to_vec()));
    drop(client);
    server.stop();
}
