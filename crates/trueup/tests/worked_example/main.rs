//! The worked example of `docs/metrics.md`, whose numbers were computed by hand, against the engine, the service and
//! the naive oracle of `trueup-testkit`.
//!
//! Each file of `testdata/worked-example/expected` holds a query and the exact rows that answer it; each file of
//! `testdata/worked-example/cohorts` one of a cohort, of `durations` one about days between stages, of `comparisons`
//! one that compares, of `attribution` one that credits other events, of `definitions` one about what
//! `definitions.toml` defines, and of `why` a row of an answer, with the lines that explain its numbers.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../service/platform.rs"]
#[expect(dead_code, reason = "the tests of the service use the rest")]
mod platform;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use chrono::{DateTime, NaiveDate};
use platform::{Platform, encoded};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use trueup::Execution;
use trueup::definitions::Definitions;
use trueup::query::{Attribution, CohortWindow, EventsQuery, Interval, WhyQuery};
use trueup_core::dataset::{Dataset, Tables};
use trueup_testkit::oracle;

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "worked-example"].iter().collect()
}

/// Reads a table: every column is Utf8, and an empty cell is null.
fn read(table: &str) -> RecordBatch {
    let path = folder().join(table);
    let text = fs::read_to_string(&path).unwrap();
    let header = text.lines().next().unwrap();
    let fields: Vec<Field> = header.split(',').map(|name| Field::new(name, DataType::Utf8, true)).collect();
    let builder = arrow_csv::ReaderBuilder::new(Arc::new(Schema::new(fields))).with_header(true);
    builder.build(fs::File::open(&path).unwrap()).unwrap().next().unwrap().unwrap()
}

/// A query and its expected rows, from one file.
struct Expected {
    name: String,
    query: Json,
    /// The rows as JSON, byte for byte.
    rows: Vec<String>,
}

impl Expected {
    fn texts(&self, key: &str) -> Option<Vec<String>> {
        let list = self.query.get(key)?.as_array().unwrap();
        Some(list.iter().map(|text| text.as_str().unwrap().to_owned()).collect())
    }

    fn text(&self, key: &str) -> &str {
        self.query[key].as_str().unwrap()
    }

    /// Returns the filters `<field>=<value>`.
    fn parameters(&self) -> Vec<(String, String)> {
        let pairs = self.query.get("filters").map(|list| list.as_array().unwrap().as_slice()).unwrap_or_default();
        pairs.iter().map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned())).collect()
    }

    /// Returns the window of a cohort.
    fn within(&self) -> Option<CohortWindow> {
        self.query.get("cohort").map(|within| within.as_str().unwrap().parse().unwrap())
    }

    /// Returns the event that is credited.
    fn attribution(&self) -> Attribution {
        self.query.get("attribution").map(|name| name.as_str().unwrap().parse().unwrap()).unwrap_or_default()
    }

    /// Returns the filter across fields.
    fn across(&self) -> Option<&str> {
        self.query.get("filter").map(|text| text.as_str().unwrap())
    }
}

fn expected() -> Vec<Expected> {
    let expected = expected_in("expected");
    assert!(expected.len() > 20, "{}", expected.len());
    expected
}

/// Returns the expected answers of all folders but `definitions` and `why`.
fn all() -> impl Iterator<Item = Expected> {
    expected()
        .into_iter()
        .chain(["cohorts", "durations", "comparisons", "attribution"].into_iter().flat_map(expected_in))
}

/// Returns the expected answers about what `definitions.toml` defines, and the explained rows.
fn defined() -> (Vec<Expected>, Vec<Expected>) {
    expected_in("definitions").into_iter().partition(|expected| expected.query.get("row").is_none())
}

fn expected_in(name: &str) -> Vec<Expected> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let parsed: Json = serde_json::from_str(&text).unwrap();
        // The file has one row per line, spelled as it must be written, because numbers are compared as text.
        let lines = text.lines().map(str::trim).skip_while(|line| *line != r#""rows": ["#).skip(1);
        let rows: Vec<String> =
            lines.take_while(|line| *line != "]").map(|line| line.trim_end_matches(',').to_owned()).collect();
        assert_eq!(rows.len(), parsed["rows"].as_array().unwrap().len(), "{}", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Expected { name, query: parsed["query"].clone(), rows }
    };
    paths.into_iter().map(read).collect()
}

fn definitions() -> Definitions {
    Definitions::parse(&fs::read_to_string(folder().join("definitions.toml")).unwrap()).unwrap()
}

/// Returns the definitions of `definitions.toml` for the oracle, which reads no files.
fn oracle_definitions() -> oracle::Definitions {
    let metric = |name: &str, numerator: &[&str], denominator: Option<&str>| oracle::OwnMetric {
        name: name.to_owned(),
        numerator: numerator.iter().map(|part| (*part).to_owned()).collect(),
        denominator: denominator.map(|part| vec![part.to_owned()]),
    };
    let dimension =
        |name: &str, from: &str, rule| oracle::OwnDimension { name: name.to_owned(), from: from.to_owned(), rule };
    let equals = |text: &str| oracle::CaseTest::Equals(vec![text.to_owned()]);
    let cases = |cases: Vec<(oracle::CaseTest, &str)>, otherwise| {
        oracle::OwnRule::Cases(cases.into_iter().map(|(test, value)| (test, value.to_owned())).collect(), otherwise)
    };
    let part = |name: &str| oracle::OwnRule::Part(name.to_owned());
    let heat = oracle::CaseTest::Matches("^(heat|boil)".to_owned(), "i".to_owned());
    let work = vec![(equals("Drains"), "Pipes"), (heat, "Heat"), (equals(""), "None")];
    let (small, large) = (oracle::CaseTest::Range(None, Some(10.0)), oracle::CaseTest::Range(Some(10.0), None));
    oracle::Definitions {
        metrics: vec![
            metric("netRevenuePerLead", &["closedRevenue", "-spend"], Some("leads")),
            metric("unsoldLeads", &["leads", "-soldLeads"], None),
            metric("bookedShare", &["bookedCustomers"], Some("customers")),
        ],
        dimensions: vec![
            dimension("work", "campaign", cases(work, oracle::Otherwise::Keep)),
            dimension("crewSize", "crew", cases(vec![(small, "small"), (large, "large")], oracle::Otherwise::Empty)),
            dimension("quarter", "date", part("quarter")),
            dimension("hour", "dateTime", part("hour")),
        ],
    }
}

/// Compares two arrays of rows. The message of a failure names the fields that differ.
fn assert_rows(who: &str, expected: &Expected, answer: &str) {
    let wanted = format!("[{}]", expected.rows.join(","));
    if answer == wanted {
        return;
    }
    let name = &expected.name;
    let parsed: Vec<BTreeMap<String, Json>> = serde_json::from_str(answer).unwrap();
    for (found, row) in parsed.iter().zip(&expected.rows) {
        let row: BTreeMap<String, Json> = serde_json::from_str(row).unwrap();
        let differing: Vec<_> = row
            .keys()
            .filter(|key| row.get(*key) != found.get(*key))
            .map(|key| (key, &row[key], found.get(key)))
            .collect();
        assert!(differing.is_empty(), "{who}, {name}: (field, expected, found) {differing:?}\n of {row:?}");
    }
    panic!("{who}, {name}:\n expected: {wanted}\n found: {answer}");
}

#[test]
fn the_oracle_agrees_with_the_worked_example() {
    let tables = oracle_tables();
    let none = oracle::Definitions::default();
    let (defined, _) = defined();
    assert!(!defined.is_empty());
    let own = oracle_definitions();
    for (expected, definitions) in all().map(|expected| (expected, &none)).chain(defined.into_iter().map(|e| (e, &own)))
    {
        let request = oracle::Request {
            fields: expected.texts("fields").unwrap(),
            start: date(expected.text("start")),
            end: date(expected.text("end")),
            interval: expected.text("interval").to_owned(),
            accounts: expected.texts("accounts"),
            filters: expected.parameters(),
            filter: expected.across().map(str::to_owned).into_iter().collect(),
            cohort: expected.within().map(|within| match within {
                CohortWindow::Days(days) => oracle::Window::Days(days),
                CohortWindow::All => oracle::Window::All,
            }),
            attribution: match expected.attribution() {
                Attribution::Recorded => oracle::Attribution::Recorded,
                Attribution::First => oracle::Attribution::First,
                Attribution::Last => oracle::Attribution::Last,
            },
        };
        let answer = match expected.query.get("compare") {
            None => oracle::answer_with(&tables, &request, definitions),
            Some(earlier) => {
                let earlier = match earlier.as_str().unwrap() {
                    "previous-period" => oracle::Earlier::PreviousPeriod,
                    other => panic!("{}: {other}", expected.name),
                };
                oracle::compared(&tables, &request, definitions, earlier, &[], None)
            }
        };
        assert_rows("oracle", &expected, &answer.unwrap_or_else(|why| panic!("{}: {why}", expected.name)));
    }
}

#[test]
fn the_engine_agrees_with_the_worked_example() {
    // One customer per row group, and everything in one row group.
    for row_group_rows in [1, 65_536] {
        let mut dataset = engine_dataset(row_group_rows);
        for (asked, definitions) in [(all().collect(), None), (defined().0, Some(definitions()))] {
            if let Some(definitions) = definitions {
                dataset = dataset.with_definitions(definitions).unwrap();
            }
            for expected in asked {
                let query = engine_query(&expected, dataset.definitions());
                let table = dataset.query(&query).unwrap_or_else(|why| panic!("{}: {why}", expected.name));
                let mut answer = Vec::new();
                trueup::json::write_rows(&table, &mut answer).unwrap();
                assert_rows("engine", &expected, &String::from_utf8(answer).unwrap());
            }
        }
    }
}

fn engine_dataset(row_group_rows: usize) -> Dataset {
    let dataset = Dataset::from_tables(&Tables {
        events: vec![read("events.csv")],
        spend: vec![read("spend.csv")],
        accounts: vec![read("accounts.csv")],
        targets: Vec::new(),
        row_group_rows,
    });
    dataset.unwrap()
}

#[test]
fn the_lines_behind_numbers_of_the_worked_example_are_those_computed_by_hand() {
    let dataset = engine_dataset(4).with_definitions(definitions()).unwrap();
    let (_, defined) = defined();
    assert!(!defined.is_empty());
    for expected in expected_in("why").into_iter().chain(defined) {
        let mut question = WhyQuery::new(engine_query(&expected, dataset.definitions()));
        for (column, value) in expected.query["row"].as_object().unwrap() {
            question = question.value(column, value.as_str().unwrap());
        }
        let why = dataset.why(&question, Execution::default());
        let why = why.unwrap_or_else(|fault| panic!("{}: {fault}", expected.name));
        let mut lines = Vec::new();
        trueup::json::write_rows(why.lines(), &mut lines).unwrap();
        assert_rows("engine", &expected, &String::from_utf8(lines).unwrap());
    }
}

fn engine_query(expected: &Expected, definitions: &Definitions) -> EventsQuery {
    let (start, end) = (expected.text("start").parse().unwrap(), expected.text("end").parse().unwrap());
    let interval: Interval = expected.text("interval").parse().unwrap();
    let query = EventsQuery::new(expected.texts("fields").unwrap(), start, end).interval(interval);
    let query = query.attribution(expected.attribution());
    // As the service does.
    let mut query = query.allow_unknown(true);
    if let Some(keys) = expected.texts("accounts") {
        query = query.accounts(keys);
    }
    if let Some(within) = expected.within() {
        query = query.cohort(within);
    }
    if let Some(earlier) = expected.query.get("compare") {
        query = query.compare(earlier.as_str().unwrap().parse().unwrap());
    }
    query = trueup::filter::apply(query.definitions(definitions), &expected.parameters()).unwrap();
    if let Some(text) = expected.across() {
        query = query.filter(trueup::filter::from_json(text).unwrap());
    }
    query
}

#[test]
fn the_service_agrees_with_the_worked_example() {
    let platform = Platform::new();
    let mut asked: Vec<Expected> = all().collect();
    for _ in 0..2 {
        for expected in asked {
            let path = path(&expected);
            let response = platform.get("anna", &path);
            assert_eq!(response.status, 200, "{path}");
            assert_rows("service", &expected, &String::from_utf8(response.body).unwrap());
        }
        define(&platform);
        (asked, _) = defined();
    }
}

/// Gives the dataset of a platform what `definitions.toml` defines.
fn define(platform: &Platform) {
    let dataset = trueup::Dataset::open(platform.dataset()).unwrap();
    platform.service.replace_dataset(Arc::new(dataset.with_definitions(definitions()).unwrap()));
}

#[test]
fn the_service_explains_numbers_of_the_worked_example() {
    let platform = Platform::new();
    define(&platform);
    let definitions = definitions();
    for expected in expected_in("why").into_iter().chain(defined().1) {
        // Names that are no metrics are refused.
        let fields = expected.texts("fields").unwrap();
        let is_metric =
            |name: &String| trueup::dictionary::metric(name).is_some() || definitions.metric(name).is_some();
        let metrics = fields.into_iter().filter(is_metric).collect::<Vec<_>>();
        let row = encoded(&expected.query["row"].to_string());
        let path = format!("{}&why={}&row={row}", path(&expected), metrics.join(","));
        let response = platform.get("anna", &path);
        let body = String::from_utf8(response.body).unwrap();
        assert_eq!(response.status, 200, "{path}: {body}");
        // The lines are the last member. Measures have a number of lines, and no list.
        let (_, lines) = body.split_once(r#""lines":["#).unwrap();
        assert_rows("service", &expected, &format!("[{}", lines.strip_suffix('}').unwrap()));
    }
}

/// Returns the path and the query string of a request.
fn path(expected: &Expected) -> String {
    let mut path = format!("/api/acme/events?fields={}", encoded(&expected.texts("fields").unwrap().join(",")));
    for name in ["start", "end", "interval"] {
        write!(path, "&{name}={}", encoded(expected.text(name))).unwrap();
    }
    if let Some(within) = expected.query.get("cohort") {
        write!(path, "&cohort=true&within={}", within.as_str().unwrap()).unwrap();
    }
    if let Some(earlier) = expected.query.get("compare") {
        write!(path, "&compare={}", earlier.as_str().unwrap()).unwrap();
    }
    if let Some(attribution) = expected.query.get("attribution") {
        write!(path, "&attribution={}", attribution.as_str().unwrap()).unwrap();
    }
    if let Some(accounts) = expected.texts("accounts") {
        write!(path, "&accounts={}", encoded(&accounts.join(","))).unwrap();
    }
    for (field, value) in expected.parameters() {
        write!(path, "&{field}={}", encoded(&value)).unwrap();
    }
    if let Some(text) = expected.across() {
        write!(path, "&filter={}", encoded(text)).unwrap();
    }
    path
}

#[test]
fn every_metric_is_in_the_worked_example() {
    let all = expected().into_iter().chain(expected_in("durations"));
    let asked: BTreeSet<String> = all.flat_map(|expected| expected.texts("fields").unwrap()).collect();
    let metrics = oracle::METRICS.map(str::to_owned).into_iter().chain(oracle::duration_metrics());
    let missing: Vec<String> = metrics.filter(|metric| !asked.contains(metric)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// Microseconds since 1970-01-01 UTC.
fn micros_of_time(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_micros()
}

/// Millionths of a currency unit.
fn micros_of_money(text: &str) -> i64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 6, "{text}");
    format!("{whole}{fraction:0<6}").parse().unwrap()
}

/// Reads the tables as rows of the oracle.
fn oracle_tables() -> oracle::Tables {
    let event = |mut row: BTreeMap<String, String>| oracle::EventRow {
        account: row.remove("account").unwrap(),
        opportunity_id: row.remove("opportunityId").unwrap(),
        kind: row.remove("type").unwrap(),
        date: row.remove("date").map(|text| date(&text)),
        date_time: row.remove("dateTime").map(|text| micros_of_time(&text)),
        event_id: row.remove("eventId"),
        total: row.remove("total").map(|text| micros_of_money(&text)),
        other: row.into_iter().map(|(name, text)| (name, oracle::Cell::Text(text))).collect(),
    };
    let spend = |mut row: BTreeMap<String, String>| oracle::SpendRow {
        account: row.remove("account").unwrap(),
        date: date(&row.remove("date").unwrap()),
        attribution_category: row.remove("attributionCategory"),
        attribution_channel: row.remove("attributionChannel"),
        campaign: row.remove("campaign"),
        ad_spend: row.remove("adSpend").map(|text| micros_of_money(&text)),
        management_fee: row.remove("managementFee").map(|text| micros_of_money(&text)),
        clicks: row.remove("clicks").map(|text| text.parse().unwrap()),
        impressions: row.remove("impressions").map(|text| text.parse().unwrap()),
    };
    let account = |mut row: BTreeMap<String, String>| oracle::AccountRow {
        account: row.remove("account").unwrap(),
        account_name: row.remove("accountName"),
        industry: row.remove("industry"),
        time_zone: row.remove("timeZone").unwrap(),
        lead_grading: row.remove("leadGrading").unwrap() == "true",
        currency: row.remove("currency"),
    };
    oracle::Tables {
        events: rows(&read("events.csv")).into_iter().map(event).collect(),
        spend: rows(&read("spend.csv")).into_iter().map(spend).collect(),
        accounts: rows(&read("accounts.csv")).into_iter().map(account).collect(),
    }
}

/// Returns the rows of a table of texts, each by column name and without its nulls.
fn rows(batch: &RecordBatch) -> Vec<BTreeMap<String, String>> {
    let schema = batch.schema();
    let row = |row: usize| {
        let cells = schema.fields().iter().zip(batch.columns());
        let present = cells.filter(|(_, column)| column.is_valid(row));
        present.map(|(field, column)| (field.name().clone(), column.as_string::<i32>().value(row).to_owned())).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}
