//! `cuebook` as a user runs it, on the built-in site, with the server as the oracle.

mod cases;
mod consents;
mod contract;
mod drift;
mod durability;
mod egress;
mod engines;
mod evaluation;
mod export;
mod facade;
mod faults;
mod gate;
mod hostile;
mod html_report;
mod identity;
mod login;
mod minimize;
mod models;
mod moments;
mod offline;
mod planners;
#[cfg(unix)]
mod processes;
mod progress;
mod questions;
mod repairs;
mod replay;
mod rungs;
mod scripts;
mod secrets;
mod sharing;
mod site;
mod stats;
mod suites;
mod tasks;
mod time_limits;
