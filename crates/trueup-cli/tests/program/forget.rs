//! `trueup forget`: what the command takes and says.

use crate::workspace::{RANGE, Workspace};
use serde_json::{Value, json};
use trueup_testkit::search::files_with;

/// Makes the dataset `ds` of two versions, of which the second has a customer with an id that no other text has.
fn workspace() -> Workspace {
    let workspace = Workspace::with_dataset();
    workspace.write(
        "more.csv",
        "account,opportunityId,type,date\nacme,ann-7c1f,booked,2025-01-09\nacme,9,booked,2025-01-09\nbeta,9,sold,2025-01-09\n",
    );
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    workspace
}

fn customers(workspace: &Workspace) -> String {
    let asked = ["query", "ds", "--fields", "account,opportunityId,eventCount", "--format", "csv"];
    workspace.run(&[&asked[..], &RANGE].concat()).succeeded()
}

#[test]
fn a_customer_is_forgotten_and_purged() {
    let workspace = workspace();
    let before = customers(&workspace);
    let forget = ["forget", "ds", "--account", "acme", "--customer", "ann-7c1f"];
    let forgotten = workspace.run(&forget).succeeded();
    assert_eq!(
        forgotten,
        "version 3 of `ds`\nforgot   1 customer with 1 event\n\
         recorded 1 customer, whose events up to today later ingests leave out\n\
         earlier versions and files may still have their events; --purge removes these\n"
    );
    assert_eq!(customers(&workspace), before.replace("acme,ann-7c1f,1\n", ""));
    workspace.run(&["verify", "ds"]).succeeded();
    let versions = workspace.run(&["versions", "ds", "--format", "csv"]).succeeded();
    assert!(versions.lines().last().unwrap().contains(",forget,"), "{versions}");
    let again = workspace.run(&forget);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (0, "warning: there is no event of customer `ann-7c1f` of account `acme` in the newest version\n")
    );
    assert_eq!(again.stdout, "nothing changed: `ds` stays at version 3, which has forgotten these customers\n");
    workspace.write("again.csv", "account,opportunityId,type,date\nacme,ann-7c1f,sold,2025-01-10\n");
    assert_eq!(
        workspace.run(&["ingest", "again.csv", "--into", "ds"]).succeeded(),
        "version 4 of `ds`\nevents   0 taken, 1 of forgotten customers left out\n         again.csv\n           1 read\n           0 taken\n           \
         1 left out: forgotten customer\n"
    );
    // Earlier versions have the customer, until a purge.
    assert!(!files_with(&workspace.path("ds"), &["ann-7c1f"]).unwrap().is_empty());
    let purged = workspace.run(&[&forget[..], &["--purge"]].concat()).succeeded();
    assert!(
        purged.starts_with(
            "version 5 of `ds`\nforgot   0 customers with 0 events\nexpired  versions 2 to 4\nremoved  0 files, "
        ),
        "{purged}"
    );
    assert!(
        purged.contains("\nwaiting  ") && purged.ends_with("removes them, they may have events of the customers\n"),
        "{purged}"
    );
    let ended = workspace.run(&[&forget[..], &["--purge", "--grace", "0s", "--format", "json"]].concat());
    assert_eq!(ended.stderr, "warning: there is no event of customer `ann-7c1f` of account `acme` in any version\n");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["version"], &report["waiting"]), (&json!(5), &json!({"files": 0, "bytes": 0})));
    assert!(report["removed"]["files"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["absent"], json!([{"account": "acme", "opportunityId": "ann-7c1f"}]));
    assert_eq!(files_with(&workspace.path("ds"), &["ann-7c1f"]).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(customers(&workspace), before.replace("acme,ann-7c1f,1\n", ""));
}

/// A phone number as people write it is not the customer, which the number names in another spelling.
#[test]
fn a_customer_in_another_spelling_is_named() {
    let workspace = workspace();
    workspace.write("calls.csv", "account,opportunityId,type,date\nacme,+14385556972,booked,2025-01-09\n");
    workspace.run(&["ingest", "calls.csv", "--into", "ds"]).succeeded();
    let run =
        workspace.run(&["forget", "ds", "--account", "acme", "--customer", "(438) 555-6972", "--customer", "Ann-7c1f"]);
    assert_eq!(
        run.stderr,
        "warning: there is no event of customer `(438) 555-6972` of account `acme` in the newest version; did you mean \
         `+14385556972`?\n\
         warning: there is no event of customer `Ann-7c1f` of account `acme` in the newest version; did you mean `ann-7c1f`?\n"
    );
    assert!(
        run.code == 0 && run.stdout.contains("\nforgot   0 customers with 0 events\nrecorded 2 customers, "),
        "{run:?}"
    );
}

#[test]
fn customers_of_a_file_are_forgotten_with_their_rejected_rows() {
    let workspace = workspace();
    workspace.write(
        "faulty.csv",
        "account,opportunityId,type,date\nacme,9,sold,soon\nacme,8,sold,soon\nacme,7,sold,2025-01-03\n",
    );
    workspace.run(&["ingest", "faulty.csv", "--into", "ds", "--rejects", "rejects.ndjson"]);
    workspace.write(
        "requests.csv",
        "account,opportunityId,since\nacme,9,2025-01-01\nbeta,9,2025-01-01\nbeta,77,2025-01-01\n",
    );
    let arguments = [
        "forget",
        "ds",
        "--customers",
        "requests.csv",
        "--account",
        "acme",
        "--customer",
        "7",
        "--customer",
        "1",
        "--rejects",
        "rejects.ndjson",
        "--format",
        "json",
    ];
    let run = workspace.run(&arguments);
    assert_eq!(run.stderr, "warning: there is no event of customer `77` of account `beta` in the newest version\n");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["customers"], &report["events"], &report["rejectedRows"]), (&json!(4), &json!(6), &json!(1)));
    let rejects = std::fs::read_to_string(workspace.path("rejects.ndjson")).unwrap();
    assert!(rejects.lines().count() == 1 && rejects.contains("\"opportunityId\":\"8\""), "{rejects}");
    assert_eq!(customers(&workspace), "account,opportunityId,eventCount\nacme,2,1\nacme,ann-7c1f,1\nbeta,1,1\n");
}

#[test]
fn a_wrong_call_is_refused() {
    let workspace = workspace();
    for (arguments, code, message) in [
        (&["forget", "ds"][..], 2, "required arguments were not provided"),
        (&["forget", "ds", "--customer", "1"], 2, "--account <ACCOUNT>"),
        (&["forget", "ds", "--account", "acme"], 2, "--customer <ID>"),
        (&["forget", "ds", "--account", "acme", "--customer", "1", "--grace", "0s"], 2, "--purge"),
        (&["forget", "ds", "--customers", "absent.csv"], 1, "cannot open the input `absent.csv`"),
        (&["forget", "nowhere", "--account", "acme", "--customer", "1"], 1, "`nowhere` holds no dataset"),
    ] {
        let error = workspace.run(arguments).failed(code);
        assert!(error.contains(message), "{error}");
    }
    workspace.write("empty.csv", "account,opportunityId\n");
    let error = workspace.run(&["forget", "ds", "--customers", "empty.csv"]).failed(2);
    assert_eq!(error, "error: there is nobody to forget: name at least one customer\n");
    assert!(!workspace.path("nowhere").exists());
    let versions = workspace.run(&["versions", "ds", "--format", "csv"]).succeeded();
    assert_eq!(versions.lines().count(), 3);
}
