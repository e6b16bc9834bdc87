//! Checks laws that hold for every answer: two queries are run, and their answers must be consistent.

mod accounts;
mod additivity;
mod execution;
mod figures;
mod filters;
mod identities;
mod limits;
mod question;
mod ratios;
mod shape;
mod spend;
mod sub_ranges;
mod tightness;

use proptest::prelude::ProptestConfig;

/// Returns half of the usual number of cases, because there are many laws. `PROPTEST_CASES` changes the usual number.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(2), ..usual }
}

/// Returns a quarter of the usual number of cases, for laws whose cases take long.
fn short() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(4), ..usual }
}
