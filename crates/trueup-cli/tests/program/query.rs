//! `trueup query`: formats, filters, accounts and warnings.

use crate::workspace::{RANGE, Workspace};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Decimal128Array, StringArray};
use std::io::Read;
use std::process::Stdio;

const FIELDS: &str = "attributionChannel,leads,spend,bookRate";

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
────────────────────────────────────────────
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
    let message = workspace.query(FIELDS, &["-o", "out.xlsx"]).failed(2);
    assert!(message.contains("`out.xlsx`") && message.contains(".csv, .json") && message.contains(".txt"), "{message}");
    assert!(!workspace.path("out.xlsx").exists());
    workspace.query(FIELDS, &["-o", "out.xlsx", "--format", "csv"]).succeeded();
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
fn unknown_fields_cause_a_warning() {
    let workspace = Workspace::with_dataset();
    let run = workspace.query("colour,leads", &["--format", "json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, r#"[{"colour":"","leads":3}]"#));
    assert!(run.stderr.starts_with("warning:") && run.stderr.contains("`colour`"), "{run:?}");
}

#[test]
fn similar_names_are_suggested() {
    let workspace = Workspace::with_dataset();
    let warned = |fields, more: &[&str]| {
        let run = workspace.query(fields, more);
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    let warning = "warning: neither the dictionary nor the dataset knows `campain`; it is empty on every row; \
                   did you mean `campaign`?\n";
    assert_eq!(warned("campain,leads", &[]), warning);
    assert_eq!(warned("leads", &["--where", "campain=x"]), warning);
    // A column that only the dataset has, in another case.
    assert!(warned("ZIP,leads", &[]).ends_with("; did you mean `zip`?\n"));
    assert!(warned("colour,leads", &[]).ends_with("; it is empty on every row\n"));

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
