//! Ranges in which a query counts nothing: the days of its accounts decide, and those of events if it counts no spend.

use crate::run::dataset;
use trueup_core::Execution;
use trueup_core::query::{ComparisonRange, EventsQuery};
use trueup_testkit::oracle::{EventRow, SpendRow, Tables};

/// One account has begun a year after the other one, and spend of that one is later than its events.
fn tables() -> Tables {
    let event = |account: &str, date: &str| EventRow {
        account: account.to_owned(),
        opportunity_id: date.to_owned(),
        kind: "lead-originated".to_owned(),
        date: Some(date.parse().unwrap()),
        date_time: None,
        event_id: None,
        total: None,
        other: Default::default(),
    };
    let spend = SpendRow {
        account: "a".to_owned(),
        date: "2025-07-05".parse().unwrap(),
        attribution_category: None,
        attribution_channel: None,
        campaign: None,
        ad_spend: Some(1),
        management_fee: None,
        clicks: None,
        impressions: None,
    };
    let events = vec![event("a", "2025-01-10"), event("a", "2025-06-20"), event("b", "2026-05-02")];
    Tables { events, spend: vec![spend], accounts: Vec::new() }
}

/// Returns what is said about a metric of a month and of the same month of the year before; without accounts, of all.
fn said(accounts: &[&str], metric: &str, start: &str, end: &str) -> Vec<String> {
    let query = EventsQuery::new([metric], start.parse().unwrap(), end.parse().unwrap());
    let query = query.compare(ComparisonRange::PreviousYear);
    let query = if accounts.is_empty() { query } else { query.accounts(accounts.iter().copied()) };
    // A limit of rows is that of the answer.
    let execution = Execution { max_rows: Some(1), ..Execution::default() };
    // Whether the accounts share row groups makes no difference.
    let [alone, shared] = [1, 100].map(|row_group_rows| {
        let empty = dataset(&tables(), row_group_rows).empty_ranges(&query, &execution).unwrap();
        empty.iter().map(ToString::to_string).collect::<Vec<String>>()
    });
    assert_eq!(alone, shared);
    alone
}

#[test]
fn the_days_are_those_of_the_accounts_of_the_query() {
    let may = |accounts: &[&str]| said(accounts, "leads", "2026-05-01", "2026-05-31");
    assert_eq!(may(&[]), Vec::<String>::new());
    assert_eq!(may(&["a", "b"]), Vec::<String>::new());
    let begun_later = "the accounts of the query have no events in the range 2025-05-01 to 2025-05-31 to compare with, so \
                       that every earlier value is 0; the days of their events are 2026-05-02 to 2026-05-02";
    assert_eq!(may(&["b"]), [begun_later]);
    let ended = "the accounts of the query have no events in the range 2026-05-01 to 2026-05-31; the days of their \
                 events are 2025-01-10 to 2025-06-20";
    assert_eq!(may(&["a"]), [ended]);
    assert_eq!(may(&["nobody"]), ["the accounts of the query have no events"]);
}

#[test]
fn the_days_are_those_of_events_if_no_metric_is_made_of_spend() {
    let july = |metric: &str| said(&["a"], metric, "2025-07-01", "2025-07-31");
    let leads = july("leads");
    let [asked, compared] = &leads[..] else { panic!("both ranges have no events") };
    assert!(asked.contains("no events in the range 2025-07-01 to 2025-07-31; "), "{asked}");
    assert!(compared.contains("no events in the range 2024-07-01 to 2024-07-31 to compare with, "), "{compared}");
    let compared = "the accounts of the query have neither events nor spend in the range 2024-07-01 to 2024-07-31 to \
                    compare with, so that every earlier value is 0; their days are 2025-01-10 to 2025-07-05";
    for metric in ["spend", "avgCostPerLead"] {
        assert_eq!(july(metric), [compared]);
    }
    let june = said(&[], "leads", "2026-06-01", "2026-06-30");
    let expected = "the dataset has no events in the range 2026-06-01 to 2026-06-30; the days of its events are 2025-01-10 \
                    to 2026-05-02";
    assert_eq!(june, [expected]);
}
