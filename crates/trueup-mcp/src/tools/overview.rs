//! `overview`: who asks, what they may see, and where to begin.

use crate::Fault;
use crate::answer::{Answer, Draft, Grid};
use crate::cell::{Cell, quoted};
use crate::toolbox::{Call, Tool};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trueup::query::{DateRange, NamedRange};
use trueup::{Dataset, Day};

/// The metrics to begin with.
const CORE: [&str; 9] = [
    "leads",
    "customers",
    "bookRate",
    "payingCustomers",
    "closedRevenue",
    "avgTicket",
    "spend",
    "avgCostPerLead",
    "roasClosed",
];

pub(crate) static TOOL: Tool = Tool {
    name: "overview",
    title: "Overview",
    description: "Call this first. Who asks, the organizations and accounts that they may see, the first and last day of the data, today, \
                  the metrics to begin with and with targets, and three example calls.",
    groups: &[],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let toolbox = call.toolbox;
    let (days, today) = (toolbox.days(&call.execution)?, toolbox.today());
    let accounts = call.dataset.accounts();
    let keys = toolbox.account_keys()?;
    let rows: Vec<Vec<Cell>> = keys
        .iter()
        .map(|key| {
            let account = accounts.get(key);
            let industry = account.and_then(|account| account.industry.as_deref());
            let currency = accounts.currency(key);
            let grading = accounts.lead_grading(key);
            vec![
                Cell::text(key),
                Cell::text(accounts.name(key)),
                industry.map_or_else(Cell::null, Cell::text),
                currency.map_or_else(Cell::null, |currency| Cell::word(currency.code())),
                Cell { text: if grading { "yes" } else { "no" }.to_owned(), value: grading.into() },
            ]
        })
        .collect();
    let mut draft = Draft::default();
    let user = toolbox.caller.user.as_deref();
    draft.head.push(user.map_or_else(
        || "caller: the owner of the dataset; nobody signs in".to_owned(),
        |user| format!("caller: {}", quoted(user)),
    ));
    for organization in &toolbox.caller.organizations {
        let count = organization.accounts.len();
        draft.head.push(format!("organization {}: {count} accounts", quoted(&organization.id)));
    }
    draft.head.truncate(20);
    let data =
        days.map_or_else(|| "there are no data".to_owned(), |days| format!("data from {} to {}", days.start, days.end));
    draft.head.push(format!("{data}; today is {today}; version {}", toolbox.version()));
    draft.head.push(format!("metrics to begin with: {}; `find_fields` has all", CORE.join(", ")));
    let targets = targets(&call.dataset, &keys);
    if let Some((metrics, [first, last])) = &targets {
        let metrics: Vec<String> = metrics.iter().map(|name| quoted(name)).collect();
        draft.head.push(format!("targets of {}, {first} to {last}: `query` with `targets`", metrics.join(", ")));
    }
    draft.head.push(format!("{} accounts:", keys.len()));
    let columns = ["key", "name", "industry", "currency", "leadGrading"];
    let count = rows.len();
    draft.grid = Some(Grid::new(&columns, rows, count, "find a key with `find_values` of `account` or `accountName`"));
    let examples = examples(&month(days, today));
    draft.tail.push("Examples:".to_owned());
    draft.tail.extend(examples.iter().map(ToString::to_string));
    let organizations = toolbox.caller.organizations.iter();
    let organizations = organizations.map(|one| json!({ "organization": one.id, "accounts": one.accounts.len() }));
    draft.data.extend([
        ("user".to_owned(), user.into()),
        ("organizations".to_owned(), organizations.collect()),
        ("dataStart".to_owned(), days.map(|days| days.start.to_string()).into()),
        ("dataEnd".to_owned(), days.map(|days| days.end.to_string()).into()),
        ("today".to_owned(), today.to_string().into()),
        ("version".to_owned(), toolbox.version().into()),
        ("coreMetrics".to_owned(), CORE.as_slice().into()),
        (
            "targets".to_owned(),
            targets.map(|(metrics, [first, last])| json!({ "metrics": metrics, "from": first, "to": last })).into(),
        ),
        ("examples".to_owned(), examples.to_vec().into()),
    ]);
    if let Some(days) = days.filter(|days| days.end < today) {
        draft.note(format!("the data end on {}, before today: later days are not 0, they are not there", days.end));
    }
    Ok(draft.finish())
}

/// Returns the metrics that have targets for some accounts, and the first and the last month of the targets; `None` if
/// the accounts have none.
fn targets<'a>(dataset: &'a Dataset, accounts: &BTreeSet<String>) -> Option<(BTreeSet<&'a str>, [String; 2])> {
    let of_accounts = || dataset.targets().iter().filter(|(key, _)| accounts.contains(&key.account));
    let months = || of_accounts().map(|(key, _)| key.month);
    let metrics = of_accounts().map(|(key, _)| key.metric.as_str()).collect();
    Some((metrics, [months().min()?.month(), months().max()?.month()]))
}

/// Returns the name of a month to begin with: the last one or, if that has no data, the month of their last day.
fn month(data: Option<DateRange>, today: Day) -> String {
    const LAST: &str = "last-month";
    let last = LAST.parse::<NamedRange>().ok().and_then(|last| last.days(today).ok());
    match (data, last) {
        (Some(data), Some(last)) if data.end < last.start || last.end < data.start => data.end.month(),
        _ => LAST.to_owned(),
    }
}

/// Returns calls to begin with, about a month.
fn examples(month: &str) -> [Value; 3] {
    [
        json!({ "tool": "query", "arguments": {
            "metrics": ["leads", "bookRate", "spend", "avgCostPerLead"], "by": ["attributionChannel"], "days": month,
        } }),
        json!({ "tool": "what_changed", "arguments": { "metric": "leads", "days": month } }),
        json!({ "tool": "find_fields", "arguments": { "search": "cost per booking" } }),
    ]
}
