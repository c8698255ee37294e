//! How a configuration is refused: the key, what is wrong with its value, and what to write instead.

use nand::Layout;
use nand::chip::LONGEST;
use units::section::Section;
use units::{ConfigError, Span};

pub(super) use nand::geometry::Refusal;

/// A section that checks its own keys.
pub(super) trait Check: Section {
    /// Refuses what no device of this layout can have, whatever the other sections say.
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Refuses a key.
pub(super) fn refuse<T>(
    key: &'static str,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal::of(key, problem, remedy))
}

/// Refuses keys that are 0.
pub(super) fn positive(keys: &[(&'static str, u64)]) -> Result<(), Refusal> {
    match keys.iter().find(|(_, value)| *value == 0) {
        Some((key, _)) => refuse(key, "is 0", "write a positive value"),
        None => Ok(()),
    }
}

/// Refuses keys by which a page takes too long.
pub(super) fn not_too_long(keys: &[(&'static str, Span)]) -> Result<(), Refusal> {
    match keys.iter().find(|(_, span)| *span > LONGEST) {
        Some((key, span)) => {
            let remedy = format!("a page may take {:.0} s at most", LONGEST.as_s());
            refuse(key, format!("makes {:.0} s a page", span.as_s()), remedy)
        }
        None => Ok(()),
    }
}

/// A section's refusal as the error of a device.
pub(super) fn in_section(section: &str) -> impl Fn(Refusal) -> ConfigError {
    move |refusal| device_error(format!("{section}.{}", refusal.key), refusal)
}

/// The refusal of a key that is given with its section, as the error of a device.
pub(super) fn dotted(refusal: Refusal) -> ConfigError {
    device_error(refusal.key.into(), refusal)
}

fn device_error(key: String, Refusal { problem, remedy, .. }: Refusal) -> ConfigError {
    ConfigError { origin: "device".into(), line: None, key: Some(key), problem, remedy }
}
