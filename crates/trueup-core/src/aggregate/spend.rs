//! The spend table: filters the rows of one row group, and groups them.

use super::accumulators::{Accumulator, Spend};
use super::context::QueryContext;
use super::filter::CodePredicate;
use super::group::GroupTable;
use super::types::select_indexes;
use crate::definitions::MappedTexts;
use crate::dictionary::{Computed, Measure, SpendColumn};
use crate::memory::MemoryLease;
use crate::plan::{Condition, DayTable, DayTables, DimensionRef, FieldPredicate, Ternary};
use crate::scan::{SpendColumns, SpendTextColumn, TextDictionary};
use crate::{Error, Interrupt, Interruption};
use std::sync::Arc;

/// The sums of one row group per group. The key of a group is its sub-range and a code for each dimension of the query
/// that spend has.
#[derive(Debug)]
pub(crate) struct SpendPartial {
    pub(crate) groups: GroupTable,
    pub(crate) sums: Spend,
    /// For each dimension that spend has, its texts by code.
    pub(crate) texts: Vec<TextDictionary>,
}

/// The number of rows that are processed together: few enough for their intermediate columns to stay in the processor's
/// caches.
const BATCH_ROWS: usize = 1 << 12;

/// Aggregates a row group of the spend table. The memory of the result is counted in `share` before it is taken.
///
/// # Errors
/// There is no room, or the interrupt ends the query.
pub(crate) fn aggregate_spend(
    context: &QueryContext<'_>,
    columns: &SpendColumns,
    share: &mut MemoryLease,
    interrupt: &Interrupt,
) -> Result<SpendPartial, Error> {
    let plan = context.plan;
    let encoder = |dimension: &DimensionRef| SpendKeyEncoder::bind(context, columns, dimension, interrupt);
    let encoders = plan.dimensions.iter().filter_map(|dimension| encoder(dimension).transpose());
    let encoders: Vec<SpendKeyEncoder<'_>> = encoders.collect::<Result<_, _>>()?;
    let texts: Vec<TextDictionary> = encoders.iter().map(SpendKeyEncoder::texts).collect();
    let mut groups = GroupTable::new(plan.sub_ranges.len(), encoders.len());
    for (dimension, texts) in texts.iter().enumerate() {
        groups.expect(dimension + 1, texts.len());
    }
    // Whether spend makes a row depends on all other sums.
    let needs_campaigns = plan.spend.contains(&Measure::CampaignSpend);
    let mut sums = Spend::new(&plan.layout);
    let (mut slots, mut sub_ranges) = (Vec::new(), Vec::new());
    let mut codes = vec![Vec::new(); encoders.len()];
    for_each_batch(context, columns, interrupt, |rows| {
        sub_ranges.clear();
        match &*plan.sub_ranges {
            [_] => sub_ranges.resize(rows.len(), 0),
            _ => sub_ranges.extend(rows.iter().map(|row| plan.days.sub_range(columns.days[*row as usize]).0)),
        }
        encoders.iter().zip(&mut codes).for_each(|(encoder, codes)| encoder.encode(rows, codes));
        let keys: Vec<&[u32]> = std::iter::once(&sub_ranges).chain(&codes).map(Vec::as_slice).collect();
        share.raise(|| groups.bytes_while_adding(rows.len()) + sums.bytes_while_adding(rows.len()))?;
        groups.slots(&keys, rows.len(), &mut slots);
        sums.grow(groups.len() + 1);
        sums.add_rows(columns, rows, &slots, needs_campaigns);
        Ok::<_, Error>(())
    })?;
    Ok(SpendPartial { groups, sums, texts })
}

/// Returns the rows of a row group that a plan sums.
///
/// # Errors
/// The interrupt ends the query.
pub(crate) fn spend_rows(
    context: &QueryContext<'_>,
    columns: &SpendColumns,
    interrupt: &Interrupt,
) -> Result<Vec<u32>, Interruption> {
    let mut all = Vec::new();
    for_each_batch(context, columns, interrupt, |rows| {
        all.append(rows);
        Ok::<_, Interruption>(())
    })?;
    Ok(all)
}

/// Hands the rows of a row group that a plan sums to `add`, batch by batch.
fn for_each_batch<E: From<Interruption>>(
    context: &QueryContext<'_>,
    columns: &SpendColumns,
    interrupt: &Interrupt,
    mut add: impl FnMut(&mut Vec<u32>) -> Result<(), E>,
) -> Result<(), E> {
    let selected = context.selected(&columns.accounts.texts);
    let encoder = |dimension: &DimensionRef| SpendKeyEncoder::bind(context, columns, dimension, interrupt);
    let bind = |condition| SpendFilter::bind(condition, encoder);
    let mut filter = context.plan.event_filter.as_ref().map(bind).transpose()?;
    let mut rows = Vec::new();
    for first in (0..columns.days.len()).step_by(BATCH_ROWS) {
        select_rows(context, columns, &selected, first, &mut rows);
        if let Some(filter) = &mut filter {
            filter.retain(&mut rows, interrupt)?;
        }
        add(&mut rows)?;
    }
    Ok(())
}

/// Writes to `rows` which of the next [`BATCH_ROWS`] rows from `first` on are left, in the range, and of a selected
/// account.
fn select_rows(
    context: &QueryContext<'_>,
    columns: &SpendColumns,
    selected: &[bool],
    first: usize,
    rows: &mut Vec<u32>,
) {
    let range = context.plan.range;
    let days = range.start.number()..=range.end.number();
    let end = columns.days.len().min(first + BATCH_ROWS);
    let is_kept = |(row, day): (usize, &u16)| days.contains(day) & selected[columns.accounts.codes.get(row).index()];
    select_indexes(rows, (first..end).zip(&columns.days[first..end]).map(is_kept));
    #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
    rows.iter_mut().for_each(|row| *row += first as u32);
    if let Some(left) = &columns.left {
        rows.retain(|row| left[*row as usize]);
    }
}

/// A query's filter, bound to the columns of a row group of spend. A predicate is `None` if spend does not have its
/// field.
struct SpendFilter<'a> {
    condition: Condition<Option<SpendPredicate<'a>>>,
    /// The codes of the dimension that is tested.
    codes: Vec<u32>,
}

struct SpendPredicate<'a> {
    encoder: SpendKeyEncoder<'a>,
    texts: TextDictionary,
    predicate: CodePredicate<'a>,
}

impl<'a> SpendFilter<'a> {
    fn bind(
        condition: &'a Condition<FieldPredicate>,
        encoder: impl Fn(&DimensionRef) -> Result<Option<SpendKeyEncoder<'a>>, Interruption>,
    ) -> Result<Self, Interruption> {
        let condition = condition.try_map(&mut |predicate| match predicate {
            FieldPredicate::Dimension(dimension, predicate) => {
                let predicate = CodePredicate::new(predicate);
                let encoder = encoder(dimension)?;
                Ok(encoder.map(|encoder| SpendPredicate { texts: encoder.texts(), encoder, predicate }))
            }
            FieldPredicate::Total(_) => Ok(None),
        })?;
        Ok(Self { condition, codes: Vec::new() })
    }

    /// Drops the rows that certainly fail. A row also passes if its result is unknown because spend does not have a
    /// field that would decide.
    ///
    /// # Errors
    /// The interrupt ends the query.
    fn retain(&mut self, rows: &mut Vec<u32>, interrupt: &Interrupt) -> Result<(), Interruption> {
        let Self { condition, codes } = self;
        let mut tested = Ok(());
        let results = condition.evaluate(rows.len(), &mut |predicate, results: &mut Vec<Ternary>| match predicate {
            // The results are dropped, so that the other predicates need none.
            _ if tested.is_err() => {}
            Some(SpendPredicate { encoder, texts, predicate }) => {
                encoder.encode(rows, codes);
                tested = predicate.test(codes, texts, interrupt, results);
            }
            None => results.resize(rows.len(), Ternary::Unknown),
        });
        tested?;
        let mut results = results.into_iter();
        rows.retain(|_| results.next() != Some(Ternary::False));
        Ok(())
    }
}

/// Encodes the values of one dimension in one row group of spend.
struct SpendKeyEncoder<'a> {
    values: SpendValues<'a>,
    /// From the codes of `values` to those of a dimension that users define.
    mapped: Option<MappedTexts<'a>>,
}

/// Where the values of a dimension of spend come from.
enum SpendValues<'a> {
    /// The empty text on every row.
    Empty,
    Text(&'a SpendTextColumn),
    OfAccount(Computed, &'a QueryContext<'a>, &'a SpendTextColumn),
    Day(&'a DayTables, &'a DayTable, &'a [u16]),
}

impl<'a> SpendKeyEncoder<'a> {
    /// Binds a dimension; `None` if spend does not have it.
    ///
    /// # Errors
    /// The interrupt ends the query.
    fn bind(
        context: &'a QueryContext<'a>,
        columns: &'a SpendColumns,
        dimension: &DimensionRef,
        interrupt: &'a Interrupt,
    ) -> Result<Option<Self>, Interruption> {
        let Some(column) = dimension.spend else { return Ok(None) };
        let values = SpendValues::bind(context, columns, column);
        let map = |mapping| MappedTexts::of_dictionary(mapping, &values.texts(), interrupt);
        let mapped = dimension.mapping.as_ref().map(map).transpose()?;
        Ok(Some(Self { values, mapped }))
    }

    /// Returns the texts by code.
    fn texts(&self) -> TextDictionary {
        self.mapped.as_ref().map_or_else(|| self.values.texts(), |mapped| mapped.texts().clone())
    }

    /// Writes the codes of rows to `codes`.
    fn encode(&self, rows: &[u32], codes: &mut Vec<u32>) {
        self.values.encode(rows, codes);
        if let Some(mapped) = &self.mapped {
            mapped.apply(codes);
        }
    }
}

impl<'a> SpendValues<'a> {
    fn bind(context: &'a QueryContext<'a>, columns: &'a SpendColumns, column: SpendColumn) -> Self {
        let [category, channel, campaign] = &columns.texts;
        let stored = |texts: &'a Option<Arc<SpendTextColumn>>| texts.as_deref().map_or(Self::Empty, Self::Text);
        match column {
            SpendColumn::Account => Self::Text(&columns.accounts),
            SpendColumn::AccountName => Self::OfAccount(Computed::AccountName, context, &columns.accounts),
            SpendColumn::Currency => Self::OfAccount(Computed::Currency, context, &columns.accounts),
            SpendColumn::AttributionCategory => stored(category),
            SpendColumn::AttributionChannel => stored(channel),
            SpendColumn::Campaign => stored(campaign),
            SpendColumn::Date | SpendColumn::Week | SpendColumn::Month => {
                let days = &context.plan.days;
                days.spend_table(column).map_or(Self::Empty, |table| Self::Day(days, table, &columns.days))
            }
        }
    }

    /// Returns the texts by code.
    fn texts(&self) -> TextDictionary {
        match self {
            Self::Empty => Arc::new(std::iter::once("").collect()),
            Self::Text(column) => column.texts.clone(),
            Self::OfAccount(computed, context, accounts) => context.texts_of_accounts(*computed, &accounts.texts),
            Self::Day(_, table, _) => table.texts.clone(),
        }
    }

    /// Writes the codes of rows to `codes`.
    fn encode(&self, rows: &[u32], codes: &mut Vec<u32>) {
        codes.clear();
        match self {
            Self::Empty => codes.resize(rows.len(), 0),
            Self::Text(column) | Self::OfAccount(_, _, column) => column.codes.gather(rows, codes),
            Self::Day(days, table, of_rows) => {
                codes.extend(rows.iter().map(|row| table.codes[days.offset(of_rows[*row as usize])]));
            }
        }
    }
}
