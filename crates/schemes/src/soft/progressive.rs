//! Finer only as needed.

pub(super) fn bits(known: u8, softly: bool) -> Option<u8> {
    if softly { (known < 3).then_some(known + 1) } else { Some(2) }
}
