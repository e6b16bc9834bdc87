//! `trueup ingest --targets` and `trueup query --targets`.

use crate::workspace::Workspace;

const TARGETS_CSV: &str = "\
account,month,metric,value,attributionChannel
acme,2025-01,spend,310,
acme,2025-01,spend,155,Paid Search
acme,2025-01,leads,31,
acme,2025-01,bookRate,0.5,
";

fn workspace() -> Workspace {
    let workspace = Workspace::with_dataset();
    workspace.write("targets.csv", TARGETS_CSV);
    let said = workspace.run(&["ingest", "--targets", "targets.csv", "--into", "ds"]).succeeded();
    assert!(said.starts_with("version 2 of `ds`\ntargets  4 taken\n"), "{said}");
    workspace
}

const TEN_DAYS: [&str; 4] = ["--start", "2025-01-01", "--end", "2025-01-10"];

fn query(workspace: &Workspace, fields: &str, more: &[&str]) -> crate::workspace::Run {
    let arguments = ["query", "ds", "--fields", fields].into_iter().chain(TEN_DAYS).chain(["--targets"]);
    workspace.run(&arguments.chain(more.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_query_shows_targets_and_the_pace() {
    let workspace = workspace();
    let shown = query(&workspace, "spend,leads,bookRate", &["--account", "acme"]).succeeded();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = shown.lines().map(words).collect();
    let header = "spend spend.target spend.pace leads leads.target leads.pace bookRate bookRate.target bookRate.pace";
    assert_eq!(lines[0], header);
    assert_eq!(lines[2], "110.50 100.00 110.50% 2 10.00 20.00% 50.0% 50.00% 100.00%");
    let run =
        query(&workspace, "account,attributionChannel,spend", &["--format", "csv", "--totals", "--account", "acme"]);
    assert_eq!(
        run.stdout,
        "rowType,account,attributionChannel,spend,spend.target,spend.pace\ngroup,acme,Direct,0,,\n\
         group,acme,Paid Search,110.5,50,2.21\ntotal,,,110.5,100,1.105\n"
    );
    assert_eq!(
        run.stderr,
        "warning: `spend.target` is null in 1 of 2 rows; the first of them has no target of account `acme`, 2025-01, \
         attributionChannel `Direct`: a row shows a target if each of its accounts, months and values has one\n"
    );
    let inspected = workspace.run(&["inspect", "ds"]).succeeded();
    assert!(
        inspected.contains("targets    4 rows, 1 file, ") && inspected.contains(", of bookRate, leads, spend\n"),
        "{inspected}"
    );
}

#[test]
fn what_does_more_than_answer_a_query_has_no_targets() {
    let workspace = workspace();
    for command in [&["explain", "ds"][..], &["why", "ds"], &["diff", "ds", "1", "2"]] {
        let arguments = command.iter().copied().chain(["--fields", "spend"]).chain(TEN_DAYS).chain(["--targets"]);
        let message = workspace.run(&arguments.collect::<Vec<_>>()).failed(1);
        assert!(message.contains("only an answer to a query has `targets`"), "{message}");
    }
    let message = query(&workspace, "spend", &["--compare", "previous-period"]).failed(1);
    assert!(message.contains("an answer has either targets or a comparison"), "{message}");
}
