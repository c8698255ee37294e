//! Reclaim groups and the handles of each (NVM Express TP 4146): which stream a placement identifier names, and on
//! which dies it is written.
//!
//! A handle of a group is a stream of host data, so that each has open blocks of its own; the streams of a group are
//! written to its dies alone. Data is relocated within its plane, so that it stays in its group.

use nand::{DieId, Layout};

use super::refusal::{Refusal, refuse};
use super::{Config, Placement};
use crate::streams::StreamId;

/// See the [module documentation](self).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Groups {
    /// Groups, and reclaim unit handles.
    pub count: u16,
    pub handles: u16,
    dies_of_each: u16,
}

impl Groups {
    /// Those of a drive that takes hints; otherwise one without handles.
    pub fn new(config: &Config, layout: &Layout) -> Result<Groups, Refusal> {
        let (count, handles) = (config.ftl.reclaim_groups, config.ftl.hints);
        if count == 0 || !layout.dies.is_multiple_of(count.into()) {
            let problem = format!("is {count}, and the drive has {} dies", layout.dies);
            return refuse("ftl.reclaim_groups", problem, "write a number that divides it; 1 is all of the drive");
        }
        if count > 1 {
            suits(config)?;
        }
        Ok(Groups { count, handles, dies_of_each: (layout.dies / u32::from(count)) as u16 })
    }

    /// Streams that there are for them.
    pub fn streams(&self) -> u16 {
        self.count * self.handles
    }

    /// Bits of a placement identifier that name the group: the most significant ones (RGIF).
    pub fn bits(&self) -> u32 {
        u16::BITS - self.count.saturating_sub(1).leading_zeros()
    }

    /// The group and the handle that a placement identifier names, whether there are such or not.
    fn named(&self, identifier: u16) -> (u16, u16) {
        let below = u16::BITS - self.bits();
        let group = identifier.checked_shr(below).unwrap_or(0);
        (group, if below < u16::BITS { identifier & ((1 << below) - 1) } else { identifier })
    }

    /// The number of the stream of a placement identifier, if there is one.
    pub fn number(&self, identifier: u16) -> Option<u16> {
        let (group, handle) = self.named(identifier);
        (group < self.count && handle < self.handles).then(|| group * self.handles + handle)
    }

    /// The placement identifier of a stream by its number; that of the first for what has none.
    pub fn identifier(&self, number: u16) -> u16 {
        if number >= self.streams() {
            return 0;
        }
        let below = u16::BITS - self.bits();
        (number / self.handles).checked_shl(below).unwrap_or(0) | (number % self.handles)
    }

    /// The stream to which a placement identifier's data goes: what is too large is taken modulo what there is.
    pub fn stream_of(&self, identifier: u16) -> StreamId {
        let (group, handle) = self.named(identifier);
        StreamId::new(usize::from(group % self.count * self.handles + handle % self.handles))
    }

    /// Whether a stream of host data is written to a die; what goes past an SLC cache goes where the cache's goes.
    #[inline]
    pub fn takes(&self, writes: StreamId, die: DieId) -> bool {
        self.count <= 1 || writes.index() as u16 % self.streams() / self.handles == die.0 / self.dies_of_each
    }
}

/// What several groups have nothing to do with.
fn suits(config: &Config) -> Result<(), Refusal> {
    for (is_so, problem, remedy) in [
        (config.ftl.hints == 0, "is more than 1, and no handles name them", "set ftl.hints, or write 1"),
        (
            config.ftl.placement == Placement::Static,
            "is more than 1, and static placement deals pages to dies by their addresses",
            "set ftl.placement to \"dynamic\", or write 1",
        ),
        (
            config.ftl.raid.wide().is_some(),
            "is more than 1, and parity over dies mixes the data of their groups in a stripe",
            "set ftl.raid to \"none\", or write 1",
        ),
        (
            config.policies.ftl.is_some(),
            "is more than 1, and an FTL of one's own says itself to which plane data goes",
            "leave the policy out, or write 1",
        ),
    ] {
        if is_so {
            return refuse("ftl.reclaim_groups", problem, remedy);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_its_group_above_its_handle() {
        for (count, handles, bits) in [(1, 8, 0), (2, 4, 1), (3, 2, 2), (4, 2, 2), (8, 1, 3)] {
            let groups = Groups { count, handles, dies_of_each: 1 };
            assert_eq!(groups.bits(), bits);
            for number in 0..groups.streams() {
                let identifier = groups.identifier(number);
                assert_eq!(
                    u32::from(identifier),
                    u32::from(number / handles) << (16 - bits) | u32::from(number % handles)
                );
                assert_eq!(groups.number(identifier), Some(number));
                assert_eq!(groups.stream_of(identifier).index(), usize::from(number));
                for die in 0..count {
                    assert_eq!(
                        groups.takes(StreamId::new(usize::from(number)), DieId(die)),
                        count == 1 || die == number / handles
                    );
                }
            }
            assert_eq!(groups.number(groups.identifier(0) + handles), None);
            assert!(groups.stream_of(u16::MAX).index() < usize::from(groups.streams()));
        }
    }
}
