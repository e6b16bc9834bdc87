//! Inputs at URLs: objects of a store, and files of a web server.

use crate::case::{Store, answers, with_store};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueup_core::message_with_causes;
use trueup_ingest::{Ingest, IngestError};
use trueup_testkit::object_server::Fault;

impl Store {
    /// Serves the events of the first version as several files.
    fn serve_events(&self) {
        let text = fs::read_to_string(self.dir().join("1.csv")).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let rows: Vec<&str> = rows.lines().collect();
        for (number, part) in rows.chunks(40).enumerate() {
            let name = format!("in/events/day={number}/e{number}.csv");
            self.serve(&name, format!("{header}\n{}\n", part.join("\n")).as_bytes());
        }
        self.serve("in/whole.csv", text.as_bytes());
        self.serve("in/whole.csv.gz", &gzip(&text));
        self.serve("in/events/_SUCCESS", b"");
        self.serve("in/events2/other.csv", b"no table");
    }

    fn serve(&self, name: &str, bytes: &[u8]) {
        let path = self.served(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn web(&self, name: &str) -> PathBuf {
        format!("{}/bucket/{name}", self.server().url()).into()
    }

    /// Ingests events at a URL into a new dataset, and returns its folder.
    fn ingest_events(&self, url: impl AsRef<Path>) -> Result<PathBuf, IngestError> {
        let dataset = tempfile::tempdir_in(self.dir()).unwrap().keep();
        Ingest::into(&dataset).events(url).ignore("day=*").run().map(|_| dataset)
    }

    fn refused(&self, url: impl AsRef<Path>) -> String {
        message_with_causes(&self.ingest_events(url).unwrap_err())
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn objects_and_web_files_are_read_like_files() {
    with_store("urls::objects_and_web_files_are_read_like_files", |store| {
        store.serve_events();
        store.serve("whole/{50%}~#1.csv", &fs::read(store.dir().join("1.csv")).unwrap());
        let expected = answers(&store.ingest_events(store.dir().join("1.csv")).unwrap());
        for url in [
            PathBuf::from("s3://bucket/in/whole.csv"),
            "s3://bucket/in/whole.csv.gz".into(),
            "s3://bucket/whole/{50%}~#1.csv".into(),
            "s3://bucket/in/events".into(),
            "s3://bucket/in/events/".into(),
            "s3://bucket/in/events/*/*.csv".into(),
            "s3://bucket/in/events/**/e?.csv".into(),
            "s3://bucket/in/events/day=*".into(),
            store.web("in/whole.csv"),
            store.web("in/whole.csv.gz"),
            PathBuf::from(format!("{}?token=abc", store.web("in/whole.csv").display())),
        ] {
            assert_eq!(answers(&store.ingest_events(&url).unwrap()), expected, "{}", url.display());
        }
        // The folders of a URL give columns, and the manifest names the inputs without the rest of the URL.
        let dataset = store.dir().join("columns");
        let summary = Ingest::into(&dataset).events("s3://bucket/in/events").run().unwrap();
        assert_eq!(summary.events.taken, 144);
        let opened = trueup_core::Dataset::open(&dataset).unwrap();
        assert!(opened.columns().contains("day"));
        assert_eq!(opened.batches().unwrap()[0].protocol["events"].names()[..2], ["e0.csv", "e1.csv"]);
        // An input from a store, into the same store.
        let url = store.url("acme");
        Ingest::into(&url).events("s3://bucket/in/whole.csv").run().unwrap();
        assert_eq!(answers(&url), expected);
        Ingest::into(&url).events("s3://bucket/in/whole.csv").run().unwrap();
        assert_eq!(answers(&url), expected);
    });
}

#[test]
fn a_url_that_gives_no_input_is_an_error_that_names_it() {
    with_store("urls::a_url_that_gives_no_input_is_an_error_that_names_it", |store| {
        store.serve_events();
        let web = |name: &str| store.web(name).display().to_string();
        let missing = store.refused("s3://bucket/in/absent.csv");
        assert_eq!(
            missing,
            "cannot open the input `s3://bucket/in/absent.csv`: there is no such object, and none below it"
        );
        assert_eq!(store.refused("s3://bucket/in/*.xml"), "no file matches `s3://bucket/in/*.xml`");
        let empty = store.refused("s3://bucket/in/absent/");
        assert!(empty.starts_with("there is no file to read in the folder `s3://bucket/in/absent/`"), "{empty}");
        store.serve("in/events/notes.xml", b"");
        let unknown = store.refused("s3://bucket/in/events");
        assert!(
            unknown.contains("has the file `s3://bucket/in/events/notes.xml`, whose name does not say"),
            "{unknown}"
        );
        let missing = store.refused(web("in/absent.csv?token=SECRET"));
        assert!(missing.starts_with(&format!("cannot read `{}`: ", web("in/absent.csv"))), "{missing}");
        assert!(missing.contains("404 Not Found") && !missing.contains("SECRET"), "{missing}");
        let pattern = store.refused(web("in/*.csv"));
        assert!(pattern.ends_with("a web server has no list of its files; name each file"), "{pattern}");
        let twice = Ingest::into(store.dir().join("ds")).events("s3://bucket/in").events("s3://bucket/in/whole.csv");
        let twice = twice.ignore("*").format(trueup_ingest::FileFormat::CSV).run().unwrap_err();
        assert!(twice.is_usage() && twice.to_string().contains("whole.csv` is given twice"), "{twice}");
        let user = store.refused(format!("http://me:SECRET@{}", &web("in/whole.csv")["http://".len()..]));
        assert!(user.contains("has no user or password here") && !user.contains("SECRET"), "{user}");
        let within = store.url("acme");
        store.first(&within).run().unwrap();
        let within = Ingest::into(&within).events("s3://bucket/acme/events").run().unwrap_err();
        assert!(within.to_string().contains("lies in the folder of the dataset"), "{within}");
        // A row at fault is named by the URL.
        store.serve("in/bad.csv", b"account,opportunityId,type,date\na,1,won,2025-01-01\n");
        let row = store.refused("s3://bucket/in/bad.csv");
        assert!(row.starts_with("`s3://bucket/in/bad.csv`, line 2, column `type`"), "{row}");
    });
}

#[test]
fn a_refused_input_is_an_error_without_credentials() {
    with_store("urls::a_refused_input_is_an_error_without_credentials", |store| {
        store.serve_events();
        store.server().fail(|_| Some(Fault::Status(403)));
        for url in [PathBuf::from("s3://bucket/in/whole.csv"), "s3://bucket/in/*.csv".into(), store.web("in/whole.csv")]
        {
            let refused = store.refused(&url);
            assert!(refused.contains(url.to_str().unwrap()) && refused.contains("403 Forbidden"), "{refused}");
            assert!(!refused.contains("SECRET") && !refused.contains('\n'), "{refused}");
        }
    });
}

#[test]
fn passing_faults_change_no_input() {
    with_store("urls::passing_faults_change_no_input", |store| {
        store.serve_events();
        let expected = answers(&store.ingest_events(store.dir().join("1.csv")).unwrap());
        let faults =
            [Fault::Status(500), Fault::Status(503), Fault::Close, Fault::Cut, Fault::Slow(Duration::from_millis(20))];
        for fault in faults {
            for url in [PathBuf::from("s3://bucket/in/whole.csv"), store.web("in/whole.csv")] {
                // The first request of each method and path fails.
                let mut seen = HashSet::new();
                store.server().fail(move |request| {
                    let is_first = seen.insert((request.method.clone(), request.path.clone()));
                    is_first.then_some(fault)
                });
                assert_eq!(answers(&store.ingest_events(&url).unwrap()), expected, "{fault:?}: {}", url.display());
                store.server().heal();
            }
        }
    });
}

#[test]
fn an_input_that_is_replaced_while_it_is_read_is_an_error() {
    with_store("urls::an_input_that_is_replaced_while_it_is_read_is_an_error", |store| {
        // Longer than what is read at a time, so that several requests read it.
        let row = "a01,1,lead-originated,2025-01-02,";
        let text = |note: &str| {
            let rows: String = (0..3000).map(|_| format!("{row}{}\n", note.repeat(8_000))).collect();
            format!("account,opportunityId,type,date,note\n{rows}")
        };
        store.serve("in/long.csv", text("x").as_bytes());
        let (path, other) = (store.served("in/long.csv"), text("y"));
        let mut ranges = 0;
        store.server().fail(move |request| {
            ranges += usize::from(request.range.is_some());
            if ranges == 2 {
                let new = path.with_extension("new");
                fs::write(&new, &other).unwrap();
                fs::rename(new, &path).unwrap();
            }
            None
        });
        let replaced = store.refused("s3://bucket/in/long.csv");
        assert!(replaced.starts_with("cannot read `s3://bucket/in/long.csv`: the object was replaced"), "{replaced}");
    });
}
