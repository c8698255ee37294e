//! How often blocks have been erased.

use std::collections::BTreeMap;

/// How many blocks have been erased how often. Most blocks of a drive are alike in that, so that it is short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erases(BTreeMap<u32, u64>);

impl Erases {
    /// Adds another drive's blocks.
    pub fn add(&mut self, other: &Erases) {
        other.0.iter().for_each(|(erases, blocks)| self.insert(*erases, *blocks));
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.0.values().sum()
    }

    /// Erases of a block, the mean.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(erases, blocks)| f64::from(*erases) * *blocks as f64).sum::<f64>() / self.count()
    }

    /// The standard deviation of the blocks' erases.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        // One by one, as if each block stood there: sums of rounded numbers depend on what is added to what.
        let squares = self.0.iter().flat_map(|(erases, blocks)| {
            let square = (f64::from(*erases) - mean).powi(2);
            std::iter::repeat_n(square, if square > 0.0 { *blocks as usize } else { 1 })
        });
        (squares.sum::<f64>() / self.count()).sqrt()
    }

    /// Erases that a share of the blocks does not exceed; none where there is no block.
    pub fn at(&self, share: f64) -> Option<u32> {
        let blocks = self.blocks();
        let mut before = ((blocks as f64 * share) as u64).min(blocks.saturating_sub(1));
        self.0.iter().find_map(|(erases, blocks)| match before.checked_sub(*blocks) {
            Some(left) => {
                before = left;
                None
            }
            None => Some(*erases),
        })
    }

    fn count(&self) -> f64 {
        self.blocks().max(1) as f64
    }

    fn insert(&mut self, erases: u32, blocks: u64) {
        if blocks > 0 {
            *self.0.entry(erases).or_default() += blocks;
        }
    }
}

impl FromIterator<u32> for Erases {
    fn from_iter<T: IntoIterator<Item = u32>>(blocks: T) -> Erases {
        let mut found = Erases::default();
        // Neighbours are mostly alike.
        let (mut last, mut alike) = (0, 0u64);
        blocks.into_iter().for_each(|erases| {
            if erases != last {
                found.insert(last, std::mem::take(&mut alike));
                last = erases;
            }
            alike += 1;
        });
        found.insert(last, alike);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_blocks() {
        let draws = units::Stream::new(1, "erases");
        for blocks in [0u64, 1, 2, 7, 100, 999] {
            let mut each: Vec<u32> = (0..blocks).map(|block| draws.below(block, 9) as u32).collect();
            let found: Erases = each.iter().copied().collect();
            each.sort_unstable();
            let count = blocks.max(1) as f64;
            let mean = each.iter().map(|n| f64::from(*n)).sum::<f64>() / count;
            let variance = each.iter().map(|n| (f64::from(*n) - mean).powi(2)).sum::<f64>() / count;
            assert_eq!((found.mean(), found.deviation(), found.blocks()), (mean, variance.sqrt(), blocks));
            for share in [0.0, 0.5, 0.99, 1.0] {
                let place = ((count * share) as usize).min(each.len().saturating_sub(1));
                assert_eq!(found.at(share), each.get(place).copied(), "{share} of {blocks}");
            }
            let mut twice = found.clone();
            twice.add(&found);
            assert_eq!((twice.blocks(), twice.mean()), (2 * blocks, mean));
        }
    }
}
