//! `trueup ingest --memory` uses at most 1.2 times that memory plus 200 MiB, whatever the input.

#![cfg(target_os = "linux")]

use crate::workspace::Workspace;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// The value of `--memory`, in MiB.
const MEMORY: usize = 16;

/// Runs an ingest into a new dataset and checks its memory. Returns its exit code and what it wrote to stderr.
fn ingest(workspace: &Workspace, args: &[&str]) -> (i32, String) {
    let errors = workspace.path("errors.txt");
    let mut child = Command::new(env!("CARGO_BIN_EXE_trueup"))
        .args(["ingest", "--into", "ds", "--memory", &format!("{MEMORY}MiB")])
        .args(args)
        .current_dir(workspace.path(""))
        .stdout(Stdio::null())
        .stderr(fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let code = loop {
        // The high-water mark only grows, so the last sample is nearly the peak. The pages of the program file do not
        // count, because a debug build has many more of them.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let kib = |name: &str| -> Option<usize> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_end_matches("kB").trim().parse().ok()
        };
        peak = kib("VmHWM:").zip(kib("RssFile:")).map_or(peak, |(all, file)| peak.max(all.saturating_sub(file)));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let limit = (MEMORY * 6 / 5 + 200) * MIB / 1024;
    assert!(peak > 0 && peak <= limit, "{peak} KiB of {limit} KiB");
    (code, fs::read_to_string(errors).unwrap())
}

const HEADER: &str = "account,opportunityId,type,date";

#[test]
fn a_customer_of_millions_of_events_is_refused() {
    let workspace = Workspace::new();
    workspace.write("a.csv", &format!("{HEADER}\n{}", "a,c,sold,2025-01-01\n".repeat(1_500_000)));
    let (code, message) = ingest(&workspace, &["a.csv"]);
    assert!(code == 1 && message.contains("`c` of account `a` has 1500000 events"), "{message}");
}

#[test]
fn long_texts_stay_within_the_memory() {
    let workspace = Workspace::new();
    let mut text = format!("{HEADER},note\n");
    for row in 0..100 {
        writeln!(text, "a{},c{row},sold,2025-01-01,{row}{}", row % 3, "n".repeat(MIB - 10)).unwrap();
    }
    workspace.write("a.csv", &text);
    assert_eq!(ingest(&workspace, &["a.csv"]), (0, String::new()));
}

#[test]
fn rejected_rows_stay_within_the_memory() {
    let workspace = Workspace::new();
    workspace.write("a.csv", &format!("{HEADER}\n{}a,c,sold,2025-01-01\n", "x\n".repeat(600_000)));
    let (code, message) = ingest(&workspace, &["a.csv", "--rejects", "rejects.ndjson"]);
    assert!(code == 0 && message.contains("600000 rows: expected 4 cells as in the header"), "{code} {message}");
}

#[test]
fn sparse_objects_stay_within_the_memory() {
    let workspace = Workspace::new();
    let mut text = String::new();
    for row in 0..10_000 {
        let name = row * 7 % 1_900;
        writeln!(
            text,
            "{{\"account\":\"a\",\"opportunityId\":{row},\"type\":\"sold\",\"date\":\"2025-01-01\",\"n{name}\":{row}}}"
        )
        .unwrap();
    }
    workspace.write("a.ndjson", &text);
    assert_eq!(ingest(&workspace, &["a.ndjson"]), (0, String::new()));
}

#[test]
fn large_documents_stay_within_the_memory() {
    let workspace = Workspace::new();
    let mut text = String::new();
    for document in 0..14 {
        let body = "n".repeat(15 * MIB);
        writeln!(text, "{{\"account\":\"a{document}\",\"date\":\"2025-01-01\",\"insight\":{{\"x\":\"{body}\"}}}}")
            .unwrap();
    }
    workspace.write("a.ndjson", &text);
    assert_eq!(ingest(&workspace, &["--insights", "a.ndjson"]), (0, String::new()));
}
