//! Answers as Parquet have the rows of the answers as JSON, and errors stay JSON.

use crate::platform::{Platform, Received, Rival};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::LazyLock;
use std::time::Duration;
use trueup::query::EventsQuery;
use trueup::service::{Chunk, Limits, Request};
use trueup::{Execution, MemoryBudget};
use trueup_testkit::random::Random;

static PLATFORM: LazyLock<Platform> = LazyLock::new(Platform::new);

const DAYS: &str = "start=2025-01-01&end=2025-03-31";
const PARQUET: &str = "application/vnd.apache.parquet";

fn request(platform: &Platform, user: &str, path: &str, accept: &str) -> Request {
    Request {
        authorization: Some(platform.secret(&format!("<{user}>"))),
        accept: Some(accept.to_owned()),
        ..Request::get(path)
    }
}

fn ask(platform: &Platform, path: &str) -> Received {
    platform.ask(&request(platform, "anna", path, PARQUET))
}

fn batches(file: &[u8]) -> Vec<RecordBatch> {
    let mut written = tempfile::tempfile().unwrap();
    written.write_all(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(written).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// Returns the value of a row as JSON: numbers are doubles.
fn value(column: &dyn Array, row: usize) -> Json {
    if column.is_null(row) {
        return Json::Null;
    }
    match column.data_type() {
        DataType::Date32 => {
            let day = u16::try_from(column.as_primitive::<Date32Type>().value(row)).unwrap();
            json!(trueup::Day::from_number(day).to_string())
        }
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        DataType::UInt64 => json!(column.as_primitive::<UInt64Type>().value(row).to_string().parse::<f64>().unwrap()),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row).to_string().parse::<f64>().unwrap()),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(38, 6) => json!(trueup::money::to_f64(column.as_primitive::<Decimal128Type>().value(row))),
        other => panic!("{other}"),
    }
}

fn rows(file: &[u8]) -> Vec<Map<String, Json>> {
    let of_batch = |batch: &RecordBatch| {
        let schema = batch.schema();
        let row = |row| {
            let cells = schema.fields().iter().zip(batch.columns());
            cells.map(|(field, column)| (field.name().clone(), value(column, row))).collect()
        };
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    batches(file).iter().flat_map(of_batch).collect()
}

/// Returns the rows of an answer as JSON: numbers are doubles.
fn expected(body: &[u8]) -> Vec<Map<String, Json>> {
    let mut rows: Vec<Map<String, Json>> = serde_json::from_slice(body).unwrap();
    for number in rows.iter_mut().flat_map(Map::values_mut).filter(|value| value.is_number()) {
        *number = json!(number.as_f64());
    }
    rows
}

/// JSON has 0 for a ratio over nothing, as the service that trueup mirrors, unless the request asks for null.
#[test]
fn json_may_have_null_for_a_ratio_over_nothing() {
    let path = format!("/api/acme/events?fields=campaign,leads,bookRate,avgCostPerLead,medianDaysLeadToSold&{DAYS}");
    let body = |accept: &str| {
        let request = request(&PLATFORM, "anna", &path, accept);
        PLATFORM.ask(&Request { accept_encoding: Some("identity".to_owned()), ..request }).body
    };
    let plain = String::from_utf8(body("application/json")).unwrap();
    let with_nulls = String::from_utf8(body("application/json; over-nothing=null")).unwrap();
    assert!(with_nulls.contains("\"avgCostPerLead\":null") && !plain.contains("null"), "{with_nulls}");
    assert_eq!(with_nulls.replace("null", "0"), plain);
}

#[test]
fn the_file_has_the_rows_of_the_answer_as_json() {
    for (query, nulls) in [
        ("fields=leads", false),
        ("fields=account,campaign,leads,bookRate,spend,closedRevenue&interval=month", false),
        ("fields=date,opportunityId,eventCount,total", false),
        ("fields=campaign,leads,spend,bookRate&compare=2024-10-01..2024-12-31", true),
        ("fields=campaign,leads,openLeads&cohort=true&within=30d", false),
        ("fields=campaign,leads&campaign=nobody", false),
        ("fields=campaign,leads,avgDaysLeadToSold,medianDaysLeadToSold", false),
    ] {
        let path = format!("/api/acme/events?{query}&{DAYS}");
        let (file, json) = (ask(&PLATFORM, &path), PLATFORM.get("anna", &path));
        assert_eq!((file.status, json.status), (200, 200), "{path}");
        assert_eq!(rows(&file.body), expected(&json.body), "{path}");
        assert_eq!(rows(&file.body).iter().any(|row| row.values().any(Json::is_null)), nulls, "{path}");
    }
}

#[test]
fn the_file_is_the_one_that_the_library_writes() {
    let [start, end] = ["2025-01-01", "2025-03-31"].map(|day| day.parse().unwrap());
    let query = EventsQuery::new(["campaign", "leads", "spend"], start, end).accounts(["north", "south", "west"]);
    let table = PLATFORM.service.dataset().run(&query, Execution::default()).unwrap();
    let mut file = Vec::new();
    table.write_parquet(&mut file, |_| Ok::<(), std::io::Error>(())).unwrap();
    assert_eq!(ask(&PLATFORM, &format!("/api/acme/events?fields=campaign,leads,spend&{DAYS}")).body, file);
}

#[test]
fn headers_name_the_type_and_the_file() {
    let path = format!("/api/acme/events?fields=nobodysColumn,leads&{DAYS}");
    let file = ask(&PLATFORM, &path);
    let of = |response: &Received, name: &str| response.header(name).map(str::to_owned);
    assert_eq!(of(&file, "Content-Type").as_deref(), Some(PARQUET));
    assert_eq!(
        of(&file, "Content-Disposition").as_deref(),
        Some("attachment; filename=\"events-2025-01-01-2025-03-31.parquet\"")
    );
    assert_eq!(of(&file, "Vary").as_deref(), Some("Accept, Accept-Encoding"));
    assert_eq!(of(&file, "Trueup-Unknown-Fields").as_deref(), Some("nobodysColumn"));
    // The pages of the file are compressed, and the file is not compressed once more.
    assert_eq!(of(&file, "Content-Encoding"), None);
    let bare = PLATFORM.get("anna", &path);
    for accept in ["*/*", "application/json", "text/html", ""] {
        let request =
            Request { accept_encoding: Some("identity".to_owned()), ..request(&PLATFORM, "anna", &path, accept) };
        let response = PLATFORM.ask(&request);
        assert_eq!((response.status, &response.headers, &response.body), (bare.status, &bare.headers, &bare.body));
    }
    // The other endpoints have no rows to put into a file.
    for path in ["/api", "/api/acme/insights"] {
        assert_eq!(of(&ask(&PLATFORM, path), "Content-Type").as_deref(), Some("application/json; charset=utf-8"));
    }
}

#[test]
fn the_file_of_an_explanation_has_its_lines() {
    let path = format!(
        "/api/acme/events?fields=campaign,closedRevenue,leads&{DAYS}&row=campaign=Drains&why=closedRevenue,leads"
    );
    let (file, json) = (ask(&PLATFORM, &path), PLATFORM.get("anna", &path));
    let json: Json = serde_json::from_slice(&json.body).unwrap();
    assert_eq!(rows(&file.body), expected(json["lines"].to_string().as_bytes()));
    assert!(!rows(&file.body).is_empty());
    let name = "attachment; filename=\"why-2025-01-01-2025-03-31.parquet\"";
    assert_eq!(file.header("Content-Disposition"), Some(name));
}

#[test]
fn errors_and_limits_are_those_of_the_answer_as_json() {
    let refused = |platform: &Platform, query: &str| {
        let path = format!("/api/acme/events?{query}&{DAYS}");
        let (response, json) = (ask(platform, &path), platform.get("anna", &path));
        assert_eq!(response.header("Content-Type"), Some("application/json; charset=utf-8"), "{path}");
        assert_eq!(response.header("Content-Disposition"), None);
        let identity =
            Request { accept_encoding: Some("identity".to_owned()), ..request(platform, "anna", &path, PARQUET) };
        assert_eq!(platform.ask(&identity).body, json.body, "{path}");
        response.status
    };
    assert_eq!(refused(&PLATFORM, "fields=campaign"), 400);
    assert_eq!(refused(&PLATFORM, "fields=campaign,leads&why=leads&row=campaign=Boilers"), 400);
    assert_eq!(refused(&PLATFORM, "fields=leads&account=rival-1"), 404);
    let with = |limits: Limits| Platform::with(&Rival::default(), |builder| builder.limits(limits));
    assert_eq!(refused(&with(Limits { rows: 4, ..Limits::default() }), "fields=date,leads"), 400);
    assert_eq!(refused(&with(Limits { deadline: Duration::ZERO, ..Limits::default() }), "fields=leads"), 504);
}

/// Customers with ids that hardly compress.
fn many_customers(count: u64) -> Rival {
    let mut events = String::new();
    let mut random = Random::new(1);
    for _ in 0..count {
        let id = random.below(u64::MAX);
        writeln!(events, "rival-1,{id:016x},lead-originated,2025-01-05,,,,New Customer,,Advertising,Search Ads,A,,")
            .unwrap();
    }
    Rival { events, ..Rival::default() }
}

#[test]
fn a_large_file_comes_in_chunks() {
    let platform = Platform::with(&many_customers(70_000), |builder| builder);
    let path = format!("/api/rival-1/events?fields=opportunityId,leads&{DAYS}");
    let response = platform.service.handle(&request(&platform, "rita", &path, PARQUET));
    let chunks: Vec<Chunk> = response.body.map(Result::unwrap).collect();
    assert!(chunks.len() > 2, "{}", chunks.len());
    let json = platform.get("rita", &path);
    assert_eq!(rows(&chunks.concat()), expected(&json.body));
}

#[test]
fn a_file_for_which_there_is_no_room_is_refused_and_gives_its_memory_back() {
    let rival = many_customers(3_000);
    let path = format!("/api/rival-1/events?fields=opportunityId,leads&{DAYS}");
    let whole = Platform::with(&rival, |builder| builder);
    let whole = whole.ask(&request(&whole, "rita", &path, PARQUET));
    let (mut refused, mut answered) = (0, 0);
    for budget in (14..24).map(|power| 1_usize << power) {
        let memory = MemoryBudget::new(budget);
        let limits = Limits { memory_wait: Duration::ZERO, ..Limits::default() };
        let platform = Platform::with(&rival, |builder| builder.memory(memory.clone()).limits(limits));
        let idle = memory.held();
        let response = platform.ask(&request(&platform, "rita", &path, PARQUET));
        assert!(memory.peak() <= budget, "{budget}");
        match response.status {
            200 => {
                assert_eq!(response.body, whole.body, "{budget}");
                // What is held now are columns of the dataset, which are dropped if there is no room.
                assert!(memory.peak() - idle >= response.body.len(), "{budget}");
                answered += 1;
            }
            status => {
                let body = String::from_utf8_lossy(&response.body);
                assert!(matches!(status, 400 | 503), "{budget}: {status} {body}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && answered > 0, "{refused} {answered}");
}
