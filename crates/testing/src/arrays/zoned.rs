//! Arrays of drives with zones, under the load of a host that knows of zones: the array's zones are those of its
//! drives, and every piece of data is on the drives, and in the places, that the layout says.
//!
//! Within a drive a watch says what each read was given. Here it is compared with what the array's zones say is
//! written, so that nothing has to be known of the order in which requests were done.

use array::Array;
use ssd::zones::ZoneState::{self, Closed, Conventional, Empty, ExplicitlyOpen, ImplicitlyOpen, Offline, ReadOnly};
use ssd::zones::{ZoneDescriptor, ZonesSeen};
use ssd::{Device, Drive, RunError};
use units::{Bytes, Time};
use workload::{Op, Request};

use super::books::Books;
use super::oracle::BLOCK;
use crate::soak::Watch;
use crate::watcher::Watched;

/// Where a piece of an array's address space is: drives, and the offset on each.
struct Copies {
    drives: Vec<usize>,
    offset: u64,
}

/// What lies together on a drive, in whole blocks: no more of it is read.
fn piece(array: &Array<Device<Watched>>) -> u64 {
    let page = array.drives().map(|drive| drive.plan().layout.page_size.0).min().unwrap_or(1);
    page.max(BLOCK).min(array.placement().chunk)
}

fn copies(array: &Array<Device<Watched>>, at: u64) -> Copies {
    let (layout, in_place) = (array.placement(), array.drives_in_place());
    let mut found = Copies { drives: Vec::new(), offset: 0 };
    layout.split(at, 1, |stripe, pieces| {
        let unit = pieces[0].unit;
        let units = if layout.code.copies() { 0..layout.code.width() } else { unit..unit + 1 };
        for spot in units.map(|unit| layout.spot(stripe, unit)) {
            found.drives.push(in_place[spot.place]);
            found.offset = spot.row * layout.chunk + pieces[0].start;
        }
    });
    found
}

/// Whether a zone's data ends at its write pointer.
fn ends_at_pointer(state: ZoneState) -> bool {
    [Empty, ImplicitlyOpen, ExplicitlyOpen, Closed].contains(&state)
}

fn zone_of<'a>(zones: Option<ZonesSeen<'a>>, zone: u32) -> Result<ZoneDescriptor, RunError> {
    zones.and_then(|zones| zones.zone(zone)).ok_or_else(|| RunError::Broken(format!("there is no zone {zone}")))
}

/// When all parts of drives that are to break have broken ([`crate::soak::zoned`]).
const BROKEN: Time = Time(60_000_000);

/// Plays an array to its end.
pub(super) fn play_to_the_end(array: &mut Array<Device<Watched>>, books: &mut Books) -> Result<(), RunError> {
    array.flush()?;
    array.advance(BROKEN.max(array.now()))?;
    array.flush()?;
    books.take(array);
    array.check_all()
}

/// Whether a drive of an array has failed, or a part of one.
fn has_failed(array: &Array<Device<Watched>>) -> bool {
    let broken: u64 = array.drives().map(|drive| Drive::counters(drive).planes_broken).sum();
    broken + array.counters_so_far().drives_failed > 0
}

/// Compares an array's zones with its drives', and reads all of them, if no part of it has failed. Drives have done all
/// that they were asked for.
///
/// # Errors
/// What does not hold.
pub(super) fn check(array: &mut Array<Device<Watched>>, watches: &[Watch]) -> Result<(), RunError> {
    if has_failed(array) {
        return Ok(());
    }
    let count = array.zones().map_or(0, |zones| zones.count());
    (0..count).try_for_each(|zone| check_pointers(array, zone))?;
    let step = piece(array);
    for zone in 0..count {
        let found = zone_of(array.zones(), zone)?;
        if found.state == Offline {
            continue;
        }
        for at in (found.start..found.start + found.capacity).step_by(step as usize) {
            let checked = check_piece(array, watches, &found, Bytes(at), step);
            // Drives may fail while they are read.
            if has_failed(array) {
                return Ok(());
            }
            checked?;
        }
    }
    Ok(())
}

/// What is written of a zone is the sum of what is written of those of the drives, or the same as in each copy.
fn check_pointers(array: &Array<Device<Watched>>, zone: u32) -> Result<(), RunError> {
    let found = zone_of(array.zones(), zone)?;
    let of_drives: Vec<ZoneDescriptor> =
        array.drives().map(|drive| zone_of(Drive::zones(drive), zone)).collect::<Result<_, _>>()?;
    if [ReadOnly, Offline, Conventional].contains(&found.state) {
        return Ok(());
    }
    let written = |zone: &ZoneDescriptor| match ends_at_pointer(zone.state) {
        true => zone.write_pointer - zone.start,
        false => zone.capacity,
    };
    let copies = array.placement().code.width() as u64 / array.placement().code.data as u64;
    let copies = if array.placement().code.copies() { copies } else { 1 };
    let together: u64 = of_drives.iter().map(written).sum();
    if together != written(&found) * copies {
        return Err(RunError::Broken(format!(
            "zone {zone} of the array is {found:?}, and of its drives {of_drives:?}"
        )));
    }
    Ok(())
}

/// Reads a piece: the array asks a drive that has it for it, which holds something there as far as the write pointer
/// says.
fn check_piece(
    array: &mut Array<Device<Watched>>,
    watches: &[Watch],
    zone: &ZoneDescriptor,
    at: Bytes,
    bytes: u64,
) -> Result<(), RunError> {
    let broken = |text: String| RunError::Broken(format!("{at} of {zone:?}: {text}"));
    let Copies { drives, offset } = copies(array, at.0);
    for drive in &drives {
        let of_drive = array.drives().nth(*drive).ok_or_else(|| broken("no such drive".into()))?;
        let size = of_drive.plan().layout.page_size.0;
        let pointer =
            |zones: ZonesSeen| zones.zone((offset / zones.size()) as u32).map_or(0, |zone| zone.write_pointer);
        let pointer = Drive::zones(of_drive).map_or(0, pointer);
        for page in offset / size..(offset + bytes).div_ceil(size) {
            let (holds, is_written) = (watches[*drive].holds(page), page * size < pointer);
            let has_to = at.0 + bytes <= zone.write_pointer;
            if ends_at_pointer(zone.state) && (holds != is_written || has_to && !holds) {
                return Err(broken(format!("page {page} of drive {drive} holds something: {holds}")));
            }
        }
    }
    watches.iter().for_each(|watch| drop(watch.take_read()));
    array.submit(Request::new(array.now(), Op::Read, at, Bytes(bytes)))?;
    let mut done = Vec::new();
    while array.outstanding() > 0 && array.advance_to_completion(Time::NEVER)? {
        done.extend(array.take_completions());
    }
    if done.len() != 1 || !done[0].is_done() {
        return Err(broken(format!("a read of it ends with {done:?}")));
    }
    // Other drives may still read what was asked for before.
    let reads: Vec<(usize, Vec<u64>)> = watches.iter().map(Watch::take_read).enumerate().collect();
    let is_read = |(drive, pages): &(usize, Vec<u64>)| {
        let size = array.drives().nth(*drive).map_or(1, |drive| drive.plan().layout.page_size.0);
        drives.contains(drive) && (offset / size..(offset + bytes).div_ceil(size)).all(|page| pages.contains(&page))
    };
    if !reads.iter().any(is_read) {
        return Err(broken(format!("drives have read {reads:?}, and it lies at {offset} of {drives:?}")));
    }
    Ok(())
}
