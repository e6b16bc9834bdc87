//! What may be asked: typed requests that know names, not columns.

mod bounds;
mod check;
mod events;
mod filter;
mod interval;
mod pattern;

pub use bounds::{Bounds, MAX_DEPTH, MAX_OPERANDS};
pub use check::{FilterFault, is_finished};
pub(crate) use check::{NumberTest, TextTest};
pub use events::{Accounts, EventsQuery};
pub use filter::{Comparison, Filter, Operand, Test};
pub use interval::{DateRange, Interval, UnknownInterval};
pub use pattern::{MAX_COMPILED_PATTERN, MAX_COMPILED_PATTERNS, MAX_PATTERN, Patterns};
