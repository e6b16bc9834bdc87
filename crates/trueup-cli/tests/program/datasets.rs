//! `trueup inspect`, `verify` and `explain`.

use crate::place::{Place, RANGE};

#[test]
fn inspect_shows_what_is_there() {
    let place = Place::with_dataset();
    let text = place.run(&["inspect", "ds"]).succeeded();
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
    place.run(&["inspect", "ds", "--as-of", "2"]).failed(1);
}

#[test]
fn verify_finds_a_changed_byte() {
    let place = Place::with_dataset();
    assert!(place.run(&["verify", "ds"]).succeeded().starts_with("version 1 is whole: 3 files"));
    let folder = place.path("ds").join("events");
    let file = folder.read_dir().unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let message = place.run(&["verify", "ds"]).failed(1);
    assert!(message.contains("events/") && message.contains("checksum"), "{message}");
    std::fs::remove_file(&file).unwrap();
    assert!(place.run(&["verify", "ds"]).failed(1).contains("events/"));
}

#[test]
fn inspect_lists_accounts_up_to_twenty() {
    let place = Place::new();
    let ingest = |count: u32, dataset: &str| {
        let rows: String = (1..=count).map(|at| format!("account-{at:04}\n")).collect();
        place.write("accounts.csv", &format!("account\n{rows}"));
        place.run(&["ingest", "--accounts", "accounts.csv", "--into", dataset]).succeeded();
        place.run(&["inspect", dataset]).succeeded()
    };
    let text = ingest(20, "few");
    assert!(text.contains("accounts   20: account-0001, ") && text.contains(", account-0020\n"), "{text}");
    let text = ingest(1_300, "many");
    assert!(text.contains("accounts   1,300: ") && text.contains(", account-0020 and 1,280 more\n"), "{text}");
}

/// A changed byte is never answered from: what is told is the damaged file, in one line.
#[test]
fn a_damaged_file_is_told_in_one_line() {
    let place = Place::with_dataset();
    let file = place.path("ds").join("events").read_dir().unwrap().next().unwrap().unwrap().path();
    let sound = std::fs::read(&file).unwrap();
    for at in (0..sound.len()).step_by(37) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0xff;
        std::fs::write(&file, bytes).unwrap();
        let run = place.query("campaign,zip,attributionChannel,total", &["--format", "csv"]);
        let told = run.stderr.lines().count() == 1 && run.stderr.starts_with("error: ") && run.stderr.contains("ds");
        assert!(run.code == 1 && told, "byte {at}: {run:?}");
    }
}

#[test]
fn explain_shows_the_plan_and_what_it_took() {
    let place = Place::with_dataset();
    let explain: Vec<&str> = ["explain", "ds", "--fields", "campaign,leads"].into_iter().chain(RANGE).collect();
    let text = place.run(&explain).succeeded();
    assert!(text.contains("sub-ranges") && text.contains("campaign (stored)"), "{text}");
    assert!(text.contains("account, trueup.customer, type, date, campaign"), "{text}");
    assert!(!text.contains("aggregation"), "{text}");
    let text = place.run(&[&explain, ["--analyze", "--threads", "1"].as_slice()].concat()).succeeded();
    assert!(text.contains("aggregation") && text.contains("merging      0.00 ms") && text.contains("5 rows"), "{text}");
    place.run(&["explain", "ds", "--fields", "campaign", "--start", "2025-01-01", "--end", "2025-01-02"]).failed(1);
}
