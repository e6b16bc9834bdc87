//! The questions of `testdata/agents`, answered without a model: an agent chooses tools by rules from the words of a
//! question. Numbers are computed a second time, from single events and days of spend.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers of the demo are small, and are compared with what tools answer"
)]

use crate::data::{DEMO, settings};
use serde_json::{Map, Value as Json, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use trueup::query::EventsQuery;
use trueup::{Execution, Value};
use trueup_mcp::{Caller, Toolbox};

/// The most calls per question, on average.
const MAX_CALLS: f64 = 1.5;

#[test]
fn questions_in_plain_words_are_answered() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/agents/questions.json");
    let questions: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let book = Book::read();
    let (mut faults, mut calls, mut characters) = (Vec::new(), 0, Vec::new());
    let mut asked = BTreeSet::new();
    for question in &questions {
        let words = question["ask"].as_str().unwrap();
        assert!(asked.insert(words), "{words} is asked twice");
        let accounts = question["caller"].as_array().map(|keys| keys.iter().map(text).collect());
        let mut agent = Agent {
            toolbox: Toolbox::new(DEMO.dataset.clone(), Caller { accounts, ..Caller::default() }, settings()),
            calls: Vec::new(),
            read: 0,
        };
        let (found, said) = agent.ask(words);
        let because = question["because"].as_str().unwrap_or_default();
        let (kind, answer) = (question["kind"].as_str().unwrap(), &question["answer"]);
        let is_of_kind = match kind {
            "number" => answer.is_number(),
            "list" => answer.is_array(),
            "refusal" => answer.is_string() && !because.is_empty(),
            "none" => answer.is_null() && !because.is_empty(),
            _ => false,
        };
        let known = question.get("sum").map_or_else(|| answer.clone(), |sum| book.answer(sum));
        if !(is_of_kind && known == *answer && found == *answer && said.contains(because)) {
            faults.push(format!(
                "{words}\n  expected {answer} {because:?}\n  found    {found}\n  computed {known}\n  by {:?}\n  {said}",
                agent.calls
            ));
        }
        calls += agent.calls.len();
        characters.push(agent.read);
    }
    characters.sort_unstable();
    let average = calls as f64 / questions.len() as f64;
    println!(
        "{} questions, {average:.2} calls per question, {} characters per question (median; most: {})",
        questions.len(),
        characters[characters.len() / 2],
        characters.last().unwrap()
    );
    assert!(faults.is_empty(), "{} of {} answers are wrong:\n{}", faults.len(), questions.len(), faults.join("\n"));
    assert!(questions.len() >= 100 && average <= MAX_CALLS, "{average} calls");
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Json) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// An agent that chooses tools by rules.
struct Agent {
    toolbox: Toolbox,
    calls: Vec<String>,
    /// The characters of the answers.
    read: usize,
}

/// What people call metrics; a name is before the shorter ones that are parts of it.
const METRICS: &str = "cost per lead=avgCostPerLead|cost per booking=avgCostPerBookedCustomer|\
    cost per paying customer=avgCostPerPayingCustomer|cost per call=avgCostPerConversion|\
    calls per lead=avgConversionsPerLead|booking rate=bookRate|cancellation rate=customerCancelRate|\
    share of customers who paid=payingCustomerRate|share of leads that were ever booked=stepBookRate|\
    match rate=matchRate|average ticket=avgTicket|return on ad spend=roasClosed|call quality=conversionQuality|\
    calls were graded=gradedConversions|unbookable calls=unbookableConversions|paying customers=payingCustomers|\
    cancellations=canceledCustomers|bookings=bookedCustomers|sold but not invoiced=soldRevenue|revenue=closedRevenue|\
    invoiced=closedRevenue|media cost=cost|on campaigns=campaignSpend|spend=spend|spent=spend|clicks=clicks|\
    impressions=impressions|events=eventCount|calls=conversions|inquiries=conversions|leads=leads|\
    booked=bookedCustomers|customers=customers";
/// What people call dimensions.
const DIMENSIONS: &str = "channel=attributionChannel|category=attributionCategory|campaign=campaign|account=account|\
    agent=opportunityAgent|kind of customer=customerStatus";
/// The personal columns that people ask for.
const PERSONAL: &str = "phone number=customerPhone|e-mail=customerEmail|transcript=conversionTranscript";
/// The names of ranges, as people say them.
const RANGES: &str = "last month|this month|last week|yesterday|last year|this year|last 14 days";
const MONTHS: &str = "January|February|March|April|May|June|July|August|September|October|November|December";

/// Returns the names of a list that are picked, each with what it stands for.
fn pairs(list: &str, is_picked: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &str)> {
    list.split('|').filter_map(|pair| pair.split_once('=')).filter(move |(name, _)| is_picked(name))
}

impl Agent {
    /// Answers a question: what is found, and the text that the answer is out of.
    fn ask(&mut self, words: &str) -> (Json, String) {
        let lower = words.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        if let Some((_, field)) = pairs(PERSONAL, |name| lower.contains(name)).next() {
            let Some(value) = quoted(words) else {
                return self.read("find_values", json!({ "field": field }), |data| column(data, field));
            };
            let conditions = [format!("{field} = '{value}'")];
            let arguments = json!({ "metrics": ["leads"], "days": days(words), "where": conditions });
            return self.read("query", arguments, |data| column(data, "leads")[0].clone());
        }
        let metric = pairs(METRICS, |name| lower.contains(name)).map(|(_, metric)| metric).next();
        if has(&["mean", "calculated", "the word for", "better high"]) {
            let (arguments, part) = match metric {
                Some(metric) => (json!({ "names": [metric] }), if has(&["better"]) { "better" } else { "formula" }),
                None => (json!({ "search": quoted(words), "limit": 1 }), "name"),
            };
            return self.read("find_fields", arguments, |data| column(data, part));
        }
        if has(&["do we have data", "accounts do i have", "which accounts are"]) {
            return self.read("overview", json!({}), |data| match lower.split(' ').next() {
                Some("how") => count(data),
                Some("until") => json!([data["dataEnd"]]),
                _ => accounts_of(data, words),
            });
        }
        let by = pairs(DIMENSIONS, |name| groups_by(&lower, name)).next();
        let (mut accounts, conditions) = conditions(words, &lower);
        match (metric, by) {
            _ if has(&["advice"]) => {
                let mut arguments = json!({ "accounts": accounts });
                if let Some(search) = quoted(words) {
                    arguments["search"] = search.into();
                }
                if has(&["urgent"]) {
                    arguments["priority"] = "high".into();
                }
                if has(&[" in "]) {
                    arguments["days"] = days(words);
                }
                self.read("insights", arguments, |data| some(column(data, "title")))
            }
            (None, Some((_, field))) => {
                let mut arguments = json!({ "field": field, "limit": 5 });
                if let Some(search) = quoted(words) {
                    arguments["search"] = search.into();
                }
                let is_count = has(&["how many"]);
                self.read("find_values", arguments, |data| if is_count { count(data) } else { column(data, field) })
            }
            (None, None) => {
                let subject = lower.trim_end_matches('?').rsplit(" our ").next();
                self.read("find_fields", json!({ "search": subject }), |data| some(column(data, "name")))
            }
            (Some(metric), by) => {
                if let Some((before, _)) = words.split_once(" accounts get")
                    && let Some((_, industry)) = before.split_once(" our ")
                {
                    accounts = texts(&self.read("overview", json!({}), |data| accounts_of(data, industry)).0);
                }
                self.ask_for(metric, by, &accounts, &conditions, words)
            }
        }
    }

    /// Answers a question about a metric, by a dimension that has a name in the question.
    fn ask_for(
        &mut self,
        metric: &str,
        by: Option<(&str, &str)>,
        accounts: &[String],
        conditions: &[String],
        words: &str,
    ) -> (Json, String) {
        let lower = words.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        if has(&["industry", "others"]) {
            let arguments = json!({ "metrics": [metric], "months": [days(words)], "accounts": accounts });
            return match has(&["where does"]) {
                true => self.read("benchmarks", arguments, |data| column(data, "standing")),
                false => self.read("benchmarks", arguments, |data| column(data, "benchmark")[0].clone()),
            };
        }
        if has(&["why"]) {
            let top = number_before(&lower, "channel").unwrap_or(1);
            let arguments = json!({
                "metric": metric, "days": days(words), "across": ["attributionChannel"], "top": top, "accounts": accounts,
            });
            return self.read("what_changed", arguments, |data| column(data, "value"));
        }
        let mut arguments =
            json!({ "metrics": [metric], "days": days(words), "where": conditions, "accounts": accounts });
        let mut give = |name: &str, value: Json| arguments[name] = value;
        if let Some(window) = number_before(&lower, "days of") {
            give("cohort", format!("{window}d").into());
        }
        if let Some(least) = number_before(&lower, "lead").filter(|_| has(&["at least"])) {
            give("having", json!([format!("leads >= {least}")]));
        }
        if has(&["version 1"]) {
            give("as_of", "1".into());
        }
        if has(&["first touch"]) {
            give("attribution", "first".into());
        }
        if has(&["spreadsheet"]) {
            give("format", "csv".into());
            give("file", "answer.csv".into());
            return self.read("export", arguments, |data| data["rows"].clone());
        }
        if has(&["largest"]) {
            return self.read("why", arguments, |data| column(data, "amount")[0].clone());
        }
        if has(&["behind"]) {
            return self.read("why", arguments, |data| data["measures"][0]["lines"].clone());
        }
        let has_target = has(&["on pace", "budget"]);
        let shown = if has_target { format!("{metric}.pace") } else { metric.to_owned() };
        if has_target {
            give("targets", true.into());
        }
        let order = if has(&["lowest", "fewest", " lost "]) { "asc" } else { "desc" };
        if let Some((name, field)) = by {
            let all = if has(&["how many", " each "]) { 25 } else { 1 };
            give("by", json!([field]));
            give("limit", number_before(&lower, name).unwrap_or(all).into());
            give("sort", json!([format!("{shown}:{order}")]));
        }
        if has(&[" than ", "change", "up or down", "better or worse", "compared", "by what share"]) {
            if let Some(earlier) = earlier(words) {
                give("with", earlier.into());
            }
            if by.is_some() {
                give("sort", json!([format!("{metric}.change:{order}")]));
                return self.read("compare", arguments, |data| json!([data["rows"][0][0]]));
            }
            let part = |name: &str| format!("{metric}.{name}");
            return self.read("compare", arguments, |data| match () {
                () if has(&["up or down", "better or worse"]) => column(data, &part("direction")),
                () if has(&["share"]) => column(data, &part("ratio"))[0].clone(),
                () => column(data, &part("change"))[0].clone(),
            });
        }
        let is_per = |interval: &&str| has(&[&format!("per {interval}"), &format!("which {interval}")]);
        if let Some(interval) = ["month", "week", "day"].into_iter().find(is_per) {
            give("interval", interval.into());
            return self.read("query", arguments, |data| {
                let (starts, numbers) = (column(data, "start"), column(data, metric));
                let most = numbers.as_array().unwrap().iter().enumerate();
                let most = most.max_by(|(_, a), (_, b)| a.as_f64().unwrap().total_cmp(&b.as_f64().unwrap())).unwrap();
                if has(&["which"]) { json!([starts[most.0]]) } else { numbers }
            });
        }
        self.read("query", arguments, |data| match by {
            Some(_) if has(&[" each "]) => data["rows"].clone(),
            Some(_) if has(&["how many"]) => count(data),
            Some((_, field)) => column(data, field),
            None => column(data, &shown)[0].clone(),
        })
    }

    /// Calls a tool, a second time if the first answer says how to name what it did not know, and reads its data. A
    /// number without data is none.
    fn read(&mut self, tool: &str, mut arguments: Json, found: impl Fn(&Json) -> Json) -> (Json, String) {
        for _ in 0..3 {
            self.calls.push(format!("{tool} {arguments}"));
            match self.toolbox.call(tool, arguments.clone(), &Execution::default()) {
                Err(fault) => {
                    let said = fault.to_json().to_string();
                    self.read += said.chars().count();
                    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
                    let (names, mut keys) = (quoted(&fault.message), quoted(&fault.fix));
                    // The corrections of several begin with what each corrects.
                    if names.len() > 1 {
                        keys = keys.into_iter().skip(1).step_by(2).collect();
                    }
                    let are_corrected = fault.fix.contains("did you mean") && keys.len() == names.len();
                    let Some(accounts) = arguments["accounts"].as_array_mut().filter(|_| are_corrected) else {
                        return (fault.code.into(), said);
                    };
                    for account in accounts {
                        if let Some((_, key)) = names.iter().zip(&keys).find(|(name, _)| *account == **name) {
                            *account = key.as_str().into();
                        }
                    }
                }
                Ok(answer) => {
                    self.read += answer.text.chars().count();
                    let notes = texts(&answer.data["notes"]);
                    let unseen = notes.iter().find(|note| note.starts_with("nothing has the value"));
                    let Some(unseen) = unseen else {
                        let found = found(&answer.data);
                        let is_none =
                            notes.iter().any(|note| note.contains("no data at all") || note.contains("no value of"));
                        return (if is_none { Json::Null } else { found }, answer.text);
                    };
                    let parts: Vec<&str> = unseen.split('"').collect();
                    if !unseen.contains("the nearest are") || parts.len() != 5 {
                        return (Json::Null, answer.text);
                    }
                    arguments["where"] =
                        serde_json::from_str(&arguments["where"].to_string().replace(parts[1], parts[3])).unwrap();
                }
            }
        }
        (Json::Null, "no answer after three calls".to_owned())
    }
}

/// Returns the accounts of an industry that words name, out of an overview.
fn accounts_of(data: &Json, words: &str) -> Json {
    let rows = data["rows"].as_array().unwrap().iter();
    rows.filter(|row| words.contains(row[2].as_str().unwrap())).map(|row| row[0].clone()).collect()
}

/// Returns the values of a column.
fn column(data: &Json, name: &str) -> Json {
    let at = data["columns"].as_array().unwrap().iter().position(|column| column == name);
    let rows = data["rows"].as_array().unwrap();
    at.map_or(Json::Null, |at| rows.iter().map(|row| row[at].clone()).collect())
}

/// Returns a list; nothing for one without values.
fn some(list: Json) -> Json {
    if list == json!([]) { Json::Null } else { list }
}

/// Returns the number of rows, of which an answer has the first.
fn count(data: &Json) -> Json {
    let left_out = data["leftOut"]["rows"].as_u64().unwrap_or_default();
    json!(left_out + data["rows"].as_array().map_or(0, |rows| rows.len() as u64))
}

/// Returns whether a question asks for the values of a dimension.
fn groups_by(lower: &str, name: &str) -> bool {
    let before = |at: usize| lower[..at].split_whitespace().next_back().unwrap_or_default();
    lower.match_indices(name).any(|(at, _)| {
        let word = before(at);
        matches!(word, "a" | "which" | "each" | "many" | "paid" | "organic" | "what") || number(word).is_some()
    })
}

fn number(word: &str) -> Option<u64> {
    let words = ["one", "two", "three", "four", "five"];
    words.iter().position(|known| *known == word).map(|at| at as u64 + 1).or_else(|| word.parse().ok())
}

/// Returns the number before a word.
fn number_before(lower: &str, word: &str) -> Option<u64> {
    lower.match_indices(word).find_map(|(at, _)| number(lower[..at].split_whitespace().next_back()?))
}

fn quoted(words: &str) -> Option<&str> {
    words.split('"').nth(1)
}

/// Returns words without punctuation.
fn plain(words: &str) -> Vec<&str> {
    words.split_whitespace().map(|word| word.trim_end_matches(['?', ',', '.', ':'])).collect()
}

/// Returns the days that a question names: months, days of months, and a year if there is one after a month.
fn dates(words: &str) -> Vec<(String, bool)> {
    let words = plain(words);
    let of = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    let months = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, MONTHS.split('|').position(|month| month == *word)? + 1)));
    months
        .map(|(at, month)| match of(at + 1) {
            Some(year) if year > 31 => (format!("{year}-{month:02}"), false),
            Some(day) => (format!("2024-{month:02}-{day:02}"), true),
            None => (format!("2024-{month:02}"), false),
        })
        .collect()
}

/// Returns the days of a question, as an argument.
fn days(words: &str) -> Json {
    let lower = words.to_lowercase();
    match dates(words).as_slice() {
        [(start, true), (end, true), ..] => json!({ "start": start, "end": end }),
        [(first, _), (last, _)] if lower.contains("through") || lower.contains("from ") => {
            json!({ "start": format!("{first}-01"), "end": last_day(last) })
        }
        [(day, _), ..] => day.as_str().into(),
        [] if lower.contains("third quarter") => "2024-Q3".into(),
        [] => RANGES.split('|').find(|range| lower.contains(range)).unwrap_or("this month").into(),
    }
}

fn last_day(month: &str) -> String {
    format!("{month}-{}", if matches!(&month[5..], "09" | "06" | "04" | "11") { 30 } else { 31 })
}

/// Returns the range that a question compares with; `None` for the range before.
fn earlier(words: &str) -> Option<String> {
    let dates = dates(words);
    let (month, _) = dates.get(1)?;
    Some(format!("{month}-01..{}", last_day(month)))
}

/// Returns the accounts that a question names, and its conditions.
fn conditions(words: &str, lower: &str) -> (Vec<String>, Vec<String>) {
    let (mut accounts, mut conditions) = (Vec::new(), Vec::new());
    let words = words.replace("'s ", " ");
    let plain = plain(&words);
    let is_name = |word: &&&str| {
        word.starts_with(|first: char| first.is_uppercase() || first == '&')
            && MONTHS.split('|').all(|month| month != **word)
            && **word != "ZIP"
    };
    for (at, word) in plain.iter().enumerate() {
        let name: Vec<&str> = plain.iter().skip(at + 1).take_while(is_name).copied().collect();
        match *word {
            _ if name.is_empty() => {}
            "from" | "on" | "via" => conditions.push(format!("attributionChannel = '{}'", name.join(" "))),
            "at" | "for" | "of" | "and" | "did" | "does" => accounts.push(name.join(" ")),
            _ => {}
        }
    }
    let value = plain.iter().position(|word| *word == "ZIP").and_then(|at| plain.get(at + 1));
    conditions.extend(value.map(|zip| format!("zip = {zip}")));
    if let Some(value) = quoted(&words) {
        let field = if lower.contains("agent") { "opportunityAgent" } else { "campaign" };
        conditions.push(format!("{field} = '{value}'"));
    }
    for (part, condition) in [
        ("new customer", "customerStatus = New"),
        ("existing customer", "customerStatus = Existing"),
        (" paid channel", "attributionCategory = Advertising"),
        (" organic channel", "attributionCategory = Organic"),
        ("by form", "conversionType = Form"),
    ] {
        if lower.contains(part) {
            conditions.push(condition.to_owned());
        }
    }
    (accounts, conditions)
}

/// Every event and every day of spend of the demo, from which numbers are computed the slow, obvious way.
struct Book {
    /// The events of each customer, in its order.
    customers: BTreeMap<(String, String), Vec<Event>>,
    /// The dimensions of each row of spend.
    spend: Vec<BTreeMap<String, String>>,
    /// Its [`AMOUNTS`].
    amounts: Vec<[i128; 4]>,
    /// The targets by account, month and metric, in millionths.
    targets: BTreeMap<[String; 3], i128>,
}

struct Event {
    /// The place of its type in [`STAGES`].
    stage: usize,
    /// In millionths.
    total: i128,
    texts: BTreeMap<String, String>,
}

const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
const EVENT: [&str; 14] = [
    "account",
    "opportunityId",
    "date",
    "dateTime",
    "type",
    "eventId",
    "attributionCategory",
    "attributionChannel",
    "campaign",
    "customerStatus",
    "opportunityAgent",
    "zip",
    "conversionType",
    "conversionDetailedLabel",
];
const SPEND: [&str; 5] = ["account", "date", "attributionCategory", "attributionChannel", "campaign"];
const AMOUNTS: [&str; 4] = ["spend", "cost", "clicks", "impressions"];

/// Ratios: what is divided, added up, and by what.
const RATIOS: [(&str, &[&str], &str); 13] = [
    ("avgCostPerLead", &["spend"], "leads"),
    ("avgCostPerBookedCustomer", &["spend"], "bookedCustomers"),
    ("avgCostPerPayingCustomer", &["spend"], "payingCustomers"),
    ("avgCostPerConversion", &["spend"], "conversions"),
    ("avgConversionsPerLead", &["conversions"], "leads"),
    ("bookRate", &["bookedCustomers"], "customers"),
    ("customerCancelRate", &["canceledCustomers"], "customers"),
    ("payingCustomerRate", &["payingCustomers"], "customers"),
    ("matchRate", &["matchedCustomers"], "customers"),
    ("stepBookRate", &["everBooked"], "leads"),
    ("avgTicket", &["soldRevenue", "closedRevenue"], "payingCustomers"),
    ("roasClosed", &["closedRevenue"], "spend"),
    ("conversionQuality", &["bookableConversions"], "gradedConversions"),
];

const MONEY: [&str; 6] = ["spend", "campaignSpend", "cost", "soldRevenue", "closedRevenue", "largestInvoice"];

type Sums = BTreeMap<&'static str, i128>;

impl Book {
    fn read() -> Self {
        let all = DEMO.dataset.date_range().unwrap();
        let rows = |fields: &[&str], numbers: &[&str]| {
            let query = EventsQuery::new(fields.iter().chain(numbers).copied(), all.start, all.end).allow_long_total();
            let table = DEMO.dataset.run(&query, Execution::default()).unwrap();
            let number = |row, name: &&str| match table.value(row, name) {
                Some(Value::Count(count)) => i128::from(count),
                Some(Value::Money(micros)) => micros,
                other => panic!("{name}: {other:?}"),
            };
            let texts = |row| {
                let text = |name: &&str| match table.value(row, name) {
                    Some(Value::Text(text)) => ((*name).to_owned(), text.to_owned()),
                    other => panic!("{name}: {other:?}"),
                };
                fields.iter().map(text).collect::<BTreeMap<_, _>>()
            };
            let row = |row| (texts(row), numbers.iter().map(|name| number(row, name)).collect::<Vec<_>>());
            (0..table.len()).map(row).collect::<Vec<_>>()
        };
        let mut customers: BTreeMap<_, Vec<Event>> = BTreeMap::new();
        for (texts, numbers) in rows(&EVENT, &["eventCount", "total"]) {
            assert_eq!(numbers[0], 1, "a row is an event");
            let stage = STAGES.iter().position(|stage| *stage == texts["type"]).unwrap();
            let customer = (texts["account"].clone(), texts["opportunityId"].clone());
            customers.entry(customer).or_default().push(Event { stage, total: numbers[1], texts });
        }
        for events in customers.values_mut() {
            events.sort_by_key(|event| {
                let text = |name: &str| event.texts[name].clone();
                // An event without a time is the first of its day if it is a lead, and else the last.
                let place = match (text("dateTime").is_empty(), event.stage) {
                    (false, _) => 1,
                    (true, 0) => 0,
                    (true, _) => 2,
                };
                (text("date"), place, text("dateTime"), event.stage, text("eventId"))
            });
        }
        let days = rows(&SPEND, &AMOUNTS).into_iter();
        let (spend, amounts) = days.map(|(texts, amounts)| (texts, <[i128; 4]>::try_from(amounts).unwrap())).unzip();
        let targets = DEMO
            .dataset
            .targets()
            .iter()
            .map(|(key, value)| ([key.account.clone(), key.month.month(), key.metric.clone()], i128::from(value)));
        Self { customers, spend, amounts, targets: targets.collect() }
    }

    /// Returns the sums of each group of a range.
    fn sums(&self, sum: &Json, start: &str, end: &str) -> BTreeMap<String, Sums> {
        let by = sum["by"].as_str();
        let empty = Map::new();
        let conditions = sum["where"].as_object().unwrap_or(&empty);
        let accounts = texts(&sum["accounts"]);
        let is_in = |texts: &BTreeMap<String, String>| accounts.is_empty() || accounts.contains(&texts["account"]);
        let group = |texts: &BTreeMap<String, String>| by.map_or_else(String::new, |by| texts[by].clone());
        let mut groups: BTreeMap<String, Sums> = BTreeMap::new();
        for events in self.customers.values().filter(|events| is_in(&events[0].texts)) {
            let range = events.iter().filter(|event| (start..=end).contains(&event.texts["date"].as_str()));
            let mut range: Vec<&Event> = range.collect();
            if let Some(window) = sum["within"].as_u64() {
                let first = &events[0];
                if first.stage != 0 || !(start..=end).contains(&first.texts["date"].as_str()) {
                    continue;
                }
                let day = |event: &Event| event.texts["date"].parse::<trueup::Day>().unwrap().number();
                range = events.iter().filter(|event| u64::from(day(event) - day(first)) <= window).collect();
            }
            let state = state(&range);
            for (at, event) in range.iter().enumerate() {
                let first = events.iter().find(|event| event.stage == 0).filter(|_| sum["attribution"] == "first");
                let holds = |(name, value): (&String, &Json)| first.unwrap_or(event).texts[name] == *value;
                if !conditions.iter().all(holds) {
                    continue;
                }
                let sums = groups.entry(group(&event.texts)).or_default();
                let mut add = |name, number| *sums.entry(name).or_default() += number;
                add("eventCount", 1);
                let label = event.texts["conversionDetailedLabel"].as_str();
                if event.stage == 0 {
                    add("conversions", 1);
                    add("gradedConversions", i128::from(!label.is_empty()));
                    add("bookableConversions", i128::from(label.starts_with("Bookable")));
                    add("unbookableConversions", i128::from(label == "Unbookable"));
                    if std::ptr::eq(*event, &events[0]) {
                        add("leads", 1);
                        add("everBooked", i128::from(events.iter().any(|event| event.stage == 1)));
                    }
                }
                if at == state.at {
                    let any = |stage| i128::from(range.iter().any(|event| event.stage == stage));
                    add("customers", 1);
                    add("bookedCustomers", any(1));
                    add("canceledCustomers", any(5));
                    add("payingCustomers", i128::from(matches!(event.stage, 3 | 4)));
                    let status = event.texts["customerStatus"].as_str();
                    add("matchedCustomers", i128::from(!matches!(status, "" | "Unmatched")));
                    let of_state = range[state.live_from..].iter().filter(|other| other.stage == event.stage);
                    let totals: Vec<i128> = of_state.map(|event| event.total).collect();
                    match event.stage {
                        3 => add("soldRevenue", totals.iter().sum()),
                        4 => {
                            add("closedRevenue", totals.iter().sum());
                            add("invoiced", i128::from(totals.iter().sum::<i128>() != 0));
                            let largest = sums.entry("largestInvoice").or_default();
                            *largest = totals.iter().sum::<i128>().max(*largest);
                        }
                        _ => {}
                    }
                }
            }
        }
        // Spend alone has a row only where spend is asked for.
        let metric = sum["metric"].as_str().unwrap();
        let ratio = RATIOS.iter().find(|(name, ..)| *name == metric);
        let is_of_spend = |name: &str| AMOUNTS.contains(&name) || name == "campaignSpend";
        let is_about_spend =
            is_of_spend(metric) || ratio.is_some_and(|(_, above, below)| is_of_spend(above[0]) || is_of_spend(below));
        for (texts, amounts) in self.spend.iter().zip(&self.amounts).filter(|_| is_about_spend) {
            let holds = |(name, value): (&String, &Json)| texts.get(name).is_none_or(|text| text == value);
            if !is_in(texts) || !(start..=end).contains(&texts["date"].as_str()) || !conditions.iter().all(holds) {
                continue;
            }
            if amounts.iter().any(|amount| *amount != 0) && by.is_none_or(|by| texts.contains_key(by)) {
                let sums = groups.entry(group(texts)).or_default();
                for (name, amount) in AMOUNTS.iter().zip(amounts) {
                    *sums.entry(name).or_default() += amount;
                }
                if !texts["campaign"].is_empty() {
                    *sums.entry("campaignSpend").or_default() += amounts[0];
                }
            }
        }
        groups
    }

    /// Returns a metric of a group over its target, which has the share of its month that the days have.
    fn pace(&self, sum: &Json, group: &str, groups: &BTreeMap<String, Sums>) -> Option<f64> {
        let metric = sum["metric"].as_str()?;
        let (start, end) = sum["days"].as_str()?.split_once("..")?;
        let day = |text: &str| text.parse::<u32>().unwrap();
        let (month, first) = start.split_at(7);
        let days = i128::from(day(&end[8..]) - day(&first[1..]) + 1);
        let of_month = i128::from(day(&last_day(month)[8..]));
        let is_meant = |[account, its_month, its_metric]: &[String; 3]| {
            its_month == month && its_metric == metric && (sum["by"].is_null() || account == group)
        };
        let target: i128 = self.targets.iter().filter(|(key, _)| is_meant(key)).map(|(_, value)| value).sum();
        let value = sum_of(groups, group, metric) * if MONEY.contains(&metric) { 1 } else { 1_000_000 };
        (target != 0).then(|| (value * of_month) as f64 / (target * days) as f64)
    }

    /// Returns the number or the names that answer a question.
    fn answer(&self, sum: &Json) -> Json {
        let metric = sum["metric"].as_str().unwrap();
        let groups = |range: &Json| {
            let (start, end) = range.as_str().unwrap().split_once("..").unwrap();
            self.sums(sum, start, end)
        };
        let whole = |range: &Json| groups(range).get("").and_then(|sums| metric_of(sums, metric)).unwrap_or_default();
        if let Some(ranges) = sum["parts"].as_array() {
            if sum["as"] == "start" {
                let first = ranges.iter().max_by(|a, b| whole(a).total_cmp(&whole(b))).unwrap();
                return json!([first.as_str().unwrap().split("..").next()]);
            }
            return ranges.iter().map(|range| number_of(metric, whole(range))).collect();
        }
        let now = groups(&sum["days"]);
        let before = sum.get("before").map(groups);
        let value = |name: &str| {
            let of = |groups: &BTreeMap<String, Sums>| {
                groups.get(name).map_or_else(|| metric_of(&Sums::new(), metric), |sums| metric_of(sums, metric))
            };
            match &before {
                _ if sum["as"] == "pace" => self.pace(sum, name, &now),
                // A change of money is exact: millionths, before they become floating point.
                Some(before) if MONEY.contains(&metric) => {
                    Some((sum_of(&now, name, metric) - sum_of(before, name, metric)) as f64 / 1e6)
                }
                Some(before) => Some(of(&now).unwrap_or_default() - of(before).unwrap_or_default()),
                None => of(&now),
            }
        };
        if sum["by"].is_null() {
            let number = value("");
            return match (sum["as"].as_str(), number) {
                (_, None) => Json::Null,
                (Some("pace"), Some(number)) => json!(number),
                (Some("share"), Some(_)) => {
                    let [now, before] = [Some(&now), before.as_ref()].map(|groups| sum_of(groups.unwrap(), "", metric));
                    json!((now - before) as f64 / before as f64)
                }
                (Some("direction"), Some(change)) => {
                    let side = if change > 0.0 { "up" } else { "down" };
                    json!([format!("{side}, {}", if sum["better"] == side { "better" } else { "worse" })])
                }
                (Some("benchmark"), Some(number)) => {
                    // All figures of benchmarks have 3 significant digits.
                    format!("{number:.2e}").parse::<f64>().unwrap().into()
                }
                (_, Some(number)) => number_of(metric, number),
            };
        }
        let names: BTreeSet<&String> = now.keys().chain(before.iter().flat_map(BTreeMap::keys)).collect();
        let least = sum["leads"].as_u64().unwrap_or_default();
        let named = sum["named"].as_str().unwrap_or_default();
        let is_wanted = |name: &&&String| name.contains(named) && sum_of(&now, name, "leads") >= i128::from(least);
        let mut rows: Vec<(&String, f64)> =
            names.iter().filter(is_wanted).filter_map(|name| Some((*name, value(name)?))).collect();
        let size = |number: f64| if sum["as"] == "contributions" { number.abs() } else { number };
        rows.sort_by(|(_, a), (_, b)| size(*b).partial_cmp(&size(*a)).unwrap_or(Ordering::Equal));
        if sum["order"] == "least" {
            rows.reverse();
        }
        if sum["as"] == "standing" {
            let (above, below) = (rows[(rows.len() - 1) / 2].1, rows[rows.len() / 2].1);
            let (_, own) = rows.iter().find(|(name, _)| sum["of"] == **name).unwrap();
            let side = if *own > f64::midpoint(above, below) { "up" } else { "down" };
            return json!([format!("{} than the median", if sum["better"] == side { "better" } else { "worse" })]);
        }
        if sum["as"] == "count" {
            return json!(rows.len());
        }
        let top = sum["top"].as_u64().map_or(rows.len(), |top| usize::try_from(top).unwrap());
        if let Some((last, next)) = rows.get(top.saturating_sub(1)).zip(rows.get(top))
            && size(last.1) == size(next.1)
        {
            return json!(format!("a tie of {} and {}", last.0, next.0));
        }
        rows.truncate(top);
        if sum["as"] == "rows" {
            return rows.iter().map(|(name, number)| json!([name, number_of(metric, *number)])).collect();
        }
        rows.iter().map(|(name, _)| json!(name)).collect()
    }
}

/// Which events of a customer are live, and which is its state event.
struct State {
    live_from: usize,
    at: usize,
}

fn state(events: &[&Event]) -> State {
    let is_closed = events.iter().any(|event| event.stage == 4);
    let canceled = events.iter().rposition(|event| event.stage == 5).filter(|_| !is_closed);
    let live_from = canceled.map_or(0, |at| at + 1);
    let live = || events.iter().enumerate().skip(live_from).filter(|(_, event)| event.stage != 5);
    let furthest = live().max_by_key(|(at, event)| (event.stage, *at)).map(|(at, _)| at);
    State { live_from, at: furthest.or(canceled).unwrap_or(usize::MAX) }
}

/// Returns a sum of a group.
fn sum_of(groups: &BTreeMap<String, Sums>, group: &str, name: &str) -> i128 {
    groups.get(group).and_then(|sums| sums.get(name)).copied().unwrap_or_default()
}

/// Returns the value of a metric; `None` over nothing.
fn metric_of(sums: &Sums, metric: &str) -> Option<f64> {
    let sum = |name: &str| sums.get(name).copied().unwrap_or_default();
    let number = |name: &str, sum: i128| if MONEY.contains(&name) { sum as f64 / 1e6 } else { sum as f64 };
    match RATIOS.iter().find(|(name, ..)| *name == metric) {
        Some((_, above, below)) => {
            let below = number(below, sum(below));
            let above = number(above[0], above.iter().map(|name| sum(name)).sum());
            (below != 0.0).then(|| above / below)
        }
        None => Some(number(metric, sum(metric))),
    }
}

/// Returns a number as answers have it: counts are whole.
fn number_of(metric: &str, number: f64) -> Json {
    let is_count = !MONEY.contains(&metric) && RATIOS.iter().all(|(name, ..)| *name != metric);
    if is_count { json!(number as i64) } else { json!(number) }
}
