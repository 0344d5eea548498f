//! The command line: flags and files to concrete layers to the controller.
fn main() {}
