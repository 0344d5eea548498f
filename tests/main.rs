//! End-to-end and swap tests. One binary; every test brings its own site, browser and folder.

mod e2e;
mod swap;
