//! `find_fields`: metrics and dimensions by words, synonyms or names.

use crate::answer::{AllRows, Answer, Draft, Grid};
use crate::cell::Cell;
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, personal};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use trueup::dictionary::{Additivity, Field, FieldKind, Formula, Measure, Metric};
use trueup::field::{FieldDescription, MetricDescription};
use trueup::{Dataset, dictionary, words};

static ARGUMENTS: [Argument; 4] = [
    Argument::new("search", Kind::Text, "Words, such as `cost per lead`."),
    Argument::new("names", Kind::Names, "Exact names to describe."),
    Argument::new("type", Kind::OneOf(&["metric", "dimension"]), "Only metrics, or only dimensions."),
    Argument::new("limit", Kind::Count { default: 15, most: 100 }, "The most fields."),
];

pub(crate) static TOOL: Tool = Tool {
    name: "find_fields",
    title: "Find fields",
    description: "Metrics and dimensions: unit, definition, formula, how values add up, which are better, synonyms.",
    groups: &[Group { arguments: &ARGUMENTS, is_described: true }],
    run,
};

/// What answers a search that is for no field: groups of words, of which a search has all of one group.
static ANSWERS: [(&[&str], &str); 6] = [
    (
        &["target", "budget", "goal", "quota", "pace"],
        "targets and budgets are no fields: `query` with `targets: true` has m.target and m.pace of each metric m that has \
         targets; `overview` names these metrics",
    ),
    (
        &["repeat", "returning", "second job", "second time"],
        "customers who came back: `query` of `eventCount` by `opportunityId` with where `type = closed` and having \
         `eventCount >= 2`; each row is a customer",
    ),
    (
        &["weekday", "day week"],
        "no field is the day of the week: `query` by `date` has each day, and metrics that add up across intervals add up \
         over the days of a weekday",
    ),
    (
        &["share total", "percent total", "percentage total", "share whole"],
        "a share of a total is no field: for a metric that adds up it is the value of a row over that of `total`, in one \
         answer of `query`",
    ),
    (
        &["lead sold rate", "lead closed rate", "lead close rate"],
        "the share of leads that are sold to, or closed, is no field: it is `soldLeads`, or `closedLeads`, over `leads`, of \
         one row of `query`",
    ),
    (
        &["profit", "margin"],
        "the data have no costs of the work, and so no profit; `roasClosed` is closed revenue over spend",
    ),
];

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let dataset = &*call.dataset;
    let mut draft = Draft::default();
    let kind = call.arguments.text("type");
    let is_wanted = |field: &FieldDescription<'_>| kind.is_none_or(|kind| field.kind() == kind);
    let names = call.arguments.texts("names").unwrap_or_default();
    let mut found: Vec<FieldDescription<'_>> = Vec::new();
    if names.is_empty() {
        found.extend(FieldDescription::all(Some(dataset)).into_iter().filter(is_wanted));
        if let Some(search) = call.arguments.text("search") {
            found = matching(dataset, found, search);
            let of_search = words(search);
            let has = |group: &&str| group.split(' ').all(|word| of_search.contains(word));
            let answers = ANSWERS.iter().filter(|(groups, _)| groups.iter().any(has));
            answers.for_each(|(_, answer)| draft.note(*answer));
            // A field that is spelled so, and is not found, is a column that the data do not have.
            let is_absent = |name: &str| {
                is_wanted(&FieldDescription::of(name, Some(dataset)))
                    && !found.iter().any(|field| field.name == name)
                    && (found.is_empty() || has_synonym(name, search))
            };
            let absent = dataset.similar_names(search).into_iter().filter(|name| is_absent(name));
            let absent: Vec<String> = absent.map(|name| format!("`{name}`")).collect();
            if !absent.is_empty() {
                draft.note(format!("the data have no such column: {} of the dictionary", absent.join(", ")));
            } else if found.is_empty() {
                let more = if draft.notes.is_empty() { "; try fewer or other words" } else { "" };
                draft.note(format!("no field has these words{more}"));
            }
        }
    } else {
        if let Some(name) = names.iter().find(|name| !dataset.has_field(name)) {
            let unknown = dataset.unknown([name.as_str()]).first().map(ToString::to_string).unwrap_or_default();
            let message = format!("neither the dictionary nor the dataset knows {unknown}");
            return Err(
                Fault::new("unknown-fields", message, "search with `search`").example(r#"{"search": "booking"}"#)
            );
        }
        found.extend(names.iter().map(|name| FieldDescription::of(name, Some(dataset))).filter(is_wanted));
    }
    let shown: Vec<FieldDescription<'_>> = found.iter().take(call.arguments.count("limit")).copied().collect();
    if let Some(parts) = parts(dataset, &shown) {
        draft.note(parts);
    }
    let rows = shown.iter().map(|field| cells(dataset, field)).collect();
    let columns = ["name", "type", "unit", "formula", "addsUp", "better", "definition", "synonyms"];
    draft.head.push(format!("{} fields, version {}", found.len(), call.toolbox.version()));
    draft.data.insert("version".to_owned(), call.toolbox.version().into());
    let all = found.iter().map(name).collect();
    let grid = Grid::new(&columns, rows, found.len(), "search with more words, or name fields in `names`");
    draft.grid = Some(Grid { all: AllRows::Named(all), ..grid });
    Ok(draft.finish())
}

/// Says which parts of the formulas of metrics cannot be asked for by the names that they have there.
fn parts(dataset: &Dataset, fields: &[FieldDescription<'_>]) -> Option<String> {
    let measures = fields.iter().filter_map(FieldDescription::metric).flat_map(|metric| metric.measures);
    let named: BTreeSet<String> = measures
        .filter(|measure| !dataset.is_metric(measure.name()))
        .map(|measure| match asked_as(measure) {
            Some(name) => format!("`{}` (ask for `{name}`)", measure.name()),
            None => format!("`{}`", measure.name()),
        })
        .collect();
    let named = Vec::from_iter(named);
    (!named.is_empty()).then(|| format!("parts of formulas that are no metrics: {}", named.join(", ")))
}

/// Returns the metric that is a part of formulas alone, or that a synonym of its name means.
fn asked_as(measure: Measure) -> Option<&'static str> {
    let is_alone = |field: &&Field| match &field.kind {
        FieldKind::Metric(Metric { formula: Formula::Amount([alone]), .. }) => *alone == measure,
        _ => false,
    };
    let is_synonym = |field: &&Field| has_synonym(field.name, measure.name());
    let field = dictionary::all_fields().find(is_alone).or_else(|| dictionary::all_fields().find(is_synonym))?;
    Some(field.name)
}

/// Returns whether a text is a synonym of a field. Case, blanks and punctuation do not matter.
fn has_synonym(field: &str, text: &str) -> bool {
    let plain = |text: &str| text.chars().filter(|char| char.is_alphanumeric()).collect::<String>().to_lowercase();
    dictionary::synonyms(field).any(|synonym| plain(synonym) == plain(text))
}

/// Returns the name of a field. One that is not of the dictionary was written by others.
fn name(field: &FieldDescription<'_>) -> Cell {
    if dictionary::field(field.name).is_some() { Cell::word(field.name) } else { Cell::text(field.name) }
}

/// Returns what an answer says of a field.
pub(crate) fn cells(dataset: &Dataset, field: &FieldDescription<'_>) -> Vec<Cell> {
    let is_built_in = dictionary::field(field.name).is_some();
    let metric = field.metric();
    let of_metric = |text: Option<&str>| text.map_or_else(Cell::null, Cell::word);
    let mut definition = match &metric {
        Some(metric) if is_built_in => over_nothing(field.definition(), metric),
        _ => field.definition().to_owned(),
    };
    let values = field.values();
    if !values.is_empty() {
        definition += &format!(" Values: {}.", values.join(", "));
    }
    if field.splits_spend() == Some(false) {
        definition += " Spend is not split by it.";
    }
    if personal::is_personal(dataset, field.name) {
        definition += " Personal: answered only if the server allows it.";
    }
    let synonyms: Vec<&str> = dictionary::synonyms(field.name).collect();
    vec![
        name(field),
        Cell::word(field.kind()),
        of_metric(metric.as_ref().map(|metric| metric.unit.name())),
        of_metric(metric.as_ref().map(|metric| metric.formula.as_str())),
        of_metric(metric.as_ref().map(|metric| metric.adds_up)),
        of_metric(metric.as_ref().map(|metric| metric.direction.name())),
        // Definitions that are not of the dictionary were written by others.
        if is_built_in { Cell::word(definition) } else { Cell::text(&definition) },
        Cell::word(synonyms.join(", ")),
    ]
}

/// Returns the definition of a metric as answers have its values: null where the service answers a ratio, or a
/// percentile, over nothing with 0.
fn over_nothing(definition: &str, metric: &MetricDescription) -> String {
    if metric.additivity != Additivity::NOWHERE {
        return definition.to_owned();
    }
    definition
        // An account without lead grading has conversions, of which 0 are graded.
        .replace(" 0 without conversions, and for", " Null without conversions; 0 for")
        .replace(" 0 without ", " Null without ")
        .replace(" 0 if none ", " Null if none ")
}

/// Words that do not tell one search from another.
const FILLERS: [&str; 26] = [
    "a", "an", "and", "are", "by", "did", "do", "for", "how", "in", "is", "it", "many", "much", "my", "nr", "number",
    "of", "on", "our", "per", "the", "to", "we", "what", "who",
];
/// The fewest characters of a word that stands for a longer word that begins with it.
const MIN_BEGINNING: usize = 4;

/// The words of a field.
struct FieldWords {
    /// Those of its names and synonyms.
    names: BTreeSet<String>,
    definition: BTreeSet<String>,
}

impl FieldWords {
    fn new(field: &FieldDescription<'_>) -> Self {
        let mut names = words(field.name);
        names.extend(words(field.display_name()));
        names.extend(dictionary::synonyms(field.name).flat_map(words));
        Self { names, definition: words(field.definition()) }
    }

    /// Returns how well the field has a word: 0 if it has not; a whole word of a name is better than the beginning of
    /// one, and any of these is better than a word of the definition.
    fn has(&self, word: &str) -> usize {
        let begins = |known: &String| {
            known.len().min(word.len()) >= MIN_BEGINNING
                && (known.starts_with(word) || word.starts_with(known.as_str()))
        };
        let of = |words: &BTreeSet<String>| match words.contains(word) {
            true => 2,
            false => usize::from(words.iter().any(begins)),
        };
        match of(&self.names) {
            0 => of(&self.definition),
            of_names => 2 + of_names,
        }
    }
}

/// Returns the fields that match a search, the best first: the field of that name and those of which it is a synonym,
/// then the ones with most of its words. If none has all words, fields that are spelled alike come before.
fn matching<'a>(dataset: &Dataset, fields: Vec<FieldDescription<'a>>, search: &str) -> Vec<FieldDescription<'a>> {
    let similar = dataset.similar_names(search);
    let mut wanted = words(search);
    if wanted.iter().any(|word| !FILLERS.contains(&word.as_str())) {
        wanted.retain(|word| !FILLERS.contains(&word.as_str()));
    }
    let found = |field: &FieldDescription<'_>| {
        let of_field = FieldWords::new(field);
        let has = wanted.iter().map(|word| of_field.has(word)).filter(|has| *has > 0);
        has.fold((0, 0), |(count, sum), has| (count + 1, sum + has))
    };
    let fields: Vec<(FieldDescription<'a>, (usize, usize))> =
        fields.into_iter().map(|field| (field, found(&field))).collect();
    let most = fields.iter().map(|(_, (count, _))| *count).max().unwrap_or_default();
    // Spelling says less than words do: `cancel` is spelled much like `channel`.
    let is_spelled_alike = |name: &str| most < wanted.len() || has_synonym(name, search);
    let rank = |field: &FieldDescription<'_>, (count, sum): (usize, usize)| {
        let place = similar.iter().position(|name| name == field.name);
        let stage = match place {
            _ if field.name.eq_ignore_ascii_case(search) => 0,
            Some(place) if is_spelled_alike(field.name) => 1 + place,
            _ if count == most && most > 0 => similar.len() + 1,
            _ => return None,
        };
        // Of two fields with the same words, the one that has fewer others is rather meant.
        Some((stage, Reverse(sum), words(field.name).len()))
    };
    let mut ranked: Vec<_> =
        fields.into_iter().filter_map(|(field, found)| Some((rank(&field, found)?, field))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, field)| field).collect()
}
