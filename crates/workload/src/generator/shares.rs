//! Weighted choices and quantiles as words of the configuration.

use units::value::{Scalar, Value};

/// An item of a weighted choice.
pub trait Item: Clone + std::fmt::Debug + PartialEq {
    /// What is accepted in a configuration, such as `"0/60:1/40" (…)`.
    const EXPECTS: &'static str;
    /// Reads it as a user writes it.
    fn parse(word: &str) -> Option<Self>;
    /// As [`Item::parse`] reads it back.
    fn show(&self) -> String;
}

/// Items with their weights, `ITEM/WEIGHT:…`; "none" is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares<T>(pub Vec<(T, f64)>);

impl<T: Item> Value for Shares<T> {
    fn expects() -> String {
        format!("{}, or \"none\"", T::EXPECTS)
    }

    fn read(scalar: &Scalar) -> Option<Shares<T>> {
        let Scalar::Text(text) = scalar else { return None };
        if text == "none" {
            return Some(Shares(Vec::new()));
        }
        let entry = |part: &str| {
            let (word, share) = part.rsplit_once('/')?;
            let share: f64 = share.trim().parse().ok()?;
            (share > 0.0 && share.is_finite()).then_some((T::parse(word.trim())?, share))
        };
        text.split(':').map(entry).collect::<Option<Vec<_>>>().map(Shares)
    }

    fn write(&self) -> Scalar {
        let words: Vec<String> = self.0.iter().map(|(word, share)| format!("{}/{share}", word.show())).collect();
        Scalar::Text(if words.is_empty() { "none".into() } else { words.join(":") })
    }
}

/// Quantities in ascending order, `A:B:…`: equal shares lie between each and the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles<T>(pub Vec<T>);

impl<T: Value + Ord + Copy> Value for Quantiles<T> {
    fn expects() -> String {
        format!(
            "quantities in ascending order joined by \":\", each {}; equal shares lie between neighbours",
            T::expects()
        )
    }

    fn read(scalar: &Scalar) -> Option<Quantiles<T>> {
        let Scalar::Text(text) = scalar else { return None };
        let all: Vec<T> =
            text.split(':').map(|word| T::read(&Scalar::Text(word.trim().into()))).collect::<Option<_>>()?;
        all.is_sorted().then_some(Quantiles(all))
    }

    fn write(&self) -> Scalar {
        let word = |quantity: &T| match quantity.write() {
            Scalar::Text(text) => text,
            other => other.to_string(),
        };
        Scalar::Text(self.0.iter().map(word).collect::<Vec<_>>().join(":"))
    }
}
