//! `sameness`: the same seed gives the same rows; `shape`: the rows are valid; `bands`: the numbers are realistic.
//! `figures` counts what `bands` checks.

mod bands;
mod figures;
mod sameness;
mod shape;
