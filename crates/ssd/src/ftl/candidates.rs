//! The full blocks of a plane, by their valid pages: each loss of a page moves a block in no time, and asking for
//! the block with the fewest is not a scan.
//!
//! A block that loses a page goes to the end of the list of its new count; so each list is in the order of the last
//! loss, and its head has lost none for longest.

use nand::Layout;

use crate::persist::{Reader, Stored, Writer, stored};
use crate::policies::{BlockFacts, Shown};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Member {
    prev: u32,
    next: u32,
    /// Valid pages; `NONE` for a block that is not a candidate.
    valid: u32,
    /// Pages that the plane had programmed when the block lost its last one.
    changed: u32,
}

const _: () = assert!(size_of::<Member>() == 16, "the stated memory of a candidate");

/// What policies from outside see of full blocks, by their numbers: it stays as it is until they are erased. Nothing
/// where none has been asked; no state.
#[derive(Clone, Default)]
struct Facts(Vec<BlockFacts>);

impl Stored for Facts {
    fn write(&self, _to: &mut Writer) {}
    fn read(_from: &mut Reader) -> std::io::Result<Facts> {
        Ok(Facts::default())
    }
}

/// Memory: 16 bytes a block and 8 bytes for each count of valid pages, on planes that have been collected; 8 more a
/// block where a policy from outside, or an FTL of one's own, picks victims.
#[derive(Clone, Default)]
pub(crate) struct FullBlocks {
    members: Vec<Member>,
    /// First and last block with each count; all in one list where the order of filling is asked for.
    lists: Vec<[u32; 2]>,
    by_valid: bool,
    pages: u32,
    /// A block with this many valid pages gains nothing.
    victim_valid_limit: u32,
    /// No block has fewer valid pages.
    least: u32,
    /// Pages programmed on the plane, modulo 2^32.
    pub now: u32,
    count: u32,
    facts: Facts,
}

impl FullBlocks {
    pub fn new(layout: &Layout, by_valid: bool, victim_valid_limit: u32) -> FullBlocks {
        let absent = Member { prev: NONE, next: NONE, valid: NONE, changed: 0 };
        FullBlocks {
            members: vec![absent; layout.blocks as usize],
            lists: vec![[NONE; 2]; if by_valid { layout.pages as usize + 1 } else { 1 }],
            by_valid,
            pages: layout.pages,
            victim_valid_limit,
            least: layout.pages,
            now: 0,
            count: 0,
            facts: Facts::default(),
        }
    }

    /// Whether policies from outside can be asked.
    pub fn is_shown(&self) -> bool {
        !self.facts.0.is_empty()
    }

    /// Policies from outside will be asked: what is known of each block now.
    pub fn show(&mut self, facts: Vec<BlockFacts>) {
        self.facts = Facts(facts);
    }

    /// A block is full and may be reclaimed.
    pub fn insert(&mut self, block: u32, valid: u32, facts: BlockFacts) {
        if let Some(known) = self.facts.0.get_mut(block as usize) {
            *known = facts;
        }
        debug_assert_eq!(self.members[block as usize].valid, NONE, "Invariant: a block is a candidate once");
        self.members[block as usize].valid = valid;
        self.members[block as usize].changed = self.now;
        self.count += 1;
        self.append(block);
    }

    /// A block that was taken out is full all the same: where the order of filling is asked for it is at its old place.
    pub fn insert_again(&mut self, block: u32, valid: u32, facts: BlockFacts) {
        // What it stood between is known, as long as that has not been taken out too.
        let Member { prev, next, .. } = self.members[block as usize];
        self.insert(block, valid, facts);
        if self.by_valid {
            return;
        }
        let behind = match prev {
            NONE => self.lists[0][0],
            prev if self.contains(prev) => self.members[prev as usize].next,
            _ if self.contains(next) => next,
            _ => NONE,
        };
        if behind != NONE && behind != block {
            self.unlink(block);
            let before = std::mem::replace(&mut self.members[behind as usize].prev, block);
            (self.members[block as usize].prev, self.members[block as usize].next) = (before, behind);
            match before {
                NONE => self.lists[0][0] = block,
                before => self.members[before as usize].next = block,
            }
        }
    }

    /// The block is reclaimed, or out of service.
    pub fn remove(&mut self, block: u32) {
        self.unlink(block);
        self.members[block as usize].valid = NONE;
        self.count -= 1;
    }

    pub fn contains(&self, block: u32) -> bool {
        self.members.get(block as usize).is_some_and(|member| member.valid != NONE)
    }

    /// A page of the block is stale. Blocks that are no candidates are left alone.
    pub fn lose(&mut self, block: u32) {
        if self.members[block as usize].valid == NONE {
            return;
        }
        if self.by_valid {
            self.unlink(block);
        }
        let member = &mut self.members[block as usize];
        member.valid -= 1;
        member.changed = self.now;
        if self.by_valid {
            self.append(block);
        }
    }

    /// Brings `least` up to date before a policy asks.
    pub fn settle(&mut self) {
        while self.by_valid && self.least < self.pages && self.lists[self.least as usize][0] == NONE {
            self.least += 1;
        }
    }

    fn list_of(&self, block: u32) -> usize {
        if self.by_valid { self.members[block as usize].valid as usize } else { 0 }
    }

    fn append(&mut self, block: u32) {
        let list = self.list_of(block);
        let last = std::mem::replace(&mut self.lists[list][1], block);
        (self.members[block as usize].prev, self.members[block as usize].next) = (last, NONE);
        match last {
            NONE => self.lists[list][0] = block,
            last => self.members[last as usize].next = block,
        }
        self.least = self.least.min(self.members[block as usize].valid);
    }

    fn unlink(&mut self, block: u32) {
        let list = self.list_of(block);
        let Member { prev, next, .. } = self.members[block as usize];
        match prev {
            NONE => self.lists[list][0] = next,
            prev => self.members[prev as usize].next = next,
        }
        match next {
            NONE => self.lists[list][1] = prev,
            next => self.members[next as usize].prev = prev,
        }
    }
}

impl schemes::Candidates for FullBlocks {
    fn pages(&self) -> u32 {
        self.pages
    }
    fn victim_valid_limit(&self) -> u32 {
        self.victim_valid_limit
    }
    fn least_valid(&self) -> Option<u32> {
        (self.count > 0).then_some(self.least)
    }
    fn oldest(&self, valid: u32) -> Option<u32> {
        Some(self.lists[valid as usize][0]).filter(|block| *block != NONE)
    }
    fn first_filled(&self) -> Option<u32> {
        Some(self.lists[0][0]).filter(|block| *block != NONE)
    }
    fn block(&self, block: u32) -> (u32, u32) {
        let Some(member) = self.members.get(block as usize) else { return (NONE, 0) };
        (member.valid, self.now.wrapping_sub(member.changed))
    }
    fn random(&self, draw: u64) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        // Nearly every block of a plane that is collected is a candidate.
        let start = ((u128::from(draw) * self.members.len() as u128) >> 64) as usize;
        let found = (start..self.members.len()).chain(0..start).find(|block| self.members[*block].valid != NONE);
        found.map(|block| block as u32)
    }
}

impl Shown for FullBlocks {
    fn blocks(&self) -> u32 {
        self.members.len() as u32
    }
    fn facts(&self, block: u32) -> BlockFacts {
        self.facts.0.get(block as usize).copied().unwrap_or_default()
    }
}

stored! {
    FullBlocks { members, lists, by_valid, pages, victim_valid_limit, least, now, count, facts }
    Member { prev, next, valid, changed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use schemes::{Candidates as _, Victim};

    #[test]
    fn a_block_of_which_a_part_has_moved_keeps_its_place_in_the_order_of_filling() {
        let layout = Config::default().plan().unwrap().layout;
        // Which block is taken out, which others until it is back, and the order then.
        for (out, gone, order) in [
            (3, &[][..], &[3, 4, 5, 6, 7][..]),
            (5, &[], &[3, 4, 5, 6, 7]),
            (7, &[], &[3, 4, 5, 6, 7]),
            (5, &[4], &[3, 5, 6, 7]),
            (5, &[6], &[3, 4, 5, 7]),
            (3, &[4, 5, 6, 7], &[3]),
        ] {
            let mut candidates = FullBlocks::new(&layout, Victim::Fifo.asks_for_valid(), layout.pages);
            (3..8).for_each(|block| candidates.insert(block, 9, BlockFacts::default()));
            candidates.remove(out);
            gone.iter().for_each(|block| candidates.remove(*block));
            candidates.insert(8, 9, BlockFacts::default());
            candidates.insert_again(out, 5, BlockFacts::default());
            let found = std::iter::from_fn(|| candidates.first_filled().inspect(|block| candidates.remove(*block)));
            let found: Vec<u32> = found.collect();
            assert_eq!(found, [order, &[8]].concat(), "{out} without {gone:?}");
        }
    }

    #[test]
    fn the_lists_agree_with_a_scan_over_random_losses() {
        let layout = Config::default().plan().unwrap().layout;
        for victim in [Victim::Greedy, Victim::Fifo] {
            let mut candidates = FullBlocks::new(&layout, victim.asks_for_valid(), layout.pages);
            let random = units::Stream::new(5, "candidates");
            // Block, valid pages, when it lost one last, in the order of filling.
            let mut plain: Vec<(u32, u32, u64)> = Vec::new();
            for step in 0..20_000u64 {
                candidates.now = step as u32;
                let draw = |n: u64| random.below(2 * step, n);
                if plain.len() < 50 {
                    let block = (0..layout.blocks).find(|block| !candidates.contains(*block)).unwrap();
                    candidates.insert(block, layout.pages, BlockFacts::default());
                    plain.push((block, layout.pages, step));
                } else if let Some(entry) = plain.get_mut(draw(50) as usize).filter(|entry| entry.1 > 0) {
                    (entry.1, entry.2) = (entry.1 - 1, step);
                    candidates.lose(entry.0);
                }
                candidates.settle();
                let found = victim.pick(&candidates, || 0);
                let expected = match victim {
                    Victim::Fifo => plain.first().map(|entry| entry.0),
                    _ => plain
                        .iter()
                        .filter(|entry| entry.1 < layout.pages)
                        .min_by_key(|entry| (entry.1, entry.2))
                        .map(|entry| entry.0),
                };
                assert_eq!(found, expected);
                if let Some(block) = found
                    && random.below(2 * step + 1, 40) == 0
                {
                    candidates.remove(block);
                    plain.retain(|entry| entry.0 != block);
                }
            }
        }
    }
}
