//! What every format's reader has in common: the reader of a line, and why a line is refused.

use crate::request::Request;

/// The reader of one format.
pub(crate) trait LineReader: Send {
    /// The request on a line, with its time as the trace counts it; nothing for a line that is no request.
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault>;
}

/// Why a line is refused. Small: the message is composed only when it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) column: usize,
    pub(crate) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Not what the column holds.
    Malformed,
    /// The line ends before this column.
    Missing,
    /// The line goes on behind its last column.
    Extra,
    /// The number does not fit 64 bits, in ns or bytes.
    Overflow,
    /// A request of no bytes.
    Zero,
    /// A request larger than any host sends.
    TooLarge,
    /// Offset and size together do not fit 64 bits.
    PastEnd,
}

/// White space only, or the end-of-file character that old programs leave at the end.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    matches!(line.trim_ascii(), b"" | b"\x1a")
}

/// What parts the columns of a line.
#[derive(Clone, Copy)]
pub(super) enum Separator {
    Comma,
    Semicolon,
    Tab,
    Blanks,
    /// No text: records of this many bytes.
    Record(usize),
}

impl Separator {
    /// How formats that a user declares begin, and what parts their columns.
    pub(super) const DECLARED: [(&'static str, Separator); 4] = [
        ("csv:", Separator::Comma),
        ("semicolons:", Separator::Semicolon),
        ("tabs:", Separator::Tab),
        ("blanks:", Separator::Blanks),
    ];

    /// The byte between two columns, where it is always the same one.
    #[inline]
    pub(super) fn byte(self) -> Option<u8> {
        match self {
            Separator::Comma => Some(b','),
            Separator::Semicolon => Some(b';'),
            Separator::Tab => Some(b'\t'),
            Separator::Blanks | Separator::Record(_) => None,
        }
    }
}
