//! What must hold of every answer, whatever the numbers are: the engine is asked twice, and the answers must fit
//! together.

mod accounts;
mod additivity;
mod asked;
mod execution;
mod figures;
mod filters;
mod identities;
mod limits;
mod ratios;
mod shape;
mod spend;
mod sub_ranges;
mod tightness;

use proptest::prelude::ProptestConfig;

/// Half of the usual number of cases, since there are many laws; `PROPTEST_CASES` says more.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(2), ..usual }
}

/// As few as where every case takes long.
fn short() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(4), ..usual }
}
