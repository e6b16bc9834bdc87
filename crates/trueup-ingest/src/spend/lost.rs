//! The warnings about replaced rows of spend that nothing takes the place of: of channels that the ingest does not
//! have, as when each platform exports its own, and of campaigns that it does not have, as in a report with a filter.

use crate::amounts::TotalsBySource;
use std::collections::{BTreeMap, HashSet};
use trueup_core::Shown;
use trueup_core::dataset::{ControlTotals, ReplacedRows};
use trueup_core::money::format_micros;

/// The most channels or campaigns that a warning names.
const NAMED: usize = 10;

/// Returns the warning about replaced rows of channels that the new rows do not have.
pub(super) fn channels(replaced: &[ReplacedRows], new: &HashSet<String>) -> Option<String> {
    let lost = by_name(replaced.iter().filter(|row| !new.contains(&row.channel)));
    let rows: u64 = lost.values().map(|totals| totals.rows).sum();
    let name = |(channel, totals): (&&str, &ControlTotals)| match *channel {
        "" => format!("no channel ({})", totals.rows),
        channel => format!("`{}` ({})", Shown(channel), totals.rows),
    };
    (rows > 0).then(|| {
        format!(
            "{} replaced, of channels that this ingest does not have: {}; spend of several sources needs a source for each \
             (`--source`, or the column `source`)",
            rows_are(rows, ""),
            first_of(lost.iter().map(name))
        )
    })
}

/// Returns the warning about replaced rows of campaigns that the new rows of their account and source do not have.
pub(super) fn campaigns(lost: TotalsBySource) -> Option<String> {
    let (listed, others) = lost.into_rows();
    let lost = by_name(listed.iter());
    let all: ControlTotals = lost.values().copied().chain([others]).sum();
    let name = |(campaign, totals): (&&str, &ControlTotals)| {
        format!("`{}` ({}, {})", Shown(campaign), totals.rows, money(totals))
    };
    let names = if lost.is_empty() { "too many to name".to_owned() } else { first_of(lost.iter().map(name)) };
    (all.rows > 0).then(|| {
        format!(
            "{} replaced, of campaigns that this ingest does not have for the same account and source: {names}; if the \
             report has a filter, ingest it again without the filter",
            rows_are(all.rows, &format!(" with {}", money(&all)))
        )
    })
}

/// Adds up rows by the name that is their channel.
fn by_name<'a>(rows: impl Iterator<Item = &'a ReplacedRows>) -> BTreeMap<&'a str, ControlTotals> {
    let mut found: BTreeMap<&str, ControlTotals> = BTreeMap::new();
    rows.for_each(|row| *found.entry(&row.channel).or_default() += row.totals);
    found
}

fn money(totals: &ControlTotals) -> String {
    format_micros(totals.ad_spend + totals.management_fee)
}

/// Begins a sentence about a number of rows of spend.
fn rows_are(rows: u64, with: &str) -> String {
    if rows == 1 { format!("1 row of spend{with} is") } else { format!("{rows} rows of spend{with} are") }
}

/// Returns the first names of a list, and how many more there are.
fn first_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let others = names.len().saturating_sub(NAMED);
    let mut named: Vec<String> = names.take(NAMED).collect();
    if others > 0 {
        named.push(format!("{others} others"));
    }
    named.join(", ")
}
