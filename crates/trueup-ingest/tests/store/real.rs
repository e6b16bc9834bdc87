//! Datasets and inputs on an S3 server that is not ours: s3s-fs, which checks signatures. `.ci/run` installs it.

use crate::assert_sound;
use crate::case::{Server, Store, answers, files, insights, with_port};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::manifest_file;
use trueup_core::files::Files;
use trueup_ingest::Ingest;
use trueup_testkit::exhaustive::needed;

/// The variable that names the program.
const PROGRAM: &str = "TRUEUP_S3_SERVER";

#[test]
fn a_real_server_holds_datasets_and_inputs() {
    let Some(program) = needed(PROGRAM) else { return };
    with_port("real::a_real_server_holds_datasets_and_inputs", |port| {
        let store = Store::new(|served| {
            let mut server = Command::new(program);
            server.args(["--host", "127.0.0.1", "--port", &port.to_string()]).arg(served);
            server.args(["--access-key", "id", "--secret-key", "SECRET"]).stdout(Stdio::null()).stderr(Stdio::null());
            let server = Server::Program(server.spawn().unwrap());
            let begun = Instant::now();
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(begun.elapsed() < Duration::from_secs(30), "the server does not listen");
                sleep(Duration::from_millis(10));
            }
            server
        });
        let (url, folder) = (store.url("acme"), store.dir().join("local"));
        store.write("long.ndjson", &insights(&["a01", "a02"], 9 << 20));
        for dataset in [&url, &folder] {
            store.first(dataset).insights(store.dir().join("long.ndjson")).run().unwrap();
            store.second(dataset).run().unwrap();
        }
        assert_eq!(files(&url), files(&folder));
        assert_eq!(answers(&url), answers(&folder));
        assert_sound(&url, "");
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        assert_eq!(store.second(&url).run().unwrap().version, 3);

        // Inputs, by name and by pattern.
        std::fs::create_dir(store.served("in")).unwrap();
        std::fs::copy(store.dir().join("1.csv"), store.served("in/1.csv")).unwrap();
        let other = "account,opportunityId,type,date,eventId,total\na01,one,sold,2025-02-01,one,7\n";
        std::fs::write(store.served("in/2.csv"), other).unwrap();
        let (by_name, by_pattern) = (store.dir().join("by-name"), store.dir().join("by-pattern"));
        Ingest::into(&by_name).events("s3://bucket/in/1.csv").events("s3://bucket/in/2.csv").run().unwrap();
        Ingest::into(&by_pattern).events("s3://bucket/in/*.csv").run().unwrap();
        assert_eq!(answers(&by_name), answers(&by_pattern));

        // A manifest is not replaced.
        let manifest = manifest_file::read(&url, 2).unwrap();
        let again = manifest_file::publish(&Files::default(), &url, store.dir(), &manifest);
        assert!(again.is_ok(), "the same bytes are the same publication");
        let other = Manifest { created_by: "somebody else".to_owned(), ..manifest };
        let taken = manifest_file::publish(&Files::default(), &url, store.dir(), &other).unwrap_err();
        assert!(matches!(taken, manifest_file::ManifestError::Conflict { .. }), "{taken}");
    });
}
