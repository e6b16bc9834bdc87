//! `trueup ingest`, and what `inspect`, `verify` and `explain` show of a dataset.

use crate::workspace::{EVENTS_CSV, RANGE, SPEND_CSV, Workspace};

#[test]
fn ingest_reports_how_many_rows_it_took_and_replaced() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    let ingest = ["ingest", "events.csv", "--into", "ds"];
    assert_eq!(workspace.run(&ingest).succeeded(), "version 1 of `ds`\nevents   5 taken\n");
    assert_eq!(workspace.run(&ingest).succeeded(), "version 2 of `ds`\nevents   5 taken, 5 replaced\n");
    workspace.write("later.csv", &EVENTS_CSV.replace("1234.50", "2000"));
    let ingest = ["ingest", "later.csv", "--into", "ds", "--memory", "64MiB", "--threads", "1"];
    assert_eq!(workspace.run(&ingest).succeeded(), "version 3 of `ds`\nevents   5 taken, 5 replaced\n");
    assert_eq!(workspace.query("closedRevenue", &["--format", "json"]).succeeded(), r#"[{"closedRevenue":2000}]"#);
    let before = workspace.query("closedRevenue", &["--format", "json", "--as-of", "1"]);
    assert_eq!(before.succeeded(), r#"[{"closedRevenue":1234.5}]"#);
}

#[test]
fn events_without_ids_that_come_again_change_nothing_or_are_refused() {
    let workspace = Workspace::new();
    workspace.write("e.csv", "account,opportunityId,type,dateTime\nacme,1,sold,2026-01-31T23:30:00\n");
    let ingest = |options: &[&str]| workspace.run(&[&["ingest", "e.csv", "--into", "ds"], options].concat());
    ingest(&["--time-zone", "UTC"]).succeeded();
    let again = ingest(&["--time-zone", "UTC"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    assert_eq!(again.stdout, "nothing changed: `ds` stays at version 1; all of this was ingested before\n");
    let refused = ingest(&["--time-zone", "Asia/Tokyo"]).failed(1);
    for part in [
        "`e.csv` was ingested before, as version 1: `--time-zone` was `UTC` and is now `Asia/Tokyo`",
        "--replace-source",
        "`--again`",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let added = ingest(&["--time-zone", "Asia/Tokyo", "--again"]).succeeded();
    assert_eq!(added, "version 2 of `ds`\nevents   1 taken\n");
    let inspected = workspace.run(&["inspect", "ds"]).succeeded();
    for version in ["1", "2"] {
        assert!(inspected.contains(&format!("ingested   version {version}: 1 event from e.csv\n")), "{inspected}");
    }
}

#[test]
fn the_files_of_the_next_month_need_no_mapping() {
    let workspace = Workspace::new();
    let mapping = "[input.jobs]\nfile = \"jobs-*.csv\"\n[[events]]\nfrom = \"jobs\"\nrecord = \"Job\"\n\
        columns = { account = { value = \"acme\" }, opportunityId = \"Customer\", eventId = \"Job\" }\n[events.stages]\n\
        booked = { date = \"Booked\" }\ncanceled = { date = \"Canceled\" }\n";
    workspace.write("m.toml", mapping);
    workspace.write("jobs-1.csv", "Job,Customer,Booked,Canceled\n7,ann,2025-01-02,\n8,bob,2025-01-03,\n");
    workspace.write("jobs-2.csv", "Job,Customer,Booked,Canceled\n7,ann,,2025-02-01\n");
    let first = workspace.run(&["ingest", "jobs-1.csv", "--mapping", "m.toml", "--into", "ds"]).succeeded();
    assert!(first.starts_with("version 1 of `ds`\nevents   2 taken\n"), "{first}");
    let second = workspace.run(&["ingest", "jobs-2.csv", "--into", "ds"]).succeeded();
    assert!(second.starts_with("version 2 of `ds`\nevents   1 taken, 1 replaced\n"), "{second}");
    assert_eq!(workspace.run(&["inspect", "ds", "--mapping"]).succeeded(), mapping);
    assert!(workspace.run(&["inspect", "ds"]).succeeded().contains("mapping    9 lines; `--mapping` shows it\n"));
    workspace.write("events.csv", EVENTS_CSV);
    let refused = workspace.run(&["ingest", "events.csv", "--into", "ds"]).failed(1);
    assert!(refused.contains("its inputs are `jobs-*.csv`") && refused.contains("`--no-mapping`"), "{refused}");
    workspace.run(&["ingest", "events.csv", "--into", "ds", "--no-mapping"]).succeeded();
    workspace.write("patch.csv", "account,eventId,opportunityId\nacme,8-booked,cat\n");
    let patched = workspace.run(&["ingest", "patch.csv", "--patch", "--into", "ds"]);
    assert!(patched.stdout.contains("events   1 taken, 1 replaced\n"), "{patched:?}");
    let moved = "warning: 1 stored event was replaced by one of another customer: `bob` of `acme` became `cat`. ";
    assert!(patched.stderr.starts_with(moved), "{patched:?}");
    let without = Workspace::with_dataset().run(&["inspect", "ds", "--mapping"]).failed(1);
    assert!(without.contains("`ds` has no mapping"), "{without}");
}

#[test]
fn a_file_with_only_a_header_is_reported_as_zero_rows() {
    let workspace = Workspace::new();
    workspace.write("events.csv", "account,opportunityId,type,date\n");
    workspace.write("spend.csv", "account,date,adSpend\n");
    let run = workspace.run(&["ingest", "events.csv", "--spend", "spend.csv", "--into", "ds"]);
    assert_eq!(run.succeeded(), "version 1 of `ds`\nevents   0 taken\nspend    0 taken\n");
    workspace.write("accounts.csv", "account\n");
    let run = workspace.run(&["ingest", "--accounts", "accounts.csv", "--into", "ds"]);
    assert!(run.code == 0 && !run.stdout.contains("events"), "{run:?}");
}

#[test]
fn rows_that_break_a_rule_stop_the_ingest_or_go_to_a_file() {
    let workspace = Workspace::with_dataset();
    workspace.write("bad.csv", &EVENTS_CSV.replace("1234.50", "\"$1,234.50\""));
    let message = workspace.run(&["ingest", "bad.csv", "--into", "ds"]).failed(1);
    assert_eq!(
        message,
        "error: `bad.csv`, line 4, column `total`: expected an amount as a plain decimal number, such as `1234.5`, but found \
         `$1,234.50`; nothing was ingested; `--rejects FILE` writes such rows to a file and ingests the others\n"
    );
    assert_eq!(workspace.query("eventCount", &["--format", "json"]).succeeded(), r#"[{"eventCount":5}]"#);

    let run = workspace.run(&["ingest", "bad.csv", "--into", "other", "--rejects", "rejects.ndjson"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.stdout,
        "version 1 of `other`\nevents   4 taken, 1 rejected\n         bad.csv\n           5 read (1 without an amount that can be \
         read)\n           4 taken\n           1 rejected (1 without an amount that can be read): total: expected an amount as a plain \
         decimal number, such as `1234.5`\n"
    );
    let protocol = ["ingest", "bad.csv", "--into", "json", "--rejects", "more.ndjson", "--protocol", "json"];
    let written = workspace.run(&protocol).stdout;
    let json: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["tables"]["events"]["inputs"][0]["read"], serde_json::json!({ "rows": 5, "withoutAmount": 1 }));
    let later = workspace.run(&["versions", "json", "--protocol", "1", "--format", "json"]).succeeded();
    assert_eq!(later, written);
    let table = workspace.run(&["versions", "json", "--protocol", "1", "--format", "csv"]).succeeded();
    assert_eq!(
        table,
        "table,input,mappedBy,outcome,by,rows,total,adSpend,managementFee,withoutAmount\n\
         events,bad.csv,,read,,5,0,0,0,1\nevents,bad.csv,,taken,,4,0,0,0,0\n\
         events,bad.csv,,rejected,\"total: expected an amount as a plain decimal number, such as `1234.5`\",1,0,0,0,1\n"
    );
    let message = workspace.run(&["versions", "json", "--protocol", "7"]).failed(1);
    assert!(message.contains("version 7 was not made by an ingest"), "{message}");
    assert!(std::fs::read_to_string(workspace.path("rejects.ndjson")).unwrap().contains("$1,234.50"));
    assert_eq!(
        run.stderr,
        "warning: rows that break a rule are in `rejects.ndjson` and not in the dataset:\n\
         1 row, column `total`: expected an amount as a plain decimal number, such as `1234.5`\n  `bad.csv`, line 4: `$1,234.50`\n"
    );
    let message = workspace.run(&["ingest", "bad.csv", "--into", "third", "--rejects", "rejects.ndjson"]).failed(1);
    assert_eq!(
        message,
        "error: `rejects.ndjson` is already there; name another file, or pass `--force` to replace it\n"
    );
}

#[test]
fn lines_that_are_no_rows_are_in_every_form_of_the_protocol() {
    let workspace = Workspace::new();
    workspace.write(
        "m.toml",
        "[input.ads]\nfile = \"ads.csv\"\nshort_rows = \"skip\"\n[[spend]]\nfrom = \"ads\"\n\
         columns = { account = { value = \"a\" }, date = \"Day\", adSpend = \"Cost\" }\n",
    );
    workspace.write("ads.csv", "Ads\nDay,Campaign,Cost\n2025-01-01,x,10\n2025-01-02,y,5\n2025-01-03,2\n");
    let ingest = |dataset: &str, more: &[&str]| {
        workspace.run(&[&["ingest", "ads.csv", "--mapping", "m.toml", "--into", dataset], more].concat()).stdout
    };
    let shown = ingest("text", &[]);
    let line = "left out 1 title line, 1 row with fewer cells than the header of `ads.csv`\n";
    assert!(shown.starts_with("version 1 of `text`\nspend    2 taken\n") && shown.ends_with(line), "{shown}");
    let written = ingest("json", &["--protocol", "json"]);
    let json: serde_json::Value = serde_json::from_str(&written).unwrap();
    let input = &json["tables"]["spend"]["inputs"][0];
    assert_eq!(input["skipped"], serde_json::json!({ "titleLines": 1, "shortRows": 1 }));
    assert_eq!(input["read"], serde_json::json!({ "rows": 2, "adSpend": "15" }));
    let later = |format: &str| workspace.run(&["versions", "json", "--protocol", "1", "--format", format]).succeeded();
    assert_eq!(later("json"), written);
    assert_eq!(
        later("csv"),
        "table,input,mappedBy,outcome,by,rows,total,adSpend,managementFee,withoutAmount\n\
         spend,ads.csv,m.toml spend[0],read,,2,0,15,0,0\nspend,ads.csv,m.toml spend[0],taken,,2,0,15,0,0\n\
         spend,ads.csv,m.toml spend[0],no rows,title lines,1,0,0,0,0\n\
         spend,ads.csv,m.toml spend[0],no rows,rows with fewer cells than the header,1,0,0,0,0\n"
    );
}

#[test]
fn rejected_rows_are_counted_by_rule_and_limited_by_max_rejects() {
    let workspace = Workspace::new();
    workspace.write(
        "bad.csv",
        "account,opportunityId,type,date\na,1,Won,2025-01-01\na,2,Won,2025-01-01\na,3,Lost,2025-01-01\na,4,Won,2025-01-01\n\
         a,5,sold,soon\na,6,sold,2025-01-01\n",
    );
    let summary = "4 rows, column `type`: expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or `canceled`)\n  \
                   `bad.csv`, line 2: `Won`\n  `bad.csv`, line 3: `Won`\n  `bad.csv`, line 4: `Lost`\n\
                   1 row, column `date`: expected a date as YYYY-MM-DD from 1970-01-01 to 2149-06-06\n  `bad.csv`, line 6: `soon`\n";
    let ingest = |more: &[&str]| workspace.run(&[&["ingest", "bad.csv", "--into", "ds"], more].concat());
    let message = ingest(&[]).failed(1);
    let error = "error: `bad.csv`, line 2, column `type`: expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or \
                 `canceled`), but found `Won`; 4 more rows break a rule; nothing was ingested; `--rejects FILE` writes such rows to a \
                 file and ingests the others\n";
    assert_eq!(message, format!("{summary}{error}"));
    let message = ingest(&["--rejects", "r.ndjson", "--max-rejects", "50%"]).failed(1);
    let error = "error: 5 rows of 6 break a rule, but at most 50% may; nothing was ingested, and `r.ndjson` holds the rows that were \
                 rejected before (5)\n";
    assert_eq!(message, format!("{summary}{error}"));
    let run = ingest(&["--rejects", "r.ndjson", "--force", "--max-rejects", "5"]);
    assert!(run.code == 0 && run.stdout.starts_with("version 1 of `ds`\nevents   1 taken, 5 rejected\n"), "{run:?}");
    let warning = "warning: rows that break a rule are in `r.ndjson` and not in the dataset:\n";
    assert_eq!(run.stderr, format!("{warning}{summary}"));
    let message = ingest(&["--max-rejects", "5"]).failed(2);
    assert!(message.contains("--rejects <FILE>"), "{message}");
    let message = ingest(&["--rejects", "q.ndjson", "--max-rejects", "few"]).failed(2);
    assert!(
        message.contains("expected a number of rows such as `20`, or a share of the rows such as `0.5%`"),
        "{message}"
    );
}

#[test]
fn the_time_zone_of_a_time_without_an_offset_is_stated_or_the_row_refused() {
    let workspace = Workspace::new();
    workspace.write("events.csv", "account,opportunityId,type,dateTime\nacme,1,sold,2026-01-05 22:30\n");
    workspace.write("accounts.csv", "account,timeZone\nacme,America/Denver\n");
    let ingest = |dataset: &str, more: &[&str]| {
        workspace.run(&[&["ingest", "events.csv", "--accounts", "accounts.csv", "--into", dataset], more].concat())
    };
    assert_eq!(
        ingest("ds", &[]).failed(1),
        "error: `events.csv`, line 2, column `dateTime`: expected a point in time with an offset, such as \
         `2025-01-31T09:30:00-05:00`, or one of `--time-zone account` (the time zone of each account), `--time-zone UTC` and \
         `--time-zone America/New_York` (or any other), but found `2026-01-05 22:30`; nothing was ingested; `--rejects FILE` writes \
         such rows to a file and ingests the others\n"
    );
    for (zone, day, time) in [
        ("account", "2026-01-05", "2026-01-06T05:30:00Z"),
        ("UTC", "2026-01-05", "2026-01-05T22:30:00Z"),
        ("Asia/Tokyo", "2026-01-05", "2026-01-05T13:30:00Z"),
        ("America/Los_Angeles", "2026-01-05", "2026-01-06T06:30:00Z"),
    ] {
        ingest(zone.rsplit('/').next().unwrap(), &["--time-zone", zone]).succeeded();
        let dataset = zone.rsplit('/').next().unwrap();
        let query = ["query", dataset, "--fields", "date,dateTime,eventCount", "--format", "json"];
        let run = workspace.run(&[&query[..], &["--start", "2026-01-01", "--end", "2026-01-31"]].concat());
        assert_eq!(run.succeeded(), format!(r#"[{{"date":"{day}","dateTime":"{time}","eventCount":1}}]"#), "{zone}");
    }
    let message = ingest("ds", &["--time-zone", "Denver"]).failed(2);
    assert!(
        message.contains("expected `account`, `UTC`, or an IANA time zone such as `America/New_York`"),
        "{message}"
    );
}

#[test]
fn columns_with_the_name_of_a_metric_are_ignored_with_a_warning() {
    let workspace = Workspace::new();
    workspace.write("events.csv", "account,opportunityId,type,date,leads\na,1,booked,2025-01-01,7\n");
    let run = workspace.run(&["ingest", "events.csv", "--into", "ds"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("warning:") && run.stderr.contains("`leads`"), "{run:?}");
}

#[test]
#[cfg(unix)]
fn the_standard_input_is_read() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    workspace.write("spend.csv", SPEND_CSV);
    let run = workspace.shell("gzip -c events.csv | trueup ingest - --spend spend.csv --format csv --into ds");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("events   5 taken") && run.stdout.contains("spend    1 taken"), "{run:?}");
    let run = workspace.shell("echo 'account,type\nacme,sold' | trueup ingest - --into ds");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("`-`: expected the columns `opportunityId`"), "{run:?}");
    let run = workspace.shell("trueup ingest - - --into ds < events.csv");
    assert!(run.code == 2 && run.stderr.contains("`-` is given twice"), "{run:?}");
}

#[test]
fn a_url_makes_no_folder() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    for arguments in [
        &["ingest", "events.csv", "--into", "https://host/ds"][..],
        &["ingest", "events.csv", "--into", "ftp://host/ds"],
        &["demo", "s3://bucket/ds"],
        &["batch", "jobs.toml", "--into", "s3://bucket/out"],
    ] {
        let message = workspace.run(arguments).failed(2);
        assert!(message.contains("URL") || message.contains("://"), "{message}");
    }
    let rejects = ["ingest", "events.csv", "--into", "ds", "--rejects", "s3://bucket/rejects.ndjson"];
    let message = workspace.run(&rejects).failed(1);
    assert!(message.contains("`s3://bucket/rejects.ndjson` is a URL, and a result is written to a file"), "{message}");
    assert_eq!(workspace.names(), ["events.csv"]);
}

#[test]
fn an_ingest_without_inputs_or_a_dataset_is_wrong_usage() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    workspace.run(&["ingest", "events.csv"]).failed(2);
    workspace.run(&["ingest", "--into", "ds"]).failed(2);
    workspace.run(&["ingest", "events.csv", "--into", "ds", "--memory", "lots"]).failed(2);
    let message = workspace.run(&["ingest", "missing.csv", "--into", "ds"]).failed(1);
    assert!(message.contains("missing.csv"), "{message}");
    assert!(!workspace.path("ds").join("manifest-00000001.json").exists());
}

/// The environment is at fault, not the program.
#[test]
fn folders_that_cannot_be_written_are_reported() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    workspace.write("plain", "a file, not a folder");
    for folder in ["plain", "plain/ds"] {
        let message = workspace.run(&["ingest", "events.csv", "--into", folder]).failed(1);
        assert!(message.contains(&format!("`{folder}`")) && message.lines().count() == 1, "{message}");
    }
    let message =
        workspace.run(&["ingest", "events.csv", "--into", "ds", "--rejects", "plain/rejects.ndjson"]).failed(1);
    assert!(message.contains("plain/rejects.ndjson"), "{message}");
    assert_eq!(std::fs::read_to_string(workspace.path("plain")).unwrap(), "a file, not a folder");
}

/// Root may write to every folder; then the ingest succeeds.
#[cfg(unix)]
#[test]
fn a_folder_without_write_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    let folder = workspace.path("closed");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let may_write = std::fs::write(folder.join("try"), "").is_ok();
    let run = workspace.run(&["ingest", "events.csv", "--into", "closed/ds"]);
    assert_eq!(run.code, i32::from(!may_write), "{run:?}");
    assert!(may_write || run.stderr.contains("`closed/ds`"), "{run:?}");
}

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
        "version 1: 1 account from accounts.csv; 5 events from events.csv; 1 row of spend from spend.csv\n",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    workspace.run(&["inspect", "ds", "--as-of", "2"]).failed(1);
}

#[test]
fn inspect_counts_no_superseded_row() {
    let workspace = Workspace::new();
    for days in [1..5, 2..3] {
        let rows: String = days.map(|day| format!("acme,2025-01-0{day},{day}\n")).collect();
        workspace.write("spend.csv", &format!("account,date,adSpend\n{rows}"));
        workspace.run(&["ingest", "--spend", "spend.csv", "--into", "ds"]).succeeded();
    }
    let text = workspace.run(&["inspect", "ds"]).succeeded();
    assert!(text.contains("spend      4 rows, 2 files"), "{text}");
    let json = workspace.run(&["inspect", "ds", "--format", "json"]).succeeded();
    let contents: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&contents["tables"]["spend"]["rows"], &contents["tables"]["spend"]["files"]), (&4.into(), &2.into()));
}

#[test]
fn verify_finds_a_changed_byte() {
    let workspace = Workspace::with_dataset();
    assert!(workspace.run(&["verify", "ds"]).succeeded().starts_with("version 1 is whole: 6 files"));
    let file = workspace.event_file();
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
    let file = workspace.event_file();
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

#[test]
fn a_mapping_is_drafted_answered_and_ingested() {
    let workspace = Workspace::new();
    workspace.write(
        "jobs.csv",
        "id,called,sold_on,sale,source\n7,2025-01-03,2025-01-05,\"$1,800.00\",Radio\n8,2025-01-04,,,Mail\n",
    );
    let draft = workspace.run(&["mapping", "draft", "jobs.csv"]).succeeded();
    let note = workspace.change(&["mapping", "draft", "jobs.csv", "-o", "jobs.toml"]);
    assert_eq!(note, "wrote `jobs.toml`, in which 1 question is open\n");
    assert_eq!(std::fs::read_to_string(workspace.path("jobs.toml")).unwrap(), draft);
    assert!(workspace.run(&["mapping", "draft", "jobs.csv", "-o", "jobs.toml"]).failed(1).contains("jobs.toml"));
    let ingest = ["ingest", "jobs.csv", "--mapping", "jobs.toml", "--into", "ds"];
    assert!(workspace.run(&ingest).failed(1).contains("key `open_questions`, value `1`"));
    let answered = draft
        .replace("open_questions = [1]", "")
        .replace("#account = { value = \"...\" }", "account = { value = \"acme\" }");
    workspace.write("jobs.toml", &answered);
    assert_eq!(
        workspace.run(&ingest).succeeded(),
        "version 1 of `ds`\nevents   3 taken\n         jobs.csv, by jobs.toml events[0].stages.sold\n           2 read, total 1,800\n           \
         1 taken, total 1,800\n           1 left out: no date\n"
    );
    assert!(workspace.run(&["mapping", "draft", "none.csv"]).failed(1).contains("none.csv"));
}

#[test]
fn a_known_export_is_named_and_a_template_says_what_a_file_lacks() {
    let workspace = Workspace::new();
    workspace.write("ads.csv", "Campaign report\nDay,Campaign,Cost,Impr.\n2025-01-03,Drains,$5.00,\"1,204\"\n");
    workspace.write("other.csv", "Campaign,Cost\nDrains,5\n");
    let note = "`ads.csv` is a campaign report by day of Google Ads (template `google-ads`, recognized by its columns `Campaign`, `Cost`, \
                `Impr.`)\n";
    let drafted = workspace.change(&["mapping", "draft", "ads.csv", "-o", "ads.toml"]);
    assert_eq!(drafted, format!("{note}wrote `ads.toml`, in which 1 question is open\n"));
    // In a pipe, the draft alone is on stdout.
    let run = workspace.run(&["mapping", "draft", "--template", "google-ads", "ads.csv"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, note));
    assert_eq!(run.stdout, std::fs::read_to_string(workspace.path("ads.toml")).unwrap());
    let refusal = workspace.run(&["mapping", "draft", "--template", "google-ads", "other.csv"]).failed(1);
    assert!(
        refusal.contains("this file has no column `Day` or `Date`; in Google Ads, choose Segment, Time, Day"),
        "{refusal}"
    );
    let unknown = workspace.run(&["mapping", "draft", "--template", "google", "ads.csv"]).failed(2);
    assert!(unknown.contains("google-ads, meta, callrail"), "{unknown}");
}
