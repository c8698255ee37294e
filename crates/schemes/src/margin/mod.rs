//! Whether an erase may end before the block is erased completely.
//!
//! Contract: no inputs. The profiled erase timing table ([`nand::ept`]) gives by how much an erase may fall short.

units::choices! {
    /// What an erase may leave to the ECC.
    pub enum Margin {
        /// Nothing: every cell is erased.
        None = "none",
        /// Fail bits whose errors, after retention, the ECC has room for (electronics25 section 5.3, C1 and C2).
        Ecc = "ecc",
    }
}

impl Margin {
    /// Whether the table's shorter pulses are used.
    pub fn spares(self) -> bool {
        self == Margin::Ecc
    }
}
