//! Mutations of inputs that depend on a seed alone, for tests without an engine.

use units::Stream;

/// Bytes that readers tend to stumble over.
const TOKENS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"18446744073709551615",
    b"9223372036854775808",
    b"4294967296",
    b"99999999999",
    b"0.1",
    b"[",
    b"]",
    b"\"",
    b"'''",
    b"=",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"none",
    b"true",
    b"TiB",
    b"ns",
    b"y",
    b"..",
    b":",
    b"%",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x00\x00\x00\x00\x00\x00\x00\x80",
];

/// The longest input that mutations make.
const LONGEST: usize = 1 << 14;

/// One input made into another: `number` says which, of two inputs the first is mutated.
pub fn mutated(input: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let draws = Stream::new(number, "mutations");
    let mut made = input.to_vec();
    for step in 0..1 + draws.below(0, 4) {
        let draw = |index: u64, below: usize| draws.below(1 + 8 * step + index, below.max(1) as u64) as usize;
        let at = draw(0, made.len() + 1);
        let end = (at + 1 + draw(1, 16)).min(made.len());
        match draw(2, 7) {
            0 if at < made.len() => made[at] ^= 1 << draw(3, 8),
            1 if at < made.len() => made[at] = draw(3, 256) as u8,
            2 => drop(made.drain(at.min(end)..end)),
            3 => {
                let part = made[at.min(end)..end].to_vec();
                let copies = part.repeat(1 + draw(3, 40));
                made.splice(at..at, copies);
            }
            4 if !other.is_empty() => {
                let from = draw(3, other.len());
                let part = other[from..(from + draw(4, 64)).min(other.len())].to_vec();
                made.splice(at..at, part);
            }
            5 => made.truncate(at),
            _ => drop(made.splice(at..at, TOKENS[draw(3, TOKENS.len())].iter().copied())),
        }
    }
    made.truncate(LONGEST);
    made
}
