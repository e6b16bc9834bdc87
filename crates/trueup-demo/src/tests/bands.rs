//! The generated data have the figures of a realistic business.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate};

use super::{Figures, Row, event_batches, figures, rows};
use crate::{Generator, Settings};

const EVENT: &[&str] =
    &["account", "opportunityId", "type", "date", "total", "attributionChannel", "campaign", "customerStatus"];
const SPEND: &[&str] = &["account", "date", "attributionChannel", "campaign", "adSpend", "managementFee"];

static DEMO: LazyLock<(Generator, Vec<Row>)> = LazyLock::new(|| {
    let generator = Generator::new(Settings::scale(200_000, 12)).unwrap();
    let rows = event_batches(&generator).iter().flat_map(|batch| rows(batch, EVENT)).collect();
    (generator, rows)
});

fn spend(generator: &Generator) -> Vec<Row> {
    generator.spend().flat_map(|batch| rows(&batch.unwrap(), SPEND)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "bands are wide")]
fn ratio(numerator: usize, denominator: usize) -> f64 {
    numerator as f64 / denominator as f64
}

#[expect(clippy::cast_precision_loss, reason = "bands are wide")]
fn average(micros: i128, count: usize) -> f64 {
    micros as f64 / 1e6 / count as f64
}

#[track_caller]
fn assert_within(what: &str, value: f64, band: RangeInclusive<f64>) {
    println!("{what}: {value:.4}");
    assert!(band.contains(&value), "{what} is {value}, not in {band:?}");
}

/// Asserts that the rates of a range are those of a realistic business.
#[track_caller]
fn assert_rates(what: &str, found: &Figures) {
    assert_within(&format!("{what} book rate"), ratio(found.booked, found.customers), 0.25..=0.45);
    assert_within(&format!("{what} match rate"), ratio(found.matched, found.customers), 0.40..=0.50);
    assert_within(&format!("{what} average ticket"), average(found.revenue, found.paying), 1_800.0..=2_800.0);
    assert_within(&format!("{what} main line"), ratio(found.main_line, found.leads), 0.40..=0.55);
}

#[test]
fn the_demo_has_realistic_counts_and_rates() {
    let (generator, all) = &*DEMO;
    let found = figures(all, i32::MIN..=i32::MAX);
    assert_within("events", ratio(found.events, 200_000), 0.95..=1.05);
    assert_rates("all", &found);
    assert_within("all conversions a lead", ratio(found.conversions, found.leads), 1.25..=1.35);
    assert_within("all walk-ins", 1.0 - ratio(found.leads, found.customers), 0.01..=0.10);

    // Typical reports cover a month, or 90 days.
    let start = generator.settings().start;
    for months in [1..2, 12..13, 15..18, 21..24] {
        let day = |month| (start + chrono::Months::new(month)).to_epoch_days();
        assert_rates(&format!("months {months:?}"), &figures(all, day(months.start)..=day(months.end) - 1));
    }

    let mut by_account: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for row in all {
        by_account.entry(row.get("account")).or_default().push(row.clone());
    }
    assert_eq!(by_account.len(), 12);
    for (account, rows) in by_account {
        let found = figures(&rows, i32::MIN..=i32::MAX);
        assert!(found.revenue > 0, "{account} earns nothing");
        assert_within(&format!("{account} main line"), ratio(found.main_line, found.leads), 0.40..=0.55);
        assert_within(&format!("{account} book rate"), ratio(found.booked, found.customers), 0.25..=0.45);
    }
}

#[test]
fn other_seeds_have_realistic_counts_and_rates() {
    for seed in 1..=3 {
        let generator = Generator::new(Settings { seed, ..Settings::scale(200_000, 12) }).unwrap();
        let all: Vec<Row> = event_batches(&generator).iter().flat_map(|batch| rows(batch, EVENT)).collect();
        let found = figures(&all, i32::MIN..=i32::MAX);
        assert_within("events", ratio(found.events, 200_000), 0.95..=1.05);
        assert_rates(&format!("seed {seed}"), &found);
    }
}

#[test]
fn the_cost_per_lead_fits_the_channel() {
    let (generator, all) = &*DEMO;
    let found = figures(all, i32::MIN..=i32::MAX);
    let spend = spend(generator);
    let sum = |pick: &dyn Fn(&Row) -> bool| -> i128 {
        spend.iter().filter(|row| pick(row)).map(|row| row.amount("adSpend") + row.amount("managementFee")).sum()
    };
    for (channel, leads) in &found.leads_by_channel {
        let cost = sum(&|row| row.get("attributionChannel") == channel);
        if ["Direct", "Organic Search", "Google Business Profile", "Referral"].contains(&channel.as_str()) {
            assert_eq!(cost, 0, "{channel} costs money");
        } else {
            assert_within(&format!("{channel} cost per lead of {leads}"), average(cost, *leads), 40.0..=150.0);
        }
    }
    assert!(found.leads_by_channel.len() >= 10);
    assert_within("cost per lead, all", average(sum(&|_| true), found.leads), 35.0..=80.0);
    assert!(sum(&|row| row.get("campaign").is_empty() && !row.get("attributionChannel").is_empty()) > 0);
    assert!(sum(&|row| row.get("attributionChannel").is_empty()) > 0);
    assert!(spend.iter().any(|row| row.amount("managementFee") > 0));
    assert_within(
        "spend with a campaign",
        average(sum(&|row| !row.get("campaign").is_empty()), 1) / average(sum(&|_| true), 1),
        0.5..=0.95,
    );
}

#[test]
fn demand_depends_on_seasons_and_weekdays_and_campaigns_have_a_long_tail() {
    let all: Vec<&Row> = DEMO.1.iter().filter(|row| row.get("type") == "lead-originated").collect();
    let date = |row: &Row| NaiveDate::from_epoch_days(row.day).unwrap();
    let count = |pick: &dyn Fn(&Row) -> bool| all.iter().filter(|row| pick(row)).count();
    let hvac =
        |months: [u32; 2]| count(&|row| row.get("account").contains("-hvac") && months.contains(&date(row).month()));
    assert_within("HVAC in summer against spring", ratio(hvac([6, 7]), hvac([3, 4])), 1.5..=2.5);
    let weekday = |weekday| count(&|row| date(row).weekday() == weekday);
    assert_within(
        "Monday against Sunday",
        ratio(weekday(chrono::Weekday::Mon), weekday(chrono::Weekday::Sun)),
        2.0..=4.0,
    );

    let mut campaigns: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for row in all.iter().filter(|row| !row.get("campaign").is_empty()) {
        *campaigns.entry(row.get("account")).or_default().entry(row.get("campaign")).or_default() += 1;
    }
    for (account, campaigns) in campaigns {
        assert!((10..=60).contains(&campaigns.len()), "{account} has {} campaigns", campaigns.len());
        let mut leads: Vec<usize> = campaigns.into_values().collect();
        leads.sort_unstable();
        let tail: usize = leads[..leads.len() / 2].iter().sum();
        assert!(tail * 4 < leads.iter().sum(), "{account}: half of the campaigns bring a quarter");
    }
}
