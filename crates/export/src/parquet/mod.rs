//! Tables of runs as Parquet.

mod column;
mod episodes;
mod parts;
mod tables;

pub use episodes::EpisodeRow;
pub use parts::{SCHEMA_VERSION, columns, episodes};

pub(crate) use parts::export;
