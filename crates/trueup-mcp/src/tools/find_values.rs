//! `find_values`: the values of a dimension, with the number of events of each.

use crate::answer::{Answer, Draft, Grid};
use crate::cell::{Cell, is_shown_as, quoted};
use crate::question::{Days, accounts_json, accounts_text};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, personal};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use trueup::field::FieldDescription;
use trueup::query::{DateRange, EventsQuery};
use trueup::{Day, QueryError, Shown, Value, most_similar};

static ARGUMENTS: [Argument; 5] = [
    Argument::new("field", Kind::Text, "A dimension, such as `campaign` or `account`.").required(),
    Argument::new("search", Kind::Text, "A part of a value, in any letter case."),
    Argument::new("days", Kind::Days, "As in `query`; by default all days of the data."),
    Argument::of_parameter("accounts", "account"),
    Argument::new("limit", Kind::Count { default: 20, most: 200 }, "The most values, the most frequent first."),
];

pub(crate) static TOOL: Tool = Tool {
    name: "find_values",
    title: "Find values",
    description: "The values of a dimension with their numbers of events, or the nearest to a text that none has. Use it before a condition.",
    groups: &[Group { arguments: &ARGUMENTS, is_described: true }],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let toolbox = call.toolbox;
    let dataset = &call.dataset;
    let field = call.arguments.text("field").unwrap_or_default();
    if !dataset.has_field(field) {
        let fields = dataset.unknown([field]);
        return Err(QueryError::UnknownFields { fields }.into());
    }
    if dataset.is_metric(field) {
        let message = format!("`{}` is a metric, and only dimensions have values to find", Shown(field));
        return Err(Fault::new("wrong-argument", message, "ask for its numbers with `query`"));
    }
    if !toolbox.settings.allow_personal {
        personal::refuse(dataset, [field])?;
    }
    let accounts = toolbox.accounts(call.arguments.texts("accounts"))?;
    let all = || Ok(toolbox.days(&call.execution)?.unwrap_or(DateRange { start: Day::MIN, end: Day::MIN }));
    let range = match call.arguments.value("days") {
        Some(days) => Days::read(days, toolbox.today())?.range(toolbox.today())?,
        None => all().map_err(|error: trueup::Error| Fault::from(error))?,
    };
    // A value that only spend has gets a row with a metric of spend, which is none of money.
    let is_in_spend = FieldDescription::of(field, Some(dataset)).splits_spend() == Some(true);
    let fields = [field, "eventCount"].into_iter().chain(is_in_spend.then_some("clicks"));
    let query = EventsQuery::new(fields, range.start, range.end).allow_long_total();
    let query = accounts.iter().fold(query, EventsQuery::accounts);
    let table = dataset.run(&query, call.execution.clone())?;
    let mut values: Vec<(&str, u64)> = (0..table.len())
        .filter_map(|row| match (table.value(row, field)?, table.value(row, "eventCount")?) {
            (Value::Text(text), Value::Count(count)) => Some((text, count)),
            _ => None,
        })
        .collect();
    values.sort_by_key(|(_, count)| Reverse(*count));
    // Events without a value are a row, and no value.
    let without = values.iter().position(|(text, _)| text.is_empty()).map(|at| values.remove(at).1);
    let mut draft = Draft::default();
    let is_account = field == "account" || field == "accountKey";
    let name = |text: &str| if is_account { dataset.accounts().name(text).to_lowercase() } else { String::new() };
    if let Some(search) = call.arguments.text("search").filter(|search| !search.is_empty()) {
        let folded = search.to_lowercase();
        let has = |text: &str| {
            text.to_lowercase().contains(&folded) || name(text).contains(&folded) || is_shown_as(text, search)
        };
        let found: Vec<(&str, u64)> = values.iter().filter(|(text, _)| has(text)).copied().collect();
        if found.is_empty() {
            let keys: BTreeSet<String> = values.iter().map(|(text, _)| (*text).to_owned()).collect();
            let nearest = match is_account {
                true => toolbox.similar_accounts(&keys, search),
                false => most_similar(search, keys.iter().map(String::as_str)),
            };
            draft.note(format!(
                "no value of `{field}` has the text {}{}",
                quoted(search),
                if nearest.is_empty() { "; these are the most frequent ones" } else { "; these are the nearest" }
            ));
            if !nearest.is_empty() {
                values.retain(|(text, _)| nearest.contains(text));
            }
        } else {
            values = found;
        }
    }
    if let Some(events) = without.filter(|events| *events > 0) {
        draft.note(format!("{events} events have nothing in `{field}`; `{field} is empty` selects them"));
    }
    let accounts_shown = accounts_text(call, accounts.as_deref())?;
    draft.head.push(format!(
        "{} values of {field}, {range}, {accounts_shown}, version {}",
        values.len(),
        toolbox.version()
    ));
    draft.data.insert(
        "days".to_owned(),
        serde_json::json!({ "start": range.start.to_string(), "end": range.end.to_string() }),
    );
    draft.data.insert("accounts".to_owned(), accounts_json(accounts.as_deref()));
    draft.data.insert("version".to_owned(), toolbox.version().into());
    let shown = values.iter().take(call.arguments.count("limit"));
    let rows: Vec<Vec<Cell>> = shown
        .map(|(text, count)| {
            let name = is_account.then(|| Cell::text(dataset.accounts().name(text)));
            [Cell::text(text), Cell::count(*count)].into_iter().chain(name).collect()
        })
        .collect();
    let columns: Vec<&str> = [field, "events"].into_iter().chain(is_account.then_some("name")).collect();
    draft.grid = Some(Grid::new(&columns, rows, values.len(), "narrow with `search`"));
    Ok(draft.finish())
}
