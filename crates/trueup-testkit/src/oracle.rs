//! The naive oracle: computes every rule of the semantics row by row, in the obvious way, from plain tables.
//!
//! The semantics are the text that the metrics were specified with ("What every number means"). That text is not part
//! of this repository: `docs/data-model.md` and `docs/metrics.md` say the same, and `docs/compat.md` lists where it is
//! silent. Each function names the section that it follows and quotes the rule, so that a reader can compare the two.
//! The oracle shares no code with the engine.
//!
//! | file | sections |
//! |---|---|
//! | `tables` | 1: the tables as plain rows |
//! | `fields` | 4, 6, 7: names with a meaning |
//! | `request` | 3: a request and its sub-ranges |
//! | `json`, `filters`, `condition` | 8: reading filters and deciding them |
//! | `customer` | 1, 2: stored events and histories |
//! | `segment` | 4: enriched events, which are the events of a sub-range with their computed fields |
//! | `spend` | 7: spend |
//! | `metric` | 6: the metrics of a group |
//! | `values` | 1, 4, 5, 6, 9: exact amounts and the text of values |
//! | `answer` | 3, 6, 7, 9: the rows of the result |

mod answer;
mod condition;
mod customer;
mod fields;
mod filters;
mod json;
mod metric;
mod request;
mod segment;
mod spend;
mod tables;
mod values;

pub use answer::answer;
pub use fields::{COMPUTED_FIELDS, GRADING_FIELDS, METRICS};
pub use request::{Refusal, Request};
pub use tables::{AccountRow, Cell, EventRow, SpendRow, Tables, local_date};
pub use values::text_of;

#[cfg(test)]
mod tests;
