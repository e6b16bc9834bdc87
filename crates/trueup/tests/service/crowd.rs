//! Accounts enough to compare with: twelve plumbers and nine heating engineers beside the tenants of the small platform.
//!
//! | month | each plumber, `pl01` to `pl12` |
//! |---|---|
//! | 2024-09 | 4 customers, of whom 1 booked; of `pl12` all 4, which are 4 of 15 |
//! | 2024-10 | 2 customers, of whom 1 booked, by a channel with quotes in its name |
//! | 2024-11 | `plNN`: 20 customers, of whom the first NN booked; the last 4 unmatched; the very last of three by another channel; spend of 100 + 10 NN |
//! | 2024-12 | 10 customers, of whom 5 booked |
//! | 2025-03 | a customer on the 12th, who booked, and one on the 20th, who did not |
//! | 2025-04 | on the 10th a customer who booked and one who did not; on the 20th, which is still to come, one who booked |

use crate::platform::{Platform, Rival};
use std::fmt::Write as _;
use std::time::Duration;
use trueup::access::DirectorySettings;
use trueup::service::{Limits, ServiceBuilder};

/// How many plumbers there are, besides the two of the small platform.
pub(crate) const PLUMBERS: usize = 12;

/// Customers of one account whose first `booked` booked on the day on which all of them were leads.
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

/// What the crowd puts into the dataset.
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

/// The small platform and the crowd; requests for benchmarks wait as long as it takes.
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
