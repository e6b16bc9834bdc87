//! What may be asked: typed requests that know names, not columns.

mod check;
mod events;
mod filter;
mod interval;

pub use check::{FilterFault, MAX_COMPILED_PATTERN, MAX_DEPTH, MAX_OPERANDS, MAX_PATTERN, check_test};
pub(crate) use check::{NumberTest, TextTest, is_finished};
pub use events::{Accounts, EventsQuery};
pub use filter::{Comparison, Filter, Operand, Test};
pub use interval::{DateRange, Interval, UnknownInterval};
