//! Random small tables and requests with many collisions: ties on one day, edges of ranges, cancellations at odd
//! places, shared ids.
//!
//! Every table is valid input. Some requests are invalid and must be refused. "Section N" is a section of the
//! semantics, which [`oracle`](crate::oracle) follows.
//!
//! | file | generates |
//! |---|---|
//! | `pools` | days and values |
//! | `rows` | rows of the three tables |
//! | `requests` | requests with their filters |
//! | `definitions` | metrics and dimensions that users define |
//! | `batches` | Arrow record batches from tables |

mod batches;
mod definitions;
mod pools;
mod requests;
mod rows;
#[cfg(test)]
mod tests;

pub use batches::{account_batches, event_batches, spend_batches};

use chrono::NaiveDate;
use proptest::prelude::*;

use requests::RelativeRequest;

use crate::oracle::{Definitions, Earlier, Request, Tables};

/// Generates tables of at most 40 events and 12 spend rows, and a request that mostly concerns them.
pub fn case() -> impl Strategy<Value = (Tables, Request)> {
    with_request(requests::request())
}

/// Generates cases like [`case`] in cohort mode, with windows of days and of whole histories. Some ask for `openLeads`,
/// or filter on it.
pub fn cohort_case() -> impl Strategy<Value = (Tables, Request)> {
    with_request(requests::cohort())
}

/// Generates cases like [`case`], a third of them in cohort mode, with metrics of days between stages as fields and in
/// filters.
pub fn duration_case() -> impl Strategy<Value = (Tables, Request)> {
    with_request(requests::durations())
}

/// Generates cases like [`duration_case`] with the interval `total`, and a range to compare with.
pub fn comparison_case() -> impl Strategy<Value = (Tables, Request, Earlier)> {
    (pools::base(), relative_tables(), requests::durations(), requests::earlier()).prop_map(
        |(base, relative_tables, request, earlier)| {
            let tables = relative_tables.at(base);
            let request = Request { interval: "total".to_owned(), ..request.at(base, &tables) };
            (tables, request, earlier.at(base))
        },
    )
}

/// Generates cases like [`definitions_case`] with the interval `total`, and a range to compare with.
pub fn defined_comparison_case() -> impl Strategy<Value = (Tables, Request, Definitions, Earlier)> {
    let (tables, request) = (relative_tables().boxed(), requests::defined().boxed());
    let cases = (pools::base(), tables, request, definitions::definitions().boxed(), requests::earlier());
    cases.prop_map(|(base, relative_tables, request, definitions, earlier)| {
        let tables = relative_tables.at(base);
        let request = Request { interval: "total".to_owned(), ..request.at(base, &tables) };
        let definitions = definitions::suited(definitions, &tables);
        (tables, request, definitions, earlier.at(base))
    })
}

/// Generates tables, definitions of metrics and dimensions, and a request for some of them, as fields and in filters. A
/// third of the requests are in cohort mode.
pub fn definitions_case() -> impl Strategy<Value = (Tables, Request, Definitions)> {
    // Boxed, because the strategies are large and many levels of calls pass them on.
    let (tables, request) = (relative_tables().boxed(), requests::defined().boxed());
    let cases = (pools::base(), tables, request, definitions::definitions().boxed());
    cases.prop_map(|(base, relative_tables, request, definitions)| {
        let tables = relative_tables.at(base);
        let request = request.at(base, &tables);
        let definitions = definitions::suited(definitions, &tables);
        (tables, request, definitions)
    })
}

/// Generates tables and a request with faults, mostly two or more. A few of these only look like faults, so a few
/// requests are valid.
pub fn faulty_case() -> impl Strategy<Value = (Tables, Request)> {
    with_request(requests::faulty())
}

fn with_request(request: impl Strategy<Value = RelativeRequest>) -> impl Strategy<Value = (Tables, Request)> {
    (pools::base(), relative_tables(), request).prop_map(|(base, relative_tables, request)| {
        let tables = relative_tables.at(base);
        let request = request.at(base, &tables);
        (tables, request)
    })
}

/// Generates tables like those of [`case`], without a request.
pub fn tables() -> impl Strategy<Value = Tables> {
    (pools::base(), relative_tables()).prop_map(|(base, relative_tables)| relative_tables.at(base))
}

/// Tables whose days are offsets from a base.
#[derive(Clone, Debug)]
struct RelativeTables {
    accounts: Vec<rows::RandomAccount>,
    /// For each further column of the event table, whether the table has it.
    columns: Vec<bool>,
    events: Vec<rows::RelativeEvent>,
    spend: Vec<rows::RelativeSpend>,
}

fn relative_tables() -> impl Strategy<Value = RelativeTables> {
    let events = prop_oneof![
        1 => proptest::collection::vec(rows::event(), 0..=3),
        6 => proptest::collection::vec(rows::event(), 0..=40),
    ];
    let spend = prop_oneof![
        1 => proptest::collection::vec(rows::spend(), 0..=1),
        2 => proptest::collection::vec(rows::spend(), 0..=12),
    ];
    (rows::accounts(), rows::present_columns(), events, spend)
        .prop_map(|(accounts, columns, events, spend)| RelativeTables { accounts, columns, events, spend })
}

impl RelativeTables {
    fn at(self, base: NaiveDate) -> Tables {
        let accounts = rows::account_rows(&self.accounts);
        let zones = Tables { accounts: accounts.clone(), ..Tables::default() };
        let count = self.accounts.len();
        Tables {
            events: self.events.into_iter().map(|event| event.at(base, count, &self.columns, &zones)).collect(),
            spend: self.spend.into_iter().map(|spend| spend.at(base, count)).collect(),
            accounts,
        }
    }
}
