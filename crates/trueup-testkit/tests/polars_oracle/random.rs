//! Random small tables with many collisions.

use super::agreement::Both;
use super::question::{Cut, Question};
use chrono::DateTime;
use proptest::prelude::*;
use proptest::sample::subsequence;
use std::collections::BTreeSet;
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::oracle::Tables;

/// Replaces what the expressions of polars do not compute: dates in local time, and ties that only further columns
/// break.
fn simplify(tables: &mut Tables) {
    for account in &mut tables.accounts {
        "UTC".clone_into(&mut account.time_zone);
    }
    let ids: BTreeSet<String> = tables.events.iter().filter_map(|event| event.event_id.clone()).collect();
    let free = (0..).map(|number| format!("free {number}")).filter(|id| !ids.contains(id));
    for (event, free) in tables.events.iter_mut().zip(free) {
        if event.event_id.as_ref().is_none_or(String::is_empty) {
            event.event_id = Some(free);
        }
        let day = event.date_time.and_then(DateTime::from_timestamp_micros).map(|instant| instant.date_naive());
        let is_near = |date| day.is_none_or(|day| day.signed_duration_since(date).num_days().abs() <= 1);
        event.date = event.date.filter(|date| is_near(*date));
    }
}

fn grouping() -> impl Strategy<Value = Vec<&'static str>> {
    let known = vec![
        "account",
        "date",
        "week",
        "month",
        "attributionCategory",
        "attributionChannel",
        "campaign",
        "customerStatus",
        "opportunityAgent",
        "zip",
        "type",
        "adjustedType",
        "opportunityId",
    ];
    subsequence(known, 0..=3).prop_shuffle()
}

/// Returns half of the usual number of cases, which `PROPTEST_CASES` sets.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(2), ..usual }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_engine_agrees_with_polars_on_random_tables(
        ((mut tables, request), dimensions, by_month, filtered) in (case(), grouping(), any::<bool>(), 0..4_usize),
    ) {
        simplify(&mut tables);
        let mut both = Both::new(event_batches(&tables), spend_batches(&tables), account_batches(&tables));
        both.exact_doubles = false;
        let filters = [
            None,
            Some(("attributionCategory", "Advertising")),
            Some(("adjustedType", "canceled")),
            Some(("customerStatus", "New")),
        ];
        let cut = if by_month { Cut::Month } else { Cut::Total };
        let question = Question { dimensions, days: (request.start, request.end), cut, filter: filters[filtered] };
        let agreement = both.agree(&both.enriched(&question), &question);
        prop_assert!(agreement.is_ok(), "{}", agreement.unwrap_err());
    }
}
