//! Drafts the periods of spend, and the tables of columns that are a month each.

use super::export::DateForms;
use super::{Drafted, TableDraft};
use crate::mapping::draft::formats::{Clock, DateForm};
use crate::mapping::draft::kind::LEAD;
use crate::mapping::draft::months::{AMOUNT, MEASURE, MONTH, MonthColumns};
use crate::mapping::draft::names::{has_word, is_account_name, rank, stages_of};
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::{SourceDraft, date_sources, quoted};

impl<'a> TableDraft<'a, '_> {
    /// Returns the columns of the first and the last day of a row, if the file has no other days.
    pub(super) fn period(&self) -> Option<[&'a ColumnSample; 2]> {
        let is_dated = |column: &&ColumnSample| DateForm::of(column).is_some_and(|form| form.clock != Clock::Zoned);
        let dated: Vec<&'a ColumnSample> = self.sample.columns.iter().filter(is_dated).collect();
        let [first, second] = dated[..] else { return None };
        let is_from = |column: &ColumnSample| has_word(&column.name, "start starts from begin begins since");
        let is_to = |column: &ColumnSample| has_word(&column.name, "end ends to until through");
        let pairs = [[first, second], [second, first]];
        pairs.into_iter().find(|[from, to]| is_from(from) && is_to(to))
    }

    /// Writes the period of a row, over whose days it is divided.
    pub(super) fn spread_over(&mut self, from: &ColumnSample, to: &ColumnSample, dates: &DateForms) {
        self.used.extend([from.name.clone(), to.name.clone()]);
        let named = [from, to].map(|column| quoted(&self.named(column)));
        let form = dates.of(from);
        let readings = form.as_ref().map(|form| date_sources("", form, form.example(from), None));
        let format = |at: usize| form.as_ref().and_then(|form| form.readings.get(at)?.format.clone());
        let sources = readings.unwrap_or_default().into_iter().enumerate().map(|(at, reading)| {
            let format = format(at).map(|format| format!(", format = {}", quoted(&format))).unwrap_or_default();
            let source = format!("{{ from = {}, to = {}{format} }}", named[0], named[1]);
            SourceDraft { source, ..reading }
        });
        let mut sources: Vec<SourceDraft> = sources.collect();
        if sources.is_empty() {
            let source = format!("{{ from = {}, to = {} }}", named[0], named[1]);
            sources.push(SourceDraft { source, note: String::new(), misfits: Vec::new() });
        }
        let question = format!("which format do the dates of {} have?", quoted(&from.name));
        let comment = format!("each row is divided over the days from {} to {}", from.examples(), to.examples());
        self.text.choice("spread", &sources, &question, &comment);
    }

    /// Asks what the amounts of months are, with a table for each answer.
    pub(super) fn months(&mut self, months: &MonthColumns, drafted: &mut Drafted<'a>) {
        drafted.has_unknown_account = true;
        let others: Vec<&ColumnSample> = self.sample.columns.iter().filter(|column| !months.has(column)).collect();
        let best = |name: &str| {
            let named = others.iter().filter_map(|column| Some((rank(name, &column.name)?, *column)));
            named.min_by_key(|(rank, _)| *rank).map(|(_, column)| column)
        };
        let account = best("account").or_else(|| others.iter().find(|column| is_account_name(&column.name)).copied());
        let account = account.map_or("{ value = \"...\" }".to_owned(), |column| quoted(&column.name));
        let shared = ["attributionChannel", "attributionCategory", "campaign"];
        let shared = shared.into_iter().filter_map(|name| Some(format!(", {name} = {}", quoted(&best(name)?.name))));
        let shared: String = shared.collect();
        let map: Vec<String> =
            months.months.iter().map(|(text, month)| format!("{} = {}", quoted(text), quoted(month))).collect();
        let month = if months.format == "%Y-%m" {
            quoted(MONTH)
        } else {
            format!("{{ column = \"{MONTH}\", map = {{ {} }} }}", map.join(", "))
        };
        let format =
            if months.format == "%Y-%m" { String::new() } else { format!(", format = {}", quoted(months.format)) };
        let mut answers = Vec::new();
        let measures: Vec<Option<&String>> =
            if months.measures.is_empty() { vec![None] } else { months.measures.iter().map(Some).collect() };
        for measure in measures {
            let is_count = measure.is_some_and(|measure| stages_of(measure).contains(&LEAD));
            let only = measure.map(|it| format!("#where = {{ {MEASURE} = {} }}\n", quoted(it))).unwrap_or_default();
            let head = |table: &str| {
                format!("[[{table}]]\n#from = {}\n{only}#unless = {{ {AMOUNT} = \"\" }}\n", quoted(self.name))
            };
            let metric = if is_count { "leads" } else { "spend" };
            let what = measure.map_or_else(String::new, |it| format!("{} is ", quoted(it)));
            answers.push((
                format!(
                    "{}#columns = {{ account = {account}{shared}, month = {month}, metric = {{ value = \"{metric}\" }}, value = \"{AMOUNT}\" }}",
                    head("targets")
                ),
                format!("{what}a target of this metric"),
            ));
            if !is_count {
                answers.push((
                    format!(
                        "{}#spread = {{ month = \"{MONTH}\"{format} }}\n#columns = {{ account = {account}{shared}, managementFee = \"{AMOUNT}\" }}",
                        head("spend")
                    ),
                    format!("{what}a fee of the month; if it was spent on advertisements, `adSpend`"),
                ));
            }
        }
        let question = format!("{} has an amount for each month. What are they?", quoted(&self.sample.file_name));
        self.text.question(&question, &answers);
    }
}
