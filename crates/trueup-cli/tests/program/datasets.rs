//! `trueup inspect`, `verify` and `explain`.

use crate::workspace::{RANGE, Workspace};

#[test]
fn inspect_shows_the_contents() {
    let workspace = Workspace::with_dataset();
    let text = workspace.run(&["inspect", "ds"]).succeeded();
    for part in [
        "version    1",
        "events     5 rows, 1 file",
        "spend      1 row, 1 file",
        "insights   none",
        "accounts   2: acme (Acme Plumbing), beta\n",
        "dates      2025-01-03 to 2025-02-01",
        "attributionChannel, campaign",
        "5 of events from events.csv",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    workspace.run(&["inspect", "ds", "--as-of", "2"]).failed(1);
}

#[test]
fn verify_finds_a_changed_byte() {
    let workspace = Workspace::with_dataset();
    assert!(workspace.run(&["verify", "ds"]).succeeded().starts_with("version 1 is whole: 3 files"));
    let folder = workspace.path("ds").join("events");
    let file = folder.read_dir().unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let message = workspace.run(&["verify", "ds"]).failed(1);
    assert!(message.contains("events/") && message.contains("checksum"), "{message}");
    std::fs::remove_file(&file).unwrap();
    assert!(workspace.run(&["verify", "ds"]).failed(1).contains("events/"));
}

#[test]
fn inspect_lists_accounts_up_to_twenty() {
    let workspace = Workspace::new();
    let ingest = |count: u32, dataset: &str| {
        let rows: String = (1..=count).map(|at| format!("account-{at:04}\n")).collect();
        workspace.write("accounts.csv", &format!("account\n{rows}"));
        workspace.run(&["ingest", "--accounts", "accounts.csv", "--into", dataset]).succeeded();
        workspace.run(&["inspect", dataset]).succeeded()
    };
    let text = ingest(20, "few");
    assert!(text.contains("accounts   20: account-0001, ") && text.contains(", account-0020\n"), "{text}");
    let text = ingest(1_300, "many");
    assert!(text.contains("accounts   1,300: ") && text.contains(", account-0020 and 1,280 more\n"), "{text}");
}

/// A changed byte never reaches an answer, wherever it is in the file.
#[test]
fn a_damaged_file_is_reported_in_one_line() {
    let workspace = Workspace::with_dataset();
    let file = workspace.path("ds").join("events").read_dir().unwrap().next().unwrap().unwrap().path();
    let sound = std::fs::read(&file).unwrap();
    for at in (0..sound.len()).step_by(37) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0xff;
        std::fs::write(&file, bytes).unwrap();
        let run = workspace.query("campaign,zip,attributionChannel,total", &["--format", "csv"]);
        let is_reported =
            run.stderr.lines().count() == 1 && run.stderr.starts_with("error: ") && run.stderr.contains("ds");
        assert!(run.code == 1 && is_reported, "byte {at}: {run:?}");
    }
}

#[test]
fn explain_shows_the_plan_and_with_analyze_the_times() {
    let workspace = Workspace::with_dataset();
    let explain: Vec<&str> = ["explain", "ds", "--fields", "campaign,leads"].into_iter().chain(RANGE).collect();
    let text = workspace.run(&explain).succeeded();
    assert!(text.contains("sub-ranges") && text.contains("campaign (stored)"), "{text}");
    assert!(text.contains("account, trueup.customer, type, date, campaign"), "{text}");
    assert!(!text.contains("aggregation"), "{text}");
    let text = workspace.run(&[&explain, ["--analyze", "--threads", "1"].as_slice()].concat()).succeeded();
    assert!(text.contains("aggregation") && text.contains("merging      0.00 ms") && text.contains("5 rows"), "{text}");
    workspace.run(&["explain", "ds", "--fields", "campaign", "--start", "2025-01-01", "--end", "2025-01-02"]).failed(1);
}
