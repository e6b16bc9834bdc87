//! The naive oracle: computes every rule of the semantics row by row, in the obvious way, from plain tables.
//!
//! The semantics are the text that the metrics were specified with ("What every number means"). That text is not part
//! of this repository: `docs/data-model.md` and `docs/metrics.md` say the same, and `docs/compat.md` lists where it is
//! silent. The contract of the service is another such text. Each function names the section that it follows and quotes
//! the rule, so that a reader can compare the two. The oracle shares no code with the engine.
//!
//! Two tests keep it right: `crates/trueup/tests/worked_example` compares it with the answers that were computed by
//! hand, `crates/trueup-core/tests/engine` with the engine, whose tests state each rule of filters, limits and faults.
//!
//! | file | sections |
//! |---|---|
//! | `tables` | 1: the tables as plain rows |
//! | `request` | 3, 4, 6, 7, 12, 16: a request, its sub-ranges, and the names of the fields that the semantics define |
//! | `json`, `filters`, `condition` | 8: reading filters and deciding them |
//! | `customer` | 1, 2, 16: stored events, histories, and the conversions that are credited |
//! | `cohort` | 12: the customers of a cohort, with their histories up to the end of the window |
//! | `segment` | 4: enriched events, which are the events of a sub-range with their computed fields |
//! | `currency` | 7: the queries that would add up amounts of different currencies |
//! | `metric` | 6, 7, 12: the metrics of a group, spend, and the open leads of a cohort |
//! | `duration` | 13: days between stages |
//! | `definitions` | 15: metrics and dimensions that users define |
//! | `values` | 1, 4, 5, 6, 9: exact amounts and the text of values |
//! | `answer` | 3, 6, 7, 9, 12: the rows of the result |
//! | `why` | the lines behind a number |
//! | `fraction`, `comparison` | 14: the answers for two ranges, and what changed |
//! | `order` | the contract, section 5: sorted and limited rows, and totals |

mod answer;
mod cohort;
mod comparison;
mod condition;
mod currency;
mod customer;
mod definitions;
mod duration;
mod filters;
mod fraction;
mod json;
mod metric;
mod order;
mod request;
mod segment;
mod tables;
mod values;
mod why;

pub use answer::{answer, answer_with};
pub use comparison::{Earlier, compared, compared_totals};
pub use currency::mixes_currencies;
pub use definitions::{CaseTest, Definitions, Otherwise, OwnDimension, OwnMetric, OwnRule};
pub use duration::duration_metrics;
pub use fraction::nearest_quotient;
pub use order::{sorted_answer, totals};
pub use request::{Attribution, COMPUTED_FIELDS, GRADING_FIELDS, METRICS, OPEN_LEADS, Refusal, Request, Window};
pub use tables::{AccountRow, Cell, EventRow, SpendRow, Tables, local_date};
pub use values::text_of;
pub use why::{AnsweredRow, ExplainedLine, explained};
