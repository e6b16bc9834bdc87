//! Times without an offset: refused unless the mapping or the ingest says what time zone they are in.

use crate::case::Case;
use crate::files::parquet;
use crate::values::events_with;
use arrow_array::{ArrayRef, StringArray, TimestampMicrosecondArray};
use std::path::Path;
use std::sync::Arc;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::{Ingest, InputLocation, Rule};

/// A mapping of events with the key `dateTime` as given, of the accounts `ny` in New York and `x` without a zone.
fn mapping(date_time: &str) -> String {
    format!(
        "[input.log]\nfile = \"log.csv\"\n[[events]]\nfrom = \"log\"\n[events.columns]\naccount = \"account\"\n\
         opportunityId = \"id\"\ntype = \"stage\"\ndateTime = {date_time}\nsource = \"source\"\n\
         [[accounts]]\ncolumns = {{ account = {{ value = \"ny\" }}, timeZone = {{ value = \"America/New_York\" }} }}\n"
    )
}

const HEADER: &str = "account,id,stage,t,source\n";

fn case(date_time: &str, rows: &str) -> Case {
    Case::new(&mapping(date_time)).file("log.csv", format!("{HEADER}{rows}"))
}

/// Ingests with the option, and returns each event's customer, date and point in time.
fn ingested(case: &Case, zone: Option<&str>) -> Vec<[String; 3]> {
    let ingest = case.ingest();
    let ingest = zone.into_iter().fold(ingest, |ingest, zone| ingest.time_zone(zone.parse().unwrap()));
    ingest.run().unwrap();
    events(&case.path("dataset"))
}

fn events(dataset: &Path) -> Vec<[String; 3]> {
    let names = ["opportunityId", "date", "dateTime"];
    let query = EventsQuery::new(
        [&names[..], &["eventCount"]].concat(),
        "2025-01-01".parse().unwrap(),
        "2025-12-31".parse().unwrap(),
    );
    let table = Dataset::open(dataset).unwrap().query(&query.allow_long_total()).unwrap();
    let text = |row, name: &str| match table.value(row, name) {
        Some(Value::Text(text)) => text.to_owned(),
        other => panic!("`{name}` is {other:?}"),
    };
    (0..table.len()).map(|row| names.map(|name| text(row, name))).collect()
}

#[test]
fn a_time_without_an_offset_is_refused_unless_its_time_zone_is_stated() {
    let rows = "ny,1,sold,2025-07-01T10:00:00Z,\nny,2,sold,2025-07-01 22:30,\nx,3,sold,2025-07-01T10:00:00,\n";
    let case = case("\"t\"", rows);
    let error = case.ingest().run().unwrap_err();
    assert_eq!(
        error.to_string().replace(case.path("").to_str().unwrap(), ""),
        "`log.csv`, line 3, column `t`: expected a point in time with an offset, such as `2025-01-31T09:30:00-05:00`, or the \
         mapping's key `time_zone`, or one of `--time-zone account` (the time zone of each account), `--time-zone UTC` and \
         `--time-zone America/New_York` (or any other), but found `2025-07-01 22:30` (mapping key `events[0].columns.dateTime`); \
         1 more row breaks a rule"
    );
    let (_, row) = error.row().unwrap();
    assert_eq!((row.column(), row.value()), (Some("t"), Some("2025-07-01 22:30")));
    assert_eq!(row.location(), InputLocation::Line(3));
    assert!(matches!(row.rule(), Rule::Mapping { key, .. } if key == "events[0].columns.dateTime"));
    // The library's `Mapping::run` has no option.
    assert!(case.refusal().starts_with("`log.csv`, line 3, column `t`: expected a point in time with an offset"));
}

#[test]
fn the_option_says_how_times_without_an_offset_are_read() {
    let rows = "ny,1,sold,2025-07-01T10:00:00Z,\nny,2,sold,2025-07-01 22:30,\nx,3,sold,2025-07-01T22:30:00,\n";
    let zoned = ["1", "2025-07-01", "2025-07-01T10:00:00Z"];
    let utc = [["2", "2025-07-01", "2025-07-01T22:30:00Z"], ["3", "2025-07-01", "2025-07-01T22:30:00Z"]];
    let berlin = [["2", "2025-07-01", "2025-07-01T20:30:00Z"], ["3", "2025-07-01", "2025-07-01T20:30:00Z"]];
    let account = [["2", "2025-07-01", "2025-07-02T02:30:00Z"], ["3", "2025-07-01", "2025-07-01T22:30:00Z"]];
    for (zone, clocks) in [("UTC", utc), ("Europe/Berlin", berlin), ("account", account)] {
        let found = ingested(&case("\"t\"", rows), Some(zone));
        assert_eq!(found, [zoned, clocks[0], clocks[1]].map(|row| row.map(str::to_owned)), "{zone}");
    }
}

#[test]
fn the_key_of_the_mapping_has_precedence_over_the_option() {
    let chicago = "{ column = \"t\", format = \"%Y-%m-%d %H:%M\", time_zone = \"America/Chicago\" }";
    for zone in [None, Some("UTC"), Some("account")] {
        let found = ingested(&case(chicago, "x,1,sold,2025-07-01 22:30,\n"), zone);
        assert_eq!(found, [["1", "2025-07-02", "2025-07-02T03:30:00Z"].map(str::to_owned)], "{zone:?}");
    }
    // Formats and defaults make clock times, too.
    let german = "{ column = \"t\", format = \"%d.%m.%Y %H:%M\", default = \"02.07.2025 08:00\" }";
    let found = ingested(&case(german, "ny,1,sold,01.07.2025 22:30,\nny,2,sold,,\n"), Some("account"));
    assert_eq!(times(found), ["2025-07-02T02:30:00Z", "2025-07-02T12:00:00Z"]);
}

/// Returns the points in time.
fn times(events: Vec<[String; 3]>) -> Vec<String> {
    events.into_iter().map(|[_, _, time]| time).collect()
}

#[test]
fn a_time_that_clocks_of_the_account_skip_is_refused() {
    let case = case("\"t\"", "x,1,sold,2025-03-09 02:30,\nny,2,sold,2025-03-09 02:30,\n");
    let rejects = case.path("rejects.ndjson");
    let ingest = || case.ingest().time_zone("account".parse().unwrap());
    let error = ingest().run().unwrap_err().to_string();
    assert!(
        error.contains(
            "line 3, column `t`: expected a time that exists in America/New_York, where clocks skip this one"
        ),
        "{error}"
    );
    assert_eq!(ingest().rejects(&rejects).run().unwrap().events.taken, 1);
}

/// Equal texts are read once, but are different points in time for different accounts. A row without an account has a
/// fault of that column, and none of its time.
#[test]
fn equal_clock_times_of_accounts_are_different_points_in_time() {
    let mut rows = String::new();
    for id in 0..3_000 {
        rows += &format!("{},{id:04},sold,2025-07-01 10:00,\n", if id % 2 == 0 { "ny" } else { "x" });
    }
    let found = times(ingested(&case("\"t\"", &rows), Some("account")));
    let expected = |at: usize| if at.is_multiple_of(2) { "2025-07-01T14:00:00Z" } else { "2025-07-01T10:00:00Z" };
    assert!(found.len() == 3_000 && found.iter().enumerate().all(|(at, time)| time == expected(at)));
    let case = case("\"t\"", "x,1,sold,2025-07-01 10:00,\n,2,sold,2025-07-01 10:00,\n");
    let error = case.ingest().time_zone("account".parse().unwrap()).run().unwrap_err().to_string();
    assert!(error.contains("line 3, column `account`: expected a value, but found nothing"), "{error}");
}

/// The order of conversions is that of their points in time.
#[test]
fn credit_goes_to_the_first_point_in_time() {
    let rows = "ny,1,lead-originated,2025-07-01T13:00:00Z,first\nny,1,lead-originated,2025-07-01 10:00,second\n";
    let mapping = mapping("\"t\"") + "[first_touch]\ncopy = [\"source\"]\n";
    let case = Case::new(&mapping).file("log.csv", format!("{HEADER}{rows}"));
    case.ingest().time_zone("account".parse().unwrap()).run().unwrap();
    let query =
        EventsQuery::new(["source", "eventCount"], "2025-07-01".parse().unwrap(), "2025-07-01".parse().unwrap());
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    assert_eq!((table.len(), table.value(0, "source")), (1, Some(Value::Text("first"))));
}

/// A wide row without a stage's time is no event of the stage, whatever the account.
#[test]
fn stages_without_a_time_need_no_account() {
    let mapping = "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\n\
                   columns = { account = \"account\", opportunityId = \"id\" }\n\
                   [events.stages]\nsold = { dateTime = \"t\" }\n";
    let case = Case::new(mapping).file("a.csv", "account,id,t\n,1,\nx,2,2025-07-01 10:00\n");
    assert_eq!(times(ingested(&case, Some("account"))), ["2025-07-01T10:00:00Z"]);
}

#[test]
fn timestamps_without_a_time_zone_are_clock_times() {
    let stamps = |micros: i64| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![Some(micros), None])) };
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["1", "2"]));
    let mapping = events_with("date = { value = \"2025-07-01\" }\ndateTime = \"t\"\n").replace("a.csv", "a.parquet");
    let mapping = mapping.replace("{ value = \"x\" }", "{ value = \"ny\" }")
        + "[[accounts]]\ncolumns = { account = { value = \"ny\" }, timeZone = { value = \"America/New_York\" } }\n";
    let ten = 1_751_364_000_000_000;
    let case = Case::new(&mapping).file("a.parquet", parquet([("id", ids.clone()), ("t", stamps(ten))]));
    let error = case.ingest().run().unwrap_err().to_string();
    assert!(error.contains("row 1, column `t`: expected a point in time with an offset"), "{error}");
    assert!(error.contains("but found `2025-07-01 10:00:00` (mapping key"), "{error}");
    assert_eq!(times(ingested(&case, Some("account"))), ["2025-07-01T14:00:00Z", ""]);
    // A timestamp beyond the calendar is refused, and not taken for no time.
    let far = Case::new(&mapping).file("a.parquet", parquet([("id", ids), ("t", stamps(i64::MAX))]));
    let error = far.ingest().time_zone("account".parse().unwrap()).run().unwrap_err().to_string();
    assert!(error.contains("row 1, column `t`: expected a point in time from 1970-01-01"), "{error}");
}

#[test]
fn a_constant_time_needs_a_time_zone_too() {
    let run = |source: &str, zone: Option<&str>| {
        let case = Case::new(&events_with(&format!("dateTime = {source}"))).file("a.csv", "id\n1\n");
        let ingest: Ingest =
            zone.into_iter().fold(case.ingest(), |ingest, zone| ingest.time_zone(zone.parse().unwrap()));
        ingest.run().map(|_| times(events(&case.path("dataset")))).map_err(|error| error.to_string())
    };
    let clock = "{ value = \"2025-07-01T10:00:00\" }";
    assert_eq!(run(clock, Some("UTC")), Ok(vec!["2025-07-01T10:00:00Z".to_owned()]));
    let refused = run(clock, None).unwrap_err();
    assert!(
        refused
            .contains("key `events[0].columns.dateTime`, value `2025-07-01T10:00:00`: expected a point in time with"),
        "{refused}"
    );
    let refused = run(clock, Some("account")).unwrap_err();
    assert!(refused.contains("expected a time with an offset, because it is the same for every account"), "{refused}");
    let zoned = "{ value = \"2025-07-01T10:00:00\", time_zone = \"Europe/Berlin\" }";
    assert_eq!(run(zoned, Some("account")), Ok(vec!["2025-07-01T08:00:00Z".to_owned()]));
}
