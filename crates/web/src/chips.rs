//! The virtual chip: how its cells lie, how often its pages are read again, and how long its blocks live.

use nand::VirtualChip;
use nand::characterize::{Condition, Population, retry_steps};
use nand::model::cells::Shape;
use nand::model::erasing::BlockErase;
use serde_json::{Value, json};
use ssd::lifetime::{After, EraseScheme, Eraser, cycle};
use ssd::run::{parse, refused};
use units::ConfigError;

use crate::question::Question;

/// Blocks that a page measures at most: a tenth of the papers' 19,200 (assumed: two seconds).
const MOST_BLOCKS: u64 = 1920;

fn chip_of(question: &Question) -> Result<VirtualChip, ConfigError> {
    VirtualChip::preset(question.word("chip").unwrap_or("tlc48"))
}

/// The conditions of a question: `pec`, `months` and `celsius`.
fn condition(question: &Question) -> Result<Condition, ConfigError> {
    Ok(Condition {
        x: within(question, "pec", 1e6)? / 1e3,
        months: within(question, "months", 1e4)?,
        celsius: question.number("celsius").unwrap_or(30.0),
    })
}

fn within(question: &Question, name: &str, most: f64) -> Result<f64, ConfigError> {
    let value = question.needs(name)?;
    if !(0.0..=most).contains(&value) {
        return Err(refused(name, &format!("is {value}"), &format!("write 0 to {most}")));
    }
    Ok(value)
}

fn population(question: &Question) -> Result<Population, ConfigError> {
    let chips = question.count("chips").unwrap_or(4);
    let blocks = question.count("blocks").unwrap_or(8);
    if chips == 0 || blocks == 0 || chips.saturating_mul(blocks) > MOST_BLOCKS {
        let remedy = format!("choose 1 to {MOST_BLOCKS} blocks in all, or use `ssdlab chip`");
        return Err(refused("chips", &format!("are {chips} of {blocks} blocks"), &remedy));
    }
    Ok(Population { chips, blocks, seed: question.count("seed").unwrap_or(1) })
}

/// How the cells of a page lie that is `log_factor` worse than the typical one: states, references, and errors in each
/// step of the retry table. Voltages are in half pitches between states.
pub(crate) fn chip(question: &Question) -> Result<Value, ConfigError> {
    let chip = chip_of(question)?;
    let cells = &chip.cells;
    let Condition { x, months, celsius } = condition(question)?;
    let factor = libm::exp(question.number("log_factor").unwrap_or(0.0));
    let reads = question.number("reads").unwrap_or(0.0);
    let shape = cells.shape(x, months, reads, factor);
    let fresh = cells.shape(0.0, 0.0, 0.0, factor);
    let states = |shape: Shape| (0..cells.states()).map(|state| cells.mean(shape, state)).collect::<Vec<f64>>();
    let references = |offset: f64| (0..cells.states() - 1).map(|at| cells.reference(at, offset)).collect::<Vec<f64>>();
    let cold = cells.cold(celsius);
    let pages: Vec<Value> = (0..cells.bits)
        .map(|page| {
            let steps = (0..=cells.retry_steps)
                .map(|step| cells.errors(shape, page, f64::from(step) * cells.retry_step) + cold)
                .collect::<Vec<f64>>();
            json!({
                "boundaries": cells.boundaries(page),
                "errors": steps,
                "least": cells.least_errors(shape, page) + cold,
            })
        })
        .collect();
    Ok(json!({
        "about": chip.about,
        "bits": cells.bits,
        "capability": cells.capability,
        "states": states(shape),
        "width": shape.width,
        "fresh": { "states": states(fresh), "width": fresh.width },
        "shift": shape.shift,
        "references": references(0.0),
        "best": references(shape.shift),
        "retry_step": cells.retry_step,
        "pages": pages,
        "steps": (0..=cells.retry_steps).map(|step| references(f64::from(step) * cells.retry_step)).collect::<Vec<_>>(),
    }))
}

/// Pages by retry steps, under each of `months` at the same wear and temperature.
pub(crate) fn retries(question: &Question) -> Result<Value, ConfigError> {
    let (chip, population) = (chip_of(question)?, population(question)?);
    let x = within(question, "pec", 1e6)? / 1e3;
    let celsius = question.number("celsius").unwrap_or(30.0);
    let conditions: Vec<Condition> =
        question.numbers("ages").into_iter().map(|months| Condition { x, months, celsius }).collect();
    let steps = retry_steps(&chip, population, &conditions, 1, &|_| {});
    let row = |(at, steps): (&Condition, &nand::characterize::Steps)| json!({ "months": at.months, "mean": steps.mean(), "fewest": steps.fewest(), "most": steps.most(), "pages": steps.pages });
    Ok(conditions.iter().zip(&steps).map(row).collect())
}

/// Blocks under an erase scheme (`pulse`, `margin`, `voltage`) every `step` cycles up to `last`.
pub(crate) fn lifetime(question: &Question) -> Result<Value, ConfigError> {
    let (chip, Population { chips, blocks, seed }) = (chip_of(question)?, population(question)?);
    let choice = |name: &str, default: &'static str| question.word(name).unwrap_or(default).to_owned();
    let scheme = EraseScheme {
        pulses: parse("pulse", &choice("pulse", "ispe"))?,
        margin: parse("margin", &choice("margin", "none"))?,
        voltage: parse("voltage", &choice("voltage", "nominal"))?,
        mispredictions: question.number("mispredictions").unwrap_or(0.0).clamp(0.0, 1.0),
    };
    let erasing = &chip.erasing;
    let requirement = question.number("requirement").unwrap_or(erasing.requirement);
    let (step, last) = (question.count("step").unwrap_or(250), question.count("last").unwrap_or(8000));
    if step == 0 || last > 100_000 || requirement <= 0.0 {
        let remedy = "write a step of 1 or more, 100000 cycles at most, and a positive requirement";
        return Err(refused("lifetime", &format!("asks for {last} cycles by {step}, {requirement} errors"), remedy));
    }
    let places = (0..chips).flat_map(|chip| (0..blocks).map(move |block| (chip, block)));
    let blocks: Vec<BlockErase> = places.map(|(chip, block)| erasing.block(seed, chip, block)).collect();
    let found = cycle(&Eraser::new(erasing, scheme, requirement), &blocks, (step as u32, last as u32), seed);
    let row = |of: &After| {
        json!({
            "pec": of.pec, "m_rber": of.mean, "m_rber_max": of.most, "loops": of.loops, "within_two": of.within_two,
            "erase_ms": of.time / 1e6, "failed": of.failed,
        })
    };
    Ok(json!({ "requirement": requirement, "rows": found.iter().map(row).collect::<Vec<_>>() }))
}
