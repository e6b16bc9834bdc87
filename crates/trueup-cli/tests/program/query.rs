//! `trueup query`: formats, filters, accounts, warnings, and what is refused. Wrong usage of the other commands is
//! tested here too. The exit code is 1 if the request or the data are at fault, and 2 for wrong usage.

use crate::workspace::{RANGE, Workspace};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Decimal128Array, StringArray};
use std::io::Read;
use std::process::Stdio;

const FIELDS: &str = "attributionChannel,leads,spend,bookRate";

#[test]
fn messages_name_a_missing_folder_and_a_file_in_place_of_a_dataset() {
    let workspace = Workspace::with_dataset();
    let run = |more: &[&str]| workspace.query("leads", more).failed(1);
    assert_eq!(
        run(&["-o", "nowhere/out.csv"]),
        "error: there is no folder `nowhere` for `nowhere/out.csv`; make it first\n"
    );
    workspace.write("events.csv", "account");
    let file = workspace.run(&["inspect", "events.csv"]).failed(1);
    assert!(file.contains("`events.csv` is a file, not the folder of a dataset"), "{file}");
}

#[test]
fn text_formats_are_written_exactly() {
    let workspace = Workspace::with_dataset();
    let rows = [
        r#"{"attributionChannel":"Direct","leads":2,"spend":0,"bookRate":0}"#,
        r#"{"attributionChannel":"Paid Search","leads":1,"spend":110.5,"bookRate":1}"#,
    ];
    assert_eq!(workspace.query(FIELDS, &["--format", "json"]).succeeded(), format!("[{}]", rows.join(",")));
    assert_eq!(workspace.query(FIELDS, &["--format", "ndjson"]).succeeded(), format!("{}\n", rows.join("\n")));
    assert_eq!(
        workspace.query(FIELDS, &["--format", "csv"]).succeeded(),
        "attributionChannel,leads,spend,bookRate\nDirect,2,0,0\nPaid Search,1,110.5,1\n"
    );
    let table = "\
attributionChannel  leads   spend  bookRate
───────────────────────────────────────────
Direct                  2    0.00      0.0%
Paid Search             1  110.50    100.0%
";
    assert_eq!(workspace.query(FIELDS, &[]).succeeded(), table);
    assert_eq!(workspace.query(FIELDS, &["--format", "table"]).succeeded(), table);
}

#[test]
fn the_ending_of_a_file_selects_its_format() {
    let workspace = Workspace::with_dataset();
    for name in ["out.parquet", "out.arrow", "out.csv", "out.json"] {
        assert_eq!(workspace.query(FIELDS, &["-o", name]).succeeded(), "");
    }
    let open = |name| std::fs::File::open(workspace.path(name)).unwrap();
    let parquet = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(open("out.parquet"), 100).unwrap();
    let parquet: Vec<_> = parquet.map(Result::unwrap).collect();
    let arrow = arrow_ipc::reader::FileReader::try_new(open("out.arrow"), None).unwrap();
    let arrow: Vec<_> = arrow.map(Result::unwrap).collect();
    // The same values; texts are plain strings in Parquet and a dictionary in Arrow.
    let channels = arrow[0].column(0).as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
    assert!(parquet[0].column(0).as_string::<i32>().iter().eq(channels));
    assert_eq!(parquet[0].columns()[1..], arrow[0].columns()[1..]);
    let spend = parquet[0].column_by_name("spend").unwrap().as_any().downcast_ref::<Decimal128Array>().unwrap();
    assert_eq!((spend.len(), spend.value(1), spend.scale()), (2, 110_500_000, 6));
    let json: Vec<serde_json::Value> = serde_json::from_reader(open("out.json")).unwrap();
    assert_eq!(json.len(), 2);
    let message = workspace.query(FIELDS, &["-o", "out.ods"]).failed(2);
    assert!(message.contains("`out.ods`") && message.contains(".csv, .json") && message.contains(".txt"), "{message}");
    assert!(!workspace.path("out.ods").exists());
    workspace.query(FIELDS, &["-o", "out.ods", "--format", "csv"]).succeeded();
    // The option takes precedence over the ending.
    workspace.query(FIELDS, &["-o", "out.csv", "--format", "json", "--force"]).succeeded();
    assert!(serde_json::from_reader::<_, serde_json::Value>(open("out.csv")).is_ok());
}

#[test]
fn binary_formats_can_be_piped() {
    let workspace = Workspace::with_dataset();
    let arguments: Vec<&str> = ["query", "ds", "--fields", FIELDS].into_iter().chain(RANGE).collect();
    for (format, magic) in [("parquet", b"PAR1".as_slice()), ("arrow", b"ARROW1")] {
        let output = workspace.output(&[&arguments, ["--format", format].as_slice()].concat());
        assert!(output.status.success() && output.stdout.starts_with(magic), "{output:?}");
    }
}

#[test]
fn filters_select_rows() {
    let workspace = Workspace::with_dataset();
    let leads = |more: &[&str]| {
        let text = workspace.query("leads", &[&["--format", "json"], more].concat()).succeeded();
        text.trim_start_matches("[{\"leads\":").trim_end_matches("}]").to_owned()
    };
    assert_eq!(leads(&[]), "3");
    assert_eq!(leads(&["--where", "campaign=[Va] Drain"]), "1");
    assert_eq!(leads(&["--where", r#"campaign=["regex", "drain", "i"]"#]), "2");
    assert_eq!(leads(&["--where", "zip=00123"]), "1");
    assert_eq!(leads(&["--where", "campaign=[Va] Drain", "--where", "campaign=Spring Drain Sale"]), "2");
    assert_eq!(leads(&["--where", "campaign=[Va] Drain", "--where", "attributionChannel=Direct"]), "0");
    assert_eq!(leads(&["--where", "account=beta"]), "1");
    assert_eq!(leads(&["--filter", r#"["or", {"zip": "00123"}, {"account": "beta"}]"#]), "2");
    assert_eq!(leads(&["--where", "zip=00123", "--filter", r#"{"leads": ["gt", 1]}"#]), "[]");
}

/// Each condition leaves out some rows, but not all.
#[test]
fn typed_conditions_select_what_json_conditions_select() {
    let workspace = Workspace::with_dataset();
    let fields = "campaign,zip,eventCount,total";
    let rows = |condition| workspace.query(fields, &["--format", "csv", "--where", condition]).succeeded();
    for (typed, json) in [
        ("attributionChannel != Direct", r#"attributionChannel=["ne", "Direct"]"#),
        ("attributionChannel = 'Paid Search'", "attributionChannel=Paid Search"),
        ("total >= 500", r#"total=["gte", 500]"#),
        ("eventCount < 3", r#"eventCount=["lt", 3]"#),
        ("date > 2025-01-20", r#"date=["gt", "2025-01-20"]"#),
        ("zip <= 200", r#"zip=["lte", 200]"#),
        ("campaign ~ ^Spring", r#"campaign=["regex", "^Spring"]"#),
        ("campaign ~* drain", r#"campaign=["regex", "drain", "i"]"#),
        ("campaign in ('[Va] Drain', 'Spring Drain Sale')", r#"campaign=["or", "[Va] Drain", "Spring Drain Sale"]"#),
        ("campaign not in ('[Va] Drain')", r#"campaign=["not", ["or", "[Va] Drain"]]"#),
        ("zip is empty", r#"zip=["empty"]"#),
        ("zip is not empty", r#"zip=["notEmpty"]"#),
    ] {
        assert_eq!(rows(typed), rows(json), "{typed}");
        assert!(rows(typed).lines().count() > 1 && rows(typed) != rows("account ~ ."), "{typed}");
    }
    let leads = |more: &[&str]| workspace.query("eventCount", &[&["--format", "ndjson"], more].concat()).succeeded();
    // Both must hold; equalities are alternatives.
    let range = ["--where", "date > 2025-01-03", "--where", "date < 2025-01-20"];
    assert_eq!(leads(&range), "{\"eventCount\":2}\n");
    assert_eq!(leads(&["--where", "account = acme", "--where", "account=beta"]), "{\"eventCount\":5}\n");
}

#[test]
fn a_malformed_condition_is_shown_with_a_mark_at_the_fault() {
    let workspace = Workspace::with_dataset();
    let message = workspace.query("leads", &["--where", "campaign like drain"]).failed(2);
    let shown = "  |\n  | campaign like drain\n  |          ^^^^\n";
    assert!(message.contains("but found `like`; write `~` and a regular expression (column 10)\n"), "{message}");
    assert!(message.contains(shown), "{message}");
    let message = workspace.query("leads", &["--where", "attributionChannel != Paid Search"]).failed(2);
    assert!(message.contains("needs quotes: 'Paid Search'"), "{message}");
    // A value that does not suit its field is a fault of the request, after those of fields.
    let message = workspace.query("leads", &["--where", "leads >= many"]).failed(1);
    assert!(message.contains("`leads`: expected a number to compare with, but found `many`"), "{message}");
    assert!(workspace.query("zip", &["--where", "leads >= many"]).failed(1).contains("at least one metric"));
}

#[test]
fn accounts_and_intervals_are_applied() {
    let workspace = Workspace::with_dataset();
    let json = |more: &[&str]| workspace.query("leads", &[&["--format", "json"], more].concat()).succeeded();
    assert_eq!(json(&["--account", "acme"]), r#"[{"leads":2}]"#);
    // An account that is not in the account table.
    assert_eq!(json(&["--account", "beta"]), r#"[{"leads":1}]"#);
    assert_eq!(json(&["--account", "acme", "--account", "beta"]), r#"[{"leads":3}]"#);
    assert_eq!(
        json(&["--interval", "month", "--threads", "2"]),
        "[{\"start\":\"2025-01-01\",\"end\":\"2025-01-31\",\"leads\":2},\
         {\"start\":\"2025-02-01\",\"end\":\"2025-02-28\",\"leads\":1},\
         {\"start\":\"2025-03-01\",\"end\":\"2025-03-31\",\"leads\":0}]"
    );
}

#[test]
fn unknown_names_are_refused() {
    let workspace = Workspace::with_dataset();
    let hint = "; `--allow-unknown` takes a field that is unknown as empty on every row\n";
    let refused = |fields, more: &[&str]| {
        let message = workspace.query(fields, more).failed(1);
        let message = message.strip_prefix("error: neither the dictionary nor the dataset knows ").unwrap();
        message.strip_suffix(hint).unwrap().to_owned()
    };
    assert_eq!(refused("colour,leads", &[]), "`colour`");
    assert_eq!(refused("campain,leads", &[]), "`campain` (did you mean `campaign`?)");
    assert_eq!(refused("leads", &["--where", "campain=x"]), "`campain` (did you mean `campaign`?)");
    assert_eq!(refused("leads", &["--filter", r#"["not", {"colour": "x"}]"#]), "`colour`");
    // A column that only the dataset has, in another case; and a synonym.
    assert_eq!(refused("ZIP,leads", &[]), "`ZIP` (did you mean `zip`?)");
    assert_eq!(refused("cpl,leads", &[]), "`cpl` (did you mean `avgCostPerLead`?)");
    // All names at once, and before the faults of filters.
    let names = "`colour`, `roas` (did you mean `roasClosed` or `roasPotential`?)";
    assert_eq!(refused("colour,leads", &["--where", "roas=x"]), names);
    assert_eq!(refused("colour,leads", &["--where", "leads=many"]), "`colour`");

    // Suggestions for the first ten only: a search for each of 15,000 names would take minutes.
    let many = (0..15_000).map(|number| format!("x{number}")).collect::<Vec<_>>().join(",");
    let message = refused(&format!("leeds,{many},leads"), &[]);
    assert!(message.starts_with("`leeds` (did you mean `leads`?), `x0`, `x1`"), "{message}");
    assert!(message.ends_with("`x8`, nor 14991 other names"), "{message}");

    let explain = |more: &[&str]| {
        let arguments: Vec<&str> = ["explain", "ds", "--fields", "colour,leads"].into_iter().chain(RANGE).collect();
        workspace.run(&[&arguments, more].concat())
    };
    assert!(explain(&[]).failed(1).contains("knows `colour`"));
    assert!(explain(&["--allow-unknown"]).succeeded().contains("colour (absent: empty on every event)"));
}

#[test]
fn unknown_names_can_be_allowed() {
    let workspace = Workspace::with_dataset();
    let run = workspace.query("colour,leads", &["--format", "json", "--allow-unknown"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, r#"[{"colour":"","leads":3}]"#));
    let warning = "warning: neither the dictionary nor the dataset knows `colour`; it is empty on every row\n";
    assert_eq!(run.stderr, warning);
    let run = workspace.query("leads", &["--where", "campain=", "--allow-unknown", "--format", "json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, r#"[{"leads":3}]"#));
    assert!(run.stderr.contains("`campain` (did you mean `campaign`?); it is empty"), "{run:?}");
}

#[test]
fn a_value_that_no_event_has_causes_a_warning() {
    let workspace = Workspace::with_dataset();
    let message = "no event and no spend of the dataset has the value `paid search` in `attributionChannel`; did you \
                   mean `Paid Search`?\n";
    let run = workspace.query("leads", &["--where", "attributionChannel=paid search", "--format", "json"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr), (0, r#"[{"leads":0}]"#, format!("warning: {message}")));
    let strict = ["--strict", "--filter", r#"["not", {"attributionChannel": "paid search"}]"#];
    assert_eq!(workspace.query("leads", &strict).failed(1), format!("error: {message}"));
    // Values that only other days, other accounts or spend have are no mistakes.
    for value in ["campaign=Spring Drain Sale", "account=beta", "attributionChannel=Direct", "type=canceled", "zip="] {
        let more = ["--strict", "--account", "acme", "--interval", "day", "--where", value];
        workspace.query("leads", &more).succeeded();
    }
}

#[test]
fn a_query_without_a_metric_suggests_metrics() {
    let workspace = Workspace::with_dataset();
    assert_eq!(
        workspace.query("leeds,bookRates,zip,colour", &[]).failed(1),
        "error: expected at least one metric among the fields; neither the dictionary nor the dataset knows \
         `leeds` (did you mean `leads`?), `bookRates` (did you mean `bookRate`?), `colour`\n"
    );
    assert_eq!(
        workspace.query("zip", &[]).failed(1),
        "error: expected at least one metric among the fields, such as `leads`; `trueup query --help` lists all\n"
    );
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let workspace = Workspace::with_dataset();
    let arguments: Vec<&str> = ["query", "ds", "--fields", "leads", "--interval", "day"].into_iter().collect();
    for format in ["json", "ndjson", "csv", "table", "parquet", "arrow"] {
        let mut child = workspace
            .command()
            .args(&arguments)
            .args(["--start", "1970-01-01", "--end", "2025-12-31", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn faulty_requests_exit_with_code_1() {
    let workspace = Workspace::with_dataset();
    let cases: [(&str, &[&str], &[&str]); 12] = [
        ("attributionChannel", &[], &["metric"]),
        (" , ", &[], &["field"]),
        ("start,leads", &[], &["`start`"]),
        ("leads", &["--account", "gamma"], &["`gamma`", "`acme`, `beta`"]),
        ("leads", &["--account", "acme", "--account", ""], &["``"]),
        ("leads", &["--where", r#"campaign=["like", "x"]"#], &["`campaign[0]`", "`like`"]),
        (
            "leads",
            &["--where", r#"campaign=["regex", "(a"]"#],
            &["`campaign[1]`", "`(a` does not compile: unclosed group"],
        ),
        // Of two faults, the one that the contract lists first.
        ("campaign", &["--where", "campaign=[]"], &["metric"]),
        ("leads,end", &["--filter", "{}"], &["`end`"]),
        ("leads", &["--where", "leads=many"], &["`leads`", "`many`"]),
        ("leads", &["--filter", r#"{"zip": "1", "zip": "2"}"#], &["`filter.zip`"]),
        ("leads", &["--filter", r#"["or", {"leads": 1}, {"zip": "1"}]"#], &["`filter`", "`leads`", "`zip`"]),
    ];
    for (fields, more, words) in cases {
        let message = workspace.query(fields, more).failed(1);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("error: ") && words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn the_attribution_window_limits_the_interval_total() {
    let workspace = Workspace::with_dataset();
    let query = |more: &[&str]| {
        let query =
            ["query", "ds", "--fields", "leads", "--start", "2025-01-01", "--end", "2025-04-01", "--format", "json"];
        workspace.run(&[query.as_slice(), more].concat())
    };
    let message = query(&[]).failed(1);
    for part in ["91 days", "use `--interval month`", "`--allow-long-total`"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(query(&["--allow-long-total"]).succeeded(), r#"[{"leads":3}]"#);
    let reversed = ["query", "ds", "--fields", "leads", "--start", "2025-01-02", "--end", "2025-01-01"];
    let message = workspace.run(&reversed).failed(1);
    assert!(message.contains("2025-01-02") && message.contains("2025-01-01"), "{message}");
}

#[test]
fn wrong_usage_exits_with_code_2() {
    let workspace = Workspace::with_dataset();
    workspace.run(&[]).failed(2);
    workspace.run(&["guess"]).failed(2);
    workspace.run(&["query", "ds", "--fields", "leads"]).failed(2);
    workspace.query("leads", &["--format", "xml"]).failed(2);
    workspace.query("leads", &["--interval", "year"]).failed(2);
    workspace.query("leads", &["--where", "campaign"]).failed(2);
    workspace.query("leads", &["--where", "=x"]).failed(2);
    workspace.query("leads", &["--force"]).failed(2);
    workspace.run(&["ingest", "events.csv", "--into", "ds", "--force"]).failed(2);
    workspace.run(&["bench", "ds", "--callers", "1025"]).failed(2);
    for message in [
        workspace.query("leads", &["--threads", "0"]).failed(2),
        workspace.query("leads", &["--threads", "1025"]).failed(2),
        workspace.run(&["ingest", "events.csv", "--into", "ds", "--threads", "0"]).failed(2),
        workspace.run(&["ingest", "events.csv", "--into", "ds", "--threads", "1000000"]).failed(2),
        workspace.run(&["batch", "jobs.toml", "--into", "out", "--threads", "1000000"]).failed(2),
        workspace.run(&["bench", "ds", "--threads", "1000000"]).failed(2),
    ] {
        assert!(message.contains("a whole number of threads from 1 to 1024"), "{message}");
    }
    let message =
        workspace.run(&["query", "ds", "--fields", "leads", "--start", "2025-13-01", "--end", "2025-01-01"]).failed(2);
    assert!(message.contains("`2025-13-01`"), "{message}");
    assert!(workspace.run(&["--help"]).succeeded().contains("Usage"));
    for command in [
        "demo", "ingest", "query", "batch", "explain", "fields", "inspect", "verify", "get", "serve", "users", "orgs",
        "keys",
    ] {
        assert!(workspace.run(&[command, "--help"]).succeeded().contains("Usage: trueup "), "{command}");
    }
    let help = workspace.run(&["ingest", "--help"]).succeeded();
    assert!(help.contains("--rejects rejects.ndjson") && !help.contains("rejects.csv"), "{help}");
    let help = workspace.run(&["query", "--help"]).succeeded();
    assert!(help.contains("avgCostPerLead") && help.contains("attributionChannel"), "{help}");
    let version = workspace.run(&["--version"]).succeeded().to_owned();
    assert!(version.starts_with("trueup ") && version.contains("(tzdata 20"), "{version}");
}

#[test]
fn missing_datasets_and_folders_are_reported() {
    let workspace = Workspace::with_dataset();
    let at = |dataset, more: &[&str]| {
        let query: Vec<&str> = ["query", dataset, "--fields", "leads"].into_iter().chain(RANGE).collect();
        workspace.run(&[&query, more].concat()).failed(1)
    };
    assert!(at("nowhere", &[]).contains("`nowhere`"));
    assert!(at("ds", &["--as-of", "9"]).contains('9'));
    let message = workspace.query("leads", &["-o", "no/such/folder/out.csv"]).failed(1);
    assert!(message.contains("no/such/folder/out.csv"), "{message}");
}

#[test]
fn long_values_are_truncated_in_messages() {
    let workspace = Workspace::with_dataset();
    let long = "y".repeat(3_000);
    for (fields, more) in [
        ("leads", ["--account", long.as_str()]),
        ("leads", ["--filter", &long]),
        ("leads", ["--where", &format!("leads={long}")]),
        ("leads", ["--where", &format!("{long}=1")]),
        (long.as_str(), ["--interval", "total"]),
    ] {
        let message = workspace.query(fields, &more).failed(1);
        assert!(message.contains("yy... (3000 characters)`") && message.len() < 600, "{message}");
    }
}
