//! Typed requests. A request knows the names of fields, not the columns of tables.
//!
//! | file | holds |
//! |---|---|
//! | `events` | [`EventsQuery`], a whole request, and [`AccountFilter`] |
//! | `cohort` | [`Within`], how much of the history of a lead a cohort counts |
//! | `earlier` | [`Earlier`], the range that a query is compared with, and [`ComparedColumn`], what the answer shows |
//! | `interval` | [`DateRange`], and its sub-ranges by [`Interval`] |
//! | `named_range` | [`NamedRange`], such as `last-month`, and what [today](current_day) is |
//! | `sort` | [`SortKey`], a column to sort the answer by |
//! | `why` | [`WhyQuery`], a question about one row of an answer, and [`RowFault`], why it is refused |
//! | `row_values` | [`RowValues`], the values of a row as text |
//! | `filter` | [`Filter`], a condition on fields, and [`FilterFault`], the reason why one is refused |
//! | `predicate` | compiled predicates, and [`CompiledPatterns`], the regular expressions of a request |
//! | `limits` | [`FilterLimits`], the limits on the size of a request's filters |

mod cohort;
mod earlier;
mod events;
mod filter;
mod interval;
mod limits;
mod named_range;
mod predicate;
mod row_values;
mod sort;
#[cfg(test)]
mod tests;
mod why;

pub use cohort::{NotAWindow, Within};
pub use earlier::{ComparedColumn, Earlier, NotEarlier, TooEarly};
pub use events::{AccountFilter, EventsQuery};
pub use filter::{Comparison, Filter, FilterFault, Operand, Predicate};
pub use interval::{DateRange, Interval, UnknownInterval};
pub use limits::{FilterLimits, MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS};
pub use named_range::{NamedRange, NotARange, RangeOutOfBounds, current_day};
pub use predicate::{CompiledPatterns, MAX_PATTERN_BYTES, MAX_PATTERN_CHARS, MAX_PATTERNS_BYTES, is_result_metric};
pub use row_values::RowValues;
pub use sort::SortKey;
pub use why::{LineOrder, RowFault, WhyQuery};

pub(crate) use predicate::{CompiledPattern, NumberPredicate, TextPredicate, decimal_number};
pub(crate) use why::AnswerRow;
