//! Surfaces whose values are known in closed form.

use serde_json::{Value, json};
use units::Bytes;

use crate::{Axis, Estimate, Place, Point, Quantity, Tier, TierError};

const READS: [f64; 3] = [0.0, 0.25, 1.0];
const BYTES: [u64; 4] = [4096, 16_384, 24_576, 1 << 20];
const DEPTHS: [u32; 4] = [1, 3, 8, 256];
const AGES: [&str; 2] = ["pec=0", "pec=1000,retention=3mo"];

/// A power law of size and depth, and an exponential of the read share: straight lines on the scales of the
/// interpolation.
fn law(quantity: usize, age: usize, reads: f64, bytes: f64, qd: f64) -> f64 {
    let exponent = 0.1 + 0.07 * quantity as f64;
    1000.0 * (1.0 + 3.0 * age as f64) * bytes.powf(exponent) * qd.powf(0.9 - exponent) * (0.7 * reads).exp()
}

/// The file of that surface; writes have no latency where every request reads, nor reads where none does.
fn file() -> Value {
    let mut values = serde_json::Map::new();
    for (number, quantity) in Quantity::ALL.into_iter().enumerate() {
        let (mut means, mut widths) = (Vec::new(), Vec::new());
        for (age, _) in AGES.iter().enumerate() {
            for reads in READS {
                for bytes in BYTES {
                    for qd in DEPTHS {
                        let none = match quantity.name().split('.').next() {
                            Some("read") => reads == 0.0,
                            Some("write") => reads == 1.0,
                            _ => false,
                        };
                        let value = law(number, age, reads, bytes as f64, f64::from(qd));
                        means.push((!none).then_some(value));
                        widths.push((!none).then_some(0.02 * value));
                    }
                }
            }
        }
        values.insert(quantity.name().to_owned(), json!({"mean": means, "half_width": widths}));
    }
    let mut findings: Vec<Vec<&str>> = vec![Vec::new(); AGES.len() * READS.len() * BYTES.len() * DEPTHS.len()];
    *findings.last_mut().unwrap() = vec!["overload"];
    json!({
        "format": "ssdlab tier", "version": 1, "assumed": {"device": "tlc", "seeds": 3},
        "axes": {"age": AGES, "scheme": ["default"], "reads": READS, "bytes": BYTES, "qd": DEPTHS},
        "values": values, "findings": findings,
    })
}

fn surface() -> Tier {
    Tier::parse(&file().to_string(), "tier.json").unwrap()
}

fn aged(bytes: u64, qd: f64, reads: f64) -> Point<'static> {
    Point { age: Some(AGES[1]), ..Point::new(Bytes(bytes), qd, reads) }
}

#[test]
fn points_of_the_grid_are_as_measured_to_the_digit() {
    let tier = surface();
    for place in tier.axes().places() {
        let [reads, bytes, qd] = [0, 1, 2].map(|axis| tier.axes().number(Axis::ALL[axis], place.on[axis]));
        let point = Point { age: Some(AGES[place.age]), ..Point::new(Bytes(bytes as u64), qd, reads) };
        for (number, quantity) in Quantity::ALL.into_iter().enumerate() {
            let value = law(number, place.age, reads, bytes, qd);
            let expected = tier.at(quantity, place).map(|_| Estimate { value, half_width: Some(0.02 * value) });
            assert_eq!(tier.value(quantity, &point).ok(), expected);
        }
    }
    assert_eq!(tier.at(Quantity::WriteMean, Place { on: [2, 0, 0], ..Place::default() }), None);
}

#[test]
fn a_power_law_is_reproduced_between_points() {
    let tier = surface();
    for (bytes, qd, reads) in [(5000, 1.0, 0.6), (20_000, 2.5, 0.25), (70_001, 100.0, 0.9), (1 << 20, 255.9, 0.3)] {
        for (number, quantity) in Quantity::ALL.into_iter().enumerate() {
            if reads > 0.25 && quantity.name().starts_with("write") {
                continue;
            }
            let expected = law(number, 1, reads, bytes as f64, qd);
            let found = tier.value(quantity, &aged(bytes, qd, reads)).unwrap();
            assert!((found.value / expected - 1.0).abs() < 1e-12, "{} at {bytes}, {qd}", quantity.name());
            // Two per cent at every point around is two per cent between them.
            assert!((found.half_width.unwrap() / found.value - 0.02).abs() < 1e-12);
        }
    }
}

#[test]
fn cross_validation_of_a_power_law_finds_no_error_and_of_a_bend_its_height() {
    let tier = surface();
    let checks = tier.cross_validation();
    assert!(checks.iter().all(|check| check.worst < 1e-12));
    // 2 ages x (3 x 2 x 4 of size, 3 x 4 x 2 of depth, 1 x 4 x 4 of the read share).
    let all = |check: &&crate::Check| check.quantity == Quantity::BytesPerS && check.axis.is_none();
    assert_eq!(checks.iter().find(all).unwrap().predictions, 2 * (24 + 24 + 16));
    // The read share's only inner point has no neighbour whose writes, or reads, were measured.
    assert!(!checks.iter().any(|check| check.quantity == Quantity::ReadMean && check.axis == Some(Axis::Reads)));

    let mut bent = tier.clone();
    let place = Place { age: 1, on: [1, 2, 1], ..Place::default() };
    let index = bent.axes.index(place);
    bent.cells[Quantity::ReadP99 as usize][index].as_mut().unwrap().value *= 0.5;
    let checks = bent.cross_validation();
    let found =
        checks.iter().find(|check| check.quantity == Quantity::ReadP99 && check.axis == Some(Axis::Qd)).unwrap();
    assert_eq!(found.worst_at, place);
    assert!((found.worst - 1.0).abs() < 1e-12, "predicted twice what was measured");
    assert!(found.median < 1e-12);
}

#[test]
fn nothing_is_extrapolated() {
    let tier = surface();
    let refused = |point: Point| tier.ask(&point).unwrap_err().to_string();
    assert!(
        refused(aged(4095, 1.0, 0.5)).starts_with("bytes = 4095 lies outside the surface, which has 4096 to 1048576\n")
    );
    assert!(refused(aged((1 << 20) + 1, 1.0, 0.5)).contains("measure more (--bs)"));
    assert!(refused(aged(4096, 256.5, 0.5)).starts_with("qd = 256.5 lies outside the surface, which has 1 to 256\n"));
    assert!(refused(aged(4096, f64::NAN, 0.5)).starts_with("qd = NaN lies outside"));
    assert!(refused(aged(4096, 1.0, 1.01)).starts_with("reads = 1.01 lies outside the surface, which has 0 to 1\n"));
    assert!(refused(Point::new(Bytes(4096), 1.0, 0.5)).contains("say which: pec=0; pec=1000,retention=3mo"));
    assert!(
        refused(Point { age: Some("pec=5"), ..aged(4096, 1.0, 0.5) }).starts_with("the surface has no age \"pec=5\"\n")
    );
    // Between a point with writes and one without there is no latency of writes.
    let answer = tier.ask(&aged(4096, 1.0, 0.5)).unwrap();
    assert!(answer.read.is_some() && answer.write.is_none());
    let error = tier.value(Quantity::WriteP99, &aged(4096, 1.0, 0.5)).unwrap_err();
    assert!(matches!(&error, TierError::Unmeasured { at, .. } if at.contains("reads = 1, bytes = 4096, qd = 1")));
}

#[test]
fn an_answer_has_the_findings_of_the_points_that_it_is_made_from() {
    let tier = surface();
    assert_eq!(tier.ask(&aged(1 << 20, 255.0, 0.99)).unwrap().findings, ["overload"]);
    assert!(tier.ask(&aged(24_576, 256.0, 1.0)).unwrap().findings.is_empty());
}

#[test]
fn a_file_is_read_back_as_it_was_written() {
    let tier = surface();
    let again = Tier::parse(&tier.json(), "again").unwrap();
    assert_eq!(again, tier);
    assert_eq!(again.json(), tier.json());
    let stated: Value = serde_json::from_str(&tier.json()).unwrap();
    assert_eq!(stated["cross_validation"][0]["value"], "bytes_per_s");
    assert_eq!(stated["cross_validation"][0]["predictions"], 128);
}

#[test]
fn files_that_are_no_surface_are_refused_where_they_are_wrong() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut whole = file();
        change(&mut whole);
        Tier::parse(&whole.to_string(), "x.json").unwrap_err().to_string()
    };
    let put = |pointer: &'static str, value: Value| {
        move |whole: &mut Value| *whole.pointer_mut(pointer).unwrap() = value.clone()
    };
    for (change, expected) in [
        (put("/format", json!("trace")), "x.json: format: expected \"ssdlab tier\", found \"trace\"\n  help: "),
        (put("/version", json!(2)), "x.json: version: expected 1, found 2"),
        (put("/axes/qd", json!([])), "x.json: axes: a grid of [2, 1, 3, 4, 0] values"),
        (put("/axes/age/1", json!(AGES[0])), "x.json: axes.age: \"pec=0\" stands there twice"),
        (put("/axes/qd/1", json!(1)), "x.json: axes.qd: expected growing numbers"),
        (put("/axes/reads/2", json!(1.5)), "x.json: axes.reads: expected growing numbers"),
        (put("/axes/bytes/0", json!(-4096)), "x.json: axes.bytes[0]: -4096 is not accepted here"),
        (put("/values/bytes_per_s/mean/3", json!(0)), "x.json: values.bytes_per_s.mean[3]: 0 is not accepted here"),
        (
            put("/values/read.latency_ns.p99/mean", json!([1])),
            "x.json: values.read.latency_ns.p99.mean: expected 96 numbers",
        ),
        (put("/findings/0", json!("overload")), "x.json: findings[0]: \"overload\" is not accepted here"),
    ] {
        let found = refused(&change);
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(Tier::parse("{", "x.json").unwrap_err().to_string().starts_with("x.json: line 1: it is no JSON"));
    let none = Tier::load("/does/not/exist.json".as_ref()).unwrap_err().to_string();
    assert!(none.starts_with("/does/not/exist.json: cannot be read: "));
}

#[test]
fn a_damaged_file_is_refused_or_makes_a_surface_that_answers() {
    let text = crate::doc::SURFACE.as_bytes();
    let (mut refused, mut accepted) = (0, 0);
    for at in 0..text.len() {
        let cut = String::from_utf8_lossy(&text[..at]).into_owned();
        let mut changed = text.to_vec();
        changed[at] = b"0-e9\"[]{},.n"[at % 12];
        for damaged in [cut, String::from_utf8_lossy(&changed).into_owned()] {
            let Ok(tier) = Tier::parse(&damaged, "x.json") else {
                refused += 1;
                continue;
            };
            accepted += 1;
            assert_eq!(Tier::parse(&tier.json(), "again").as_ref(), Ok(&tier));
            assert!(tier.cross_validation().iter().all(|check| check.median <= check.worst));
            for place in tier.axes().places() {
                let [reads, bytes, qd] = [0, 1, 2].map(|axis| tier.axes().number(Axis::ALL[axis], place.on[axis]));
                let names = (Some(&*tier.axes().age[place.age]), Some(&*tier.axes().scheme[place.scheme]));
                let point = Point { bytes: Bytes(bytes as u64), qd, reads, age: names.0, scheme: names.1 };
                assert_eq!(tier.value(Quantity::ReadMean, &point).ok(), tier.at(Quantity::ReadMean, place));
            }
        }
    }
    assert!(refused > 1_000 && accepted > 100, "{refused} refused, {accepted} accepted");
}
