//! The block that was filled first, however many pages of it are valid: the circular log of Rosenblum and
//! Ousterhout's "LFS" (SOSP'91) without selection. Its write amplification has a closed form (Menon, "A
//! performance comparison of RAID-5 and log-structured arrays", HPDC'95; Desnoyers, "Analytic modeling of SSD
//! write performance", SYSTOR'12).

use super::contract::Candidates;

pub(super) fn pick(blocks: &impl Candidates) -> Option<u32> {
    blocks.first_filled()
}
