//! The stripes of the initial state (`ftl.raid`), as a formula: as if all of it had been written in rows of a page on
//! every plane. In a row the pages at one place of each die are cut into stripes of dies that follow one another, of
//! equal length as far as that goes, and no longer than `ftl.raid` says; a page of each is its parity. From row to row
//! parity moves on by a die.

use nand::{Layout, PlaneId};

/// What a page of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Data: of all data of the initial state that page.
    Data(u64),
    /// The parity of that stripe.
    Parity(u64),
}

/// No place among the data.
const PARITY: u32 = u32::MAX;

/// Where the rows have what. Memory: 12 bytes for each plane and page of a stripe.
pub(super) struct StripedRows {
    planes: u64,
    /// Pages of data of a row, and stripes.
    pub data: u64,
    pub stripes: u64,
    /// Rows after which the pattern comes again.
    cycle: u64,
    /// By row of a cycle and position: the place among the row's data, or [`PARITY`]; and the stripe.
    rank: Vec<u32>,
    stripe: Vec<u32>,
    /// By row of a cycle and place among the data: the position; the positions of parity.
    position_of_data: Vec<u32>,
    position_of_parity: Vec<u32>,
}

impl StripedRows {
    /// Stripes of up to `wide` pages of planes in that order.
    pub fn new(layout: &Layout, wide: u32, plane_of_position: &[u32]) -> StripedRows {
        let (dies, cycle) = (layout.dies, wide);
        let groups = dies.div_ceil(wide);
        let planes = plane_of_position.len();
        let stripes = (groups * layout.planes_per_die) as usize;
        let mut rows = StripedRows {
            planes: planes as u64,
            data: (planes - stripes) as u64,
            stripes: stripes as u64,
            cycle: cycle.into(),
            rank: Vec::new(),
            stripe: Vec::new(),
            position_of_data: Vec::new(),
            position_of_parity: vec![0; stripes * cycle as usize],
        };
        for row in 0..cycle {
            for (position, plane) in plane_of_position.iter().enumerate() {
                let (die, place) = layout.die_of(PlaneId(*plane));
                let die = (u32::from(die.0) + row) % dies;
                // The group that a die is in, of groups whose lengths differ by one at most.
                let group = ((die + 1) * groups).div_ceil(dies) - 1;
                let stripe = group * layout.planes_per_die + u32::from(place);
                rows.stripe.push(stripe);
                if die == group * dies / groups {
                    rows.rank.push(PARITY);
                    rows.position_of_parity[row as usize * stripes + stripe as usize] = position as u32;
                } else {
                    rows.rank.push((rows.position_of_data.len() - row as usize * (planes - stripes)) as u32);
                    rows.position_of_data.push(position as u32);
                }
            }
        }
        rows
    }

    fn at(&self, row: u64, position: u64) -> usize {
        (row % self.cycle * self.planes + position) as usize
    }

    /// The place in the rows of a page of data, and of a stripe's parity.
    pub fn of_data(&self, data: u64) -> u64 {
        let (row, rank) = (data / self.data, data % self.data);
        row * self.planes + u64::from(self.position_of_data[(row % self.cycle * self.data + rank) as usize])
    }

    pub fn of_parity(&self, stripe: u64) -> u64 {
        let (row, number) = (stripe / self.stripes, stripe % self.stripes);
        row * self.planes + u64::from(self.position_of_parity[(row % self.cycle * self.stripes + number) as usize])
    }

    /// What is at a place in the rows.
    pub fn role(&self, place: u64) -> Role {
        let (row, position) = (place / self.planes, place % self.planes);
        match self.rank[self.at(row, position)] {
            PARITY => Role::Parity(self.stripe(place)),
            rank => Role::Data(row * self.data + u64::from(rank)),
        }
    }

    /// Pages of parity at a position of this many rows.
    pub fn parity_at(&self, position: u64, rows: u64) -> u64 {
        let is_parity = |row: &u64| self.rank[self.at(*row, position)] == PARITY;
        let of_cycle = (0..self.cycle).filter(is_parity).count() as u64;
        rows / self.cycle * of_cycle + (0..rows % self.cycle).filter(is_parity).count() as u64
    }

    /// The stripe of a place.
    pub fn stripe(&self, place: u64) -> u64 {
        let (row, position) = (place / self.planes, place % self.planes);
        row * self.stripes + u64::from(self.stripe[self.at(row, position)])
    }

    /// The places of a stripe's data.
    pub fn members(&self, stripe: u64) -> impl Iterator<Item = u64> {
        let row = stripe / self.stripes;
        let places = row * self.planes..(row + 1) * self.planes;
        places.filter(move |place| self.stripe(*place) == stripe && matches!(self.role(*place), Role::Data(_)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::Config;

    #[test]
    fn every_page_of_data_is_in_one_stripe_of_as_many_dies_and_parity_wanders_over_all() {
        for (channels, planes, wide) in [(4, 1, 4), (5, 2, 4), (3, 4, 2), (8, 1, 8), (7, 3, 3), (2, 2, 2)] {
            let mut config = Config::default();
            for word in [format!("geometry.channels={channels}"), format!("geometry.planes={planes}")] {
                config.set(&word).unwrap();
            }
            for word in ["geometry.chips=1", "geometry.dies=1", "buffer.size=64MiB"] {
                config.set(word).unwrap();
            }
            let layout = config.plan().unwrap().layout;
            let order = config.ftl.page_order.planes(&layout);
            let rows = StripedRows::new(&layout, wide, &order);
            let die_of = |place: u64| layout.die_of(PlaneId(order[(place % rows.planes) as usize])).0;
            let mut parity_on = BTreeSet::new();
            let mut seen = 0;
            for place in 0..rows.planes * 3 * u64::from(wide) {
                match rows.role(place) {
                    Role::Data(data) => {
                        assert_eq!((data, rows.of_data(data)), (seen, place));
                        seen += 1;
                        assert!(rows.members(rows.stripe(place)).any(|other| other == place));
                    }
                    Role::Parity(stripe) => {
                        assert_eq!((rows.of_parity(stripe), rows.stripe(place)), (place, stripe));
                        let mut dies: Vec<_> = rows.members(stripe).map(die_of).collect();
                        dies.push(die_of(place));
                        let distinct: BTreeSet<_> = dies.iter().copied().collect();
                        assert!(distinct.len() == dies.len() && dies.len() <= wide as usize);
                        parity_on.insert(die_of(place));
                    }
                }
            }
            assert_eq!(parity_on.len() as u32, layout.dies, "{channels} {planes} {wide}");
        }
    }
}
