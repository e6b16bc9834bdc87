//! An S3 store on a port of this machine, inputs for two versions of a dataset, and what a dataset answers.
//!
//! The client of S3 finds the store in the environment, which a process cannot change safely. Each test therefore runs
//! in a process of its own, which is the same program with another environment.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tempfile::TempDir;
use trueup_core::dataset::BlockSums;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, ResultTable};
use trueup_ingest::Ingest;
use trueup_testkit::object_server::ObjectServer;

/// The variable that has the port of the store.
const PORT: &str = "TRUEUP_TEST_PORT";

/// A store, and inputs in a folder next to it.
pub(crate) struct Store {
    /// Stops before its folder is removed.
    server: Server,
    dir: TempDir,
}

/// Runs a test with a store.
pub(crate) fn with_store(test: &str, run: impl FnOnce(&Store)) {
    with_port(test, |port| run(&Store::start(port)));
}

/// Runs a test in a process whose S3 store is at a port. Nobody listens there yet.
pub(crate) fn with_port(test: &str, run: impl FnOnce(u16)) {
    if let Ok(port) = env::var(PORT) {
        return run(port.parse().unwrap());
    }
    let temporary = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--test-threads", "1"]).env(PORT, port.to_string());
    child.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("TMPDIR", temporary.path());
    child.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "SECRET").env("HOME", temporary.path());
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    // Whatever became of the ingests, nothing of them is left on this machine.
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "{text}");
}

/// The accounts of the first version.
const ACCOUNTS: usize = 24;

/// A store that is another program, or the one of the tests.
pub(crate) enum Server {
    Tests(ObjectServer),
    Program(Child),
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Self::Program(child) = self {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Store {
    fn start(port: u16) -> Self {
        Self::new(|served| Server::Tests(ObjectServer::start_at(served, port).unwrap()))
    }

    /// Makes the inputs, and starts a server of the folder of a bucket.
    pub(crate) fn new(serve: impl FnOnce(&Path) -> Server) -> Self {
        // Not among the temporary files of the process, which must be empty at the end.
        let dir = tempfile::tempdir_in(env::current_exe().unwrap().parent().unwrap()).unwrap();
        fs::create_dir_all(dir.path().join("served/bucket")).unwrap();
        let store = Self { server: serve(&dir.path().join("served")), dir };
        store.write("1.csv", &events(0..ACCOUNTS, "sold"));
        store.write("2.csv", &events(ACCOUNTS - 3..ACCOUNTS + 2, "closed"));
        store.write("spend.csv", "account,date,adSpend\na01,2025-01-02,1\na02,2025-01-03,2.5\n");
        store.write("spend2.csv", "account,date,adSpend\na01,2025-01-02,7\n");
        store.write("accounts.csv", "account,accountName\na01,One\n");
        store.write("insights.ndjson", &insights(&["a01"], 10));
        store
    }

    /// Returns the server of the tests, which can have faults.
    pub(crate) fn server(&self) -> &ObjectServer {
        match &self.server {
            Server::Tests(server) => server,
            Server::Program(_) => unreachable!("another program is the server"),
        }
    }

    /// Returns the folder of the inputs.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    pub(crate) fn url(&self, dataset: &str) -> PathBuf {
        format!("s3://bucket/{dataset}").into()
    }

    /// Returns the folder in which the server keeps what is below the URL.
    pub(crate) fn served(&self, dataset: &str) -> PathBuf {
        self.dir.path().join("served/bucket").join(dataset)
    }

    /// Returns the names of all objects below the URL, sorted.
    pub(crate) fn names(&self, dataset: &str) -> Vec<String> {
        let (root, mut names) = (self.served(dataset), Vec::new());
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    names.push(entry.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names.sort();
        names
    }

    fn ingest(&self, dataset: &Path) -> Ingest {
        // With one thread, the requests have nearly the same order each time.
        Ingest::into(dataset).row_group_rows(8).threads(1)
    }

    /// Returns an ingest of the first version.
    pub(crate) fn first(&self, dataset: &Path) -> Ingest {
        let path = |name: &str| self.dir.path().join(name);
        self.ingest(dataset).events(path("1.csv")).spend(path("spend.csv")).accounts(path("accounts.csv"))
    }

    /// Returns an ingest of the second version.
    pub(crate) fn second(&self, dataset: &Path) -> Ingest {
        let path = |name: &str| self.dir.path().join(name);
        self.ingest(dataset).events(path("2.csv")).spend(path("spend2.csv")).insights(path("insights.ndjson"))
    }

    /// Runs an ingest that begins a version, and fails.
    pub(crate) fn begin_and_fail(&self, dataset: &Path) {
        self.write("bad.csv", "account,opportunityId,type,date\na01,1,sold,soon\n");
        self.ingest(dataset).events(self.dir.path().join("bad.csv")).run().unwrap_err();
    }

    /// Returns an ingest of one event, whose revenue is `total`.
    pub(crate) fn one(&self, dataset: &Path, total: usize) -> Ingest {
        let name = format!("one-{total}.csv");
        let header = "account,opportunityId,type,date,eventId,total";
        self.write(&name, &format!("{header}\na01,one,sold,2025-02-01,one,{total}\n"));
        self.ingest(dataset).events(self.dir.path().join(name))
    }
}

/// Returns events of some accounts: for each customer a conversion, and then an event of the given stage.
fn events(accounts: std::ops::Range<usize>, stage: &str) -> String {
    let mut text = "account,opportunityId,type,date,eventId,total,campaign\n".to_owned();
    for account in accounts {
        for customer in 0..3 {
            for (event, (stage, total)) in [("lead-originated", ""), (stage, "12.5")].into_iter().enumerate() {
                let day = 1 + (account + customer + event * 5) % 28;
                let id = format!("{customer}-{event}");
                writeln!(text, "a{account:02},c{customer},{stage},2025-01-{day:02},{id},{total},k{customer}").unwrap();
            }
        }
    }
    text
}

/// Returns an insight document of each account, with a text of some length.
pub(crate) fn insights(accounts: &[&str], bytes: usize) -> String {
    let line = |account: &&str| {
        let text = "x".repeat(bytes);
        format!("{{\"account\":\"{account}\",\"date\":\"2025-01-01\",\"insight\":{{\"text\":\"{text}\"}}}}\n")
    };
    accounts.iter().map(line).collect()
}

/// Returns the files of the newest version without the ids of ingests: name, size, rows and checksums.
pub(crate) fn files(dataset: &Path) -> Vec<(String, u64, u64, String, BlockSums)> {
    let dataset = Dataset::open(dataset).unwrap();
    let tables = dataset.manifest().unwrap().tables();
    let files = tables.iter().flat_map(|(_, files)| *files).map(|file| {
        let name = file.path.rsplit_once('-').unwrap().0.to_owned();
        (name, file.size, file.rows, file.blake3.clone(), file.blocks.clone())
    });
    files.collect()
}

/// Returns what the newest version of a dataset answers.
pub(crate) fn answers(dataset: &Path) -> (ResultTable, usize) {
    let fields = ["account", "opportunityId", "eventCount", "total", "closedRevenue", "spend", "customers", "campaign"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap());
    let dataset = Dataset::open(dataset).unwrap();
    let insights = dataset.manifest().unwrap().tables()[3].1.len();
    (dataset.query(&query).unwrap(), insights)
}
