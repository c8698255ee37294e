//! How many pages of each block are valid after long uniform overwriting, by Desnoyers' law (`aged.rs` has its
//! derivation).

/// The profile of data that was overwritten at random for long: the next victim first.
pub(super) fn overwritten(count: u32, blocks: u32, pages: u32) -> Vec<u32> {
    let filling = f64::from(count) / (f64::from(blocks) * f64::from(pages));
    // (1 - exp(-b)) / b falls from 1 to 0.
    let (mut low, mut high) = (1e-9, 1e9);
    for _ in 0..200 {
        let b: f64 = (low + high) / 2.0;
        if -libm::expm1(-b) / b > filling { low = b } else { high = b }
    }
    let b = (low + high) / 2.0;
    let share = |done: f64| (libm::exp(-b * (1.0 - done)) - libm::exp(-b)) / -libm::expm1(-b);
    let mut before = vec![0u32];
    for block in 1..=blocks {
        let ideal = (f64::from(count) * share(f64::from(block) / f64::from(blocks))).round() as u32;
        let last = before[block as usize - 1];
        // What rounding left over must still fit into the blocks to come.
        let least = count.saturating_sub((blocks - block) * pages);
        before.push(ideal.clamp(last.max(least), (last + pages).max(least)).min(count));
    }
    before[blocks as usize] = count;
    before
}
