//! Formats whose columns a user declares: `csv:…`, `semicolons:…`, `tabs:…` and `blanks:…`.

use super::entry::{Column, Entry, Reader};
use super::layout::{ColumnMeaning, Layout, OpWords};
use super::line::Separator;
use super::unit::{SizeUnit, TimeUnit, advice, unit};
use crate::request::Op;

/// A format as users declare it: `csv:`, `semicolons:`, `tabs:` or `blanks:`, then what each column holds, in order.
pub(super) fn declared(word: &str, separator: Separator, columns: &str) -> Result<&'static Entry, (String, String)> {
    let (mut holds, mut names) = (Vec::new(), Vec::new());
    let mut seen = [0; 6];
    for option in columns.split(',') {
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        let (place, hold, name, expects) = match key {
            "time" => (0, ColumnMeaning::Time(unit(value.unwrap_or("s"), TimeUnit::ALL)?), "time", "a number"),
            "offset" => (1, ColumnMeaning::Offset(SizeUnit::parse(value.unwrap_or("B"))?), "offset", "a whole number"),
            "size" => (2, ColumnMeaning::Size(SizeUnit::parse(value.unwrap_or("B"))?), "size", "a whole number"),
            "op" => (3, ColumnMeaning::Op(op_words(value)?), "op", "one of the declared words for reads and writes"),
            "device" => (4, ColumnMeaning::Device, "device", "a whole number"),
            "hint" => (5, ColumnMeaning::Hint, "hint", "a whole number"),
            "skip" => {
                holds.push(ColumnMeaning::Other);
                names.push(Column { name: "column", expects: "anything" });
                continue;
            }
            _ => {
                let keys = ["time", "offset", "size", "op", "device", "hint", "skip"];
                return Err((format!("`{option}` is not a column"), advice(key, &keys)));
            }
        };
        seen[place] += 1;
        holds.push(hold);
        names.push(Column { name, expects });
    }
    let words = ["time", "offset", "size", "op", "device", "hint"];
    if let Some(twice) = seen.iter().position(|count| *count > 1) {
        return Err((format!("`{}` is given twice", words[twice]), "give it once".into()));
    }
    if let Some(absent) = seen[..4].iter().position(|count| *count == 0) {
        let example = "write such as csv:time=us,op=R/W,offset=B,size=sector,device,skip";
        return Err((format!("no column holds `{}`", words[absent]), example.into()));
    }
    let time_column = holds.iter().position(|hold| matches!(hold, ColumnMeaning::Time(_))).unwrap_or(0);
    // A declared format lives as long as the program: there is one a command line.
    let layout = Layout { separator, holds: Box::leak(holds.into()), open_ended: true, header: None };
    Ok(Box::leak(Box::new(Entry {
        name: Box::leak(word.into()),
        title: "declared columns",
        layout: "as declared",
        units: None,
        separator,
        columns: Box::leak(names.into()),
        time_column,
        looks_like: |_| false,
        read: Reader::Columns(Box::leak(Box::new(layout))),
    })))
}

/// `R/W`: the word of reads, then that of writes.
fn op_words(words: Option<&str>) -> Result<OpWords, (String, String)> {
    let Some(words) = words else { return Ok(OpWords::WithOthers(&OpWords::LETTERS)) };
    match words.split_once('/') {
        Some((read, write)) if !read.is_empty() && !write.is_empty() && !read.eq_ignore_ascii_case(write) => {
            let of = |word: &str| -> &'static str { Box::leak(word.into()) };
            let words = OpWords::Words(Box::leak(vec![(of(read), Op::Read), (of(write), Op::Write)].into()));
            Ok(OpWords::WithOthers(Box::leak(Box::new(words))))
        }
        _ => Err((
            format!("`op={words}` is not two words"),
            "write the word of reads, then that of writes: op=R/W or op=0/1".into(),
        )),
    }
}
