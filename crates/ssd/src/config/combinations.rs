//! What sections must not say together.

use nand::{Layout, PassOrder, PlanePrograms, ProgramUnit, Timings};
use schemes::{Pacing, SuspendErase, SuspendProgram};
use units::{Bytes, Span};

use super::Config;
use super::ftl::{Allocation, MappedBy};
use super::mapping::{MapTable, Sharing};
use super::refusal::{Refusal, refuse};

/// Checks sections that are each possible against one another.
pub(super) fn check(config: &Config, layout: &Layout, timings: &Timings) -> Result<(), Refusal> {
    programs_fill_blocks(config, layout)?;
    buffer_holds_a_program(config, layout)?;
    refresh_keeps_up(config, layout, timings)?;
    parity_is_over_dies(config, layout)?;
    map_cache_has_room(config)?;
    relocated_data_can_stay_apart(config)?;
    superblocks_are_programmed_together(config)?;
    whole_pages_are_copied_back(config, layout)?;
    passes_have_their_data(config, timings)?;
    passes_can_be_interleaved(config, layout)?;
    policies_have_something_to_stand_in_for(config)?;
    reclaim_comes_after_the_start(config)?;
    drive_at_rest_is_not_throttled(config)?;
    super::fast::check(config)?;
    cycles_before_the_run_are_played(config)
}

/// Checks what only matters to a drive whose reads can fail.
pub(super) fn check_modelled(config: &Config, timings: &Timings) -> Result<(), Refusal> {
    // Of reads that can fail each sense and each decoding is kept in 32 bits of nanoseconds.
    for (key, span) in [
        ("chip.t_read", timings.slowest_read()),
        ("ecc.t_decode", config.ecc.t_decode),
        ("ecc.t_failed", config.ecc.t_failed.unwrap_or_default()),
        ("ecc.t_retried", config.ecc.t_retried.unwrap_or_default()),
        ("read.t_pred", config.read.t_pred),
    ] {
        if span > Span::from_us(200_000) {
            let problem = format!("is {:.3} s", span.as_s());
            return refuse(key, problem, "with chip.model it may be 0.2 s at most");
        }
    }
    Ok(())
}

fn reclaim_comes_after_the_start(config: &Config) -> Result<(), Refusal> {
    match config.refresh.reads {
        Some(limit) if config.age.reads >= limit => {
            let problem = format!("is {}: blocks with this many reads have been relocated before", config.age.reads);
            refuse("age.reads", problem, format!("stay below the {limit} of refresh.reads"))
        }
        _ => Ok(()),
    }
}

fn drive_at_rest_is_not_throttled(config: &Config) -> Result<(), Refusal> {
    let (thermal, rest) = (&config.thermal, config.thermal.at_rest(config.energy.idle_mw).0);
    let ends = thermal.light.0 - thermal.hysteresis;
    if thermal.resistance.is_some() && rest >= ends {
        let problem =
            format!("is {} C, and its throttling ends at {ends} C: a drive at rest has {rest} C", thermal.light.0);
        return refuse("thermal.light", problem, "write a higher one, or lower thermal.ambient or energy.idle_mw");
    }
    Ok(())
}

fn programs_fill_blocks(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    if config.chip.program_unit == ProgramUnit::Wordline && !layout.flash_pages().is_multiple_of(layout.bits) {
        let problem = format!("is {}, not a multiple of the {} pages of a wordline", layout.flash_pages(), layout.bits);
        return refuse("geometry.pages", problem, "change it, or set chip.program_unit to \"page\"");
    }
    Ok(())
}

fn buffer_holds_a_program(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    let pages = config.unit_pages(layout).max(config.mapping.unit_of(layout));
    if config.buffer.slots(layout) < pages.into() {
        let need = Bytes(layout.page_size.0 * u64::from(pages));
        let remedy = format!("it must hold one program unit and one unit of the map: at least {need}");
        return refuse("buffer.size", format!("is {}", config.buffer.size), remedy);
    }
    Ok(())
}

/// A chip must be able to rewrite itself in half a period, one plane after another.
fn refresh_keeps_up(config: &Config, layout: &Layout, timings: &Timings) -> Result<(), Refusal> {
    let Some(period) = config.refresh.period else { return Ok(()) };
    let programs = u64::from(layout.pages / config.unit_pages(layout));
    let reads = u64::from(layout.flash_pages()) * u64::from(layout.stripe);
    let times = |span: Span, count: u64| span.0.saturating_mul(count);
    let block = times(timings.slowest_program(), programs).saturating_add(times(timings.slowest_read(), reads));
    let block = Span(block.saturating_add(timings.erase.0));
    let blocks = u64::from(layout.blocks) * u64::from(layout.planes_per_die) * u64::from(layout.dies_per_chip);
    let shortest = Span::from_us(100_000).max(Span(times(block, 2 * blocks)));
    if period < shortest {
        let (period, shortest) = (period.as_s(), shortest.as_s());
        let problem = format!("is {period:.3} s, and refreshing every block of a chip takes half of {shortest:.3} s");
        return refuse("refresh.period", problem, "write a longer period, or \"none\"");
    }
    Ok(())
}

fn superblocks_are_programmed_together(config: &Config) -> Result<(), Refusal> {
    if config.ftl.allocation == Allocation::Plane {
        return Ok(());
    }
    if config.chip.plane_programs == PlanePrograms::Single {
        let problem = "fills all planes of a die at once, and they are programmed one at a time";
        return refuse("ftl.allocation", problem, "write \"plane\", or set chip.plane_programs to \"lockstep\"");
    }
    Ok(())
}

fn parity_is_over_dies(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    let Some(wide) = config.ftl.raid.wide() else { return Ok(()) };
    if wide > layout.dies {
        let problem = format!("puts each of {wide} pages on a die of its own, and there are {}", layout.dies);
        return refuse("ftl.raid", problem, "write fewer pages, or give the device more dies");
    }
    let sees = "relocates data that the controller does not see, and parity is worked out there";
    let reasons = [
        ("gc.copyback", config.gc.copyback, sees.to_owned(), "set it to false"),
        ("slc.fold", config.copies_back() && !config.gc.copyback, sees.to_owned(), "set it to \"controller\""),
    ];
    match reasons.into_iter().find(|(_, is_so, ..)| *is_so) {
        Some((key, _, problem, remedy)) => refuse(key, problem, format!("{remedy}, or set ftl.raid to \"none\"")),
        None => Ok(()),
    }
}

fn whole_pages_are_copied_back(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    if config.gc.copyback && layout.shared() > 1 {
        let problem = format!("moves whole pages, of which each holds {} units of the map", layout.shared());
        return refuse("gc.copyback", problem, "set it to false, or mapping.unit to \"page\"");
    }
    Ok(())
}

fn passes_have_their_data(config: &Config, timings: &Timings) -> Result<(), Refusal> {
    if config.gc.copyback && timings.passes > 1 {
        let problem =
            format!("is true, and each of the {} passes of a program takes its data over the bus", timings.passes);
        return refuse("gc.copyback", problem, "set it to false, or chip.program_passes to 1");
    }
    Ok(())
}

/// A pass follows that of the next wordline of all its planes.
fn passes_can_be_interleaved(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    let chip = &config.chip;
    if chip.pass_order == PassOrder::Wordline || chip.program_passes == 1 {
        return Ok(());
    }
    if chip.program_passes > 2 {
        let problem = format!("is {}, and chip.pass_order is interleaved, which is of two passes", chip.program_passes);
        return refuse("chip.program_passes", problem, "write 2, or set chip.pass_order to \"wordline\"");
    }
    if layout.planes_per_die > 1 && chip.plane_programs == PlanePrograms::Lockstep {
        let problem = "is interleaved, and planes that are programmed together may be at different wordlines";
        let remedy = "set ftl.allocation to \"superblock\", or this to \"wordline\"";
        return refuse("chip.pass_order", problem, remedy);
    }
    Ok(())
}

fn relocated_data_can_stay_apart(config: &Config) -> Result<(), Refusal> {
    if config.ftl.persistent_handles() == 0 {
        return Ok(());
    }
    if config.ftl.streams != 1 {
        return Ok(());
    }
    let problem = "is persistent, and with ftl.streams = 1 relocated data shares a block with what the host writes";
    refuse("ftl.isolation", problem, "set ftl.streams to 2")
}

fn map_cache_has_room(config: &Config) -> Result<(), Refusal> {
    let mapping = &config.mapping;
    let parts = match mapping.sharing {
        Sharing::Shared => 1,
        Sharing::Partitioned => u64::from(config.host.queues) + 1,
    };
    if mapping.table == MapTable::Cached && mapping.cache.0 < mapping.entry_group.0 * parts {
        let problem = format!(
            "is {}, and each of its {parts} parts must hold an entry group of {}",
            mapping.cache, mapping.entry_group
        );
        return refuse("mapping.cache", problem, "make it larger, or mapping.entry_group smaller");
    }
    Ok(())
}

fn policies_have_something_to_stand_in_for(config: &Config) -> Result<(), Refusal> {
    if config.policies.ftl.is_some() && config.ftl.mapping == MappedBy::Zoned {
        let remedy = "leave the policy out, or set it to \"page\": the host of zones places its data by itself";
        return refuse("ftl.mapping", "is \"zoned\", and an FTL of one's own is given", remedy);
    }
    if config.policies.ftl.is_some() && config.policies.victim.is_some() {
        let remedy = "leave one out: an FTL says itself which block is reclaimed";
        return refuse("policies.victim", "is given beside policies.ftl", remedy);
    }
    if config.policies.start.is_some() && !config.read.start.tracks() {
        let problem = format!("is \"{}\", and a policy is given for it", config.read.start.word());
        let remedy = "set it to the choice that the policy stands in for: \"tracked\", \"patrolled\" or \"recorded\"";
        return refuse("read.start", problem, remedy);
    }
    let (policies, schedule) = (&config.policies, &config.schedule);
    let programs = policies.suspend_program.is_some() && schedule.suspend_program == SuspendProgram::None;
    let erases = policies.suspend_erase.is_some() && schedule.suspend_erase == SuspendErase::None;
    for (given, key, choice) in [
        (programs, "schedule.suspend_program", "inter-phase"),
        (erases, "schedule.suspend_erase", "pulse-boundary"),
        (policies.pacing.is_some() && config.gc.pacing == Pacing::None, "gc.pacing", "token"),
    ] {
        if given {
            let remedy = format!("set it to the choice that the policy stands in for, such as \"{choice}\"");
            return refuse(key, "is \"none\", and a policy is given for it", remedy);
        }
    }
    Ok(())
}

fn cycles_before_the_run_are_played(config: &Config) -> Result<(), Refusal> {
    let pec = config.age.pec.0;
    if config.erase.pulse.is_some() && pec > 100_000 {
        let problem = format!("is {pec}, and with erase.pulse the erases of every cycle are worked out");
        return refuse("age.pec", problem, "write at most 100000");
    }
    Ok(())
}
