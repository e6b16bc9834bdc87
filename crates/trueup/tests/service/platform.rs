//! The services that the tests query, and the goldens, which several test programs read.
//!
//! The small platform: `acme` has the data of the worked example, and `rival` is another tenant. [`crowded`] adds
//! enough accounts for benchmarks.
//!
//! ```text
//! platform (umbrella)
//! ├── acme: north, south
//! │   └── acme-west: west
//! ├── rival: rival-1, twin
//! │   └── twin: rival-1        an organization and an account of the same name
//! └── solo
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory, Organization, UnixTime};
use trueup::service::{Body, Limits, Request, Service, ServiceBuilder};

/// 2025-04-15 12:15:00 UTC.
pub(crate) const NOW: UnixTime = UnixTime::from_seconds(1_744_719_300);

/// Insights of `acme`, with spaces, escapes and numbers that no JSON writer produces, so that a rewritten byte shows.
const INSIGHTS: &str = r#"{"account":"north","date":"2025-02-03","insight":{"account":"North Plumbing","period":"January 2025","graded_calls":10}}
{"account":"north","date":"2025-03-03","insight":{"period": "February 2025","confidence":"high" , "graded_calls":1.20e1,"action_items":[{"title":"Answer \u0026 book"}]}}
{"account":"south","date":"2025-02-10","insight":{"zeta":1,"alpha":{"b":2.0,"a":[]}}}
"#;

/// A service, its dataset in a temporary folder, and the secrets of its users.
pub(crate) struct Platform {
    folder: tempfile::TempDir,
    pub(crate) service: Service,
    /// Secrets by the name under which [`Platform::secret`] finds them.
    keys: Vec<(&'static str, String)>,
}

/// What tenants other than `acme` put into the dataset: rows of CSV without a header, and insights as lines of JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rival {
    pub(crate) events: String,
    pub(crate) spend: String,
    pub(crate) accounts: String,
    pub(crate) insights: String,
    /// Whether `rival-1` has an event with a value in `rivalColumn`, a column that no other account has.
    pub(crate) column: bool,
}

fn example(table: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "worked-example", table].iter().collect();
    fs::read_to_string(path).unwrap()
}

impl Platform {
    /// Returns the small platform with one event and one insight of `rival`.
    pub(crate) fn new() -> Self {
        let events = "rival-1,r1,lead-originated,2025-01-05,,,,New Customer,,Advertising,Search Ads,Secret Plan,,\n";
        let insights = "{\"account\":\"rival-1\",\"date\":\"2025-03-01\",\"insight\":{\"secret\":true}}\n";
        let rival = Rival { events: events.into(), insights: insights.into(), ..Rival::default() };
        Self::with(&rival, |builder| builder)
    }

    /// Returns the small platform with a directory in memory and the data of `rival`. `build` changes the service.
    pub(crate) fn with(rival: &Rival, build: impl FnOnce(ServiceBuilder) -> ServiceBuilder) -> Self {
        let directory = MemoryDirectory::new(DirectorySettings::default()).unwrap();
        Self::with_directory(Arc::new(directory), rival, build)
    }

    /// Returns the small platform with `directory`, which must be empty and is filled.
    pub(crate) fn with_directory(
        directory: Arc<dyn Directory>,
        rival: &Rival,
        build: impl FnOnce(ServiceBuilder) -> ServiceBuilder,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dataset = dataset(folder.path(), rival);
        let keys = fill(&*directory);
        let service = Service::builder(Arc::new(dataset), directory).clock(|| NOW);
        Self { folder, service: build(service).build(), keys }
    }

    /// Returns a second service with the same dataset. `directory` must already have the same users and keys.
    pub(crate) fn second_service(&self, directory: Arc<dyn Directory>) -> Self {
        let service = Service::builder(self.service.dataset(), directory).clock(|| NOW).build();
        Self { folder: tempfile::tempdir().unwrap(), service, keys: self.keys.clone() }
    }

    /// Returns the folder of the dataset.
    pub(crate) fn dataset(&self) -> PathBuf {
        self.folder.path().join("dataset")
    }

    /// Replaces `<name>` with the key of that user and `<name session>` with the user's session.
    pub(crate) fn secret(&self, text: &str) -> String {
        self.keys.iter().fold(text.to_owned(), |text, (name, key)| text.replace(&format!("<{name}>"), key))
    }

    /// Sends a request with the key of a user.
    pub(crate) fn get(&self, user: &str, path: &str) -> Received {
        self.ask(&Request {
            authorization: Some(self.secret(&format!("<{user}>"))),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path)
        })
    }

    pub(crate) fn ask(&self, request: &Request) -> Received {
        let response = self.service.handle(request);
        Received { status: response.status, headers: response.headers, body: bytes(response.body) }
    }
}

/// Reads a body to its end.
pub(crate) fn bytes(body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    body.reader().read_to_end(&mut bytes).unwrap();
    bytes
}

/// A response whose body is read to the end.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

fn dataset(folder: &Path, rival: &Rival) -> Dataset {
    let file = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let path = folder.join("dataset");
    let mut ingest = trueup_ingest::Ingest::into(&path);
    if rival.column {
        let events = "account,opportunityId,type,date,rivalColumn\nrival-1,q,booked,2025-02-02,secret\n";
        ingest = ingest.events(file("column.csv", events.to_owned()));
    }
    ingest
        .events(file("events.csv", example("events.csv") + &rival.events))
        .spend(file("spend.csv", example("spend.csv") + &rival.spend))
        .accounts(file("accounts.csv", example("accounts.csv") + &rival.accounts))
        .insights(file("insights.ndjson", INSIGHTS.to_owned() + &rival.insights))
        .run()
        .unwrap();
    Dataset::open(&path).unwrap()
}

/// Adds the organizations, accounts, users and grants of the platform. Returns the secrets by name.
fn fill(directory: &dyn Directory) -> Vec<(&'static str, String)> {
    directory.add_organization(&Organization::new("platform").as_umbrella()).unwrap();
    for (id, parent) in [("acme", "platform"), ("acme-west", "acme"), ("rival", "platform"), ("twin", "rival")] {
        directory.add_organization(&Organization::new(id).under(parent)).unwrap();
    }
    for account in ["north", "south", "west", "rival-1", "twin", "solo"] {
        directory.add_account(account).unwrap();
    }
    let places = [
        ("north", "acme"),
        ("south", "acme"),
        ("west", "acme-west"),
        ("rival-1", "rival"),
        ("twin", "rival"),
        ("rival-1", "twin"),
        ("solo", "platform"),
    ];
    for (account, organization) in places {
        directory.place_account(account, organization).unwrap();
    }
    let organization = |id: &str| Grant::Organization(id.into());
    let account = |key: &str| Grant::Account(key.into());
    let grants = [
        ("anna", vec![organization("acme")]),
        ("bert", vec![account("south")]),
        ("carl", vec![organization("acme-west"), account("solo")]),
        ("rita", vec![organization("rival")]),
        ("root", vec![organization("platform")]),
        ("dora", vec![organization("acme")]),
        ("eve", vec![organization("acme")]),
        ("busy", vec![organization("acme")]),
    ];
    let mut keys = Vec::new();
    for (user, grants) in grants {
        directory.add_user(user).unwrap();
        for grant in grants {
            directory.grant(user, &grant).unwrap();
        }
        let key = directory.create_key(user, NOW).unwrap();
        keys.push((user, key.secret.reveal().to_owned()));
        if user == "eve" {
            directory.delete_key(user, key.id, NOW).unwrap();
        }
    }
    directory.set_active("dora", false).unwrap();
    let retired = "org_0123456789";
    directory.retire_organization_key("acme", &trueup::access::SecretKey::new(retired)).unwrap();
    keys.push(("retired", retired.to_owned()));
    let session = directory.open_session("bert", NOW, NOW.plus_seconds(60)).unwrap();
    keys.push(("bert session", session.reveal().to_owned()));
    let busy = directory.login("busy").unwrap().unwrap();
    for _ in 0..1_000 {
        directory.count(&busy, NOW).unwrap();
    }
    keys
}

/// Returns limits so small that requests for the worked example exceed them.
pub(crate) fn small() -> Limits {
    Limits { account_intervals: 10, rows: 4, documents: 2, ..Limits::default() }
}

/// Overwrites a part of every data file of a dataset.
pub(crate) fn damage(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage(&path);
        } else if path.extension().is_some_and(|end| end == "parquet" || end == "ndjson") {
            let mut bytes = fs::read(&path).unwrap();
            let half = bytes.len() / 2;
            bytes[4..half].fill(0xA5);
            fs::write(&path, bytes).unwrap();
        }
    }
}

/// A request and the response that the documents promise. `goldens.rs` explains the files.
pub(crate) struct Golden {
    /// The name of the file, without its extension.
    pub(crate) file: String,
    /// The sentence that the golden shows, and where that sentence is.
    pub(crate) title: String,
    /// Method and path, then headers, one per line.
    pub(crate) head: String,
    /// The lines that say what is expected.
    pub(crate) expected: String,
}

/// Returns the goldens of all files, in the order of the names of the files.
pub(crate) fn goldens() -> Vec<Golden> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in ["goldens", "failing"] {
        let testdata = ["..", "trueup", "tests", "service", "testdata", folder];
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR")].into_iter().chain(testdata).collect();
        paths.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let mut goldens = Vec::new();
    for path in paths {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = format!("\n{}", fs::read_to_string(&path).unwrap());
        for golden in text.split("\n# ").skip(1) {
            let (title, rest) = golden.trim_end().split_once('\n').unwrap();
            let (head, expected) = rest.split_once("\n\n").unwrap();
            let [title, head, expected] = [title, head, expected].map(str::to_owned);
            goldens.push(Golden { file: file.clone(), title, head, expected });
        }
    }
    goldens
}

impl Golden {
    /// Returns the request, with the secrets of the platform's users.
    pub(crate) fn request(&self, platform: &Platform) -> Request {
        let mut lines = self.head.lines();
        let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
        let mut request = Request { method: method.to_owned(), ..Request::get(path) };
        request.accept_encoding = Some("identity".to_owned());
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let value = Some(platform.secret(value));
            match name {
                "Authorization" => request.authorization = value,
                "Cookie" => request.cookie = value,
                "Accept-Encoding" => request.accept_encoding = value,
                other => panic!("{other}"),
            }
        }
        request
    }
}

/// The number of plumbers in [`crowd`], without the two of the small platform.
pub(crate) const PLUMBERS: usize = 12;

/// `count` customers of one account who are leads on one day. The first `booked` of them book on the same day.
struct Customers<'a> {
    account: &'a str,
    day: &'a str,
    count: usize,
    booked: usize,
    channel: &'a str,
}

impl Rival {
    fn add(&mut self, customers: &Customers<'_>) {
        let Customers { account, day, count, booked, channel } = customers;
        for number in 1..=*count {
            let status = if number > 16 { "Unmatched" } else { "New Customer" };
            let channel = if number == 20 && *account < "pl04" { "Radio" } else { channel };
            let stages: &[&str] = if number <= *booked { &["lead-originated", "booked"] } else { &["lead-originated"] };
            for stage in stages {
                writeln!(self.events, "{account},{day}-{number},{stage},{day},,,,{status},,Advertising,{channel},,,")
                    .unwrap();
            }
        }
    }

    fn add_account(&mut self, account: &str, industry: &str) {
        writeln!(self.accounts, "{account},Name of {account},{industry},UTC,false").unwrap();
    }
}

/// Returns the rows of twelve plumbers and nine heating engineers. The account `rival-1` is in the industry of the
/// latter.
///
/// | month | customers of each plumber, `pl01` to `pl12` |
/// |---|---|
/// | 2024-09 | 4, of whom 1 booked; all 4 of `pl12` booked, which are 4 of 15 |
/// | 2024-10 | 2, of whom 1 booked, through a channel with quotes in its name |
/// | 2024-11 | 20; the first NN of `plNN` booked. See below |
/// | 2024-12 | 10, of whom 5 booked |
/// | 2025-03 | one on the 12th, who booked, and one on the 20th, who did not |
/// | 2025-04 | two on the 10th, of whom 1 booked; one on the 20th, after the day of `NOW`, who booked |
///
/// In 2024-11, the last 4 customers are unmatched, `plNN` has spend of 100 + 10 NN, and the last customer of `pl01`,
/// `pl02` and `pl03` comes through another channel.
pub(crate) fn crowd() -> Rival {
    let mut crowd = Rival::default();
    crowd.add_account("rival-1", "Heating");
    for number in 1..=9 {
        let account = &format!("h{number:02}");
        crowd.add_account(account, "Heating");
        crowd.add(&Customers { account, day: "2024-11-05", count: 5, booked: 2, channel: "Search Ads" });
    }
    for number in 1..=PLUMBERS {
        let account = &format!("pl{number:02}");
        crowd.add_account(account, "Plumbing");
        let mut add = |day, count, booked, channel| crowd.add(&Customers { account, day, count, booked, channel });
        add("2024-09-05", 4, if number == PLUMBERS { 4 } else { 1 }, "Search Ads");
        add("2024-10-05", 2, 1, "\"Yard \"\"Signs\"\"\"");
        add("2024-11-05", 20, number, "Search Ads");
        add("2024-12-05", 10, 5, "Search Ads");
        add("2025-03-12", 1, 1, "Search Ads");
        add("2025-03-20", 1, 0, "Search Ads");
        add("2025-04-10", 2, 1, "Search Ads");
        add("2025-04-20", 1, 1, "Search Ads");
        let spend = 100 + 10 * number;
        writeln!(crowd.spend, "{account},2024-11-07,Advertising,Search Ads,,{spend},,,").unwrap();
    }
    crowd
}

/// Returns the small platform with the crowd. Requests for benchmarks wait until the figures are computed.
pub(crate) fn crowded() -> Platform {
    crowded_with(&crowd(), Duration::from_secs(600), |builder| builder)
}

/// Returns the small platform with a crowd. Requests for benchmarks wait at most `benchmarks_wait`. `build` changes the
/// service.
pub(crate) fn crowded_with(
    crowd: &Rival,
    benchmarks_wait: Duration,
    build: impl FnOnce(ServiceBuilder) -> ServiceBuilder,
) -> Platform {
    let limits = Limits { benchmarks_wait, ..Limits::default() };
    Platform::with(crowd, |builder| build(builder.limits(limits)))
}

/// Percent-encodes every byte.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
