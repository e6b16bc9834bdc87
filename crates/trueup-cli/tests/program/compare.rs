//! `--compare` of `trueup query`, `batch` and `explain`.

use crate::workspace::{RANGE, Workspace};

/// February, with January before it.
const FEBRUARY: [&str; 6] = ["query", "ds", "--month", "2025-02", "--compare", "previous-period"];

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
        workspace.run(&[&arguments[..], &["--format", format]].concat()).succeeded()
    };
    assert_eq!(answer("csv"), "leads,leads.previous,leads.change,leads.ratio\n2,0,2,\n");
    assert_eq!(answer("ndjson"), "{\"leads\":2,\"leads.previous\":0,\"leads.change\":2,\"leads.ratio\":null}\n");
    assert!(answer("table").contains('–'), "{}", answer("table"));
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
        workspace.run(&[&arguments[..], &["--format", format]].concat()).succeeded()
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
