//! Kills the program while it ingests into an object store. The dataset must be the old one or the new one, complete,
//! and the next ingest must clean up, in the store and on this machine.

use super::moments::Moments;
use super::{IngestCase, answers, faults, program};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use trueup_testkit::exhaustive::is_exhaustive;
use trueup_testkit::object_server::ObjectServer;

/// A case whose dataset `ds` is served as the bucket `ds`.
struct StoreCase {
    case: IngestCase,
    server: ObjectServer,
}

impl StoreCase {
    fn new() -> Self {
        let case = IngestCase::new();
        fs::create_dir(case.dir.path().join("tmp")).unwrap();
        let server = ObjectServer::start(case.dir.path()).unwrap();
        Self { case, server }
    }

    /// Returns the folder of temporary files.
    fn temporary(&self) -> PathBuf {
        self.case.dir.path().join("tmp")
    }

    /// Returns a command that runs the second ingest.
    fn second(&self) -> Command {
        let mut command = program();
        command.args(["ingest", "2.csv", "--into", "s3://ds", "--threads", "1"]).current_dir(&self.case.dir);
        command.env("AWS_ENDPOINT_URL", self.server.url()).env("TMPDIR", self.temporary());
        command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Checks what a killed ingest has left, and repeats the ingest a day later. Returns whether the new version
    /// already existed.
    fn check(&self, what: &str) -> bool {
        let dataset = self.case.dataset();
        assert_eq!(faults(&dataset), Ok(Vec::new()), "{what}");
        let found = answers(&dataset).unwrap();
        assert!(found == self.case.old || found == self.case.new, "{what}");
        names(&dataset).iter().filter(|name| name.starts_with(".trueup-pending-")).for_each(|name| {
            let day_ago = SystemTime::now() - Duration::from_secs(25 * 3600);
            File::options().write(true).open(dataset.join(name)).unwrap().set_modified(day_ago).unwrap();
        });
        assert!(self.second().status().unwrap().success(), "{what}");
        assert_eq!(answers(&dataset).unwrap(), self.case.new, "{what}");
        assert_eq!(faults(&dataset), Ok(Vec::new()), "{what}");
        assert_eq!(super::count(&dataset), super::versions(found == self.case.new), "{what}: leftover objects");
        assert_eq!(names(&self.temporary()), Vec::<String>::new(), "{what}");
        found == self.case.new
    }
}

/// Returns the names in a folder.
fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_kill_at_a_random_moment_leaves_the_old_or_the_new_dataset_in_a_store() {
    let kills = if is_exhaustive() { 500 } else { 50 };
    let case = StoreCase::new();
    case.case.reset();
    let begun = Instant::now();
    assert!(case.second().status().unwrap().success());
    let whole = begun.elapsed();
    let (mut moments, mut published) = (Moments::new(), 0);
    for kill in 0..kills {
        case.case.reset();
        let mut child = case.second().spawn().unwrap();
        sleep(moments.of(whole));
        child.kill().unwrap();
        child.wait().unwrap();
        // What was sent before the kill has arrived.
        sleep(Duration::from_millis(50));
        published += u32::from(case.check(&format!("kill {kill}")));
    }
    assert!((1..kills).contains(&published), "{published}");
}
