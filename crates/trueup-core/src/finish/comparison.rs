//! Joins the groups of two ranges, and computes how each metric changed.

use super::effects::RatioOfAll;
use super::exact_values::{ExactValue, ExactValues, change, fractions, relative_change};
use super::join::{GroupTexts, JoinedRow, join};
use super::measures::{GroupMeasures, in_order, to_f64};
use super::order::{INTERRUPT_CHECK_ITEMS, map_interruptible};
use super::sort::{sort_by_keys, sort_key};
use super::sorted_dictionary::SortedDictionary;
use super::{Column, ResultTable, StringColumn, Values, check_rows, complete, sort_by_dimensions};
use crate::aggregate::PartialResult;
use crate::error::{Error, QueryError};
use crate::plan::{Condition, MetricPredicate, MetricRef, Output, Plan, Ternary};
use crate::query::ComparedColumn;
use crate::{Interrupt, Interruption};
use rayon::prelude::*;

/// The number of rows whose values are computed between two checks of the interrupt. Quotients of long integers take a
/// few microseconds each.
const STEP_ROWS: usize = 1 << 10;

/// The groups of one range in the order of their dimensions, with the exact values of their metrics.
pub(crate) struct RangeGroups {
    len: usize,
    /// For each dimension, the texts of the groups.
    dimensions: Vec<GroupTexts>,
    /// For each of [`metrics`], its exact values by group.
    exact_values: Vec<ExactValues>,
}

/// The groups of both ranges, joined.
struct JoinedRanges<'a> {
    plan: &'a Plan,
    metrics: Vec<MetricRef>,
    /// The earlier range, then the range that is asked for.
    ranges: [RangeGroups; 2],
    rows: Vec<JoinedRow>,
    /// The texts of each dimension, by row.
    dimensions: Vec<GroupTexts>,
    interrupt: &'a Interrupt,
}

/// Returns the distinct metrics that are selected or tested.
fn metrics(plan: &Plan) -> Vec<MetricRef> {
    let selected = plan.output.iter().filter_map(|output| match output {
        Output::Metric(metric) => Some(metric),
        Output::Dimension(_) | Output::Blank(_) => None,
    });
    let tested = plan.having.iter().flat_map(Condition::leaves).map(|test| &test.metric);
    let mut metrics: Vec<MetricRef> = Vec::new();
    for metric in selected.chain(tested) {
        if !metrics.iter().any(|known| known.name() == metric.name()) {
            metrics.push(metric.clone());
        }
    }
    metrics
}

impl RangeGroups {
    /// Returns about the largest number of bytes that [`new`](Self::new) takes in addition to the partial result.
    pub(crate) fn estimate_bytes(plan: &Plan, partial: &PartialResult) -> usize {
        super::bytes(plan, partial) + partial.len() * metrics(plan).len() * 2 * size_of::<i128>()
    }

    /// Turns the merged partial result of one range into its groups.
    ///
    /// # Errors
    /// There are more than `max_rows` groups, or the interrupt ends the query.
    pub(crate) fn new(
        plan: &Plan,
        mut partial: PartialResult,
        max_rows: Option<usize>,
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let (spend, dictionaries) = complete(plan, &mut partial, max_rows, interrupt)?;
        let measures = GroupMeasures::new(plan, &partial, spend, interrupt)?;
        let groups = (0_u32..).take(partial.len()).collect();
        let groups = sort_by_dimensions(groups, &partial, &dictionaries, interrupt)?;
        let code = |group: u32, at: usize| partial.grouped.groups.table.key(group as usize)[at];
        let dimension = |(place, dictionary): (usize, &SortedDictionary)| {
            let rank = |group| dictionary.ranks[code(group, place + 1) as usize];
            let codes = map_interruptible(&groups, interrupt, rank)?;
            Ok(GroupTexts { codes, texts: dictionary.sorted.clone() })
        };
        Ok(Self {
            len: groups.len(),
            dimensions: dictionaries.iter().enumerate().map(dimension).collect::<Result<_, Interruption>>()?,
            exact_values: metrics(plan)
                .iter()
                .map(|metric| measures.exact_values(metric, &groups))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.dimensions.iter().map(GroupTexts::bytes).sum::<usize>()
            + self.exact_values.iter().map(ExactValues::bytes).sum::<usize>()
    }
}

/// Returns about the largest number of bytes that [`compare`] takes in addition to the groups of both ranges.
pub(crate) fn bytes_to_compare(plan: &Plan, ranges: &[RangeGroups; 2]) -> usize {
    let rows: usize = ranges.iter().map(|range| range.len).sum();
    // The widest values take 16 bytes, and so does a key to sort by.
    let columns =
        plan.output.len() * ComparedColumn::ALL.len() + plan.comparison.as_ref().map_or(0, |it| it.sort.len());
    // A joined row, whether it passes, its place three times while rows are sorted, and its codes twice.
    let per_row = size_of::<JoinedRow>()
        + size_of::<Ternary>()
        + (3 + 2 * plan.dimensions.len()) * size_of::<u32>()
        + columns * size_of::<i128>();
    let texts = ranges.iter().flat_map(|range| &range.dimensions);
    let dictionaries: usize = texts.map(|texts| texts.texts.bytes() + texts.texts.len() * size_of::<u32>()).sum();
    rows * per_row + dictionaries
}

/// Joins the groups of the earlier range and of the range of `plan`, in this order, and returns the rows of the answer.
///
/// # Errors
/// There are more than `max_rows` rows before conditions on metrics, a count overflows, or the interrupt ends the
/// query.
pub(crate) fn compare(
    plan: &Plan,
    ranges: [RangeGroups; 2],
    max_rows: Option<usize>,
    interrupt: &Interrupt,
) -> Result<ResultTable, Error> {
    let (rows, dimensions) = join(ranges.each_ref().map(|range| (range.len, &*range.dimensions)), interrupt)?;
    check_rows(rows.len(), max_rows)?;
    let comparison = JoinedRanges { plan, metrics: metrics(plan), ranges, rows, dimensions, interrupt };
    let rows = comparison.ordered_rows()?;
    let mut columns = Vec::new();
    for (place, output) in plan.output.iter().enumerate() {
        let parts: &[ComparedColumn] = match output {
            Output::Metric(metric) => ComparedColumn::of(metric.kind()),
            Output::Dimension(_) | Output::Blank(_) => &[ComparedColumn::Current],
        };
        for part in parts {
            let name = format!("{}{}", plan.name_of(output), part.suffix());
            columns.push(Column { name, values: comparison.values(place, *part, &rows)? });
        }
    }
    Ok(ResultTable {
        unknown_fields: plan.unknown_fields.clone(),
        definitions: plan.definitions.clone(),
        ..ResultTable::from_columns(columns)
    })
}

impl JoinedRanges<'_> {
    /// Returns the rows of the answer in order: those for which the conditions on metrics hold, sorted as the query
    /// asks, up to its limit.
    fn ordered_rows(&self) -> Result<Vec<u32>, Error> {
        let mut rows: Vec<u32> = (0_u32..).take(self.rows.len()).collect();
        if let Some(having) = &self.plan.having {
            let results = self.evaluate(having, &rows)?;
            rows.retain(|row| results[*row as usize] == Ternary::True);
        }
        let sort = self.plan.comparison.as_ref().map_or(&[][..], |comparison| &comparison.sort);
        if !sort.is_empty() {
            let keys = sort.iter().map(|column| {
                let values = self.values(column.output, column.part, &rows)?;
                Ok(ordered(&values).into_iter().map(|value| sort_key(value, column.is_descending)).collect())
            });
            let keys = keys.collect::<Result<Vec<_>, Error>>()?;
            rows = sort_by_keys(&rows, &keys, self.interrupt)?;
        }
        rows.truncate(self.plan.limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    /// Returns for each row whether a condition holds in the range that is asked for. The test of a ratio whose
    /// denominator is 0 is unknown.
    fn evaluate(&self, having: &Condition<MetricPredicate>, rows: &[u32]) -> Result<Vec<Ternary>, Interruption> {
        let mut bound = having.map(&mut |test| (self.exact_values(&test.metric), test.test.clone()));
        // The time of a step is proportional to the number of tests.
        let step = (INTERRUPT_CHECK_ITEMS / bound.leaves().len().max(1)).max(1);
        let mut all = Vec::with_capacity(rows.len());
        for step in rows.chunks(step) {
            self.interrupt.check()?;
            all.append(&mut bound.evaluate(step.len(), &mut |(compared, test), results: &mut Vec<Ternary>| {
                let values = step.iter().map(|row| compared.shown(1, self.rows[*row as usize]));
                results
                    .extend(values.map(|value| value.map_or(Ternary::Unknown, |value| test.holds(Some(value)).into())));
            }));
        }
        Ok(all)
    }

    /// Returns the exact values of a metric in both ranges.
    fn exact_values(&self, metric: &MetricRef) -> Compared<'_> {
        let at = self.metrics.iter().position(|known| known.name() == metric.name()).unwrap_or_default();
        Compared(self.ranges.each_ref().map(|range| &range.exact_values[at]))
    }

    /// Returns one column of an output for some rows.
    fn values(&self, output: usize, part: ComparedColumn, rows: &[u32]) -> Result<Values, Error> {
        Ok(match &self.plan.output[output] {
            Output::Dimension(place) => {
                let dimension = &self.dimensions[*place];
                let codes = map_interruptible(rows, self.interrupt, |row| dimension.codes[row as usize])?;
                Values::Strings(StringColumn { codes: codes.into(), dictionary: dimension.texts.clone() })
            }
            Output::Blank(_) => {
                let has_text = self.plan.needs_spend() || !self.rows.is_empty();
                Values::Strings(StringColumn::blank(rows.len(), has_text))
            }
            Output::Metric(metric) => self.metric(metric, part, rows)?,
        })
    }

    /// Returns one column of a metric for some rows.
    fn metric(&self, metric: &MetricRef, part: ComparedColumn, rows: &[u32]) -> Result<Values, Error> {
        let compared = self.exact_values(metric);
        let overflow = || QueryError::Overflow { name: metric.name().to_owned() };
        match part {
            ComparedColumn::Current => self.plain(metric, compared, 1, rows),
            ComparedColumn::Previous => self.plain(metric, compared, 0, rows),
            ComparedColumn::Change if compared.is_ratio() => {
                let scale = compared.scale();
                self.numbers(rows, |row| Some(change(&fractions(compared.at(row)), scale)))
            }
            ComparedColumn::Change => {
                let change = |row: JoinedRow| {
                    let [previous, current] = compared.at(row);
                    current.numerator - previous.numerator
                };
                if compared.0[1].numerator_is_money {
                    return Ok(Values::Money(self.collect(rows, |row| Ok(change(row)))?));
                }
                let integer = |row| i64::try_from(change(row)).map_err(|_| overflow().into());
                Ok(Values::Integers(self.collect(rows, integer)?))
            }
            ComparedColumn::Ratio => self.numbers(rows, |row| relative_change(&fractions(compared.at(row)))),
            ComparedColumn::RateEffect | ComparedColumn::MixEffect => {
                let sums = compared.0.map(ExactValues::pooled);
                let adds_up = self.plan.has_effects(metric);
                let Some(all) = RatioOfAll::new(sums, compared.scale()).filter(|_| adds_up) else {
                    return Ok(Values::Numbers(vec![None; rows.len()]));
                };
                match part {
                    ComparedColumn::MixEffect => self.numbers(rows, |row| Some(all.mix_effect(compared.at(row)))),
                    _ => self.numbers(rows, |row| Some(all.rate_effect(compared.at(row)))),
                }
            }
        }
    }

    /// Returns the values of a metric in one range, as a query of that range alone shows them.
    fn plain(&self, metric: &MetricRef, compared: Compared<'_>, range: usize, rows: &[u32]) -> Result<Values, Error> {
        let overflow = || QueryError::Overflow { name: metric.name().to_owned() };
        let total = |row: JoinedRow| compared.0[range].at(row.group(range)).numerator;
        Ok(if compared.is_ratio() {
            let ratios = self.collect(rows, |row| Ok(compared.shown(range, row)))?;
            Values::Ratios(ratios.into_iter().collect())
        } else if compared.0[range].numerator_is_money {
            Values::Money(self.collect(rows, |row| Ok(total(row)))?)
        } else if metric.may_be_negative() {
            let integer = |row| i64::try_from(total(row)).map_err(|_| overflow().into());
            Values::Integers(self.collect(rows, integer)?)
        } else {
            let count = |row| u64::try_from(total(row)).map_err(|_| overflow().into());
            Values::Counts(self.collect(rows, count)?)
        })
    }

    fn numbers(&self, rows: &[u32], number: impl Fn(JoinedRow) -> Option<f64> + Sync) -> Result<Values, Error> {
        Ok(Values::Numbers(self.collect(rows, |row| Ok(number(row)))?))
    }

    /// Returns a value for each row. All threads share the work.
    fn collect<T: Send>(
        &self,
        rows: &[u32],
        value: impl Fn(JoinedRow) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let steps = rows.par_chunks(STEP_ROWS).map(|step| {
            self.interrupt.check()?;
            step.iter().map(|row| value(self.rows[*row as usize])).collect::<Result<Vec<T>, Error>>()
        });
        let steps = steps.collect::<Result<Vec<_>, Error>>()?;
        let mut values = Vec::with_capacity(rows.len());
        steps.into_iter().for_each(|step| values.extend(step));
        Ok(values)
    }
}

/// The exact values of a metric in both ranges, the earlier one first.
#[derive(Clone, Copy)]
struct Compared<'a>([&'a ExactValues; 2]);

impl Compared<'_> {
    fn is_ratio(self) -> bool {
        self.0[1].denominators.is_some()
    }

    fn at(self, row: JoinedRow) -> [ExactValue; 2] {
        [0, 1].map(|range| self.0[range].at(row.group(range)))
    }

    /// Returns the value that an answer shows for one range; `None` for a ratio over nothing.
    fn shown(self, range: usize, row: JoinedRow) -> Option<f64> {
        let exact_values = self.0[range];
        let ExactValue { numerator, denominator } = exact_values.at(row.group(range));
        let numerator = to_f64(numerator, exact_values.numerator_is_money);
        if exact_values.denominators.is_none() {
            return Some(numerator);
        }
        // Adding 0 turns a negative zero into zero.
        (denominator != 0).then(|| numerator / to_f64(denominator, exact_values.denominator_is_money) + 0.0)
    }

    fn scale(self) -> [i64; 2] {
        self.0[1].scale()
    }
}

/// Returns for each value a number that is larger where the value is; `None` where there is no value.
pub(super) fn ordered(values: &Values) -> Vec<Option<i128>> {
    match values {
        Values::Days(days) => days.iter().map(|day| Some(i128::from(day.number()))).collect(),
        Values::Strings(texts) => {
            // The dictionary is sorted, and the empty text is the first of all texts.
            let has_text = |code: u32| texts.dictionary.get(code as usize).is_some_and(|text| !text.is_empty());
            texts.codes.iter().map(|code| has_text(*code).then(|| i128::from(*code))).collect()
        }
        Values::Counts(counts) => counts.iter().map(|count| Some(i128::from(*count))).collect(),
        Values::Money(amounts) => amounts.iter().copied().map(Some).collect(),
        Values::Ratios(ratios) => {
            (0..ratios.len()).map(|row| ratios.get(row).map(|ratio| in_order(ratio).into())).collect()
        }
        Values::Integers(integers) => integers.iter().map(|integer| Some(i128::from(*integer))).collect(),
        Values::Numbers(numbers) => numbers.iter().map(|number| number.map(|it| in_order(it).into())).collect(),
    }
}
