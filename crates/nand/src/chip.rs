//! The chip's timings and the commands it understands.

use units::{Ppn, Span};

use crate::geometry::{Layout, MAX_BITS, Refusal, refuse};

units::choices! {
    /// How the planes of a die take reads.
    pub enum PlaneReads {
        /// One plane senses at a time.
        Single = "single",
        /// Planes sense together, in one command, when their pages have the same number in their blocks.
        Lockstep = "lockstep",
        /// Every plane senses by itself, whatever the others do.
        Independent = "independent",
    }
}

units::choices! {
    /// How the planes of a die take programs.
    pub enum PlanePrograms {
        /// One plane is programmed at a time.
        Single = "single",
        /// Planes are programmed together when their next pages have the same number in their blocks.
        Lockstep = "lockstep",
    }
}

units::choices! {
    /// What one program command writes on a plane.
    pub enum ProgramUnit {
        /// One page.
        Page = "page",
        /// All pages of a wordline at once.
        Wordline = "wordline",
    }
}

units::choices! {
    /// In which order the wordlines of a block are programmed in two passes.
    pub enum PassOrder {
        /// Both passes of a wordline, then those of the next.
        Wordline = "wordline",
        /// The first pass of the next wordline, then the second of this one.
        Interleaved = "interleaved",
    }
}

units::section! {
    /// The chip: array timings and what its commands can do. tR, tPROG and tBERS are given as such, or
    /// follow from their phases.
    pub struct Chip in "chip" {
        /// tR: time to sense a page; one value, or one for each page of a wordline (LSB, CSB, MSB); "none" when
        /// `senses` gives it.
        t_read: Option<Vec<Span>> = Some(vec![Span::from_us(45)]),
        /// Senses that each page of a wordline takes, such as [2, 3, 2]; tR = senses x (t_pre + t_eval + t_disch).
        senses: Option<Vec<u32>> = None,
        /// tPRE: precharge of one sense; beside `t_read`, the part of it that is precharge (0: not known; where
        /// read.sensing needs it, 24/39 of the shortest tR, as in asplos21 Table 1: assumed).
        t_pre: Span = Span::ZERO,
        /// tEVAL: evaluation of one sense.
        t_eval: Span = Span::ZERO,
        /// tDISCH: discharge of one sense.
        t_disch: Span = Span::ZERO,
        /// tPROG: time to program one `program_unit`; one value, or where that is a page one for each page of a
        /// wordline (LSB, CSB, MSB), or one for each of its passes; "none" when `program_loops` gives it.
        t_prog: Option<Vec<Span>> = Some(vec![Span::from_us(1_200)]),
        /// Passes in which a wordline is programmed, such as 2 of QLC and PLC: each takes its data over the bus again,
        /// and a tPROG.
        program_passes: u32 = 1,
        /// Which pass follows the first of a wordline: its second (wordline), or the first of the next wordline, whose
        /// cells would disturb finer states (interleaved, "foggy-fine"), as long as there is data for one.
        pass_order: PassOrder = PassOrder::Wordline,
        /// Incremental-step programming loops; tPROG = loops x (t_program_pulse + t_program_verify). Where `t_prog` is
        /// given and programs are suspended: 8, a fifth of each its verify (assumed).
        program_loops: Option<u32> = None,
        /// Program phase of one loop.
        t_program_pulse: Span = Span::ZERO,
        /// Verify phase of one program loop.
        t_program_verify: Span = Span::ZERO,
        /// tBERS: time to erase a block; "none" when `erase_loops` gives it.
        t_bers: Option<Span> = Some(Span::from_us(3_500)),
        /// Incremental-step erase loops; tBERS = loops x (t_erase_pulse + t_erase_verify). Where `t_bers` is given and
        /// erases are suspended: 1, a fiftieth of it its verify, as in the preset asplos21 (assumed).
        erase_loops: Option<u32> = None,
        /// tEP: erase pulse of one loop.
        t_erase_pulse: Span = Span::ZERO,
        /// tVR: verify read of one erase loop.
        t_erase_verify: Span = Span::ZERO,
        /// What one program command writes on a plane: a page or a wordline.
        program_unit: ProgramUnit = ProgramUnit::Wordline,
        /// T_voltage_reset: time to reset or set the voltages of an operation, part of each of its phases (fast12 Table
        /// 1).
        t_voltage_reset: Span = Span(4_000),
        /// T_buffer: time to load the page buffer from the shadow buffer when a program goes on (fast12 Table 1).
        t_buffer: Span = Span(3_000),
        /// A shadow buffer keeps the data of a suspended program; otherwise it is sent again over the bus.
        shadow_buffer: bool = true,
        /// Errors per KiB that each suspension of a program adds to its pages (assumed: none; no measurement is
        /// public).
        suspended_program_errors: f64 = 0.0,
        /// P/E cycles' worth of wear that each suspension within an erase pulse adds, with erase.pulse (assumed: none).
        suspended_erase_wear: f64 = 0.0,
        /// tSET: SET FEATURE, which changes the timing of a die's senses (asplos21 Table 1).
        t_set: Span = Span(1_000),
        /// tRST: RESET of a die that senses (asplos21 Table 1).
        t_rst: Span = Span(5_000),
        /// The virtual chip whose cells decide what reads meet: one of `ssdlab characterize`, or a chip file; or a CSV
        /// file of measured steps (columns pec, months, steps, pages). "auto" is the virtual chip of the geometry's
        /// cells (slc, mlc, tlc48, qlc, plc); "none" has no errors.
        model: Option<String> = None,
        /// How the planes of a die take reads: single, lockstep or independent.
        plane_reads: PlaneReads = PlaneReads::Independent,
        /// How the planes of a die take programs: single or lockstep.
        plane_programs: PlanePrograms = PlanePrograms::Lockstep,
        /// A cache register takes a sensed page over, so that the plane senses on while it is transferred.
        cache_read: bool = true,
        /// A cache register takes the next program's data while a program runs.
        cache_program: bool = true,
        /// Reads of a block disturb its pages, as chip.model says; retries are reads as well.
        read_disturb: bool = false,
        /// How many times as much as the rest of its block a read disturbs the neighbours of its wordline, with
        /// read_disturb.
        neighbour_disturb: f64 = 1.0,
    }
}

/// Array times, worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    read: [Span; MAX_BITS],
    /// By page type, or by pass.
    program: [Span; MAX_BITS],
    /// Passes in which a unit is programmed.
    pub passes: u8,
    /// tBERS of one block.
    pub erase: Span,
}

impl Timings {
    /// Those of blocks that hold `bits` bits a cell, fewer than the chip's own: tR of every page or by page type, and
    /// tPROG of a program unit, which is programmed in one pass. The error names problem and remedy of tR.
    pub fn of_mode(bits: u32, read: &[Span], program: Span, erase: Span) -> Result<Timings, (String, String)> {
        let read = per_page("t_read", read, bits).map_err(|refused| (refused.problem, refused.remedy))?;
        Ok(Timings { read, program: [program; MAX_BITS], passes: 1, erase })
    }

    /// tR of a page, by page type.
    #[inline]
    pub fn read(&self, layout: &Layout, ppn: Ppn) -> Span {
        self.read[layout.page_type(ppn) as usize]
    }

    /// tR of a page by page type when tPRE is `less` shorter than by default, for `senses` of each type.
    /// Without them tPRE is that of the whole read.
    pub fn shorter(&self, kind: u32, senses: Option<&[u32]>, less: Span) -> Span {
        let count = senses.map_or(1, |of| of.get(kind as usize).or(of.first()).copied().unwrap_or(0));
        Span(self.read[kind as usize].0.saturating_sub(u64::from(count) * less.0))
    }

    /// tPROG of a pass of the program unit that a page is in.
    #[inline]
    pub fn program(&self, layout: &Layout, ppn: Ppn, pass: u8) -> Span {
        self.program[if self.passes > 1 { pass.into() } else { layout.page_type(ppn) as usize }]
    }

    /// The longest tPROG of any program unit, all its passes together.
    pub fn slowest_program(&self) -> Span {
        if self.passes > 1 {
            self.program[..self.passes.into()].iter().fold(Span::ZERO, |sum, pass| sum + *pass)
        } else {
            self.program.into_iter().max().unwrap_or_default()
        }
    }

    /// The mean tPROG of the program units of a wordline of this many bits a cell, all passes together.
    pub fn mean_program(&self, bits: u32) -> Span {
        if self.passes > 1 {
            return self.slowest_program();
        }
        let sum: u64 = self.program[..bits as usize].iter().map(|program| program.0).sum();
        Span(sum / u64::from(bits.max(1)))
    }

    /// The shortest tR of any page of this many bits a cell.
    pub fn fastest_read(&self, bits: u32) -> Span {
        self.read[..bits as usize].iter().copied().min().unwrap_or_default()
    }

    /// The mean tR of the pages of a wordline of this many bits a cell.
    pub fn mean_read(&self, bits: u32) -> Span {
        let sum: u64 = self.read[..bits as usize].iter().map(|read| read.0).sum();
        Span(sum / u64::from(bits.max(1)))
    }

    /// The longest tR of any page.
    pub fn slowest_read(&self) -> Span {
        self.read.into_iter().max().unwrap_or_default()
    }
}

impl Chip {
    /// Works the array times out. The error names key, problem and remedy.
    pub fn timings(&self, bits: u32) -> Result<Timings, Refusal> {
        let read = match (&self.t_read, &self.senses) {
            (Some(times), None) => per_page("t_read", times, bits)?,
            (None, Some(senses)) => {
                // asplos21 Eq. 1: tR = N_SENSE x (tPRE + tEVAL + tDISCH)
                let sense = [self.t_pre, self.t_eval, self.t_disch];
                per_page("senses", &senses.iter().map(|n| repeated(*n, &sense)).collect::<Vec<_>>(), bits)?
            }
            (None, None) => return missing("t_read", "senses"),
            (Some(_), Some(_)) => return twice("t_read", "senses"),
        };
        self.check_passes()?;
        self.check_disturb()?;
        self.check_suspended()?;
        // fast12 Table 1: T_w_total = N_w_cycle x T_w_cycle; electronics25 Eq. 2: tBERS = (tEP + tVR) x N_ISPE
        let pulse = [self.t_program_pulse, self.t_program_verify];
        let (program, passes) = match (&self.t_prog, self.program_loops) {
            (Some(times), None) => self.program_times(times, bits)?,
            (None, Some(loops)) => ([plausible("program_loops", repeated(loops, &pulse))?; MAX_BITS], 1),
            (None, None) => return missing("t_prog", "program_loops"),
            (Some(_), Some(_)) => return twice("t_prog", "program_loops"),
        };
        let erase_pulse = [self.t_erase_pulse, self.t_erase_verify];
        let erase = match (self.t_bers, self.erase_loops) {
            (Some(time), None) => plausible("t_bers", time)?,
            (None, Some(loops)) => plausible("erase_loops", repeated(loops, &erase_pulse))?,
            (None, None) => return missing("t_bers", "erase_loops"),
            (Some(_), Some(_)) => return twice("t_bers", "erase_loops"),
        };
        Ok(Timings { read, program, passes, erase })
    }

    /// tPROG by page type of pages that are programmed one by one, or by pass; and the passes.
    fn program_times(&self, times: &[Span], bits: u32) -> Result<([Span; MAX_BITS], u8), Refusal> {
        let passes = self.program_passes as usize;
        if passes == 1 && times.len() > 1 && self.program_unit == ProgramUnit::Wordline {
            let problem = format!("has {} values, and wordlines are programmed whole in one pass", times.len());
            let remedy = "write one value, or set chip.program_unit to \"page\", or chip.program_passes";
            return refuse("t_prog", problem, remedy);
        }
        if passes == 1 {
            return Ok((per_page("t_prog", times, bits)?, 1));
        }
        let times = if let [one] = times { &[*one; MAX_BITS][..passes] } else { times };
        if times.len() != passes {
            let problem = format!("has {} values, and there are {passes} passes", times.len());
            return refuse("t_prog", problem, "write one value for each, or one for all");
        }
        let mut by_pass = [Span::ZERO; MAX_BITS];
        for (pass, time) in by_pass.iter_mut().zip(times) {
            *pass = plausible("t_prog", *time)?;
        }
        Ok((by_pass, passes as u8))
    }

    /// Suspension costs what it costs, or nothing; and no command of a die takes for ever.
    fn check_suspended(&self) -> Result<(), Refusal> {
        for (key, time) in [
            ("t_voltage_reset", self.t_voltage_reset),
            ("t_buffer", self.t_buffer),
            ("t_set", self.t_set),
            ("t_rst", self.t_rst),
        ] {
            plausible(key, time)?;
        }
        for (key, cost, most, what) in [
            ("suspended_program_errors", self.suspended_program_errors, 1e3, "errors per KiB"),
            ("suspended_erase_wear", self.suspended_erase_wear, 1e3, "P/E cycles"),
        ] {
            if !(0.0..=most).contains(&cost) {
                return refuse(key, format!("is {cost}"), format!("write 0 to {most} {what}"));
            }
        }
        Ok(())
    }

    /// A neighbour is disturbed at least as much as the rest.
    fn check_disturb(&self) -> Result<(), Refusal> {
        if (1.0..=1e6).contains(&self.neighbour_disturb) {
            return Ok(());
        }
        let problem = format!("is {}", self.neighbour_disturb);
        refuse("neighbour_disturb", problem, "write 1 (as much as the rest of the block) to 1e6")
    }

    /// Passes are those of whole wordlines, whose times are known as a whole.
    fn check_passes(&self) -> Result<(), Refusal> {
        let problem = match (self.program_passes, self.program_unit, self.program_loops) {
            (0 | 5.., ..) => "and a wordline can be programmed in one to four",
            (2.., ProgramUnit::Page, _) => "and pages that are programmed one by one have one",
            (2.., _, Some(_)) => "and chip.program_loops gives the phases of one",
            _ => return Ok(()),
        };
        let remedy = "write 1, or 2 to 4 where chip.program_unit is \"wordline\" and chip.t_prog gives the times";
        refuse("program_passes", format!("is {}, {problem}", self.program_passes), remedy)
    }
}

/// The `chip.model` that is the virtual chip of the geometry's cells.
pub const AUTO: &str = "auto";

impl Chip {
    /// The chip model for cells of `bits` bits: a name or a file; none without errors.
    pub fn model_for(&self, bits: u32) -> Option<&str> {
        match self.model.as_deref() {
            Some(AUTO) => Some(Chip::of_cells(bits)),
            other => other,
        }
    }

    /// The virtual chip that stands for cells of `bits` bits.
    pub fn of_cells(bits: u32) -> &'static str {
        match bits {
            1 => "slc",
            2 => "mlc",
            3 => "tlc48",
            4 => "qlc",
            _ => "plc",
        }
    }
}

/// Longer operations cannot be meant; and sums of times stay far from overflow.
pub const LONGEST: Span = Span(10_000_000_000);

fn plausible(key: &'static str, span: Span) -> Result<Span, Refusal> {
    if span <= LONGEST {
        return Ok(span);
    }
    refuse(key, format!("makes {:.0} s", span.as_s()), format!("write at most {:.0} s", LONGEST.as_s()))
}

/// `n` times a sequence of phases, or the longest span there is.
fn repeated(n: u32, phases: &[Span]) -> Span {
    let once = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.0));
    Span(once.saturating_mul(u64::from(n)))
}

fn per_page(key: &'static str, times: &[Span], bits: u32) -> Result<[Span; MAX_BITS], Refusal> {
    for time in times {
        plausible(key, *time)?;
    }
    match times {
        [one] => Ok([*one; MAX_BITS]),
        many if many.len() == bits as usize => {
            let mut read = [Span::ZERO; MAX_BITS];
            read[..many.len()].copy_from_slice(many);
            Ok(read)
        }
        _ => refuse(
            key,
            format!("has {} values", times.len()),
            format!("write one value, or one for each of the {bits} pages of a wordline"),
        ),
    }
}

fn missing<T>(total: &'static str, parts: &str) -> Result<T, Refusal> {
    refuse(total, "is \"none\"", format!("give chip.{total} or chip.{parts}"))
}

fn twice<T>(total: &'static str, parts: &str) -> Result<T, Refusal> {
    refuse(total, format!("is given beside {parts}"), format!("set one of chip.{total} and chip.{parts} to \"none\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;

    #[test]
    fn phases_give_the_array_times() {
        let layout = Geometry::default().layout().unwrap();
        let chip = Chip {
            t_read: None,
            senses: Some(vec![2, 3, 2]),
            t_pre: Span::from_us(24),
            t_eval: Span::from_us(5),
            t_disch: Span::from_us(10),
            t_prog: None,
            program_loops: Some(5),
            t_program_pulse: Span::from_us(20),
            t_program_verify: Span::from_us(8),
            ..Chip::default()
        };
        let timings = chip.timings(3).unwrap();
        let read: Vec<Span> = (0..3).map(|page| timings.read(&layout, Ppn(page))).collect();
        assert_eq!(read, [78, 117, 78].map(Span::from_us));
        assert_eq!(timings.slowest_program(), Span::from_us(140));
        assert_eq!(timings.erase, Span::from_us(3_500));
    }

    #[test]
    fn pages_that_are_programmed_one_by_one_have_a_time_each() {
        let layout = Geometry::default().layout().unwrap();
        let times = [300, 600, 2_000].map(Span::from_us);
        let whole = Chip { t_prog: Some(times.to_vec()), ..Chip::default() };
        let Refusal { key, problem, remedy } = whole.timings(3).unwrap_err();
        assert_eq!((key, problem.as_str()), ("t_prog", "has 3 values, and wordlines are programmed whole in one pass"));
        assert!(remedy.contains("program_unit"), "{remedy}");
        let pages = Chip { program_unit: ProgramUnit::Page, ..whole };
        let timings = pages.timings(3).unwrap();
        let program: Vec<Span> = (0..6).map(|page| timings.program(&layout, Ppn(page), 0)).collect();
        assert_eq!(program, [times, times].concat());
        assert_eq!(timings.slowest_program(), times[2]);
        assert_eq!(pages.timings(2).unwrap_err().key, "t_prog");
    }

    #[test]
    fn wordlines_take_a_time_a_pass() {
        let layout = Geometry::default().layout().unwrap();
        let times = [500, 900].map(Span::from_us);
        let chip = Chip { t_prog: Some(times.to_vec()), program_passes: 2, ..Chip::default() };
        let timings = chip.timings(4).unwrap();
        assert_eq!([0, 1].map(|pass| timings.program(&layout, Ppn(7), pass)), times);
        assert_eq!(timings.slowest_program(), Span::from_us(1_400));
        let refused = |chip: Chip| chip.timings(4).unwrap_err().key;
        assert_eq!(refused(Chip { program_passes: 3, ..chip.clone() }), "t_prog");
        assert_eq!(refused(Chip { program_unit: ProgramUnit::Page, ..chip.clone() }), "program_passes");
        assert_eq!(refused(Chip { program_passes: 0, ..chip }), "program_passes");
    }

    #[test]
    fn no_time_is_longer_than_ten_seconds() {
        let refused = |chip: Chip| chip.timings(3).unwrap_err();
        let long = Span(LONGEST.0 + 1);
        for (key, chip) in [
            ("t_voltage_reset", Chip { t_voltage_reset: long, ..Chip::default() }),
            ("t_buffer", Chip { t_buffer: long, ..Chip::default() }),
            ("t_set", Chip { t_set: long, ..Chip::default() }),
            ("t_rst", Chip { t_rst: long, ..Chip::default() }),
            ("t_bers", Chip { t_bers: Some(long), ..Chip::default() }),
        ] {
            let Refusal { key: found, problem, remedy } = refused(chip);
            assert_eq!((found, problem.as_str(), remedy.as_str()), (key, "makes 10 s", "write at most 10 s"));
        }
        let longest = Chip { t_buffer: LONGEST, t_set: LONGEST, t_rst: LONGEST, ..Chip::default() };
        assert!(longest.timings(3).is_ok());
    }

    #[test]
    fn a_time_given_twice_or_never_is_refused() {
        assert_eq!(Chip { senses: Some(vec![1]), ..Chip::default() }.timings(3).unwrap_err().key, "t_read");
        assert_eq!(Chip { t_prog: None, ..Chip::default() }.timings(3).unwrap_err().key, "t_prog");
        assert_eq!(
            Chip { t_read: Some(vec![Span(1), Span(2)]), ..Chip::default() }.timings(3).unwrap_err().key,
            "t_read"
        );
    }
}
