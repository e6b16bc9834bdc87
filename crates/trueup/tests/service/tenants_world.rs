//! Random directories, a model of section 3 of CONTRACT (see `docs/compat.md`), and random data. The model answers
//! every question from the definition, by walking from an organization up to its root, and shares no code with the
//! directory.
//!
//! The data of each account have marks of that account: only `a3` has the text `secret-a3` and the column `own_a3`.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use trueup::Dataset;
use trueup::access::{Directory, Error, Grant, Organization};

/// The account keys. Two organizations have the same names as accounts.
pub(crate) const ACCOUNTS: [&str; 5] = ["a0", "a1", "a2", "a3", "a4"];
pub(crate) const ORGANIZATIONS: [&str; 7] = ["o0", "o1", "o2", "o3", "o4", "a1", "a2"];
pub(crate) const USERS: [&str; 3] = ["u0", "u1", "u2"];

/// A change of a directory. Some name what does not exist, or exists already, and are refused.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The id, the parent, and whether the organization is an umbrella.
    Add(&'static str, Option<&'static str>, bool),
    Remove(&'static str),
    Move(&'static str, Option<&'static str>),
    Umbrella(&'static str, bool),
    Place(&'static str, &'static str),
    Displace(&'static str, &'static str),
    Grant(&'static str, Grant),
    Withdraw(&'static str, Grant),
    AddAccount(&'static str),
    RemoveAccount(&'static str),
}

pub(crate) fn changes(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Change>> {
    let organization = || prop::sample::select(ORGANIZATIONS.to_vec());
    let account = || prop::sample::select(ACCOUNTS.to_vec());
    let user = || prop::sample::select(USERS.to_vec());
    let parent = || prop::option::of(organization());
    let grant = || {
        prop_oneof![
            2 => organization().prop_map(|id| Grant::Organization(id.to_owned())),
            1 => account().prop_map(|key| Grant::Account(key.to_owned())),
        ]
    };
    let change = prop_oneof![
        6 => (organization(), parent(), prop::bool::weighted(0.2)).prop_map(|(id, parent, umbrella)| Change::Add(id, parent, umbrella)),
        1 => organization().prop_map(Change::Remove),
        2 => (organization(), parent()).prop_map(|(id, parent)| Change::Move(id, parent)),
        1 => (organization(), any::<bool>()).prop_map(|(id, umbrella)| Change::Umbrella(id, umbrella)),
        8 => (account(), organization()).prop_map(|(account, id)| Change::Place(account, id)),
        1 => (account(), organization()).prop_map(|(account, id)| Change::Displace(account, id)),
        5 => (user(), grant()).prop_map(|(user, grant)| Change::Grant(user, grant)),
        1 => (user(), grant()).prop_map(|(user, grant)| Change::Withdraw(user, grant)),
        1 => account().prop_map(Change::AddAccount),
        1 => account().prop_map(Change::RemoveAccount),
    ];
    prop::collection::vec(change, count)
}

impl Change {
    pub(crate) fn apply_to(&self, directory: &dyn Directory) -> Result<(), Error> {
        match self {
            Self::Add(id, parent, umbrella) => {
                let parent = parent.map(str::to_owned);
                directory.add_organization(&Organization { id: (*id).to_owned(), parent, umbrella: *umbrella })
            }
            Self::Remove(id) => directory.remove_organization(id),
            Self::Move(id, parent) => directory.move_organization(id, *parent),
            Self::Umbrella(id, umbrella) => directory.set_umbrella(id, *umbrella),
            Self::Place(account, id) => directory.place_account(account, id),
            Self::Displace(account, id) => directory.unplace_account(account, id),
            Self::Grant(user, grant) => directory.grant(user, grant),
            Self::Withdraw(user, grant) => directory.withdraw(user, grant),
            Self::AddAccount(account) => directory.add_account(account),
            Self::RemoveAccount(account) => directory.remove_account(account),
        }
    }
}

/// The organizations that `/api` lists, each with its accounts.
pub(crate) type Listing = Vec<(String, Vec<String>)>;

/// The directory as sets of facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct World {
    /// The parent of each organization, and whether the organization is an umbrella.
    organizations: BTreeMap<&'static str, (Option<&'static str>, bool)>,
    accounts: BTreeSet<&'static str>,
    /// Accounts and organizations.
    placements: BTreeSet<(&'static str, &'static str)>,
    /// Users and what they are granted.
    grants: BTreeSet<(&'static str, Grant)>,
}

impl World {
    /// Adds all users and accounts to the directory, without any organization or grant.
    pub(crate) fn begin(directory: &dyn Directory) -> Self {
        USERS.iter().for_each(|user| directory.add_user(user).unwrap());
        ACCOUNTS.iter().for_each(|account| directory.add_account(account).unwrap());
        Self { accounts: ACCOUNTS.into(), ..Self::default() }
    }

    /// Returns the organization and all organizations above it.
    fn path(&self, id: &'static str) -> Vec<&'static str> {
        let mut path = vec![id];
        while let Some(parent) = path.last().and_then(|last| self.organizations[last].0) {
            path.push(parent);
        }
        path
    }

    fn knows(&self, id: &str) -> bool {
        self.organizations.contains_key(id)
    }

    fn knows_grant(&self, grant: &Grant) -> bool {
        match grant {
            Grant::Organization(id) => self.knows(id),
            Grant::Account(key) => self.accounts.contains(key.as_str()),
        }
    }

    /// Makes the change if the definition allows it, and returns whether it does.
    pub(crate) fn change(&mut self, change: &Change) -> bool {
        match change.clone() {
            Change::Add(id, parent, umbrella) => {
                let can = !self.knows(id) && parent.is_none_or(|parent| self.knows(parent));
                can && self.organizations.insert(id, (parent, umbrella)).is_none()
            }
            Change::Remove(id) => {
                let can = self.knows(id) && self.organizations.values().all(|(parent, _)| *parent != Some(id));
                if can {
                    self.organizations.remove(id);
                    self.placements.retain(|(_, organization)| *organization != id);
                    self.grants.retain(|(_, grant)| *grant != Grant::Organization(id.to_owned()));
                }
                can
            }
            Change::Move(id, parent) => {
                let is_allowed = |parent| self.knows(parent) && !self.path(parent).contains(&id);
                let can = self.knows(id) && parent.is_none_or(is_allowed);
                if can {
                    self.organizations.get_mut(id).unwrap().0 = parent;
                }
                can
            }
            Change::Umbrella(id, umbrella) => self.organizations.get_mut(id).map(|node| node.1 = umbrella).is_some(),
            Change::Place(account, id) => {
                self.accounts.contains(account) && self.knows(id) && self.placements.insert((account, id))
            }
            Change::Displace(account, id) => self.placements.remove(&(account, id)),
            Change::Grant(user, grant) => self.knows_grant(&grant) && self.grants.insert((user, grant)),
            Change::Withdraw(user, grant) => self.grants.remove(&(user, grant)),
            Change::AddAccount(account) => self.accounts.insert(account),
            Change::RemoveAccount(account) => {
                self.placements.retain(|(placed, _)| *placed != account);
                self.grants.retain(|(_, grant)| *grant != Grant::Account(account.to_owned()));
                self.accounts.remove(account)
            }
        }
    }

    fn is_granted(&self, user: &'static str, id: &'static str) -> bool {
        let granted = |id: &&str| self.grants.contains(&(user, Grant::Organization((*id).to_owned())));
        self.path(id).iter().any(granted)
    }

    /// Returns the accounts at and below an organization.
    fn held(&self, id: &str) -> Vec<String> {
        let below = self.placements.iter().filter(|(_, organization)| self.path(organization).contains(&id));
        below.map(|(account, _)| (*account).to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the accounts that a user reaches.
    pub(crate) fn reach(&self, user: &'static str) -> BTreeSet<String> {
        let direct = |account: &str| self.grants.contains(&(user, Grant::Account(account.to_owned())));
        let placed =
            |account: &str| self.placements.iter().any(|(placed, id)| *placed == account && self.is_granted(user, id));
        let reached = self.accounts.iter().filter(|account| direct(account) || placed(account));
        reached.map(|account| (*account).to_owned()).collect()
    }

    /// Returns the organizations that a user sees: all that are granted or below a granted one, except umbrellas.
    fn shown(&self, user: &'static str) -> Vec<&'static str> {
        let nodes = self.organizations.iter().filter(|(id, (_, umbrella))| !umbrella && self.is_granted(user, id));
        nodes.map(|(id, _)| *id).collect()
    }

    /// Returns what `/api` lists for a user.
    pub(crate) fn listing(&self, user: &'static str) -> Listing {
        let reach: Vec<String> = self.reach(user).into_iter().collect();
        if let [only] = reach.as_slice() {
            return vec![(only.clone(), vec![only.clone()])];
        }
        let mut listing: Listing = self.shown(user).into_iter().map(|id| (id.to_owned(), self.held(id))).collect();
        let alone = |account: &String| !listing.iter().any(|(_, accounts)| accounts.contains(account));
        let alone: Listing =
            reach.iter().filter(|account| alone(account)).map(|key| (key.clone(), vec![key.clone()])).collect();
        listing.extend(alone);
        listing.sort_by(|a, b| a.0.cmp(&b.0));
        listing
    }

    /// Returns the accounts that a path segment names; `None` if the response is 404.
    pub(crate) fn accounts_of(&self, user: &'static str, segment: &str) -> Option<Vec<String>> {
        let reach = self.reach(user);
        let alone = || reach.contains(segment).then(|| vec![segment.to_owned()]);
        if reach.len() == 1 && reach.contains(segment) {
            return alone();
        }
        let shown = self.shown(user).into_iter().find(|id| *id == segment);
        shown.map_or_else(alone, |id| Some(self.held(id)))
    }

    /// Returns all that a user can learn of the directory.
    pub(crate) fn view(&self, user: &'static str) -> (Listing, Vec<Option<Vec<String>>>) {
        (self.listing(user), segments().map(|segment| self.accounts_of(user, segment)).collect())
    }
}

/// Returns every name that a directory may have, and one that none has.
pub(crate) fn segments() -> impl Iterator<Item = &'static str> {
    ORGANIZATIONS.into_iter().chain(["a0", "a3", "a4", "nowhere"])
}

/// The data of one account, all of it in February 2025.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountData {
    /// Customer, stage, day, whether the campaign is the text that marks the account, amount.
    events: Vec<(u8, &'static str, u8, bool, i32)>,
    /// Day, amount.
    spend: Vec<(u8, u16)>,
    /// Values by day of publication.
    insights: BTreeMap<u8, u16>,
    /// Industry and lead grading, if the account is in the table of accounts.
    row: Option<(&'static str, bool)>,
    /// Whether its events have values in a column that no other account has.
    column: bool,
}

/// The data of every account, by account key.
pub(crate) type Data = BTreeMap<&'static str, AccountData>;

fn account_data() -> impl Strategy<Value = AccountData> {
    let stage = prop::sample::select(vec!["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]);
    let events = prop::collection::vec((0..3_u8, stage, 1..29_u8, any::<bool>(), -900..900), 0..6);
    let spend = prop::collection::vec((1..29_u8, 0..500_u16), 0..3);
    let insights = prop::collection::btree_map(1..29_u8, 0..100_u16, 0..3);
    let row = prop::option::of((prop::sample::select(vec!["", "Plumbing", "Heating"]), any::<bool>()));
    (events, spend, insights, row, any::<bool>()).prop_map(|(events, spend, insights, row, column)| AccountData {
        events,
        spend,
        insights,
        row,
        column,
    })
}

pub(crate) fn data() -> impl Strategy<Value = Data> {
    prop::collection::vec(account_data(), ACCOUNTS.len())
        .prop_map(|all_data| ACCOUNTS.into_iter().zip(all_data).collect())
}

/// Returns the number of events of each account that has events.
pub(crate) fn event_counts(data: &Data) -> BTreeMap<String, u64> {
    let counts = data.iter().map(|(account, account_data)| ((*account).to_owned(), account_data.events.len() as u64));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Returns the accounts and days of all insights.
pub(crate) fn insights(data: &Data) -> BTreeSet<(String, u8)> {
    let days = |(account, account_data): (&&'static str, &AccountData)| {
        account_data.insights.keys().map(|day| ((*account).to_owned(), *day)).collect::<Vec<_>>()
    };
    data.iter().flat_map(days).collect()
}

/// Returns whether the account has values in the column that no other account has.
pub(crate) fn has_column(data: &Data, account: &str) -> bool {
    data.get(account).is_some_and(|account_data| account_data.column && !account_data.events.is_empty())
}

pub(crate) fn ingest(folder: &Path, data: &Data) -> Arc<Dataset> {
    let path = folder.join("dataset");
    let mut ingest = trueup_ingest::Ingest::into(&path);
    let file = |name: String, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let mut spend = String::from("account,date,attributionCategory,attributionChannel,campaign,adSpend\n");
    let mut accounts = String::from("account,accountName,industry,timeZone,leadGrading\n");
    let mut insights = String::new();
    for (account, account_data) in data {
        let own = format!("secret-{account}");
        let column = if account_data.column { format!("own_{account}") } else { "crew".to_owned() };
        let mut events = format!("account,opportunityId,type,date,total,customerStatus,campaign,{column}\n");
        for (customer, stage, day, named, total) in &account_data.events {
            let campaign = if *named { own.as_str() } else { "Drains" };
            writeln!(events, "{account},c{customer},{stage},2025-02-{day:02},{total},New Customer,{campaign},{own}")
                .unwrap();
        }
        ingest = ingest.events(file(format!("{account}.csv"), &events));
        for (day, amount) in &account_data.spend {
            writeln!(spend, "{account},2025-02-{day:02},Advertising,Search Ads,{own},{amount}").unwrap();
        }
        for (day, value) in &account_data.insights {
            writeln!(
                insights,
                r#"{{"account":"{account}","date":"2025-02-{day:02}","insight":{{"period":"{own}","value":{value}}}}}"#
            )
            .unwrap();
        }
        if let Some((industry, grading)) = account_data.row {
            writeln!(accounts, "{account},{own},{industry},UTC,{grading}").unwrap();
        }
    }
    if !insights.is_empty() {
        ingest = ingest.insights(file("insights.ndjson".to_owned(), &insights));
    }
    ingest
        .spend(file("spend.csv".to_owned(), &spend))
        .accounts(file("accounts.csv".to_owned(), &accounts))
        .run()
        .unwrap();
    Arc::new(Dataset::open(&path).unwrap())
}
