//! Sections 3, 6, 7 and 9: from the tables to the result rows.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::conditions::{self, Filters};
use super::customer::{Customer, customers};
use super::enrich::{Period, Row, period};
use super::field::is_metric;
use super::filter::{Truth, Value};
use super::interval::sub_ranges;
use super::metric::{Group, needs_spend};
use super::number::Amount;
use super::render;
use super::request::{Refusal, Request};
use super::spend;
use super::tables::{SpendRow, Tables};

/// The exact JSON array that answers a request: compact, keys and rows in the order of section 9.
///
/// Any span is answered; the facade's 90 days are not its matter.
///
/// # Errors
/// The first reason to refuse, in the order of the contract: no metric, a field named `start` or `end`, an unknown
/// interval, an end before the start, an invalid filter.
pub fn answer(tables: &Tables, request: &Request) -> Result<String, Refusal> {
    // Section 9: "then the fields as requested, duplicates dropped".
    let mut fields: Vec<&str> = Vec::new();
    for field in &request.fields {
        if !fields.contains(&field.as_str()) {
            fields.push(field);
        }
    }
    if !fields.iter().any(|field| is_metric(field)) {
        return Err(Refusal::MissingMetric);
    }
    if let Some(reserved) = fields.iter().find(|field| matches!(**field, "start" | "end")) {
        return Err(Refusal::InvalidFields((*reserved).to_owned()));
    }
    let sub_ranges = sub_ranges(request.start, request.end, &request.interval)?;
    let filters = conditions::read(request)?;

    let in_scope = |account: &String| request.accounts.as_ref().is_none_or(|accounts| accounts.contains(account));
    let mut customers = customers(tables);
    customers.retain(|customer| in_scope(&customer.account.account));
    let question = Question {
        tables,
        fields: &fields,
        filters: &filters,
        with_range: request.interval != "total",
        customers: &customers,
        spend: tables.spend.iter().filter(|row| in_scope(&row.account)).collect(),
    };
    // Section 3: "Each sub-range is computed as if it alone had been asked."
    let mut rows = Vec::new();
    for (start, end) in sub_ranges {
        rows.extend(question.result_rows(start, end));
    }
    Ok(format!("[{}]", rows.join(",")))
}

struct Question<'a> {
    tables: &'a Tables,
    fields: &'a [&'a str],
    filters: &'a Filters,
    with_range: bool,
    customers: &'a [Customer],
    spend: Vec<&'a SpendRow>,
}

impl Question<'_> {
    /// The finished rows of one sub-range, as JSON objects.
    fn result_rows(&self, start: NaiveDate, end: NaiveDate) -> Vec<String> {
        let periods: Vec<Period<'_>> =
            self.customers.iter().filter_map(|customer| period(customer, start, end)).collect();
        // Section 4: "the filter picks enriched rows, the dimensions group them".
        let rows = periods.iter().flat_map(Period::rows).filter(|row| self.picks(row));
        let spend: Vec<&SpendRow> =
            self.spend.iter().copied().filter(|row| start <= row.date && row.date <= end && self.keeps(row)).collect();
        let groups = self.groups(rows.collect(), &spend);

        // Section 9: "by the dimension values in the order requested, byte by byte", which is the order of the map.
        let kept = groups.iter().filter(|(_, group)| self.having(group));
        kept.map(|(key, group)| self.write(start, end, key, group)).collect()
    }

    fn dimensions(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().copied().filter(|field| !is_metric(field))
    }

    /// A filter on enriched rows; `total` is "the event's own amount, in currency units".
    fn picks(&self, row: &Row<'_>) -> bool {
        let value = |field: &str| match field {
            "total" => Value::Number(row.event().total.map(|micros| Amount::Money(i128::from(micros)).double())),
            dimension => Value::Text(row.dimension(dimension)),
        };
        self.filters.rows.truth(&value) == Truth::True
    }

    /// Section 7: "A filter keeps a spend row unless it is certainly false for it".
    fn keeps(&self, row: &SpendRow) -> bool {
        let value = |field: &str| spend::dimension(self.tables, row, field).map_or(Value::Unknown, Value::Text);
        self.filters.rows.truth(&value) != Truth::False
    }

    /// Section 8: "a finished row stays only if its conditions are true".
    fn having(&self, group: &Group<'_>) -> bool {
        let value = |metric: &str| {
            let figure = group.figure(metric);
            if figure.is_known() { Value::Number(Some(figure.double())) } else { Value::Unknown }
        };
        self.filters.having.truth(&value) == Truth::True
    }

    /// The groups of a sub-range by their dimension values.
    fn groups<'a>(&self, rows: Vec<Row<'a>>, spend: &[&'a SpendRow]) -> BTreeMap<Vec<String>, Group<'a>> {
        let mut groups: BTreeMap<Vec<String>, Group<'a>> = BTreeMap::new();
        // Section 9: "With only metrics selected there is exactly one row per sub-range, zeros included".
        if self.dimensions().next().is_none() {
            groups.insert(Vec::new(), Group { rows: Vec::new(), spend: Vec::new() });
        }
        for row in rows {
            let key = self.dimensions().map(|dimension| row.dimension(dimension)).collect();
            groups.entry(key).or_insert_with(|| Group { rows: Vec::new(), spend: Vec::new() }).rows.push(row);
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

    /// Section 7: "Spend with no event beside it still gets its row (other metrics 0, dimensions that spend does not carry
    /// `""`)". No event is beside it if no row takes it.
    fn add_spend_alone<'a>(
        &self,
        groups: &mut BTreeMap<Vec<String>, Group<'a>>,
        shown: &BTreeSet<Vec<String>>,
        spend: &[&'a SpendRow],
    ) {
        let mut alone: BTreeMap<Vec<String>, Vec<&'a SpendRow>> = BTreeMap::new();
        for row in spend {
            if !shown.contains(&self.carried(row)) {
                let value = |dimension| spend::dimension(self.tables, row, dimension).unwrap_or_default();
                alone.entry(self.dimensions().map(value).collect()).or_default().push(row);
            }
        }
        for (key, spend) in alone {
            if spend::is_worth_a_row(&spend) {
                groups.insert(key, Group { rows: Vec::new(), spend });
            }
        }
    }

    /// "if a metric that is selected or filtered on needs the spend table".
    fn asks_for_spend(&self) -> bool {
        let filtered = self.filters.having.fields();
        self.fields.iter().chain(filtered.iter()).any(|field| needs_spend(field))
    }

    /// A spend row's values of the selected dimensions that spend carries.
    fn carried(&self, row: &SpendRow) -> Vec<String> {
        self.dimensions().filter_map(|dimension| spend::dimension(self.tables, row, dimension)).collect()
    }

    /// A result row's values of the selected dimensions that spend carries.
    fn carried_of(&self, key: &[String]) -> Vec<String> {
        self.dimensions().zip(key).filter(|(name, _)| spend::carries(name)).map(|(_, value)| value.clone()).collect()
    }

    /// Section 9: "Key order: `start`, `end` (only when the interval is not `total`), then the fields as requested".
    fn write(&self, start: NaiveDate, end: NaiveDate, key: &[String], group: &Group<'_>) -> String {
        let mut entries = Vec::new();
        if self.with_range {
            entries.push(("start", render::json_string(&render::date(start))));
            entries.push(("end", render::json_string(&render::date(end))));
        }
        let mut values = key.iter();
        for field in self.fields {
            if is_metric(field) {
                entries.push((field, render::ecmascript(group.figure(field).double())));
            } else if let Some(value) = values.next() {
                entries.push((field, render::json_string(value)));
            }
        }
        let written: Vec<String> =
            entries.iter().map(|(name, value)| format!("{}:{value}", render::json_string(name))).collect();
        format!("{{{}}}", written.join(","))
    }
}
