//! The small platform with enough accounts for benchmarks: twelve plumbers and nine heating engineers.
//!
//! | month | customers of each plumber, `pl01` to `pl12` |
//! |---|---|
//! | 2024-09 | 4, of whom 1 booked; all 4 of `pl12` booked, which are 4 of 15 |
//! | 2024-10 | 2, of whom 1 booked, through a channel with quotes in its name |
//! | 2024-11 | 20; the first NN of `plNN` booked. See below |
//! | 2024-12 | 10, of whom 5 booked |
//! | 2025-03 | one on the 12th, who booked, and one on the 20th, who did not |
//! | 2025-04 | two on the 10th, of whom 1 booked; one on the 20th, after the day of `NOW`, who booked |
//!
//! In 2024-11, the last 4 customers are unmatched, `plNN` has spend of 100 + 10 NN, and the last customer of `pl01`,
//! `pl02` and `pl03` comes through another channel.

use crate::platform::{Platform, Rival};
use std::fmt::Write as _;
use std::time::Duration;
use trueup::access::DirectorySettings;
use trueup::service::{Limits, ServiceBuilder};

/// The plumbers that are added to the two of the small platform.
pub(crate) const PLUMBERS: usize = 12;

/// `count` customers of one account who are leads on one day. The first `booked` of them book on the same day.
struct Customers<'a> {
    account: &'a str,
    day: &'a str,
    count: usize,
    booked: usize,
    channel: &'a str,
}

impl Rival {
    fn add(&mut self, customers: &Customers<'_>) {
        let Customers { account, day, count, booked, channel } = customers;
        for number in 1..=*count {
            let status = if number > 16 { "Unmatched" } else { "New Customer" };
            let channel = if number == 20 && *account < "pl04" { "Radio" } else { channel };
            let stages: &[&str] = if number <= *booked { &["lead-originated", "booked"] } else { &["lead-originated"] };
            for stage in stages {
                writeln!(self.events, "{account},{day}-{number},{stage},{day},,,,{status},,Advertising,{channel},,,")
                    .unwrap();
            }
        }
    }

    fn add_account(&mut self, account: &str, industry: &str) {
        writeln!(self.accounts, "{account},Name of {account},{industry},UTC,false").unwrap();
    }
}

/// Returns the rows of the plumbers and heating engineers.
pub(crate) fn crowd() -> Rival {
    let mut crowd = Rival::default();
    crowd.add_account("rival-1", "Heating");
    for number in 1..=9 {
        let account = &format!("h{number:02}");
        crowd.add_account(account, "Heating");
        crowd.add(&Customers { account, day: "2024-11-05", count: 5, booked: 2, channel: "Search Ads" });
    }
    for number in 1..=PLUMBERS {
        let account = &format!("pl{number:02}");
        crowd.add_account(account, "Plumbing");
        let mut add = |day, count, booked, channel| crowd.add(&Customers { account, day, count, booked, channel });
        add("2024-09-05", 4, if number == PLUMBERS { 4 } else { 1 }, "Search Ads");
        add("2024-10-05", 2, 1, "\"Yard \"\"Signs\"\"\"");
        add("2024-11-05", 20, number, "Search Ads");
        add("2024-12-05", 10, 5, "Search Ads");
        add("2025-03-12", 1, 1, "Search Ads");
        add("2025-03-20", 1, 0, "Search Ads");
        add("2025-04-10", 2, 1, "Search Ads");
        add("2025-04-20", 1, 1, "Search Ads");
        let spend = 100 + 10 * number;
        writeln!(crowd.spend, "{account},2024-11-07,Advertising,Search Ads,,{spend},,,").unwrap();
    }
    crowd
}

/// The small platform with the crowd. Requests for benchmarks wait until the figures are there.
pub(crate) fn crowded() -> Platform {
    crowded_with(&crowd(), Duration::from_secs(600), |builder| builder)
}

pub(crate) fn crowded_with(
    crowd: &Rival,
    benchmarks_wait: Duration,
    build: impl FnOnce(ServiceBuilder) -> ServiceBuilder,
) -> Platform {
    let limits = Limits { benchmarks_wait, ..Limits::default() };
    Platform::with(crowd, DirectorySettings::default(), |builder| build(builder.limits(limits)))
}
