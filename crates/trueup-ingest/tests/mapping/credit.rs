//! First-touch credit: all events of a customer take values of its first conversion.

use crate::case::{Case, column};

const MAPPING: &str = r#"
[input.a]
file = "a.csv"

[[events]]
from = "a"
[events.columns]
account = "acct"
opportunityId = "id"
type = "type"
date = "d"
dateTime = "t"
attributionChannel = "channel"
campaign = "campaign"

[first_touch]
copy = ["attributionChannel", "campaign"]
"#;

fn channels(rows: &str) -> Vec<String> {
    let case = Case::new(MAPPING).file("a.csv", format!("acct,id,type,d,t,channel,campaign\n{rows}"));
    column(&case.events(), "attributionChannel")
}

#[test]
fn all_events_take_the_first_conversion() {
    let rows = "x,1,closed,2025-01-09,,web,\n\
                x,1,lead-originated,2025-01-03,,mail,\n\
                x,1,lead-originated,2025-01-02,,radio,\n\
                y,1,booked,2025-01-01,,print,\n";
    // The same id in another account is another customer, and has no conversion.
    assert_eq!(channels(rows), ["radio", "radio", "radio", "print"]);
}

#[test]
fn the_first_conversion_is_the_first_by_date_then_time_then_input() {
    let day = "x,1,lead-originated,2025-01-02";
    let late = format!("{day},2025-01-02T10:00:00Z,late,\n");
    let early = format!("{day},2025-01-02T09:00:00Z,early,\n");
    let untimed = format!("{day},,untimed,\n");
    let again = format!("{day},,again,\n");
    assert_eq!(channels(&format!("{late}{early}")), ["early"; 2]);
    assert_eq!(channels(&format!("{late}{early}{untimed}{again}")), ["untimed"; 4]);
    let undated = "x,1,lead-originated,,2025-01-01T23:00:00Z,undated,\n";
    assert_eq!(channels(&format!("{early}{undated}")), ["undated"; 2]);
}

#[test]
fn an_empty_value_of_the_first_conversion_empties_all_events() {
    let rows = "x,1,lead-originated,2025-01-02,,,drains\nx,1,booked,2025-01-03,,web,other\n";
    let case = Case::new(MAPPING).file("a.csv", format!("acct,id,type,d,t,channel,campaign\n{rows}"));
    let rows = case.events();
    assert_eq!(column(&rows, "attributionChannel"), ["", ""]);
    assert_eq!(column(&rows, "campaign"), ["drains", "drains"]);
}

#[test]
fn credit_crosses_tables() {
    let mapping = r#"
[input.leads]
file = "leads.csv"
[input.jobs]
file = "jobs.csv"
[[events]]
from = "jobs"
columns = { account = { value = "x" }, opportunityId = "id", type = { value = "closed" }, date = "d" }
[[events]]
from = "leads"
columns = { account = { value = "x" }, opportunityId = "id", type = { value = "lead-originated" }, date = "d", source = "s" }
[first_touch]
copy = ["source"]
"#;
    let mut leads = "id,d,s\n".to_owned();
    let mut jobs = "id,d\n".to_owned();
    for id in 0..5_000 {
        leads += &format!("{id},2025-01-02,s{id}\n{id},2025-01-03,later\n");
        jobs += &format!("{},2025-02-01\n", 4_999 - id);
    }
    let rows = Case::new(mapping).file("leads.csv", leads).file("jobs.csv", jobs).events();
    assert_eq!(rows.len(), 15_000);
    assert!(rows.iter().all(|row| row["source"] == format!("s{}", row["opportunityId"])));
    // Rows keep the order of their files.
    assert_eq!(rows[0]["opportunityId"], "4999");
    assert_eq!(rows[4_999]["opportunityId"], "0");
    assert_eq!(rows[5_001]["date"], "2025-01-03");
}
