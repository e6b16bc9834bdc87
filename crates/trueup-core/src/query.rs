//! Typed requests. A request knows the names of fields, not the columns of tables.
//!
//! | file | holds |
//! |---|---|
//! | `events` | [`EventsQuery`], a whole request, and [`AccountFilter`] |
//! | `interval` | [`DateRange`], and its sub-ranges by [`Interval`] |
//! | `filter` | [`Filter`], a condition on fields, and [`FilterFault`], the reason why one is refused |
//! | `pattern` | [`CompiledPatterns`], the regular expressions of a request |
//! | `predicate` | predicates on numbers and on texts, checked and compiled |
//! | `limits` | [`FilterLimits`], the limits on the size of a request's filters |

mod events;
mod filter;
mod interval;
mod limits;
mod pattern;
mod predicate;

pub use events::{AccountFilter, EventsQuery};
pub use filter::{Comparison, Filter, FilterFault, Operand, Predicate};
pub use interval::{DateRange, Interval, UnknownInterval};
pub use limits::{FilterLimits, MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS};
pub use pattern::{CompiledPatterns, MAX_PATTERN_BYTES, MAX_PATTERN_CHARS, MAX_PATTERNS_BYTES};
pub use predicate::is_result_metric;

pub(crate) use predicate::{NumberPredicate, TextPredicate};
