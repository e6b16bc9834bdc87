//! Random data of random tenants. The data of each account are marked as its own: only `a3` has the text `secret-a3`
//! and the column `own_a3`.

use crate::tenants_world::ACCOUNTS;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use trueup::Dataset;

/// The data of one account, all of it in February 2025.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Customer, stage, day, whether the campaign is its own, amount.
    events: Vec<(u8, &'static str, u8, bool, i32)>,
    /// Day, amount.
    spend: Vec<(u8, u16)>,
    /// The days of publication, and a value.
    insights: BTreeMap<u8, u16>,
    /// Industry and lead grading, if the account is in the table of accounts.
    row: Option<(&'static str, bool)>,
    /// Whether its events have values in a column that no other account has.
    column: bool,
}

/// The data of every account, by account key.
pub(crate) type Data = BTreeMap<&'static str, Holding>;

fn holding() -> impl Strategy<Value = Holding> {
    let stage = prop::sample::select(vec!["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]);
    let events = prop::collection::vec((0..3_u8, stage, 1..29_u8, any::<bool>(), -900..900), 0..6);
    let spend = prop::collection::vec((1..29_u8, 0..500_u16), 0..3);
    let insights = prop::collection::btree_map(1..29_u8, 0..100_u16, 0..3);
    let row = prop::option::of((prop::sample::select(vec!["", "Plumbing", "Heating"]), any::<bool>()));
    (events, spend, insights, row, any::<bool>()).prop_map(|(events, spend, insights, row, column)| Holding {
        events,
        spend,
        insights,
        row,
        column,
    })
}

pub(crate) fn data() -> impl Strategy<Value = Data> {
    prop::collection::vec(holding(), ACCOUNTS.len()).prop_map(|holdings| ACCOUNTS.into_iter().zip(holdings).collect())
}

/// The events of each account that has any.
pub(crate) fn event_counts(data: &Data) -> BTreeMap<String, u64> {
    let counts = data.iter().map(|(account, holding)| ((*account).to_owned(), holding.events.len() as u64));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The accounts and days of all insights.
pub(crate) fn insights(data: &Data) -> BTreeSet<(String, u8)> {
    let days = |(account, holding): (&&'static str, &Holding)| {
        holding.insights.keys().map(|day| ((*account).to_owned(), *day)).collect::<Vec<_>>()
    };
    data.iter().flat_map(days).collect()
}

/// Whether the account has values in a column of its own.
pub(crate) fn has_column(data: &Data, account: &str) -> bool {
    data.get(account).is_some_and(|holding| holding.column && !holding.events.is_empty())
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
    for (account, holding) in data {
        let own = format!("secret-{account}");
        let column = if holding.column { format!("own_{account}") } else { "crew".to_owned() };
        let mut events = format!("account,opportunityId,type,date,total,customerStatus,campaign,{column}\n");
        for (customer, stage, day, named, total) in &holding.events {
            let campaign = if *named { own.as_str() } else { "Drains" };
            writeln!(events, "{account},c{customer},{stage},2025-02-{day:02},{total},New Customer,{campaign},{own}")
                .unwrap();
        }
        ingest = ingest.events(file(format!("{account}.csv"), &events));
        for (day, amount) in &holding.spend {
            writeln!(spend, "{account},2025-02-{day:02},Advertising,Search Ads,{own},{amount}").unwrap();
        }
        for (day, value) in &holding.insights {
            writeln!(
                insights,
                r#"{{"account":"{account}","date":"2025-02-{day:02}","insight":{{"period":"{own}","value":{value}}}}}"#
            )
            .unwrap();
        }
        if let Some((industry, grading)) = holding.row {
            writeln!(accounts, "{account},{own},{industry},UTC,{grading}").unwrap();
        }
    }
    if !insights.is_empty() {
        ingest = ingest.insights(file("insights.ndjson".to_owned(), &insights));
    }
    ingest
        .spend(file("spend.csv".to_owned(), &spend))
        .accounts(file("accounts.csv".to_owned(), &accounts))
        .run(&())
        .unwrap();
    Arc::new(Dataset::open(&path).unwrap())
}
