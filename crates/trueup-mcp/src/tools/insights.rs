//! `insights`: what was published about accounts, item by item.

use crate::Fault;
use crate::answer::{Answer, Draft, Grid};
use crate::cell::Cell;
use crate::question::{Days, accounts_json, accounts_text};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use serde_json::Value as Json;
use std::cmp::Reverse;
use trueup::query::AccountFilter;

/// The most documents that a call reads.
const MAX_DOCUMENTS: usize = 200;

/// The sections of a document that have items.
const SECTIONS: [&str; 4] = ["action_items", "deep_insights", "surprise_insights", "main_themes"];

static ARGUMENTS: [Argument; 5] = [
    Argument::of_parameter("accounts", "account"),
    Argument::new(
        "days",
        Kind::Days,
        "The days of publication, as in `query`; by default the newest document of each account.",
    ),
    Argument::new("priority", Kind::Text, "Only items of this priority, such as `high`."),
    Argument::new("search", Kind::Text, "Only items with this text, in any letter case."),
    Argument::new("limit", Kind::Count { default: 20, most: 200 }, "The most items."),
];

pub(crate) static TOOL: Tool = Tool {
    name: "insights",
    title: "Insights",
    description: "Published insights about accounts, item by item, by priority and day. They are about the period that they name, and not \
                  computed here: check a number with `query`.",
    groups: &[Group { arguments: &ARGUMENTS, is_described: true }],
    run,
};

/// One item of a document.
struct Item {
    rank: usize,
    date: String,
    cells: Vec<Cell>,
    /// All texts, in lower case.
    text: String,
    priority: String,
}

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let toolbox = call.toolbox;
    let accounts = toolbox.accounts(call.arguments.texts("accounts"))?;
    let filter = accounts.clone().map_or(AccountFilter::All, |keys| AccountFilter::Only(keys.into_iter().collect()));
    let today = toolbox.today();
    let days = call.arguments.value("days").map(|days| Days::read(days, today)?.range(today)).transpose()?;
    let found = call.dataset.insights(&filter, days, MAX_DOCUMENTS, &call.execution.interrupt)?;
    if found.matched() > MAX_DOCUMENTS {
        let message = format!("{} documents match, but at most {MAX_DOCUMENTS} are read", found.matched());
        return Err(Fault::new("too-many-documents", message, "ask for fewer accounts or days"));
    }
    let mut draft = Draft::default();
    let (mut items, mut documents) = (Vec::new(), 0_u64);
    for insight in found {
        let insight = insight?;
        documents += 1;
        let Ok(document) = serde_json::from_str::<Json>(&insight.document) else { continue };
        let date = insight.date.to_string();
        for section in SECTIONS {
            let of_section = document.get(section).and_then(Json::as_array).into_iter().flatten();
            items.extend(of_section.map(|item| flattened(&insight.account, &date, section, item)));
        }
    }
    if documents == 0 {
        draft.note("no insight was published for these accounts and days; that says nothing about their numbers");
    }
    let wanted = |name: &str| call.arguments.text(name).map(str::to_lowercase);
    let (priority, search) = (wanted("priority"), wanted("search"));
    let count = items.len();
    items.retain(|item: &Item| {
        priority.as_ref().is_none_or(|priority| item.priority == *priority)
            && search.as_ref().is_none_or(|search| item.text.contains(search.as_str()))
    });
    if items.is_empty() && count > 0 {
        draft.note(format!("none of {count} items has this priority and text"));
    }
    items.sort_by_key(|item| (item.rank, Reverse(item.date.clone())));
    let range = days.map_or_else(|| "the newest of each account".to_owned(), |days| days.to_string());
    draft.head.push(format!("{} items of {documents} insights, {range}", items.len()));
    draft.head.push(format!("{}, version {}", accounts_text(call, accounts.as_deref())?, toolbox.version()));
    draft.data.insert("accounts".to_owned(), accounts_json(accounts.as_deref()));
    draft.data.insert("version".to_owned(), toolbox.version().into());
    let columns = ["account", "published", "section", "priority", "title", "summary", "action", "impact"];
    let (all, limit) = (items.len(), call.arguments.count("limit"));
    let rows = items.into_iter().take(limit).map(|item| item.cells).collect();
    draft.grid = Some(Grid::new(&columns, rows, all, "narrow with `accounts`, `priority` or `search`"));
    Ok(draft.finish())
}

/// Returns an item of a section of a document.
fn flattened(account: &str, date: &str, section: &str, item: &Json) -> Item {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| item.get(name).and_then(Json::as_str));
        found.map_or_else(Cell::null, Cell::text)
    };
    let priority = item.get("priority").and_then(Json::as_str).unwrap_or_default().to_lowercase();
    let rank = ["critical", "high", "medium", "low"].iter().position(|known| *known == priority).unwrap_or(4);
    let impact = item.get("impact").and_then(|impact| impact.get("display")).and_then(Json::as_str);
    let cells = vec![
        Cell::text(account),
        Cell::word(date),
        Cell::word(section),
        if priority.is_empty() { Cell::null() } else { Cell::text(&priority) },
        text(&["title", "theme", "name"]),
        text(&["summary", "insight", "overview"]),
        text(&["action", "takeaway", "suggested_action"]),
        impact.map_or_else(Cell::null, Cell::text),
    ];
    Item { rank, date: date.to_owned(), cells, text: item.to_string().to_lowercase(), priority }
}
