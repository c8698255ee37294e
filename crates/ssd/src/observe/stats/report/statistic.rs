//! One statistic, and a list of them.

use serde_json::{Map, Value};

use super::super::Counters;
use super::super::counters::Declared;

/// One number that a run reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Dotted name, which is also its place in the JSON result.
    pub name: String,
    /// Unit, empty for plain counts.
    pub unit: &'static str,
    /// What it says, in a line.
    pub description: String,
    /// The number; null where there was nothing to measure.
    pub value: Value,
}

/// A list of statistics in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report(pub Vec<Statistic>);

impl Report {
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        description: impl Into<String>,
        value: impl Into<Value>,
    ) {
        self.0.push(Statistic { name: name.into(), unit, description: description.into(), value: value.into() });
    }

    /// Adds counters of one kind.
    pub(super) fn counts(&mut self, kind: &[Declared], counters: &Counters) {
        for Declared { name, unit, description, count } in kind {
            self.add(*name, unit, *description, count(counters));
        }
    }

    /// The statistics as nested JSON objects.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut root = Map::new();
        for statistic in &self.0 {
            let mut parts = statistic.name.split('.').peekable();
            let mut place = &mut root;
            while let Some(part) = parts.next() {
                if parts.peek().is_none() {
                    place.insert(part.to_owned(), statistic.value.clone());
                } else {
                    let entry = place.entry(part).or_insert_with(|| Value::Object(Map::new()));
                    place = entry.as_object_mut().expect("Invariant: no statistic's name is another one's prefix");
                }
            }
        }
        root
    }
}
