//! The command layer and the transport's units, without a socket: against plain memory, and against the digests of the specification.

use std::io::Cursor;

use nvme::tcp::{End, Framing, Unit};
use nvme::{Command, Namespace, Rules, Status, plan};
use proptest::prelude::*;
use served::{Did, Store};
use units::Bytes;

const BLOCKS: u64 = 256;
const BLOCK: usize = 512;

#[derive(Clone, Debug)]
enum Act {
    Write(u64, u64, u8),
    Read(u64, u64),
    Compare(u64, u64, bool),
    Zeroes(u64, u64, bool),
    Deallocate(Vec<(u64, u64)>),
    Copy(Vec<(u64, u64)>, u64),
}

/// The first block and how many: mostly within the drive.
fn range() -> impl Strategy<Value = (u64, u64)> {
    (0..BLOCKS + 4, 1..40u64)
}

fn act() -> impl Strategy<Value = Act> {
    let ranges = || proptest::collection::vec(range(), 1..5);
    prop_oneof![
        (range(), any::<u8>()).prop_map(|((first, count), value)| Act::Write(first, count, value)),
        range().prop_map(|(first, count)| Act::Read(first, count)),
        (range(), any::<bool>()).prop_map(|((first, count), same)| Act::Compare(first, count, same)),
        (range(), any::<bool>()).prop_map(|((first, count), deallocates)| Act::Zeroes(first, count, deallocates)),
        ranges().prop_map(Act::Deallocate),
        (ranges(), 0..BLOCKS).prop_map(|(ranges, to)| Act::Copy(ranges, to)),
    ]
}

fn entry(opcode: u8, first: u64, twelve: u32) -> Command {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[4]) = (opcode, 0x40, 1);
    entry[40..48].copy_from_slice(&first.to_le_bytes());
    entry[48..52].copy_from_slice(&twelve.to_le_bytes());
    Command(entry)
}

/// A command and its data.
fn command(act: &Act, memory: &[u8]) -> (Command, Vec<u8>) {
    let count = |count: u64| count as u32 - 1;
    match act {
        Act::Write(first, blocks, value) => (entry(1, *first, count(*blocks)), vec![*value; *blocks as usize * BLOCK]),
        Act::Read(first, blocks) => (entry(2, *first, count(*blocks)), Vec::new()),
        Act::Compare(first, blocks, same) => {
            let (from, bytes) = (*first as usize * BLOCK, *blocks as usize * BLOCK);
            let mut data: Vec<u8> = memory.iter().copied().skip(from).take(bytes).collect();
            data.resize(bytes, 0);
            if !same {
                data[bytes - 1] ^= 1;
            }
            (entry(5, *first, count(*blocks)), data)
        }
        Act::Zeroes(first, blocks, deallocates) => {
            (entry(8, *first, count(*blocks) | u32::from(*deallocates) << 25), Vec::new())
        }
        Act::Deallocate(ranges) => {
            let mut command = entry(9, ranges.len() as u64 - 1, 0);
            command.0[44] = 4;
            let one = |(first, count): &(u64, u64)| {
                [&[0; 4][..], &(*count as u32).to_le_bytes(), &first.to_le_bytes()].concat()
            };
            (command, ranges.iter().flat_map(one).collect())
        }
        Act::Copy(ranges, to) => {
            let one = |(first, count): &(u64, u64)| {
                [&[0; 8][..], &first.to_le_bytes(), &(*count as u16 - 1).to_le_bytes(), &[0; 14]].concat()
            };
            (entry(0x19, *to, ranges.len() as u32 - 1), ranges.iter().flat_map(one).collect())
        }
    }
}

/// What plain memory says of it.
fn expected(act: &Act, memory: &mut [u8]) -> Result<Vec<u8>, Status> {
    let part = |first: u64, count: u64| {
        let fits = first + count <= BLOCKS;
        let bytes = first as usize * BLOCK..(first + count) as usize * BLOCK;
        if fits { Ok(bytes) } else { Err(Status::LBA_OUT_OF_RANGE) }
    };
    match act {
        Act::Write(first, count, value) => memory[part(*first, *count)?].fill(*value),
        Act::Read(first, count) => return Ok(memory[part(*first, *count)?].to_vec()),
        Act::Compare(first, count, same) => {
            part(*first, *count)?;
            return if *same { Ok(Vec::new()) } else { Err(Status::COMPARE_FAILURE) };
        }
        Act::Zeroes(first, count, _) => memory[part(*first, *count)?].fill(0),
        Act::Deallocate(ranges) => {
            let parts: Result<Vec<_>, _> = ranges.iter().map(|(first, count)| part(*first, *count)).collect();
            parts?.into_iter().for_each(|part| memory[part].fill(0));
        }
        Act::Copy(ranges, to) => {
            let parts: Result<Vec<_>, _> = ranges.iter().map(|(first, count)| part(*first, *count)).collect();
            let data: Vec<u8> = parts?.into_iter().flat_map(|part| memory[part].to_vec()).collect();
            memory[part(*to, (data.len() / BLOCK) as u64)?].copy_from_slice(&data);
        }
    }
    Ok(Vec::new())
}

proptest! {
    #[test]
    fn commands_do_to_the_data_what_plain_memory_says(acts in proptest::collection::vec(act(), 1..30)) {
        let namespace = Namespace::new("drive", "a drive", "1", Bytes(BLOCKS * BLOCK as u64));
        let store = Store::in_memory(Bytes(1 << 20));
        let mut memory = vec![0; BLOCKS as usize * BLOCK];
        for act in acts {
            let (command, data) = command(&act, &memory);
            let planned = plan(&command, &namespace, Rules::default());
            let found = planned.and_then(|planned| planned.with(data)).and_then(|io| {
                assert!(io.work().is_some(), "{act:?} gives the drive something to do");
                io.carry_out(&store, &Did::default()).map(|answer| answer.data)
            });
            prop_assert_eq!(found, expected(&act, &mut memory), "{:?}", act);
        }
    }

    #[test]
    fn a_unit_is_read_as_it_was_made(header: bool, data: bool, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let framing = Framing { header_digest: header, data_digest: data, alignment: 4 };
        let mut head = vec![4, 0, 72, 0, 0, 0, 0, 0];
        head.extend([7; 64]);
        let (place, length) = (72 + 4 * u8::from(header), bytes.len() as u32);
        let digest = if data && length > 0 { 4 } else { 0 };
        head[1] = u8::from(header) | u8::from(digest > 0) << 1;
        head[3] = if length > 0 { place } else { 0 };
        head[4..8].copy_from_slice(&(u32::from(place) + length + digest).to_le_bytes());
        let mut unit = head.clone();
        if header {
            unit.extend(crc32c::crc32c(&head).to_le_bytes());
        }
        unit.extend(&bytes);
        if digest > 0 {
            unit.extend(crc32c::crc32c(&bytes).to_le_bytes());
        }
        let read = framing.read(&mut Cursor::new(&unit));
        let same = matches!(read, Ok(Unit::Command { data, whole: true, .. }) if data == bytes);
        prop_assert!(same);
        let cut = framing.read(&mut Cursor::new(&unit[..unit.len() - 1]));
        prop_assert!(matches!(cut, Err(End::Gone)), "one that is cut short is no unit");
    }
}

#[test]
fn the_digest_is_that_of_the_specification() {
    // RFC 3720, B.4: 32 bytes of zeros, of ones, and from 0 up.
    assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c::crc32c(&std::array::from_fn::<u8, 32, _>(|index| index as u8)), 0x46dd_794e);
}
