//! The extension module `ssdlab._core`: conversions between Python and the workspace's crates, nothing else.

// Its docstrings are read as Python's: `[ns]` is a unit there, and a backslash before it would show.
#![allow(rustdoc::broken_intra_doc_links)]

mod chip;
mod device;
mod ecc;
mod error;
mod media;
mod policies;
mod serve;
mod simulation;
mod tables;
mod tier;
mod trace;

use error::{InputError, SimulationError};
use pyo3::prelude::*;

/// ssdlab's compiled core.
/// What is kept in memory of states that runs begin in (assumed: some twenty states of the papers' drives after a load;
/// a drive of a terabyte that has been written all over has half as much).
const KEPT_WARMED: units::Bytes = units::Bytes(1 << 30);

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // Runs of a process, such as a sweep's, that begin with the same load on the same FTL play it once.
    ssd::run::keep_warmed(KEPT_WARMED);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("RESULTS_VERSION", ssd::RESULTS_VERSION)?;
    module.add("EPT_RANGES", nand::ept::RANGES)?;
    module.add("EPT_FIRST", nand::ept::FIRST)?;
    module.add("ECC_ITERATIONS", ::ecc::decoder::ITERATIONS)?;
    module.add("ECC_BITS", ::ecc::code::BITS)?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<chip::Chip>()?;
    module.add("POLICIES", ssd::policies::Policies::AXES)?;
    module.add_class::<policies::Blocks>()?;
    module.add_class::<policies::Candidate>()?;
    module.add_class::<policies::DriveLayout>()?;
    module.add_class::<policies::Address>()?;
    module.add_class::<policies::FirstSense>()?;
    module.add_class::<policies::Failed>()?;
    module.add_class::<policies::InPhase>()?;
    module.add_class::<policies::Collection>()?;
    module.add_class::<device::Device>()?;
    module.add_class::<media::Media>()?;
    module.add_class::<tier::Tier>()?;
    module.add_class::<serve::Server>()?;
    module.add_class::<serve::Session>()?;
    module.add_function(wrap_pyfunction!(device::checkpoint_check, module)?)?;
    module.add_function(wrap_pyfunction!(tables::devices, module)?)?;
    module.add_function(wrap_pyfunction!(tables::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(tables::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(tables::formats, module)?)?;
    module.add_function(wrap_pyfunction!(tables::schema, module)?)?;
    module.add_function(wrap_pyfunction!(tables::run_options, module)?)?;
    module.add_function(wrap_pyfunction!(tables::described_device, module)?)?;
    module.add_function(wrap_pyfunction!(tables::device_files, module)?)?;
    module.add_function(wrap_pyfunction!(tables::drive_files, module)?)?;
    module.add_function(wrap_pyfunction!(tables::text_in, module)?)?;
    module.add_function(wrap_pyfunction!(tables::columns, module)?)?;
    module.add_function(wrap_pyfunction!(tables::warnings, module)?)?;
    module.add_function(wrap_pyfunction!(ecc::ecc_simulate, module)?)?;
    module.add_function(wrap_pyfunction!(ecc::ecc_expected_weight, module)?)?;
    module.add_function(wrap_pyfunction!(ecc::ecc_rearranged_differs, module)?)?;
    module.add_function(wrap_pyfunction!(trace::convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace::split, module)?)?;
    module.add_function(wrap_pyfunction!(trace::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(trace::extent, module)?)?;
    Ok(())
}
