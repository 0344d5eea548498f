//! One run under each main fault, F-01 to F-14. `cargo xtask soak --faults N` runs many, of every kind.

use std::time::Duration;

use anyhow::Result;
use cuebook_tests::command;
use cuebook_tests::faults::{Fault, Trials};

/// Runs one job under each fault; every one of them ends in time, says how, and leaves nothing behind.
fn each_ends(faults: &[Fault]) -> Result<()> {
    let cuebook = command()?.get_program().into();
    let usual = Duration::from_millis(2_500);
    let trials = Trials { cuebook, faults: faults.to_vec(), runs: faults.len(), seed: 7, jobs: 2, usual };
    let done = trials.run(|_| {})?;
    assert_eq!(done.len(), faults.len());
    let violations: Vec<&String> = done.iter().flat_map(|trial| &trial.violations).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    Ok(())
}

#[test]
fn f01_f02_f04_f06_a_run_ends_well_when_it_its_browser_or_link_is_killed() -> Result<()> {
    each_ends(&[Fault::BrowserKilled, Fault::RendererKilled, Fault::LinkCut, Fault::Killed])
}

#[test]
fn f08_f09_f10_a_run_ends_well_without_disk_or_files_and_on_signals() -> Result<()> {
    each_ends(&[Fault::DiskFull, Fault::NoFiles, Fault::Interrupted, Fault::Suspended])
}

#[test]
fn f03_f12_f13_f14_a_run_ends_well_when_its_tab_model_or_server_fails() -> Result<()> {
    each_ends(&[Fault::TabClosed, Fault::ModelMalformed, Fault::ModelReset, Fault::PageOffline])
}
