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
    decimal_with(b'.', line, at, decimals, column)
}

/// [`decimal`] with `mark` in place of the decimal point.
#[inline]
pub(super) fn decimal_with(
    mark: u8,
    line: &[u8],
    at: &mut usize,
    decimals: usize,
    column: usize,
) -> Result<u64, Fault> {
    let overflow = Fault { column, why: Why::Overflow };
    let whole = whole(line, at, column)?;
    let scaled = whole.checked_mul(POWERS[decimals]).ok_or(overflow)?;
    if line.get(*at) != Some(&mark) {
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

/// Powers of ten.
pub(super) const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The numbers of a line of `N` whole numbers with one space between each two, and nothing else, as most lines are:
/// eight bytes at a time. Nothing where it may be another one.
#[inline]
pub(super) fn plain_numbers<const N: usize>(line: &[u8]) -> Option<[u64; N]> {
    if !(8..=64).contains(&line.len()) {
        return None;
    }
    let mut others = 0u64;
    let (eights, _) = line.as_chunks::<8>();
    for (place, eight) in eights.iter().enumerate() {
        others |= other_than_digits(*eight) << (8 * place);
    }
    others |= other_than_digits(*line.last_chunk::<8>()?) << (line.len() - 8);
    let (mut numbers, mut start) = ([0; N], 0);
    for (place, number) in numbers.iter_mut().enumerate() {
        let end = (others.trailing_zeros() as usize).min(line.len());
        *number = digits_of(line, start, end)?;
        let ends = place + 1 == N;
        if ends != (end == line.len()) || !ends && line[end] != b' ' {
            return None;
        }
        (start, others) = (end + 1, others & others.wrapping_sub(1));
    }
    Some(numbers)
}

/// Eight times the same byte.
const fn eightfold(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Which of eight bytes are no digits, a bit each.
#[inline]
fn other_than_digits(text: [u8; 8]) -> u64 {
    let values = u64::from_le_bytes(text) ^ eightfold(b'0');
    // The highest bit of each byte that is more than 9, and of none before such a one.
    let others = (values.wrapping_add(eightfold(0x80 - 10)) | values) & eightfold(0x80);
    (others >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The number that bytes `start..end` of a line are, which are digits: 1 to 16.
#[inline]
fn digits_of(line: &[u8], start: usize, end: usize) -> Option<u64> {
    match end.checked_sub(start)? {
        1 => digit(line, start),
        2 => Some(digit(line, start)? * 10 + digit(line, start + 1)?),
        digits @ 3..=8 => Some(last_digits(line, end, digits)),
        digits @ 9..=16 => Some(last_digits(line, end - 8, digits - 8) * POWERS[8] + last_digits(line, end, 8)),
        _ => None,
    }
}

/// The number that up to eight digits before a place of a line are. Invariant: the line has eight bytes.
#[inline]
fn last_digits(line: &[u8], end: usize, digits: usize) -> u64 {
    let from = end.saturating_sub(8);
    let eight = line[from..].first_chunk::<8>().expect("Invariant: there are eight bytes");
    // The last digit in the highest byte, and 0 in all before the first.
    let values = (u64::from_le_bytes(*eight) ^ eightfold(b'0')) << (8 * (from + 8 - end));
    let values = values & u64::MAX << (64 - 8 * digits);
    let pairs = (values * 10 + (values >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xFFFF_FFFF
}

#[inline]
fn digit(line: &[u8], at: usize) -> Option<u64> {
    let digit = line.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// Why there is no value at `at`.
#[cold]
pub(crate) fn absent(line: &[u8], at: usize, column: usize) -> Fault {
    // A comma format may have an empty column in the middle of the line: that is bad, not missing.
    let missing = at >= line.len() && !matches!(line.last(), Some(b',' | b';' | b'\t'));
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
    // A trim moves no data, and may be of a whole drive.
    if bytes.wrapping_sub(1) >= LARGEST_REQUEST.0 && (bytes == 0 || op.moves_data()) {
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
pub(super) fn field(line: &[u8], column: usize, columns: usize, separator: Separator) -> &[u8] {
    if matches!(separator, Separator::Record(_)) {
        // Records have no text to show.
        return b"";
    }
    let mut rest = Some(if matches!(separator, Separator::Blanks) { line.trim_ascii_end() } else { line });
    for _ in 0..column {
        next(&mut rest, separator);
    }
    if column < columns { next(&mut rest, separator) } else { rest.map(<[u8]>::trim_ascii_start) }.unwrap_or(b"")
}

/// The columns of a line.
pub(super) fn split(line: &[u8], separator: Separator) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || next(&mut rest, separator))
}

/// The next column's text, without blanks and quotes around it; nothing at the end of the line.
#[inline]
pub(super) fn next<'a>(rest: &mut Option<&'a [u8]>, separator: Separator) -> Option<&'a [u8]> {
    match separator {
        Separator::Comma | Separator::Semicolon | Separator::Tab => {
            let line = (*rest)?;
            let byte = separator.byte()?;
            // A quote is seen at the first byte that is no blank.
            if line.first().is_some_and(|first| *first == b'"' || *first == b' ')
                && let Some((text, behind)) = quoted(without_spaces(line))
                && without_spaces(behind).first().is_none_or(|next| *next == byte)
            {
                *rest = without_spaces(behind).get(1..);
                return Some(text);
            }
            match memchr::memchr(byte, line) {
                Some(end) => {
                    *rest = Some(&line[end + 1..]);
                    Some(line[..end].trim_ascii())
                }
                None => {
                    *rest = None;
                    Some(line.trim_ascii())
                }
            }
        }
        Separator::Blanks => {
            let line = (*rest)?.trim_ascii_start();
            if line.is_empty() {
                return None;
            }
            if let Some((text, behind)) = quoted(line)
                && behind.first().is_none_or(u8::is_ascii_whitespace)
            {
                *rest = Some(behind);
                return Some(text);
            }
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            *rest = Some(&line[end..]);
            Some(&line[..end])
        }
        Separator::Record(_) => None,
    }
}

/// The text between the quotes that a line begins with, without blanks around it, and what follows them (RFC 4180: a
/// quote that stands twice is one of the text). Nothing where no text is quoted or its end is missing.
fn quoted(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = line.strip_prefix(b"\"")?;
    let mut end = memchr::memchr(b'"', text)?;
    while text.get(end + 1) == Some(&b'"') {
        end += 2 + memchr::memchr(b'"', &text[end + 2..])?;
    }
    Some((text[..end].trim_ascii(), &text[end + 1..]))
}

/// A line behind the spaces that it begins with: a tab may part columns.
fn without_spaces(line: &[u8]) -> &[u8] {
    &line[line.iter().take_while(|byte| matches!(byte, b' ' | b'\r')).count()..]
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
    fn plain_numbers_are_what_they_are_one_by_one() {
        let random = units::Stream::new(1, "lines");
        let mut plain = 0;
        for line in 0..20_000u64 {
            let mut text = String::new();
            for column in 0..3u64 {
                let draw = random.bits(line * 8 + column);
                let digits = 1 + (draw >> 32) as u32 % 18;
                text += &(draw % 10u64.pow(digits)).to_string();
                // Now and then something else than one space, or something behind the last.
                let between = [" ", "  ", "\t", "x", " 7 ", ".5 ", "\u{fe}"];
                let usual = draw >> 40 & 15 != 0;
                text += if usual { if column < 2 { " " } else { "" } } else { between[(draw >> 48) as usize % 7] };
            }
            let columns: Vec<&str> = text.split(' ').collect();
            let read: Option<Vec<u64>> = columns.iter().map(|column| column.parse().ok()).collect();
            let Some(numbers) = plain_numbers::<3>(text.as_bytes()) else { continue };
            assert_eq!(Some(numbers.to_vec()), read, "{text:?}");
            plain += 1;
        }
        assert!(plain > 10_000, "{plain}");
        assert_eq!(plain_numbers(b"1 22 333"), Some([1, 22, 333]));
        assert_eq!(plain_numbers::<3>(b"1 22 3333 "), None);
        assert_eq!(plain_numbers::<3>(b"1 22 333 4"), None);
        assert_eq!(plain_numbers::<3>(b"1 22  333"), None);
        assert_eq!(plain_numbers::<3>(b"11111111 22"), None);
        assert_eq!(plain_numbers::<2>(b"12345678901234567 2"), None);
    }

    #[test]
    fn quotes_hold_separators_and_end_where_they_close() {
        let cut = |line: &str, separator| -> Vec<String> {
            split(line.as_bytes(), separator).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        };
        assert_eq!(cut(r#""a,b", "c" ,d,"","#, Separator::Comma), ["a,b", "c", "d", "", ""]);
        assert_eq!(cut(r#""say ""x"", y";2"#, Separator::Semicolon), [r#"say ""x"", y"#, "2"]);
        assert_eq!(cut("\"a\tb\"\t\t c ", Separator::Tab), ["a\tb", "", "c"]);
        assert_eq!(cut(r#" "a b"  "c" d"e"#, Separator::Blanks), ["a b", "c", r#"d"e"#]);
        // A quote that does not close, or closes before the column ends, is a text like any other.
        assert_eq!(cut(r#""a,b"#, Separator::Comma), [r#""a"#, "b"]);
        assert_eq!(cut(r#""a"b,c"#, Separator::Comma), [r#""a"b"#, "c"]);
        assert_eq!(field(br#"1,"2,3",4"#, 1, 3, Separator::Comma), b"2,3");
        assert_eq!(field(b"1 2 9 9", 2, 2, Separator::Blanks), b"9 9");
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
