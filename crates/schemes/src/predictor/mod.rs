//! Who predicts, from its syndrome weight, that a sensed page cannot be corrected (hpca24 sections IV-B and VI-A).
//!
//! Contract: a policy sees the prediction and whether the page has been sensed before, and nothing else. Pages that
//! were sensed again are not predicted (section IV-C), but by `on-die-again`.

mod controller;
mod on_die;
mod on_die_again;

units::choices! {
    /// Who predicts that a page cannot be corrected.
    pub enum Predictor {
        /// Nobody: only decoding shows it.
        None = "none",
        /// The controller, which ends a decoding that would fail (RPSSD).
        Controller = "controller",
        /// The die, which senses such a page again by itself before it leaves (RiF).
        OnDie = "on-die",
        /// The die, which goes on sensing with the next references until a page is predicted to be correctable.
        OnDieAgain = "on-die-again",
    }
}

impl Predictor {
    /// Whether anybody predicts what becomes of a page.
    pub fn predicts(self, again: bool) -> bool {
        self == Predictor::OnDieAgain || self != Predictor::None && !again
    }

    /// Whether it is the die that predicts.
    pub fn is_on_die(self) -> bool {
        matches!(self, Predictor::OnDie | Predictor::OnDieAgain)
    }

    /// Whether the die predicts the page that it has sensed.
    pub fn looks_on_die(self, again: bool) -> bool {
        self.is_on_die() && self.predicts(again)
    }

    /// Whether the die senses the page again.
    pub fn retries_on_die(self, predicted: bool, again: bool) -> bool {
        match self {
            Predictor::None | Predictor::Controller => false,
            Predictor::OnDie => on_die::retries_on_die(predicted, again),
            Predictor::OnDieAgain => on_die_again::retries_on_die(predicted),
        }
    }

    /// Whether the controller ends the decoding of the page.
    pub fn ends_decoding(self, predicted: bool, again: bool) -> bool {
        match self {
            Predictor::None | Predictor::OnDie | Predictor::OnDieAgain => false,
            Predictor::Controller => controller::ends_decoding(predicted, again),
        }
    }
}
