//! Distributions that a device keeps: retry steps of the pages read, valid pages of the blocks collected.

use crate::persist::stored;

/// How many pages needed how many retry steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Pages by their steps.
    pub pages: Vec<u64>,
}

impl Steps {
    pub(crate) fn record(&mut self, steps: usize) {
        if steps >= self.pages.len() {
            self.pages.resize(steps + 1, 0);
        }
        self.pages[steps] += 1;
    }

    /// What was recorded since `before`.
    pub fn since(&self, before: &Steps) -> Steps {
        let earlier = |steps: usize| before.pages.get(steps).copied().unwrap_or(0);
        Steps { pages: self.pages.iter().enumerate().map(|(steps, pages)| pages - earlier(steps)).collect() }
    }

    /// The steps that a share of the pages do not exceed; the fewest of any for 0.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.pages.iter().sum();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.pages.iter().position(|pages| {
            seen += pages;
            seen >= wanted
        });
        found.map(|steps| steps as u64)
    }
}

/// How many valid pages the collected blocks had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Victims {
    /// Blocks by twentieths of valid pages: none to under 5 %, and so on; the last holds 95 to 100 %.
    pub blocks: [u64; 20],
    /// Valid pages and pages of all of them.
    pub valid: u64,
    /// Pages of all of them.
    pub pages: u64,
}

impl Victims {
    pub(crate) fn add(&mut self, valid: u32, pages: u32) {
        self.blocks[(valid * 20 / pages).min(19) as usize] += 1;
        self.valid += u64::from(valid);
        self.pages += u64::from(pages);
    }

    /// What was added since `before`.
    pub fn since(&self, before: &Victims) -> Victims {
        Victims {
            blocks: std::array::from_fn(|bin| self.blocks[bin] - before.blocks[bin]),
            valid: self.valid - before.valid,
            pages: self.pages - before.pages,
        }
    }
}

stored! {
    Steps { pages }
    Victims { blocks, valid, pages }
}
