//! What a cohort, attribution, a definition, a duration or a comparison costs against the plain query, and how long an
//! explanation of one cell takes. The queries of a pair run in turns, and the table has the medians and their ratio.
//!
//! `cargo bench -p trueup-benches --bench pairs` queries 1,000,000 generated events;
//! `cargo bench -p trueup-benches --bench pairs -- FOLDER` queries the dataset in a folder. A second argument keeps the
//! pairs whose names contain it.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use trueup_benches::last_90_days;
use trueup_core::definitions::Definitions;
use trueup_core::query::{
    Attribution, CohortWindow, ComparisonRange, EventsQuery, Filter, Interval, Predicate, SortKey, WhyQuery,
};
use trueup_core::{Dataset, Day, Execution, Value};

const TURNS: usize = 41;

/// Definitions that repeat what is built in, and others.
const DEFINITIONS: &str = r#"
[[metric]]
name = "ownBookRate"
numerator = ["bookedCustomers"]
denominator = ["customers"]

[[metric]]
name = "ownRoas"
numerator = ["closedRevenue"]
denominator = ["spend"]

[[dimension]]
name = "ownCampaign"
from = "campaign"
cases = [{ equals = ["no such campaign"], value = "" }]
otherwise = { keep = true }

[[dimension]]
name = "kind"
from = "campaign"
cases = [{ regex = "drain|sewer", flags = "i", value = "Drains" }, { regex = "^B", value = "B" }]
otherwise = "Other"

[[dimension]]
name = "weekday"
from = "date"
part = "weekday"
"#;

/// A query, and the plain one that it is measured against.
struct Pair {
    name: &'static str,
    plain: EventsQuery,
    other: EventsQuery,
}

fn pairs(dataset: &Dataset) -> Vec<Pair> {
    let (start, end) = last_90_days(dataset).unwrap();
    let whole = dataset.date_range().unwrap();
    let last_days = |fields: &[&str]| EventsQuery::new(fields.to_vec(), start, end);
    let months = |fields: &[&str]| EventsQuery::new(fields.to_vec(), whole.start, whole.end).interval(Interval::Month);
    let mut pairs = Vec::new();
    for (name, fields) in [
        ("five metrics by month", &["leads", "customers", "bookRate", "closedRevenue", "spend"][..]),
        ("step rates by month", &["leads", "stepBookRate", "stepSoldRate"][..]),
        ("by channel and month", &["attributionChannel", "leads", "customers", "closedRevenue"][..]),
        ("by campaign and month, with spend", &["campaign", "leads", "closedRevenue", "roasClosed"][..]),
        ("by account and month", &["account", "leads", "customers", "bookRate"][..]),
    ] {
        for (cohort, within) in
            [("0 days", CohortWindow::Days(0)), ("90 days", CohortWindow::Days(90)), ("all", CohortWindow::All)]
        {
            pairs.push(Pair {
                name: Box::leak(format!("cohort, {cohort}: {name}").into_boxed_str()),
                plain: months(fields),
                other: months(fields).cohort(within),
            });
        }
    }
    for (name, fields) in [
        ("two metrics by channel", &["attributionChannel", "leads", "bookRate"][..]),
        ("by campaign, with spend", &["campaign", "leads", "closedRevenue", "roasClosed"][..]),
        ("by channel and date", &["attributionChannel", "date", "leads", "closedRevenue"][..]),
        ("by account and channel", &["account", "attributionChannel", "customers", "avgTicket"][..]),
    ] {
        for (to, attribution) in [("first", Attribution::First), ("last", Attribution::Last)] {
            pairs.push(Pair {
                name: Box::leak(format!("attribution, {to}: {name}").into_boxed_str()),
                plain: months(fields),
                other: months(fields).attribution(attribution),
            });
        }
    }
    let defined =
        |name, plain: &[&str], other: &[&str]| Pair { name, plain: last_days(plain), other: last_days(other) };
    pairs.extend([
        defined("defined rate", &["bookRate"], &["ownBookRate"]),
        defined(
            "defined rates by channel",
            &["attributionChannel", "bookRate", "roasClosed"],
            &["attributionChannel", "ownBookRate", "ownRoas"],
        ),
        defined(
            "defined copy of a dimension, with spend",
            &["campaign", "leads", "spend"],
            &["ownCampaign", "leads", "spend"],
        ),
        defined("defined dimension by regex", &["campaign", "leads", "customers"], &["kind", "leads", "customers"]),
        defined("defined part of a date", &["date", "leads", "customers"], &["weekday", "leads", "customers"]),
        Pair {
            name: "condition on a defined dimension",
            plain: last_days(&["attributionChannel", "leads"]).filter(has_text("campaign")),
            other: last_days(&["attributionChannel", "leads"]).filter(has_text("ownCampaign")),
        },
        defined("average duration", &["leads", "soldLeads"], &["leads", "avgDaysLeadToSold"]),
        defined(
            "durations by channel",
            &["attributionChannel", "leads", "soldLeads"],
            &["attributionChannel", "leads", "medianDaysLeadToSold", "p90DaysLeadToSold"],
        ),
        Pair {
            name: "median duration by month",
            plain: months(&["leads", "soldLeads"]),
            other: months(&["leads", "medianDaysLeadToSold"]),
        },
        Pair {
            name: "comparison with the previous period",
            plain: last_days(&["attributionChannel", "leads", "bookRate"]),
            other: last_days(&["attributionChannel", "leads", "bookRate"]).compare(ComparisonRange::PreviousPeriod),
        },
    ]);
    pairs
}

fn has_text(dimension: &str) -> Filter {
    Filter::field(dimension, Predicate::NotEmpty)
}

fn time(dataset: &Dataset, query: &EventsQuery) -> Duration {
    let start = Instant::now();
    black_box(dataset.query(black_box(query)).unwrap());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn compare(dataset: &Dataset, named: &str) {
    println!("| query | plain, ms | this query, ms | ratio |\n|---|---:|---:|---:|");
    for Pair { name, plain, other } in pairs(dataset).into_iter().filter(|pair| pair.name.contains(named)) {
        // The first of each decodes its columns.
        time(dataset, &plain);
        time(dataset, &other);
        let (plain, other): (Vec<_>, Vec<_>) =
            (0..TURNS).map(|_| (time(dataset, &plain), time(dataset, &other))).unzip();
        let (plain, other) = (milliseconds(median(plain)), milliseconds(median(other)));
        println!("| {name} | {plain:.3} | {other:.3} | {:.2} |", other / plain);
    }
}

/// Explains the cell of the campaign with the most leads, in the last 30 and the last 90 days.
fn explain(dataset: &Dataset) {
    println!("\n| explanation | lines | first, ms | again, ms |\n|---|---:|---:|---:|");
    let (start, end) = last_90_days(dataset).unwrap();
    for (days, start) in [("30 days", Day::from_number(end.number().saturating_sub(29))), ("90 days", start)] {
        for metric in ["leads", "bookRate", "closedRevenue"] {
            let query = EventsQuery::new(["campaign", metric, "leads"], start, end).sort(SortKey::descending("leads"));
            let answer = dataset.query(&query).unwrap();
            let Some(Value::Text(campaign)) = answer.value(0, "campaign") else { continue };
            let why = WhyQuery::new(query).value("campaign", campaign).metric(metric).limit(100);
            let ask = || {
                let start = Instant::now();
                let lines: u64 =
                    dataset.why(&why, Execution::default()).unwrap().measures.iter().map(|measure| measure.lines).sum();
                (start.elapsed(), lines)
            };
            let (first, lines) = ask();
            let again = median((0..9).map(|_| ask().0).collect());
            println!("| {metric}, {days} | {lines} | {:.1} | {:.1} |", milliseconds(first), milliseconds(again));
        }
    }
}

fn main() {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let dataset = match arguments.next() {
        Some(folder) => Dataset::open(folder).unwrap(),
        None => trueup_benches::dataset(1_000_000, 200).unwrap(),
    };
    let dataset = dataset.with_definitions(Definitions::parse(DEFINITIONS).unwrap()).unwrap();
    compare(&dataset, &arguments.next().unwrap_or_default());
    explain(&dataset);
}
