//! Parts that break: at a time, or by chance.

use nand::Layout;
use units::value::{Scalar, Value};
use units::{Fraction, PeCycles, Span};

use super::refusal::{Check, Refusal, refuse};

/// A number of a part, and how many the device has of its kind.
struct Numbered {
    /// The kind, in the plural.
    what: &'static str,
    number: u32,
    count: u32,
}

fn numbered(what: &'static str, number: u32, count: u32) -> Numbered {
    Numbered { what, number, count }
}

/// What breaks. Planes are counted over the whole device, die by die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every die of a channel.
    Channel(u32),
    /// Every plane of a die.
    Die(u32),
    /// A plane of the flash: none of its pages is read, programmed or erased any more.
    Plane(u32),
    /// A block of a plane, with its data.
    Block {
        /// Its plane.
        plane: u32,
        /// Its number there.
        block: u32,
    },
    /// Several blocks of a plane, drawn at random.
    Blocks {
        /// Their plane.
        plane: u32,
        /// How many.
        count: u32,
    },
    /// The next program of a die, on the first of its planes: its status says that it failed.
    Program(u32),
    /// The next erase of a die, in the same way.
    Erase(u32),
}

/// A part that breaks at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When, from the beginning of the workload.
    pub at: Span,
    /// What.
    pub part: Part,
}

impl Part {
    fn read(kind: &str, which: &str) -> Option<Part> {
        let pair = || {
            let (plane, number) = which.split_once(':')?;
            Some((plane.parse().ok()?, number.parse().ok()?))
        };
        Some(match kind {
            "channel" => Part::Channel(which.parse().ok()?),
            "die" => Part::Die(which.parse().ok()?),
            "plane" => Part::Plane(which.parse().ok()?),
            "block" => pair().map(|(plane, block)| Part::Block { plane, block })?,
            "blocks" => pair().map(|(plane, count)| Part::Blocks { plane, count })?,
            "program" => Part::Program(which.parse().ok()?),
            "erase" => Part::Erase(which.parse().ok()?),
            _ => return None,
        })
    }

    fn write(self) -> String {
        match self {
            Part::Channel(channel) => format!("channel {channel}"),
            Part::Die(die) => format!("die {die}"),
            Part::Plane(plane) => format!("plane {plane}"),
            Part::Block { plane, block } => format!("block {plane}:{block}"),
            Part::Blocks { plane, count } => format!("blocks {plane}:{count}"),
            Part::Program(die) => format!("program {die}"),
            Part::Erase(die) => format!("erase {die}"),
        }
    }

    /// The numbers in it, each with how many the device has of its kind.
    fn numbers(self, layout: &Layout) -> Vec<Numbered> {
        let planes = layout.dies * layout.flash_planes_per_die();
        match self {
            Part::Channel(channel) => vec![numbered("channels", channel, layout.channels)],
            Part::Die(die) | Part::Program(die) | Part::Erase(die) => vec![numbered("dies", die, layout.dies)],
            Part::Plane(plane) | Part::Blocks { plane, .. } => vec![numbered("planes", plane, planes)],
            Part::Block { plane, block } => {
                vec![numbered("planes", plane, planes), numbered("blocks in a plane", block, layout.blocks)]
            }
        }
    }
}

impl Value for Fault {
    fn expects() -> String {
        "a time and a part: \"10ms channel 1\", \"10ms die 3\", \"10ms plane 7\", \"10ms block 7:21\" (plane:block), \
         \"10ms blocks 7:4\" (plane:how many), \"10ms program 3\" or \"10ms erase 3\" (the next one of die 3)"
            .into()
    }
    fn read(scalar: &Scalar) -> Option<Fault> {
        let Scalar::Text(text) = scalar else { return None };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [at, kind, which] = words[..] else { return None };
        Some(Fault { at: Span::read(&Scalar::Text(at.to_owned()))?, part: Part::read(kind, which)? })
    }
    fn write(&self) -> Scalar {
        let at = match self.at.write() {
            Scalar::Text(text) => text,
            other => other.to_string(),
        };
        Scalar::Text(format!("{at} {}", self.part.write()))
    }
}

units::section! {
    /// Parts that break, at a time or by chance. Programs and erases that fail by chance are `wear.program_fail` and
    /// `wear.erase_fail`.
    pub struct FaultsConfig in "faults" {
        /// Parts that break at a time from the beginning of the workload: channel, die, plane, block, several blocks of
        /// a plane, or the next program or erase of a die.
        at: Vec<Fault> = Vec::new(),
        /// Probability, at each erase, that blocks of the plane break with their data (grown bad blocks).
        blocks: Fraction = Fraction(0.0),
        /// Blocks that break together then.
        burst: u32 = 1,
        /// Probability, at each erase, that the plane breaks.
        plane: Fraction = Fraction(0.0),
        /// Probability, at each erase, that the die breaks.
        die: Fraction = Fraction(0.0),
        /// Probability, at each erase, that the channel breaks.
        channel: Fraction = Fraction(0.0),
        /// P/E cycles of a block after which these probabilities, wear.program_fail and wear.erase_fail are twice as
        /// high, and after as many again three times; "none": wear does not change them.
        growth: Option<PeCycles> = None,
    }
}

impl FaultsConfig {
    /// Whether a part may break with data in it.
    pub fn break_parts(&self) -> bool {
        !self.at.is_empty() || self.chances().into_iter().any(|(_, share)| share.0 > 0.0)
    }

    /// The probabilities by key.
    pub(crate) fn chances(&self) -> [(&'static str, Fraction); 4] {
        [("blocks", self.blocks), ("plane", self.plane), ("die", self.die), ("channel", self.channel)]
    }

    /// A probability, of a block with this many cycles.
    #[inline]
    pub(crate) fn grown(&self, share: Fraction, pec: u32) -> f64 {
        match self.growth {
            None => share.0,
            Some(growth) => share.0 * (1.0 + f64::from(pec) / f64::from(growth.0)),
        }
    }
}

impl Check for FaultsConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        for fault in &self.at {
            for Numbered { what, number, count } in fault.part.numbers(layout) {
                if number >= count {
                    let problem = format!("says \"{}\", and there are {count} {what}", fault.part.write());
                    return refuse("at", problem, format!("{what} are numbered from 0 to {}", count - 1));
                }
            }
        }
        if self.burst == 0 {
            return refuse("burst", "is 0", "write how many blocks break together, such as 4");
        }
        if self.growth == Some(PeCycles(0)) {
            return refuse("growth", "is 0", "write the cycles after which failures are twice as likely, or \"none\"");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_as_they_are_read() {
        for text in [
            "10ms channel 1",
            "0ns die 3",
            "3us plane 7",
            "1s block 7:21",
            "1s blocks 7:4",
            "2h program 3",
            "2h erase 0",
        ] {
            let scalar = Scalar::Text(text.into());
            let fault = Fault::read(&scalar).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(Fault::read(&fault.write()), Some(fault), "{text}");
        }
        for text in ["", "10ms", "10ms die", "10 die 3", "10ms die 3 4", "10ms block 3", "10ms dice 3", "10ms die -1"] {
            assert_eq!(Fault::read(&Scalar::Text(text.into())), None, "{text}");
        }
    }
}
