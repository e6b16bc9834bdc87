//! One to four accounts, some of them in no account table.

use proptest::prelude::*;

use super::pools::ACCOUNTS;
use crate::oracle::AccountRow;

/// What the account table says of one account.
#[derive(Clone, Debug)]
pub(super) struct Account {
    listed: bool,
    name: Option<&'static str>,
    industry: Option<&'static str>,
    zone: &'static str,
    lead_grading: bool,
}

pub(super) fn accounts() -> impl Strategy<Value = Vec<Account>> {
    let name = prop_oneof![Just(None), Just(Some("")), Just(Some("Same name")), Just(Some("Bø & Söhne"))];
    let industry = prop_oneof![Just(None), Just(Some("plumbing"))];
    let zone = prop_oneof![
        2 => Just("UTC"),
        3 => Just("America/Chicago"),
        2 => Just("Asia/Kolkata"),
        1 => Just("Pacific/Auckland"),
    ];
    let account = (proptest::bool::weighted(0.8), name, industry, zone, any::<bool>());
    let account = account.prop_map(|(listed, name, industry, zone, lead_grading)| Account {
        listed,
        name,
        industry,
        zone,
        lead_grading,
    });
    proptest::collection::vec(account, 1..=4)
}

/// The account table.
pub(super) fn rows(accounts: &[Account]) -> Vec<AccountRow> {
    let listed = accounts.iter().zip(ACCOUNTS).filter(|(account, _)| account.listed);
    let row = |(account, key): (&Account, &str)| AccountRow {
        account: key.to_owned(),
        account_name: account.name.map(str::to_owned),
        industry: account.industry.map(str::to_owned),
        time_zone: account.zone.to_owned(),
        lead_grading: account.lead_grading,
    };
    listed.map(row).collect()
}
