//! Tables of runs as Parquet.

mod column;
mod parts;
mod tables;

pub use parts::{SCHEMA_VERSION, columns};

pub(crate) use parts::export;
