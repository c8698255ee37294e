//! Power cuts.

use nand::Layout;
use units::Span;
use units::value::{Scalar, Value};

use super::refusal::{Check, Refusal, refuse};

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// So long after the workload has begun.
    After(Span),
    /// Half way through the program or erase of that number, counted from 1 when the workload begins.
    Operation(u64),
    /// When somebody asks for it ([`crate::run::Live::cut`]).
    OnDemand,
    /// Again and again, at random: the mean of the times from the drive's being ready to the next cut.
    Random(Span),
}

impl Value for Cut {
    fn expects() -> String {
        format!(
            "\"op:N\" (half way through program or erase N), \"random:SPAN\" (again and again, in the mean SPAN after the drive is ready), \"on-demand\", or {}",
            Span::expects()
        )
    }
    fn read(scalar: &Scalar) -> Option<Cut> {
        let Scalar::Text(text) = scalar else { return Span::read(scalar).map(Cut::After) };
        if text == "on-demand" {
            return Some(Cut::OnDemand);
        }
        if let Some(number) = text.strip_prefix("op:") {
            return number.parse().ok().filter(|number| *number > 0).map(Cut::Operation);
        }
        match text.strip_prefix("random:") {
            Some(span) => Span::read(&Scalar::Text(span.into())).map(Cut::Random),
            None => Span::read(scalar).map(Cut::After),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            Cut::After(span) => span.write(),
            Cut::OnDemand => Scalar::Text("on-demand".into()),
            Cut::Operation(number) => Scalar::Text(format!("op:{number}")),
            Cut::Random(mean) => match mean.write() {
                Scalar::Text(span) => Scalar::Text(format!("random:{span}")),
                other => other,
            },
        }
    }
}

units::section! {
    /// Power cuts.
    pub struct PowerConfig in "power" {
        /// When the power is cut: times from the beginning of the workload, "op:N" (half way through program or erase
        /// N), or "random:SPAN" (again and again, in the mean SPAN after the drive is ready), "on-demand" (`ssdlab tell
        /// cut`, of a drive that is served); [] never is. It is back at once.
        cut_at: Vec<Cut> = Vec::new(),
        /// Power-loss protection: capacitors let programs under way end and keep the write buffer and the map's journal
        /// that is not on flash yet; otherwise these are lost.
        plp: bool = false,
    }
}

impl Check for PowerConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if self.cut_at.iter().any(|cut| matches!(cut, Cut::Random(mean) if mean.0 < 1_000)) {
            return refuse("cut_at", "has cuts less than 1us apart", "write \"random:\" with a longer time");
        }
        Ok(())
    }
}
