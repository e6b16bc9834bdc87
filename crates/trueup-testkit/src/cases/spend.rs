//! Spend beside the events, without any, and in an account of its own.

use chrono::NaiveDate;
use proptest::prelude::*;

use super::pools::{ACCOUNTS, AMOUNTS, CAMPAIGNS, CATEGORIES, CHANNELS, value};
use super::window;
use crate::oracle::SpendRow;

/// A spend row whose day is still counted from a base.
#[derive(Clone, Debug)]
pub(super) struct Spend {
    account: usize,
    offset: i64,
    category: Option<&'static str>,
    channel: Option<&'static str>,
    campaign: Option<&'static str>,
    ad_spend: Option<i64>,
    management_fee: Option<i64>,
    clicks: Option<u64>,
    impressions: Option<u64>,
}

pub(super) fn spend() -> impl Strategy<Value = Spend> {
    let account = prop_oneof![4 => 0..4_usize, 1 => Just(ACCOUNTS.len() - 1)];
    let counts = || {
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(0)),
            3 => (1..1_000_u64).prop_map(Some),
            1 => Just(Some(9_007_199_254_740_993)),
        ]
    };
    let names = (name(&CATEGORIES), name(&CHANNELS), name(&CAMPAIGNS));
    (account, window::offset(), names, amount(), amount(), counts(), counts()).prop_map(
        |(account, offset, (category, channel, campaign), ad_spend, management_fee, clicks, impressions)| Spend {
            account,
            offset,
            category,
            channel,
            campaign,
            ad_spend,
            management_fee,
            clicks,
            impressions,
        },
    )
}

fn name(pool: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![1 => Just(None), 3 => value(pool).prop_map(Some)]
}

/// Null, zero, an ordinary amount and its opposite, or one of the nasty ones.
fn amount() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(0)),
        3 => proptest::sample::select(vec![10_000_000, -10_000_000, 33_333_333]).prop_map(Some),
        2 => (0..500_i64).prop_map(|units| Some(units * 1_000_000)),
        1 => proptest::sample::select(&AMOUNTS[..]).prop_map(Some),
    ]
}

impl Spend {
    /// The row, in one of the first `accounts` accounts or in the one that only spend knows.
    pub(super) fn at(self, base: NaiveDate, accounts: usize) -> SpendRow {
        let shared = ACCOUNTS.len() - 1;
        let account = if self.account == shared { shared } else { self.account % accounts.clamp(1, shared) };
        SpendRow {
            account: ACCOUNTS[account].to_owned(),
            date: window::day(base, self.offset),
            attribution_category: self.category.map(str::to_owned),
            attribution_channel: self.channel.map(str::to_owned),
            campaign: self.campaign.map(str::to_owned),
            ad_spend: self.ad_spend,
            management_fee: self.management_fee,
            clicks: self.clicks,
            impressions: self.impressions,
        }
    }
}
