//! Typed requests. A request knows the names of fields, not the columns of tables.
//!
//! | file | holds |
//! |---|---|
//! | `events` | [`EventsQuery`], a whole request, and [`AccountFilter`] |
//! | `aggregated_query` | `AggregatedQuery`, what of a request decides the groups and their counts and sums |
//! | `cohort` | [`CohortWindow`], how much of the history of a lead a cohort counts |
//! | `earlier` | [`ComparisonRange`], with which a query is compared, and [`ComparedColumn`], what the answer shows |
//! | `interval` | [`DateRange`], and its sub-ranges by [`Interval`] |
//! | `named_range` | [`NamedRange`], such as `last-month`, and what [today](current_day) is |
//! | `sort` | [`SortKey`], a column to sort the answer by |
//! | `why` | [`WhyQuery`], a question about one row of an answer |
//! | `row_values`, `row_fault` | [`RowValues`], the values of a row as text; [`WhyRowFault`], why a row is refused |
//! | `limits` | [`FilterLimits`], the limits on the size of a request's filters |
//!
//! [`Attribution`] is in a file of the crate of its own, because columns are read by it. [`Filter`] and what belongs to
//! it are in the folder `filter` of the crate, because definitions use them, too.

mod aggregated_query;
mod cohort;
mod earlier;
mod events;
mod interval;
mod limits;
mod named_range;
mod row_fault;
mod row_values;
mod sort;
#[cfg(test)]
mod tests;
mod why;

pub use crate::attribution::{Attribution, UnknownAttribution};
pub use cohort::{CohortWindow, ParseWindowError};
pub use earlier::{ComparedColumn, ComparisonRange, ParseComparisonRangeError, TooEarly};
pub use events::{AccountFilter, EventsQuery};
pub use interval::{DateRange, Interval, UnknownInterval};
pub use limits::{FilterLimits, MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS};
pub use named_range::{NamedRange, ParseRangeError, RangeOutOfBounds, current_day};
pub use row_fault::WhyRowFault;
pub use row_values::RowValues;
pub use sort::SortKey;
pub use why::{LineOrder, WhyQuery};

pub use crate::filter::{
    ComparisonOperator, CompiledPatterns, Filter, FilterFault, MAX_PATTERN_BYTES, MAX_PATTERN_CHARS,
    MAX_PATTERNS_BYTES, Operand, Predicate, is_result_metric,
};

pub(crate) use aggregated_query::AggregatedQuery;
pub(crate) use events::ROW_TYPE;
pub(crate) use why::AnswerRow;
