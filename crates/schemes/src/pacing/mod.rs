//! How fast host data may be programmed on a plane while its blocks are collected.
//!
//! Contract: a policy sees how many blocks of the plane are free and what the collection under way gains, and says how
//! many pages of host data each relocated page pays for. Programs of host data wait until they are paid for. Where
//! nothing is collected nothing has to be paid.

mod contract;
mod proportional;
mod token;

pub use contract::{Collection, Price};

units::choices! {
    /// What slows host writes down while blocks are collected.
    pub enum Pacing {
        /// Nothing: they go on until no block is free, and then wait until collections have gained a whole one.
        None = "none",
        /// The less room is left, the more relocated pages a page of host data costs.
        Proportional = "proportional",
        /// Where hardly any room is left, a page of host data costs as many relocated pages as collection needs to gain
        /// one.
        Token = "token",
    }
}

impl Pacing {
    /// What a page of host data costs; none where host writes are not slowed.
    pub fn price(self, collection: Collection) -> Option<Price> {
        match self {
            Pacing::None => None,
            Pacing::Proportional => proportional::price(collection),
            Pacing::Token => token::price(collection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(pacing: Pacing, room: i64, valid: u32) -> f64 {
        let price = pacing.price(Collection { room, least: 100, start: 300, pages: 100, valid }).unwrap();
        price.relocated as f64 / price.host as f64
    }

    #[test]
    fn a_page_costs_what_gaining_one_takes() {
        // 80 pages are relocated to gain 20.
        assert_eq!(price(Pacing::Token, 100, 80), 4.0);
        assert_eq!(price(Pacing::Token, 100, 50), 1.0);
        assert_eq!(price(Pacing::Token, 100, 0), 0.0);
        // What padding has taken comes back.
        assert_eq!([50, 0, -900].map(|room| price(Pacing::Token, room, 50)), [1.5, 2.0, 3.0]);
        let much = Collection { room: 300, least: 100, start: 300, pages: 100, valid: 80 };
        assert_eq!([Pacing::Token, Pacing::Proportional].map(|pacing| pacing.price(much)), [None, None]);
        assert_eq!(Pacing::None.price(Collection { room: 0, ..much }), None);
    }

    #[test]
    fn pages_get_dearer_as_room_shrinks() {
        assert_eq!([250, 200, 100, 0].map(|room| price(Pacing::Proportional, room, 80)), [1.0, 2.0, 4.0, 6.0]);
    }
}
