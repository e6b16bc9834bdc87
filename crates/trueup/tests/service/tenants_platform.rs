//! A service over random data with a random directory, next to the model of that directory, and the requests that the
//! tests of `tenants_reach` send to it.

use crate::platform::{NOW, bytes};
use crate::tenants_world::{ACCOUNTS, Change, Data, USERS, World, ingest, segments};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup::Day;
use trueup::access::{Directory, DirectorySettings, LoginScope, MemoryDirectory, SqliteDirectory};
use trueup::query::{DateRange, EventsQuery, Interval};
use trueup::service::{Limits, Request, Service};

/// The range of the requests that have one. All data are in it.
pub(crate) const FEBRUARY: &str = "start=2025-02-01&end=2025-02-28";

/// Returns the first and the last day of [`FEBRUARY`].
pub(crate) fn february() -> [Day; 2] {
    ["2025-02-01", "2025-02-28"].map(|day| day.parse().unwrap())
}

/// Returns the column that only this account has.
pub(crate) fn own_column(account: &str) -> String {
    format!("own_{account}")
}

pub(crate) struct RandomPlatform {
    pub(crate) service: Service,
    pub(crate) world: World,
    keys: BTreeMap<&'static str, String>,
    /// Holds the dataset, and the directory if it is a file. Dropped last.
    _folder: tempfile::TempDir,
}

impl RandomPlatform {
    /// Creates a platform. `in_file` puts its directory into SQLite.
    pub(crate) fn new(data: &Data, changes: &[Change], in_file: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = DirectorySettings::default().hourly_limit(u32::MAX);
        let directory: Arc<dyn Directory> = if in_file {
            Arc::new(SqliteDirectory::open(folder.path().join("directory.sqlite"), settings).unwrap())
        } else {
            Arc::new(MemoryDirectory::new(settings).unwrap())
        };
        let world = World::begin(&*directory);
        let key = |user: &&'static str| (*user, directory.create_key(user, NOW).unwrap().secret.reveal().to_owned());
        let keys = USERS.iter().map(key).collect();
        // So small that some requests exceed them, which must not depend on the data of others either.
        let limits = Limits { account_intervals: 20, rows: ACCOUNTS.len() + 1, documents: 12, ..Limits::default() };
        let service = Service::builder(ingest(folder.path(), data), directory).clock(|| NOW).limits(limits).build();
        let mut platform = Self { service, world, keys, _folder: folder };
        platform.change(changes);
        platform
    }

    /// Changes the directory and the model, and checks that both accept each change or both refuse it.
    pub(crate) fn change(&mut self, changes: &[Change]) {
        for change in changes {
            let changed = change.apply_to(self.service.directory());
            assert_eq!(changed.is_ok(), self.world.change(change), "{change:?}: {changed:?}");
        }
    }

    pub(crate) fn get(&self, user: &str, path: &str) -> Answer {
        let request = Request {
            authorization: Some(self.keys[user].clone()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path)
        };
        let response = self.service.handle(&request);
        let headers = response.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let (status, body) = (response.status, bytes(response.body));
        Answer { path: path.to_owned(), status, headers, body: String::from_utf8(body).unwrap() }
    }

    /// Returns what a user reaches, for typed calls.
    pub(crate) fn reach(&self, user: &str) -> LoginScope {
        let directory = self.service.directory();
        directory.reach(&directory.login(user).unwrap().unwrap()).unwrap()
    }

    /// Returns the debug output of typed answers to a user, which includes texts that no row uses.
    pub(crate) fn typed_answers(&self, user: &str) -> Vec<String> {
        let reach = self.reach(user);
        let [start, end] = february();
        let marked = ["accountName", "campaign", "crew", "spend"].map(str::to_owned).to_vec();
        let own: Vec<String> = ACCOUNTS.map(own_column).to_vec();
        let mut answers = Vec::new();
        for scope in segments().filter_map(|segment| reach.resolve(segment)).chain([reach.accounts().clone()]) {
            for fields in [&marked, &own] {
                let fields = fields.iter().map(String::as_str).chain(["leads"]);
                let query = EventsQuery::new(fields, start, end).interval(Interval::Week);
                answers.push(format!("{:?}", self.service.events(&scope, &query)));
            }
            let insights = self.service.insights(&scope, Some(DateRange { start, end }));
            answers.push(format!("{:?}", insights.map(|insights| insights.collect::<Vec<_>>())));
        }
        answers
    }
}

/// A request and all that its caller receives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    path: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the rows of a successful answer.
    pub(crate) fn rows(&self) -> Vec<Json> {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the part of each body around the first difference.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let same = self.body.bytes().zip(other.body.bytes()).take_while(|(a, b)| a == b).count();
        let part = |answer: &Self| answer.body.chars().skip(same.saturating_sub(40)).take(120).collect::<String>();
        format!("`{}` and `{}`", part(self), part(other))
    }
}

/// Returns requests to every endpoint but benchmarks, for each name that a directory may have: over all its accounts,
/// and narrowed to each account.
pub(crate) fn paths() -> Vec<String> {
    let own = ACCOUNTS.map(own_column).join(",");
    let mut paths = vec!["/api".to_owned()];
    for segment in segments() {
        paths.extend([
            format!("/api/{segment}/events?fields=account,eventCount&{FEBRUARY}"),
            format!("/api/{segment}/events?fields=date,leads,customers,spend,roasClosed,gradedConversions&interval=week&{FEBRUARY}"),
            format!("/api/{segment}/events?fields=accountName,campaign,{own},noSuchField,eventCount,spend&{FEBRUARY}"),
            format!("/api/{segment}/events?fields=eventCount,spend&own_a2=[%22notEmpty%22]&own_a3=x&{FEBRUARY}"),
            format!("/api/{segment}/insights"),
            format!("/api/{segment}/insights?{FEBRUARY}&fields=period"),
        ]);
        for account in ACCOUNTS {
            paths.push(format!("/api/{segment}/events?fields=account,eventCount&{FEBRUARY}&account={account}"));
        }
    }
    paths
}
