//! Drafts the table that the rows of a file become. The customer of events is in `customer`, the dimensions that events
//! and spend share in `dimensions`, the stages of events in `stages`, their amounts and currencies in `money`, periods
//! and months in `periods`, and the tables of exports of known products in `export`.

mod customer;
mod dimensions;
mod export;
mod money;
mod periods;
mod stages;

use super::export::Recognition;
use super::formats::{AmountForm, Clock, DateForm, fitting};
use super::kind::{FileKind, JoinKey};
use super::names::{is_account_name, rank};
use super::sample::{ColumnSample, FileSample};
use super::text::{DraftText, SourceDraft, amount_sources, date_sources, key, quoted, source};
use crate::IngestError;
use customer::CustomerIds;
use dimensions::{Dimension, DimensionSource, one_spelling};
use export::DateForms;
use std::collections::BTreeSet;
use trueup_core::model::ACCOUNT;

/// What the tables so far have shown, as far as the rest of the draft needs it.
#[derive(Default)]
pub(super) struct Drafted<'a> {
    /// The dimensions that are empty on some events, of files whose rows are events.
    pub(super) copied: Vec<String>,
    /// Whether a table has no column that is certainly the account.
    pub(super) has_unknown_account: bool,
    /// The dimensions of each table of events of a known export.
    pub(super) of_exports: Vec<BTreeSet<String>>,
    /// What identifies the customers of each known export, with the name of its file.
    pub(super) identified_by: Vec<(&'static str, &'a str)>,
    /// What identifies the customers of each table of events, or may do it best.
    customers: Vec<CustomerIds<'a>>,
    /// The currencies that columns of the files name.
    pub(super) currencies: BTreeSet<String>,
    /// The files whose rows may become conversions.
    pub(super) leads: Vec<&'a str>,
    /// The files whose rows may become closed work with amounts.
    pub(super) revenue: Vec<&'a str>,
    dimensions: Vec<Dimension<'a>>,
}

pub(super) use export::TOTALS;

/// The most values of a column that is taken for the account by its name: that of a deal may be the company that buys.
const MAX_ACCOUNTS: usize = 20;

/// What a draft says of keys without a row.
const UNMATCHED: &str = ": `keep` or `drop` the rows with such a key, or stop at them (`refuse`)";

/// What it says besides if the key names the customer.
const UNMATCHED_CUSTOMERS: &str = "; a row of an earlier month may be in the dataset, which `Joining what the dataset holds` in \
                                   docs/mapping.md joins, too";

impl Drafted<'_> {
    pub(super) fn new(samples: &[FileSample]) -> Self {
        let currencies = samples.iter().flat_map(money::currencies).map(str::to_owned);
        Self { currencies: currencies.collect(), ..Self::default() }
    }
}

/// An input of a draft.
pub(super) struct DraftInput<'a> {
    pub(super) name: String,
    pub(super) sample: &'a FileSample,
}

/// The table of a file while it is written.
pub(super) struct TableDraft<'a, 'd> {
    name: &'d str,
    sample: &'a FileSample,
    /// The inputs that are joined.
    joined: &'d [(&'d JoinKey, &'d DraftInput<'a>)],
    /// The columns that the table uses.
    used: BTreeSet<String>,
    text: &'d mut DraftText,
}

impl<'a, 'd> TableDraft<'a, 'd> {
    pub(super) fn new(
        input: &'d DraftInput<'a>,
        joined: &'d [(&'d JoinKey, &'d DraftInput<'a>)],
        text: &'d mut DraftText,
    ) -> Self {
        Self { name: &input.name, sample: input.sample, joined, used: BTreeSet::new(), text }
    }

    /// Writes the table, and notes in `drafted` what other tables need to know.
    pub(super) fn write(
        mut self,
        kind: &FileKind,
        recognition: &Recognition,
        drafted: &mut Drafted<'a>,
    ) -> Result<(), IngestError> {
        if let Recognition::Lacking(lacking) = recognition {
            self.text.comment(&lacking.comment());
        }
        match kind {
            FileKind::Export => {
                if let Some(found) = recognition.found() {
                    self.export(found, drafted)?;
                }
            }
            FileKind::Events { stage } => {
                self.used.extend(stage.clone());
                self.begin("events", "each row is an event");
                self.currency(drafted);
                self.canceled_rows();
                self.rows_of_stages(stage.as_deref());
                self.begin_columns("events");
                self.account(drafted, false);
                self.customer(drafted);
                self.dates(true);
                self.amount_of_event();
                self.event_id();
                let partly_empty = self.dimensions(drafted, false);
                drafted.copied.extend(partly_empty);
                self.rest("In events, a line such as `{}` makes one a dimension.");
                self.stages_of_rows(stage.as_deref(), drafted);
            }
            FileKind::Customers { stage } => {
                self.begin("events", "each row is a customer, with the dates of its stages");
                self.currency(drafted);
                self.begin_columns("events");
                self.account(drafted, false);
                self.customer(drafted);
                self.dimensions(drafted, false);
                self.stages_of_customers(stage.as_deref(), drafted);
            }
            FileKind::Months(months) => self.months(months, drafted),
            FileKind::Spend => {
                let period = self.period();
                let of = if period.is_some() { "period, over whose days it is divided" } else { "day" };
                self.begin("spend", &format!("each row is the spend of a {of}"));
                self.currency(drafted);
                if let Some([from, to]) = period {
                    self.spread_over(from, to, &DateForms::of_columns([from, to]));
                }
                self.begin_columns("spend");
                self.account(drafted, true);
                if period.is_none() {
                    self.dates(false);
                }
                self.dimensions(drafted, true);
                for name in ["adSpend", "managementFee", "clicks", "impressions"] {
                    self.amount(name, self.best(name));
                }
                self.rest("Spend has no other columns than those of docs/mapping.md.");
            }
            FileKind::Joined(_) => {}
            FileKind::Unknown => {
                let columns: Vec<String> = self.sample.columns.iter().map(|column| quoted(&column.name)).collect();
                let question = format!(
                    "what are the rows of {}? They have no dates, and no other file has their keys. Its columns: {}",
                    quoted(&self.sample.file_name),
                    columns.join(", ")
                );
                let answer = format!(
                    "[[accounts]]\n#from = {}\n#columns = {{ account = \"...\", accountName = \"...\" }}",
                    quoted(self.name)
                );
                self.text.question(&question, &[(answer, String::new())]);
            }
        }
        self.text.line("");
        Ok(())
    }

    fn begin(&mut self, table: &str, why: &str) {
        self.text.comment(&format!("{}: {why}.", quoted(&self.sample.file_name)));
        self.text.line(&format!("[[{table}]]"));
        self.text.line(&format!("from = {}", quoted(self.name)));
        let joins = self.joined.iter().enumerate().map(|(at, (join, input))| {
            // The key may be a column of the inputs that are joined before, too.
            let here = self.named_among(&join.here, &self.joined[..at]);
            let on = if here == join.there {
                quoted(&here)
            } else {
                format!("{{ {} = {} }}", key(&here), quoted(&join.there))
            };
            format!("{{ input = {}, on = {on}, unmatched = \"refuse\" }}", quoted(&input.name))
        });
        let joins: Vec<String> = joins.collect();
        if !joins.is_empty() {
            for (join, input) in self.joined {
                // The number of a job may be the customer, too.
                if !join.has_customers {
                    self.used.insert(join.here.clone());
                }
                let keys = match join.unmatched {
                    0 => "every sampled key has a row".to_owned(),
                    1 => "1 sampled key has no row".to_owned(),
                    count => format!("{count} sampled keys have no row"),
                };
                let advice = if join.unmatched == 0 { "" } else { UNMATCHED };
                let (whose, further) = match join.has_customers {
                    true if join.unmatched == 0 => (", whose rows say who the customer is", ""),
                    true => (", whose rows say who the customer is", UNMATCHED_CUSTOMERS),
                    false => ("", ""),
                };
                self.text.comment(&format!("Joined to {}{whose}: {keys}{advice}{further}.", quoted(&input.name)));
            }
            self.text.line(&format!("join = [{}]", joins.join(", ")));
        }
    }

    /// Begins the columns of the table.
    fn begin_columns(&mut self, table: &str) {
        self.text.line("");
        self.text.line(&format!("[{table}.columns]"));
    }

    /// Returns the name of a column of this file in the keys of the table: with its input if a joined file has a column
    /// of the same name, too.
    fn named(&self, column: &ColumnSample) -> String {
        self.named_among(&column.name, self.joined)
    }

    /// Returns the name of a column of a joined input in the keys of the table.
    fn named_of(&self, input: &DraftInput<'_>, column: &ColumnSample) -> String {
        let mut others = self.joined.iter().filter(|(_, other)| other.name != input.name);
        let is_shared =
            self.sample.has_column(&column.name) || others.any(|(_, other)| other.sample.has_column(&column.name));
        if is_shared { format!("{}.{}", input.name, column.name) } else { column.name.clone() }
    }

    /// Returns the name of a column of this file if only these inputs are joined.
    fn named_among(&self, column: &str, joined: &[(&JoinKey, &DraftInput<'a>)]) -> String {
        // The plain name of a key that both sides of a join call the same means the column of this file.
        let is_key = |join: &JoinKey| join.here == column && join.there == column;
        let is_plain = joined.iter().all(|(join, input)| is_key(join) || !input.sample.has_column(column));
        if is_plain { column.to_owned() } else { format!("{}.{column}", self.name) }
    }

    /// Returns the column whose name fits a canonical column best.
    fn best(&self, canonical: &str) -> Option<&'a ColumnSample> {
        let free = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        free.filter_map(|column| Some((rank(canonical, &column.name)?, column)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, column)| column)
    }

    fn account(&mut self, drafted: &mut Drafted<'a>, is_spend: bool) {
        let named = self.best(ACCOUNT);
        if let Some(column) = named.filter(|column| column.values.len() <= MAX_ACCOUNTS) {
            self.used.insert(column.name.clone());
            return self.shared_dimension(ACCOUNT, DimensionSource::Column(column), drafted, is_spend);
        }
        let like = self.sample.columns.iter().filter(|column| is_like_account(column));
        let own: Vec<&ColumnSample> = named.into_iter().chain(like).collect();
        self.ask_account(&own, drafted);
    }

    /// Asks which column is the account, or whether none is. `own` are columns of this file that may be.
    fn ask_account(&mut self, own: &[&ColumnSample], drafted: &mut Drafted<'a>) {
        let line = |named: String, column: &ColumnSample| {
            let source = one_spelling(&named, column).unwrap_or_else(|| quoted(&named));
            format!("account = {source}")
        };
        let own = own.iter().map(|column| {
            let customers = match column.values.len() {
                0..=MAX_ACCOUNTS => String::new(),
                _ => format!("; {}, unless these are customers of one business", distinct(column)),
            };
            (line(self.named(column), column), column.examples() + &customers)
        });
        let mut answers: Vec<(String, String)> = own.collect();
        for (join, input) in self.joined {
            let may_be = |column: &&ColumnSample| {
                // The rows of another table have many columns besides its account.
                let is_named = !join.has_customers || rank(ACCOUNT, &column.name).is_some() || is_like_account(column);
                column.name != join.there && column.data_type.is_string() && is_named
            };
            answers.extend(input.sample.columns.iter().filter(may_be).map(|column| {
                let note = format!("of {}: {}", quoted(&input.name), column.examples());
                (line(self.named_of(input, column), column), note)
            }));
        }
        drafted.has_unknown_account = true;
        answers.push((
            "account = { value = \"...\" }".to_owned(),
            "a name of your choice, the same for every row".to_owned(),
        ));
        self.text.question(
            "no column is certainly the key of the account (the business, or one location of it). Which is it?",
            &answers,
        );
    }

    fn event_id_column(&self) -> Option<&'a ColumnSample> {
        self.best("eventId").filter(|column| column.is_unique())
    }

    fn event_id(&mut self) {
        match self.event_id_column() {
            Some(column) => {
                self.used.insert(column.name.clone());
                let line = format!("eventId = {}", quoted(&self.named(column)));
                self.text.noted(&line, "by its name; no two sampled rows have the same");
            }
            None => self.text.comment(
                "No column is known to be the id of the event (`eventId`). Without it, a longer export of the same file adds its rows again.",
            ),
        }
    }

    /// Writes `date`, and `dateTime` if the table has times, or asks which column is the date if several may be.
    fn dates(&mut self, has_times: bool) {
        let free = |column: &&ColumnSample| !self.used.contains(&column.name);
        let mut dated: Vec<(&ColumnSample, DateForm)> = self
            .sample
            .columns
            .iter()
            .filter(free)
            .filter_map(|column| Some((column, DateForm::of(column)?)))
            .collect();
        dated.sort_by_key(|(column, _)| rank("date", &column.name).unwrap_or(usize::MAX));
        let named = dated.iter().filter(|(column, _)| rank("date", &column.name).is_some()).count();
        if dated.len() > 1 && named != 1 {
            // A point in time is no date, and spend has no `dateTime`.
            let usable = dated.iter().filter(|(_, form)| has_times || form.clock != Clock::Zoned);
            let answers = usable.flat_map(|(column, form)| {
                let sources = date_sources(&self.named(column), form, "", None).into_iter();
                sources.map(|found| {
                    let line = format!("{} = {}", form.clock.column(), found.source);
                    (line, column.examples() + &fitting(&found.misfits))
                })
            });
            let mut answers: Vec<(String, String)> = answers.collect();
            if answers.is_empty() {
                let note = "each column holds points in time, whose day depends on the time zone";
                answers.push(("date = \"...\"".to_owned(), note.to_owned()));
            }
            return self.text.question("several columns hold dates. Which is the date of the row?", &answers);
        }
        if let Some((column, form)) = dated.into_iter().next() {
            self.date_of(column, &form, has_times);
        }
    }

    /// Writes `date`, and `dateTime` if the table has times, of a column that has this form.
    fn date_of(&mut self, column: &ColumnSample, form: &DateForm, has_times: bool) {
        let name = self.named(column);
        self.used.insert(column.name.clone());
        let example = form.example(column);
        let (fits, comment) = if form.readings.iter().all(|reading| reading.misfits.is_empty()) {
            (" Each fits every sampled value.", format!("fits every sampled value, such as {}", column.examples()))
        } else {
            ("", column.examples())
        };
        if form.clock != Clock::Zoned {
            let sources = date_sources(&name, form, example, None);
            let question = format!("which format do the dates of {} have?{fits}", quoted(&column.name));
            self.text.choice("date", &sources, &question, &comment);
        }
        match form.clock {
            Clock::Zoned if !has_times => {
                let question = format!(
                    "the times of {} are points in time ({}), whose day depends on the time zone. Which column has the day?",
                    quoted(&column.name),
                    column.examples()
                );
                self.text.question(&question, &[("date = \"...\"".to_owned(), String::new())]);
            }
            Clock::Zoned => {
                let sources = date_sources(&name, form, example, None);
                let question = format!("which format do the times of {} have?{fits}", quoted(&column.name));
                self.text.choice("dateTime", &sources, &question, &comment);
            }
            Clock::Local if has_times => {
                let sources = date_sources(&name, form, example, Some("America/New_York"));
                let is_open = sources.len() > 1;
                let answer = |found: &SourceDraft| {
                    let comment = if is_open { found.comment() } else { String::new() };
                    (format!("dateTime = {}", found.source), comment)
                };
                let answers: Vec<(String, String)> = sources.iter().map(answer).collect();
                let question = format!(
                    "the clock times of {} name no time zone. Which one is it? Without an answer, events keep their date alone.",
                    quoted(&column.name)
                );
                self.text.question(&question, &answers);
            }
            Clock::Local | Clock::None => {}
        }
    }

    fn amount(&mut self, canonical: &str, column: Option<&'a ColumnSample>) {
        let Some(column) = column else { return };
        let name = self.named(column);
        let Some(form) = AmountForm::of(column) else {
            if column.filled > 0 {
                self.used.insert(column.name.clone());
                let question = format!(
                    "{} is named like an amount, but its values are not: {}. How are they read?",
                    quoted(&column.name),
                    column.examples()
                );
                let answer = (format!("{canonical} = {}", source(&name, &[("remove", "...")])), String::new());
                self.text.question(&question, &[answer]);
            }
            return;
        };
        self.used.insert(column.name.clone());
        if matches!(canonical, "clicks" | "impressions") {
            // Of counts, `1,204` and `1.204` are 1204.
            let line = format!("{canonical} = {}", quoted(&name));
            return self.text.noted(&line, &format!("by its name; {}", column.examples()));
        }
        let sources = amount_sources(&name, &form.readings);
        let question = format!("what is the decimal mark of {}, such as {}?", quoted(&column.name), column.examples());
        self.text.choice(canonical, &sources, &question, &format!("by its name; {}", column.examples()));
    }

    /// Names the columns that nothing uses, and says what can be done with them; `{}` stands for a line.
    fn rest(&mut self, advice: &str) {
        let rest = self.sample.columns.iter().filter(|column| !self.used.contains(&column.name));
        let rest: Vec<&ColumnSample> = rest.collect();
        if let Some(first) = rest.first() {
            let names: Vec<String> = rest.iter().map(|column| quoted(&column.name)).collect();
            let (names, line) = (names.join(", "), format!("{} = {}", key(&first.name), quoted(&self.named(first))));
            self.text.comment(&format!("Not used: {names}. {}", advice.replace("{}", &line)));
        }
    }
}

/// Returns whether the name of a column may mean an account.
fn is_like_account(column: &ColumnSample) -> bool {
    is_account_name(&column.name)
}

fn distinct(column: &ColumnSample) -> String {
    match (column.has_more, column.values.len()) {
        (true, count) => format!("more than {count} distinct values"),
        (false, 1) => "1 distinct value".to_owned(),
        (false, count) => format!("{count} distinct values"),
    }
}

fn counted(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}
