//! At the next safe point of a pulse, where the voltages are reset and the rest is done later; a verify is brought to
//! its end (SSR: B. Kim et al., J. KICS 50(9), 2025, from its abstract: several safe points in an erase loop, aligned,
//! so that an erase is suspended seldom and starves nowhere; evenly spaced ones, the last at the pulse's end, are
//! `assumed`). What goes on comes to the next one at least.

use units::Span;

use super::contract::{InPhase, ResumeMode, SuspendPoint};

pub(super) fn suspend_point(at: InPhase) -> SuspendPoint {
    let ends = Some((at.left, ResumeMode::NextPhase));
    let Some(spacing) = at.safe.filter(|spacing| at.pulse && *spacing > Span::ZERO) else { return ends };
    let to = Span(spacing.0 - at.done.0 % spacing.0);
    if to + at.reset >= at.left { ends } else { Some((to + at.reset, ResumeMode::RestOfPhase)) }
}
