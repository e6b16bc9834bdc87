//! Metrics of days between stages in `trueup query`, `batch`, `explain` and `fields`.

use crate::workspace::Workspace;

/// The customer of the first lead is closed 17 days after its first event, and no other customer is.
const FIELDS: &str = "reachedLeadToClosed,medianDaysLeadToClosed";

#[test]
fn days_are_shown_sorted_filtered_and_totaled() {
    let workspace = Workspace::with_dataset();
    let csv = |more: &[&str]| {
        workspace.query(FIELDS, &[&["--interval", "month", "--format", "csv"], more].concat()).succeeded()
    };
    let january = "2025-01-01,2025-01-31,1,17\n";
    // A median of nothing is an empty cell.
    let rest = "2025-02-01,2025-02-28,0,\n2025-03-01,2025-03-31,0,\n";
    let head = "start,end,reachedLeadToClosed,medianDaysLeadToClosed\n";
    assert_eq!(csv(&[]), format!("{head}{january}{rest}"));
    assert_eq!(csv(&["--sort", "medianDaysLeadToClosed"]), format!("{head}{january}{rest}"));
    assert_eq!(csv(&["--where", "medianDaysLeadToClosed > 16"]), format!("{head}{january}"));
    assert_eq!(csv(&["--cohort", "--within", "17d"]), format!("{head}{january}{rest}"));
    assert_eq!(csv(&["--cohort", "--within", "16d"]), format!("{head}2025-01-01,2025-01-31,0,\n{rest}"));
    let totals = csv(&["--totals"]);
    assert!(totals.ends_with("total,2025-01-01,2025-03-31,1,17\n"), "{totals}");
    // A median of nothing is shown as a ratio over nothing.
    assert!(workspace.query(FIELDS, &["--interval", "month"]).succeeded().contains('–'));
}

#[test]
fn days_are_batched_explained_and_described() {
    let workspace = Workspace::with_dataset();
    let job = format!("name = 'days'\nfields = '{FIELDS}'\nmonth = '2025-01'\nformat = 'csv'\n");
    workspace.write("jobs.toml", &format!("dataset = 'ds'\n[[query]]\n{job}"));
    workspace.run(&["batch", "jobs.toml", "--into", "out"]).succeeded();
    let answer = std::fs::read_to_string(workspace.path("out/days.csv")).unwrap();
    assert_eq!(answer, format!("{FIELDS}\n1,17\n"));
    let plan = workspace.run(&["explain", "ds", "--fields", FIELDS, "--month", "2025-01", "--analyze"]).succeeded();
    assert!(plan.contains("columns      account, "), "{plan}");
    let text = workspace.run(&["fields", "medianDaysLeadToClosed"]).succeeded();
    for part in [
        "medianDaysLeadToClosed: Median Days Lead to Closed\n",
        "unit       days\n",
        "formula    50th percentile of dayCountsLeadToClosed\n",
        "dayCountsLeadToClosed: Number of durations from lead to closed, by days.\n",
        "adds up    never: a percentile\n",
        "better     lower\n",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
}
