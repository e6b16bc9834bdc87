//! `--attribution` of `trueup query`, `batch`, `explain`, `why` and `diff`.

use crate::workspace::{RANGE, Workspace};

/// A customer who came by search first and by mail later, and was then closed.
const EVENTS: &str = "\
account,opportunityId,type,date,eventId,total,attributionChannel
acme,1,lead-originated,2025-01-03,e1,,Search
acme,1,lead-originated,2025-01-10,e2,,Mail
acme,1,closed,2025-01-20,e3,500,Direct
";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS);
    workspace.run(&["ingest", "events.csv", "--into", "ds"]).succeeded();
    workspace
}

const FIELDS: &str = "attributionChannel,conversions,closedRevenue";

#[test]
fn channels_are_those_of_the_conversions_that_are_credited() {
    let workspace = workspace();
    let csv = |attribution| workspace.query(FIELDS, &["--format", "csv", "--attribution", attribution]).succeeded();
    let rows = |rows: &str| format!("attributionChannel,conversions,closedRevenue\n{rows}");
    assert_eq!(csv("recorded"), rows("Direct,0,500\nMail,1,0\nSearch,1,0\n"));
    assert_eq!(csv("first"), rows("Search,2,500\n"));
    assert_eq!(csv("last"), rows("Mail,1,500\nSearch,1,0\n"));
    assert_eq!(workspace.query(FIELDS, &["--format", "csv"]).succeeded(), csv("recorded"));
    let refused = workspace.query(FIELDS, &["--attribution", "linear"]).failed(2);
    assert!(
        refused.contains("expected the attribution `recorded`, `first` or `last`, but found `linear`"),
        "{refused}"
    );
}

#[test]
fn conditions_and_warnings_see_the_credited_values() {
    let workspace = workspace();
    let more = ["--format", "csv", "--attribution", "first", "--where", "attributionChannel=Direct"];
    let run = workspace.query("leads", &more);
    assert_eq!((run.code, run.stdout.as_str()), (0, "leads\n0\n"));
    assert!(
        run.stderr.contains("has the value `Direct` in `attributionChannel` with the attribution `first`"),
        "{run:?}"
    );
    let run = workspace.query("closedRevenue", &["--format", "csv", "--where", "attributionChannel=Direct"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("closedRevenue\n500\n", ""));
}

#[test]
fn jobs_explanations_and_differences_have_the_option() {
    let workspace = workspace();
    let job = "name = 'first'\nfields = 'attributionChannel,closedRevenue'\nyear = 2025\nformat = 'csv'\nattribution = 'first'\n";
    workspace.write("jobs.toml", &format!("dataset = 'ds'\n[[query]]\n{job}allow-long-total = true\n"));
    workspace.run(&["batch", "jobs.toml", "--into", "out"]).succeeded();
    let answer = std::fs::read_to_string(workspace.path("out/first.csv")).unwrap();
    assert_eq!(answer, "attributionChannel,closedRevenue\nSearch,500\n");

    let ask = |command: &str, more: &[&str]| {
        let fields = ["--fields", FIELDS, "--attribution", "last"];
        workspace.run(&[&[command, "ds"], &fields[..], &RANGE, more].concat()).succeeded()
    };
    let explained = ask("explain", &[]);
    assert!(explained.contains("attribution  of the customer's last conversion at or before the event"), "{explained}");
    assert!(ask("explain", &["--format", "json"]).replace(' ', "").contains(r#""attribution":"last""#));
    let why = ask("why", &["--row", "attributionChannel=Mail", "--metric", "closedRevenue", "--format", "csv"]);
    assert!(why.contains(",e3,2025-01-20,closed,500,"), "{why}");

    // The second conversion is corrected: its channel is credited with the closed work too.
    workspace.write(
        "more.csv",
        "account,opportunityId,type,date,eventId,attributionChannel\nacme,1,lead-originated,2025-01-10,e2,Radio\n",
    );
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    let fields = ["--fields", "attributionChannel,closedRevenue", "--attribution", "last", "--format", "csv"];
    let diff = workspace.run(&[&["diff", "ds", "1", "2"], &fields[..], &RANGE].concat()).succeeded();
    assert!(diff.lines().any(|line| line.contains("Mail") && line.contains("500")), "{diff}");
    assert!(diff.lines().any(|line| line.contains("Radio") && line.contains("500")), "{diff}");
}
