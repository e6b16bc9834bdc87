//! What may be asked: typed requests that know names, not columns.

mod bounds;
mod check;
mod events;
mod filter;
mod interval;
mod pattern;

pub use bounds::{FilterLimits, MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS};
pub use check::{FilterFault, is_result_metric};
pub(crate) use check::{NumberPredicate, TextPredicate};
pub use events::{AccountFilter, EventsQuery};
pub use filter::{Comparison, Filter, Operand, Predicate};
pub use interval::{DateRange, Interval, UnknownInterval};
pub use pattern::{CompiledPatterns, MAX_PATTERN_BYTES, MAX_PATTERN_CHARS, MAX_PATTERNS_BYTES};
