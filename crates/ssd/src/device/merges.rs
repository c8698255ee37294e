//! Merges of logical blocks, where data is mapped by blocks (`ftl/merges.rs`): when they begin, what their reads bring, what their padding ends.

use nand::PlaneId;
use units::Ppn;

use super::Device;
use crate::flash::op::PageData;
use crate::ftl::merging::MergeKind;
use crate::observe::probe::Probe;

/// What crosses the drive's components for merges.
pub(super) struct Merges<'a, P: Probe>(pub(super) &'a mut Device<P>);

impl<P: Probe> Merges<'_, P> {
    /// A page of host data waits on a plane, or a program of it has begun: what has to be gathered with that begins to be so.
    #[inline]
    pub fn begin(self, plane: PlaneId) {
        if self.0.ftl.moving(plane).is_due() {
            self.0.collect(plane);
        }
    }

    /// Data of a logical block has been read.
    pub fn has_come(self, plane: PlaneId, source: Ppn, data: PageData, works: bool) {
        for (lpn, ppn) in self.0.ftl.moving(plane).has_come(source, &self.0.writes.buffer) {
            match (works, data) {
                (false, PageData::Right) => self.0.rescue(lpn, ppn),
                (true, PageData::Right) | (false, _) => {}
                (true, data) => self.0.damage(lpn, data),
            }
        }
    }

    /// Padding of a logical block has been programmed, or will not be.
    pub fn padded(self, plane: PlaneId) {
        self.0.ftl.moving(plane).moves_no_more();
        self.0.continue_relocation(plane);
    }

    /// Counts the merge of a plane, if it has ended one.
    pub fn count(self, plane: PlaneId) {
        match self.0.ftl.moving(plane).kind() {
            Some(MergeKind::Partial) => self.0.core.counters.partial_merges += 1,
            Some(MergeKind::Full) => self.0.core.counters.full_merges += 1,
            None => {}
        }
    }
}
