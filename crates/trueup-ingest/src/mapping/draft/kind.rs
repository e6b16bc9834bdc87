//! What the rows of a file are: events, spend, or rows that are joined to those of another file.

use super::export::Recognition;
use super::formats::{AmountForm, DateForm};
use super::months::MonthColumns;
use super::names::{is_former, is_id_name, is_never_stage, is_weak_stage, rank, stages_of};
use super::sample::{ColumnSample, FileSample};
use hashbrown::HashSet;

/// The stage of conversions.
pub(super) const LEAD: &str = "lead-originated";

/// What the rows of a file are.
pub(super) enum FileKind {
    /// Each row is an event. `stage` is the column that looks like its stage.
    Events {
        stage: Option<String>,
    },
    /// Each row is a customer, with a date for each stage. `stage` is the column that looks like the last one.
    Customers {
        stage: Option<String>,
    },
    /// Each row is the spend of a day.
    Spend,
    /// Each row has an amount for each of several months.
    Months(MonthColumns),
    /// An export of a known product.
    Export,
    /// Its rows are joined to those of another file.
    Joined(JoinKey),
    Unknown,
}

/// How a file is joined to another one.
pub(super) struct JoinKey {
    /// The number of the other file, counted from 0.
    pub(super) to: usize,
    /// The column of the other file.
    pub(super) here: String,
    /// The column of the joined file; no two of its rows have the same value.
    pub(super) there: String,
    /// The distinct sampled values of `here` that `there` does not have.
    pub(super) unmatched: usize,
    /// Whether the other file has the phone numbers or addresses of customers, which this one lacks.
    pub(super) has_customers: bool,
}

/// Returns the kind of each file, given what is known of them.
pub(super) fn kinds(samples: &[FileSample], recognitions: &[Recognition]) -> Vec<FileKind> {
    let kind = |(sample, recognition): (&FileSample, &Recognition)| match recognition {
        Recognition::Found(_) => FileKind::Export,
        Recognition::Lacking(_) | Recognition::None => own_kind(sample),
    };
    let mut kinds: Vec<FileKind> = samples.iter().zip(recognitions).map(kind).collect();
    for at in 0..samples.len() {
        if matches!(kinds[at], FileKind::Unknown) {
            let others =
                (0..samples.len()).filter(|other| !matches!(kinds[*other], FileKind::Unknown | FileKind::Joined(_)));
            let found = others
                .filter_map(|other| join(&samples[at], &samples[other], other, &|_| true))
                .min_by_key(|join| join.unmatched);
            if let Some(join) = found {
                kinds[at] = FileKind::Joined(join);
            }
        }
    }
    kinds
}

fn own_kind(sample: &FileSample) -> FileKind {
    let dates: Vec<&ColumnSample> = sample.columns.iter().filter(|column| DateForm::of(column).is_some()).collect();
    if dates.is_empty() {
        return MonthColumns::of(sample).map_or(FileKind::Unknown, FileKind::Months);
    }
    let stage = stage_column(sample);
    // What was created or changed may be a row of a log, too.
    let mut stages: Vec<&str> = dates.iter().flat_map(|column| only_stage(&column.name)).collect();
    stages.retain(|stage| *stage != LEAD);
    stages.sort_unstable();
    stages.dedup();
    let is_of =
        |column: &ColumnSample, name: &str| rank(name, &column.name).is_some() && AmountForm::of(column).is_some();
    let has = |name: &&str| sample.columns.iter().any(|column| is_of(column, name));
    // Spend next to clicks or impressions is spend, whatever a column of results such as `actions:lead` says.
    let spends = ["adSpend", "clicks", "impressions"].iter().filter(|name| has(name)).count();
    if spends > 1 || (spends == 1 && stage.is_none_or(is_doubtful_stage)) {
        return FileKind::Spend;
    }
    let is_wide =
        stages.len() > 1 || (stage.is_none() && dates.iter().any(|column| !stages_of(&column.name).is_empty()));
    let stage = stage.map(|stage| stage.name.clone());
    if is_wide { FileKind::Customers { stage } } else { FileKind::Events { stage } }
}

/// Returns the stage that a text means, if it means a single one.
pub(super) fn only_stage(text: &str) -> Option<&'static str> {
    if let [stage] = stages_of(text)[..] { Some(stage) } else { None }
}

/// The most distinct values of a column of stages.
const MAX_STAGES: usize = 60;

/// Returns whether the values of a column may be no stages although words of them mean stages: one value on all rows
/// does not say what happened to each, and what is `paid` or `complete` may be a payment or a form.
pub(super) fn is_doubtful_stage(column: &ColumnSample) -> bool {
    let mut stages = column.texts().filter(|text| !stages_of(text).is_empty());
    (column.values.len() == 1 && column.filled > 1) || stages.all(is_weak_stage)
}

/// Returns the column that looks most like the stage of an event: by its values, and then by its name. A column whose
/// name says that it holds what was before comes after all others, and so does one that may hold no stages.
fn stage_column(sample: &FileSample) -> Option<&ColumnSample> {
    let score = |column: &ColumnSample| {
        let name = rank("type", &column.name);
        let few = column.data_type.is_string() && (1..=MAX_STAGES).contains(&column.values.len()) && !column.has_more;
        let stages = column.texts().filter(|text| !stages_of(text).is_empty()).count();
        let percent = stages * 100 / column.values.len().max(1);
        (few && (percent >= 50 || (name.is_some() && stages > 0))).then_some((
            !is_doubtful_stage(column),
            !is_former(&column.name),
            percent,
            name.is_some(),
        ))
    };
    let columns = sample.columns.iter().filter(|column| !is_never_stage(&column.name));
    let scored = columns.filter_map(|column| Some((score(column)?, column)));
    scored.max_by_key(|(score, _)| *score).map(|(_, column)| column)
}

/// Finds the file of other events that says who the customers of a file are, which has neither phone numbers nor
/// addresses of mail: both have the same numbers of jobs, for example. Returns the number of that file, too.
pub(super) fn join_of_customers(samples: &[FileSample], kinds: &[FileKind], at: usize) -> Option<(usize, JoinKey)> {
    let has_contacts = |sample: &FileSample| sample.columns.iter().any(|column| column.contact().is_some());
    if !matches!(kinds[at], FileKind::Events { .. } | FileKind::Customers { .. }) || has_contacts(&samples[at]) {
        return None;
    }
    let is_other = |other: &usize| {
        let is_of_events =
            matches!(kinds[*other], FileKind::Events { .. } | FileKind::Customers { .. } | FileKind::Export);
        *other != at && is_of_events && has_contacts(&samples[*other])
    };
    let others = (0..samples.len()).filter(is_other);
    let found = others.filter_map(|other| Some((other, join(&samples[other], &samples[at], at, &is_id_name)?)));
    let named = found.filter(|(_, join)| join.here == join.there);
    let (other, join) = named.min_by_key(|(_, join)| join.unmatched)?;
    Some((other, JoinKey { has_customers: true, ..join }))
}

/// Finds the columns by which the rows of `there` are joined to those of `here`, among columns of `there` with
/// certain names.
fn join(there: &FileSample, here: &FileSample, to: usize, is_key: &dyn Fn(&str) -> bool) -> Option<JoinKey> {
    let unique = there.columns.iter().filter(|column| column.is_unique() && !column.has_more && is_key(&column.name));
    let keys = unique.flat_map(|column| {
        let known: HashSet<&str> = column.texts().collect();
        here.columns.iter().filter_map(move |other| {
            let unmatched = other.texts().filter(|text| !known.contains(text)).count();
            let matched = other.values.len() - unmatched;
            // A name that differs needs every value to match.
            let fits = matched > 0 && (unmatched == 0 || (other.name == column.name && matched >= unmatched));
            let (here, there) = (other.name.clone(), column.name.clone());
            fits.then_some((other.name != column.name, JoinKey { to, here, there, unmatched, has_customers: false }))
        })
    });
    keys.min_by_key(|(has_other_name, join)| (*has_other_name, join.unmatched)).map(|(_, join)| join)
}
