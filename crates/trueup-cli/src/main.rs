//! The `trueup` program.
fn main() {}
