//! The tools, one file each.

pub(crate) mod benchmarks;
pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod find_fields;
pub(crate) mod find_values;
pub(crate) mod insights;
pub(crate) mod overview;
pub(crate) mod query;
pub(crate) mod what_changed;
pub(crate) mod why;
