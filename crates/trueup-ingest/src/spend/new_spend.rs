//! What an ingest brings of spend: the days of each account and source, whose stored rows it replaces, the channels
//! and the campaigns.

use super::{SpendKey, campaigns, spend_keys};
use crate::IngestError;
use crate::error::{ErrorContext, TwiceRows};
use crate::held::in_row_group;
use arrow_array::{Array as _, RecordBatch};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trueup_core::dataset::manifest::RowGroupEntry;

/// Bytes of memory per day, source and channel of an account, approximately.
const KEY_BYTES: usize = 24;

/// Bytes of memory per account, source or channel besides its text and its days, approximately.
const TEXT_BYTES: usize = 160;

/// The most bytes of memory of the campaigns of an ingest, approximately. With more, no warning is about campaigns.
const MAX_CAMPAIGN_BYTES: usize = 16 << 20;

/// Collects what is new.
pub(super) struct NewSpend {
    /// The source, the day and the channel of rows, by account. Texts are codes.
    accounts: HashMap<String, HashSet<(u32, i32, u32)>>,
    /// The codes of sources and channels.
    codes: HashMap<String, u32>,
    /// The campaigns; `None` if they are not needed, or too many.
    campaigns: Option<NewCampaigns>,
    /// Bytes of memory that all of this takes, approximately, and the most of them.
    bytes: usize,
    limit: usize,
}

/// The campaigns of rows, by account and source.
#[derive(Default)]
struct NewCampaigns {
    by_account: HashMap<String, CampaignsBySource>,
    bytes: usize,
}

type CampaignsBySource = HashMap<String, HashSet<String>>;

impl NewCampaigns {
    /// Adds the campaign of a row. Returns whether the campaigns fit in memory.
    fn add(&mut self, SpendKey { account, source, .. }: SpendKey<'_>, campaign: &str) -> bool {
        let of_source = self.by_account.entry_ref(account).or_default().entry_ref(source).or_default();
        if !of_source.contains(campaign) {
            of_source.insert(campaign.to_owned());
            self.bytes += campaign.len() + TEXT_BYTES;
        }
        self.bytes <= MAX_CAMPAIGN_BYTES
    }
}

/// What becomes of a stored row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    /// New rows have its account, day and source.
    Replaced,
    /// Its whole source is removed.
    Removed,
    /// It stays, and has the account, the day and the channel of a new row. One of the two has a source, and the other
    /// has none.
    CountsTwice,
}

/// What is new, and the source that is removed.
pub(super) struct Replacement {
    accounts: BTreeMap<String, AccountSpend>,
    channels: std::collections::HashSet<String>,
    removed_source: Option<String>,
}

/// The new spend of an account. Days are counted from 1970-01-01.
#[derive(Default)]
pub(super) struct AccountSpend {
    /// All days, ascending.
    days: Vec<i32>,
    by_source: HashMap<String, HashSet<i32>>,
    /// The days of each channel of rows with a source.
    with_source: HashMap<String, HashSet<i32>>,
    /// The days of each channel of rows without one.
    without_source: HashMap<String, HashSet<i32>>,
    /// `None` if the campaigns are not known.
    campaigns: Option<CampaignsBySource>,
}

impl AccountSpend {
    /// Returns whether no new row of a source has a campaign; false if that is not known.
    pub(super) fn lacks_campaign(&self, source: &str, campaign: &str) -> bool {
        let of_source = self.campaigns.as_ref().map(|campaigns| campaigns.get(source));
        of_source.is_some_and(|known| known.is_none_or(|known| !known.contains(campaign)))
    }
}

impl NewSpend {
    /// Begins with nothing. It may take `limit` bytes of memory, besides the campaigns.
    pub(super) fn new(limit: usize, needs_campaigns: bool) -> Self {
        let campaigns = needs_campaigns.then(NewCampaigns::default);
        Self { accounts: HashMap::new(), codes: HashMap::new(), campaigns, bytes: 0, limit }
    }

    /// Adds new rows.
    ///
    /// # Errors
    /// The days take more memory than they may.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), IngestError> {
        let Self { accounts, codes, campaigns: known_campaigns, bytes, limit } = self;
        let names = campaigns(batch);
        let mut code = |text: &str, bytes: &mut usize| {
            if let Some(code) = codes.get(text) {
                return *code;
            }
            *bytes += text.len() + TEXT_BYTES;
            let next = u32::try_from(codes.len()).unwrap_or(u32::MAX);
            *codes.entry_ref(text).or_insert(next)
        };
        for (row, spend_key) in spend_keys(batch).doing("read spend")?.enumerate() {
            let SpendKey { account, day, source, channel } = spend_key;
            let name = names.filter(|names| names.is_valid(row)).map(|names| names.value(row));
            if let (Some(known), Some(name)) = (&mut *known_campaigns, name)
                && !known.add(spend_key, name)
            {
                *known_campaigns = None;
            }
            let key = (code(source, bytes), day, code(channel, bytes));
            if !accounts.contains_key(account) {
                *bytes += account.len() + TEXT_BYTES;
            }
            if accounts.entry_ref(account).or_default().insert(key) {
                *bytes += KEY_BYTES;
            }
        }
        IngestError::check_size("days of spend", *bytes, *limit)
    }

    /// Ends the collection. All stored rows of `removed_source` are removed.
    pub(super) fn finish(self, removed_source: Option<&str>) -> Replacement {
        let mut texts = vec![String::new(); self.codes.len()];
        for (text, code) in self.codes {
            texts[code as usize] = text;
        }
        let mut replacement = Replacement {
            accounts: BTreeMap::new(),
            channels: std::collections::HashSet::new(),
            removed_source: removed_source.map(str::to_owned),
        };
        let mut campaigns = self.campaigns;
        for (account, keys) in self.accounts {
            let campaigns = campaigns.as_mut().map(|all| all.by_account.remove(&account).unwrap_or_default());
            let mut spend = AccountSpend { campaigns, ..AccountSpend::default() };
            for (source, day, channel) in keys {
                let (source, channel) = (&texts[source as usize], &texts[channel as usize]);
                spend.days.push(day);
                spend.by_source.entry_ref(source.as_str()).or_default().insert(day);
                let of_kind = if source.is_empty() { &mut spend.without_source } else { &mut spend.with_source };
                of_kind.entry_ref(channel.as_str()).or_default().insert(day);
                if !replacement.channels.contains(channel) {
                    replacement.channels.insert(channel.clone());
                }
            }
            spend.days.sort_unstable();
            spend.days.dedup();
            replacement.accounts.insert(account, spend);
        }
        replacement
    }
}

impl Replacement {
    /// Returns the new spend of an account; `None` if there is none.
    pub(super) fn of(&self, account: &str) -> Option<&AccountSpend> {
        self.accounts.get(account)
    }

    /// Returns what becomes of a stored row. `new` is the new spend of its account.
    pub(super) fn fate(&self, new: Option<&AccountSpend>, SpendKey { day, source, channel, .. }: SpendKey<'_>) -> Fate {
        if self.removed_source.as_deref() == Some(source) {
            return Fate::Removed;
        }
        let has =
            |days: &HashMap<String, HashSet<i32>>, text: &str| days.get(text).is_some_and(|days| days.contains(&day));
        let Some(new) = new else { return Fate::Stays };
        let of_other_kind = if source.is_empty() { &new.with_source } else { &new.without_source };
        if has(&new.by_source, source) {
            Fate::Replaced
        } else if has(of_other_kind, channel) {
            Fate::CountsTwice
        } else {
            Fate::Stays
        }
    }

    /// Returns the accounts, days and channels that have new rows both with a source and without one; `None` if there
    /// are none.
    pub(super) fn twice(&self) -> Option<TwiceRows> {
        let mut twice = TwiceRows::default();
        for (account, new) in &self.accounts {
            for (channel, days) in &new.without_source {
                let others = new.with_source.get(channel);
                for day in days.iter().filter(|day| others.is_some_and(|others| others.contains(*day))) {
                    twice.add(account, *day, channel);
                }
            }
        }
        (twice.count > 0).then_some(twice)
    }

    /// Returns the channels of the new rows.
    pub(super) fn channels(&self) -> &std::collections::HashSet<String> {
        &self.channels
    }

    /// Returns whether a row group may have rows that do not simply stay.
    pub(super) fn may_concern(&self, row_group: &RowGroupEntry) -> bool {
        let has_day = |new: &AccountSpend| match row_group.days {
            Some((first, last)) => {
                new.days.get(new.days.partition_point(|day| *day < first)).is_some_and(|day| *day <= last)
            }
            None => true,
        };
        self.removed_source.is_some() || in_row_group(&self.accounts, row_group).any(|(_, new)| has_day(new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Date32Array, StringArray};
    use std::sync::Arc;
    use trueup_core::model::{ACCOUNT, CHANNEL, DATE, SOURCE};

    /// Adds rows, each with an account, a day, a source and a channel.
    fn added(rows: &[(&str, i32, &str, &str)], limit: usize) -> Result<NewSpend, IngestError> {
        let texts = |text: fn(&(&str, i32, &str, &str)) -> String| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(text(row)).filter(|text| !text.is_empty())).collect::<StringArray>())
        };
        let days: ArrayRef = Arc::new(Date32Array::from_iter_values(rows.iter().map(|(_, day, ..)| *day)));
        let columns = [
            (ACCOUNT, texts(|row| row.0.to_owned())),
            (DATE, days),
            (SOURCE, texts(|row| row.2.to_owned())),
            (CHANNEL, texts(|row| row.3.to_owned())),
        ];
        let mut new = NewSpend::new(limit, false);
        new.add(&RecordBatch::try_from_iter(columns).unwrap())?;
        Ok(new)
    }

    #[test]
    fn accounts_take_more_memory_than_their_days() {
        let few = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 1), ("b", 2), ("b", 3)];
        assert!(added(&few.map(|(account, day)| (account, day, "", "")), 1_000).is_ok());
        assert!(added(&["a", "b", "c", "d", "e", "f", "g"].map(|account| (account, 1, "", "")), 1_000).is_err());
    }

    #[test]
    fn a_row_is_replaced_by_its_own_source_and_doubled_by_a_row_of_the_other_kind() {
        let rows =
            [("a", 1, "google", "Search"), ("a", 2, "", "Search"), ("a", 2, "meta", "Social"), ("b", 1, "meta", "")];
        assert_eq!(added(&rows, 10_000).unwrap().finish(None).twice(), None);
        let new = added(&rows, 10_000).unwrap().finish(Some("old"));
        for (account, day, source, channel, expected) in [
            ("a", 1, "google", "Other", Fate::Replaced),
            ("a", 1, "meta", "Search", Fate::Stays),
            ("a", 1, "", "Search", Fate::CountsTwice),
            ("a", 1, "", "Social", Fate::Stays),
            ("a", 2, "", "Social", Fate::Replaced),
            ("a", 2, "google", "Search", Fate::CountsTwice),
            ("a", 2, "google", "Social", Fate::Stays),
            ("a", 2, "meta", "Search", Fate::Replaced),
            ("b", 1, "", "", Fate::CountsTwice),
            ("b", 2, "", "", Fate::Stays),
            ("c", 1, "", "", Fate::Stays),
            ("c", 9, "old", "Search", Fate::Removed),
        ] {
            let key = SpendKey { account, day, source, channel };
            assert_eq!(new.fate(new.of(account), key), expected, "{account} {day} {source} {channel}");
        }
        assert!(new.may_concern(&RowGroupEntry::default()));
    }

    #[test]
    fn row_groups_are_found_by_accounts_and_days() {
        let new = added(&[("b", 9, "", ""), ("b", 5, "x", ""), ("d", 7, "", "")], 10_000).unwrap().finish(None);
        let may = |accounts: Option<(&str, &str)>, days| {
            let accounts = accounts.map(|(first, last)| (first.into(), last.into()));
            new.may_concern(&RowGroupEntry { rows: 1, accounts, days })
        };
        for (accounts, days, expected) in [
            (Some(("a", "b")), Some((9, 12)), true),
            (Some(("b", "b")), Some((1, 5)), true),
            (Some(("b", "c")), Some((6, 8)), false),
            (Some(("b", "d")), Some((6, 8)), true),
            (Some(("b", "d")), Some((10, 12)), false),
            (Some(("c", "cz")), Some((5, 9)), false),
            (Some(("d", "b")), None, false),
            (Some(("e", "f")), None, false),
            (Some(("d", "f")), None, true),
            (None, Some((8, 8)), false),
            (None, Some((7, 7)), true),
            (None, None, true),
        ] {
            assert_eq!(may(accounts, days), expected, "{accounts:?} {days:?}");
        }
        let none = NewSpend::new(1_000, true).finish(None);
        assert!(!none.may_concern(&RowGroupEntry::default()));
    }
}
