//! `cuebook` as a user runs it, on the built-in site, with the server as the oracle.

mod contract;
mod durability;
mod engines;
mod facade;
mod hostile;
mod identity;
mod login;
mod models;
mod moments;
mod planners;
mod scripts;
mod site;
mod tasks;
