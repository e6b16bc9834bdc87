//! Step 1, encode: rows become event batches, and their recurring texts become codes (`text_codes`).

mod text_codes;

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::{EventBatch, column, dimension_arrays, primitive_column, unsound_column};
use crate::read::{CheckedRows, RowRules};
use crate::report::IgnoredColumn;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use std::sync::{Arc, Mutex};
use text_codes::{account_codes, dimension_column, plain_texts, stage_codes};
use trueup_core::model::{
    ACCOUNT, Accounts, CellFault, DATE, DATE_TIME, EVENT_ID, EventNormalizer, OPPORTUNITY_ID, SchemaFault, TOTAL, TYPE,
};

/// Checks the rows of one input schema and encodes them.
pub(super) struct EventRules<'a> {
    normalizer: Arc<EventNormalizer>,
    dictionaries: &'a DictionaryBuilders,
}

/// Makes the rules of each input schema. The last rules are kept, because parts of an input mostly have the same
/// schema, and collecting the time zones of many accounts takes long.
pub(super) struct EventRulesFactory<'a> {
    accounts: &'a Accounts,
    dictionaries: &'a DictionaryBuilders,
    last: Mutex<Option<(Schema, Arc<EventNormalizer>)>>,
}

impl<'a> EventRulesFactory<'a> {
    pub(super) fn new(accounts: &'a Accounts, dictionaries: &'a DictionaryBuilders) -> Self {
        Self { accounts, dictionaries, last: Mutex::default() }
    }

    pub(super) fn rules(&self, schema: &Schema) -> Result<EventRules<'a>, SchemaFault> {
        let mut last = lock(&self.last);
        let normalizer = match &*last {
            Some((of, normalizer)) if of == schema => normalizer.clone(),
            _ => {
                let normalizer = Arc::new(EventNormalizer::new(schema, self.accounts)?.keeping_codes());
                *last = Some((schema.clone(), normalizer.clone()));
                normalizer
            }
        };
        Ok(EventRules { normalizer, dictionaries: self.dictionaries })
    }
}

impl CheckedRows for EventBatch {
    fn rows(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.buffer_bytes()
    }
}

impl RowRules<EventBatch> for EventRules<'_> {
    fn ignored(&self) -> Vec<IgnoredColumn> {
        self.normalizer.ignored_columns().iter().filter_map(|column| IgnoredColumn::of_events(column)).collect()
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<(EventBatch, Vec<CellFault>), ArrowError> {
        let normalized = self.normalizer.normalize(batch)?;
        let rows = encode(&normalized.batch, self.dictionaries)?;
        Ok((rows.grouped_by_account()?, normalized.faults))
    }
}

/// Encodes rows in stored form, whose texts may be Arrow dictionaries.
pub(super) fn encode(batch: &RecordBatch, dictionaries: &DictionaryBuilders) -> Result<EventBatch, ArrowError> {
    let totals: PrimitiveArray<Decimal128Type> = primitive_column(batch, TOTAL)?;
    let mut dimensions: Vec<(&str, &ArrayRef)> = dimension_arrays(batch).collect();
    dimensions.sort_unstable_by_key(|(name, _)| *name);
    let dimension = |(name, column)| Ok((str::to_owned(name), dimension_column(name, column, dictionaries)?));
    Ok(EventBatch {
        accounts: account_codes(column(batch, ACCOUNT)?, dictionaries)?,
        opportunity_ids: plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?,
        stages: stage_codes(column(batch, TYPE)?)?,
        dates: primitive_column(batch, DATE)?,
        date_times: primitive_column(batch, DATE_TIME)?,
        event_ids: plain_texts(EVENT_ID, column(batch, EVENT_ID)?)?,
        totals: totals.try_unary::<_, Int64Type, _>(|total| i64::try_from(total).map_err(|_| unsound_column(TOTAL)))?,
        dimensions: dimensions.into_iter().map(dimension).collect::<Result<_, ArrowError>>()?,
    })
}
