//! Configuration documents: TOML text and `section.key=value` words, applied to [`Section`]s, with errors
//! that name origin, line, key, what was expected and the remedy.

use std::fmt;

use toml_edit::{Document as Tree, Item, TableLike, Value};

use crate::section::{KeyError, Section};
use crate::value::{Scalar, nearest};

/// A configuration that cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// The file, or the command-line word, that holds the mistake.
    pub origin: String,
    /// The line in that file, from 1.
    pub line: Option<usize>,
    /// The key at fault, with its section.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl ConfigError {
    /// This error without its line, if it lies in `origin` and names a key: `origin` is a text that a program wrote,
    /// and no user sees its lines.
    #[must_use]
    pub fn without_line_in(self, origin: &str) -> ConfigError {
        let line = self.line.filter(|_| self.key.is_none() || self.origin != origin);
        ConfigError { line, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.problem)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  help: {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// A parsed TOML document and where it came from.
pub struct Document {
    origin: String,
    tree: Tree<String>,
}

impl Document {
    /// Parses `text`; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Document, ConfigError> {
        let tree = Tree::parse(text.to_owned()).map_err(|error| ConfigError {
            origin: origin.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            key: None,
            problem: error.message().lines().collect::<Vec<_>>().join(", "),
            remedy: "the file must be TOML: sections in [brackets], then `key = value` lines".into(),
        })?;
        Ok(Document { origin: origin.to_owned(), tree })
    }

    /// The text under a top-level `key`, if it is there.
    pub fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.tree.as_table().get(key) {
            None => Ok(None),
            Some(item) => item.as_str().map(|s| Some(s.to_owned())).ok_or_else(|| {
                self.error(item.span(), key, "must be text in quotes".into(), format!("write {key} = \"...\""))
            }),
        }
    }

    /// The text under `key` of a section, if it is there.
    pub fn section_text(&self, section: &str, key: &str) -> Option<String> {
        self.tree.as_table().get(section)?.as_table_like()?.get(key)?.as_str().map(str::to_owned)
    }

    /// Applies every section of the document to `sections`; `top_level` names the plain keys allowed beside them.
    pub fn apply(&self, sections: &mut [&mut dyn Section], top_level: &[&str]) -> Result<(), ConfigError> {
        for (name, item) in self.tree.as_table().iter() {
            if top_level.contains(&name) {
                continue;
            }
            let span = self.tree.as_table().key(name).and_then(|key| key.span());
            let known: Vec<&'static str> = sections.iter().map(|s| s.name()).collect();
            let Some(section) = sections.iter_mut().find(|s| s.name() == name) else {
                let near = nearest(name, known.iter().chain(top_level).copied());
                return Err(self.error(span, name, "unknown section".into(), advice(near, &known)));
            };
            let Some(table) = item.as_table_like() else {
                return Err(self.error(
                    span,
                    name,
                    "must be a section".into(),
                    format!("write [{name}] on a line of its own"),
                ));
            };
            self.apply_keys(section.name(), *section, table, &[])?;
        }
        Ok(())
    }

    /// The keys that a section of the document gives.
    pub fn keys(&self, section: &str) -> Vec<String> {
        let table = self.tree.as_table().get(section).and_then(|item| item.as_table_like());
        table.map_or_else(Vec::new, |table| table.iter().map(|(key, _)| key.to_owned()).collect())
    }

    /// The error that something is wrong with `key`, at the line of a `section`.
    pub fn error_at(&self, section: &str, key: &str, problem: &str, remedy: String) -> ConfigError {
        let span = self.tree.as_table().key(section).and_then(|key| key.span());
        self.error(span, key, problem.to_owned(), remedy)
    }

    /// The names of the parts `[section.NAME]`.
    pub fn parts(&self, section: &str) -> Result<Vec<String>, ConfigError> {
        let Some(item) = self.tree.as_table().get(section) else { return Ok(Vec::new()) };
        let parts = item.as_table_like().map(|table| table.iter().map(|(name, item)| (name, item.is_table_like())));
        let named = parts.and_then(|parts| parts.map(|(name, table)| table.then(|| name.to_owned())).collect());
        named.ok_or_else(|| {
            let remedy = format!("write [{section}.NAME] on a line of its own, NAME being its name");
            self.error(item.span(), section, "holds named sections only".into(), remedy)
        })
    }

    /// Applies the part `[section.name]` to `target`; `beside` names further keys allowed in it.
    pub fn apply_part(
        &self,
        section: &str,
        name: &str,
        target: &mut dyn Section,
        beside: &[&str],
    ) -> Result<(), ConfigError> {
        let Some(table) = self.part(section, name) else { return Ok(()) };
        self.apply_keys(&format!("{section}.{name}"), target, table, beside)
    }

    /// The text under `key` of the part `[section.name]`, if it is there.
    pub fn part_text(&self, section: &str, name: &str, key: &str) -> Option<String> {
        self.part(section, name)?.get(key)?.as_str().map(str::to_owned)
    }

    fn part(&self, section: &str, name: &str) -> Option<&dyn TableLike> {
        self.tree.as_table().get(section)?.as_table_like()?.get(name)?.as_table_like()
    }

    fn apply_keys(
        &self,
        path: &str,
        section: &mut dyn Section,
        table: &dyn TableLike,
        beside: &[&str],
    ) -> Result<(), ConfigError> {
        for (key, item) in table.iter().filter(|(key, _)| !beside.contains(key)) {
            let span = table.key(key).and_then(|key| key.span());
            let scalar = match item {
                Item::Value(value) => scalar_of(value),
                _ => None,
            };
            let full = format!("{path}.{key}");
            let Some(scalar) = scalar else {
                return Err(self.error(
                    span,
                    &full,
                    "holds a table or a date".into(),
                    "write one value or a list".into(),
                ));
            };
            section.set(key, &scalar).map_err(|error| {
                refused(error, section, &scalar, |problem, remedy| self.error(span.clone(), &full, problem, remedy))
            })?;
        }
        Ok(())
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, key: &str, problem: String, remedy: String) -> ConfigError {
        ConfigError {
            origin: self.origin.clone(),
            line: span.map(|span| line_of(self.tree.raw(), span.start)),
            key: Some(key.to_owned()),
            problem,
            remedy,
        }
    }
}

/// Applies one `section.key=value` word from a command line or a sweep.
pub fn apply_word(word: &str, sections: &mut [&mut dyn Section]) -> Result<(), ConfigError> {
    let fail = |key: Option<&str>, problem: String, remedy: String| ConfigError {
        origin: format!("--set {word}"),
        line: None,
        key: key.map(str::to_owned),
        problem,
        remedy,
    };
    let Some((path, value)) = word.split_once('=') else {
        return Err(fail(None, "has no `=`".into(), "write section.key=value, such as chip.t_prog=400us".into()));
    };
    let path = path.trim();
    let known: Vec<&'static str> = sections.iter().map(|s| s.name()).collect();
    let Some((section_name, key)) = path.split_once('.') else {
        let holders: Vec<&str> =
            sections.iter().filter(|s| s.keys().iter().any(|k| k.name == path)).map(|s| s.name()).collect();
        let remedy =
            holders.first().map_or_else(|| advice(None, &known), |section| format!("did you mean {section}.{path}?"));
        return Err(fail(Some(path), "has no section".into(), remedy));
    };
    let Some(section) = sections.iter_mut().find(|s| s.name() == section_name) else {
        return Err(fail(
            Some(path),
            "unknown section".into(),
            advice(nearest(section_name, known.iter().copied()), &known),
        ));
    };
    let scalar = Scalar::from_word(value);
    section
        .set(key, &scalar)
        .map_err(|error| refused(error, *section, &scalar, |problem, remedy| fail(Some(path), problem, remedy)))
}

fn refused(
    error: KeyError,
    section: &dyn Section,
    value: &Scalar,
    make: impl Fn(String, String) -> ConfigError,
) -> ConfigError {
    match error {
        KeyError::Unknown { nearest, known } => {
            make(format!("unknown key in [{}]", section.name()), advice(nearest, &known))
        }
        KeyError::Value { expects } => make(format!("{value} is not accepted"), format!("expected {expects}")),
    }
}

fn advice(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("valid here: {}", known.join(", ")),
    }
}

fn scalar_of(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::String(v) => Scalar::Text(v.value().clone()),
        Value::Integer(v) => Scalar::Int(*v.value()),
        Value::Float(v) => Scalar::Float(*v.value()),
        Value::Boolean(v) => Scalar::Bool(*v.value()),
        Value::Array(items) => Scalar::List(items.iter().map(scalar_of).collect::<Option<_>>()?),
        Value::Datetime(_) | Value::InlineTable(_) => return None,
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Span;

    crate::section! {
        /// A section for the test.
        pub struct Chip in "chip" {
            /// A time.
            t_prog: Span = Span(0),
        }
    }

    fn load(text: &str) -> Result<Chip, String> {
        let mut chip = Chip::default();
        Document::parse(text, "dev.toml")
            .and_then(|document| document.apply(&mut [&mut chip], &["base"]))
            .map_err(|error| error.to_string())?;
        Ok(chip)
    }

    #[test]
    fn errors_name_file_line_key_and_remedy() {
        assert_eq!(load("base = \"tlc\"\n[chip]\nt_prog = \"2us\"").unwrap().t_prog, Span(2_000));
        assert_eq!(
            load("\n[chip]\nt_porg = \"2us\"").unwrap_err(),
            "dev.toml:3: chip.t_porg: unknown key in [chip]\n  help: did you mean `t_prog`?"
        );
        let error = load("[chip]\nt_prog = 2").unwrap_err();
        assert!(
            error.starts_with("dev.toml:2: chip.t_prog: 2 is not accepted\n  help: expected a time with its unit"),
            "{error}"
        );
        assert_eq!(load("[chips]\n").unwrap_err(), "dev.toml:1: chips: unknown section\n  help: did you mean `chip`?");
        assert_eq!(load("[bases]\n").unwrap_err(), "dev.toml:1: bases: unknown section\n  help: did you mean `base`?");
        assert!(load("[chip\n").unwrap_err().starts_with("dev.toml:1: "));
        assert!(load("chip = 3").unwrap_err().contains("must be a section"));
    }

    #[test]
    fn words_set_keys() {
        let mut chip = Chip::default();
        apply_word("chip.t_prog=3us", &mut [&mut chip]).unwrap();
        assert_eq!(chip.t_prog, Span(3_000));
        let error = apply_word("t_prog=3us", &mut [&mut chip]).unwrap_err().to_string();
        assert_eq!(error, "--set t_prog=3us: t_prog: has no section\n  help: did you mean chip.t_prog?");
        assert!(apply_word("chip.t_prog", &mut [&mut chip]).unwrap_err().to_string().contains("has no `=`"));
    }
}
