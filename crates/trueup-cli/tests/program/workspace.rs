//! What all tests of the program use: a temporary folder to run it in, and a server that it runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Two accounts, three customers, five events; one customer from lead to closed work.
pub(crate) const EVENTS_CSV: &str = "\
account,opportunityId,type,date,eventId,total,attributionChannel,campaign,zip
acme,1,lead-originated,2025-01-03,e1,,Paid Search,[Va] Drain,00123
acme,1,booked,2025-01-04,e2,,Paid Search,[Va] Drain,00123
acme,1,closed,2025-01-20,e3,1234.50,Paid Search,[Va] Drain,00123
acme,2,lead-originated,2025-01-05,e4,,Direct,,
beta,1,lead-originated,2025-02-01,e5,,Direct,Spring Drain Sale,
";
pub(crate) const SPEND_CSV: &str = "\
account,date,attributionChannel,campaign,adSpend,managementFee,clicks
acme,2025-01-03,Paid Search,[Va] Drain,100,10.50,7
";
pub(crate) const ACCOUNTS_CSV: &str = "\
account,accountName,industry,timeZone
acme,Acme Plumbing,Plumbing,America/Denver
";

/// A range that contains all of [`EVENTS_CSV`].
pub(crate) const RANGE: [&str; 4] = ["--start", "2025-01-01", "--end", "2025-03-31"];

/// A request for the leads of the organization `group`, see [`Workspace::with_directory`].
pub(crate) const EVENTS_URL: &str = "/api/group/events?fields=leads&start=2025-01-01&end=2025-03-31";

/// A temporary folder, removed when dropped.
pub(crate) struct Workspace(tempfile::TempDir);

/// The exit code and the output of a run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a workspace with the dataset `ds`.
    pub(crate) fn with_dataset() -> Self {
        let workspace = Self::new();
        workspace.write("events.csv", EVENTS_CSV);
        workspace.write("spend.csv", SPEND_CSV);
        workspace.write("accounts.csv", ACCOUNTS_CSV);
        workspace
            .run(&["ingest", "events.csv", "--into", "ds", "--spend", "spend.csv", "--accounts", "accounts.csv"])
            .succeeded();
        workspace
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Returns a command that runs `trueup` in this folder.
    pub(crate) fn command(&self) -> Command {
        let mut command = trueup_testkit::signals::program(env!("CARGO_BIN_EXE_trueup"));
        command.current_dir(self.0.path()).env_remove("CARGO_MANIFEST_DIR").env_remove("TRUEUP_KEY");
        command
    }

    /// Returns a command that runs any program in this folder, with `trueup` on its path.
    pub(crate) fn command_of(&self, program: &str) -> Command {
        let trueup = Path::new(env!("CARGO_BIN_EXE_trueup"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(trueup.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_remove("CARGO_MANIFEST_DIR").env_remove("TRUEUP_KEY");
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command
    }

    /// Runs a shell script in this folder, with `trueup` on its path.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Run {
        self.command_of("sh").args(["-c", script]).output().unwrap().into()
    }

    /// Returns the path of a file of events of the dataset `ds`.
    pub(crate) fn event_file(&self) -> PathBuf {
        self.path("ds/events").read_dir().unwrap().next().unwrap().unwrap().path()
    }

    /// Returns the names of all files in this folder, hidden ones too, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.output(arguments).into()
    }

    /// Runs `trueup get` with the key in the variable `TRUEUP_KEY`, which is not set without a key.
    pub(crate) fn get(&self, key: Option<&str>, arguments: &[&str]) -> Run {
        let mut command = self.command();
        command.arg("get").args(arguments);
        if let Some(key) = key {
            command.env("TRUEUP_KEY", key);
        }
        command.output().unwrap().into()
    }

    /// Queries the dataset `ds` over [`RANGE`].
    pub(crate) fn query(&self, fields: &str, more: &[&str]) -> Run {
        let arguments: Vec<&str> = ["query", "ds", "--fields", fields].into_iter().chain(RANGE).collect();
        self.run(&[&arguments, more].concat())
    }

    /// Creates a workspace with the dataset `ds` and its directory: organization `west` with account `acme` is below
    /// `group`. User `anna` is granted the group, and `bert` the account `beta`. Returns a key of Anna's.
    pub(crate) fn with_directory() -> (Self, String) {
        let workspace = Self::with_dataset();
        workspace.change(&["users", "add", "ds", "anna"]);
        workspace.change(&["users", "add", "ds", "bert"]);
        workspace.change(&["orgs", "add", "ds", "group"]);
        workspace.change(&["orgs", "add", "ds", "west", "--under", "group"]);
        workspace.change(&["orgs", "hold", "ds", "west", "acme"]);
        workspace.change(&["users", "grant", "ds", "anna", "--org", "group"]);
        workspace.change(&["users", "grant", "ds", "bert", "--account", "beta"]);
        let key = workspace.key("anna");
        (workspace, key)
    }

    /// Runs a command that succeeds and prints nothing to stdout. Returns its messages.
    #[track_caller]
    pub(crate) fn change(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
        run.stderr
    }

    /// Creates a key for a user.
    #[track_caller]
    pub(crate) fn key(&self, user: &str) -> String {
        let run = self.run(&["keys", "create", "ds", user]);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout.trim_end().to_owned()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Asserts success without messages, and returns stdout.
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        self.stdout
    }

    /// Asserts the exit code and an empty stdout, and returns the message.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self:?}");
        assert!(!self.stderr.contains('\u{1b}'), "color although stderr is not a terminal: {self:?}");
        self.stderr
    }
}

/// A running server.
pub(crate) struct RunningServer {
    child: Child,
    /// The address and the port.
    pub(crate) address: String,
    /// The thread that reads the log, because the server would wait for its reader.
    log: Option<JoinHandle<String>>,
}

impl RunningServer {
    /// Runs a command that serves, and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("listening on http://") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server does not listen");
        }
        let address = line["listening on http://".len()..].split(';').next().unwrap().to_owned();
        let log = std::thread::spawn(move || {
            let mut lines = String::new();
            log.read_to_string(&mut lines).unwrap();
            lines
        });
        Self { child, address, log: Some(log) }
    }

    /// Starts a server of the dataset `ds` with the options `more`.
    pub(crate) fn of(workspace: &Workspace, more: &[&str]) -> Self {
        let mut command = workspace.command();
        command.args(["serve", "ds", "--listen", "127.0.0.1:0", "--refresh", "0.05"]).args(more);
        Self::start(command)
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a GET request. Returns the head and the body of the answer, uncompressed.
    pub(crate) fn get(&self, path: &str, key: &str) -> (String, String) {
        self.get_with(path, &format!("Authorization: {key}"))
    }

    /// Sends a GET request with a header. Returns the head and the body of the answer, uncompressed.
    pub(crate) fn get_with(&self, path: &str, header: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\n{header}\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Waits until the request [`EVENTS_URL`] gets the expected answer.
    #[track_caller]
    pub(crate) fn wait_for_answer(&self, key: &str, expected: &str) {
        let begun = Instant::now();
        while self.get(EVENTS_URL, key).1 != expected {
            assert!(begun.elapsed() < Duration::from_secs(20), "{expected} is not answered");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server by a signal. Returns its exit status, and its log since it listened.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        let log = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap(), log)
    }
}

/// Kills the server, so that a failed test leaves none running.
impl Drop for RunningServer {
    fn drop(&mut self) {
        // The server may have stopped already.
        drop(self.child.kill());
    }
}
