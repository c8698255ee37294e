//! How fast host data may be programmed on a plane while its blocks are collected.
//!
//! Contract: a policy sees how many blocks of the plane are free and what the collection under way gains, and says how many pages
//! of host data each relocated page pays for. Programs of host data wait until they are paid for. Where nothing is collected
//! nothing has to be paid.

mod contract;
mod proportional;
mod token;

pub use contract::{Collection, Price};

units::choices! {
    /// What slows host writes down while blocks are collected.
    pub enum Pacing {
        /// Nothing: they go on until no block is free, and then wait until collections have gained a whole one.
        None = "none",
        /// The fewer blocks are free, the more relocated pages a page of host data costs.
        Proportional = "proportional",
        /// With one free block left to open, a page of host data costs as many relocated pages as collection needs to gain one.
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

    fn price(pacing: Pacing, free: u32, valid: u32) -> f64 {
        let price = pacing.price(Collection { free, reserve: 1, start: 4, pages: 100, valid }).unwrap();
        f64::from(price.relocated) / f64::from(price.host)
    }

    #[test]
    fn a_page_costs_what_gaining_one_takes() {
        // 80 pages are relocated to gain 20.
        assert_eq!(price(Pacing::Token, 2, 80), 4.0);
        assert_eq!(price(Pacing::Token, 2, 50), 1.0);
        assert_eq!(price(Pacing::Token, 2, 0), 0.0);
        let many = Collection { free: 3, reserve: 1, start: 4, pages: 100, valid: 80 };
        assert_eq!([Pacing::Token, Pacing::Proportional].map(|pacing| pacing.price(many)), [None, None]);
        assert_eq!(Pacing::None.price(Collection { free: 0, ..many }), None);
    }

    #[test]
    fn pages_get_dearer_as_blocks_get_fewer() {
        let prices = [2, 1].map(|free| price(Pacing::Proportional, free, 80));
        assert_eq!(prices, [3.0, 6.0]);
        // Below the reserve it is as at the reserve.
        assert_eq!(price(Pacing::Proportional, 0, 80), prices[1]);
    }
}
