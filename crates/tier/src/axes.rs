//! The grid: its axes, and places on it.

use std::fmt;

/// An axis with numbers, between which a surface is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The share of requests that read.
    Reads,
    /// The size of a request \[B].
    Bytes,
    /// The queue depth.
    Qd,
}

impl Axis {
    /// All of them, in the order of the file.
    pub const ALL: [Axis; 3] = [Axis::Reads, Axis::Bytes, Axis::Qd];

    /// Its name in the file.
    ///
    /// ```
    /// assert_eq!(tier::Axis::Qd.name(), "qd");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Axis::Reads => "reads",
            Axis::Bytes => "bytes",
            Axis::Qd => "qd",
        }
    }

    /// The scale on which values between two points lie on a line.
    pub(crate) fn scaled(self, value: f64) -> f64 {
        if self == Axis::Reads { value } else { value.ln() }
    }
}

/// A point of the grid: the position on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Which age.
    pub age: usize,
    /// Which scheme.
    pub scheme: usize,
    /// The position on each [`Axis`].
    pub on: [usize; 3],
}

/// The axes of a surface. Numbers are in growing order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Ages, as `--age` takes them; `default` is the drive's own.
    pub age: Vec<String>,
    /// Schemes, as `--scheme` takes them; `default` is the drive's own.
    pub scheme: Vec<String>,
    /// Shares of requests that read, from 0 to 1.
    pub reads: Vec<f64>,
    /// Sizes of requests \[B].
    pub bytes: Vec<u64>,
    /// Queue depths.
    pub qd: Vec<u32>,
}

impl Axes {
    /// How many points the grid has.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier.axes().points(), tier.axes().places().count());
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn points(&self) -> usize {
        self.age.len() * self.scheme.len() * self.reads.len() * self.bytes.len() * self.qd.len()
    }

    /// Every point, in the order of the file: the queue depth varies fastest, then size, read share, scheme and age.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let [schemes, reads, bytes, depths] = [self.scheme.len(), self.reads.len(), self.bytes.len(), self.qd.len()];
        (0..self.points()).map(move |index| {
            let (rest, qd) = (index / depths, index % depths);
            let (rest, size) = (rest / bytes, rest % bytes);
            let (rest, share) = (rest / reads, rest % reads);
            Place { age: rest / schemes, scheme: rest % schemes, on: [share, size, qd] }
        })
    }

    /// Where a point stands in the order of [`Axes::places`].
    pub(crate) fn index(&self, place: Place) -> usize {
        let Place { age, scheme, on: [reads, bytes, qd] } = place;
        let row = (age * self.scheme.len() + scheme) * self.reads.len() + reads;
        (row * self.bytes.len() + bytes) * self.qd.len() + qd
    }

    /// How many values an axis has.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier.axes().steps(tier::Axis::Bytes), 3);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn steps(&self, axis: Axis) -> usize {
        match axis {
            Axis::Reads => self.reads.len(),
            Axis::Bytes => self.bytes.len(),
            Axis::Qd => self.qd.len(),
        }
    }

    /// A value of an axis.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier.axes().number(tier::Axis::Bytes, 1), 8192.0);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn number(&self, axis: Axis, step: usize) -> f64 {
        match axis {
            Axis::Reads => self.reads[step],
            Axis::Bytes => self.bytes[step] as f64,
            Axis::Qd => f64::from(self.qd[step]),
        }
    }

    /// A point, for people.
    pub(crate) fn shown(&self, place: Place) -> impl fmt::Display {
        let Place { age, scheme, on: [reads, bytes, qd] } = place;
        format!(
            "age = {}, scheme = {}, reads = {}, bytes = {}, qd = {}",
            self.age[age], self.scheme[scheme], self.reads[reads], self.bytes[bytes], self.qd[qd]
        )
    }
}
