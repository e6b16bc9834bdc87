//! `trueup versions`, and `--as-of`: earlier versions of a dataset.

use crate::workspace::{EVENTS_CSV, EVENTS_URL, RANGE, Workspace};
use serde_json::Value;

/// Lists the versions of `ds` as JSON.
fn versions(workspace: &Workspace) -> Vec<Value> {
    serde_json::from_str(&workspace.run(&["versions", "ds", "--format", "json"]).succeeded()).unwrap()
}

fn text<'a>(version: &'a Value, key: &str) -> &'a str {
    version[key].as_str().unwrap()
}

/// Adds a version in which the closed work is 2000, and one that defines a dimension.
fn restate(workspace: &Workspace) {
    workspace.write("later.csv", &EVENTS_CSV.replace("1234.50", "2000"));
    workspace.run(&["ingest", "later.csv", "--into", "ds"]).succeeded();
    workspace.write(
        "d.toml",
        "[[dimension]]\nname = \"brand\"\nfrom = \"campaign\"\ncases = [{ equals = [\"a\"], value = \"b\" }]\n",
    );
    workspace.run(&["define", "ds", "d.toml"]).succeeded();
}

#[test]
fn versions_say_when_and_by_what_they_were_made_and_what_they_take() {
    let workspace = Workspace::with_dataset();
    restate(&workspace);
    let versions = versions(&workspace);
    let operations: Vec<&str> = versions.iter().map(|version| text(version, "operation")).collect();
    assert_eq!(operations, ["ingest", "ingest", "define"]);
    assert!(versions.is_sorted_by(|one, next| text(one, "committed") < text(next, "committed")), "{versions:?}");
    for (number, version) in (1..).zip(&versions) {
        assert_eq!(
            (version["version"].as_u64(), version["events"].as_u64(), version["spend"].as_u64()),
            (Some(number), Some(5), Some(1))
        );
        assert!(text(version, "committed").ends_with('Z') && text(version, "createdBy").starts_with("trueup "));
        assert!(version["ownBytes"].as_u64() < version["bytes"].as_u64(), "the accounts are shared: {version}");
    }
    // The last one has the files of the one before, and its definitions.
    assert_eq!(versions[2]["ownFiles"], 1);
    let bytes = std::fs::metadata(workspace.path("d.toml")).unwrap().len();
    assert_eq!(versions[2]["ownBytes"], bytes);
    let table = workspace.run(&["versions", "ds"]).succeeded();
    assert!(table.starts_with("version") && table.lines().count() == 5, "{table}");
    let csv = workspace.run(&["versions", "ds", "--format", "csv"]).succeeded();
    assert!(
        csv.starts_with("version,committed,operation,createdBy,events,spend,files,bytes,ownFiles,ownBytes\n1,20"),
        "{csv}"
    );
    assert!(workspace.run(&["versions", "nowhere"]).failed(1).contains("`nowhere` holds no dataset"));
}

#[test]
fn commands_read_a_version_by_its_number_or_as_of_a_time() {
    let (workspace, key) = Workspace::with_directory();
    let before = workspace.query("closedRevenue,campaign", &["--format", "csv"]).succeeded();
    restate(&workspace);
    assert_ne!(workspace.query("closedRevenue,campaign", &["--format", "csv"]).succeeded(), before);
    let versions = versions(&workspace);
    let first = text(&versions[0], "committed");
    for as_of in ["1", first, &first.replace('Z', "+00:00")] {
        assert_eq!(
            workspace.query("closedRevenue,campaign", &["--format", "csv", "--as-of", as_of]).succeeded(),
            before
        );
        for command in ["inspect", "verify"] {
            let report = workspace.run(&[command, "ds", "--as-of", as_of]).succeeded();
            assert!(
                report.contains("version") && report.contains('1') && !report.contains("ingested   version 2"),
                "{report}"
            );
        }
        let url = EVENTS_URL.replace("leads", "closedRevenue");
        let body = workspace.get(Some(&key), &["ds", &url, "--body-only", "--as-of", as_of]).succeeded();
        assert_eq!(body, r#"[{"closedRevenue":1234.5}]"#);
        let jobs = |key: &str| {
            format!(
                "dataset = 'ds'\n{key}\n[[query]]\noutput = 'a.csv'\nfields = 'closedRevenue,campaign'\nstart = 2025-01-01\nend = 2025-03-31\n"
            )
        };
        let as_number = if as_of == "1" { as_of.to_owned() } else { format!("'{as_of}'") };
        for (key, options) in [
            (format!("as-of = {as_number}"), vec![]),
            (format!("as-of = {}", if as_of == "1" { "1" } else { as_of }), vec![]),
            ("as-of = 2".to_owned(), vec!["--as-of", as_of]),
        ] {
            workspace.write("jobs.toml", &jobs(&key));
            workspace
                .run(&[&["batch", "jobs.toml", "--into", "out", "--force"], options.as_slice()].concat())
                .succeeded();
            assert_eq!(std::fs::read_to_string(workspace.path("out/a.csv")).unwrap(), before, "{key}");
        }
    }
    let now = workspace.query("closedRevenue", &["--format", "json", "--as-of", "2999-01-01T00:00:00Z"]).succeeded();
    assert_eq!(now, r#"[{"closedRevenue":2000}]"#);
}

#[test]
fn a_version_that_does_not_exist_is_an_error_that_names_those_that_do() {
    let workspace = Workspace::with_dataset();
    restate(&workspace);
    let as_of = |as_of: &str, code: i32| workspace.query("leads", &["--as-of", as_of]).failed(code);
    assert_eq!(as_of("9", 1), "error: `ds` holds no dataset of version 9, but of versions 1 to 3\n");
    let first = text(&versions(&workspace)[0], "committed").to_owned();
    assert_eq!(
        as_of("2020-01-01T00:00:00Z", 1),
        format!(
            "error: `ds` holds no dataset as of 2020-01-01T00:00:00Z; its first version, 1, was committed at {first}\n"
        )
    );
    assert!(as_of("2026-01-31", 2).contains("`2026-01-31` is a date; add the time, such as `2026-01-31T23:59:59Z`"));
    assert!(as_of("2026-01-31T10:00:00", 2).contains("a time with its offset"));
    workspace.write("jobs.toml", "dataset = 'ds'\nas-of = 2026-01-31\n[[query]]\n");
    let message = workspace.run(&["batch", "jobs.toml", "--into", "out"]).failed(1);
    assert!(message.contains("`as-of`: expected a version or a time"), "{message}");
    assert!(
        workspace
            .run(&["query", "nowhere", "--fields", "leads", "--last", "1d", "--as-of", "1"])
            .failed(1)
            .contains("`nowhere` holds no dataset\n")
    );
}

#[test]
fn versions_expire_and_a_vacuum_removes_their_files_after_the_grace_period() {
    let workspace = Workspace::with_dataset();
    restate(&workspace);
    let planned = workspace.run(&["expire", "ds", "--keep-last", "1", "--dry-run"]).succeeded();
    assert!(
        planned.starts_with("expired  would be versions 1, 2\nkept     version 3 of `ds`\nremoved  would be 0 files"),
        "{planned}"
    );
    assert_eq!(versions(&workspace).len(), 3);
    let report = workspace.run(&["expire", "ds", "--keep-last", "1", "--format", "json"]).succeeded();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["expired"], &report["kept"]), (&serde_json::json!([1, 2]), &serde_json::json!([3])));
    assert_eq!((report["removed"]["files"].as_u64(), report["dryRun"].as_bool()), (Some(0), Some(false)));
    let waiting = report["waiting"]["files"].as_u64().unwrap();
    assert!(waiting > 0);
    assert_eq!(versions(&workspace).len(), 1);
    let vacuumed = workspace.run(&["vacuum", "ds"]).succeeded();
    assert!(
        vacuumed.contains("removed  0 files") && vacuumed.contains("for the end of the grace period"),
        "{vacuumed}"
    );
    let vacuumed = workspace.run(&["vacuum", "ds", "--grace", "0s"]).succeeded();
    assert!(vacuumed.contains(&format!("removed  {waiting} files")) && !vacuumed.contains("waiting"), "{vacuumed}");
    assert_eq!(workspace.query("closedRevenue", &["--format", "json"]).succeeded(), r#"[{"closedRevenue":2000}]"#);
    workspace.run(&["verify", "ds"]).succeeded();
    let expired = workspace.query("leads", &["--as-of", "1"]).failed(1);
    assert_eq!(expired, "error: version 1 of `ds` has expired; the dataset has version 3\n");
}

#[test]
fn a_damaged_record_of_expired_files_is_an_error_with_advice() {
    let workspace = Workspace::with_dataset();
    restate(&workspace);
    workspace.run(&["expire", "ds", "--keep-last", "1"]).succeeded();
    let names = std::fs::read_dir(workspace.path("ds")).unwrap().map(|entry| entry.unwrap().file_name());
    let name = names.map(|name| name.into_string().unwrap()).find(|name| name.starts_with(".trueup-expired-")).unwrap();
    let record = workspace.path("ds").join(&name);
    let whole = std::fs::read(&record).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    std::fs::write(&record, damaged).unwrap();
    for command in [&["vacuum", "ds"][..], &["expire", "ds", "--keep-last", "1"]] {
        let refused = workspace.run(command).failed(1);
        let expected =
            format!("error: `ds/{name}` is damaged: its bytes do not have the checksum at its end; restore it");
        assert!(refused.starts_with(&expected) && refused.lines().count() == 1, "{refused}");
    }
    std::fs::write(&record, whole).unwrap();
    let vacuumed = workspace.run(&["vacuum", "ds", "--grace", "0s"]).succeeded();
    assert!(!vacuumed.contains("removed  0 files"), "{vacuumed}");
}

#[test]
fn an_expiry_says_what_it_keeps() {
    let workspace = Workspace::with_dataset();
    assert!(workspace.run(&["expire", "ds"]).failed(2).contains("--keep-last"));
    assert!(workspace.run(&["expire", "ds", "--keep-last", "0"]).failed(2).contains("0 is not in 1.."));
    assert!(
        workspace.run(&["expire", "ds", "--older-than", "1mo"]).failed(2).contains("expected an age such as `30d`")
    );
    for command in [&["expire", "nowhere", "--keep-last", "1"][..], &["vacuum", "nowhere"]] {
        assert!(workspace.run(command).failed(1).contains("nowhere"));
        assert!(!workspace.path("nowhere").exists());
    }
    let kept = workspace.run(&["expire", "ds", "--older-than", "30d"]).succeeded();
    assert_eq!(kept, "kept     version 1 of `ds`\nremoved  0 files, 0 B\n");
}

#[test]
fn a_diff_shows_what_was_restated() {
    let workspace = Workspace::with_dataset();
    restate(&workspace);
    let diff = |arguments: &[&str]| {
        let fields =
            ["--fields", "account,leads,closedRevenue,bookRate", "--start", "2025-01-01", "--end", "2025-03-31"];
        workspace.run(&[&["diff", "ds"], arguments, &fields].concat())
    };
    assert_eq!(
        diff(&["1", "2", "--format", "csv"]).succeeded(),
        "status,account,leads,leads.previous,leads.change,closedRevenue,closedRevenue.previous,closedRevenue.change,bookRate,\
         bookRate.previous,bookRate.change\nchanged,acme,2,2,0,2000,1234.5,765.5,0.5,0.5,0\n"
    );
    let json = diff(&["1", "2", "--format", "json", "--totals"]).succeeded();
    let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
    let total = rows.iter().find(|row| row["rowType"] == "total").unwrap();
    assert_eq!((rows.len(), &total["closedRevenue.change"]), (2, &serde_json::json!(765.5)), "{json}");
    let table = diff(&["1", "2", "--totals"]).succeeded();
    let row_types = ["group", "total"].map(|row_type| table.matches(row_type).count());
    assert_eq!(row_types, [1, 1], "{table}");
    let table = diff(&["1", "2"]).succeeded();
    assert!(table.contains("changed") && table.contains("765.50") && table.contains("50.0%"), "{table}");
    let first = text(&versions(&workspace)[0], "committed").to_owned();
    assert_eq!(diff(&[&first, "3", "--format", "ndjson"]).succeeded().lines().count(), 1);
    let same = diff(&["2", "3"]);
    assert!(same.code == 0 && same.stderr.contains("no row differs between version 2 and version 3"), "{same:?}");
    assert!(diff(&["1", "9"]).failed(1).contains("but of versions 1 to 3"));
    assert!(diff(&["1", "2", "--limit", "3"]).failed(2).contains("`--limit`"));
    let help = workspace.run(&["diff", "--help"]).succeeded();
    assert!(!["--sort", "--limit", "--compare"].iter().any(|option| help.contains(option)), "{help}");
    assert!(help.contains("Compare the totals, too") && !help.contains("empty in a table"), "{help}");
    // A dimension that only the later version defines.
    let brand = workspace.run(&[
        "diff",
        "ds",
        "1",
        "3",
        "--fields",
        "brand,closedRevenue",
        "--year",
        "2025",
        "--interval",
        "month",
        "--format",
        "csv",
    ]);
    assert!(brand.succeeded().contains("changed,2025-01-01,2025-01-31,,2000,1234.5,765.5\n"));
}

/// The definition of the later version can be used, although the earlier one does not have what it is derived from.
#[test]
fn a_diff_shows_a_dimension_of_a_column_that_only_the_later_version_has() {
    let workspace = Workspace::new();
    workspace.write("1.csv", "account,opportunityId,type,date,eventId\nacme,1,lead-originated,2025-01-03,e1\n");
    workspace
        .write("2.csv", "account,opportunityId,type,date,eventId,region\nacme,2,lead-originated,2025-01-05,e2,North\n");
    for events in ["1.csv", "2.csv"] {
        workspace.run(&["ingest", events, "--into", "ds"]).succeeded();
    }
    workspace.write(
        "d.toml",
        "[[dimension]]\nname = \"area\"\nfrom = \"region\"\ncases = [{ equals = [\"North\"], value = \"Up\" }]\n",
    );
    workspace.run(&["define", "ds", "d.toml"]).succeeded();
    let changes = workspace
        .run(&[&["diff", "ds", "1", "3", "--fields", "area,leads", "--format", "csv"], &RANGE[..]].concat())
        .succeeded();
    assert_eq!(changes, "status,area,leads,leads.previous,leads.change\nadded,Up,1,0,1\n");
}

#[test]
fn a_diff_checks_values_against_both_versions() {
    let workspace = Workspace::with_dataset();
    workspace.write("later.csv", &EVENTS_CSV.replace("Paid Search", "Social"));
    workspace.run(&["ingest", "later.csv", "--into", "ds"]).succeeded();
    let diff = |channel: &str, more: &[&str]| {
        let condition = format!("attributionChannel = '{channel}'");
        let query = ["diff", "ds", "1", "2", "--fields", "leads", "--year", "2025", "--interval", "month", "--where"];
        workspace.run(&[&query[..], &[&condition], more].concat())
    };
    for channel in ["Paid Search", "Social"] {
        assert!(diff(channel, &["--strict", "--format", "csv"]).succeeded().contains("changed"), "{channel}");
    }
    let message = "no event and no spend of the dataset has the value `Radio` in `attributionChannel`";
    let warned = diff("Radio", &[]);
    assert!(warned.code == 0 && warned.stderr.contains(message), "{warned:?}");
    assert!(diff("Radio", &["--strict"]).failed(1).contains(message));
}

#[test]
fn an_earlier_version_is_restored() {
    let workspace = Workspace::with_dataset();
    let before = workspace.query("closedRevenue,campaign", &["--format", "csv"]).succeeded();
    restate(&workspace);
    assert_ne!(workspace.query("closedRevenue,campaign", &["--format", "csv"]).succeeded(), before);
    let newest = versions(&workspace).len();
    let restored = workspace.run(&["restore", "ds", "--to", "1"]).succeeded();
    assert_eq!(restored, format!("version {} of `ds`, with the content of version 1\n", newest + 1));
    assert_eq!(workspace.query("closedRevenue,campaign", &["--format", "csv"]).succeeded(), before);
    let last = versions(&workspace).pop().unwrap();
    assert_eq!(text(&last, "operation"), "restore");
    let again = workspace.run(&["restore", "ds", "--to", &(newest + 1).to_string()]).succeeded();
    assert_eq!(again, format!("nothing changed: version {} is the newest of `ds`\n", newest + 1));
    let refused = workspace.run(&["restore", "ds", "--to", "99"]).failed(1);
    assert!(refused.contains("version 99 cannot be restored: there is no such version"), "{refused}");
}

#[test]
fn an_ingest_says_what_it_replaced_by_source_and_channel() {
    let workspace = Workspace::new();
    let header = "account,date,attributionChannel,adSpend\n";
    workspace.write("google.csv", &format!("{header}a,2025-10-01,Search,5\na,2025-10-01,,1\n"));
    workspace.write("meta.csv", &format!("{header}a,2025-10-01,Social,6\n"));
    workspace.write("google2.csv", &format!("{header}a,2025-10-01,Search,7\n"));
    let ingest =
        |file: &str, more: &[&str]| workspace.run(&[&["ingest", "--spend", file, "--into", "ds"], more].concat());
    ingest("google.csv", &["--source", "google"]).succeeded();
    ingest("meta.csv", &["--source", "meta"]).succeeded();
    let restated = ingest("google2.csv", &["--source", "google"]);
    assert!(
        restated.stderr.contains("of channels that this ingest does not have: no channel (1)"),
        "{}",
        restated.stderr
    );
    assert_eq!(
        restated.stdout,
        "version 3 of `ds`\nspend    1 taken, 2 replaced\n         1 replaced, adSpend 1: source `google`, no channel\n         \
         1 replaced, adSpend 5: source `google`, channel `Search`\n"
    );
    let removed = ingest("google2.csv", &["--source", "ads", "--replace-source", "google"]).succeeded();
    assert_eq!(
        removed,
        "version 4 of `ds`\nspend    1 taken\nremoved  0 of events, 1 of spend, with source `google`\n"
    );
}
