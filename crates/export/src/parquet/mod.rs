//! Tables of runs as Parquet.

mod column;
mod episodes;
mod parts;
mod tables;

pub use episodes::{EpisodeRow, episodes};
pub use parts::{SCHEMA_VERSION, columns};

pub(crate) use parts::export;
