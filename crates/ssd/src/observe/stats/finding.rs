//! What a user must know before believing a result.

use serde_json::{Map, Value, json};

/// Something about a run that puts its numbers in doubt.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is called wherever it is shown: a row of `run::findings::KINDS`.
    pub id: &'static str,
    /// A sentence for people, with its numbers.
    pub text: String,
    /// The numbers of `text` by name; a unit ends the name.
    pub numbers: Vec<(&'static str, f64)>,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// As results have it.
    pub fn to_json(&self) -> Value {
        let numbers: Map<String, Value> =
            self.numbers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({ "id": self.id, "text": self.text, "numbers": numbers, "remedy": self.remedy })
    }
}
