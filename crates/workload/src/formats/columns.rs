//! What the formats share: cutting lines into columns and numbers, and the checks that hold for every request.

use units::{Bytes, Time};

use super::line::{Fault, Separator, Why};
use crate::request::{LARGEST_REQUEST, Op, Request};

/// The whole number at `at`, which moves behind it. At least one digit; no sign.
#[inline]
pub(crate) fn whole(line: &[u8], at: &mut usize, column: usize) -> Result<u64, Fault> {
    let start = *at;
    let mut value = 0u64;
    while let Some(digit) = digit(line, *at) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        *at += 1;
    }
    match *at - start {
        0 => Err(absent(line, start, column)),
        // 19 digits fit whatever they are.
        1..=19 => Ok(value),
        _ => std::str::from_utf8(&line[start..*at])
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or(Fault { column, why: Why::Overflow }),
    }
}

/// The decimal number at `at`, times ten to the power of `decimals`, exactly; further decimals are cut off.
#[inline]
pub(crate) fn decimal(line: &[u8], at: &mut usize, decimals: usize, column: usize) -> Result<u64, Fault> {
    let overflow = Fault { column, why: Why::Overflow };
    let whole = whole(line, at, column)?;
    let scaled = whole.checked_mul(POWERS[decimals]).ok_or(overflow)?;
    if line.get(*at) != Some(&b'.') {
        return Ok(scaled);
    }
    *at += 1;
    let mut fraction = 0;
    let mut taken = 0;
    while let Some(digit) = digit(line, *at) {
        if taken < decimals {
            fraction = fraction * 10 + digit;
            taken += 1;
        }
        *at += 1;
    }
    scaled.checked_add(fraction * POWERS[decimals - taken]).ok_or(overflow)
}

const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

#[inline]
fn digit(line: &[u8], at: usize) -> Option<u64> {
    let digit = line.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// Why there is no value at `at`.
#[cold]
pub(crate) fn absent(line: &[u8], at: usize, column: usize) -> Fault {
    // A comma format may have an empty column in the middle of the line: that is bad, not missing.
    let missing = at >= line.len() && !line.ends_with(b",") && !line.ends_with(b";");
    Fault { column, why: if missing { Why::Missing } else { Why::Malformed } }
}

/// The request of these columns, if its extent is one that a host can mean.
#[inline]
pub(crate) fn request(
    time: u64,
    (offset, offset_column): (u64, usize),
    (bytes, size_column): (u64, usize),
    op: Op,
    device: u64,
) -> Result<Option<Request>, Fault> {
    if bytes.wrapping_sub(1) >= LARGEST_REQUEST.0 {
        let why = if bytes == 0 { Why::Zero } else { Why::TooLarge };
        return Err(Fault { column: size_column, why });
    }
    if offset.checked_add(bytes).is_none() {
        return Err(Fault { column: offset_column, why: Why::PastEnd });
    }
    // The cast is the documented modulo: queues are numbered with 16 bits.
    Ok(Some(Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(device as u16)))
}

/// The text of `column` out of `columns`; everything from there on when it is beyond the last.
pub(super) fn field<'a>(line: &'a [u8], column: usize, columns: usize, separator: &Separator) -> &'a [u8] {
    let parts = match separator {
        // Records have no text to show.
        Separator::Record(_) => None,
        Separator::Comma | Separator::Semicolon => {
            line.splitn(columns + 1, |byte| Some(*byte) == separator.byte()).nth(column)
        }
        Separator::Blanks => {
            let mut rest = line.trim_ascii();
            for _ in 0..column {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                rest = rest[end..].trim_ascii_start();
            }
            let end = rest.iter().position(u8::is_ascii_whitespace).filter(|_| column < columns);
            Some(&rest[..end.unwrap_or(rest.len())])
        }
    };
    parts.unwrap_or(b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, decimals: usize) -> Result<u64, Why> {
        let mut at = 0;
        decimal(text.as_bytes(), &mut at, decimals, 0).map_err(|fault| fault.why)
    }

    #[test]
    fn decimals_are_exact_to_the_nanosecond_and_cut_beyond_it() {
        assert_eq!(read("15849.28847", 6), Ok(15_849_288_470));
        assert_eq!(read("0.0000019", 6), Ok(1));
        assert_eq!(read("7.", 3), Ok(7_000));
        assert_eq!(read("7.999", 0), Ok(7));
        // Not representable in f64 to the nanosecond.
        assert_eq!(read("1398396860.168065791", 9), Ok(1_398_396_860_168_065_791));
    }

    #[test]
    fn numbers_up_to_64_bits_are_read_and_no_further() {
        assert_eq!(read("18446744073709551615", 0), Ok(u64::MAX));
        assert_eq!(read("000000000000000000000000001", 0), Ok(1));
        assert_eq!(read("18446744073709551616", 0), Err(Why::Overflow));
        assert_eq!(read("18446744073.709551615", 9), Ok(u64::MAX));
        assert_eq!(read("18446744073.709551616", 9), Err(Why::Overflow));
        assert_eq!(read("18446744074", 9), Err(Why::Overflow));
        assert_eq!(read("-1", 0), Err(Why::Malformed));
        assert_eq!(read(".5", 0), Err(Why::Malformed));
    }
}
