//! The result of a run as JSON: the same text whoever plays it.

use serde_json::{Map, Value, json};

use crate::observe::stats::report::Report;
use crate::observe::stats::{Finding, Measured};

/// The result of a run: its manifest, what puts it in doubt, its statistics, which `report` has, and how many events it
/// took.
pub fn result(manifest: &Value, measured: &Measured, report: &Report) -> Value {
    let mut root = Map::new();
    root.insert("manifest".into(), manifest.clone());
    root.insert("warnings".into(), measured.findings.iter().map(Finding::to_json).collect());
    root.extend(report.to_json());
    if let Some(host) = root.get_mut("host").and_then(Value::as_object_mut) {
        // Without a request that counted there is no queue to report.
        host.entry("queue").or_insert_with(|| json!({}));
    }
    root.insert("run".into(), json!({ "events": measured.totals.counters.events }));
    Value::Object(root)
}

/// A result as text, to the letter as `ssdlab run --json` writes it but for its last section, `process`: as Python's
/// `json.dumps` with an indent of 1.
pub fn as_json(result: &Value) -> String {
    let mut text = String::new();
    write(&mut text, result, 0);
    text + "\n"
}

fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| (None, item));
            write_all(text, ['[', ']'], items, depth);
        }
        Value::Object(items) => {
            let items = items.iter().map(|(name, item)| (Some(name), item));
            write_all(text, ['{', '}'], items, depth);
        }
        Value::Number(number) if number.is_f64() => text.push_str(&float(number.as_f64().unwrap_or_default())),
        Value::String(string) => text.push_str(&quoted(string)),
        other => text.push_str(&other.to_string()),
    }
}

fn write_all<'a>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    depth: usize,
) {
    text.push(open);
    let line = |text: &mut String, depth| text.extend(std::iter::once('\n').chain(std::iter::repeat_n(' ', depth)));
    let mut empty = true;
    for (name, item) in items {
        if !std::mem::replace(&mut empty, false) {
            text.push(',');
        }
        line(text, depth + 1);
        if let Some(name) = name {
            text.push_str(&quoted(name));
            text.push_str(": ");
        }
        write(text, item, depth + 1);
    }
    if !empty {
        line(text, depth);
    }
    text.push(close);
}

/// The shortest digits, with an exponent below 1e-4 and from 1e16 on.
fn float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').expect("Invariant: JSON holds finite numbers");
    match exponent.parse::<i32>().expect("Invariant: an exponent is a number") {
        -4..16 => format!("{value:?}"),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

/// A string in ASCII.
fn quoted(string: &str) -> String {
    let mut text = String::new();
    for letter in Value::from(string).to_string().chars() {
        if matches!(letter, ' '..='~') {
            text.push(letter);
        } else {
            let units =
                letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            text.push_str(&units);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_pythons_json_module_writes_it() {
        let value = json!({
            "a": [0.0, -0.0, 1.0, 0.1, 1e-4, 0.00012, 1e-5, 1.5e-7, 123456789012345.6, 1e15, 1e16, 2.5e22, 1e100, 5e-324],
            "b": [null, true, 18446744073709551615u64, -3],
            "µ\"\\\n\u{7f}\u{1d11e}": {},
            "c": [],
        });
        // json.dumps(value, indent=1) + "\n"
        let text = "{\n \"a\": [\n  0.0,\n  -0.0,\n  1.0,\n  0.1,\n  0.0001,\n  0.00012,\n  1e-05,\n  1.5e-07,\n  123456789012345.6,\n  \
            1000000000000000.0,\n  1e+16,\n  2.5e+22,\n  1e+100,\n  5e-324\n ],\n \"b\": [\n  null,\n  true,\n  18446744073709551615,\n  \
            -3\n ],\n \"\\u00b5\\\"\\\\\\n\\u007f\\ud834\\udd1e\": {},\n \"c\": []\n}\n";
        assert_eq!(as_json(&value), text);
    }
}
