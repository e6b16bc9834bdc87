//! The rows follow the rules of the event model, and are the same for the same settings.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use chrono::NaiveDate;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::{Row, event_batches, rows};
use crate::{Generator, Settings, SettingsError};

fn generator() -> Generator {
    Generator::new(Settings::scale(12_000, 40)).unwrap()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    batch.column_by_name(column).unwrap().as_string::<i32>().iter().map(|text| text.unwrap().to_owned()).collect()
}

#[test]
fn account_keys_are_valid_and_unique() {
    let accounts = Generator::new(Settings::scale(1_000, 200)).unwrap().accounts().unwrap();
    let keys = texts(&accounts, "account");
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 200);
    assert_eq!(texts(&accounts, "accountName").iter().collect::<HashSet<_>>().len(), 200);
    for key in keys {
        assert!(key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{key}");
    }
    let graded = accounts.column_by_name("leadGrading").unwrap().as_boolean().true_count();
    assert!((1..200).contains(&graded));
}

#[test]
fn events_are_in_the_range_and_in_the_zone_of_their_account() {
    let generator = generator();
    let settings = generator.settings().clone();
    let accounts = generator.accounts().unwrap();
    let zones: HashMap<String, TimeZone> = texts(&accounts, "account")
        .into_iter()
        .zip(texts(&accounts, "timeZone"))
        .map(|(key, zone)| (key, TimeZoneDatabase::bundled().get(&zone).unwrap()))
        .collect();
    let mut timeless = 0;
    for batch in event_batches(&generator) {
        let days = batch.column_by_name("date").unwrap().as_primitive::<Date32Type>();
        let times = batch.column_by_name("dateTime").unwrap().as_primitive::<TimestampMicrosecondType>();
        for (row, account) in texts(&batch, "account").iter().enumerate() {
            let date = NaiveDate::from_epoch_days(days.value(row)).unwrap();
            assert!((settings.start..=settings.end().unwrap()).contains(&date));
            if times.is_valid(row) {
                let time = Timestamp::from_microsecond(times.value(row)).unwrap();
                assert_eq!(zones[account].to_datetime(time).date().to_string(), date.to_string());
            } else {
                timeless += 1;
            }
        }
    }
    assert!(timeless > 0);
}

#[test]
fn rows_follow_the_event_model() {
    let generator = generator();
    let accounts = generator.accounts().unwrap();
    let grading: HashMap<String, bool> = texts(&accounts, "account")
        .into_iter()
        .zip(accounts.column_by_name("leadGrading").unwrap().as_boolean().iter().map(|graded| graded.unwrap()))
        .collect();
    let columns: &[&str] = &[
        "account",
        "opportunityId",
        "type",
        "date",
        "eventId",
        "total",
        "campaign",
        "customerStatus",
        "attributionCategory",
        "opportunityType",
        "conversionDetailedLabel",
        "conversionReasonUnbookable",
        "conversionCampaign",
        "attributionChannel",
    ];
    let all: Vec<Row> = event_batches(&generator).iter().flat_map(|batch| rows(batch, columns)).collect();
    let mut ids = HashSet::new();
    let mut credit: HashMap<(String, String), String> = HashMap::new();
    let mut stages: HashMap<String, usize> = HashMap::new();
    let mut labels: HashMap<String, usize> = HashMap::new();
    for row in &all {
        assert!(ids.insert((row.get("account").to_owned(), row.get("eventId").to_owned())));
        assert!(["New", "Existing", "Unmatched"].contains(&row.get("customerStatus")));
        assert!(["Advertising", "Organic", "Other"].contains(&row.get("attributionCategory")));
        assert!(["phone", "chat", "form", ""].contains(&row.get("opportunityType")));
        let credited = format!("{} {}", row.get("attributionChannel"), row.get("campaign"));
        assert_eq!(*credit.entry(row.customer()).or_insert_with(|| credited.clone()), credited);
        let stage = row.get("type");
        *stages.entry(stage.to_owned()).or_default() += 1;
        assert_eq!(row.amount("total") > 0, ["estimated", "sold", "closed"].contains(&stage));
        assert_eq!(row.amount("total") % 10_000, 0);
        assert_eq!(row.get("conversionCampaign").is_empty(), stage != "lead-originated");
        let label = row.get("conversionDetailedLabel");
        assert!(label.is_empty() || (grading[row.get("account")] && stage == "lead-originated"));
        assert_eq!(!row.get("conversionReasonUnbookable").is_empty(), label == "Unbookable");
        *labels.entry(label.to_owned()).or_default() += 1;
    }
    assert_eq!(stages.len(), 6, "{stages:?}");
    assert_eq!(labels.len(), 4, "{labels:?}");
}

#[test]
fn invoices_are_closed_weeks_after_the_sale() {
    let columns: &[&str] = &["account", "opportunityId", "type", "date"];
    let all: Vec<Row> = event_batches(&generator()).iter().flat_map(|batch| rows(batch, columns)).collect();
    let mut sold = HashMap::new();
    let mut closed = 0;
    for row in &all {
        match row.get("type") {
            "sold" => drop(sold.insert(row.customer(), row.day)),
            "closed" => {
                closed += 1;
                let lag = row.day - sold[&row.customer()];
                assert!((14..=42).contains(&lag), "{lag} days");
            }
            _ => {}
        }
    }
    assert!(closed > 100);
}

#[test]
fn settings_outside_their_bounds_are_refused() {
    let demo = Settings::demo();
    let refused = |settings: Settings| Generator::new(settings).err();
    assert_eq!(refused(Settings { accounts: 0, ..demo.clone() }), Some(SettingsError::Accounts(0)));
    assert_eq!(refused(Settings { accounts: 201, ..demo.clone() }), Some(SettingsError::Accounts(201)));
    assert_eq!(refused(Settings { events: 0, ..demo.clone() }), Some(SettingsError::Events(0)));
    assert_eq!(refused(Settings { months: 0, ..demo.clone() }), Some(SettingsError::Months(0)));
    assert_eq!(refused(Settings { batch_rows: 0, ..demo.clone() }), Some(SettingsError::BatchRows));
    let start = NaiveDate::from_ymd_opt(2024, 7, 2).unwrap();
    assert_eq!(refused(Settings { start, ..demo }), Some(SettingsError::Start(start)));
    let words = SettingsError::Accounts(0).to_string();
    assert_eq!(words, "expected 1 to 200 accounts, but found `0`");
}

#[test]
fn a_last_day_within_a_month_cuts_it_short() {
    let whole = Generator::new(small()).unwrap();
    let end = whole.settings().end().unwrap();
    let same = Generator::new(small().until(end)).unwrap();
    assert_eq!(same.settings().start, whole.settings().start);
    assert_eq!(event_batches(&same), event_batches(&whole));
    assert_eq!(spend(&same), spend(&whole));
    assert_eq!(same.targets().unwrap(), whole.targets().unwrap());

    let end = NaiveDate::from_ymd_opt(2024, 11, 10).unwrap();
    let cut = Generator::new(small().until(end)).unwrap();
    let columns: &[&str] = &["account", "opportunityId", "type", "date"];
    let all: Vec<Row> = event_batches(&cut).iter().flat_map(|batch| rows(batch, columns)).collect();
    assert_eq!(all.iter().map(|row| row.day).max(), Some(end.to_epoch_days()));
    let begun = |month: &str| all.iter().filter(|row| row.get("opportunityId").starts_with(month)).count();
    // A third of the days, and customers have had less time.
    assert!(begun("2411") * 2 < begun("2410") && begun("2411") * 6 > begun("2410"), "{}", begun("2411"));
    let refused = Generator::new(Settings { last: NaiveDate::from_ymd_opt(2024, 10, 31), ..small() }).err();
    assert_eq!(refused, NaiveDate::from_ymd_opt(2024, 10, 31).map(SettingsError::Last));
}

#[test]
fn the_number_of_events_is_close_to_the_setting() {
    for (events, accounts, months) in [(1_000, 12, 24), (5_000, 1, 3), (50_000, 200, 24)] {
        let generator = Generator::new(Settings { months, ..Settings::scale(events, accounts) }).unwrap();
        let found: usize = event_batches(&generator).iter().map(RecordBatch::num_rows).sum();
        let found = u64::try_from(found).unwrap();
        assert!(found.abs_diff(events) * 100 <= events * 8, "{found} of {events}");
    }
}

/// The columns of events that are hashed.
const EVENT: &[&str] =
    &["account", "eventId", "type", "date", "total", "campaign", "conversionCampaign", "technician", "zip"];
/// The columns of spend that are hashed.
const SPEND: &[&str] = &["account", "date", "attributionChannel", "campaign", "adSpend", "managementFee"];

fn small() -> Settings {
    Settings { months: 5, ..Settings::scale(4_000, 14) }
}

fn spend(generator: &Generator) -> Vec<RecordBatch> {
    generator.spend().map(|batch| batch.unwrap()).collect()
}

/// Returns each row as a slice, so that the split into batches does not matter.
fn by_row(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect()
}

#[test]
fn another_seed_generates_other_rows() {
    let left = Generator::new(small()).unwrap();
    let right = Generator::new(Settings { seed: 7, ..small() }).unwrap();
    assert_ne!(event_batches(&left), event_batches(&right));
    assert_ne!(left.accounts().unwrap(), right.accounts().unwrap());
}

#[test]
fn the_batch_size_does_not_change_the_rows() {
    let whole = Generator::new(small()).unwrap();
    for batch_rows in [1, 7, 1_000] {
        let cut = Generator::new(Settings { batch_rows, ..small() }).unwrap();
        let batches = event_batches(&cut);
        assert!(batches.iter().rev().skip(1).all(|batch| batch.num_rows() == batch_rows));
        assert_eq!(by_row(&batches), by_row(&event_batches(&whole)));
        assert_eq!(by_row(&spend(&cut)), by_row(&spend(&whole)));
    }
}

/// Compares a hash (FNV-1a) of some columns of all events and spend with a constant, because the rows must be the same
/// on every machine. A deliberate change of these columns changes the hash; then every figure that was measured on the
/// demo is out of date.
#[test]
fn the_rows_are_the_same_on_every_machine() {
    let generator = Generator::new(Settings { months: 3, ..Settings::scale(600, 12) }).unwrap();
    let events = event_batches(&generator).into_iter().flat_map(|batch| rows(&batch, EVENT));
    let spend = spend(&generator).into_iter().flat_map(|batch| rows(&batch, SPEND));
    let mut fold = 0xcbf2_9ce4_8422_2325_u64;
    for row in events.chain(spend) {
        for byte in format!("{row:?}").bytes() {
            fold = (fold ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(fold, 0x47d7_d710_8951_38de, "{fold:#x}");
}
