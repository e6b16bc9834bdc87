//! `--compare` of `trueup query`, `batch` and `explain`.

use crate::workspace::{RANGE, Workspace};
use serde_json::Value as Json;
use std::path::Path;

/// February, with January before it.
const FEBRUARY: [&str; 6] = ["query", "ds", "--month", "2025-02", "--compare", "previous-period"];

/// The warning about January 2024, in which the dataset has nothing.
const NOTHING_BEFORE: &str = "warning: the dataset has no events in the range 2024-01-01 to 2024-01-31 to compare with, so \
                              that every earlier value is 0; the days of its events are 2025-01-03 to 2025-02-01\n";

#[test]
fn a_comparison_shows_what_changed() {
    let workspace = Workspace::with_dataset();
    let answer = |format| {
        let arguments = [&FEBRUARY[..], &["--fields", "leads,spend", "--format", format]].concat();
        workspace.run(&arguments).succeeded()
    };
    assert_eq!(
        answer("csv"),
        "leads,leads.previous,leads.change,leads.ratio,spend,spend.previous,spend.change,spend.ratio\n\
         1,2,-1,-0.5,0,110.5,-110.5,-1\n"
    );
    assert_eq!(
        answer("json"),
        "[{\"leads\":1,\"leads.previous\":2,\"leads.change\":-1,\"leads.ratio\":-0.5,\"spend\":0,\
         \"spend.previous\":110.5,\"spend.change\":-110.5,\"spend.ratio\":-1}]"
    );
    let table = answer("table");
    assert!(table.contains("-50.00%") && table.contains("-110.50"), "{table}");
}

#[test]
fn a_number_that_a_row_does_not_have_is_null() {
    let workspace = Workspace::with_dataset();
    let answer = |format| {
        let arguments = ["query", "ds", "--month", "2025-01", "--compare", "previous-year", "--fields", "leads"];
        let run = workspace.run(&[&arguments[..], &["--format", format]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, NOTHING_BEFORE), "{run:?}");
        run.stdout
    };
    assert_eq!(answer("csv"), "leads,leads.previous,leads.change,leads.ratio\n2,0,2,\n");
    assert_eq!(answer("ndjson"), "{\"leads\":2,\"leads.previous\":0,\"leads.change\":2,\"leads.ratio\":null}\n");
    assert!(answer("table").contains('–'), "{}", answer("table"));
}

/// February has no spend. Programs take its return for 0, as the service says; people read nothing, and so no change.
#[test]
fn a_change_to_a_ratio_over_nothing_is_nothing() {
    let workspace = Workspace::with_dataset();
    let answer =
        |format| workspace.run(&[&FEBRUARY[..], &["--fields", "roasClosed", "--format", format]].concat()).succeeded();
    assert_eq!(
        answer("csv"),
        "roasClosed,roasClosed.previous,roasClosed.change,roasClosed.ratio,roasClosed.rateEffect,roasClosed.mixEffect\n\
         ,11.171945701357465,,,,\n"
    );
    assert!(answer("json").contains("\"roasClosed.change\":-11.171945701357465,"), "{}", answer("json"));
    let table = answer("table");
    assert!(table.contains("11.17") && !table.contains("-11.17") && !table.contains("100.00%"), "{table}");
}

#[test]
fn a_jobs_file_and_a_plan_name_the_range() {
    let workspace = Workspace::with_dataset();
    let job = "name = 'leads'\nfields = 'leads'\nmonth = '2025-02'\nformat = 'csv'\ncompare = 'previous-period'\n";
    workspace.write("jobs.toml", &format!("dataset = 'ds'\n[[query]]\n{job}"));
    assert_eq!(workspace.run(&["batch", "jobs.toml", "--into", "out"]).code, 0);
    let answer = std::fs::read_to_string(workspace.path("out/leads.csv")).unwrap();
    assert_eq!(answer, "leads,leads.previous,leads.change,leads.ratio\n1,2,-1,-0.5\n");

    let explain = |format| {
        let arguments = ["explain", "ds", "--fields", "leads", "--month", "2025-02", "--compare", "previous-year"];
        let run = workspace.run(&[&arguments[..], &["--format", format]].concat());
        assert_eq!((run.code, run.stderr.starts_with("warning: ")), (0, true), "{run:?}");
        run.stdout
    };
    assert!(explain("text").contains("earlier      2024-02-01 to 2024-02-28"), "{}", explain("text"));
    assert!(explain("json").contains(r#""start": "2024-02-01""#), "{}", explain("json"));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let workspace = Workspace::with_dataset();
    let fault = workspace.query("leads", &["--compare", "last"]).failed(2);
    assert!(fault.contains("expected `previous-period`, `previous-year`, or two days"), "{fault}");
    let month = [&RANGE[..], &["--interval", "month", "--compare", "previous-year"]].concat();
    let fault = workspace.run(&[&["query", "ds", "--fields", "leads"], &month[..]].concat()).failed(1);
    assert!(fault.contains("a comparison has one row per group, and none per month"), "{fault}");
    let sorted = ["--compare", "previous-year", "--sort", "leads.mixEffect"];
    let fault = workspace.query("leads", &sorted).failed(1);
    assert!(fault.contains("`leads.ratio`"), "{fault}");
}

/// Twelve accounts of ten customers each. In all, 60 of 120 are booked, and a lead costs 15.
const TWELVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/benchmarks");

fn with_twelve_accounts() -> Workspace {
    let workspace = Workspace::new();
    let file = |name: &str| Path::new(TWELVE).join(name).to_string_lossy().into_owned();
    let [events, spend, accounts] = ["events.csv", "spend.csv", "accounts.csv"].map(file);
    workspace.run(&["ingest", &events, "--into", "ds", "--spend", &spend, "--accounts", &accounts]).succeeded();
    workspace
}

#[test]
fn rows_are_compared_with_benchmarks() {
    let workspace = with_twelve_accounts();
    for name in ["by-account", "withheld"] {
        let text = std::fs::read_to_string(Path::new(TWELVE).join(name).with_extension("json")).unwrap();
        let expected: Json = serde_json::from_str(&text).unwrap();
        let query = &expected["query"];
        let texts = |key: &str| -> Vec<&str> {
            query[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
        };
        let mut job = format!("name = '{name}'\nformat = 'json'\ncompare = 'benchmarks'\n");
        let fields = texts("fields").join(",");
        let mut arguments = vec!["query", "ds", "--compare", "benchmarks", "--format", "json", "--fields", &fields];
        job += &format!("fields = '{fields}'\naccount = {:?}\n", texts("accounts"));
        arguments.extend(texts("accounts").into_iter().flat_map(|account| ["--account", account]));
        for (key, option) in [("start", "--start"), ("end", "--end"), ("sort", "--sort")] {
            if let Some(text) = query[key].as_str() {
                arguments.extend([option, text]);
                job += &format!("{key} = '{text}'\n");
            }
        }
        let answer = workspace.run(&arguments).succeeded();
        assert_eq!(serde_json::from_str::<Json>(&answer).unwrap(), expected["rows"], "{name}");
        workspace.write("jobs.toml", &format!("dataset = 'ds'\n[[query]]\n{job}"));
        workspace.run(&["batch", "jobs.toml", "--into", name]).succeeded();
        assert_eq!(std::fs::read_to_string(workspace.path(&format!("{name}/{name}.json"))).unwrap(), answer);
    }
}

#[test]
fn totals_have_the_benchmark_of_all_rows() {
    let workspace = with_twelve_accounts();
    let arguments = ["query", "ds", "--compare", "benchmarks", "--month", "2025-01", "--account", "a03", "--totals"];
    let answer = |format| {
        workspace.run(&[&arguments[..], &["--fields", "attributionChannel,bookRate", "--format", format]].concat())
    };
    assert_eq!(
        answer("csv").succeeded(),
        "rowType,attributionChannel,bookRate,bookRate.benchmark,bookRate.difference,bookRate.ratio\n\
         group,Search,0.3,0.5,-0.2,-0.4\ntotal,,0.3,0.5,-0.2,-0.4\n"
    );
    let table = answer("table").succeeded();
    assert!(table.contains("50.00%") && table.contains("-20.00 pp") && table.contains("-40.00%"), "{table}");
}

#[test]
fn what_has_no_benchmarks_is_refused() {
    const MONTH: [&str; 2] = ["--month", "2025-01"];
    let workspace = with_twelve_accounts();
    let january = ["query", "ds", "--compare", "benchmarks", "--fields", "bookRate", "--month", "2025-01"];
    let everybody = workspace.run(&january).failed(1);
    assert!(everybody.contains("benchmarks compare some accounts with others; name the accounts"), "{everybody}");
    // On that day the month is not over.
    let early = [&january[..], &["--account", "a03", "--today", "2025-01-20"]].concat();
    let early = workspace.run(&early).failed(1);
    assert!(early.contains("found 2025-01-01 to 2025-01-31"), "{early}");
    for (fields, options, message) in [
        ("bookRate", &["--year", "2025"][..], "found 2025-01-01 to 2025-12-31"),
        ("leads", &MONTH, "none of the metrics has benchmarks"),
        ("campaign,bookRate", &MONTH, "there are no benchmarks by `campaign`"),
        (
            "bookRate",
            &["--month", "2025-01", "--where", "campaign = x"],
            "benchmarks cannot have the filter on `campaign`",
        ),
        ("bookRate", &["--month", "2025-01", "--interval", "month"], "leave the interval out"),
        ("bookRate", &["--month", "2025-01", "--cohort", "--within", "90d"], "leave the cohort out"),
        ("bookRate", &["--month", "2025-01", "--sort", "bookRate.change"], "`bookRate.benchmark`"),
    ] {
        let arguments = ["query", "ds", "--compare", "benchmarks", "--fields", fields, "--account", "a03"];
        let fault = workspace.run(&[&arguments[..], options].concat()).failed(1);
        assert!(fault.contains(message), "{fault}");
    }
    for command in ["explain", "why"] {
        let arguments = [command, "ds", "--compare", "benchmarks", "--fields", "bookRate", "--month", "2025-01"];
        for accounts in [&[][..], &["--account", "a03"]] {
            let fault = workspace.run(&[&arguments[..], accounts].concat()).failed(2);
            assert!(fault.contains("only `trueup query` and `trueup batch` have `--compare benchmarks`"), "{fault}");
        }
    }
    workspace.write(
        "jobs.toml",
        "dataset = 'ds'\n[[query]]\nname = 'all'\nformat = 'csv'\nfields = 'bookRate'\nmonth = '2025-01'\ncompare = 'benchmarks'\n",
    );
    let batch = workspace.run(&["batch", "jobs.toml", "--into", "out"]).failed(1);
    assert!(batch.contains("query `all`: benchmarks compare some accounts with others"), "{batch}");
}
