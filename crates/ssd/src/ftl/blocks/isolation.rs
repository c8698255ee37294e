//! Blocks of placement handles that are persistently isolated (TP 4146): relocated data of each goes into blocks of its
//! own.
//!
//! A plane relocates one block at a time, which holds the data of one handle, and every program of it has ended before
//! the next block begins. So the streams of relocated data have one open block, as on any drive: that of the handle
//! whose data moves. Those of the others wait here.

use nand::{Address, PlaneId};
use units::Ppn;

use super::{Blocks, EMPTY, Open, Written};
use crate::streams::{MOST, RELOCATED, StreamId};

impl Blocks {
    /// No open blocks: of this many handles, and of data without one; none at all where nothing stays apart.
    pub(super) fn none_apart(handles: u8, pages: &[u32; MOST]) -> Vec<[Open; RELOCATED.len()]> {
        let full =
            RELOCATED.map(|stream| Open { block: 0, next_page: pages[stream.index()], erased: true, barrier: 0 });
        if handles == 0 { Vec::new() } else { vec![full; usize::from(handles) + 1] }
    }

    /// Whose data a block that a stream opens will hold.
    pub(super) fn handle_of_new(&self, plane: PlaneId, stream: StreamId) -> u8 {
        if RELOCATED.contains(&stream) {
            self.plane(plane).handle
        } else if stream.is_of_host() && self.handles > 0 {
            // What goes past an SLC cache has a stream for each handle as well.
            stream.index() as u8 % self.handles
        } else {
            self.handles
        }
    }

    /// Whose data a block holds: nobody's where it is from before the run.
    pub fn handle_of(&self, plane: PlaneId, block: u32) -> u8 {
        let record = self.block(plane, block).written;
        if record < EMPTY { self.written[record as usize].handle } else { self.handles }
    }

    /// Whose data a page of the flash holds.
    pub fn handle_of_page(&self, ppn: Ppn) -> u8 {
        let Address { plane, block, .. } = self.layout().unpack(ppn);
        self.handle_of(plane, block)
    }

    /// The data of a block begins to move: what is relocated on its plane is of its handle from now on.
    pub fn handle_moves(&mut self, plane: PlaneId, block: u32) {
        let handle = self.handle_of(plane, block);
        let entry = &mut self.planes[plane.0 as usize];
        let before = std::mem::replace(&mut entry.handle, handle);
        if entry.apart.is_empty() || before == handle {
            return;
        }
        for (place, stream) in RELOCATED.into_iter().enumerate() {
            let next = entry.apart[usize::from(handle)][place];
            entry.apart[usize::from(before)][place] = std::mem::replace(&mut entry.open[stream.index()], next);
        }
        // Whose these are is kept in one place.
        entry.apart[usize::from(handle)] = Blocks::none_apart(1, &self.pages)[0];
    }

    /// The open blocks of a plane that wait for data of their handle, or of their zone, to move.
    pub(super) fn open_apart(&self, plane: PlaneId) -> impl Iterator<Item = Open> + use<'_> {
        let all = self.plane(plane).apart.iter().flat_map(|open| open.iter().zip(RELOCATED));
        let of_handles =
            all.filter(|(open, stream)| open.next_page < self.pages[stream.index()]).map(|(open, _)| *open);
        let of_zones = self.zones.iter().flat_map(move |zones| zones.apart[plane.0 as usize].iter().map(|of| of.open));
        of_handles.chain(of_zones)
    }

    /// Where a block that is written further goes on, by the streams, or by what stays apart.
    pub(super) fn open_with(&self, plane: PlaneId, written: &Written, block: u32) -> Open {
        let apart = self.open_apart(plane).find(|open| open.block == block);
        apart.unwrap_or(self.plane(plane).open[written.stream.index()])
    }

    /// Nothing more goes into a block that waits for data of its handle; whether it was one.
    pub(super) fn abandon_apart(&mut self, plane: PlaneId, block: u32) -> bool {
        if !self.open_apart(plane).any(|open| open.block == block) {
            return false;
        }
        let pages = self.pages;
        for open in &mut self.planes[plane.0 as usize].apart {
            for (open, stream) in open.iter_mut().zip(RELOCATED).filter(|(open, _)| open.block == block) {
                open.next_page = pages[stream.index()];
            }
        }
        if let Some(zones) = &mut self.zones {
            zones.apart[plane.0 as usize].retain(|of| of.open.block != block);
        }
        self.close(plane, block);
        true
    }
}
