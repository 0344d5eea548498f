//! Tests of the plans that sentences result in on pages.

mod choosing;
mod clicking;
mod ending;
mod fixture;
mod looping;
mod properties;
mod reading;
mod typing;
mod wild;
