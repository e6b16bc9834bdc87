//! Finds the values in a query's filters that no event or spend has: most are typing errors, which the query itself
//! would answer with zeros.

#[cfg(test)]
mod tests;

use super::{Execution, in_pool};
use crate::attribution::Attribution;
use crate::dataset::manifest::RowGroupEntry;
use crate::dataset::{Dataset, Pruning, ReadAhead, RowGroup, StartedReads, TableFile};
use crate::dictionary::{self, Computed, ValueFormat};
use crate::error::{Error, QueryError};
use crate::filter::TextPredicate;
use crate::finish::{ResultTable, Value};
use crate::plan::{DimensionRef, Origin, text_column};
use crate::query::{AccountFilter, DateRange, EventsQuery, Filter, Operand, Predicate};
use crate::scan::{EventColumns, EventProjection, SpendColumns, SpendProjection, TableColumns};
use crate::similar::most_similar;
use crate::text::{joined, quoted};
use crate::{Interrupt, Shown};
use rayon::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most values of a field among which similar ones are looked for.
const MAX_CANDIDATES: usize = 100_000;
/// The largest number of frequent values that are shown if no value is similar.
const MAX_FREQUENT: usize = 5;
/// The most values of a field whose frequent values are shown. The values of a field with more of them, such as
/// `opportunityId`, identify things, and none is frequent.
const MAX_VALUES_WITH_FREQUENT: usize = 1_000;

/// A value that a filter compares a dimension with, although no row of the dataset has it. Its
/// [`Display`](fmt::Display) is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenValue {
    /// The dimension.
    pub field: String,
    /// The value as it is in the filter.
    pub value: String,
    /// The values of the dimension that are most similar, at most three, in the order of the alphabet; empty if none is
    /// similar, or if the dimension has too many values to look through.
    pub similar: Vec<String>,
    /// The event from which the query takes the dimension; recorded if it is not one of attribution.
    pub attribution: Attribution,
    /// If no value is similar: the most frequent values that are not empty, at most five. Empty if the dimension has
    /// too many values.
    pub frequent: Vec<String>,
}

impl fmt::Display for UnseenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, field) = (Shown(&self.value), Shown(&self.field));
        write!(f, "no event and no spend of the dataset has the value `{value}` in `{field}`")?;
        if self.attribution != Attribution::Recorded {
            write!(f, " with the attribution `{}`", self.attribution)?;
        }
        if !self.similar.is_empty() {
            write!(f, "; did you mean {}?", joined(&self.similar, " or "))
        } else if self.frequent.is_empty() {
            Ok(())
        } else {
            write!(f, "; frequent values are {}", quoted(&self.frequent))
        }
    }
}

/// A search for the values in a query's filters that no event or spend has. The caller answers the queries of the
/// search, for example on a cluster. [`Dataset::search_values`] begins it.
#[derive(Debug)]
pub struct ValueSearch {
    /// All days of the dataset.
    days: DateRange,
    /// The days and accounts of the query.
    range: DateRange,
    accounts: AccountFilter,
    /// The accounts that may have a value; no other account counts.
    among: AccountFilter,
    sought: Vec<FilterValues>,
}

/// Values of a field that were not found yet.
#[derive(Debug)]
struct FilterValues {
    field: String,
    /// Whether spend has the field.
    is_in_spend: bool,
    attribution: Attribution,
    operands: Vec<Operand>,
    /// Whether all row groups were searched, so that no row has the values.
    is_unseen: bool,
}

/// The row groups in which the texts of a field are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searched {
    /// The first row group of events that the query reads: most values are in it.
    FirstRowGroup,
    /// All row groups, first the row groups that the query reads.
    Dataset,
    /// None, because row groups share the texts of their accounts.
    Nothing,
}

impl Dataset {
    /// Returns the values that a query's filters test a dimension for, with `=` or `!=`, but that no event or spend of
    /// the dataset has, on any day and in any account; none if the dataset has no rows.
    ///
    /// Never returned are the empty text, values of unknown fields and of columns named `start` or `end`, which cannot
    /// be fields of a query, and values that the dictionary or the definition of their field lists, such as the type
    /// `canceled`: it may well be that nothing was canceled. Reads the columns of these dimensions: first for the
    /// query's days and accounts, which the query reads too, then for all others, but only if a value is not found
    /// before. For a value that no row has, a query counts all values of its dimension. `max_rows` of `execution` does
    /// not apply.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn unseen_values(&self, query: &EventsQuery, execution: &Execution) -> Result<Vec<UnseenValue>, Error> {
        self.unseen_values_among(query, &AccountFilter::All, execution)
    }

    /// Returns the values that a query's filters test a dimension for, but that no event or spend of the accounts
    /// `among` has, as if the dataset had no other accounts. Values that are similar or frequent are theirs, too.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn unseen_values_among(
        &self,
        query: &EventsQuery,
        among: &AccountFilter,
        execution: &Execution,
    ) -> Result<Vec<UnseenValue>, Error> {
        let searched = if *among == AccountFilter::All { Searched::Dataset } else { Searched::Nothing };
        self.begin_search(query, among, searched, execution)?.finish(|query, max_rows| {
            match self.run(query, Execution { max_rows: Some(max_rows), ..execution.clone() }) {
                Err(Error::Query(QueryError::TooManyRows { .. })) => Ok(None),
                other => other.map(Some),
            }
        })
    }

    /// Begins the search of [`unseen_values`](Self::unseen_values), with a look into one row group of events, where
    /// most values are found. [`ValueSearch::finish`] looks for the remaining values with queries that the caller
    /// answers.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn search_values(&self, query: &EventsQuery, execution: &Execution) -> Result<ValueSearch, Error> {
        self.begin_search(query, &AccountFilter::All, Searched::FirstRowGroup, execution)
    }

    fn begin_search(
        &self,
        query: &EventsQuery,
        among: &AccountFilter,
        searched_in: Searched,
        execution: &Execution,
    ) -> Result<ValueSearch, Error> {
        let days = self.date_range();
        let (range, accounts, among) = (query.range, query.accounts.clone(), among.clone());
        let mut search = ValueSearch { days: days.unwrap_or(range), range, accounts, among, sought: Vec::new() };
        if days.is_none() {
            return Ok(search);
        }
        let query = &*self.own_query(query);
        query.check()?;
        for Tested { field, mut operands } in tested_values(query) {
            // The search may have to query the field, and a query cannot have these as fields.
            if !self.has_field(field) || matches!(field, "start" | "end") {
                continue;
            }
            let dimension = DimensionRef::new(field, self.stored_columns(), self.definitions(), query.attribution);
            let texts = DimensionTexts::of(&dimension);
            if let Some(texts) = texts.filter(|_| searched_in != Searched::Nothing) {
                let look = || self.missing_texts(query, texts, operands, searched_in, &execution.interrupt);
                operands = in_pool(execution, look)?;
            }
            if !operands.is_empty() {
                let is_unseen = texts.is_some() && searched_in == Searched::Dataset;
                let operands = operands.into_iter().cloned().collect();
                search.sought.push(FilterValues {
                    field: field.to_owned(),
                    is_in_spend: dimension.spend.is_some(),
                    attribution: dimension.attribution,
                    operands,
                    is_unseen,
                });
            }
        }
        Ok(search)
    }

    /// Returns the operands that equal no text of a dimension in the searched row groups. Looks into the dictionaries
    /// of row groups until every operand is found, and first into those of the row groups that the query reads.
    fn missing_texts<'q>(
        &self,
        query: &EventsQuery,
        texts: DimensionTexts<'_>,
        operands: Vec<&'q Operand>,
        searched_in: Searched,
        interrupt: &Interrupt,
    ) -> Result<Vec<&'q Operand>, Error> {
        let searched = |operand: &&'q Operand| (TextPredicate::Equals((*operand).clone()), AtomicBool::new(false));
        let searched: Vec<_> = operands.iter().map(searched).collect();
        let is_done = || searched.iter().all(|(_, found)| found.load(Ordering::Relaxed));
        let search = |text: &str| {
            for (equals, found) in &searched {
                if !found.load(Ordering::Relaxed) && equals.holds(text) {
                    found.store(true, Ordering::Relaxed);
                }
            }
        };
        let search = TextSearch { interrupt, is_done: &is_done, search: &search };
        for is_read in [true, false] {
            let is_next =
                |entry: &RowGroupEntry| (entry.prune(query.range, &query.accounts) == Pruning::Keep) == is_read;
            let mut events: Vec<_> = self.events().iter().filter(|row_group| is_next(&row_group.entry)).collect();
            if searched_in == Searched::FirstRowGroup {
                events.truncate(1);
                texts.search_events(&events, &search)?;
                break;
            }
            texts.search_events(&events, &search)?;
            let spend: Vec<_> = self.spend().iter().filter(|row_group| is_next(&row_group.entry)).collect();
            texts.search_spend(&spend, &search)?;
        }
        let missing = operands.into_iter().zip(&searched).filter(|(_, (_, found))| !found.load(Ordering::Relaxed));
        Ok(missing.map(|(operand, _)| operand).collect())
    }
}

impl ValueSearch {
    /// Returns the values that no event or spend has, as [`Dataset::unseen_values`] does. `run` answers the query
    /// that it gets, or returns `None` if the answer has more rows than the number that it gets with the query. It is
    /// not called if all values are found.
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn finish<E>(
        self,
        mut run: impl FnMut(&EventsQuery, usize) -> Result<Option<ResultTable>, E>,
    ) -> Result<Vec<UnseenValue>, E> {
        let mut unseen = Vec::new();
        for FilterValues { field, is_in_spend, attribution, mut operands, is_unseen } in self.sought {
            let values_of = |range, accounts: &AccountFilter, operands: &[Operand]| {
                values_query(&field, is_in_spend, range, accounts, operands).attribution(attribution)
            };
            for (range, accounts) in [(self.range, &self.accounts), (self.days, &self.among)] {
                if !is_unseen && !operands.is_empty() {
                    let table = run(&values_of(range, accounts, &operands), MAX_CANDIDATES)?;
                    // If the answer is too long, all operands count as found.
                    operands.retain(|operand| table.as_ref().is_some_and(|table| !has_value(table, &field, operand)));
                }
            }
            if operands.is_empty() {
                continue;
            }
            let table = run(&values_of(self.days, &self.among, &[]), MAX_CANDIDATES)?;
            let known = table.map_or_else(Vec::new, |table| known_values(&table, &field));
            unseen.extend(operands.into_iter().map(|operand| {
                let value = match operand {
                    Operand::Text(text) => text,
                    Operand::Number(number) => number.to_string(),
                };
                let texts = known.iter().map(String::as_str);
                let similar: Vec<String> = most_similar(&value, texts).into_iter().map(str::to_owned).collect();
                let is_shown = similar.is_empty() && known.len() <= MAX_VALUES_WITH_FREQUENT;
                let frequent = known.iter().take(if is_shown { MAX_FREQUENT } else { 0 }).cloned().collect();
                UnseenValue { field: field.clone(), value, similar, attribution, frequent }
            }));
        }
        Ok(unseen)
    }
}

/// The columns whose texts are the values of a dimension.
#[derive(Clone, Copy)]
struct DimensionTexts<'a> {
    /// The event column; `None` for the account.
    column: Option<&'a str>,
    /// The event from which the texts of `column` are taken.
    attribution: Attribution,
    /// The spend column; `None` if spend does not have the dimension.
    spend_column: Option<&'static str>,
}

impl<'a> DimensionTexts<'a> {
    /// Returns the columns of a dimension; `None` if its values are not all texts of its columns.
    fn of(dimension: &'a DimensionRef) -> Option<Self> {
        let column = match dimension.origin {
            // Accounts without lead grading do not show what these columns have.
            _ if dimension.lead_grading => return None,
            // The texts of the columns are those of its source.
            _ if dimension.mapping.is_some() => return None,
            Origin::Computed(Computed::Account) => None,
            Origin::Stored | Origin::Absent | Origin::Computed(Computed::OpportunityId | Computed::EventId) => {
                Some(dimension.name.as_str())
            }
            Origin::Computed(_) => return None,
        };
        Some(Self { column, attribution: dimension.attribution, spend_column: dimension.spend.and_then(text_column) })
    }

    /// Searches the texts of the events of row groups.
    fn search_events(self, row_groups: &[&RowGroup<EventColumns>], search: &TextSearch<'_>) -> Result<(), Error> {
        let mut projection = EventProjection::default();
        self.column.into_iter().for_each(|column| projection.add_text(column, self.attribution));
        search.each(row_groups, &projection, |columns, search| match self.column {
            Some(column) => columns.present_texts(column, self.attribution).for_each(search),
            None => columns.present_accounts().for_each(search),
        })
    }

    /// Searches the texts of the spend of row groups.
    fn search_spend(self, row_groups: &[&RowGroup<SpendColumns>], search: &TextSearch<'_>) -> Result<(), Error> {
        if self.column.is_none() {
            search.each(row_groups, &SpendProjection::default(), |columns, search| {
                columns.present_texts(&columns.accounts).for_each(search);
            })
        } else if let Some(name) = self.spend_column {
            search.each(row_groups, &SpendProjection::new([name]), |columns, search| {
                columns.text(name).into_iter().flat_map(|column| columns.present_texts(column)).for_each(search);
            })
        } else {
            Ok(())
        }
    }
}

/// A search through texts of row groups.
struct TextSearch<'a> {
    interrupt: &'a Interrupt,
    /// Whether no more row groups need to be read.
    is_done: &'a (dyn Fn() -> bool + Sync),
    /// Takes a text.
    search: &'a (dyn Fn(&str) + Sync),
}

impl TextSearch<'_> {
    /// Calls `texts` with the columns of row group after row group. The first one is read alone, because most values
    /// are in it; while others are searched, the next ones of an object store are read ahead.
    fn each<T: TableColumns<Projection: Sync>>(
        &self,
        row_groups: &[&RowGroup<T>],
        projection: &T::Projection,
        texts: impl Fn(&T, &dyn Fn(&str)) + Sync,
    ) -> Result<(), Error> {
        let read = |row_group: &RowGroup<T>, ahead| -> Result<(), Error> {
            self.interrupt.check()?;
            texts(&*row_group.read_until(projection, ahead, self.interrupt)?, &self.search);
            Ok(())
        };
        let Some((first, others)) = row_groups.split_first().filter(|_| !(self.is_done)()) else { return Ok(()) };
        read(first, StartedReads::default())?;
        if (self.is_done)() {
            return Ok(());
        }
        TableFile::read_footers(others.iter().filter_map(|row_group| row_group.file()), self.interrupt)?;
        let ahead = ReadAhead::new(first.is_remote(), |at| Some(others.get(at)?.read_ahead(projection)));
        let next = AtomicUsize::new(0);
        let work = |_| {
            while !(self.is_done)() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(row_group) = others.get(at) else { break };
                read(row_group, ahead.take(at))?;
            }
            Ok(())
        };
        let threads = rayon::current_num_threads().min(others.len());
        (0..threads).into_par_iter().with_max_len(1).try_for_each(work)
    }
}

/// A dimension, and the values that a query's filters test it for, with `=` or `!=`, each once.
struct Tested<'q> {
    field: &'q str,
    operands: Vec<&'q Operand>,
}

fn tested_values(query: &EventsQuery) -> Vec<Tested<'_>> {
    let mut tested: Vec<Tested<'_>> = Vec::new();
    for (name, predicate) in query.conditions() {
        let (Predicate::Equals(operand) | Predicate::NotEquals(operand)) = predicate else { continue };
        if query.is_metric(name) || is_listed(name, operand, query) {
            continue;
        }
        match tested.iter_mut().find(|tested| tested.field == name) {
            Some(tested) if tested.operands.contains(&operand) => (),
            Some(tested) => tested.operands.push(operand),
            None => tested.push(Tested { field: name, operands: vec![operand] }),
        }
    }
    tested
}

/// Returns whether a field may have a value whatever the data: the empty text, or one that the dictionary or the
/// definition of the field lists.
fn is_listed(field: &str, operand: &Operand, query: &EventsQuery) -> bool {
    let Operand::Text(text) = operand else { return false };
    let listed = dictionary::field(field).is_some_and(|field| {
        let is_boolean = field.format == ValueFormat::Boolean && matches!(text.as_str(), "true" | "false");
        is_boolean || field.values.contains(&text.as_str())
    });
    let defined = query.definitions.dimension(field).is_some_and(|dimension| dimension.values.contains(text));
    text.is_empty() || listed || defined
}

/// Returns a query for the values of a field that equal one of `operands`, or for all if there are none.
fn values_query(
    field: &str,
    is_in_spend: bool,
    range: DateRange,
    accounts: &AccountFilter,
    operands: &[Operand],
) -> EventsQuery {
    // With a metric of spend, a value that only spend has gets a row too. It is none of money, which a query over
    // accounts of different currencies cannot have.
    let fields = [field, "eventCount"].into_iter().chain(is_in_spend.then_some("clicks"));
    let mut query = EventsQuery::new(fields, range.start, range.end).allow_long_total();
    if let AccountFilter::Only(keys) = accounts {
        query = query.accounts(keys);
    }
    if operands.is_empty() {
        return query;
    }
    let equals = |operand: &Operand| Filter::field(field, Predicate::Equals(operand.clone()));
    query.filter(Filter::Any(operands.iter().map(equals).collect()))
}

/// Returns whether a row of the table has a value that equals `operand`.
fn has_value(table: &ResultTable, field: &str, operand: &Operand) -> bool {
    let equals = TextPredicate::Equals(operand.clone());
    table.rows().any(|row| matches!(row.get(field), Some(Value::Text(text)) if equals.holds(text)))
}

/// Returns the values of a field that are not empty, the most frequent first, from a table of all values.
fn known_values(table: &ResultTable, field: &str) -> Vec<String> {
    let mut counted: Vec<(u64, &str)> = Vec::new();
    for row in table.rows() {
        if let (Some(Value::Text(text)), Some(Value::Count(count))) = (row.get(field), row.get("eventCount"))
            && !text.is_empty()
        {
            counted.push((count, text));
        }
    }
    // Rows are in the order of the values, which a stable sort keeps for values of equal frequency.
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(_, text)| text.to_owned()).collect()
}
