//! Faulty input: the message names the place, and the dataset stays as it was.

use crate::dataset::{Case, names, write_parquet};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::path::Path;
use trueup_ingest::Ingest;

const GOOD: &str = "account,opportunityId,type,date,eventId,total\nacme,1,booked,2025-01-31,e1,12.5\n";

/// Ingests `GOOD`, then runs an ingest that must fail. Returns its message.
fn refused(case: &Case, ingest: impl FnOnce(Ingest) -> Ingest) -> String {
    if !case.dataset().exists() {
        case.events("good.csv", GOOD);
    }
    let before = case.snapshot();
    let error = ingest(case.ingest()).run().unwrap_err();
    assert_eq!(case.snapshot(), before, "{error}");
    let text = error.to_string();
    let folder = case.path("");
    text.replace(folder.to_str().unwrap(), "")
}

fn refused_events(name: &str, text: impl AsRef<[u8]>) -> String {
    let case = Case::new();
    let path = case.file(name, text);
    refused(&case, |ingest| ingest.events(path))
}

#[test]
fn a_file_that_is_no_table_is_called_what_it_is() {
    let table = "not a table; export the data as CSV, NDJSON, XLSX or Parquet";
    for (name, begin, what) in [
        ("report.pdf", &b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"[..], "a PDF file"),
        ("report.csv", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "a PDF file"),
        ("export.csv", b"\xef\xbb\xbf\r\n<!DOCTYPE HTML><title>Sign in", "a web page"),
        ("export.xls", b"<html><table>", "a web page"),
        ("export.xls", b"<?xml version=\"1.0\"?><Workbook>", "an XML file"),
        ("chart.png", b"\x89PNG\r\n", "an image"),
    ] {
        assert_eq!(refused_events(name, begin), format!("`{name}`: this is {what}, {table}"));
    }
}

#[test]
fn a_message_names_the_line_of_a_csv_row() {
    let header = "account,opportunityId,type,date,total,note\nacme,1,booked,2025-01-01,,\"two\nlines\"\n";
    let with = |row: &str| refused_events("bad.csv", format!("{header}{row}\n"));
    assert!(with(",1,sold,2025-02-20,,").starts_with("`bad.csv`, line 4, column `account`: expected a value"));
    assert_eq!(with("acme,1,sold"), "`bad.csv`, line 4: expected 6 cells as in the header, but found 3");
    assert_eq!(with("acme,1,sold,2025-02-20,,\"open"), "`bad.csv`: line 4: a quote is opened and never closed");
    assert!(with("acme,1,sold,2025-02-20,,\"a\"b").starts_with("`bad.csv`: line 4: text after a closing quote"));
}

#[test]
fn the_first_fault_of_a_file_is_reported() {
    let text = "account,opportunityId,type,date\na,1,x,2025-01-01\na,1,sold\na,1,sold,\"2025-01-01\"x\n";
    assert!(refused_events("bad.csv", text).starts_with("`bad.csv`, line 2, column `type`"));
}

#[test]
fn files_without_a_table_are_refused() {
    assert_eq!(
        refused_events("bad.csv", "\n\n"),
        "`bad.csv`: the file has no header; its first line must name the columns"
    );
    assert_eq!(
        refused_events("bad.parquet", "PAR"),
        "`bad.parquet`: expected a Parquet file, but the file does not begin with `PAR1`; correct its name or the format"
    );
    assert_eq!(refused_events("bad.csv", "a,b,a\n"), "`bad.csv`: line 1: the header has the column `a` twice");
    assert_eq!(
        refused_events("bad.csv", b"account,\xff\n"),
        "`bad.csv`: line 1: the text is not UTF-8 at byte offset 8 (0xFF); it looks like windows-1252: if it is, say `--encoding \
         windows-1252`"
    );
    let array = refused_events("bad.json", b"[{\"account\":\"a\"},\n{\"account\":\"\xff\"}]");
    assert!(array.starts_with("`bad.json`: row 2: the text is not UTF-8 at byte offset 30 (0xFF)"), "{array}");
    let missing = refused_events("bad.csv", "account,opportunityId,date\na,1,2025-01-01\n");
    assert!(missing.starts_with("`bad.csv`: expected a column `type`, but found `account`"), "{missing}");
    assert_eq!(
        refused_events("bad.csv", "ref,when,status\n"),
        "`bad.csv`: expected the columns `account`, `opportunityId`, `type` and `date` or `dateTime`, but found `ref`, `when`, `status`; \
         if it is a file of another shape, `trueup mapping draft FILE` drafts a mapping of it"
    );
    // The spelling of one column says little about a table of another shape.
    assert_eq!(
        refused_events("bad.csv", "Id,Created at,Total\n"),
        "`bad.csv`: expected the columns `account`, `opportunityId`, `type` and `date` or `dateTime`, but found `Id`, `Created at`, \
         `Total`; if it is a file of another shape, `trueup mapping draft FILE` drafts a mapping of it"
    );
    assert_eq!(
        refused_events("spend.csv", "account,date,adSpend\na,2025-01-01,5\n"),
        "`spend.csv`: expected events, but found spend, with the columns `account`, `date`, `adSpend`; give the file as `--spend`"
    );
    let case = Case::new();
    let events = case.file("events.csv", "account,opportunityId,type,date\na,1,sold,2025-01-01\n");
    assert_eq!(
        refused(&case, |ingest| ingest.spend(events)),
        "`events.csv`: expected spend, but found events, with the columns `account`, `opportunityId`, `type`, `date`; give the file \
         without `--spend`"
    );
    let case = Case::new();
    let path = case.path("absent.csv");
    assert_eq!(refused(&case, |ingest| ingest.events(path)), "cannot open the input `absent.csv`");
}

/// Such a file would be a header without rows.
#[test]
fn lines_that_end_in_carriage_returns_alone_are_refused() {
    let expected = "line 1: a column name has a carriage return; end each line with a line feed";
    assert_eq!(
        refused_events("bad.csv", "account,opportunityId,type,date\ra,1,sold,2025-01-01\r"),
        format!("`bad.csv`: {expected}")
    );
    let case = Case::new();
    let spend = case.file("spend.csv", "account,date,adSpend\ra,2025-01-01,5\r");
    assert_eq!(refused(&case, |ingest| ingest.spend(spend)), format!("`spend.csv`: {expected}"));
}

#[test]
fn insights_without_text_are_refused() {
    let packed = GzEncoder::new(Vec::new(), Compression::default()).finish().unwrap();
    for (name, bytes) in
        [("bad.ndjson", Vec::new()), ("bad.ndjson", b"\xef\xbb\xbf".to_vec()), ("bad.ndjson.gz", packed)]
    {
        let case = Case::new();
        let path = case.file(name, bytes);
        assert_eq!(refused(&case, |ingest| ingest.insights(path)), format!("`{name}`: the file is empty"));
    }
}

#[test]
fn a_message_names_the_line_of_a_json_object() {
    let good = "{\"account\":\"a\",\"opportunityId\":1,\"type\":\"sold\",\"date\":\"2025-01-01\"}\n\n";
    let with = |row: &str| refused_events("bad.ndjson", format!("{good}{row}\n"));
    assert!(with("{").starts_with("`bad.ndjson`, line 3: expected a JSON object"));
    assert!(
        with("{\"account\":\"a\",\"tags\":[1]}")
            .starts_with("`bad.ndjson`, line 3, column `tags`: expected a single value")
    );
}

#[test]
fn a_parquet_file_that_is_cut_short_or_torn_is_refused() {
    let case = Case::new();
    let header = ["account", "opportunityId", "type", "date", "total"];
    let rows = vec![["a", "1", "sold", "2025-01-01", "2"].map(str::to_owned).to_vec(); 4];
    let path = case.path("bad.parquet");
    write_parquet((&header, &rows), 2, &path);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let message = refused(&case, |ingest| ingest.events(&path));
    assert!(message.starts_with("`bad.parquet`: the Parquet file is damaged or cut short"), "{message}");
    let mut torn = whole.clone();
    torn[8..40].fill(0xff);
    std::fs::write(&path, &torn).unwrap();
    let message = refused(&case, |ingest| ingest.events(&path));
    assert!(message.starts_with("`bad.parquet`: row group 0 (counted from 0)"), "{message}");
}

#[test]
fn an_ingest_needs_inputs_and_each_only_once() {
    let case = Case::new();
    let error = case.ingest().run().unwrap_err();
    assert!(error.is_usage() && !error.is_data(), "{error}");
    let path = case.file("a.csv", GOOD);
    let error = case.ingest().events(&path).events(case.path("./a.csv")).run().unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert!(!case.dataset().exists());
}

#[test]
fn a_faulty_table_undoes_the_tables_before_it() {
    let case = Case::new();
    let events = case.file("more.csv", GOOD.replace("e1", "e2"));
    let spend = case.file("spend.csv", "account,date,adSpend\nacme,2025-01-01,12\nacme,2025-01-02,much\n");
    let message = refused(&case, |ingest| ingest.events(events).spend(spend));
    assert!(message.starts_with("`spend.csv`, line 3, column `adSpend`"), "{message}");
}

#[test]
fn a_failed_first_ingest_removes_the_folders_that_it_made() {
    let case = Case::new();
    let path = case.file("bad.csv", GOOD.replace("booked", "x"));
    let error = Ingest::into(case.path("new/folder")).events(path).run().unwrap_err();
    assert!(error.is_data(), "{error}");
    assert!(!case.path("new").exists());
}

#[test]
fn only_one_ingest_writes_to_a_dataset_at_a_time() {
    let case = Case::new();
    case.events("good.csv", GOOD);
    let folder = std::fs::File::open(case.dataset()).unwrap();
    folder.lock().unwrap();
    let path = case.file("more.csv", GOOD.replace("e1", "e2"));
    let error = case.ingest().events(&path).run().unwrap_err();
    assert!(error.to_string().starts_with("another command is writing to"), "{error}");
    folder.unlock().unwrap();
    assert!(case.ingest().events(&path).run().unwrap().changed);
}

#[test]
fn an_ingest_removes_only_what_a_killed_ingest_left() {
    let case = Case::new();
    case.events("good.csv", GOOD);
    let dataset = case.dataset();
    let of_version_1 = names(&dataset.join("events"));
    let id = "0123456789abcdef0123456789abcdef";
    let left = ["events", "lists"].map(|folder| format!("{folder}/00000002-0000-{id}.parquet"));
    let others = [
        // There is no record of an ingest with this id.
        "events/00000002-0000-fedcba9876543210fedcba9876543210.parquet".to_owned(),
        "events/20250101.csv".to_owned(),
        "events/00000002-0000.parquet".to_owned(),
        format!("events/{id}.csv"),
        ".trueup-pending-notes".to_owned(),
        "notes.txt".to_owned(),
    ];
    for name in others.iter().chain(&left) {
        std::fs::write(dataset.join(name), "x").unwrap();
    }
    let pending = dataset.join(format!(".trueup-pending-{id}"));
    std::fs::create_dir_all(pending.join("scratch-0")).unwrap();
    std::fs::write(pending.join("scratch-0/spilled-000000"), "x").unwrap();
    case.events("more.csv", &GOOD.replace("e1", "e2"));
    assert!(left.iter().all(|name| !dataset.join(name).exists()) && !pending.exists());
    assert!(others.iter().all(|name| dataset.join(name).exists()));
    let manifests = ["manifest-00000001.json", "manifest-00000002.json"];
    assert_eq!(
        names(&dataset),
        [&[".trueup-pending-notes", "batches", "events", "lists"], &manifests[..], &["notes.txt"]].concat()
    );
    assert!(of_version_1.iter().all(|name| dataset.join("events").join(name).exists()));
    assert_eq!(case.stored_events().len(), 2);
}

#[test]
fn a_file_of_a_version_is_never_removed_as_a_leftover() {
    let case = Case::new();
    case.events("good.csv", GOOD);
    let dataset = case.dataset();
    let named = names(&dataset.join("events")).remove(0);
    let id = named.rsplit_once('-').unwrap().1.strip_suffix(".parquet").unwrap();
    std::fs::create_dir(dataset.join(format!(".trueup-pending-{id}"))).unwrap();
    case.events("more.csv", &GOOD.replace("e1", "e2"));
    assert!(dataset.join("events").join(&named).exists());
    // A manifest that cannot be read may name any file.
    let manifest = dataset.join("manifest-00000001.json");
    let text = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, "{").unwrap();
    std::fs::create_dir(dataset.join(format!(".trueup-pending-{id}"))).unwrap();
    case.events("most.csv", &GOOD.replace("e1", "e3"));
    assert!(dataset.join("events").join(&named).exists());
    std::fs::write(&manifest, text).unwrap();
    case.events("all.csv", &GOOD.replace("e1", "e4"));
    assert!(dataset.join("events").join(&named).exists());
    assert!(!dataset.join(format!(".trueup-pending-{id}")).exists());
}

#[test]
fn foreign_files_in_the_folder_of_a_new_dataset_stay() {
    let case = Case::new();
    let dataset = case.dataset();
    std::fs::create_dir_all(dataset.join("events")).unwrap();
    let input = dataset.join("events/20250101.csv");
    std::fs::write(&input, GOOD).unwrap();
    let before = case.snapshot();
    let linked = case.path("linked.csv");
    std::os::unix::fs::symlink(&input, &linked).unwrap();
    for path in [&input, &linked, &dataset.join("events/../events/20250101.csv")] {
        let error = case.ingest().events(path).run().unwrap_err();
        assert!(error.is_usage(), "{error}");
        assert!(
            error
                .to_string()
                .ends_with("lies in the folder of the dataset, which holds files of trueup alone; move it elsewhere")
        );
        assert_eq!(case.snapshot(), before);
    }
    case.events("good.csv", GOOD);
    assert!(input.exists());
}

#[test]
fn a_dataset_is_private_unless_its_folder_grants_access() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let case = Case::new();
    case.events("good.csv", GOOD);
    let dataset = case.dataset();
    let stored = dataset.join(&case.manifest().events[0].path);
    let modes =
        [&dataset, &dataset.join("events"), &stored, &dataset.join("manifest-00000001.json")].map(|path| mode(path));
    assert_eq!(modes, [0o700, 0o700, 0o600, 0o600]);
    std::fs::set_permissions(&dataset, std::fs::Permissions::from_mode(0o750)).unwrap();
    case.ingest().spend(case.file("spend.csv", "account,date,adSpend\nacme,2025-01-01,1\n")).run().unwrap();
    let stored = dataset.join(&case.manifest().spend[0].path);
    let modes = [&dataset.join("spend"), &stored, &dataset.join("manifest-00000002.json")].map(|path| mode(path));
    assert_eq!(modes, [0o750, 0o640, 0o640]);
}

#[test]
fn a_message_names_the_row_of_a_sheet_as_the_spreadsheet_shows_it() {
    let case = Case::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign/events.xlsx");
    let short = case.ingest().events(&path).max_text_bytes(9);
    let message = short.run().unwrap_err().to_string();
    assert!(message.contains("events.xlsx`, row 2, column `type`: expected a text of at most 9 bytes"), "{message}");
    assert_eq!(case.ingest().events(&path).run().unwrap().events.taken, 3);
    // The cell of the last row is a date with a time of day.
    assert!(case.stored_events().contains(&"acme|2|sold|2025-04-04|||".to_owned()), "{:?}", case.stored_events());
}
