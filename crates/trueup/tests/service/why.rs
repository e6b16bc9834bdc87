//! `why=` answers as the library explains the same row, over the accounts that the key reaches.

use crate::platform::{Platform, Received, Rival, encoded};
use serde_json::{Value as Json, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use trueup::definitions::Definitions;
use trueup::dictionary::{self, FieldKind, Formula};
use trueup::query::{EventsQuery, Interval, WhyQuery};
use trueup::service::Limits;
use trueup::{Dataset, Execution, Value, Why};

static PLATFORM: LazyLock<Platform> = LazyLock::new(Platform::new);

const DAYS: &str = "start=2025-01-01&end=2025-03-31";
const ACME: [&str; 3] = ["north", "south", "west"];

fn parsed(response: &Received) -> Json {
    assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    serde_json::from_slice(&response.body).unwrap()
}

fn quarter(fields: &str) -> EventsQuery {
    let [start, end] = ["2025-01-01", "2025-03-31"].map(|day| day.parse().unwrap());
    EventsQuery::new(fields.split(','), start, end).allow_unknown(true)
}

fn library(dataset: &Dataset, question: &WhyQuery) -> Why {
    dataset.why(question, Execution::default()).unwrap()
}

/// Returns what the service should answer, from the library's own explanation.
fn expected(why: &Why) -> Json {
    let mut lines = Vec::new();
    trueup::json::write_rows(why.lines(), &mut lines).unwrap();
    let number = |value: Value<'_>| value.as_f64().unwrap();
    let metric = |metric: &trueup::ExplainedMetric| json!({"metric": metric.name, "value": number(metric.value), "formula": metric.formula});
    let measure = |measure: &trueup::ExplainedMeasure| {
        let name = measure.measure.name();
        let is_listed = |row: &usize| why.lines().value(*row, "measure") == Some(Value::Text(name));
        let listed = (0..why.lines().len()).filter(is_listed).count() as u64;
        let format = if matches!(measure.sum, Value::Money(_)) { "currency" } else { "number" };
        let (sum, lines) = (number(measure.sum), measure.lines);
        json!({"measure": name, "format": format, "sum": sum, "lines": lines, "leftOut": lines - listed})
    };
    json!({
        "start": why.range.start.to_string(),
        "end": why.range.end.to_string(),
        "row": why.row.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "metrics": why.metrics.iter().map(metric).collect::<Vec<_>>(),
        "measures": why.measures.iter().map(measure).collect::<Vec<_>>(),
        "lines": serde_json::from_slice::<Json>(&lines).unwrap(),
    })
}

/// Compares JSON whose whole numbers may be written as doubles.
fn assert_same(found: &Json, expected: &Json, who: &str) {
    fn doubles(value: &Json) -> Json {
        match value {
            Json::Number(number) => json!(number.as_f64()),
            Json::Array(list) => list.iter().map(doubles).collect(),
            Json::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), doubles(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
    assert_eq!(doubles(found), doubles(expected), "{who}");
}

/// Returns all metrics except percentiles, which cannot be explained, and except metrics that only cohorts have.
fn explainable() -> Vec<&'static str> {
    let is_explainable = |kind: &FieldKind| match kind {
        FieldKind::Metric(metric) => !matches!(metric.formula, Formula::Percentile { .. }),
        _ => false,
    };
    let fields = dictionary::fields().chain(dictionary::duration_fields());
    fields.filter(|field| is_explainable(&field.kind)).map(|field| field.name).collect()
}

#[test]
fn every_metric_but_percentiles_is_explained_as_by_the_library() {
    let dataset = PLATFORM.service.dataset();
    let metrics = explainable();
    assert!(metrics.len() > 60, "{}", metrics.len());
    for metric in metrics {
        let fields = format!("campaign,{metric}");
        let path = format!("/api/acme/events?fields={fields}&{DAYS}&interval=month");
        let rows = parsed(&PLATFORM.get("anna", &path));
        for row in rows.as_array().unwrap().iter().take(4) {
            let path = format!("{path}&why={metric}&lines=2&row={}", encoded(&row.to_string()));
            let found = parsed(&PLATFORM.get("anna", &path));
            let question =
                WhyQuery::new(quarter(&fields).interval(Interval::Month).accounts(ACME)).metric(metric).limit(2);
            let question = ["campaign", "start"]
                .iter()
                .fold(question, |question, name| question.value(*name, row[*name].as_str().unwrap()));
            assert_same(&found, &expected(&library(&dataset, &question)), &path);
            assert_eq!(found["metrics"][0]["value"], row[metric], "{path}");
        }
    }
}

#[test]
fn a_row_may_be_given_value_by_value_and_a_limit_leaves_lines_out() {
    let path = format!("/api/acme/events?fields=campaign,bookRate,leads&{DAYS}&why=bookRate,leads");
    let whole = parsed(&PLATFORM.get("anna", &format!("{path}&row=campaign=Drains")));
    let names = |list: &Json, key: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&whole["metrics"], "metric"), ["bookRate", "leads"]);
    assert_eq!(names(&whole["measures"], "measure"), ["bookedCustomers", "customers", "leads"]);
    let none = parsed(&PLATFORM.get("anna", &format!("{path}&row=campaign%3DDrains&lines=0")));
    assert_eq!((&none["lines"], &none["metrics"]), (&json!([]), &whole["metrics"]));
    assert_eq!(none["measures"][0]["leftOut"], none["measures"][0]["lines"]);
    assert_eq!(whole["measures"][0]["leftOut"], 0);
}

#[test]
fn cohorts_and_filters_and_accounts_count_as_in_the_question() {
    let dataset = PLATFORM.service.dataset();
    let cohort = "&cohort=true&within=30d";
    for (more, query) in [
        (cohort, quarter("leads,closedRevenue,openLeads").cohort("30d".parse().unwrap()).accounts(ACME)),
        ("&account=north", quarter("leads,closedRevenue").accounts(["north"])),
        (
            "&campaign=Drains",
            quarter("leads,closedRevenue").filter(trueup::query::Filter::equals("campaign", "Drains")).accounts(ACME),
        ),
    ] {
        let fields = if more == cohort { "leads,closedRevenue,openLeads" } else { "leads,closedRevenue" };
        let path = format!("/api/acme/events?fields={fields}&{DAYS}{more}&why={fields}");
        let found = parsed(&PLATFORM.get("anna", &path));
        let question = fields.split(',').fold(WhyQuery::new(query), WhyQuery::metric);
        assert_same(&found, &expected(&library(&dataset, &question)), &path);
    }
}

#[test]
fn a_comparison_explains_the_change() {
    let february = "fields=campaign,bookRate&start=2025-02-01&end=2025-02-28&compare=previous-period";
    let path =
        format!("/api/acme/events?{february}&account=north&account=south&why=bookRate&row=campaign=Drains&lines=1");
    let found = parsed(&PLATFORM.get("anna", &path));
    assert_eq!([&found["previousStart"], &found["previousEnd"]], ["2025-01-01", "2025-01-31"]);
    let third = 1.0 / 3.0;
    let class = |name: &str, [previous, value]: [Option<f64>; 2], [rate, mix]: [f64; 2]| {
        let customers = if name == "current" { 2 } else { 1 };
        json!({"class": name, "customers": customers, "previous": previous, "value": value, "rateEffect": rate, "mixEffect": mix})
    };
    let mut classes = vec![
        class("current", [None, Some(0.5)], [0.0, -1.0 / 9.0]),
        class("previous", [Some(1.0), None], [0.0, -1.0 / 6.0]),
        class("changed", [Some(1.0), Some(0.0)], [-5.0 / 12.0, 1.0 / 36.0]),
    ];
    classes.push(json!({
        "class": "unchanged", "customers": 0, "previous": null, "value": null, "rateEffect": 0, "mixEffect": 0,
    }));
    let metric = json!({
        "metric": "bookRate", "value": third, "formula": "bookedCustomers / customers", "previous": 1, "change": -2.0 / 3.0,
        "classes": classes,
    });
    assert_same(&found["metrics"], &json!([metric]), &path);
    let class = |name: &str, counted: u64, [sum, previous]: [i64; 2], lines: u64| {
        let left_out = lines.saturating_sub(1);
        json!({
            "class": name, "counted": counted, "sum": sum, "previous": previous, "change": sum - previous, "lines": lines,
            "leftOut": left_out,
        })
    };
    let booked = json!({
        "measure": "bookedCustomers", "format": "number", "sum": 1, "lines": 3, "leftOut": 1, "previous": 2, "change": -1,
        "unit": "customer",
        "classes": [
            class("current", 1, [1, 0], 1), class("previous", 2, [0, 2], 2), class("changed", 0, [0, 0], 0),
            class("unchanged", 0, [0, 0], 0),
        ],
    });
    assert_same(&found["measures"][0], &booked, &path);
    assert_same(&found["measures"][1]["classes"][3], &class("unchanged", 1, [1, 1], 0), &path);
    let counts: Vec<&Json> = found["lines"].as_array().unwrap().iter().map(|line| &line["count"]).collect();
    assert_eq!(counts, [&json!(1), &json!(-1), &json!(1), &json!(-1)]);
}

#[test]
fn defined_metrics_are_explained() {
    let platform = Platform::new();
    let definitions = "[[metric]]\nname = \"open\"\ndefinition = \"Customers without a booking.\"\nnumerator = [\"customers\", \"-bookedCustomers\"]\n";
    let folder = platform.dataset();
    trueup_ingest::Define::new(&folder, &Definitions::parse(definitions).unwrap()).run().unwrap();
    platform.service.replace_dataset(Arc::new(Dataset::open(&folder).unwrap()));
    let found = parsed(
        &platform.get("anna", &format!("/api/acme/events?fields=campaign,open&{DAYS}&why=open&row=campaign=Drains")),
    );
    let question = WhyQuery::new(quarter("campaign,open").accounts(ACME)).value("campaign", "Drains");
    assert_same(&found, &expected(&library(&platform.service.dataset(), &question)), "open");
    assert_eq!(found["metrics"], json!([{"metric": "open", "value": 1, "formula": "customers - bookedCustomers"}]));
}

#[test]
fn a_key_sees_the_lines_of_its_accounts_only() {
    let question = |organization: &str, row: &str| {
        format!("/api/{organization}/events?fields=campaign,leads&{DAYS}&why=leads&row=campaign={}", encoded(row))
    };
    let accounts = |body: &Json| -> Vec<String> {
        let lines = body["lines"].as_array().unwrap();
        lines.iter().map(|line| line["account"].as_str().unwrap().to_owned()).collect()
    };
    let drains = parsed(&PLATFORM.get("anna", &question("acme", "Drains")));
    assert!(accounts(&drains).contains(&"north".to_owned()));
    let drains = parsed(&PLATFORM.get("bert", &question("south", "Drains")));
    assert!(!accounts(&drains).is_empty() && accounts(&drains).iter().all(|account| account == "south"));
    // A campaign of another tenant is answered as one that does not exist.
    let secret = parsed(&PLATFORM.get("rita", &question("rival", "Secret Plan")));
    assert_eq!(accounts(&secret), ["rival-1"]);
    let [others, nobodys] = ["Secret Plan", "Public Plan"].map(|row| PLATFORM.get("anna", &question("acme", row)));
    let body = |response: &Received| String::from_utf8(response.body.clone()).unwrap();
    assert_eq!((others.status, body(&others).replace("Secret", "Public")), (400, body(&nobodys)));
    assert_eq!(PLATFORM.get("anna", &question("rival", "Secret Plan")).status, 404);
    assert_eq!(PLATFORM.get("nobody", &question("acme", "Drains")).status, 401);
}

#[test]
fn unknown_names_are_listed_as_in_the_answer_itself() {
    let rival = Rival { column: true, ..Rival::default() };
    let platform = Platform::with(&rival, |builder| builder);
    for column in ["rivalColumn", "nobodysColumn"] {
        let path = format!("/api/acme/events?fields={column},leads&{DAYS}&why=leads&row={column}=");
        let response = platform.get("anna", &path);
        assert_eq!((response.status, response.header("Trueup-Unknown-Fields")), (200, Some(column)), "{path}");
    }
}

#[test]
fn faults_are_refused_with_the_parameter_and_the_value() {
    let lists = "the answer without `why` has every row";
    for (query, code, error) in [
        ("why=", "invalid-query", "`why`: expected one of the metrics of the query (`leads`, `medianDaysLeadToSold`), but found ``".to_owned()),
        (
            "why=spend",
            "invalid-query",
            "`why`: expected one of the metrics of the query (`leads`, `medianDaysLeadToSold`), but found `spend`".to_owned(),
        ),
        (
            "why=medianDaysLeadToSold",
            "invalid-query",
            "`why`: `medianDaysLeadToSold` is a percentile, not a sum of what single customers add; add the average of these days \
             to the query and explain that: its lines are the days of each customer"
                .to_owned(),
        ),
        ("why=leads&lines=many", "invalid-query", "`lines`: expected a number of lines from 0 to 10000, but found `many`".to_owned()),
        ("why=leads&lines=10001", "invalid-query", "`lines`: expected a number of lines from 0 to 10000, but found `10001`".to_owned()),
        ("why=leads&lines=1&lines=2", "invalid-query", "`lines` is given twice, as `1` and as `2`; give it once".to_owned()),
        (
            "why=leads&row=Drains",
            "invalid-row",
            format!(
                "`row`: expected a dimension and its value, such as `campaign=Drains`, or a row as JSON, but found `Drains`; {lists}"
            ),
        ),
        (
            "why=leads&row={",
            "invalid-row",
            format!("`row`: expected a row as a JSON object: EOF while parsing an object at line 1 column 1; {lists}"),
        ),
        (
            "why=leads&row=campaign=Boilers",
            "invalid-row",
            format!(
                "`row`: the answer has no row with campaign = `Boilers`, days from 2025-01-01 to 2025-03-31; {lists}"
            ),
        ),
        (
            "why=leads&row=zip=1",
            "invalid-row",
            format!("`row`: a row of the answer is known by `campaign`, not by `zip`; {lists}"),
        ),
        (
            "why=leads",
            "invalid-row",
            format!(
                "`row`: expected a value for each column by which a row of the answer is known (`campaign`), but `campaign` has \
                 none; {lists}"
            ),
        ),
        (
            "why=leads&row=campaign=Drains&row=campaign=Heaters",
            "invalid-row",
            format!("`row`: two values are given for `campaign`: `Drains` and `Heaters`; {lists}"),
        ),
        (
            "why=leads&interval=month&row=campaign=Drains&row=start=2025-01-02",
            "invalid-row",
            format!(
                "`row`: expected the first day of a sub-range between 2025-01-01 and 2025-03-31, but found `2025-01-02`; {lists}"
            ),
        ),
    ] {
        let row = if query.contains("row=") || query == "why=leads" { "" } else { "&row=campaign=Drains" };
        let path = format!("/api/acme/events?fields=campaign,leads,medianDaysLeadToSold&{DAYS}&{query}{row}");
        let response = PLATFORM.get("anna", &path);
        let body: Json = serde_json::from_slice(&response.body).unwrap();
        assert_eq!((response.status, body), (400, json!({"error": error, "code": code})), "{path}");
    }
}

#[test]
fn without_why_row_and_lines_are_filters() {
    for parameter in ["row", "lines"] {
        let response = PLATFORM.get("anna", &format!("/api/acme/events?fields=leads&{DAYS}&{parameter}=5"));
        assert_eq!(response.header("Trueup-Unknown-Fields"), Some(parameter));
        assert_eq!((response.status, response.body), (200, b"[{\"leads\":0}]".to_vec()));
    }
}

#[test]
fn limits_of_the_service_apply() {
    let with = |limits: Limits| Platform::with(&Rival::default(), |builder| builder.limits(limits));
    let path = format!("/api/acme/events?fields=leads&{DAYS}&why=leads");
    let status_and_code = |platform: &Platform, path: &str| {
        let response = platform.get("anna", path);
        let body: Json = serde_json::from_slice(&response.body).unwrap();
        (response.status, body["code"].as_str().unwrap_or_default().to_owned())
    };
    let overdue = with(Limits { deadline: Duration::ZERO, ..Limits::default() });
    assert_eq!(status_and_code(&overdue, &path), (504, "timeout".to_owned()));
    let narrow = with(Limits { account_intervals: 2, ..Limits::default() });
    assert_eq!(status_and_code(&narrow, &path), (400, "too-many-intervals".to_owned()));
    let long = path.replace("2025-01-01", "2024-01-01");
    assert_eq!(status_and_code(&PLATFORM, &long), (400, String::new()));
    // One query may take half of the memory, which is less than the lines of the answer need.
    let memory = trueup::MemoryBudget::new(40);
    let poor = Platform::with(&Rival::default(), |builder| builder.memory(memory));
    assert_eq!(status_and_code(&poor, &path), (400, "too-many-rows".to_owned()));
}
