//! The command layer and the transport's units, without a socket: against plain memory, and against the digests of the
//! specification.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use nvme::tcp::{End, Framing, Unit};
use nvme::{
    Access, Command, Connected, ControllerId, Does, FABRICS, Namespace, Outcome, Rules, Status, Subsystem, Target,
    fabrics, plan,
};
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
        let namespace = Namespace::first(&Subsystem::new("drive", "a drive", "1", Bytes(BLOCKS * BLOCK as u64)));
        let store = Arc::new(Store::in_memory(Bytes(1 << 20)));
        let mut memory = vec![0; BLOCKS as usize * BLOCK];
        for act in acts {
            let (command, data) = command(&act, &memory);
            let planned = plan(&command, &namespace, Rules::default());
            let found = planned.and_then(|planned| planned.with(data)).and_then(|io| {
                assert!(io.work(&store).is_some(), "{act:?} gives the drive something to do");
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

/// What a host does to namespaces, and to their data.
#[derive(Clone, Debug)]
enum Manage {
    /// This many units of 4 KiB, with blocks of a format.
    Create(u64, usize),
    Delete(u32),
    Attach(u32, bool),
    Format(u32, usize),
    /// Into a unit, counted from the namespace's begin.
    Write(u32, u64, u8),
}

fn manage() -> impl Strategy<Value = Manage> {
    let number = || 0..6u32;
    prop_oneof![
        (1..12u64, 0..3usize).prop_map(|(units, format)| Manage::Create(units, format)),
        number().prop_map(Manage::Delete),
        (number(), any::<bool>()).prop_map(|(number, attaches)| Manage::Attach(number, attaches)),
        (number(), any::<bool>()).prop_map(|(number, attaches)| Manage::Attach(number, attaches)),
        (number(), 0..3usize).prop_map(|(number, format)| Manage::Format(number, format)),
        (number(), 0..12u64, any::<u8>()).prop_map(|(number, unit, value)| Manage::Write(number, unit, value)),
        (number(), 0..12u64, any::<u8>()).prop_map(|(number, unit, value)| Manage::Write(number, unit, value)),
    ]
}

const UNIT: u64 = 4096;
const UNITS: u64 = 24;

/// A namespace as plain memory.
struct Plain {
    format: usize,
    attached: bool,
    data: Vec<u8>,
}

/// A host of a drive, and what its namespaces should be.
struct Managed {
    target: Target,
    admin: Connected,
    store: Store,
    plain: BTreeMap<u32, Plain>,
}

impl Managed {
    fn new() -> Managed {
        let target = Target::new(vec![Subsystem::new("drive", "a drive", "1", Bytes(UNITS * UNIT))], Access::default());
        let nqn = target.drives[0].nqn.clone();
        let mut data = vec![0; 1024];
        data[16..18].fill(0xff);
        data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
        data[512] = b'h';
        let mut connects = [0; 64];
        (connects[0], connects[4], connects[44]) = (FABRICS, fabrics::CONNECT, 31);
        let Ok(admin) = target.connect(&Command(connects), &data, Box::new(|| {})) else { unreachable!("it may") };
        let mut enables = [0; 64];
        (enables[0], enables[44], enables[48]) = (FABRICS, 0x14, 1);
        let whole = Plain { format: 0, attached: true, data: vec![0; (UNITS * UNIT) as usize] };
        let store = Store::in_memory(Bytes(1 << 20));
        let of = Managed { target, admin, store, plain: BTreeMap::from([(1, whole)]) };
        drop(of.command(Command(enables), &[]));
        of
    }

    fn command(&self, command: Command, data: &[u8]) -> Outcome {
        match self.target.command(&self.admin, &command, data, &|| None, &|| None, None) {
            Does::Answer(outcome) => outcome,
            Does::Drive(io) => io.carry_out(&self.store, &Did::default()).map_err(Into::into),
            _ => unreachable!("it is neither"),
        }
    }

    fn admin(&self, opcode: u8, number: u32, ten: u32, data: &[u8]) -> Result<u32, Status> {
        let mut entry = entry(opcode, ten.into(), 0);
        entry.0[4..8].copy_from_slice(&number.to_le_bytes());
        self.command(entry, data).map(|answer| answer.result as u32).map_err(|refused| refused.status)
    }

    /// A command of I/O for this many bytes of a unit.
    fn io(&self, opcode: u8, number: u32, unit: u64, shift: u8, data: Vec<u8>) -> Result<Vec<u8>, Status> {
        let mut entry = entry(opcode, (unit * UNIT) >> shift, (UNIT >> shift) as u32 - 1);
        entry.0[4..8].copy_from_slice(&number.to_le_bytes());
        let io = self.admin.controller.plan(&entry)?.with(data)?;
        io.carry_out(&self.store, &Did::default()).map(|answer| answer.data)
    }

    /// What should come of it.
    fn expected(&mut self, act: &Manage) -> Result<(), Status> {
        let there = |number: u32| if number == 0 { Err(Status::INVALID_NAMESPACE) } else { Ok(()) };
        match *act {
            Manage::Create(units, format) => {
                if format == 2 {
                    return Err(Status::INVALID_FORMAT);
                }
                // What no gap between others has room for is too much: here by trying all.
                let taken: u64 = self.plain.values().map(|plain| plain.data.len() as u64).sum();
                if taken + units * UNIT > UNITS * UNIT {
                    return Err(Status::NAMESPACE_CAPACITY);
                }
                let number = (1..).find(|number| !self.plain.contains_key(number)).unwrap_or(0);
                let data = vec![0; (units * UNIT) as usize];
                self.plain.insert(number, Plain { format, attached: false, data });
            }
            Manage::Delete(number) => {
                there(number)?;
                self.plain.remove(&number).ok_or(Status::INVALID_FIELD)?;
            }
            Manage::Attach(number, attaches) => {
                there(number)?;
                let plain = self.plain.get_mut(&number).ok_or(Status::INVALID_FIELD)?;
                match (plain.attached, attaches) {
                    (true, true) => return Err(Status::NAMESPACE_ALREADY_ATTACHED),
                    (false, false) => return Err(Status::NAMESPACE_NOT_ATTACHED),
                    _ => plain.attached = attaches,
                }
            }
            Manage::Format(number, format) => {
                there(number)?;
                let plain = self.plain.get_mut(&number).filter(|plain| plain.attached).ok_or(Status::INVALID_FIELD)?;
                if format == 2 {
                    return Err(Status::INVALID_FORMAT);
                }
                plain.format = format;
                plain.data.fill(0);
            }
            Manage::Write(number, unit, value) => {
                there(number)?;
                let plain = self.plain.get_mut(&number).filter(|plain| plain.attached).ok_or(Status::INVALID_FIELD)?;
                let from = (unit * UNIT) as usize;
                plain.data.get_mut(from..from + UNIT as usize).ok_or(Status::LBA_OUT_OF_RANGE)?.fill(value);
            }
        }
        Ok(())
    }

    fn does(&self, act: &Manage) -> Result<(), Status> {
        match *act {
            Manage::Create(units, format) => {
                let mut data = vec![0; 4096];
                let shift = [9, 12, 12][format];
                for at in [0, 8] {
                    data[at..at + 8].copy_from_slice(&((units * UNIT) >> shift).to_le_bytes());
                }
                data[26] = format as u8;
                self.admin(0x0d, 0, 0, &data).map(drop)
            }
            Manage::Delete(number) => self.admin(0x0d, number, 1, &[]).map(drop),
            Manage::Attach(number, attaches) => {
                let mut data = vec![0; 4096];
                data[0] = 1;
                let ControllerId(id) = self.admin.controller.id;
                data[2..4].copy_from_slice(&id.to_le_bytes());
                self.admin(0x15, number, u32::from(!attaches), &data).map(drop)
            }
            Manage::Format(number, format) => self.admin(0x80, number, format as u32, &[]).map(drop),
            Manage::Write(number, unit, value) => {
                let shift = self.plain.get(&number).map_or(9, |plain| [9, 12][plain.format]);
                self.io(1, number, unit, shift, vec![value; UNIT as usize]).map(drop)
            }
        }
    }

    /// Numbers of namespaces that Identify lists: with CNS 02h those that are attached, with 10h all.
    fn listed(&self, cns: u64) -> Vec<u32> {
        let mut command = entry(6, cns, 0);
        command.0[4] = 0;
        let data = self.command(command, &[]).map(|answer| answer.data).unwrap_or_default();
        let numbers = data.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        numbers.take_while(|number| *number > 0).collect()
    }
}

proptest! {
    #[test]
    fn namespaces_are_memories_of_their_own(acts in proptest::collection::vec(manage(), 1..60)) {
        let mut of = Managed::new();
        for act in acts {
            let found = of.does(&act);
            let fragmented = matches!(act, Manage::Create(..)) && found == Err(Status::NAMESPACE_CAPACITY);
            if fragmented {
                let all: Vec<u32> = of.plain.keys().copied().collect();
                prop_assert!(!all.is_empty(), "an empty drive has room");
                continue;
            }
            prop_assert_eq!(found, of.expected(&act), "{:?}", act);
            prop_assert_eq!(of.listed(0x10), of.plain.keys().copied().collect::<Vec<u32>>());
            let attached = of.plain.iter().filter(|(_, plain)| plain.attached).map(|(number, _)| *number);
            prop_assert_eq!(of.listed(0x02), attached.collect::<Vec<u32>>());
            for (number, plain) in of.plain.iter().filter(|(_, plain)| plain.attached) {
                for (unit, data) in plain.data.chunks_exact(UNIT as usize).enumerate() {
                    let read = of.io(2, *number, unit as u64, [9, 12][plain.format], Vec::new());
                    prop_assert!(read.as_deref() == Ok(data), "namespace {} at unit {}: {:?}", number, unit, act);
                }
            }
        }
    }
}

#[test]
fn the_digest_is_that_of_the_specification() {
    // RFC 3720, B.4: 32 bytes of zeros, of ones, and from 0 up.
    assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c::crc32c(&std::array::from_fn::<u8, 32, _>(|index| index as u8)), 0x46dd_794e);
}
