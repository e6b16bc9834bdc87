//! Checks the days between stages: those of a customer are the days between its dates, and those of a group are the
//! average and the percentiles of its customers.

use super::law_case::law_case;
use proptest::prelude::*;
use std::collections::BTreeMap;
use trueup_core::dictionary::duration_fields;
use trueup_core::query::Interval;
use trueup_core::{Day, Row, Value};

/// The second stage of each pair that begins with `Lead`, and the dimension with the date of that stage.
const FROM_LEAD: [(&str, &str); 4] =
    [("Booked", "firstBooked"), ("Estimated", "firstEstimated"), ("Sold", "firstSold"), ("Closed", "firstClosed")];

const CUSTOMER: [&str; 2] = ["account", "opportunityId"];

fn count(row: Row<'_>, name: &str) -> u64 {
    match row.get(name) {
        Some(Value::Count(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

fn days(row: Row<'_>, name: &str) -> f64 {
    match row.get(name) {
        Some(Value::Ratio(days)) => days,
        other => panic!("{name}: {other:?}"),
    }
}

fn date(row: Row<'_>, name: &str) -> Day {
    match row.get(name) {
        Some(Value::Text(date)) => date.parse().unwrap(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns the names of the pairs, as in the names of their metrics.
fn pairs() -> Vec<&'static str> {
    duration_fields().filter_map(|field| field.name.strip_prefix("reached")).collect()
}

/// Returns the value `tenths` tenths of the way from the first to the last of sorted values, between the two closest.
fn percentile(sorted: &[u64], tenths: u64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let position = u64::try_from(last).unwrap() * tenths;
    let at = |place: u64| sorted[usize::try_from(place).unwrap().min(last)];
    let (below, above) = (at(position / 10), at(position / 10 + 1));
    let ten_times = (below * 10 + (above - below) * (position % 10)).to_string();
    ten_times.parse::<f64>().unwrap() / 10.0
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn the_days_of_a_lead_are_those_between_its_dates(asked in law_case()) {
        for (stage, first_date) in FROM_LEAD {
            let metrics = ["reached", "avgDays", "medianDays", "p90Days"].map(|prefix| format!("{prefix}LeadTo{stage}"));
            let dates = [CUSTOMER[0], CUSTOMER[1], "opportunityStartDate", first_date];
            let fields = dates.into_iter().chain(metrics.iter().map(String::as_str));
            let table = asked.ask(&asked.query(fields).interval(Interval::Total));
            for row in table.rows() {
                let expected = match count(row, &metrics[0]) {
                    0 => 0,
                    1 => date(row, first_date).number() - date(row, "opportunityStartDate").number(),
                    more => panic!("{more} durations of one customer"),
                };
                for metric in &metrics[1..] {
                    prop_assert_eq!(days(row, metric), f64::from(expected), "{}", metric);
                }
            }
        }
    }

    /// The number of customers at a first stage is the same for every second stage; if the first stage is `Lead`, it is
    /// the number of leads.
    #[test]
    fn each_customer_reaches_a_stage_or_not(asked in law_case()) {
        let names = pairs().into_iter().flat_map(|pair| [format!("reached{pair}"), format!("notReached{pair}")]);
        let names: Vec<String> = names.chain(["leads".to_owned()]).collect();
        let table = asked.ask(&asked.query(asked.fields(&names.iter().map(String::as_str).collect::<Vec<_>>())));
        for row in table.rows() {
            let mut at_first: BTreeMap<&str, u64> = BTreeMap::from([("Lead", count(row, "leads"))]);
            for pair in pairs() {
                let all = count(row, &format!("reached{pair}")) + count(row, &format!("notReached{pair}"));
                let (first, _) = pair.split_once("To").unwrap();
                prop_assert_eq!(*at_first.entry(first).or_insert(all), all, "{}", pair);
            }
        }
    }

    #[test]
    fn the_days_of_a_group_are_those_of_its_customers(asked in law_case()) {
        for pair in pairs() {
            let metrics = ["reached", "avgDays", "medianDays", "p90Days"].map(|prefix| format!("{prefix}{pair}"));
            let names = || metrics.iter().map(String::as_str);
            let whole = asked.ask(&asked.query(names()).interval(Interval::Total));
            let customers = asked.ask(&asked.query(CUSTOMER.into_iter().chain(names())).interval(Interval::Total));
            let reached = customers.rows().filter(|row| count(*row, &metrics[0]) == 1);
            let mut all: Vec<u64> = reached.map(|row| days(row, &metrics[1]).to_string().parse().unwrap()).collect();
            all.sort_unstable();
            let whole = whole.rows().next().unwrap();
            prop_assert_eq!(count(whole, &metrics[0]), u64::try_from(all.len()).unwrap());
            let sum: f64 = all.iter().sum::<u64>().to_string().parse().unwrap();
            let average = if all.is_empty() { 0.0 } else { sum / all.len().to_string().parse::<f64>().unwrap() };
            prop_assert_eq!(days(whole, &metrics[1]), average);
            prop_assert_eq!(days(whole, &metrics[2]), percentile(&all, 5));
            prop_assert_eq!(days(whole, &metrics[3]), percentile(&all, 9));
        }
    }
}
