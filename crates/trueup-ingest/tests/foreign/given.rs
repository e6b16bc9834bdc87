//! Folders, patterns, pipes and URLs.

use crate::case::{Case, EVENTS, accepted, foreign, no_options, refusal};
use std::fs;
use std::process::Command;
use std::thread;
use trueup_core::message_with_causes;
use trueup_ingest::{FileFormat, Ingest};

#[test]
fn folders_and_patterns_stand_for_their_files() {
    accepted("folder", no_options);
    accepted("folder/*/*.csv", no_options);
    accepted("folder/**/e?.csv", no_options);
    accepted("folder/2025-*", no_options);
    // The folders match, and so do the files below them.
    accepted("folder/**/[2e]*", no_options);
    accepted("events.csv.[gbz]*", |ingest| ingest.file_rows(1));
}

#[test]
fn a_file_with_the_name_of_a_pattern_is_itself() {
    let case = Case::new();
    let path = case.dir.path().join("events[1]*.csv");
    fs::write(&path, "account,opportunityId,type,date\nacme,1,sold,2025-02-03\n").unwrap();
    fs::write(case.dir.path().join("events1.csv"), "account\n").unwrap();
    assert_eq!(case.ingest().events(path).run().unwrap().events.taken, 1);
}

#[test]
fn folders_and_patterns_without_files_are_refused() {
    assert_eq!(refusal("no-*.csv", no_options), "no file matches `no-*.csv`");
    assert_eq!(
        refusal("other-files", no_options),
        "the folder `other-files` has the file `other-files/notes.md`, whose name does not say its format; name the files with \
         a pattern such as `other-files/*.csv`, or say `--format`"
    );
    accepted("other-files/*.csv", no_options);
    let case = Case::new();
    let empty = case.dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(
        case.ingest().events(&empty).run().unwrap_err().to_string(),
        format!(
            "there is no file to read in the folder `{}`; names that begin with `.` or `_` are left out",
            empty.display()
        )
    );
    let twice = case.ingest().events(foreign("folder")).events(foreign("folder/2025-01/e1.csv")).run().unwrap_err();
    assert!(twice.to_string().ends_with("e1.csv` is given twice; give it once"), "{twice}");
}

#[test]
fn the_format_of_events_is_not_that_of_spend_files_whose_names_say_theirs() {
    let case = Case::new();
    let (events, spend) = (case.dir.path().join("events"), case.dir.path().join("spend"));
    let event = r#"{"account": "acme", "opportunityId": "1", "type": "sold", "date": "2025-02-03"}"#;
    fs::write(&events, event).unwrap();
    fs::create_dir(&spend).unwrap();
    fs::write(spend.join("february.csv"), "account,date,adSpend\nacme,2025-02-03,5\n").unwrap();
    let report = case.ingest().format(FileFormat::NDJSON).events(events).spend(spend).run().unwrap();
    assert_eq!((report.events.taken, report.spend.taken), (1, 1));
}

#[test]
fn a_name_has_precedence_over_the_first_bytes() {
    let case = Case::new();
    let folder = case.dir.path().join("log");
    fs::create_dir(&folder).unwrap();
    // The first row begins as an object of NDJSON does.
    let rows = "{x,account,opportunityId,type,date\n1,acme,2,sold,2025-02-03\n";
    fs::write(folder.join("log.TXT"), rows).unwrap();
    fs::write(folder.join("log.txt.zst"), zstd::encode_all(rows.as_bytes(), 0).unwrap()).unwrap();
    assert_eq!(case.ingest().events(&folder).run().unwrap().events.taken, 2);
}

#[test]
fn a_url_of_no_store_is_refused_and_makes_no_folder() {
    let case = Case::new();
    let expected =
        "expected `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `az://CONTAINER/FOLDER` or `https://HOST/FOLDER`";
    let error = case.ingest().events("ftp://host/events.csv").run().unwrap_err();
    assert!(error.is_data());
    assert_eq!(message_with_causes(&error), format!("cannot open the input `ftp://host/events.csv`: {expected}"));
    let error = Ingest::into("ftp://host/dataset").events(foreign("bar.csv")).run().unwrap_err();
    assert!(error.is_usage());
    assert_eq!(message_with_causes(&error), format!("cannot open the dataset `ftp://host/dataset`: {expected}"));
    let error = Ingest::into("https://host/dataset").events(foreign("bar.csv")).run().unwrap_err();
    assert!(error.is_usage());
    assert_eq!(
        error.to_string(),
        "`https://host/dataset` is a folder of a web server, where a dataset can only be read; ingest into a folder, or into \
         an object store (`s3://`, `gs://`, `az://`)"
    );
    let error = Ingest::into("s3:/bucket/dataset").events(foreign("bar.csv")).run().unwrap_err();
    assert!(error.is_usage());
    let expected = "cannot open the dataset `s3:/bucket/dataset`: a URL begins with `s3://`, with two slashes";
    assert!(message_with_causes(&error).starts_with(expected), "{error}");
    assert!(!fs::exists("ftp:").unwrap() && !fs::exists("https:").unwrap() && !fs::exists("s3:").unwrap());
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_not_followed() {
    let case = Case::new();
    let (folder, link) = (case.dir.path().join("events"), case.dir.path().join("events/more"));
    fs::create_dir(&folder).unwrap();
    fs::copy(foreign("folder/2025-01/e1.csv"), folder.join("e1.csv")).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    for ingest in [case.ingest(), case.ingest().format(FileFormat::CSV)] {
        let error = ingest.events(&folder).run().unwrap_err();
        assert!(error.is_data());
        assert_eq!(
            message_with_causes(&error),
            format!(
                "cannot open the input `{}`: this is a link to a folder, which is not followed; give the folder that it leads to",
                link.display()
            )
        );
    }
}

/// Makes a named pipe, and writes a foreign file to it.
#[cfg(unix)]
fn pipe(case: &Case, name: &str) -> std::path::PathBuf {
    let path = case.dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (from, to) = (foreign(name), path.clone());
    thread::spawn(move || fs::write(to, fs::read(from).unwrap()));
    path
}

#[cfg(unix)]
#[test]
fn pipes_are_read_once() {
    for name in ["events.csv.gz", "events.ndjson.zst", "other-files/events.csv"] {
        let case = Case::new();
        let path = pipe(&case, name);
        case.ingest().events(path).run().unwrap();
        assert_eq!(case.stored_events(), EVENTS, "{name}");
        let hidden = fs::read_dir(case.dir.path().join("dataset")).unwrap();
        let left = hidden.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("pending"));
        assert_eq!(left.count(), 0);
    }
    let case = Case::new();
    let path = pipe(&case, "other-files/events.csv");
    let error = case.ingest().format(FileFormat::PARQUET).events(&path).run().unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "`{}`: expected a Parquet file, but the file does not begin with `PAR1`; correct its name or the format",
            path.display()
        )
    );
}
