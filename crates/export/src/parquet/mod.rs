//! Tables of runs as Parquet.

mod column;
mod counted;
mod episodes;
mod parts;
mod tables;
mod vector_row;
mod vectors;

pub use counted::ExportedTables;
pub use episodes::EpisodeRow;
pub use parts::{SCHEMA_VERSION, columns, episodes};

pub(crate) use parts::export;
pub(crate) use vectors::export as export_vectors;
