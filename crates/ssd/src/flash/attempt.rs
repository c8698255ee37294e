//! An attempt of a read: one sense of its page, and the step that it is at. What follows a step is in `read.rs`.

use nand::DieId;
use nand::model::outcomes::PageRead;
use schemes::ReadReference;

use super::queues::QueueId;
use crate::arena::{Arena, AttemptId, OpId};
use crate::persist::{stored, stored_enum};

pub(crate) type Attempts = Arena<AttemptId, Attempt>;

/// What a read knows of its page and its attempts; of other operations nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// The attempt that was queued last; none when the read has ended.
    pub newest: Option<AttemptId>,
    /// At which steps of the table the page can be read; known when it has been sensed.
    pub page: PageRead,
    /// The step of the retry table at which it began.
    pub start: u8,
    /// Retries so far; when it has ended, those that it took.
    pub retries: u16,
    /// Its block is in the mode of the SLC cache.
    pub in_slc: bool,
    /// It ends after `read.fail_fast` retries.
    pub limited: bool,
    /// The last read of a similar page needed other references than it begins with.
    pub likely_to_fail: bool,
    /// What its first sense has shown, where trees look at that of similar pages.
    pub shown: Option<Shown>,
    /// Its first sense takes the RPT's tPRE, and is to be repeated with the default one if it fails.
    pub hasty: bool,
    /// Any of its senses has taken a shorter tPRE than the default one.
    pub reduced: bool,
}

impl Read {
    pub const NONE: Read = Read {
        newest: None,
        page: PageRead { first: 0, last: 0, weak: false },
        start: 0,
        retries: 0,
        in_slc: false,
        limited: false,
        likely_to_fail: false,
        shown: None,
        hasty: false,
        reduced: false,
    };
}

/// What a first sense has shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Syndromes that were not 0, in 256ths of all.
    pub weight: u8,
    /// It took the RPT's tPRE.
    pub hasty: bool,
    /// It was corrected.
    pub corrected: bool,
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It waits for its die, which takes its commands over the bus.
    Queued,
    /// The array senses the page, and may look at it (`read.predictor`).
    Sensing,
    /// What was sensed is in the plane's page register, and waits for the cache register or the bus.
    PageRegister,
    /// It is in the plane's cache register, and waits for the bus.
    CacheRegister,
    /// It crosses the bus, with room before the decoders.
    Bus,
    /// It waits for a decoder.
    WaitingForEcc,
    /// It is decoded.
    Decoding,
    /// It was not corrected and nothing is left to try, but earlier attempts of its read are still decoded.
    Exhausted,
}

/// What becomes of a sensed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its data will be corrected.
    Corrected,
    /// It will not.
    Uncorrectable,
    /// The decoder takes it for other data than it is, and nothing notices.
    Miscorrected,
}

/// A sense of a page for a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Its read. None when that has ended without it: the attempt is void.
    pub read: Option<OpId>,
    /// The one before it, if that is under way too.
    pub earlier: Option<AttemptId>,
    pub step: Step,
    pub die: DieId,
    pub queue: QueueId,
    /// Attempts of its read before it: it is a retry if there are any.
    pub number: u16,
    /// Whether the page has been sensed before, for the controller or by the die itself.
    pub repeats: bool,
    /// With which references.
    pub v_ref: ReadReference,
    /// Its sense takes the RPT's tPRE, which is shorter than the default one. Known when it is sensed.
    pub reduced: bool,
    /// Every step has failed with the RPT's tPRE: again with the default one.
    pub t_pre_fallback: bool,
    /// How often the die has predicted a failure, and sensed the page again by itself.
    pub on_die_retries: u16,
    /// Known when it is sensed.
    pub fate: Fate,
    /// Its codewords that decoding will not correct, a bit each; all where no code says which.
    pub failed: u64,
    /// Bits a cell with which its page is to be decoded next, since the die has weighed what it has sensed with the
    /// best references; 0 where it has not.
    pub soft_bits: u8,
    /// Bytes of it that have crossed the bus.
    pub sent: u32,
    /// How long the die senses, and how long its decoding takes \[ns].
    pub took: u32,
    pub decoding: u32,
}

impl Attempt {
    /// The first one of a read.
    pub fn first(read: OpId, die: DieId, queue: QueueId) -> Attempt {
        Attempt {
            read: Some(read),
            earlier: None,
            step: Step::Queued,
            die,
            queue,
            number: 0,
            repeats: false,
            v_ref: ReadReference::Step(0),
            reduced: false,
            t_pre_fallback: false,
            on_die_retries: 0,
            fate: Fate::Corrected,
            failed: u64::MAX,
            soft_bits: 0,
            sent: 0,
            took: 0,
            decoding: 0,
        }
    }

    /// Whether planes can sense both in one command: first senses; or retries with the same references and timing.
    pub fn goes_with(&self, other: &Attempt) -> bool {
        let retries = (self.number > 0, other.number > 0);
        retries == (false, false)
            || retries == (true, true) && (self.v_ref, self.t_pre_fallback) == (other.v_ref, other.t_pre_fallback)
    }

    /// What its random draws are named by, among those of its read.
    pub fn draw(&self) -> u64 {
        // The die's own retries from the second on, beside the first and what the controller asks for.
        let again = u64::from(self.on_die_retries.saturating_sub(1)) << 32;
        again | u64::from(self.number) << 1 | u64::from(self.on_die_retries > 0)
    }
}

stored! {
    Read { newest, page, start, retries, in_slc, limited, likely_to_fail, shown, hasty, reduced }
    Shown { weight, hasty, corrected }
    Attempt { read, earlier, step, die, queue, number, repeats, v_ref, reduced, t_pre_fallback, on_die_retries, fate, failed, soft_bits, sent, took, decoding }
}

stored_enum! {
    Step {
        0 = Queued, 1 = Sensing, 2 = PageRegister, 3 = CacheRegister, 4 = Bus, 5 = WaitingForEcc, 6 = Decoding, 7 = Exhausted,
    }
    Fate { 0 = Corrected, 1 = Uncorrectable, 2 = Miscorrected, }
}
