//! The days of `trueup query`, `batch` and `explain`: named ranges, today, and ranges outside of the data.

use crate::workspace::{Run, Workspace};
use std::time::{Duration, SystemTime};
use trueup::Day;

fn query(workspace: &Workspace, range: &[&str]) -> Run {
    let query = ["query", "ds", "--fields", "leads", "--allow-long-total", "--format", "csv", "--totals"];
    workspace.run(&[query.as_slice(), &["--interval", "month"], range].concat())
}

/// Returns the first and the last day of the totals.
fn days(workspace: &Workspace, range: &[&str]) -> String {
    // Some of the ranges are outside of the data, which is a warning.
    let run = query(workspace, range);
    assert_eq!(run.code, 0, "{run:?}");
    let total: Vec<&str> = run.stdout.lines().next_back().unwrap().split(',').collect();
    format!("{} {}", total[1], total[2])
}

#[test]
fn ranges_have_names() {
    let workspace = Workspace::with_dataset();
    let today = ["--today", "2025-02-14"];
    for (options, expected) in [
        (["--month", "2025-02"], "2025-02-01 2025-02-28"),
        (["--quarter", "2025-Q1"], "2025-01-01 2025-03-31"),
        (["--year", "2025"], "2025-01-01 2025-12-31"),
        (["--last", "30d"], "2025-01-16 2025-02-14"),
        (["--last", "1w"], "2025-02-08 2025-02-14"),
        (["--range", "last-month"], "2025-01-01 2025-01-31"),
        (["--range", "month-to-date"], "2025-02-01 2025-02-14"),
        (["--range", "this-month"], "2025-02-01 2025-02-28"),
        (["--range", "2025-Q1"], "2025-01-01 2025-03-31"),
    ] {
        assert_eq!(days(&workspace, &[options, today].concat()), expected, "{options:?}");
    }
    let explain = ["explain", "ds", "--fields", "leads", "--range", "yesterday", "--today", "2025-02-01"];
    let plan = workspace.run(&explain).succeeded();
    assert!(plan.starts_with("sub-ranges   1 from 2025-01-31 to 2025-01-31\n"), "{plan}");
}

/// A named quarter means the whole quarter.
#[test]
fn a_named_range_may_be_longer_than_the_attribution_window() {
    let workspace = Workspace::with_dataset();
    let ask = |range: &[&str]| {
        let query = ["query", "ds", "--fields", "leads", "--format", "csv", "--today", "2025-02-14"];
        workspace.run(&[query.as_slice(), range].concat())
    };
    for range in [
        ["--quarter", "2025-Q1"],
        ["--quarter", "2024-Q4"],
        ["--year", "2025"],
        ["--last", "120d"],
        ["--last", "1y"],
        ["--range", "this-quarter"],
        ["--range", "2025"],
    ] {
        let run = ask(&range);
        assert!(run.code == 0 && run.stdout.starts_with("leads\n"), "{range:?} {run:?}");
    }
    let days = ["--start", "2025-01-01", "--end", "2025-12-31"];
    assert!(ask(&days).failed(1).contains("--allow-long-total"), "{days:?}");
    assert_eq!(ask(&[&days[..], &["--allow-long-total"]].concat()).succeeded(), ask(&["--year", "2025"]).succeeded());
    let job = "dataset = 'ds'\n[[query]]\nname = 'year'\nformat = 'csv'\nfields = 'leads'\n";
    workspace.write("jobs.toml", &format!("{job}year = 2025\n"));
    assert_eq!(workspace.run(&["batch", "jobs.toml", "--into", "out"]).code, 0);
    workspace.write("jobs.toml", &format!("{job}start = 2025-01-01\nend = 2025-12-31\n"));
    assert_eq!(workspace.run(&["batch", "jobs.toml", "--into", "out", "--force"]).code, 1);
}

#[test]
fn today_is_the_day_of_the_clock() {
    let workspace = Workspace::with_dataset();
    let earlier =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() - Duration::from_secs(13 * 3_600);
    let day = || Day::from_number(u16::try_from(earlier().as_secs() / 86_400).unwrap());
    let before = day();
    // The account `acme` is six or seven hours behind UTC: its day is the UTC day of 13 hours ago, or the next one.
    let found: Day = days(&workspace, &["--range", "today"]).split(' ').next().unwrap().parse().unwrap();
    assert!(before <= found && found <= day().next().unwrap(), "{found}");
}

#[test]
fn a_range_is_given_once_and_in_a_known_form() {
    let workspace = Workspace::with_dataset();
    for (options, words) in [
        (&["--month", "2025-2"][..], "expected a month as YYYY-MM, but found `2025-2`"),
        (&["--quarter", "2025"], "such as `2026-Q2`, but found `2025`"),
        (&["--year", "25"], "expected a year as YYYY, but found `25`"),
        (&["--last", "90"], "such as `90d`, `12w`, `6mo` or `1y`, but found `90`"),
        (&["--range", "last_month"], "`month-to-date`"),
        (&["--today", "today", "--last", "1d"], "but found `today`"),
        (&["--month", "2025-02", "--year", "2025"], "cannot be used with"),
        (&["--start", "2025-02-01", "--end", "2025-02-02", "--last", "1d"], "cannot be used with"),
        (&["--month", "2025-02", "--end", "2025-02-02"], "cannot be used with"),
        (&["--start", "2025-02-01"], "--end"),
        (&["--end", "2025-02-01"], "--start"),
        (&["--today", "2025-02-01"], "--month"),
        (&[], "--range"),
    ] {
        let message = query(&workspace, options).failed(2);
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(
        query(&workspace, &["--year", "2149"]).failed(1),
        "error: the range from 2149-01-01 to 2149-12-31 is not within 1970-01-01 to 2149-06-06\n"
    );
}

#[test]
fn a_range_outside_of_the_data_says_which_days_there_are() {
    let workspace = Workspace::with_dataset();
    let outside = |range: &[&str]| {
        let run = query(&workspace, range);
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    assert_eq!(
        outside(&["--month", "2052-01"]),
        "warning: the dataset has no events in the range 2052-01-01 to 2052-01-31; the days of its events are \
         2025-01-03 to 2025-02-01\n"
    );
    assert!(outside(&["--start", "2025-01-01", "--end", "2025-01-02"]).starts_with("warning: "));
    assert_eq!(outside(&["--start", "2025-01-01", "--end", "2025-01-03"]), "");
    assert_eq!(outside(&["--start", "2025-02-01", "--end", "2025-02-01"]), "");
    assert!(outside(&["--start", "2025-02-02", "--end", "2025-02-02"]).starts_with("warning: "));
}

/// A range of a query replaces the days of the defaults, and the other way round.
#[test]
fn batch_knows_the_same_ranges() {
    let workspace = Workspace::with_dataset();
    let answers = |defaults: &str, query: &str| {
        let defaults = format!("dataset = \"ds\"\n[defaults]\nfields = \"leads\"\ninterval = \"month\"\n{defaults}\n");
        workspace.write("jobs.toml", &format!("{defaults}[[query]]\noutput = \"out.csv\"\n{query}\n"));
        workspace.run(&["batch", "jobs.toml", "--into", "out", "--today", "2025-02-14", "--force"])
    };
    let days = |defaults: &str, query: &str| {
        let run = answers(defaults, query);
        assert_eq!(run.code, 0, "{run:?}");
        let csv = std::fs::read_to_string(workspace.path("out/out.csv")).unwrap();
        let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|row| row.split(',').collect()).collect();
        format!("{} {}", rows[0][0], rows[rows.len() - 1][1])
    };
    let dates = "start = 2025-01-01\nend = 2025-01-31";
    assert_eq!(days("", "month = \"2025-02\""), "2025-02-01 2025-02-28");
    assert_eq!(days("", "year = 2025"), "2025-01-01 2025-12-31");
    assert_eq!(days(dates, "range = \"last-month\""), "2025-01-01 2025-01-31");
    assert_eq!(days("last = \"7d\"", ""), "2025-02-08 2025-02-14");
    assert_eq!(days("last = \"7d\"", dates), "2025-01-01 2025-01-31");
    assert_eq!(days(dates, "end = 2025-02-01"), "2025-01-01 2025-02-01");
    assert_eq!(days("range = \"2025\"", "quarter = \"2025-Q1\""), "2025-01-01 2025-03-31");
    for (defaults, query, words) in [
        ("", "", "`start`"),
        ("range = \"7d\"", "start = 2025-01-01", "`end`"),
        ("", "range = \"7d\"\nend = 2025-01-31", "but found `range` and `end`"),
        ("", "range = \"soon\"", "`soon`"),
        ("", "month = \"2025-01\"\nyear = 2025", "but found `month` and `year`"),
        ("month = \"2025-01\"\nrange = \"7d\"", "", "but found `month` and `range`"),
        ("", "month = \"2025-01\"\nend = 2025-01-31", "but found `month` and `end`"),
        ("", "month = \"2026\"", "`month`: expected a month as YYYY-MM, but found `2026`"),
        ("", "month = 2026", "`month`: expected a month as YYYY-MM, but found `2026`"),
        ("", "quarter = \"2026-05\"", "`quarter`: expected a quarter"),
        ("", "last = \"2026-05\"", "`1y`, but found `2026-05`"),
        ("quarter = \"90d\"", "", "`quarter`: expected a quarter"),
    ] {
        let message = answers(defaults, query).failed(1);
        assert!(message.contains(words), "{message}");
    }
    let run = answers("", "month = \"2052-01\"");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("warning: query `out.csv`: the dataset has no events in the range"), "{run:?}");
}
