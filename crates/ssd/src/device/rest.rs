//! The drive rests for a long time: its data grows old, and what is too old is refreshed
//! (docs/decisions/0023-a-rest-adds-to-ages.md).

use units::{Span, Temperature};

use super::Device;
use crate::back_end::BackEnd;
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::ftl::relocator::Relocation;
use crate::ftl::visits::Overdue;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;

/// See [`Drive::rest`](crate::Drive::rest).
pub(super) fn rest<P: Probe>(device: &mut Device<P>, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
    device.flush()?;
    let faster = at.unwrap_or(device.back.core.plan.at_rest).acceleration();
    let mut left = span;
    loop {
        let back = &mut device.back;
        let (now, clock) = (back.core.now, back.flash.age_clock(back.core.now));
        let overdue = back.ftl.overdue_within(left, faster, now, clock, &back.core.plan);
        let Some(Overdue { plane, block, after }) = overdue else { break };
        grows_old(back, after, faster);
        back.request_move(plane, Relocation::block(block, relocation_causes::REFRESH));
        back.settle();
        device.flush()?;
        // What was moved took its time, too.
        let moved = device.back.core.now.since(now);
        left = Span(left.0.saturating_sub(after.0 + moved.0));
    }
    grows_old(&mut device.back, left, faster);
    Ok(())
}

/// The data ages, and the drive cools down.
fn grows_old<P: Probe>(back: &mut BackEnd<P>, span: Span, faster: f64) {
    let now = back.flash.age_clock(back.core.now);
    // Where nothing is left, nothing is noted.
    if span > Span::ZERO {
        let age = Span((span.0 as f64 * faster) as u64);
        back.ftl.grows_old(now, age);
        back.flash.rest(back.core.now, span, age);
    }
}
