//! A mapping file as it is written.

use super::money::RATE_COLUMNS;
use super::template::template_columns;
use crate::source::FileFormat;
use crate::table::Table;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;

/// A mapping file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping file")]
pub(super) struct MappingFile {
    #[serde(default)]
    pub(super) input: BTreeMap<String, InputDeclaration>,
    /// Maps that several columns may share, by name.
    #[serde(default)]
    pub(super) map: BTreeMap<String, BTreeMap<String, Constant>>,
    #[serde(default)]
    pub(super) events: Vec<EventTableDeclaration>,
    #[serde(default)]
    pub(super) spend: Vec<TableDeclaration>,
    #[serde(default)]
    pub(super) accounts: Vec<TableDeclaration>,
    #[serde(default)]
    pub(super) targets: Vec<TableDeclaration>,
    pub(super) first_touch: Option<FirstTouch>,
    /// The questions of a draft that are not answered yet.
    #[serde(default)]
    pub(super) open_questions: Vec<i64>,
}

impl MappingFile {
    /// Returns the tables other than those of events, by kind.
    pub(super) fn tables(&self) -> [(Table, &[TableDeclaration]); 3] {
        [(Table::Spend, &self.spend), (Table::Accounts, &self.accounts), (Table::Targets, &self.targets)]
    }

    /// Returns the tables other than those of events.
    pub(super) fn other_tables(&self) -> impl Iterator<Item = &TableDeclaration> {
        self.tables().into_iter().flat_map(|(_, tables)| tables)
    }

    /// Returns the conversions of all tables.
    pub(super) fn conversions(&self) -> impl Iterator<Item = &ConvertDeclaration> {
        let events = self.events.iter().map(|table| &table.convert);
        events.chain(self.spend.iter().map(|table| &table.convert)).flatten()
    }

    /// Returns the name of the input that has the rates of a conversion: an input of this name, one of this file, or
    /// one that [`add_rates`](Self::add_rates) adds.
    pub(super) fn rates_input<'a>(&'a self, convert: &'a ConvertDeclaration) -> &'a str {
        let rates = convert.rates.as_str();
        if self.input.contains_key(rates) {
            return rates;
        }
        let of_file = self.input.iter().find(|(_, input)| input.file == rates);
        of_file.map_or(rates, |(name, _)| name.as_str())
    }

    /// Adds an input for each file of rates that no input has.
    pub(super) fn add_rates(&mut self) {
        let inputs = self.conversions().map(|convert| self.rates_input(convert).to_owned());
        let missing: Vec<String> = inputs.filter(|name| !self.input.contains_key(name)).collect();
        for name in missing {
            let input = InputDeclaration { file: name.clone(), ..InputDeclaration::default() };
            self.input.insert(name, input);
        }
    }

    /// Returns the names of all columns that the keys of tables mention. A name with a dot may be that of a column with
    /// its input, so what follows the dot is returned, too. Names that no column has do no harm.
    pub(super) fn mentioned_columns(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        let tables = self.other_tables().map(|table| (&table.join, [&table.only, &table.unless]));
        let events = self.events.iter().map(|table| (&table.join, [&table.only, &table.unless]));
        for (joins, conditions) in tables.chain(events) {
            names.extend(conditions.into_iter().flat_map(|conditions| conditions.keys()).map(String::as_str));
            names.extend(joins.iter().flat_map(|join| join.on.pairs()).flat_map(|(here, there)| [here, there]));
        }
        for spread in self.spend.iter().filter_map(|table| table.spread.as_ref()) {
            let SpreadDeclaration { from, to, week, month, format: _ } = spread;
            names.extend([from, to, week, month].into_iter().flatten().map(String::as_str));
        }
        names.extend(self.events.iter().flat_map(|table| &table.keep).map(String::as_str));
        let stages = || self.events.iter().flat_map(|table| table.stages.values());
        names.extend(stages().flat_map(|stage| stage.only.keys().chain(stage.unless.keys())).map(String::as_str));
        let computed = self.input.values().map(|input| &input.compute);
        let columns = self.events.iter().map(|table| &table.columns);
        let columns = columns.chain(self.other_tables().map(|table| &table.columns));
        let columns = columns.chain(stages().map(|stage| &stage.columns)).chain(computed);
        let records = self.events.iter().filter_map(EventTableDeclaration::record);
        let tables = self.other_tables().map(|table| &table.currency);
        let currencies = self.events.iter().map(|table| &table.currency).chain(tables);
        let currencies = currencies.flatten().filter_map(|currency| match currency {
            CurrencyKey::Code(_) => None,
            CurrencyKey::Source(source) => Some(source.as_ref()),
        });
        names.extend(self.conversions().next().into_iter().flat_map(|_| RATE_COLUMNS));
        for source in columns.flat_map(BTreeMap::values).chain(records).chain(currencies) {
            let parts = [&source.year, &source.month, &source.day].into_iter().flatten().map(Box::as_ref);
            for source in parts.chain([source]) {
                names.extend(source.mentioned_columns());
            }
        }
        let plain: Vec<&str> = names.iter().filter_map(|name| Some(name.split_once('.')?.1)).collect();
        // What follows the dot of `Impr.` is no name; blank cells of a row would fit it.
        names.extend(plain.into_iter().filter(|name| !name.is_empty()));
        names
    }
}

/// Files that are read as one table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table that describes an input")]
pub(super) struct InputDeclaration {
    /// A file name, in which `*` matches any characters and `?` matches one.
    pub(super) file: String,
    pub(super) format: Option<FileFormat>,
    /// What separates the cells of a CSV file. If absent, the option of the ingest decides, or else a tab in a file
    /// whose name ends in `.tsv`, and a comma in any other.
    pub(super) separator: Option<char>,
    /// The encoding of a text. If absent, the option of the ingest decides, or else it is UTF-8.
    pub(super) encoding: Option<String>,
    /// The columns of a CSV file that has no header.
    pub(super) header: Option<Vec<String>>,
    /// Which line of a CSV or XLSX file is its header. If absent, the one that the mapping's columns fit.
    pub(super) header_row: Option<HeaderKey>,
    /// Whether merged cells of an XLSX file name every column that they span, so that its header has several rows. If
    /// absent, they do if no single row can be the header.
    pub(super) merged: Option<bool>,
    /// What happens to rows of a CSV or XLSX file with fewer cells than the header.
    #[serde(default)]
    pub(super) short_rows: ShortRows,
    /// Whether no file of this input needs to be given.
    #[serde(default)]
    pub(super) optional: bool,
    /// Cells of a CSV or XLSX file that mean no value.
    #[serde(default)]
    pub(super) empty: Vec<String>,
    /// The sheet of an XLSX file. If absent, the option of the ingest decides, or else it is the first one.
    pub(super) sheet: Option<String>,
    /// From the name of a column in the file to its name in the mapping.
    #[serde(default)]
    pub(super) rename: BTreeMap<String, String>,
    /// Columns that become rows.
    pub(super) unpivot: Option<UnpivotDeclaration>,
    /// Columns that are made of others.
    #[serde(default)]
    pub(super) compute: BTreeMap<String, ValueSource>,
}

/// The number of the header's line, counted from 1, or names that it has.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the number of a line, or a list of names")]
pub(super) enum HeaderKey {
    Number(u64),
    Names(Vec<String>),
}

/// What happens to rows with fewer cells than the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ShortRows {
    /// They are errors.
    #[default]
    Refuse,
    /// They are left out.
    Skip,
}

/// Columns that become rows, one for each of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `columns`, `name` and `value`")]
pub(super) struct UnpivotDeclaration {
    pub(super) columns: UnpivotColumns,
    /// The new column that has the name of the column.
    pub(super) name: String,
    /// The new column that has its value.
    pub(super) value: String,
}

/// The names of columns, or an expression that they match.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected a list of columns, or { regex = \"...\" }")]
pub(super) enum UnpivotColumns {
    Names(Vec<String>),
    Pattern { regex: String },
}

/// The period of a row of spend, over whose days it is divided.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `from` and `to`, `month`, or `week`")]
pub(super) struct SpreadDeclaration {
    /// The column of the first day; of a week, that of the report.
    pub(super) from: Option<String>,
    /// The column of the last day; of a week, that of the report.
    pub(super) to: Option<String>,
    /// The column of the first day of a week.
    pub(super) week: Option<String>,
    /// The column of the month.
    pub(super) month: Option<String>,
    /// The formats of these columns, as strftime defines them.
    pub(super) format: Option<OneOrMore>,
}

/// Columns that all events of a customer take from the customer's first conversion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the key `copy`")]
pub(super) struct FirstTouch {
    pub(super) copy: Vec<String>,
}

/// Conditions on rows: columns, each with the values that meet its condition.
pub(super) type Conditions = BTreeMap<String, OneOrMore>;

/// A table of spend, of accounts or of targets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of spend, accounts or targets")]
pub(super) struct TableDeclaration {
    pub(super) from: Option<String>,
    /// The source of rows that do not name theirs; the name of the input if absent.
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) join: Vec<Join>,
    /// The conditions that every row must meet.
    #[serde(default, rename = "where")]
    pub(super) only: Conditions,
    /// Conditions; a row that meets one is left out.
    #[serde(default)]
    pub(super) unless: Conditions,
    #[serde(default)]
    pub(super) columns: BTreeMap<String, ValueSource>,
    /// The period of a row of spend.
    pub(super) spread: Option<SpreadDeclaration>,
    /// The currency of the amounts; of accounts, their own.
    pub(super) currency: Option<CurrencyKey>,
    /// The currency that the amounts become.
    pub(super) convert: Option<ConvertDeclaration>,
}

/// The code of a currency, or where the codes come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a currency such as \"CAD\", or { column = \"...\" }")]
pub(super) enum CurrencyKey {
    Code(String),
    Source(Box<ValueSource>),
}

impl CurrencyKey {
    /// Returns the source of the codes.
    pub(super) fn source(&self) -> ValueSource {
        match self {
            Self::Code(code) => ValueSource { value: Some(Constant(code.clone())), ..ValueSource::default() },
            Self::Source(source) => ValueSource::clone(source),
        }
    }
}

/// The currency that amounts become, and the file of the rates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `to` and `rates`")]
pub(super) struct ConvertDeclaration {
    pub(super) to: String,
    /// The name of an input, or of a file that no input has.
    pub(super) rates: String,
}

/// A table of events. In a long table each row is an event; in a wide table each row has the dates of several stages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of events")]
pub(super) struct EventTableDeclaration {
    pub(super) from: String,
    /// The source of rows that do not name theirs; the name of the input if absent.
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) join: Vec<Join>,
    /// The conditions that every row must meet.
    #[serde(default, rename = "where")]
    pub(super) only: Conditions,
    /// Conditions; a row that meets one is left out.
    #[serde(default)]
    pub(super) unless: Conditions,
    /// Columns of the input that become dimensions of the same name.
    #[serde(default)]
    pub(super) keep: Vec<String>,
    #[serde(default)]
    pub(super) columns: BTreeMap<String, ValueSource>,
    /// What the events of a record have in common, which are replaced together; it may stand among `stages`, too.
    record: Option<ValueSource>,
    /// Wide tables: the conditions and the columns of each stage's events. The columns add to `columns` or replace
    /// them.
    #[serde(default)]
    pub(super) stages: Stages,
    /// The currency of the amounts.
    pub(super) currency: Option<CurrencyKey>,
    /// The currency that the amounts become.
    pub(super) convert: Option<ConvertDeclaration>,
}

/// The stages of a wide table by name, and the record of their events.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    record: Option<ValueSource>,
    by_name: BTreeMap<String, StageDeclaration>,
}

impl Deref for Stages {
    type Target = BTreeMap<String, StageDeclaration>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}

impl<'de> Deserialize<'de> for Stages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StagesVisitor;
        impl<'de> Visitor<'de> for StagesVisitor {
            type Value = Stages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of stages")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stages, A::Error> {
                let mut stages = Stages::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "record" {
                        stages.record = Some(map.next_value()?);
                    } else {
                        stages.by_name.insert(name, map.next_value()?);
                    }
                }
                Ok(stages)
            }
        }
        deserializer.deserialize_map(StagesVisitor)
    }
}

/// What the events of a stage have besides what all events of the table have.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StageDeclaration {
    /// The conditions that every row must meet.
    #[serde(default, rename = "where")]
    pub(super) only: Conditions,
    /// Conditions; a row that meets one is left out.
    #[serde(default)]
    pub(super) unless: Conditions,
    #[serde(flatten)]
    pub(super) columns: BTreeMap<String, ValueSource>,
}

impl EventTableDeclaration {
    /// Returns the source of the records of the events; `None` if they are no records.
    pub(super) fn record(&self) -> Option<&ValueSource> {
        self.record.as_ref().or(self.stages.record.as_ref())
    }

    /// Returns whether the record is declared twice.
    pub(super) fn has_two_records(&self) -> bool {
        self.record.is_some() && self.stages.record.is_some()
    }

    /// Returns the part that all tables have.
    pub(super) fn table(&self) -> TableDeclaration {
        TableDeclaration {
            from: Some(self.from.clone()),
            source: self.source.clone(),
            join: self.join.clone(),
            only: self.only.clone(),
            unless: self.unless.clone(),
            columns: self.columns.clone(),
            spread: None,
            currency: self.currency.clone(),
            convert: self.convert.clone(),
        }
    }
}

/// A text, or a list of texts: the values of a condition, or the formats of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(super) fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::More(texts) => texts,
        }
    }
}

/// Another input, or the stored events of the dataset, whose columns are added to the rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table that describes a join")]
pub(super) struct Join {
    /// `None` for stored events.
    pub(super) input: Option<String>,
    /// Whether the events are joined that the dataset holds before the ingest.
    #[serde(default)]
    pub(super) stored: bool,
    /// The source of the stored events that are joined; all if absent.
    pub(super) source: Option<String>,
    /// The name of the joined input in this table; its own name, or `stored`, if absent.
    #[serde(rename = "as")]
    pub(super) alias: Option<String>,
    pub(super) on: JoinKeys,
    pub(super) unmatched: Unmatched,
    /// Whether a row may match several rows, and is repeated for each.
    #[serde(default)]
    pub(super) many: bool,
}

impl Join {
    /// Returns the name of the joined input in this table.
    pub(super) fn alias(&self) -> &str {
        self.alias.as_deref().or(self.input.as_deref()).unwrap_or("stored")
    }

    /// Returns whether a column of the joined side is one of the keys.
    pub(super) fn is_on(&self, there: &str) -> bool {
        self.on.pairs().iter().any(|(_, name)| *name == there)
    }
}

/// The columns that must be equal on both sides.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a column, a list of columns, or a table of columns here and there")]
pub(super) enum JoinKeys {
    /// A column of this name on both sides.
    Same(String),
    /// Columns of these names on both sides.
    AllSame(Vec<String>),
    /// From a column of the rows so far to a column of the joined input.
    Pairs(BTreeMap<String, String>),
}

impl JoinKeys {
    /// Returns each column of the rows so far with its column of the joined input.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Same(name) => vec![(name, name)],
            Self::AllSame(names) => names.iter().map(|name| (name.as_str(), name.as_str())).collect(),
            Self::Pairs(pairs) => pairs.iter().map(|(here, there)| (here.as_str(), there.as_str())).collect(),
        }
    }
}

/// What happens to a row that matches no row of the joined input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unmatched {
    /// It stays, and the joined columns are empty.
    Keep,
    /// It is left out.
    Drop,
    /// It is an error.
    Refuse,
}

/// The source of a column's values, and how texts change before they are read.
///
/// A text in its place names a column; a whole number is the value itself. For example
/// `{ column = "sale", remove = "$,", default = "0" }`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(super) struct ValueSource {
    /// The column that has the values.
    pub(super) column: Option<String>,
    /// Columns whose texts are joined. There is no value if one of the texts is empty.
    pub(super) columns: Option<Vec<String>>,
    /// The text between the texts of `columns`.
    pub(super) separator: Option<String>,
    /// The value of every row.
    pub(super) value: Option<Constant>,
    /// With `month` and `day`, the parts of a date.
    pub(super) year: Option<Box<ValueSource>>,
    pub(super) month: Option<Box<ValueSource>>,
    pub(super) day: Option<Box<ValueSource>>,
    /// Constants and columns in one text, such as `{Job #}-booked`. There is no value if one of the columns has none.
    pub(super) template: Option<String>,
    /// What takes the place of a missing value: the first of them that has one.
    pub(super) otherwise: Option<Otherwise>,
    /// A regular expression; its first group, or else its whole match, is the text.
    pub(super) extract: Option<String>,
    /// Characters that are removed.
    pub(super) remove: Option<String>,
    /// Whether blanks at the ends of a text are removed; true if absent.
    pub(super) trim: Option<bool>,
    /// The character that becomes the decimal point.
    pub(super) decimal_mark: Option<char>,
    /// The value that each value becomes.
    pub(super) map: Option<ValueMap>,
    /// What happens to a value that `map` does not have.
    pub(super) unmapped: Option<Unmapped>,
    /// What each value is brought to.
    pub(super) normalize: Option<NormalForm>,
    /// The region of phone numbers without a country code.
    pub(super) region: Option<String>,
    /// The text to read if there is none.
    pub(super) default: Option<Constant>,
    /// The formats of dates, as strftime defines them.
    pub(super) format: Option<OneOrMore>,
    /// The IANA time zone of clock times. It has precedence over the one that the ingest states.
    pub(super) time_zone: Option<String>,
    /// What follows each text at last. A mapping cannot set it; the ids of events of `stages` end with the stage.
    #[serde(skip)]
    pub(super) ending: String,
}

impl ValueSource {
    /// Returns the columns that the source names itself, without those of the parts of a date.
    pub(super) fn mentioned_columns(&self) -> Vec<&str> {
        let columns = self.column.iter().chain(self.columns.iter().flatten()).map(String::as_str);
        let in_template = self.template.iter().flat_map(|template| template_columns(template));
        let mut names: Vec<&str> = columns.chain(in_template).collect();
        for alternative in self.otherwise.iter().flat_map(|otherwise| &otherwise.0) {
            match alternative {
                Alternative::Column(name) => names.push(name),
                Alternative::Source(source) => names.extend(source.mentioned_columns()),
            }
        }
        names
    }
}

/// What takes the place of a missing value, in the order in which it is tried.
#[derive(Clone, Debug)]
pub(super) struct Otherwise(pub(super) Vec<Alternative>);

/// What takes the place of a missing value.
#[derive(Clone, Debug)]
pub(super) enum Alternative {
    /// A column, whose texts change as those of the source do.
    Column(String),
    /// A source with rules of its own.
    Source(Box<ValueSource>),
}

impl Otherwise {
    /// Returns each alternative with its key, given that of the source.
    pub(super) fn keyed(&self, key: &str) -> impl Iterator<Item = (String, &Alternative)> {
        let Self(all) = self;
        let key = format!("{key}.otherwise");
        let of = move |at: usize| if all.len() == 1 { key.clone() } else { format!("{key}[{at}]") };
        all.iter().enumerate().map(move |(at, alternative)| (of(at), alternative))
    }
}

impl<'de> Deserialize<'de> for Otherwise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OtherwiseVisitor;
        impl<'de> Visitor<'de> for OtherwiseVisitor {
            type Value = Otherwise;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a column's name, a source such as { column = \"...\", normalize = \"email\" }, or a list of them",
                )
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Otherwise, E> {
                Ok(Otherwise(vec![Alternative::Column(name.to_owned())]))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Otherwise, A::Error> {
                let source = Box::<ValueSource>::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Otherwise(vec![Alternative::Source(source)]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Otherwise, A::Error> {
                let mut all = Vec::new();
                while let Some(Otherwise(alternatives)) = list.next_element()? {
                    all.extend(alternatives);
                }
                Ok(Otherwise(all))
            }
        }
        deserializer.deserialize_any(OtherwiseVisitor)
    }
}

impl<'de> Deserialize<'de> for ValueSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SourceVisitor;
        impl<'de> Visitor<'de> for SourceVisitor {
            type Value = ValueSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a column's name, a whole number, or a table such as { column = \"...\" } or { value = \"...\" }",
                )
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<ValueSource, E> {
                Ok(ValueSource { column: Some(name.to_owned()), ..ValueSource::default() })
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<ValueSource, E> {
                Ok(ValueSource { value: Some(Constant(number.to_string())), ..ValueSource::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ValueSource, A::Error> {
                // Calls the derived function of that name, because `remote = "Self"` makes it an inherent one.
                ValueSource::deserialize(MapAccessDeserializer::new(map)).map_err(|error| {
                    // A date or time of TOML comes as a table with this key.
                    let is_time = error.to_string().contains("`$__toml_private_datetime`");
                    if is_time { Error::invalid_type(Unexpected::Other("date or time"), &self) } else { error }
                })
            }
        }
        deserializer.deserialize_any(SourceVisitor)
    }
}

/// A value in the mapping itself, as text. Numbers with a decimal point are refused, because amounts stay exact only as
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constant(pub(super) String);

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConstantVisitor;
        impl Visitor<'_> for ConstantVisitor {
            type Value = Constant;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true or false (write other numbers and dates as text)")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Constant, E> {
                Ok(Constant(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Constant, E> {
                Ok(Constant(number.to_string()))
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Constant, E> {
                Ok(Constant(truth.to_string()))
            }
        }
        deserializer.deserialize_any(ConstantVisitor)
    }
}

/// What values are brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum NormalForm {
    /// Phone numbers, as E.164.
    Phone,
    /// Addresses of mail, in small letters.
    Email,
}

/// From values of the input to values of the canonical table.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a [map], or a table of values")]
pub(super) enum ValueMap {
    Named(String),
    Inline(BTreeMap<String, Constant>),
}

/// What happens to a value that the map does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unmapped {
    /// It is an error.
    #[default]
    Refuse,
    /// It stays.
    Keep,
    /// The cell is empty.
    Empty,
    /// The row is left out.
    Skip,
}
