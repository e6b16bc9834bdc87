//! Random directories and random data: the answers to a user cover all accounts in the user's reach and reveal nothing
//! else. Three laws say so:
//!
//! 1. The answers cover exactly the accounts that the model gives the user ([`check_against_model`]).
//! 2. No answer contains a text that only accounts out of reach have ([`check_nothing_out_of_reach`]).
//! 3. Neither the data of accounts out of reach, nor a change of the directory that the user cannot see, changes a byte
//!    of an answer ([`check_others_change_nothing`]).

use crate::tenants_platform::{Answer, FEBRUARY, RandomPlatform, february, own_column, paths};
use crate::tenants_world::{
    ACCOUNTS, Change, Data, Listing, USERS, changes, data, event_counts, has_column, insights, segments,
};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use trueup::query::{EventsQuery, Filter, Predicate};

/// One random case.
#[derive(Clone, Debug)]
struct Case {
    data: Data,
    /// What accounts out of reach have in place of their `data`, for the third law.
    other_data: Data,
    /// The changes that make the directory.
    before: Vec<Change>,
    /// The changes while the service runs.
    after: Vec<Change>,
    /// The user whose answers are checked.
    user: &'static str,
}

fn cases() -> impl Strategy<Value = Case> {
    let user = prop::sample::select(USERS.to_vec());
    (data(), data(), changes(10..40), changes(0..16), user).prop_map(|(data, other_data, before, after, user)| Case {
        data,
        other_data,
        before,
        after,
        user,
    })
}

/// Checks all laws. `in_file` puts the directory into SQLite.
fn check(case: &Case, in_file: bool) {
    let mut platform = RandomPlatform::new(&case.data, &case.before, in_file);
    check_against_model(&platform, &case.data, case.user);
    check_nothing_out_of_reach(&platform, case.user);
    check_others_change_nothing(&platform, case);
    // The directory changes while the service runs, which must not answer from what it found before.
    platform.change(&case.after);
    USERS.iter().for_each(|user| check_against_model(&platform, &case.data, user));
    check_nothing_out_of_reach(&platform, case.user);
}

/// The first law.
fn check_against_model(platform: &RandomPlatform, data: &Data, user: &'static str) {
    assert_eq!(listing(&platform.get(user, "/api")), platform.world.listing(user), "{user}");
    for segment in segments() {
        let path = AskedPath { platform, data, user, segment };
        match platform.world.accounts_of(user, segment) {
            None => path.check_hidden(),
            Some(accounts) => {
                path.check_events(&accounts);
                path.check_insights(&accounts);
                path.check_unknown_fields(&accounts);
                path.check_single_accounts(&accounts);
            }
        }
    }
}

/// Reads the organizations and accounts that an answer of `/api` lists.
fn listing(answer: &Answer) -> Listing {
    let access: Json = serde_json::from_str(&answer.body).unwrap();
    let accounts = |listed: &Json| listed["accounts"].as_array().unwrap().iter().map(text).collect();
    let listed = access["organizations"].as_array().unwrap().iter();
    listed.map(|listed| (text(&listed["organization"]), accounts(listed))).collect()
}

fn text(value: &Json) -> String {
    value.as_str().unwrap().to_owned()
}

/// The requests of a user for what a segment of the path names.
struct AskedPath<'a> {
    platform: &'a RandomPlatform,
    data: &'a Data,
    user: &'static str,
    segment: &'static str,
}

impl AskedPath<'_> {
    fn get(&self, request: &str) -> Answer {
        self.platform.get(self.user, &format!("/api/{}/{request}", self.segment))
    }

    /// Checks that the response is the same as for an organization that does not exist.
    fn check_hidden(&self) {
        let request = format!("events?fields=account,eventCount&{FEBRUARY}");
        let (answer, unknown) = (self.get(&request), self.platform.get(self.user, &format!("/api/nowhere/{request}")));
        assert_eq!(answer.status, 404, "{} {}", self.user, self.segment);
        assert_eq!(answer.body.replace(self.segment, "nowhere"), unknown.body);
        assert_eq!(answer.headers, unknown.headers);
    }

    /// Checks that the answer has all events of these accounts and no others.
    fn check_events(&self, accounts: &[String]) {
        let answer = self.get(&format!("events?fields=account,eventCount&{FEBRUARY}"));
        let count = |row: &Json| (text(&row["account"]), row["eventCount"].as_u64().unwrap());
        let counts: BTreeMap<String, u64> = answer.rows().iter().map(count).collect();
        let mut expected = event_counts(self.data);
        expected.retain(|account, _| accounts.contains(account));
        assert_eq!(counts, expected, "{} {}", self.user, self.segment);
    }

    /// Checks that the answer has all insights of these accounts and no others.
    fn check_insights(&self, accounts: &[String]) {
        let answer = self.get(&format!("insights?{FEBRUARY}"));
        let day = |row: &Json| (text(&row["account"]), text(&row["date"])[8..].parse().unwrap());
        let published: BTreeSet<(String, u8)> = answer.rows().iter().map(day).collect();
        let mut expected = insights(self.data);
        expected.retain(|(account, _)| accounts.contains(account));
        assert_eq!(published, expected, "{} {}", self.user, self.segment);
    }

    /// Checks that a column is unknown unless one of these accounts has values in it.
    fn check_unknown_fields(&self, accounts: &[String]) {
        let own = ACCOUNTS.map(own_column);
        let is_known = |account: &str| accounts.iter().any(|known| known == account) && has_column(self.data, account);
        let unknown: Vec<String> = ACCOUNTS.into_iter().filter(|account| !is_known(account)).map(own_column).collect();

        let answer = self.get(&format!("events?fields={},leads&{FEBRUARY}", own.join(",")));
        assert_eq!(answer.header("Trueup-Unknown-Fields").unwrap_or_default(), unknown.join(", "));

        // Typed calls report the same, for columns that are requested and for columns in a filter. The scope replaces
        // the accounts that the query names.
        let scope = self.platform.reach(self.user).resolve(self.segment).unwrap();
        let [start, end] = february();
        let requested = EventsQuery::new(own.iter().map(String::as_str).chain(["leads"]), start, end);
        let are_empty = Filter::All(own.iter().map(|name| Filter::field(name, Predicate::Empty)).collect());
        let filtered = EventsQuery::new(["leads"], start, end).filter(are_empty).accounts(ACCOUNTS);
        for query in [requested, filtered] {
            assert_eq!(self.platform.service.events(&scope, &query).unwrap().unknown_fields(), unknown);
        }
    }

    /// Checks that `account=` accepts these accounts and no others.
    fn check_single_accounts(&self, accounts: &[String]) {
        for account in ACCOUNTS {
            let answer = self.get(&format!("events?fields=account,eventCount&{FEBRUARY}&account={account}"));
            let expected = if accounts.iter().any(|known| known == account) { 200 } else { 404 };
            assert_eq!(answer.status, expected, "{} {} {account}", self.user, self.segment);
        }
    }
}

/// The second law.
fn check_nothing_out_of_reach(platform: &RandomPlatform, user: &'static str) {
    let reach = platform.world.reach(user);
    let secrets =
        ACCOUNTS.iter().filter(|account| !reach.contains(**account)).map(|account| format!("secret-{account}"));
    let secrets: Vec<String> = secrets.collect();
    let assert_has_none = |answer: &str, asked: &str| {
        for secret in &secrets {
            assert!(!answer.contains(secret), "{user} {secret} {asked}: {answer:.2000}");
        }
    };
    for path in paths() {
        assert_has_none(&platform.get(user, &path).body, &path);
    }
    for answer in platform.typed_answers(user) {
        assert_has_none(&answer, "typed");
    }
}

/// The third law: compares the platform, whose directory has had the changes `before`, with another. There, accounts
/// out of reach have their `other_data`, and the directory has also had the changes of `after` that leave the user's
/// view as it is.
fn check_others_change_nothing(platform: &RandomPlatform, case: &Case) {
    let user = case.user;
    let reach = platform.world.reach(user);
    let mut mixed = case.data.clone();
    for account in ACCOUNTS.into_iter().filter(|account| !reach.contains(*account)) {
        mixed.insert(account, case.other_data[account].clone());
    }
    let mut other = RandomPlatform::new(&mixed, &case.before, false);
    for change in &case.after {
        let mut tried = other.world.clone();
        if tried.change(change) && tried.view(user) == platform.world.view(user) {
            other.change(std::slice::from_ref(change));
        }
    }
    for path in paths() {
        let (answer, answered) = (platform.get(user, &path), other.get(user, &path));
        // `assert_eq` would print both bodies, and a body of `/api` is long.
        assert!(answer == answered, "{user} {path}: {} {:?}", answer.difference(&answered), answer.headers);
    }
    assert_eq!(platform.typed_answers(user), other.typed_answers(user));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_cover_exactly_the_accounts_in_reach(case in cases()) {
        check(&case, false);
    }
}

proptest! {
    // Fewer cases, because each change is synced to disk.
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_cover_exactly_the_accounts_in_reach_with_a_file(case in cases()) {
        check(&case, true);
    }
}
