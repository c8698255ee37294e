//! The state that a run starts from, as an invertible formula: which page holds which logical page, so that
//! a 2-TiB drive starts in no time and takes no memory until it is written.
//!
//! Logical pages were dealt to the planes in the page allocation order and fill each plane's blocks from
//! the first on. With stale pages among them, the `i`-th live page of a plane stands at place
//! `floor(i / live share)`: live pages are spread evenly, and both directions are one multiplication.

use nand::{Address, Layout, PlaneId};
use units::{Lpn, Ppn};

use crate::config::Plan;

/// The initial contents of the flash.
pub(crate) struct Aged {
    layout: Layout,
    /// Logical pages below this hold data.
    pub filled: u32,
    planes: Divisor,
    pages: Divisor,
    plane_of_position: Vec<u32>,
    position_of_plane: Vec<u32>,
    /// Live pages among `SCALE` pages of a written block.
    live: u64,
}

const SCALE_BITS: u32 = 24;

impl Aged {
    pub fn new(plan: &Plan) -> Aged {
        let layout = plan.layout;
        let plane_of_position = plan.config.ftl.page_order.planes(&layout);
        let mut position_of_plane = vec![0; plane_of_position.len()];
        for (position, plane) in plane_of_position.iter().enumerate() {
            position_of_plane[*plane as usize] = position as u32;
        }
        let live = ((1.0 - plan.config.age.invalid.0) * f64::from(1u32 << SCALE_BITS)).ceil() as u64;
        Aged {
            layout,
            filled: (f64::from(plan.logical_pages) * plan.config.age.fill.0) as u32,
            planes: Divisor::new(layout.planes),
            pages: Divisor::new(layout.pages),
            plane_of_position,
            position_of_plane,
            live: live.max(1),
        }
    }

    /// The plane that an address is dealt to.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> PlaneId {
        let position = self.planes.div_rem(lpn.0).1;
        PlaneId(self.plane_of_position[position as usize])
    }

    /// Where the drive's initial data for a logical page stands, if there is any.
    #[inline]
    pub fn physical(&self, lpn: Lpn) -> Option<Ppn> {
        if lpn.0 >= self.filled {
            return None;
        }
        let (index, position) = self.planes.div_rem(lpn.0);
        let place = ((u64::from(index) << SCALE_BITS) / self.live) as u32;
        let place = if self.live == 1 << SCALE_BITS { index } else { place };
        let (block, page) = self.pages.div_rem(place);
        let plane = PlaneId(self.plane_of_position[position as usize]);
        Some(self.layout.pack(Address { plane, block, page }))
    }

    /// The logical page whose initial data stands in a physical page, if any.
    pub fn logical(&self, address: Address) -> Option<Lpn> {
        let place = u64::from(address.block) * u64::from(self.layout.pages) + u64::from(address.page);
        let index = (place * self.live).div_ceil(1 << SCALE_BITS);
        if (index << SCALE_BITS) / self.live != place {
            return None;
        }
        let position = u64::from(self.position_of_plane[address.plane.0 as usize]);
        let lpn = index * u64::from(self.layout.planes) + position;
        (lpn < u64::from(self.filled)).then_some(Lpn(lpn as u32))
    }

    /// Blocks of a plane that the initial data takes, the last of them perhaps in part.
    pub fn used_blocks(&self, plane: PlaneId) -> u32 {
        let position = self.position_of_plane[plane.0 as usize];
        if position >= self.filled {
            return 0;
        }
        let last = u64::from((self.filled - 1 - position) / self.layout.planes);
        let place = (last << SCALE_BITS) / self.live;
        (place / u64::from(self.layout.pages)) as u32 + 1
    }

    /// Live pages that the initial data put into a block.
    pub fn live_in_block(&self, plane: PlaneId, block: u32) -> u32 {
        let pages = u64::from(self.layout.pages);
        let first_index = |place: u64| (place * self.live).div_ceil(1 << SCALE_BITS);
        let position = self.position_of_plane[plane.0 as usize];
        if position >= self.filled {
            return 0;
        }
        let count = u64::from((self.filled - 1 - position) / self.layout.planes) + 1;
        let (from, to) = (first_index(u64::from(block) * pages), first_index(u64::from(block + 1) * pages));
        (to.min(count) - from.min(count)) as u32
    }
}

/// Division by a constant through one multiplication: exact for every `u32` (Lemire, Kaser, Kurz,
/// "Faster remainder by direct computation", arXiv:1902.01961, with a 64-bit reciprocal).
#[derive(Clone, Copy)]
struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u32) -> Divisor {
        Divisor { by, reciprocal: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    #[inline]
    fn div_rem(self, n: u32) -> (u32, u32) {
        // A divisor of one has a reciprocal of 2^64, which is 0 here.
        let quotient = if self.by == 1 { n } else { ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u32 };
        (quotient, n - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use units::Fraction;

    fn aged(fill: f64, invalid: f64, order: &str) -> (Aged, Plan) {
        let mut config = Config::default();
        config.geometry.channels = 3;
        config.geometry.blocks = 20;
        config.geometry.pages = 30;
        config.age.fill = Fraction(fill);
        config.age.invalid = Fraction(invalid);
        config.set(&format!("ftl.page_order={order}")).unwrap();
        let plan = config.plan().unwrap();
        (Aged::new(&plan), plan)
    }

    #[test]
    fn the_initial_map_is_a_bijection_between_filled_and_live_pages() {
        for (fill, invalid) in [(1.0, 0.0), (0.5, 0.0), (0.7, 0.25), (0.3, 0.66), (0.0, 0.0), (0.001, 0.1)] {
            for order in ["CWDP", "PCWD", "DPWC"] {
                let (aged, plan) = aged(fill, invalid, order);
                let layout = plan.layout;
                for lpn in (0..plan.logical_pages).map(Lpn) {
                    let place = aged.physical(lpn);
                    assert_eq!(place.is_some(), lpn.0 < aged.filled);
                    if let Some(ppn) = place {
                        assert_eq!(aged.logical(layout.unpack(ppn)), Some(lpn));
                        assert_eq!(layout.plane_of(ppn), aged.plane_of(lpn));
                    }
                }
                let mut live = 0;
                for plane in (0..layout.planes).map(PlaneId) {
                    for block in 0..layout.blocks {
                        let here = (0..layout.pages)
                            .filter(|page| aged.logical(Address { plane, block, page: *page }).is_some())
                            .count() as u32;
                        assert_eq!(here, aged.live_in_block(plane, block));
                        assert!(here == 0 || block < aged.used_blocks(plane));
                        live += here;
                    }
                }
                assert_eq!(live, aged.filled);
            }
        }
    }

    #[test]
    fn a_share_of_stale_pages_spreads_the_data_over_that_many_more_blocks() {
        let (dense, _) = aged(0.5, 0.0, "CWDP");
        let (spread, _) = aged(0.5, 0.5, "CWDP");
        assert_eq!(2 * dense.used_blocks(PlaneId(0)), spread.used_blocks(PlaneId(0)) + 1);
    }

    #[test]
    fn a_divisor_divides_exactly() {
        for by in [1, 2, 3, 7, 64, 576, 1888, 2112, u32::MAX] {
            for n in [0, 1, 2, by - 1, by, by.wrapping_add(1), 123_456_789, u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(by).div_rem(n), (n / by, n % by));
            }
        }
    }
}
