//! Stored events whose customer changes, because a new event with the same id, or the new events of the same record,
//! have another one. Other stored events of the earlier customer stay, so that one person may become two customers.

use super::dictionaries::DictionaryBuilders;
use super::event_batch::EventBatch;
use super::sources::each_record;
use crate::records::DeliveredRecords;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use trueup_core::Shown;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::RECORD_COLUMN;

/// The most changes that a warning shows.
const SHOWN: usize = 3;

/// Stored events whose customer changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reassigned {
    pub(crate) events: u64,
    /// The first changes, in the order of the accounts, the earlier and the later customers. One more than a warning
    /// shows.
    first: BTreeSet<[String; 3]>,
}

impl Reassigned {
    /// Adds an event of an account.
    pub(super) fn add(&mut self, account: &str, old: &str, new: &str) {
        self.events += 1;
        self.note([account, old, new].map(str::to_owned));
    }

    fn note(&mut self, change: [String; 3]) {
        self.first.insert(change);
        if self.first.len() > SHOWN + 1 {
            self.first.pop_last();
        }
    }

    /// Adds other events.
    pub(crate) fn merge(&mut self, other: Self) {
        self.events += other.events;
        other.first.into_iter().for_each(|change| self.note(change));
    }

    /// Returns the warning; `None` without such events.
    pub(crate) fn warning(&self) -> Option<String> {
        let events = match self.events {
            0 => return None,
            1 => "1 stored event was replaced by one of another customer".to_owned(),
            events => format!("{events} stored events were replaced by events of other customers"),
        };
        let change = |[account, old, new]: &[String; 3]| {
            format!("`{}` of `{}` became `{}`", Shown(old), Shown(account), Shown(new))
        };
        let changes: Vec<String> = self.first.iter().take(SHOWN).map(change).collect();
        let more = if self.first.len() > SHOWN { ", and others" } else { "" };
        Some(format!(
            "{events}: {}{more}. Events that this ingest does not replace stay with the earlier customer, so \
             that one person may count as two; to move them, ingest the files that have them again, or patch their \
             `opportunityId`",
            changes.join(", ")
        ))
    }
}

/// The customers of new events that are records, by which stored events of these records are compared.
pub(super) struct CustomersOfRecords<'a> {
    records: &'a DeliveredRecords,
    /// By the number of the record.
    customers: Vec<Vec<Box<str>>>,
}

impl<'a> CustomersOfRecords<'a> {
    /// Begins without events. `None` if no stored event is a record.
    pub(super) fn new(records: &'a DeliveredRecords, stored: &[DataFile]) -> Option<Self> {
        let has_records = |file: &DataFile| file.columns.iter().any(|column| column == RECORD_COLUMN);
        let customers = || vec![Vec::new(); records.count()];
        stored.iter().any(has_records).then(|| Self { records, customers: customers() })
    }

    /// Adds new events.
    pub(super) fn add(&mut self, batch: &EventBatch, dictionaries: &DictionaryBuilders) {
        let Self { records, customers } = self;
        each_record(batch, dictionaries, &mut |row, [account, source, record]| {
            let customer = batch.opportunity_ids.value(row);
            let known = records.number(account, source, record).and_then(|number| customers.get_mut(number));
            if let Some(known) = known.filter(|known| !known.iter().any(|other| **other == *customer)) {
                known.push(customer.into());
            }
        });
    }

    /// Returns the customer that a stored event of a record gets; `None` if the record still has events of its
    /// customer, or has none at all.
    pub(super) fn instead_of(&self, customer: &str, [account, source, record]: [&str; 3]) -> Option<&str> {
        let customers = self.customers.get(self.records.number(account, source, record)?)?;
        let is_left = customers.iter().any(|other| **other == *customer);
        customers.first().filter(|_| !is_left).map(AsRef::as_ref)
    }
}
