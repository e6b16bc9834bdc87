//! Event ids that several events of one ingest share. An id that several events share would make all of them but the
//! last disappear, so all of their rows break a rule.
//!
//! Sorting brings the rows of an id together and leaves out the ones that share it, at no cost for all other rows. Only
//! if there are such rows, [`reject`] reads the inputs again, to say where the rows are and to reject them.

use super::dictionaries::EventDictionaries;
use super::encode::{NormalizerFactory, plain_texts};
use super::event_batch::{EventBatch, column};
use super::left_out::LeftOut;
use crate::error::ErrorKind;
use crate::monitor::Phase;
use crate::read::{CheckedRows, RowRules, TableReader};
use crate::row_source::with_source;
use crate::shared_id_places::SharedIdPlaces;
use crate::table::Table;
use crate::{IngestError, Input};
use arrow_array::{Array, RecordBatch};
use arrow_schema::ArrowError;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;
use trueup_core::Shown;
use trueup_core::dataset::{ControlTotals, InputProtocol};
use trueup_core::model::{ACCOUNT, CellFault, EVENT_ID, EventNormalizer, OPPORTUNITY_ID, Reason, TYPE};

/// The most ids whose rows are rejected, because each takes some memory. A column with more of them is no id at all.
const MAX_IDS: usize = 100_000;

/// New rows that share an event id with a new row of another stage or customer, and are left out.
#[derive(Debug, Default)]
pub(super) struct SharedRows {
    /// The ids, each with the code of its account.
    ids: HashSet<(u32, String)>,
    rows: usize,
}

impl SharedRows {
    /// Takes some rows of a batch.
    pub(super) fn of_batch(batch: &EventBatch, rows: &[u32]) -> Self {
        let mut shared = Self::default();
        for row in rows {
            let row = *row as usize;
            shared.push(batch.accounts.value(row), batch.event_ids.value(row));
        }
        shared
    }

    /// Adds a row.
    pub(super) fn push(&mut self, account: u32, id: &str) {
        // One id too many is enough for `add` to see that there are too many.
        if self.ids.len() <= MAX_IDS {
            self.ids.insert((account, id.to_owned()));
        }
        self.rows += 1;
    }

    /// Returns whether a new row of a batch shares its event id.
    pub(super) fn has(&self, batch: &EventBatch, row: usize) -> bool {
        !self.ids.is_empty() && self.ids.contains(&(batch.accounts.value(row), batch.event_ids.value(row).to_owned()))
    }

    /// Adds the rows of other accounts, or of other ids.
    ///
    /// # Errors
    /// There are too many ids.
    pub(super) fn add(&mut self, others: Self) -> Result<(), IngestError> {
        self.ids.extend(others.ids);
        self.rows += others.rows;
        if self.ids.len() > MAX_IDS { Err(ErrorKind::ManySharedIds(MAX_IDS).into()) } else { Ok(()) }
    }
}

/// Rejects the rows that share an event id, which sorting has left out.
pub(super) fn reject(
    shared: &SharedRows,
    dictionaries: &EventDictionaries,
    inputs: &[&Input],
    (normalizers, left_out): (&NormalizerFactory<'_>, &LeftOut<'_>),
    reader: &mut TableReader<'_>,
    protocols: &mut [InputProtocol],
) -> Result<(), IngestError> {
    if shared.rows == 0 {
        return Ok(());
    }
    let numbers = IdNumbers::new(shared, dictionaries);
    let mut places = SharedIdPlaces::new(shared.ids.len());
    for is_known in [false, true] {
        reader.shared_ids = Some(if is_known { places.into_known() } else { places });
        reader.monitor.begin(Phase::Reading(Table::Events.name()), Some(inputs.iter().map(|input| input.size()).sum()));
        for (input, protocol) in inputs.iter().zip(&mut *protocols) {
            let (source, delivery) = (input.options.source.as_deref(), left_out.file(&input.path));
            let make_rules = |schema: &_| {
                let rules = SharedIdRules {
                    normalizer: normalizers.normalizer(schema)?,
                    source,
                    left_out,
                    delivery,
                    numbers: &numbers,
                };
                Ok(Box::new(rules) as Box<dyn RowRules<NoRows>>)
            };
            let mut again = InputProtocol::default();
            reader.read(input, Table::Events, &make_rules, &mut again, &mut |_: NoRows| Ok(()))?;
            protocol.reject(again.rejected);
        }
        places = reader.shared_ids.take().unwrap_or_else(|| SharedIdPlaces::new(0));
    }
    Ok(())
}

/// The number of each shared id, by account and id.
struct IdNumbers(HashMap<String, HashMap<String, usize>>);

impl IdNumbers {
    fn new(shared: &SharedRows, dictionaries: &EventDictionaries) -> Self {
        let mut numbers: HashMap<String, HashMap<String, usize>> = HashMap::new();
        for (number, (account, id)) in shared.ids.iter().enumerate() {
            let account = dictionaries.account(*account);
            numbers.entry_ref(account).or_default().insert(id.clone(), number);
        }
        Self(numbers)
    }

    fn get(&self, account: &str, id: &str) -> Option<usize> {
        self.0.get(account)?.get(id).copied()
    }
}

/// The rules by which rows are read again: a sound row with a shared id has a fault.
struct SharedIdRules<'a> {
    normalizer: Arc<EventNormalizer>,
    /// The source of rows that do not name theirs.
    source: Option<&'a str>,
    left_out: &'a LeftOut<'a>,
    /// The number of the file among the files that deliver records.
    delivery: Option<u32>,
    numbers: &'a IdNumbers,
}

/// No sound rows, because these were taken before.
struct NoRows;

impl CheckedRows for NoRows {
    fn totals(&self) -> ControlTotals {
        ControlTotals::default()
    }

    fn bytes(&self) -> usize {
        0
    }
}

impl RowRules<NoRows> for SharedIdRules<'_> {
    fn normalize(&self, batch: &RecordBatch) -> Result<(NoRows, Vec<CellFault>), ArrowError> {
        let normalized = self.normalizer.normalize(batch)?;
        // An event that is left out shares its id with nobody.
        let kept = self.left_out.kept(&with_source(normalized.batch.clone(), self.source)?, self.delivery)?;
        let is_kept = |normalized: usize| kept.as_ref().is_none_or(|kept| kept[normalized]);
        let texts = |name: &str| plain_texts(name, column(&normalized.batch, name)?);
        let (accounts, ids) = (texts(ACCOUNT)?, texts(EVENT_ID)?);
        let (customers, stages) = (texts(OPPORTUNITY_ID)?, texts(TYPE)?);
        // The normalized rows are those of the batch without faults, in their order.
        let faulty: HashSet<usize> = normalized.faults.iter().map(|fault| fault.row).collect();
        let sound = (0..batch.num_rows()).filter(|row| !faulty.contains(row));
        let fault = |(normalized, row): (usize, usize)| {
            let id = Some(ids.value(normalized)).filter(|_| ids.is_valid(normalized) && is_kept(normalized))?;
            let number = self.numbers.get(accounts.value(normalized), id)?;
            let event = format!("`{}` of `{}`", stages.value(normalized), Shown(customers.value(normalized)));
            let reason = Reason::SharedId { id: number, event };
            Some(CellFault { row, column: EVENT_ID.to_owned(), value: Shown(id).to_string(), reason })
        };
        Ok((NoRows, sound.enumerate().filter_map(fault).collect()))
    }
}
