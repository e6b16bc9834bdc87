//! Random directories and random data: the answers to a user cover all accounts in the user's reach and reveal nothing
//! else.

use crate::platform::NOW;
use crate::tenants_world::{
    ACCOUNTS, Change, Data, Listing, USERS, World, changes, data, event_counts, has_column, ingest, insights, segments,
};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueup::access::{Directory, DirectorySettings, MemoryDirectory, SqliteDirectory};
use trueup::query::{DateRange, EventsQuery, Filter, Interval, Predicate};
use trueup::service::{Limits, Request, Service};

const FEBRUARY: &str = "start=2025-02-01&end=2025-02-28";

/// A service over random data with a random directory.
struct RandomPlatform {
    folder: tempfile::TempDir,
    service: Service,
    keys: BTreeMap<&'static str, String>,
    world: World,
}

impl RandomPlatform {
    fn new(data: &Data, changes: &[Change], in_file: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = DirectorySettings::default().hourly_limit(u32::MAX);
        let directory: Arc<dyn Directory> = if in_file {
            Arc::new(SqliteDirectory::open(folder.path().join("directory.sqlite"), settings).unwrap())
        } else {
            Arc::new(MemoryDirectory::new(settings))
        };
        let world = World::begin(&*directory);
        let key = |user: &&'static str| (*user, directory.create_key(user, NOW).unwrap().secret.reveal().to_owned());
        let keys = USERS.iter().map(key).collect();
        // So small that some requests exceed them, which must not depend on the data of others either.
        let limits = Limits { account_intervals: 20, rows: ACCOUNTS.len() + 1, documents: 12, ..Limits::default() };
        let service = Service::builder(ingest(folder.path(), data), directory).clock(|| NOW).limits(limits).build();
        let mut platform = Self { folder, service, keys, world };
        changes.iter().for_each(|change| platform.change(change));
        platform
    }

    /// Changes the directory and the model, and checks that both accept the change or both refuse it.
    fn change(&mut self, change: &Change) {
        let changed = change.apply_to(self.service.directory());
        assert_eq!(changed.is_ok(), self.world.change(change), "{change:?}: {changed:?}");
    }

    fn get(&self, user: &str, path: &str) -> Answer {
        let request = Request {
            authorization: Some(self.keys[user].clone()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path)
        };
        let response = self.service.handle(&request);
        let headers = response.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let (status, body) = (response.status, response.body.into_bytes().unwrap());
        Answer { path: path.to_owned(), status, headers, body: String::from_utf8(body).unwrap() }
    }
}

/// A request and all that its caller receives.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    path: String,
    status: u16,
    headers: Vec<String>,
    body: String,
}

impl Answer {
    fn rows(&self) -> Vec<Json> {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the part of each body around the first difference.
    fn difference(&self, other: &Self) -> String {
        let same = self.body.bytes().zip(other.body.bytes()).take_while(|(a, b)| a == b).count();
        let part = |answer: &Self| answer.body.chars().skip(same.saturating_sub(40)).take(120).collect::<String>();
        format!("`{}` and `{}`", part(self), part(other))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix(": "))
    }
}

fn text(value: &Json) -> String {
    value.as_str().unwrap().to_owned()
}

/// Requests to every endpoint but benchmarks, for each name that a directory may have, whole and for each account.
fn paths() -> Vec<String> {
    let own = ACCOUNTS.map(|account| format!("own_{account}")).join(",");
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

/// Reads the organizations and accounts that an answer of `/api` lists.
fn listing(answer: &Answer) -> Listing {
    let access: Json = serde_json::from_str(&answer.body).unwrap();
    let listed = access["organizations"].as_array().unwrap().iter();
    listed
        .map(|one| {
            (text(&one["organization"]), one["accounts"].as_array().unwrap().iter().map(text).collect::<Vec<_>>())
        })
        .collect()
}

/// Checks that the answers to a user cover exactly the accounts that the model gives.
fn check_against_model(platform: &RandomPlatform, data: &Data, user: &'static str) {
    let world = &platform.world;
    assert_eq!(listing(&platform.get(user, "/api")), world.listing(user), "{user}");
    let unknown = |path: &str| platform.get(user, &format!("/api/nowhere/{path}"));
    for segment in segments() {
        let events = format!("events?fields=account,eventCount&{FEBRUARY}");
        let answer = platform.get(user, &format!("/api/{segment}/{events}"));
        let Some(accounts) = world.accounts_of(user, segment) else {
            // The response is the same as for an organization that does not exist.
            let nowhere = unknown(&events);
            assert_eq!(answer.status, 404, "{user} {segment}");
            assert_eq!(answer.body.replace(segment, "nowhere"), nowhere.body);
            assert_eq!(answer.headers, nowhere.headers);
            continue;
        };
        let counted =
            answer.rows().iter().map(|row| (text(&row["account"]), row["eventCount"].as_u64().unwrap())).collect();
        let expected: BTreeMap<String, u64> =
            event_counts(data).into_iter().filter(|(account, _)| accounts.contains(account)).collect();
        assert_eq!((expected, user, segment), (counted, user, segment));

        let published = platform.get(user, &format!("/api/{segment}/insights?{FEBRUARY}"));
        let day = |row: &Json| (text(&row["account"]), text(&row["date"])[8..].parse().unwrap());
        let published: BTreeSet<(String, u8)> = published.rows().iter().map(day).collect();
        assert_eq!(published, insights(data).into_iter().filter(|(account, _)| accounts.contains(account)).collect());

        let own: Vec<String> = ACCOUNTS.iter().map(|account| format!("own_{account}")).collect();
        let answer = platform.get(user, &format!("/api/{segment}/events?fields={},leads&{FEBRUARY}", own.join(",")));
        let fills = |account: &str| accounts.iter().any(|key| key == account) && has_column(data, account);
        let unknown: Vec<String> = ACCOUNTS.iter().filter(|key| !fills(key)).map(|key| format!("own_{key}")).collect();
        assert_eq!(answer.header("Trueup-Unknown-Fields").unwrap_or_default(), unknown.join(", "));
        check_typed_unknown_fields(platform, user, segment, &unknown);

        for account in ACCOUNTS {
            let answer = platform.get(user, &format!("/api/{segment}/{events}&account={account}"));
            let is_in = accounts.iter().any(|key| key == account);
            assert_eq!(answer.status, if is_in { 200 } else { 404 }, "{user} {segment} {account}");
        }
    }
}

/// Checks that the typed call reports the same unknown fields.
fn check_typed_unknown_fields(platform: &RandomPlatform, user: &str, segment: &str, unknown: &[String]) {
    let directory = platform.service.directory();
    let login = directory.login(user).unwrap().unwrap();
    let scope = directory.reach(&login).unwrap().resolve(segment).unwrap();
    let [start, end] = ["2025-02-01", "2025-02-28"].map(|day| day.parse().unwrap());
    let own = ACCOUNTS.map(|account| format!("own_{account}"));
    let named = EventsQuery::new(own.iter().map(String::as_str).chain(["leads"]), start, end);
    let tested = Filter::All(own.iter().map(|name| Filter::field(name, Predicate::Empty)).collect());
    // The scope replaces the accounts that the query names.
    let tested = EventsQuery::new(["leads"], start, end).filter(tested).accounts(ACCOUNTS);
    for query in [named, tested] {
        assert_eq!(platform.service.events(&scope, &query).unwrap().unknown_fields(), unknown);
    }
}

/// Returns the debug output of the typed answers, which includes texts that no row uses.
fn typed_answers(platform: &RandomPlatform, user: &str) -> Vec<String> {
    let directory = platform.service.directory();
    let reach = directory.reach(&directory.login(user).unwrap().unwrap()).unwrap();
    let [start, end] = ["2025-02-01", "2025-02-28"].map(|day| day.parse().unwrap());
    let own = ACCOUNTS.map(|account| format!("own_{account}"));
    let mut answers = Vec::new();
    for scope in segments().filter_map(|segment| reach.resolve(segment)).chain([reach.accounts().clone()]) {
        for fields in [vec!["accountName", "campaign", "crew", "spend"], own.iter().map(String::as_str).collect()] {
            let query = EventsQuery::new(fields.into_iter().chain(["leads"]), start, end).interval(Interval::Week);
            answers.push(format!("{:?}", platform.service.events(&scope, &query)));
        }
        let range = DateRange { start, end };
        answers.push(format!("{:?}", platform.service.insights(&scope, Some(range))));
    }
    answers
}

/// Checks that no answer contains a text that only accounts out of reach have.
fn check_nothing_out_of_reach(platform: &RandomPlatform, user: &'static str) {
    let reach = platform.world.reach(user);
    let others = || ACCOUNTS.iter().filter(|account| !reach.contains(**account));
    for path in paths() {
        let answer = platform.get(user, &path);
        for account in others() {
            assert!(!answer.body.contains(&format!("secret-{account}")), "{user} {account} {path}");
        }
    }
    for answer in typed_answers(platform, user) {
        for account in others() {
            assert!(!answer.contains(&format!("secret-{account}")), "{user} {account}: {answer:.2000}");
        }
    }
}

/// Checks that neither data of others, nor changes of the directory that the user cannot see, change a byte: compares
/// the platform, whose directory has had the changes `before`, with one in which accounts out of reach have the data
/// `others`, and whose directory has also had the changes of `after` that leave the user's view as it is.
fn check_others_change_nothing(
    platform: &RandomPlatform,
    user: &'static str,
    data: &Data,
    others: &Data,
    (before, after): (&[Change], &[Change]),
) {
    let reach = platform.world.reach(user);
    let source = |account: &&'static str| if reach.contains(*account) { &data[*account] } else { &others[*account] };
    let mixed: Data = ACCOUNTS.iter().map(|account| (*account, source(account).clone())).collect();
    let mut other = RandomPlatform::new(&mixed, before, false);
    for change in after {
        let mut tried = other.world.clone();
        if tried.change(change) && tried.view(user) == platform.world.view(user) {
            other.change(change);
        }
    }
    for path in paths() {
        let (answer, answered) = (platform.get(user, &path), other.get(user, &path));
        // `assert_eq` would print both bodies, and a body of `/api` is long.
        assert!(answer == answered, "{user} {path}: {} {:?}", answer.difference(&answered), answer.headers);
    }
    assert_eq!(typed_answers(platform, user), typed_answers(&other, user));
}

/// Checks the answers of one service before and after its directory changes. `in_file` puts the directory into SQLite.
fn check(in_file: bool, data: &Data, others: &Data, before: &[Change], after: &[Change], user: &'static str) {
    let mut platform = RandomPlatform::new(data, before, in_file);
    check_against_model(&platform, data, user);
    check_nothing_out_of_reach(&platform, user);
    check_others_change_nothing(&platform, user, data, others, (before, after));
    // The directory changes while the service runs, which must not answer from what it found before.
    after.iter().for_each(|change| platform.change(change));
    USERS.iter().for_each(|user| check_against_model(&platform, data, user));
    check_nothing_out_of_reach(&platform, user);
    drop(platform.folder);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_cover_exactly_the_accounts_in_reach(
        (data, others) in (data(), data()),
        (before, after) in (changes(10..40), changes(0..16)),
        user in prop::sample::select(USERS.to_vec()),
    ) {
        check(false, &data, &others, &before, &after, user);
    }
}

proptest! {
    // Fewer cases, because each change is synced to disk.
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_cover_exactly_the_accounts_in_reach_with_a_file(
        (data, others) in (data(), data()),
        (before, after) in (changes(10..40), changes(0..16)),
        user in prop::sample::select(USERS.to_vec()),
    ) {
        check(true, &data, &others, &before, &after, user);
    }
}
