//! The extension module `trueup._trueup` of the Python package `trueup`. Users import `trueup`, whose sources are in
//! `python/trueup`; `python/trueup/_trueup.pyi` declares what is defined here.
//!
//! | file | holds |
//! |---|---|
//! | `dataset` | `Dataset` and `open`: queries, plans and fields of a dataset |
//! | `block_cache` | `set_block_cache`: what was read from object stores, kept on this machine |
//! | `query` | `Query`, and how it is read from keyword arguments |
//! | `arguments` | values of arguments: days, texts, names, numbers of threads and seconds |
//! | `filter` | `col` and `Filter`: conditions from Python values |
//! | `partial` | `Split` and `Partial`: parts of a query, which run in any process |
//! | `events` | `EventReader`: events with their computed fields, as Arrow |
//! | `table` | `Table`, an answer, as Arrow and as Python values; `display` shows it |
//! | `versions` | `Version`, what was restated between versions, `expire` and `vacuum` |
//! | `forget` | `forget`, which removes the events of customers |
//! | `restore` | `restore`, which makes the content of an earlier version that of the newest one |
//! | `why` | `Why`: the events and the spend behind the numbers of one row |
//! | `field` | `Field`, an entry of the dictionary or a column of a dataset |
//! | `ingest` | `ingest` and `IngestReport`; `source` reads the inputs |
//! | `staged` | `begin_ingest`, `stage` and `StagedIngest`: an ingest that several processes run |
//! | `program` | `run_program`: the program `trueup`, which the package installs |
//! | `run` | runs work without the GIL until Python has a signal: `Interrupt` |
//! | `error` | the exceptions of `python/trueup/_errors.py`, from the errors of trueup |
//!
//! The crate has no unsafe code: that of Python's and of Arrow's C interfaces is in `pyo3` and `arrow-pyarrow`.

mod arguments;
mod block_cache;
mod dataset;
mod display;
mod error;
mod events;
mod field;
mod filter;
mod forget;
mod ingest;
mod partial;
mod program;
mod query;
mod restore;
mod run;
mod source;
mod staged;
mod table;
mod versions;
mod why;

/// The extension module.
#[pyo3::pymodule]
mod _trueup {
    #[pymodule_export]
    use super::block_cache::set_block_cache;
    #[pymodule_export]
    use super::dataset::{Dataset, open};
    #[pymodule_export]
    use super::events::EventReader;
    #[pymodule_export]
    use super::field::{Field, fields};
    #[pymodule_export]
    use super::filter::{Col, Filter, col};
    #[pymodule_export]
    use super::forget::{ForgetReport, forget};
    #[pymodule_export]
    use super::ingest::{IngestReport, RejectedRows, RowCounts, ingest};
    #[pymodule_export]
    use super::partial::{Partial, Split};
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::query::Query;
    #[pymodule_export]
    use super::restore::{RestoreReport, restore};
    #[pymodule_export]
    use super::run::Interrupt;
    #[pymodule_export]
    use super::staged::{StagePlan, Staged, StagedIngest, begin_ingest, part_of, stage};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::versions::{ExpireReport, FileCount, Version, expire, vacuum};
    #[pymodule_export]
    use super::why::Why;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
