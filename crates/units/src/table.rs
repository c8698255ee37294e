//! CSV tables by the names of their columns.
//!
//! The first line names the columns, in any order; columns that nobody asks for are left out, and so are blank lines.
//! An error names file, line and column.

use std::ops::RangeInclusive;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::document::ConfigError;

/// A table whose columns are known to be there.
pub struct Table<'a> {
    text: &'a str,
    origin: &'a str,
    /// The columns that were asked for, and where they stand.
    columns: Vec<(&'a str, usize)>,
    records: Vec<StringRecord>,
}

impl<'a> Table<'a> {
    /// Reads CSV text that has all these columns; `remedy` is what to do where one is missing, `origin` names the file.
    pub fn parse(
        text: &'a str,
        origin: &'a str,
        columns: impl IntoIterator<Item = &'a str>,
        remedy: &str,
    ) -> Result<Table<'a>, ConfigError> {
        let mut table = Table { text, origin, columns: Vec::new(), records: Vec::new() };
        let mut reader =
            ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(text.as_bytes());
        for record in reader.records() {
            let record = record.map_err(|error| table.error(None, error.to_string(), "give a CSV file"))?;
            // A blank line is one empty field.
            if record.len() != 1 || !record[0].is_empty() {
                table.records.push(record);
            }
        }
        let header = table.records.first().cloned().unwrap_or_default();
        for name in columns {
            match header.iter().position(|known| known == name) {
                Some(place) => table.columns.push((name, place)),
                None => return Err(table.error(Some(name), "there is no such column".into(), remedy)),
            }
        }
        Ok(table)
    }

    /// The rows below the names.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().skip(1).map(|record| Row { table: self, record })
    }

    /// The error that something is wrong with the whole table, or with one of its columns.
    pub fn error(&self, column: Option<&str>, problem: String, remedy: &str) -> ConfigError {
        ConfigError {
            origin: self.origin.to_owned(),
            line: Some(1),
            key: column.map(str::to_owned),
            problem,
            remedy: remedy.to_owned(),
        }
    }
}

/// A row of a [`Table`].
pub struct Row<'a> {
    table: &'a Table<'a>,
    record: &'a StringRecord,
}

impl Row<'_> {
    /// The number in a column, within these bounds. `remedy` is what to write instead. Invariant: the column was asked
    /// for.
    pub fn number(&self, column: &str, within: RangeInclusive<f64>, remedy: &str) -> Result<f64, ConfigError> {
        self.accept(column, |value| within.contains(value), remedy)
    }

    /// The whole number in a column, within these bounds. `remedy` is what to write instead. Invariant: the column was
    /// asked for.
    pub fn whole(&self, column: &str, within: RangeInclusive<f64>, remedy: &str) -> Result<f64, ConfigError> {
        self.accept(column, |value| within.contains(value) && value.fract() == 0.0, remedy)
    }

    /// The text in a column, without space around it. Invariant: the column was asked for.
    pub fn text(&self, column: &str) -> &str {
        self.record.get(self.place(column)).unwrap_or("")
    }

    /// Whether there is a cell in a column, and nothing in it. Invariant: the column was asked for.
    pub fn is_blank(&self, column: &str) -> bool {
        self.text(column).is_empty() && self.place(column) < self.record.len()
    }

    fn place(&self, column: &str) -> usize {
        let known = self.table.columns.iter().find(|(name, _)| *name == column);
        known.expect("Invariant: the table was asked for the column").1
    }

    fn accept(&self, column: &str, accepts: impl Fn(&f64) -> bool, remedy: &str) -> Result<f64, ConfigError> {
        let text = self.text(column);
        let value = text.parse().ok().filter(accepts);
        value.ok_or_else(|| self.error(column, format!("{text:?} is not accepted"), remedy))
    }

    /// The error that something is wrong with this row, in a column.
    pub fn error(&self, column: &str, problem: String, remedy: &str) -> ConfigError {
        // A record begins where the one before ended: blank lines in front of it are not its own.
        let start = self.record.position().map_or(0, |position| position.byte() as usize);
        let (before, own) = self.table.text.as_bytes().split_at(start.min(self.table.text.len()));
        let blank = &own[..own.len() - own.trim_ascii_start().len()];
        let line = 1 + before.iter().chain(blank).filter(|byte| **byte == b'\n').count();
        ConfigError { line: Some(line), ..self.table.error(Some(column), problem, remedy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(text: &str, name: &str) -> Result<Vec<f64>, String> {
        let table = Table::parse(text, "a.csv", ["x", "y"], "begin with x,y").map_err(|error| error.to_string())?;
        table
            .rows()
            .map(|row| row.number(name, 0.0..=9.0, "write 0 to 9"))
            .collect::<Result<_, _>>()
            .map_err(|error: ConfigError| error.to_string())
    }

    #[test]
    fn columns_are_found_by_name_whatever_else_is_there() {
        assert_eq!(column("y,other,x\n1,a,2\n\n  \n 3 ,\"b,c\", 4\r\n", "x"), Ok(vec![2.0, 4.0]));
        assert_eq!(column("\u{feff}x,y\n1,2", "y"), Ok(vec![2.0]));
        assert_eq!(column("x,y\n", "y"), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_its_line(text in "(\u{feff}|)(x,y\r?\n)?[ \",xé0-9\r\n]{0,60}") {
            if let Err(error) = column(&text, "y") {
                let line = error.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
                prop_assert!(line.is_some_and(|line| line <= 1 + text.matches('\n').count()), "{error}");
            }
        }
    }

    #[test]
    fn errors_name_file_line_and_column() {
        for text in ["", "\n", "x\n1\n"] {
            let name = if text.starts_with('x') { "y" } else { "x" };
            let wanted = format!("a.csv:1: {name}: there is no such column\n  help: begin with x,y");
            assert_eq!(column(text, "x"), Err(wanted), "{text:?}");
        }
        for (text, line, found) in [
            ("x,y\n1,2\n1,ten\n", 3, "ten"),
            ("x,y\r\n1,2\r\n1,10\r\n", 3, "10"),
            ("\u{feff}x,y\n\n1,10\n", 3, "10"),
            ("x,y\n\n1,2\n \n\n1\n", 6, ""),
            ("x,y\n1,NaN", 2, "NaN"),
            ("x,y\n,\n", 2, ""),
        ] {
            let wanted = format!("a.csv:{line}: y: {found:?} is not accepted\n  help: write 0 to 9");
            assert_eq!(column(text, "y"), Err(wanted), "{text:?}");
        }
        let table = Table::parse("x\n1.5\n", "a.csv", ["x"], "").unwrap_or_else(|error| panic!("{error}"));
        assert!(table.rows().next().is_some_and(|row| row.whole("x", 0.0..=9.0, "").is_err()));
    }
}
