//! Tables of runs as Parquet.

mod column;
mod episodes;
mod parts;
mod tables;
mod vector_row;
mod vectors;

pub use episodes::EpisodeRow;
pub use parts::{SCHEMA_VERSION, columns, episodes};

pub(crate) use parts::export;
pub(crate) use vectors::export as export_vectors;
