//! Sections 3, 6, 7, 9 and 12: from the tables to the rows of the result.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::cohort::{cohort, cohort_segment};
use super::condition::{TestedValue, Truth};
use super::customer::{CustomerHistory, attribute, customers};
use super::definitions::Definitions;
use super::filters::{self, RequestFilters};
use super::metric::{MetricGroup, MetricValue, spend_is_worth_a_row};
use super::request::{Refusal, Request, Window, sub_ranges};
use super::segment::{CustomerSegment, EnrichedEvent, segment};
use super::tables::{SpendRow, Tables};
use super::values::{self, ExactAmount};

/// Returns the exact JSON array that answers a request: compact, with keys and rows in the order of section 9.
///
/// The oracle answers any span. The engine refuses one sub-range of more than 90 days, unless the query lifts that
/// limit.
///
/// # Errors
/// Returns the first reason to refuse the request, in the order that the contract fixes: no metric, a field named
/// `start` or `end`, the field `openLeads` outside cohort mode, an unknown interval, an end before the start, an
/// invalid filter, a condition on `openLeads` outside cohort mode.
pub fn answer(tables: &Tables, request: &Request) -> Result<String, Refusal> {
    answer_with(tables, request, Definitions::NONE)
}

/// Returns the answer of a dataset with definitions.
///
/// # Errors
/// As [`answer`], where a metric that is made of `openLeads` needs cohort mode, too.
pub fn answer_with(tables: &Tables, request: &Request, definitions: &Definitions) -> Result<String, Refusal> {
    let rows: Vec<String> = result_rows(tables, request, definitions, true)?.into_iter().map(|row| row.json).collect();
    Ok(format!("[{}]", rows.join(",")))
}

/// One row of the result.
pub(super) struct ResultRow {
    /// The columns, each with its value, in the order of section 9.
    pub(super) values: Vec<(String, RowValue)>,
    /// The row as a JSON object.
    pub(super) json: String,
}

/// The value of one column.
pub(super) enum RowValue {
    /// The text of a dimension, or a day.
    Text(String),
    Metric(MetricValue),
    /// A number that follows from two values of a metric (section 14); `None` is null.
    Derived(Option<f64>),
}

impl ResultRow {
    pub(super) fn new(values: Vec<(String, RowValue)>) -> Self {
        let written = values.iter().map(|(name, value)| {
            let value = match value {
                RowValue::Text(text) => values::json_string(text),
                RowValue::Metric(value) => values::ecmascript(value.double()),
                RowValue::Derived(number) => number.map_or_else(|| "null".to_owned(), values::ecmascript),
            };
            format!("{}:{value}", values::json_string(name))
        });
        let json = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
        Self { values, json }
    }
}

/// Returns the rows that answer a request. `with_having` says whether conditions on metrics drop rows.
pub(super) fn result_rows(
    tables: &Tables,
    request: &Request,
    definitions: &Definitions,
    with_having: bool,
) -> Result<Vec<ResultRow>, Refusal> {
    let context = AnswerContext::new(tables, request, definitions)?;
    let with_range = request.interval != "total";
    let mut rows = Vec::new();
    // Section 3: "Each sub-range is computed as if it alone had been asked."
    for (start, end) in sub_ranges(request.start, request.end, &request.interval)? {
        // Section 9: "by the dimension values in the order requested, byte by byte", which is the order of the map.
        for (key, group) in context.group_values(start, end) {
            if !with_having || context.having(&group) {
                let range = with_range.then_some((start, end));
                rows.push(ResultRow::new(context.row_values(range, &key, |metric| vec![group.cell(metric)])));
            }
        }
    }
    Ok(rows)
}

/// A request, read and checked, with what all of its ranges share.
pub(super) struct AnswerContext<'a> {
    tables: &'a Tables,
    definitions: &'a Definitions,
    /// The fields as requested, without duplicates.
    fields: Vec<&'a str>,
    filters: RequestFilters,
    /// The customers of the accounts in scope.
    customers: Vec<CustomerHistory>,
    /// In cohort mode, the window, and the last event date of the accounts in scope.
    cohort: Option<(Window, Option<NaiveDate>)>,
    /// The spend of the accounts in scope.
    spend: Vec<&'a SpendRow>,
}

/// The values of the metrics of a group that are selected or tested.
pub(super) struct GroupValues(BTreeMap<String, MetricValue>);

impl GroupValues {
    /// Returns the value of a metric that is selected or tested.
    pub(super) fn value(&self, metric: &str) -> MetricValue {
        self.0[metric]
    }

    /// Returns a column of the result.
    fn cell(&self, metric: &str) -> (String, RowValue) {
        (metric.to_owned(), RowValue::Metric(self.value(metric)))
    }
}

impl<'a> AnswerContext<'a> {
    pub(super) fn new(tables: &'a Tables, request: &'a Request, definitions: &'a Definitions) -> Result<Self, Refusal> {
        // Section 9: "then the fields as requested, duplicates dropped".
        let mut fields: Vec<&str> = Vec::new();
        for field in &request.fields {
            if !fields.contains(&field.as_str()) {
                fields.push(field);
            }
        }
        if !fields.iter().any(|field| definitions.is_metric(field)) {
            return Err(Refusal::MissingMetric);
        }
        if let Some(reserved) = fields.iter().find(|field| matches!(**field, "start" | "end")) {
            return Err(Refusal::InvalidFields((*reserved).to_owned()));
        }
        if request.cohort.is_none() && fields.iter().any(|field| definitions.needs_cohort(field)) {
            return Err(Refusal::OpenLeadsOutsideCohorts);
        }
        sub_ranges(request.start, request.end, &request.interval)?;
        let filters = filters::read(request, definitions)?;
        if request.cohort.is_none() && filters.having.fields().into_iter().any(|field| definitions.needs_cohort(field))
        {
            return Err(Refusal::OpenLeadsOutsideCohorts);
        }
        let in_scope = |account: &String| request.accounts.as_ref().is_none_or(|accounts| accounts.contains(account));
        let mut customers = customers(tables);
        customers.retain(|customer| in_scope(&customer.account.account));
        // Section 16: "Filters, groups and definitions see the values so taken".
        customers.iter_mut().for_each(|customer| attribute(customer, request.attribution));
        let last = customers.iter().flat_map(|customer| &customer.events).map(|event| event.date).max();
        Ok(Self {
            tables,
            definitions,
            fields,
            filters,
            customers,
            cohort: request.cohort.map(|window| (window, last)),
            spend: tables.spend.iter().filter(|row| in_scope(&row.account)).collect(),
        })
    }

    /// Returns the values of the groups of a range, as [`with_groups`](Self::with_groups) passes them.
    pub(super) fn group_values(&self, start: NaiveDate, end: NaiveDate) -> BTreeMap<Vec<String>, GroupValues> {
        let values = |group: &MetricGroup<'_>| self.values_of(group);
        self.with_groups(start, end, |groups| groups.iter().map(|(key, group)| (key.clone(), values(group))).collect())
    }

    /// Passes on the groups of a range by their dimension values, whatever conditions on metrics say.
    pub(super) fn with_groups<T>(
        &self,
        start: NaiveDate,
        end: NaiveDate,
        pass: impl FnOnce(&BTreeMap<Vec<String>, MetricGroup<'_>>) -> T,
    ) -> T {
        let cohort = self.cohort.map(|(window, _)| cohort(&self.customers, start, end, window));
        let segments: Vec<CustomerSegment<'_>> = match &cohort {
            None => self.customers.iter().filter_map(|customer| segment(customer, start, end)).collect(),
            Some(customers) => customers.iter().filter_map(cohort_segment).collect(),
        };
        // Section 4: "the filter picks enriched rows, the dimensions group them".
        let rows = segments.iter().flat_map(CustomerSegment::rows).filter(|row| self.picks(row));
        let spend: Vec<&SpendRow> =
            self.spend.iter().copied().filter(|row| start <= row.date && row.date <= end && self.keeps(row)).collect();
        pass(&self.groups(rows.collect(), &spend))
    }

    fn values_of(&self, group: &MetricGroup<'_>) -> GroupValues {
        let tested = self.filters.having.fields();
        let metrics = self.metrics().chain(tested);
        GroupValues(metrics.map(|metric| (metric.to_owned(), self.definitions.value_of(metric, group))).collect())
    }

    /// Returns the values of a group that a range does not have: it "appears with 0" (section 14).
    pub(super) fn absent(&self) -> GroupValues {
        self.values_of(&self.group())
    }

    /// Returns one row of the result. Section 9: "Key order: `start`, `end` (only when the interval is not `total`),
    /// then the fields as requested". `of_metric` returns the columns of a metric, each with its name.
    pub(super) fn row_values(
        &self,
        range: Option<(NaiveDate, NaiveDate)>,
        key: &[String],
        of_metric: impl Fn(&str) -> Vec<(String, RowValue)>,
    ) -> Vec<(String, RowValue)> {
        let mut values: Vec<(String, RowValue)> = Vec::new();
        if let Some((start, end)) = range {
            values.push(("start".to_owned(), RowValue::Text(values::date(start))));
            values.push(("end".to_owned(), RowValue::Text(values::date(end))));
        }
        let mut texts = key.iter();
        for field in &self.fields {
            if self.definitions.is_metric(field) {
                values.extend(of_metric(field));
            } else if let Some(text) = texts.next() {
                values.push(((*field).to_owned(), RowValue::Text(text.clone())));
            }
        }
        values
    }

    /// Returns a group without rows and spend.
    fn group<'g>(&self) -> MetricGroup<'g> {
        MetricGroup { cohort: self.cohort, ..MetricGroup::default() }
    }

    pub(super) fn dimensions(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().copied().filter(|field| !self.definitions.is_metric(field))
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().copied().filter(|field| self.definitions.is_metric(field))
    }

    /// Returns whether the filter picks an event; `total` is "the event's own amount, in currency units".
    fn picks(&self, row: &EnrichedEvent<'_>) -> bool {
        let value = |field: &str| match field {
            "total" => {
                TestedValue::Number(row.event().total.map(|micros| ExactAmount::Money(i128::from(micros)).double()))
            }
            dimension => TestedValue::Text(self.definitions.dimension_of(dimension, row)),
        };
        self.filters.rows.truth(&value) == Truth::True
    }

    /// Returns whether the filter keeps a spend row. Section 7: "A filter keeps a spend row unless it is certainly
    /// false for it".
    fn keeps(&self, row: &SpendRow) -> bool {
        let value = |field: &str| self.spend_dimension(row, field).map_or(TestedValue::Unknown, TestedValue::Text);
        self.filters.rows.truth(&value) != Truth::False
    }

    /// Returns whether the conditions on metrics hold. Section 8: "a finished row stays only if its conditions are
    /// true".
    pub(super) fn having(&self, group: &GroupValues) -> bool {
        let value = |metric: &str| {
            let value = group.value(metric);
            if value.is_known() { TestedValue::Number(Some(value.double())) } else { TestedValue::Unknown }
        };
        self.filters.having.truth(&value) == Truth::True
    }

    /// Returns the groups of a sub-range by their dimension values.
    fn groups<'g>(
        &self,
        rows: Vec<EnrichedEvent<'g>>,
        spend: &[&'g SpendRow],
    ) -> BTreeMap<Vec<String>, MetricGroup<'g>> {
        let mut groups: BTreeMap<Vec<String>, MetricGroup<'g>> = BTreeMap::new();
        // Section 9: "With only metrics selected there is exactly one row per sub-range, zeros included".
        if self.dimensions().next().is_none() {
            groups.insert(Vec::new(), self.group());
        }
        for row in rows {
            let key = self.dimensions().map(|dimension| self.definitions.dimension_of(dimension, &row)).collect();
            groups.entry(key).or_insert_with(|| self.group()).rows.push(row);
        }
        // Section 7: "A result row takes the spend of its sub-range whose carried dimensions equal its own."
        for (key, group) in &mut groups {
            group.spend = spend.iter().copied().filter(|row| self.carried(row) == self.carried_of(key)).collect();
        }
        let shown: BTreeSet<Vec<String>> = groups.keys().map(|key| self.carried_of(key)).collect();
        if self.asks_for_spend() {
            self.add_spend_alone(&mut groups, &shown, spend);
        }
        groups
    }

    /// Adds rows for spend that no row in `shown` takes. Section 7: spend without an event "still gets its row (other
    /// metrics 0, dimensions that spend does not carry `""`)".
    fn add_spend_alone<'g>(
        &self,
        groups: &mut BTreeMap<Vec<String>, MetricGroup<'g>>,
        shown: &BTreeSet<Vec<String>>,
        spend: &[&'g SpendRow],
    ) {
        let mut alone: BTreeMap<Vec<String>, Vec<&'g SpendRow>> = BTreeMap::new();
        for row in spend {
            if !shown.contains(&self.carried(row)) {
                let value = |dimension| self.spend_dimension(row, dimension).unwrap_or_default();
                alone.entry(self.dimensions().map(value).collect()).or_default().push(row);
            }
        }
        for (key, spend) in alone {
            if spend_is_worth_a_row(&spend) {
                groups.insert(key, MetricGroup { spend, ..self.group() });
            }
        }
    }

    /// Returns whether spend alone gets rows. Section 7: "if a metric that is selected or filtered on needs the spend
    /// table".
    fn asks_for_spend(&self) -> bool {
        let filtered = self.filters.having.fields();
        self.fields.iter().chain(filtered.iter()).any(|field| self.definitions.needs_spend(field))
    }

    /// Returns the value of a dimension on a spend row; `None` if spend does not carry it.
    fn spend_dimension(&self, row: &SpendRow, name: &str) -> Option<String> {
        self.definitions.spend_dimension(self.tables, row, name)
    }

    /// Returns a spend row's values of the selected dimensions that spend carries.
    fn carried(&self, row: &SpendRow) -> Vec<String> {
        self.dimensions().filter_map(|dimension| self.spend_dimension(row, dimension)).collect()
    }

    /// Returns a result row's values of the selected dimensions that spend carries.
    fn carried_of(&self, key: &[String]) -> Vec<String> {
        self.dimensions()
            .zip(key)
            .filter(|(name, _)| self.definitions.spend_carries(name))
            .map(|(_, value)| value.clone())
            .collect()
    }
}
