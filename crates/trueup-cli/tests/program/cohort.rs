//! `--cohort` and `--within` of `trueup query`, `batch` and `explain`.

use crate::workspace::{RANGE, Workspace};

const FIELDS: &str = "leads,closedRevenue,spend";

/// The customer of the first lead is closed 17 days after its first event.
const SEVENTEEN: [&str; 5] = ["--interval", "month", "--cohort", "--within", "17d"];

#[test]
fn a_cohort_counts_its_leads_up_to_the_end_of_the_window() {
    let workspace = Workspace::with_dataset();
    let csv = |within| {
        let more = ["--interval", "month", "--cohort", "--format", "csv", "--within", within];
        workspace.query(FIELDS, &more).succeeded()
    };
    let answer = |revenue| {
        format!(
            "start,end,leads,closedRevenue,spend\n\
             2025-01-01,2025-01-31,2,{revenue},110.5\n\
             2025-02-01,2025-02-28,1,0,0\n\
             2025-03-01,2025-03-31,0,0,0\n"
        )
    };
    assert_eq!(csv("16d"), answer("0"));
    assert_eq!(csv("17d"), answer("1234.5"));
    assert_eq!(csv("all"), answer("1234.5"));
}

#[test]
fn a_table_shows_the_leads_whose_window_is_not_over() {
    let workspace = Workspace::with_dataset();
    // The last event is the lead of February.
    let table = workspace.query(FIELDS, &SEVENTEEN).succeeded();
    let lasts: Vec<_> = table.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(lasts[0].contains("openLeads"), "{table}");
    assert_eq!(lasts[lasts.len() - 3..], ["0", "1", "0"], "{table}");
    // It is shown once.
    let table = workspace.query("openLeads,leads", &SEVENTEEN).succeeded();
    assert_eq!(table.matches("openLeads").count(), 1, "{table}");
    assert!(!workspace.query(FIELDS, &[]).succeeded().contains("openLeads"));
}

#[test]
fn a_jobs_file_has_both_options() {
    let workspace = Workspace::with_dataset();
    let jobs = |more: &str| {
        let job = "name = 'cohort'\nfields = 'leads,closedRevenue'\nyear = 2025\nformat = 'csv'\n";
        workspace.write("jobs.toml", &format!("dataset = 'ds'\n[[query]]\n{job}{more}\n"));
        workspace.run(&["batch", "jobs.toml", "--into", "out"])
    };
    jobs("cohort = true").failed(1);
    jobs("within = '17d'").failed(1);
    assert!(jobs("cohort = true\nwithin = '17'").failed(1).contains("expected a number of days such as `90d`"));
    assert_eq!(jobs("cohort = true\nwithin = '17d'").code, 0);
    let answer = std::fs::read_to_string(workspace.path("out/cohort.csv")).unwrap();
    assert_eq!(answer, "leads,closedRevenue\n3,1234.5\n");
}

#[test]
fn a_plan_names_the_window() {
    let workspace = Workspace::with_dataset();
    let explain = |format| {
        let arguments = ["explain", "ds", "--fields", "leads", "--format", format];
        workspace.run(&[&arguments, &RANGE[..], &SEVENTEEN].concat()).succeeded()
    };
    let line = "cohort       leads by their first event, each until 17 days after it\n";
    assert!(explain("text").contains(line), "{}", explain("text"));
    assert!(explain("json").contains(r#""cohort": "17d""#), "{}", explain("json"));
}

#[test]
fn one_option_without_the_other_is_refused() {
    let workspace = Workspace::with_dataset();
    assert!(workspace.query(FIELDS, &["--cohort"]).failed(2).contains("--within <WINDOW>"));
    assert!(workspace.query(FIELDS, &["--within", "90d"]).failed(2).contains("--cohort"));
    let fault = workspace.query(FIELDS, &["--cohort", "--within", "90"]).failed(2);
    assert!(fault.contains("expected a number of days such as `90d`, or `all`, but found `90`"), "{fault}");
    let fault = workspace.query("openLeads", &[]).failed(1);
    assert!(fault.contains("`--cohort --within 90d` asks for one"), "{fault}");
}
