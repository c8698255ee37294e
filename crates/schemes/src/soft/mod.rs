//! How a page is sensed and decoded softly, when decoding its bits alone has failed: sensed several times around its
//! best references, so that the decoder knows how sure each bit is.
//!
//! Contract: a policy sees how many bits a cell the controller has that were sensed with the best references, and
//! `weighed` what the weight of their syndrome stands for; nothing else. It gives how many it should have, or none when
//! it has tried all that it would. What the controller has already is neither sensed nor transferred again.

mod progressive;
mod weighed;

units::choices! {
    /// Soft decoding, after all else has failed (`ecc.soft_after`: earlier).
    pub enum Soft {
        /// None: the read is lost.
        None = "none",
        /// Three senses: two bits a cell.
        TwoBit = "2-bit",
        /// Seven senses: three bits a cell.
        ThreeBit = "3-bit",
        /// Two bits, and the third only where they do not suffice (B. Bao et al., TCAD'24, from its abstract; here the
        /// code is one whole, and how fine the next step is does not depend on the syndrome: assumed).
        Progressive = "progressive",
        /// As progressive, but at once, and with as many bits as the weight of the page's syndrome asks for, where the
        /// die has weighed it as sensed with the best references.
        Weighed = "weighed",
    }
}

/// A page sensed finely around its best references: bits a cell that the controller then has, and those that it had
/// before, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fine(pub u8);

impl Soft {
    /// How the page is sensed next, where the controller has `known` bits a cell with the best references, of which
    /// `softly` says whether they were decoded softly.
    pub fn after(self, known: u8, softly: bool) -> Option<Fine> {
        let bits = match self {
            Soft::None => return None,
            Soft::TwoBit => (!softly).then_some(2),
            Soft::ThreeBit => (!softly).then_some(3),
            Soft::Progressive | Soft::Weighed => progressive::bits(known, softly),
        };
        bits.map(|bits| Fine::new(bits, known))
    }

    /// Whether the weight of what was sensed with the best references says how the page is decoded.
    pub fn weighs(self) -> bool {
        self == Soft::Weighed
    }

    /// Bits a cell with which such a page is decoded next, whose weight stands for `over` errors per KiB above what
    /// hard decoding corrects, where two bits correct `reach` more.
    pub fn weighed(over: f64, reach: f64) -> u8 {
        weighed::bits(over, reach)
    }

    /// The finest that it senses, in bits a cell.
    pub fn finest(self) -> u8 {
        match self {
            Soft::None => 1,
            Soft::TwoBit => 2,
            Soft::ThreeBit | Soft::Progressive | Soft::Weighed => 3,
        }
    }
}

impl Fine {
    /// This many bits a cell, of which the controller has had some before.
    pub fn new(bits: u8, known: u8) -> Fine {
        Fine(bits << 4 | known)
    }

    /// Bits a cell that the controller then has.
    pub fn bits(self) -> u8 {
        self.0 >> 4
    }

    /// Bits a cell that it had before.
    pub fn known(self) -> u8 {
        self.0 & 15
    }

    /// Senses of the page that are still missing: n bits divide the voltages by 2^n - 1 references.
    pub fn senses(self) -> u32 {
        (1 << self.bits()) - (1 << self.known())
    }

    /// Pages that cross the bus: one for each bit that is new.
    pub fn pages(self) -> u32 {
        u32::from(self.bits() - self.known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senses_and_transfers_are_what_is_missing() {
        let of = |fine: Fine| (fine.senses(), fine.pages());
        assert_eq!(of(Soft::TwoBit.after(0, false).unwrap()), (3, 2));
        assert_eq!(of(Soft::TwoBit.after(1, false).unwrap()), (2, 1));
        assert_eq!(of(Soft::ThreeBit.after(0, false).unwrap()), (7, 3));
        let two = Soft::Progressive.after(1, false).unwrap();
        let three = Soft::Progressive.after(two.bits(), true).unwrap();
        assert_eq!((of(two), of(three)), ((2, 1), (4, 1)));
        // Both ways sense as often.
        assert_eq!(two.senses() + three.senses(), Soft::ThreeBit.after(1, false).unwrap().senses());
    }

    #[test]
    fn the_weight_says_how_finely() {
        assert_eq!([-1.0, 70.0, 70.1].map(|over| Soft::weighed(over, 70.0)), [2, 2, 3]);
        assert!(Soft::Weighed.weighs() && !Soft::Progressive.weighs());
    }

    #[test]
    fn each_ends() {
        assert_eq!(Soft::None.after(1, false), None);
        for soft in [Soft::TwoBit, Soft::ThreeBit, Soft::Progressive, Soft::Weighed] {
            assert_eq!(soft.after(soft.finest(), true), None);
        }
    }
}
