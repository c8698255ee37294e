//! The file of a surface.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::axes::Axes;
use crate::check::Check;
use crate::error::TierError;
use crate::surface::Tier;
use crate::values::{Estimate, Quantity};

/// What its `format` says.
const FORMAT: &str = "ssdlab tier";
/// The version of the format: raised where older readers would misread it.
const VERSION: u64 = 1;
/// Points of a grid: more are no surface (assumed).
const MOST_POINTS: usize = 10_000_000;

impl Tier {
    /// Reads a surface's file.
    ///
    /// ```no_run
    /// let tier = tier::Tier::load("tier.json".as_ref())?;
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn load(path: &Path) -> Result<Tier, TierError> {
        let origin = path.display().to_string();
        let read = std::fs::read_to_string(path);
        let text =
            read.map_err(|error| TierError::Unreadable { origin: origin.clone(), problem: error.to_string() })?;
        Tier::parse(&text, &origin)
    }

    /// Reads the text of a surface's file; `origin` is how errors call it.
    ///
    /// ```
    /// let error = tier::Tier::parse("{}", "tier.json").unwrap_err();
    /// assert!(error.to_string().starts_with("tier.json: format: "));
    /// ```
    pub fn parse(text: &str, origin: &str) -> Result<Tier, TierError> {
        let malformed = |(key, problem): Wrong| TierError::Malformed { origin: origin.to_owned(), key, problem };
        let whole: Value = serde_json::from_str(text)
            .map_err(|error| malformed((format!("line {}", error.line()), format!("it is no JSON: {error}"))))?;
        read(&whole).map_err(malformed)
    }

    /// The text of its file, which [`Tier::parse`] reads back as an equal surface.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier::Tier::parse(&tier.json(), "again")?, tier);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn json(&self) -> String {
        let Axes { age, scheme, reads, bytes, qd } = &self.axes;
        let values: Map<String, Value> = Quantity::ALL
            .into_iter()
            .map(|quantity| {
                let cells = &self.cells[quantity as usize];
                let means: Vec<Option<f64>> = cells.iter().map(|cell| cell.map(|cell| cell.value)).collect();
                let widths: Vec<Option<f64>> = cells.iter().map(|cell| cell.and_then(|cell| cell.half_width)).collect();
                (quantity.name().to_owned(), json!({"mean": means, "half_width": widths}))
            })
            .collect();
        let checks: Vec<Value> = self.cross_validation().iter().map(|check| check_json(self, check)).collect();
        let whole = json!({
            "format": FORMAT,
            "version": VERSION,
            "assumed": self.assumed,
            "axes": {"age": age, "scheme": scheme, "reads": reads, "bytes": bytes, "qd": qd},
            "order": "age, scheme, reads, bytes, qd: the last varies fastest",
            "values": values,
            "findings": self.findings,
            "cross_validation": checks,
        });
        format!("{whole}\n")
    }
}

/// A key, and what is wrong there.
type Wrong = (String, String);

fn wrong(key: impl Into<String>, problem: impl Into<String>) -> Wrong {
    (key.into(), problem.into())
}

fn read(whole: &Value) -> Result<Tier, Wrong> {
    if whole["format"] != FORMAT {
        return Err(wrong("format", format!("expected {FORMAT:?}, found {}", whole["format"])));
    }
    if whole["version"] != VERSION {
        return Err(wrong("version", format!("expected {VERSION}, found {}", whole["version"])));
    }
    let assumed = whole["assumed"].as_object().ok_or_else(|| wrong("assumed", "expected an object"))?.clone();
    let axes = axes(&whole["axes"])?;
    let points = axes.points();
    let of = |quantity: Quantity| cells(&whole["values"][quantity.name()], quantity.name(), points);
    let cells = Quantity::ALL.into_iter().map(of).collect::<Result<_, _>>()?;
    let findings = list(&whole["findings"], "findings", names)?;
    if findings.len() != points {
        return Err(wrong("findings", format!("expected {points} lists, found {}", findings.len())));
    }
    Ok(Tier { assumed, axes, cells, findings })
}

fn axes(value: &Value) -> Result<Axes, Wrong> {
    let axes = Axes {
        age: names(&value["age"]).ok_or_else(|| wrong("axes.age", "expected a list of names"))?,
        scheme: names(&value["scheme"]).ok_or_else(|| wrong("axes.scheme", "expected a list of names"))?,
        reads: list(&value["reads"], "axes.reads", Value::as_f64)?,
        bytes: list(&value["bytes"], "axes.bytes", Value::as_u64)?,
        qd: list(&value["qd"], "axes.qd", |number| number.as_u64()?.try_into().ok())?,
    };
    let lengths = [axes.age.len(), axes.scheme.len(), axes.reads.len(), axes.bytes.len(), axes.qd.len()];
    let points = lengths.into_iter().try_fold(1_usize, |points, length| points.checked_mul(length));
    if !points.is_some_and(|points| (1..=MOST_POINTS).contains(&points)) {
        return Err(wrong("axes", format!("a grid of {lengths:?} values: expected 1 to {MOST_POINTS} points")));
    }
    for (key, names) in [("axes.age", &axes.age), ("axes.scheme", &axes.scheme)] {
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(wrong(key, format!("{twice:?} stands there twice")));
        }
    }
    let grows = |of: &[f64]| of.windows(2).all(|pair| pair[0] < pair[1]);
    let shares = grows(&axes.reads) && axes.reads.iter().all(|share| (0.0..=1.0).contains(share));
    let sizes = axes.bytes[0] > 0 && axes.bytes.windows(2).all(|pair| pair[0] < pair[1]);
    let depths = axes.qd[0] > 0 && axes.qd.windows(2).all(|pair| pair[0] < pair[1]);
    for (key, good) in [("axes.reads", shares), ("axes.bytes", sizes), ("axes.qd", depths)] {
        if !good {
            return Err(wrong(key, "expected growing numbers: shares from 0 to 1; sizes and depths above 0"));
        }
    }
    Ok(axes)
}

fn cells(value: &Value, name: &str, points: usize) -> Result<Vec<Option<Estimate>>, Wrong> {
    let column = |part: &str| -> Result<Vec<Option<f64>>, Wrong> {
        let key = format!("values.{name}.{part}");
        let good = |number: &f64| number.is_finite() && (*number > 0.0 || part == "half_width" && *number == 0.0);
        let number = |each: &Value| if each.is_null() { Some(None) } else { each.as_f64().filter(good).map(Some) };
        let numbers = list(&value[part], &key, number)?;
        if numbers.len() != points {
            return Err(wrong(key, format!("expected {points} numbers, found {}", numbers.len())));
        }
        Ok(numbers)
    };
    let means = column("mean")?.into_iter().zip(column("half_width")?);
    Ok(means.map(|(value, half_width)| value.map(|value| Estimate { value, half_width })).collect())
}

/// A list whose elements are all of a kind.
fn list<T>(value: &Value, key: &str, element: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, Wrong> {
    let elements = value.as_array().ok_or_else(|| wrong(key, "expected a list"))?;
    let read =
        |(at, each): (usize, &Value)| element(each).ok_or_else(|| wrong(format!("{key}[{at}]"), unexpected(each)));
    elements.iter().enumerate().map(read).collect()
}

fn unexpected(value: &Value) -> String {
    format!("{value} is not accepted here")
}

fn names(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn check_json(tier: &Tier, check: &Check) -> Value {
    let Axes { age, scheme, reads, bytes, qd } = &tier.axes;
    let at = check.worst_at;
    json!({
        "value": check.quantity.name(),
        "axis": check.axis.map_or("all", |axis| axis.name()),
        "predictions": check.predictions,
        "median": check.median,
        "worst": check.worst,
        "worst_at": {
            "age": age[at.age], "scheme": scheme[at.scheme],
            "reads": reads[at.on[0]], "bytes": bytes[at.on[1]], "qd": qd[at.on[2]],
        },
    })
}
