//! Drafts the dimensions that events and spend share, and asks where their values differ.

use super::{Drafted, TableDraft, counted};
use crate::mapping::draft::sample::ColumnSample;
use crate::mapping::draft::text::quoted;
use hashbrown::HashSet;
use trueup_core::Shown;
use trueup_core::model::ACCOUNT;

/// A dimension of events or of spend.
pub(super) struct Dimension<'a> {
    name: String,
    is_spend: bool,
    /// The name of the file.
    file: &'a str,
    source: DimensionSource<'a>,
}

/// Where the values of a dimension come from.
#[derive(Clone, Copy)]
pub(super) enum DimensionSource<'a> {
    Column(&'a ColumnSample),
    /// Every row has this value.
    Constant(&'static str),
}

impl<'a> DimensionSource<'a> {
    /// Returns the distinct values.
    fn texts(&self) -> Vec<&'a str> {
        match *self {
            Self::Column(column) => column.texts().collect(),
            Self::Constant(value) => vec![value],
        }
    }

    /// Returns the name of the column, or the value of every row.
    fn shown(&self) -> String {
        match self {
            Self::Column(column) => quoted(&column.name),
            Self::Constant(_) => "the value of every row".to_owned(),
        }
    }

    fn examples(&self) -> String {
        match self {
            Self::Column(column) => column.examples(),
            Self::Constant(value) => format!("`{value}`"),
        }
    }

    /// Returns whether this source and another one both have values, and have none in common.
    fn has_other_values(&self, other: &DimensionSource<'_>) -> bool {
        let known: HashSet<&str> = self.texts().into_iter().collect();
        let others = other.texts();
        !others.is_empty() && !known.is_empty() && others.iter().all(|text| !known.contains(text))
    }
}

impl<'a> TableDraft<'a, '_> {
    /// Writes the dimensions that events and spend share. Returns the names of the partly empty ones.
    pub(super) fn dimensions(&mut self, drafted: &mut Drafted<'a>, is_spend: bool) -> Vec<String> {
        let mut partly_empty = Vec::new();
        for name in ["attributionChannel", "attributionCategory", "campaign"] {
            let Some(column) = self.best(name) else { continue };
            self.used.insert(column.name.clone());
            if column.empty > 0 && column.filled > 0 {
                partly_empty.push(name.to_owned());
            }
            self.shared_dimension(name, DimensionSource::Column(column), drafted, is_spend);
        }
        partly_empty
    }

    /// Writes a dimension that events and spend share.
    pub(super) fn shared_dimension(
        &mut self,
        name: &str,
        source: DimensionSource<'a>,
        drafted: &mut Drafted<'a>,
        is_spend: bool,
    ) {
        // One file of the other kind with a value in common is enough. Accounts are those of every file.
        let is_compared = |it: &&Dimension<'_>| it.name == name && (name == ACCOUNT || it.is_spend != is_spend);
        let mut others = drafted.dimensions.iter().filter(is_compared);
        let other = others.clone().next().filter(|_| others.all(|it| it.source.has_other_values(&source)));
        match (other, source) {
            (Some(other), _) => self.other_values(name, source, other),
            (None, DimensionSource::Constant(value)) => {
                self.text.line(&format!("{name} = {{ value = {} }}", quoted(value)));
            }
            (None, DimensionSource::Column(column)) => {
                let has_asked = name == ACCOUNT && self.asks_spellings(column);
                let empty = match column.empty {
                    0 => String::new(),
                    rows => format!("; empty on {}", counted(rows)),
                };
                let line = format!("{name} = {}", quoted(&self.named(column)));
                if !has_asked {
                    self.text.noted(&line, &format!("by its name; {}{empty}", column.examples()));
                }
            }
        }
        let file = &self.sample.file_name;
        drafted.dimensions.push(Dimension { name: name.to_owned(), is_spend, file, source });
    }

    /// Asks about accounts that may be one, if some may. Returns whether it has asked.
    fn asks_spellings(&mut self, column: &ColumnSample) -> bool {
        let named = self.named(column);
        let (Some((other, first)), Some(one)) = (column.spellings().first().copied(), one_spelling(&named, column))
        else {
            return false;
        };
        let question = format!(
            "are `{}` and `{}` of {} one account? The values differ only in case, blanks, punctuation or accents.",
            Shown(first),
            Shown(other),
            quoted(&column.name)
        );
        let own = format!("{ACCOUNT} = {}", quoted(&named));
        let answers = [(format!("{ACCOUNT} = {one}"), "yes".to_owned()), (own, "no".to_owned())];
        self.text.question(&question, &answers);
        true
    }

    /// Asks about a dimension that has no value in common with that of another table.
    fn other_values(&mut self, name: &str, source: DimensionSource<'_>, other: &Dimension<'_>) {
        const LISTED: usize = 20;
        let question = format!(
            "{} and {} of {} have no value in common: {}, but {}. A row of a report has leads and spend only where the values are equal. \
             Which values mean the same?",
            source.shown(),
            other.source.shown(),
            quoted(other.file),
            source.examples(),
            other.source.examples()
        );
        let answers = match source {
            DimensionSource::Column(column) => {
                let named = quoted(&self.named(column));
                let texts = column.texts().take(LISTED);
                let map: Vec<String> = texts.map(|text| format!("{} = \"...\"", quoted(text))).collect();
                let keeps = column.values.len() > LISTED || column.has_more;
                let others = if keeps { ", unmapped = \"keep\"" } else { "" };
                vec![
                    (format!("{name} = {{ column = {named}, map = {{ {} }}{others} }}", map.join(", ")), String::new()),
                    (format!("{name} = {named}"), "none of them".to_owned()),
                ]
            }
            DimensionSource::Constant(value) => {
                let line = |value: &str| format!("{name} = {{ value = {} }}", quoted(value));
                let others = other.source.texts().into_iter().take(LISTED).map(|text| (line(text), String::new()));
                others.chain([(line(value), "none of them".to_owned())]).collect()
            }
        };
        self.text.question(&question, &answers);
    }
}

/// Returns the source that gives one value to the values of a column that are spellings of one; `None` if none are.
pub(super) fn one_spelling(named: &str, column: &ColumnSample) -> Option<String> {
    let spellings = column.spellings();
    let map: Vec<String> =
        spellings.iter().map(|(other, first)| format!("{} = {}", quoted(other), quoted(first))).collect();
    let source = || format!("{{ column = {}, map = {{ {} }}, unmapped = \"keep\" }}", quoted(named), map.join(", "));
    (!map.is_empty()).then(source)
}
