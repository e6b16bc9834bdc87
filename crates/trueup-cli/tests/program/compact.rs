//! `trueup compact`: merged files, and what the command and an ingest say of them.

use crate::workspace::Workspace;
use serde_json::Value;

/// Ingests events of new accounts, between which the stored ones lie, and returns what each ingest prints.
fn ingest(workspace: &Workspace, accounts: &[[&str; 2]]) -> Vec<String> {
    let ingest = |accounts: &[&str; 2]| {
        let row = |account| format!("{account},1,lead-originated,2026-01-02\n");
        workspace.write("more.csv", &format!("account,opportunityId,type,date\n{}", accounts.map(row).concat()));
        workspace.run(&["ingest", "more.csv", "--into", "many"]).succeeded()
    };
    accounts.iter().map(ingest).collect()
}

fn answer(workspace: &Workspace) -> String {
    let asked = ["query", "many", "--fields", "account,leads", "--month", "2026-01", "--format", "csv"];
    workspace.run(&asked).succeeded()
}

#[test]
fn files_are_merged_in_a_version_of_their_own() {
    let workspace = Workspace::new();
    ingest(&workspace, &[["m", "n"], ["l", "o"], ["k", "p"]]);
    let before = answer(&workspace);
    let merged = workspace.run(&["compact", "many"]).succeeded();
    assert!(
        merged.starts_with("version 4 of `many`\nmerged   3 files, ") && merged.contains(" into 1 file, "),
        "{merged}"
    );
    assert_eq!(answer(&workspace), before);
    let versions = workspace.run(&["versions", "many", "--format", "csv"]).succeeded();
    assert!(versions.lines().last().unwrap().contains(",compact,"), "{versions}");
    workspace.run(&["verify", "many"]).succeeded();
    for options in [&[][..], &["--all", "--memory", "64MiB", "--threads", "1"]] {
        let again = workspace.run(&[&["compact", "many"], options].concat()).succeeded();
        assert_eq!(again, "nothing changed: `many` stays at version 4, which needs no merge\n");
    }
    ingest(&workspace, &[["j", "q"]]);
    let report = workspace.run(&["compact", "many", "--all", "--format", "json"]).succeeded();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["version"], &report["supersededRows"]), (&Value::from(6), &Value::from(0)));
    assert_eq!((&report["merged"]["files"], &report["written"]["files"]), (&Value::from(2), &Value::from(1)));
    assert!(workspace.run(&["compact", "nowhere"]).failed(1).contains("holds no dataset"));
    assert!(!workspace.path("nowhere").exists());
}

#[test]
fn an_ingest_says_what_it_has_merged() {
    let workspace = Workspace::new();
    let printed = ingest(&workspace, &[["m", "n"], ["l", "o"], ["k", "p"], ["j", "q"]]);
    assert_eq!(printed[2], "version 3 of `many`\nevents   2 taken\n");
    assert!(printed[3].starts_with("version 4 of `many`\nevents   2 taken\nmerged   4 files, "), "{}", printed[3]);
    assert!(printed[3].ends_with(", in version 5\n"), "{}", printed[3]);
    let again = workspace.run(&["ingest", "more.csv", "--into", "many"]).succeeded();
    assert_eq!(again, "nothing changed: `many` stays at version 5; all of this was ingested before\n");
}
