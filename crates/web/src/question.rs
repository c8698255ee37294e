//! What is asked, read from JSON.

use serde_json::{Map, Value};
use ssd::RunError;
use ssd::run::{DeviceWord, DriveInputs, Given, Inputs, RunOptions, TraceOptions, refused};
use units::ConfigError;

/// Fields of a question.
pub(crate) struct Question<'a>(pub &'a Map<String, Value>);

impl Question<'_> {
    /// A number, where there is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// A number that must be there.
    pub fn needs(&self, name: &str) -> Result<f64, ConfigError> {
        self.number(name).ok_or_else(|| refused(name, "is missing, or no number", "write a number"))
    }

    /// A whole number, where there is one.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// A word, where there is one.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Words; none where there is nothing.
    pub fn words(&self, name: &str) -> Vec<&str> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Numbers; none where there is nothing.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64).collect()
    }

    /// An object within it; an empty one where there is none.
    pub fn within<'b>(&'b self, name: &str, empty: &'b Map<String, Value>) -> Question<'b> {
        Question(self.0.get(name).and_then(Value::as_object).unwrap_or(empty))
    }
}

/// The options of a run by the names that `ssdlab.run` and the command line have for them.
pub(crate) struct Options {
    device: String,
    workload: String,
    scheme: Option<String>,
    age: Option<String>,
    settings: Vec<String>,
    run: Vec<(String, Given)>,
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// There is no such option of a run in a page, or its value is of another kind.
    pub fn read(question: &Question) -> Result<Options, ConfigError> {
        let mut options = Options {
            device: "tlc".into(),
            workload: "default".into(),
            scheme: None,
            age: None,
            settings: Vec::new(),
            run: Vec::new(),
        };
        let mut preconditions = Vec::new();
        for (name, value) in question.0.iter().filter(|(_, value)| !value.is_null()) {
            let text = || {
                let texts =
                    value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|number| number.to_string()));
                texts.ok_or_else(|| refused(&flag(name), &format!("is {value}"), "write a word or a whole number"))
            };
            match name.as_str() {
                "device" => options.device = text()?,
                "workload" => options.workload = text()?,
                "scheme" => options.scheme = Some(text()?),
                "age" => options.age = Some(text()?),
                "precondition" => preconditions.push(format!("age.precondition={}", text()?)),
                "settings" => options.settings = question.words(name).into_iter().map(str::to_owned).collect(),
                "qd" => options.run.push(("replay".into(), Given::Text(format!("closed:{}", text()?)))),
                _ if RunOptions::NAMES.contains(&name.as_str()) => {
                    let given = value.as_u64().map_or_else(|| text().map(Given::Text), |n| Ok(Given::Number(n)))?;
                    options.run.push((name.clone(), given));
                }
                _ => {
                    let remedy = "leave it out, or use `ssdlab run`: the page has neither files nor arrays";
                    return Err(refused(&flag(name), "is no option of a run in the page", remedy));
                }
            }
        }
        preconditions.append(&mut options.settings);
        options.settings = preconditions;
        Ok(options)
    }

    /// Reads and checks what a run needs, as native runs do.
    pub fn prepare(&self) -> Result<ssd::run::Prepared, RunError> {
        ssd::run::prepare(&Inputs {
            drive: DriveInputs {
                version: env!("CARGO_PKG_VERSION"),
                device: DeviceWord::Named(&self.device),
                scheme: self.scheme.as_deref(),
                age: self.age.as_deref(),
                settings: &self.settings,
                policies: &ssd::policies::Policies::default(),
                options: &self.run,
                fingerprint: workload::content_hash,
            },
            workload: &self.workload,
            merge: &[],
            traces: TraceOptions::default(),
        })
    }
}

/// An option's name on the command line.
fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}
