//! Answers are those of the library, and say what they do not show.

use crate::data::{DEMO, SMALL, TODAY, answer, settings};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use trueup::benchmarks::{BenchmarkData, BenchmarkQuery, Privacy, Series, read};
use trueup::field::FieldDescription;
use trueup::query::{LineOrder, WhyQuery};
use trueup::request::{QueryRequest, Today};
use trueup::{Column, Execution, ResultTable, Value, dictionary};
use trueup_mcp::{Caller, Toolbox};

/// Returns the answer of the library to a request.
fn library(request: &QueryRequest) -> ResultTable {
    let prepared = request.prepare(&DEMO.dataset, &Today::new(Some(TODAY.parse().unwrap()))).unwrap();
    prepared.run(&DEMO.dataset, Execution::default()).unwrap()
}

/// Returns a value as answers have it.
fn json_of(column: &Column, row: usize) -> Json {
    match column.value(row) {
        Some(Value::Text(text)) => text.into(),
        Some(Value::Day(day)) => day.to_string().into(),
        Some(Value::Count(count)) => count.into(),
        Some(Value::Integer(integer)) => integer.into(),
        Some(value) if !column.is_over_nothing(row) => value.as_f64().into(),
        _ => Json::Null,
    }
}

fn rows_of(table: &ResultTable) -> Vec<Vec<Json>> {
    (0..table.len()).map(|row| table.columns().iter().map(|column| json_of(column, row)).collect()).collect()
}

fn request(fields: &[&str], range: &str) -> QueryRequest {
    QueryRequest {
        fields: fields.iter().map(|name| (*name).to_owned()).collect(),
        range: Some(range.parse().unwrap()),
        totals: true,
        ..QueryRequest::default()
    }
}

#[test]
fn query_answers_what_the_library_answers() {
    let asked = json!({
        "metrics": ["leads", "bookRate", "spend", "avgCostPerLead"], "by": ["attributionChannel"], "days": "last-month",
        "where": ["attributionChannel != Direct"],
    });
    let found = answer(&DEMO.toolbox(), "query", asked);
    let expected = library(&QueryRequest {
        conditions: vec!["attributionChannel != Direct".parse().unwrap()],
        sort: vec!["leads:desc".to_owned().into()],
        ..request(&["attributionChannel", "leads", "bookRate", "spend", "avgCostPerLead"], "last-month")
    });
    assert!(expected.len() > 3);
    assert_eq!(found.data["rows"], json!(rows_of(&expected)));
    assert_eq!(found.data["totals"], json!(rows_of(expected.totals().unwrap())[0]));
    assert_eq!(found.data["days"], json!({ "start": "2024-09-01", "end": "2024-09-30" }));
    let command = found.data["command"].as_str().unwrap();
    assert!(
        command.starts_with("trueup query DATASET --fields attributionChannel,leads,bookRate,spend,avgCostPerLead"),
        "{command}"
    );
    assert!(found.text.contains("do not add up or average rows of bookRate (never: a ratio)"), "{}", found.text);
}

#[test]
fn targets_are_those_of_the_library() {
    let toolbox = DEMO.toolbox();
    let asked = json!({
        "metrics": ["leads", "spend"], "by": ["account"], "days": { "start": "2024-10-01", "end": "2024-10-15" },
        "targets": true, "sort": ["spend.pace:desc"],
    });
    let found = answer(&toolbox, "query", asked);
    let expected = library(&QueryRequest {
        range: None,
        start: Some("2024-10-01".parse().unwrap()),
        end: Some("2024-10-15".parse().unwrap()),
        targets: true,
        sort: vec!["spend.pace:desc".to_owned().into()],
        ..request(&["account", "leads", "spend"], "2024-10")
    });
    let columns = ["account", "leads", "leads.target", "leads.pace", "spend", "spend.target", "spend.pace"];
    assert_eq!(found.data["columns"], json!(columns));
    let rows = found.data["rows"].as_array().unwrap();
    assert!(rows.len() > 10);
    assert_eq!(rows[..], rows_of(&expected)[..rows.len()].iter().map(|row| json!(row)).collect::<Vec<_>>()[..]);
    assert_eq!(found.data["totals"], json!(rows_of(expected.totals().unwrap())[0]));
    assert!(found.data["command"].as_str().unwrap().contains(" --targets"), "{}", found.data["command"]);
    // What has no target says why.
    let asked = json!({ "metrics": ["leads"], "by": ["attributionChannel"], "days": "2024-10", "targets": true });
    let found = answer(&toolbox, "query", asked);
    assert_eq!(found.data["rows"][0][2], Json::Null);
    assert_eq!(found.data["totals"][2], json!(600.0));
    assert!(found.data["notes"].to_string().contains("has no target of account"), "{}", found.text);
    let overview = answer(&toolbox, "overview", json!({}));
    assert_eq!(overview.data["targets"], json!({ "metrics": ["leads", "spend"], "from": "2024-10", "to": "2024-10" }));
}

#[test]
fn rows_that_are_left_out_are_counted_and_summed() {
    let toolbox = DEMO.toolbox();
    let asked = json!({ "metrics": ["leads", "bookRate"], "by": ["campaign"], "days": "last-month", "limit": 4 });
    let found = answer(&toolbox, "query", asked.clone());
    let whole = library(&QueryRequest {
        sort: vec!["leads:desc".to_owned().into()],
        ..request(&["campaign", "leads", "bookRate"], "last-month")
    });
    let count = |row| match whole.value(row, "leads") {
        Some(Value::Count(count)) => count,
        other => panic!("{other:?}"),
    };
    let leads: u64 = (4..whole.len()).map(count).sum();
    assert_eq!(found.data["leftOut"], json!({ "rows": whole.len() - 4, "hold": { "leads": leads } }));
    // In a row, `""` is no campaign; the total is of all campaigns.
    assert!(found.text.contains("\ntotal: all | "), "{}", found.text);
    // As many rows as fit; the others are counted.
    let mut all = asked;
    all["limit"] = 500.into();
    all["by"] = json!(["campaign", "account"]);
    let found = answer(&toolbox, "query", all);
    assert!(found.data["leftOut"]["rows"].as_u64().unwrap() > 10);
    assert!(found.text.contains("; an answer holds 4,000 characters: narrow with `where`"), "{}", found.text);
}

#[test]
fn rows_that_conditions_keep_are_summed_next_to_totals_of_all() {
    let asked = json!({
        "metrics": ["leads"], "by": ["attributionChannel"], "days": "last-month", "having": ["leads >= 50"],
    });
    let found = answer(&DEMO.toolbox(), "query", asked);
    let sum: u64 = found.data["rows"].as_array().unwrap().iter().map(|row| row[1].as_u64().unwrap()).sum();
    assert!(found.text.contains(&format!("the rows that pass hold leads {sum}")), "{}", found.text);
    assert_ne!(found.data["totals"][1], json!(sum));
}

#[test]
fn accounts_without_a_row_are_named() {
    let toolbox = SMALL.toolbox();
    let asked = |arguments: Json| {
        let mut all = json!({ "metrics": ["leads"], "by": ["account"], "days": "2024-05" });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        answer(&toolbox, "query", all)
    };
    let note = "2 accounts have nothing to count in these days and no row: \"b\", \"c\"";
    let found = asked(json!({}));
    assert_eq!(found.data["rows"].as_array().unwrap().len(), 1);
    assert!(found.text.contains(note), "{}", found.text);
    // Those who ask for accounts without leads would miss them.
    let found = asked(json!({ "having": ["leads = 0"] }));
    assert_eq!(found.data["rows"], json!([]));
    assert!(found.text.contains(note), "{}", found.text);
    let found = asked(json!({ "accounts": ["a", "c"], "where": ["attributionChannel = Direct"] }));
    let note = "1 account has nothing to count that passes `where` in these days and no row: \"c\"";
    assert!(found.text.contains(note), "{}", found.text);
    assert!(!asked(json!({ "where": ["account = a"] })).text.contains("no row"));
    // A zero of an account that has no data says nothing of its leads.
    let alone = |account: &str| asked(json!({ "accounts": [account], "by": [] })).text;
    assert!(alone("c").contains("\"c\" has neither events nor spend on any day: 0 means no data"), "{}", alone("c"));
    assert!(
        alone("b").contains("\"b\" has neither events nor spend but from 2024-06-20 to 2024-06-21"),
        "{}",
        alone("b")
    );
    assert!(!alone("a").contains("has neither"));
}

#[test]
fn compare_answers_what_the_library_answers() {
    let asked = json!({
        "metrics": ["leads", "bookRate"], "by": ["attributionChannel"], "days": "2024-09", "with": "previous-period",
    });
    let found = answer(&DEMO.toolbox(), "compare", asked);
    let expected = library(&QueryRequest {
        compare: Some("previous-period".parse().unwrap()),
        sort: vec!["leads:desc".to_owned().into()],
        ..request(&["attributionChannel", "leads", "bookRate"], "2024-09")
    });
    let columns: Vec<&str> = found.data["columns"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
    let rows = found.data["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for (at, row) in rows.iter().enumerate() {
        for column in expected.columns() {
            let place = columns.iter().position(|name| *name == column.name).unwrap();
            let is_without_one = column.name.ends_with(".change") && row[place].is_null();
            assert!(is_without_one || row[place] == json_of(column, at), "{} in row {at}", column.name);
        }
        let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
        let change = row[place("leads.change")].as_i64().unwrap();
        let direction = row[place("leads.direction")].as_str().unwrap();
        assert_eq!(
            direction,
            if change > 0 {
                "up, better"
            } else if change < 0 {
                "down, worse"
            } else {
                "same"
            }
        );
    }
    assert_eq!(found.data["comparedWith"], json!({ "start": "2024-08-01", "end": "2024-08-31" }));
    assert!(found.text.contains("the ranges have 30 and 31 days"), "{}", found.text);
}

#[test]
fn the_month_before_has_the_same_days() {
    let with = |days: Json| {
        let asked = json!({ "metrics": ["leads"], "days": days, "with": "previous-month" });
        answer(&DEMO.toolbox(), "compare", asked).data["comparedWith"].clone()
    };
    let days = |start: &str, end: &str| json!({ "start": start, "end": end });
    assert_eq!(with(json!("2024-09")), days("2024-08-01", "2024-08-31"));
    assert_eq!(with(days("2024-10-05", "2024-10-31")), days("2024-09-05", "2024-09-30"));
    assert_eq!(with(days("2024-09-01", "2024-09-17")), days("2024-08-01", "2024-08-17"));
    // The days directly before the first days of a month are others.
    let settings = trueup_mcp::Settings { today: Some("2024-10-15".parse().unwrap()), ..settings() };
    let toolbox = Toolbox::new(DEMO.dataset.clone(), Caller::default(), settings);
    let found = answer(&toolbox, "compare", json!({ "metrics": ["leads"], "days": "month-to-date" }));
    assert!(
        found.text.contains("`with` as `previous-month` compares with 2024-09-01 to 2024-09-15, the same days"),
        "{}",
        found.text
    );
}

#[test]
fn a_range_without_all_of_its_data_is_not_judged() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let with = "2024-05-01..2024-05-17";
    let days = json!({ "start": "2024-05-15", "end": "2024-05-31" });
    let note = "only 14 of the 17 days have data: compare 2024-05-15..2024-05-28 with 2024-05-01..2024-05-14";
    let found = answer(&toolbox, "compare", json!({ "metrics": ["leads"], "days": days, "with": with }));
    assert_eq!(found.data["columns"][3], "leads.direction");
    assert_eq!(found.data["rows"][0][3], "down");
    assert!(found.text.contains(note) && !found.text.contains("the ranges have"), "{}", found.text);
    let found = answer(&toolbox, "what_changed", json!({ "metric": "leads", "days": days, "with": with }));
    assert!(found.text.contains("leads is 14. Against 2024-05-01 to 2024-05-17 (31): 17 fewer"), "{}", found.text);
    assert!(found.text.contains(note) && !found.text.contains("which is worse"), "{}", found.text);
    let found = answer(&toolbox, "what_changed", json!({ "metric": "leads", "days": "2024-05" }));
    assert!(
        found.text.contains("no change to explain, because 2024-04-01 to 2024-04-30 has no data"),
        "{}",
        found.text
    );
    assert_eq!(found.data["rows"], json!([]));
}

#[test]
fn a_pace_is_also_said_to_the_last_day_of_data() {
    let asked = json!({ "metrics": ["leads"], "days": "2024-05", "targets": true });
    let found = answer(&SMALL.toolbox_of(&["a"]), "query", asked);
    // 42 leads of 50 in May, of which 28 of 31 days have data.
    assert_eq!(found.data["rows"], json!([[42, 50.0, 0.84]]));
    let note = "the data end on 2024-05-28: leads.target is 45.16 and leads.pace 93.00% to that day";
    assert!(found.text.contains(note), "{}", found.text);
}

#[test]
fn notes_are_about_the_metrics_that_are_asked() {
    let toolbox = DEMO.toolbox();
    let asked = |metric: &str, days: &str, more: Json| {
        let mut all = json!({ "metrics": [metric], "days": days });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(&toolbox, "query", all).text
    };
    for (metric, is_of_states) in [("leads", false), ("spend", false), ("closedRevenue", true), ("bookRate", true)] {
        let text = asked(metric, "2024-Q3", json!({}));
        assert_eq!(text.contains("of the attribution window"), is_of_states, "{text}");
    }
    for (metric, changes) in [("leads", true), ("conversions", false)] {
        let text = asked(metric, "2024-09", json!({ "attribution": "first" }));
        assert_eq!(text.contains("`attribution` does not change leads"), changes, "{text}");
    }
    assert!(asked("soldLeads", "2024-09", json!({})).contains("soldLeads may still change"));
    assert!(!asked("soldLeads", "2024-09", json!({ "cohort": "30d" })).contains("may still change"));
}

#[test]
fn what_changed_says_so_in_sentences_and_how_to_ask_why() {
    let toolbox = DEMO.toolbox();
    let found = answer(&toolbox, "what_changed", json!({ "metric": "leads", "days": "2024-09", "top": 2 }));
    assert!(found.text.contains("Against 2024-08-01 to 2024-08-31 ("), "{}", found.text);
    assert!(found.text.contains("By `attributionChannel`: \""), "{}", found.text);
    let whys = found.data["why"].as_array().unwrap();
    assert_eq!(whys.len(), 4);
    for (why, row) in whys.iter().zip(found.data["rows"].as_array().unwrap()) {
        let explained = answer(&toolbox, "why", why.clone());
        let metric = &explained.data["metrics"][0];
        assert_eq!([&metric["previous"], &metric["value"], &metric["change"]], [&row[2], &row[3], &row[4]]);
        let classes = explained.data["measures"][0]["classes"].as_array().unwrap();
        let added: i64 = classes.iter().map(|class| class["change"].as_i64().unwrap()).sum();
        assert_eq!(json!(added), row[4]);
        assert!(explained.text.contains("compared with 2024-08-01 to 2024-08-31"), "{}", explained.text);
        assert!(explained.text.chars().count() <= 4_000 && explained.data.to_string().chars().count() <= 4_000);
    }
    let ratio = answer(&toolbox, "what_changed", json!({ "metric": "bookRate", "days": "2024-09" }));
    assert!(ratio.text.contains("(rate ") && ratio.text.contains("the mix"), "{}", ratio.text);
    let account = json!({ "metric": "bookRate", "days": "2024-09", "accounts": [DEMO.dataset.accounts().iter().next().unwrap().key] });
    let ratio = answer(&toolbox, "what_changed", account);
    let explained = answer(&toolbox, "why", ratio.data["why"][0].clone());
    assert_eq!(explained.data["metrics"][0]["value"], ratio.data["rows"][0][3]);
    let metric = &explained.data["metrics"][0];
    let effects =
        metric["classes"].as_array().unwrap().iter().flat_map(|class| [&class["rateEffect"], &class["mixEffect"]]);
    let added: f64 = effects.map(|effect| effect.as_f64().unwrap()).sum();
    assert!((added - metric["change"].as_f64().unwrap()).abs() < 1e-12, "{metric}");
}

#[test]
fn why_answers_what_the_library_answers() {
    let toolbox = DEMO.toolbox();
    let query = request(&["attributionChannel", "bookRate"], "2024-09");
    let channel = match library(&query).value(0, "attributionChannel") {
        Some(Value::Text(text)) => text.to_owned(),
        other => panic!("{other:?}"),
    };
    let prepared = QueryRequest { totals: false, ..query }.prepare(&DEMO.dataset, &Today::now()).unwrap();
    let why = WhyQuery::new(prepared.events().clone()).value("attributionChannel", &channel).order(LineOrder::Largest);
    let expected = DEMO.dataset.why(&why.limit(5), Execution::default()).unwrap();
    let asked = json!({
        "metrics": ["bookRate"], "by": ["attributionChannel"], "days": "2024-09", "row": { "attributionChannel": channel }, "limit": 5,
    });
    let found = answer(&toolbox, "why", asked);
    assert_eq!(found.data["metrics"][0]["value"], json!(expected.metrics[0].value.as_f64()));
    assert_eq!(found.data["metrics"][0]["formula"], "bookedCustomers / customers");
    assert_eq!(found.data["measures"][0]["lines"], expected.measures[0].lines);
    assert_eq!(found.data["rows"], json!(rows_of(expected.lines())));
    // A metric that shows one sum is named once.
    let found = answer(&toolbox, "why", json!({ "metrics": ["closedRevenue"], "days": "2024-09" }));
    assert!(!found.text.contains("closedRevenue = closedRevenue"), "{}", found.text);
}

#[test]
fn benchmarks_answer_what_the_library_answers() {
    let (period, selection) = read(&["bookRate", "avgTicket"], &[], Some("2024-09"), TODAY.parse().unwrap()).unwrap();
    let data = BenchmarkData::gather(&DEMO.dataset, period.range, &Execution::default()).unwrap();
    let found =
        answer(&DEMO.toolbox(), "benchmarks", json!({ "metrics": ["bookRate", "avgTicket"], "months": ["2024-09"] }));
    let rows = found.data["rows"].as_array().unwrap();
    assert!(rows.len() > 10);
    let mut with_benchmarks = 0;
    for row in rows {
        let scope = BTreeSet::from([row[1].as_str().unwrap().to_owned()]);
        let query = BenchmarkQuery { selection: &selection, scope: &scope, reach: &scope, privacy: Privacy::default() };
        let at = usize::from(row[2] == "avgTicket");
        let answer = data.answer(&query);
        let pooled = answer.iter().find(|row| row.series == Series::Benchmark).and_then(|row| row.metrics[at]);
        assert_eq!(row[4], json!(pooled));
        with_benchmarks += usize::from(pooled.is_some());
        // Where there is no benchmark, there is a reason.
        assert!(!row[6].as_str().unwrap().is_empty());
        assert_eq!(row[5].is_null(), row[3].is_null() || pooled.is_none(), "{row}");
    }
    assert!(with_benchmarks > 0, "no account has a benchmark");
    assert!(found.text.contains("benchmark: the sums of all accounts divided"), "{}", found.text);
}

#[test]
fn examples_are_about_days_with_data() {
    let days =
        |toolbox: &Toolbox| answer(toolbox, "overview", json!({})).data["examples"][1]["arguments"]["days"].clone();
    assert_eq!(days(&DEMO.toolbox()), "last-month");
    assert_eq!(days(&SMALL.toolbox()), "2024-06");
    assert_eq!(days(&SMALL.toolbox_of(&["a"])), "2024-05");
}

#[test]
fn a_ratio_over_nothing_is_null_with_the_reason() {
    let asked =
        json!({ "metrics": ["avgCostPerLead", "spend"], "by": ["campaign"], "days": "2024-05", "accounts": ["a"] });
    let found = answer(&SMALL.toolbox(), "query", asked);
    let rows = found.data["rows"].as_array().unwrap();
    let letters = rows.iter().find(|row| row[0] == "Letters").unwrap();
    assert_eq!((&letters[1], &letters[2]), (&Json::Null, &json!(12.0)));
    assert!(found.text.contains("null means that the denominator is 0, not that the ratio is: avgCostPerLead (("));
    assert_eq!(found.data["currency"], "USD");
}

#[test]
fn days_that_are_missing_are_said() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let notes = |days: Json, interval: &str| {
        let found = answer(&toolbox, "query", json!({ "metrics": ["leads"], "days": days, "interval": interval }));
        found.data["notes"].to_string()
    };
    assert!(notes(json!("2024-Q2"), "total").contains("the data end on 2024-05-"));
    assert!(notes(json!("2024-Q2"), "total").contains("the data begin on 2024-05-01"));
    assert!(notes(json!("2023"), "total").contains("no data at all"));
    let months = notes(json!("2024"), "month");
    assert!(months.contains("before the first day of data, 2024-05-01: 4 months; a 0 there means no data"), "{months}");
    assert!(months.contains("after the last day of data, 2024-05-"), "{months}");
    let months = notes(json!("2023"), "month");
    assert!(months.contains("no data at all") && !months.contains("day of data"), "{months}");
    let partial = notes(json!({ "start": "2024-05-06", "end": "2024-05-12" }), "month");
    assert!(partial.contains("only a part of a month"), "{partial}");
    assert_eq!(notes(json!({ "start": "2024-05-06", "end": "2024-05-12" }), "week"), "null");
}

#[test]
fn open_cohorts_are_said() {
    let asked =
        json!({ "metrics": ["leads", "payingCustomerRate"], "days": "2024-05", "cohort": "90d", "accounts": ["a"] });
    let found = answer(&SMALL.toolbox(), "query", asked);
    assert!(found.data["columns"].as_array().unwrap().contains(&json!("openLeads")));
    assert!(found.text.contains("the window of 42 leads is not over"), "{}", found.text);
}

#[test]
fn values_that_nothing_has_are_said_with_the_nearest() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let asked = json!({ "metrics": ["leads"], "days": "2024-05", "where": ["attributionChannel = 'paid-search'"] });
    let found = answer(&toolbox, "query", asked);
    assert!(
        found
            .text
            .contains(r#"nothing has the value "paid-search" in `attributionChannel`; the nearest are "Paid Search""#)
    );
    let found = answer(&toolbox, "find_values", json!({ "field": "campaign", "search": "drain" }));
    assert_eq!(found.data["rows"].as_array().unwrap().len(), 3);
    let found = answer(&toolbox, "find_values", json!({ "field": "attributionChannel", "search": "paid-search" }));
    assert_eq!(found.data["rows"][0][0], "Paid Search");
    assert!(found.text.contains("these are the nearest"));
    // A text that an answer has shortened is no value, and is found nevertheless.
    let long = format!("{}…", "x".repeat(80));
    let asked = json!({ "metrics": ["leads"], "days": "2024-05", "where": [format!("campaign = '{long}'")] });
    let found = answer(&toolbox, "query", asked);
    assert!(!found.text.contains(&format!("the nearest are \"{long}\"")), "{}", found.text);
    let found = answer(&toolbox, "find_values", json!({ "field": "campaign", "search": long }));
    assert_eq!(found.data["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn accounts_are_found_by_their_names() {
    let toolbox = DEMO.toolbox();
    let asked = json!({ "metrics": ["leads"], "days": "last-month", "where": ["account = 'Summit Heating & Air'"] });
    let found = answer(&toolbox, "query", asked);
    assert!(found.text.contains("in `account`; the nearest are \"summit-hvac\""), "{}", found.text);
    for search in ["summit heating", "Summit Heeting & Air"] {
        let found = answer(&toolbox, "find_values", json!({ "field": "account", "search": search }));
        assert_eq!(found.data["rows"][0][0], "summit-hvac", "{search}: {}", found.text);
    }
}

#[test]
fn fields_are_found_by_words_and_synonyms() {
    let toolbox = DEMO.toolbox();
    for (search, expected) in
        [("cpl", "avgCostPerLead"), ("cost per lead", "avgCostPerLead"), ("booking rate", "bookRate")]
    {
        let found = answer(&toolbox, "find_fields", json!({ "search": search, "type": "metric", "limit": 3 }));
        assert_eq!(found.data["rows"][0][0], expected, "{search}");
    }
    let found = answer(&toolbox, "find_fields", json!({ "names": ["bookRate"] }));
    assert_eq!(found.data["rows"][0][3], "bookedCustomers / customers");
    assert_eq!(found.data["rows"][0][4], "never: a ratio");
    // Most words decide, and whole words before beginnings; `channel` only looks like `cancel`.
    for (search, expected) in [
        ("cancel", "cancelRate"),
        ("campaing", "campaign"),
        ("how many people bought", "payingCustomers"),
        ("sold leads of the month", "soldLeads"),
        ("weekday", "week"),
    ] {
        let found = answer(&toolbox, "find_fields", json!({ "search": search }));
        assert_eq!(found.data["rows"][0][0], expected, "{search}: {}", found.text);
        assert!(search != "cancel" || !found.text.contains("attributionChannel"), "{}", found.text);
    }
}

#[test]
fn a_search_for_what_is_no_field_says_what_answers_it() {
    let toolbox = DEMO.toolbox();
    for (search, words) in [
        ("budget", "`targets: true`"),
        ("targets", "`targets: true`"),
        ("repeat customers", "`eventCount >= 2`"),
        ("second job", "`eventCount >= 2`"),
        ("day of the week", "`query` by `date`"),
        ("share of total", "over that of `total`"),
        ("lead to sold rate", "over `leads`"),
        ("profit margin", "no field has these words"),
        ("wombats", "no field has these words; try fewer"),
    ] {
        let found = answer(&toolbox, "find_fields", json!({ "search": search }));
        assert!(found.data["notes"].to_string().contains(words), "{search}: {}", found.text);
    }
    // A field of the dictionary that the data do not have is no field to find, and no unknown one.
    let found = answer(&SMALL.toolbox(), "find_fields", json!({ "search": "zip" }));
    assert_eq!(found.data["rows"], json!([]));
    assert!(found.text.contains("the data have no such column: `zip` of the dictionary"), "{}", found.text);
}

#[test]
fn fields_that_are_left_out_are_named() {
    let found = answer(&DEMO.toolbox(), "find_fields", json!({ "type": "metric", "limit": 100 }));
    let rows = found.data["rows"].as_array().unwrap().iter().map(|row| &row[0]);
    let names: Vec<&str> =
        rows.chain(found.data["leftOut"]["names"].as_array().unwrap()).filter_map(Json::as_str).collect();
    let metrics = FieldDescription::all(Some(&*DEMO.dataset)).into_iter().filter(FieldDescription::is_metric);
    assert_eq!(names, metrics.map(|field| field.name).collect::<Vec<_>>());
    assert!(found.text.contains(", roasClosed, "), "{}", found.text);
}

#[test]
fn definitions_are_of_what_answers_have() {
    let toolbox = DEMO.toolbox();
    let described = |name: &str| answer(&toolbox, "find_fields", json!({ "names": [name] }));
    for field in dictionary::all_fields() {
        let definition = described(field.name).data["rows"][0][6].as_str().unwrap().to_owned();
        let is_ratio = dictionary::metric(field.name)
            .is_some_and(|(_, metric)| !matches!(metric.formula, dictionary::Formula::Amount(_)));
        assert_eq!(definition.contains(" Null "), is_ratio, "{}: {definition}", field.name);
        assert!(!is_ratio || [" 0 without", " 0 if"].iter().all(|zero| !definition.contains(zero)), "{definition}");
    }
    // Parts of formulas that cannot be asked for say so.
    let parts = |name: &str| described(name).data["notes"].to_string();
    assert!(
        parts("stepBookRate").contains("`bookedLeads` (ask for `reachedLeadToBooked`)"),
        "{}",
        parts("stepBookRate")
    );
    assert!(parts("spend").contains("`adSpend` (ask for `cost`), `managementFee`\""), "{}", parts("spend"));
    assert_eq!(parts("bookRate"), "null");
    let refused = crate::data::fault(&toolbox, "query", json!({ "metrics": ["bookedLeads"], "days": "last-month" }));
    assert!(refused.message.contains("did you mean `reachedLeadToBooked`?"), "{refused}");
}

#[test]
fn insights_are_items_by_priority() {
    let found = answer(&DEMO.toolbox(), "insights", json!({}));
    let titles: Vec<&str> = found.data["rows"].as_array().unwrap().iter().filter_map(|row| row[4].as_str()).collect();
    assert_eq!(titles, ["Answer calls at noon", "Drains grow", "Later"]);
    let found = answer(&DEMO.toolbox(), "insights", json!({ "priority": "high", "search": "MISSED" }));
    assert_eq!(found.data["rows"].as_array().unwrap().len(), 1);
    let found = answer(&DEMO.toolbox(), "insights", json!({ "days": "2024-09" }));
    assert!(found.text.contains("no insight was published"));
}

#[test]
fn an_export_is_a_new_file_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let settings =
        trueup_mcp::Settings { export_dir: Some(dir.path().to_owned()), folder: Some(DEMO.path()), ..settings() };
    let toolbox = Toolbox::new(DEMO.dataset.clone(), Caller::default(), settings);
    let asked = |file: &str, format: &str| json!({ "metrics": ["leads"], "by": ["campaign"], "days": "last-month", "format": format, "file": file });
    for format in ["csv", "json", "ndjson", "parquet"] {
        let found = answer(&toolbox, "export", asked(&format!("leads.{format}"), format));
        assert!(dir.path().join(format!("leads.{format}")).is_file());
        assert!(found.data["fileRows"].as_u64().unwrap() > 20);
        assert_eq!(found.data["rows"].as_array().unwrap().len(), 5);
    }
    let csv = std::fs::read_to_string(dir.path().join("leads.csv")).unwrap();
    assert!(
        csv.starts_with("rowType,campaign,leads\n") && csv.trim_end().lines().last().unwrap().starts_with("total,,"),
        "{csv}"
    );
    let refused = |file: &str| crate::data::fault(&toolbox, "export", asked(file, "csv")).code;
    assert_eq!(refused("leads.csv"), "not-written");
    for file in
        ["../leads.csv", "/tmp/leads.csv", "a/b.csv", ".leads.csv", "leads.json", "", "csv", "a\\b.csv", "a\nb.csv"]
    {
        assert_eq!(refused(file), "invalid-file", "{file}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    let found = crate::data::fault(&DEMO.toolbox(), "export", asked("x.csv", "csv"));
    assert_eq!(found.code, "no-exports");
}

#[test]
fn an_earlier_version_can_be_asked() {
    let settings = trueup_mcp::Settings { folder: Some(DEMO.path()), ..settings() };
    let toolbox = Toolbox::new(DEMO.dataset.clone(), Caller::default(), settings);
    let asked = |as_of: &str| json!({ "metrics": ["leads"], "days": "last-month", "as_of": as_of });
    let first = answer(&toolbox, "query", asked("1"));
    assert_eq!(first.data["version"], 1);
    assert!(first.data["command"].as_str().unwrap().ends_with(" --as-of 1"), "{}", first.data["command"]);
    assert_eq!(answer(&toolbox, "query", asked("2")).data["version"], 2);
    assert_eq!(crate::data::fault(&toolbox, "query", asked("99")).code, "unknown-version");
}

#[test]
fn a_condition_that_leaves_no_spend_out_is_noted() {
    let toolbox = DEMO.toolbox();
    let asked = |field: &str| json!({ "metrics": ["leads", "spend"], "days": "last-month", "where": [format!("{field} != ''")] });
    let found = answer(&toolbox, "query", asked("source"));
    assert!(
        found.text.contains("spend has no source: the condition on it leaves no spend out in spend"),
        "{}",
        found.text
    );
    assert!(!answer(&toolbox, "query", asked("campaign")).text.contains("the condition on it"));
}
