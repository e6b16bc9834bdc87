//! `find_fields`: metrics and dimensions by words, synonyms or names.

use crate::answer::{Answer, Draft, Grid};
use crate::cell::Cell;
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, personal};
use trueup::field::FieldDescription;
use trueup::{Dataset, dictionary};

static ARGUMENTS: [Argument; 4] = [
    Argument::new("search", Kind::Text, "Words of a name, a definition or a synonym, such as `cost per lead`."),
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

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let dataset = &*call.toolbox.dataset;
    let mut draft = Draft::default();
    let kind = call.arguments.text("type");
    let is_wanted = |field: &FieldDescription<'_>| kind.is_none_or(|kind| field.kind() == kind);
    let names = call.arguments.texts("names").unwrap_or_default();
    let mut found: Vec<FieldDescription<'_>> = Vec::new();
    if names.is_empty() {
        let all = FieldDescription::all(Some(dataset)).into_iter().filter(is_wanted);
        match call.arguments.text("search") {
            Some(search) => found.extend(matching(dataset, all.collect(), search)),
            None => found.extend(all),
        }
        if found.is_empty() {
            draft.note("no field has these words; try fewer or other words");
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
    let all = found.len();
    let rows = found.iter().take(call.arguments.count("limit")).map(|field| cells(dataset, field)).collect();
    let columns = ["name", "type", "unit", "formula", "addsUp", "better", "definition", "synonyms"];
    draft.head.push(format!("{all} fields, version {}", call.toolbox.version()));
    draft.data.insert("version".to_owned(), call.toolbox.version().into());
    draft.grid = Some(Grid::new(&columns, rows, all, "search with more words, or name fields in `names`"));
    Ok(draft.finish())
}

/// Returns what an answer says of a field.
pub(crate) fn cells(dataset: &Dataset, field: &FieldDescription<'_>) -> Vec<Cell> {
    let is_built_in = dictionary::field(field.name).is_some();
    // Names and definitions that are not of the dictionary were written by others.
    let text = |text: &str| if is_built_in { Cell::word(text) } else { Cell::text(text) };
    let metric = field.metric();
    let of_metric = |text: Option<&str>| text.map_or_else(Cell::null, Cell::word);
    let mut definition = field.definition().to_owned();
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
        text(field.name),
        Cell::word(field.kind()),
        of_metric(metric.as_ref().map(|metric| metric.unit.name())),
        of_metric(metric.as_ref().map(|metric| metric.formula.as_str())),
        of_metric(metric.as_ref().map(|metric| metric.adds_up)),
        of_metric(metric.as_ref().map(|metric| metric.direction.name())),
        text(&definition),
        Cell::word(synonyms.join(", ")),
    ]
}

/// Returns the fields that match a search, the best first: fields whose names or synonyms are similar, then fields that
/// have every word.
fn matching<'a>(dataset: &Dataset, fields: Vec<FieldDescription<'a>>, search: &str) -> Vec<FieldDescription<'a>> {
    let similar = dataset.similar_names(search);
    let words: Vec<String> = search.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let rank = |field: &FieldDescription<'_>| {
        if field.name.eq_ignore_ascii_case(search) {
            return Some(0);
        }
        if let Some(place) = similar.iter().position(|name| name == field.name) {
            return Some(1 + place);
        }
        let has_all = |text: &str| {
            let text = text.to_lowercase();
            !words.is_empty() && words.iter().all(|word| text.contains(word.as_str()))
        };
        let synonyms = dictionary::synonyms(field.name).collect::<Vec<_>>().join(" ");
        if has_all(&format!("{} {} {synonyms}", field.name, field.display_name())) {
            return Some(10);
        }
        has_all(&format!("{} {} {synonyms} {}", field.name, field.display_name(), field.definition())).then_some(20)
    };
    let mut ranked: Vec<(usize, FieldDescription<'a>)> =
        fields.into_iter().filter_map(|field| Some((rank(&field)?, field))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, field)| field).collect()
}
