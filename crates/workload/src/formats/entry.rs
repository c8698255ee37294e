//! One entry of the list of formats.

use super::layout::Layout;
use super::line::{LineReader, Separator};
use super::unit::Units;

/// What a format is: everything that naming, detecting, reading and explaining it needs.
pub(super) struct Entry {
    /// Its word on the command line.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// A line of it, in words.
    pub(super) layout: &'static str,
    /// Its units, where they may be chosen.
    pub(super) units: Option<Units>,
    pub(super) separator: Separator,
    pub(super) columns: &'static [Column],
    pub(super) time_column: usize,
    /// Whether lines like these, none of them blank and at least one, are of this format.
    pub(super) looks_like: fn(&[&[u8]]) -> bool,
    pub(super) read: Reader,
}

/// How a format's lines are read.
pub(super) enum Reader {
    /// By a reader of its own.
    Own(fn(Option<Units>) -> Box<dyn LineReader>),
    /// By its columns.
    Columns(&'static Layout),
}

/// A column, for error messages.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Completes "expected …".
    pub(crate) expects: &'static str,
}
