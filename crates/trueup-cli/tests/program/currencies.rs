//! Amounts of different currencies at the shell.

use crate::workspace::{RANGE, Workspace};

/// Returns a workspace whose dataset has accounts of two currencies.
fn workspace() -> Workspace {
    let workspace = Workspace::with_dataset();
    workspace.write("currencies.csv", "account,timeZone,currency\nacme,America/Denver,USD\nbeta,,CAD\n");
    workspace.run(&["ingest", "--accounts", "currencies.csv", "--into", "ds"]).succeeded();
    workspace
}

const MESSAGE: &str =
    "amounts of different currencies are never added up, and `spend` would add up those of the accounts: CAD, USD";

#[test]
fn a_query_that_would_add_currencies_up_is_refused() {
    let workspace = workspace();
    let refused = workspace.query("leads,spend", &[]).failed(1);
    assert!(refused.contains(MESSAGE), "{refused}");
    let csv = |fields, more: &[&str]| workspace.query(fields, &[&["--format", "csv"], more].concat()).succeeded();
    assert_eq!(csv("leads,spend", &["--account", "acme"]), "leads,spend\n2,110.5\n");
    assert_eq!(csv("currency,leads,spend", &[]), "currency,leads,spend\nCAD,1,0\nUSD,2,110.5\n");
    assert_eq!(csv("leads", &[]), "leads\n3\n");
    assert!(workspace.query("account,spend", &["--totals"]).failed(1).contains("leave the totals out"));
}

#[test]
fn so_are_explanations_differences_jobs_and_reports() {
    let workspace = workspace();
    let fields = ["--fields", "spend"];
    for command in [&["explain", "ds"][..], &["why", "ds"], &["diff", "ds", "1", "2"]] {
        let refused = workspace.run(&[command, &fields, &RANGE].concat()).failed(1);
        // The first version has one currency, and the second one two.
        assert!(refused.contains(MESSAGE), "{command:?}: {refused}");
    }
    workspace.write(
        "jobs.toml",
        "dataset = 'ds'\n[[query]]\nname = 'q'\nfields = 'spend'\nmonth = '2025-01'\nformat = 'csv'\n",
    );
    assert!(workspace.run(&["batch", "jobs.toml", "--into", "out"]).failed(1).contains(MESSAGE));
    let report = workspace.run(&["report", "ds", "--month", "2025-01", "-o", "report.html"]).failed(1);
    assert!(report.contains("amounts of different currencies are never added up"), "{report}");
    workspace.run(&["report", "ds", "--month", "2025-01", "--account", "acme", "-o", "report.html"]).succeeded();
}

#[test]
fn a_value_that_no_event_has_is_a_warning_if_no_money_of_two_currencies_is_asked_for() {
    let workspace = workspace();
    let warning = "no event and no spend of the dataset has the value `Nope` in `campaign`";
    let values = ["--where", "campaign=Nope"];
    for more in [&["--fields", "leads"][..], &["--fields", "spend", "--account", "acme"]] {
        for command in ["query", "why"] {
            let run = workspace.run(&[&[command, "ds"], more, &values, &RANGE].concat());
            assert!(run.code == 0 && run.stderr.contains(warning), "{command} {more:?}: {run:?}");
        }
    }
    workspace.write(
        "jobs.toml",
        "dataset = 'ds'\n[[query]]\nname = 'q'\nfields = 'leads'\nwhere = 'campaign=Nope'\nmonth = '2025-01'\nformat = 'csv'\n",
    );
    // A batch with such a value ends with exit code 1, but is answered.
    let run = workspace.run(&["batch", "jobs.toml", "--into", "out"]);
    assert!(run.stdout == "q.csv: 1 row\n" && run.stderr.contains(warning), "{run:?}");
}

#[test]
fn a_currency_that_is_none_is_refused() {
    let workspace = Workspace::with_dataset();
    workspace.write("currencies.csv", "account,currency\nacme,dollars\n");
    let refused = workspace.run(&["ingest", "--accounts", "currencies.csv", "--into", "ds"]).failed(1);
    assert!(
        refused.contains("expected a currency as three capital letters, such as `USD`, but found `dollars`"),
        "{refused}"
    );
}
