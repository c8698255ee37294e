//! Lines cut into columns by commas, semicolons, tabs or blanks, each column with a declared meaning and unit.

use units::{Bytes, Time};

use super::columns::{decimal_with, next, request, whole};
use super::line::{Fault, LineReader, Separator, Why};
use super::unit::{SizeUnit, TimeUnit};
use crate::request::{Op, Request};

/// What the words of an operation column mean. Capitals do not matter.
#[derive(Clone, Copy)]
pub(super) enum OpWords {
    /// The words of reads and of writes.
    Words(&'static [(&'static str, Op)]),
    /// These, and all that is neither a read nor a write by its name ([`Op::name`]).
    WithOthers(&'static OpWords),
    /// Whole numbers whose lowest bit is set for writes.
    LowBit,
}

/// A column's meaning.
#[derive(Clone, Copy)]
pub(super) enum ColumnMeaning {
    Time(TimeUnit),
    Offset(SizeUnit),
    Size(SizeUnit),
    Op(OpWords),
    /// A volume or device number.
    Device,
    /// A placement hint.
    Hint,
    /// Anything.
    Other,
}

/// A format's columns.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub separator: Separator,
    pub holds: &'static [ColumnMeaning],
    /// Further columns may follow.
    pub open_ended: bool,
    /// Lines that begin with this word, in any case, only describe.
    pub header: Option<&'static str>,
}

/// Bytes in the units of the offset and size columns.
pub(crate) struct Scales {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Layout {
    /// Bytes in the units of offsets and sizes.
    pub(super) fn scales(&self) -> Scales {
        let mut scales = Scales { offset: 1, size: 1 };
        for holds in self.holds {
            match holds {
                ColumnMeaning::Offset(unit) => scales.offset = unit.bytes(),
                ColumnMeaning::Size(unit) => scales.size = unit.bytes(),
                _ => {}
            }
        }
        scales
    }
}

/// The reader of a layout.
pub(super) fn reader(layout: &Layout) -> Box<dyn LineReader> {
    Box::new(Delimited {
        layout: *layout,
        mark: if matches!(layout.separator, Separator::Comma) { Some(b'.') } else { None },
    })
}

struct Delimited {
    layout: Layout,
    /// What stands before decimals: the point, and where columns are not parted by commas the first of point and comma
    /// that the file has.
    mark: Option<u8>,
}

impl Delimited {
    /// The mark of decimals, which a file that may choose has chosen when its first decimals are met.
    #[inline]
    fn mark(&mut self, text: &[u8]) -> u8 {
        self.mark.unwrap_or_else(|| {
            self.mark = text.iter().copied().find(|byte| matches!(byte, b'.' | b','));
            self.mark.unwrap_or(b'.')
        })
    }
}

impl LineReader for Delimited {
    #[inline]
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        let layout = self.layout;
        if let Some(word) = layout.header
            && line.len() >= word.len()
            && line[..word.len()].eq_ignore_ascii_case(word.as_bytes())
        {
            return Ok(None);
        }
        let (mut time, mut offset, mut bytes, mut device, mut op, mut hint) = (0, (0, 0), (0, 0), 0, Op::Read, 0);
        let mut rest = Some(line);
        for (column, holds) in layout.holds.iter().enumerate() {
            let Some(text) = next(&mut rest, layout.separator) else {
                return Err(Fault { column, why: Why::Missing });
            };
            match holds {
                ColumnMeaning::Time(unit) => {
                    let mark = self.mark(text);
                    time = all(text, column, |text, at| decimal_with(mark, text, at, unit.decimals(), column))?
                }
                ColumnMeaning::Offset(unit) => offset = (scaled(text, *unit, column)?, column),
                ColumnMeaning::Size(unit) => bytes = (scaled(text, *unit, column)?, column),
                ColumnMeaning::Device => device = all(text, column, |text, at| whole(text, at, column))?,
                ColumnMeaning::Hint => hint = all(text, column, |text, at| whole(text, at, column))?,
                ColumnMeaning::Op(words) => op = words.op(text).ok_or(Fault { column, why: Why::Malformed })?,
                ColumnMeaning::Other => {}
            }
        }
        if !layout.open_ended && next(&mut rest, layout.separator).is_some() {
            return Err(Fault { column: layout.holds.len(), why: Why::Extra });
        }
        if op == Op::Flush {
            let none = Bytes(0);
            return Ok(Some(Request::new(Time(time), op, none, none).on(device as u16)));
        }
        // The cast is the documented modulo: hints have 16 bits.
        Ok(request(time, offset, bytes, op, device)?.map(|request| request.hinted(hint as u16)))
    }
}

impl OpWords {
    /// Read and write as words and as letters.
    pub(super) const LETTERS: OpWords =
        OpWords::Words(&[("R", Op::Read), ("W", Op::Write), ("Read", Op::Read), ("Write", Op::Write)]);

    fn op(self, text: &[u8]) -> Option<Op> {
        match self {
            OpWords::Words(words) => {
                words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes())).map(|(_, op)| *op)
            }
            OpWords::WithOthers(words) => {
                let name = || std::str::from_utf8(text).ok().map(str::to_ascii_lowercase);
                let named = || Op::named(&name()?).filter(|op| !matches!(op, Op::Read | Op::Write));
                words.op(text).or_else(named)
            }
            OpWords::LowBit => {
                let mut at = 0;
                let code = whole(text, &mut at, 0).ok().filter(|_| at == text.len())?;
                Some(if code % 2 == 1 { Op::Write } else { Op::Read })
            }
        }
    }
}

/// What a reader makes of a whole column: nothing may follow it.
#[inline]
fn all(text: &[u8], column: usize, read: impl Fn(&[u8], &mut usize) -> Result<u64, Fault>) -> Result<u64, Fault> {
    let mut at = 0;
    let value = read(text, &mut at).map_err(|fault| match fault.why {
        // The column is there: what is missing is a number in it.
        Why::Missing => Fault { column, why: Why::Malformed },
        _ => fault,
    })?;
    if at == text.len() { Ok(value) } else { Err(Fault { column, why: Why::Malformed }) }
}

#[inline]
fn scaled(text: &[u8], unit: SizeUnit, column: usize) -> Result<u64, Fault> {
    // Programs that keep every number as a float write 4096.0.
    let is_float = |tail: &&[u8]| matches!(*tail, b".0" | b",0");
    let digits = text.len().checked_sub(2).map(|end| text.split_at(end)).filter(|(_, tail)| is_float(tail));
    let value = all(digits.map_or(text, |(digits, _)| digits), column, |text, at| whole(text, at, column))?;
    value.checked_mul(unit.bytes()).ok_or(Fault { column, why: Why::Overflow })
}
