//! The lines behind one number of a row, as `docs/why.md` describes them: the events, customers and rows of spend that
//! one measure counts, each with its rule.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};

use super::answer::AnswerContext;
use super::cohort::is_open;
use super::definitions::Definitions;
use super::duration::{StagePair, begins, duration, pair_of};
use super::metric::{MetricGroup, booked_then_canceled, is_conversion, is_lead, is_matched};
use super::request::{COMPUTED_FIELDS, Refusal, Request, Window};
use super::segment::EnrichedEvent;
use super::tables::{SpendRow, Tables};
use super::values::average;

/// A line behind a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedLine {
    /// The account.
    pub account: String,
    /// The customer; empty for spend.
    pub opportunity_id: String,
    /// The event that counts; empty for spend, and for an event without an id.
    pub event_id: String,
    /// The day of the event or of the spend.
    pub date: NaiveDate,
    /// The stage of the event; empty for spend.
    pub kind: String,
    /// What the line adds: a number, or money in millionths.
    pub adds: i128,
    /// The rule by which the line counts.
    pub rule: String,
}

/// A line with what orders it among the lines of its day and account: the customer and the place of the event in its
/// history, or the texts of spend and what it adds.
type OrderedLine = ((String, usize, [String; 3], i128), ExplainedLine);

/// A row of an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRow<'a> {
    /// The first day of its sub-range.
    pub start: NaiveDate,
    /// The last day of its sub-range.
    pub end: NaiveDate,
    /// The values of the dimensions, in the order of the fields.
    pub key: &'a [String],
}

/// Returns the lines of some measures behind a row of an answer, each with its measure: measure by measure, the oldest
/// lines first. There are none if the answer has no such row.
///
/// # Errors
/// As [`answer`](super::answer()).
pub fn explained<'m>(
    tables: &Tables,
    request: &Request,
    row: AnsweredRow<'_>,
    measures: &[&'m str],
) -> Result<Vec<(&'m str, ExplainedLine)>, Refusal> {
    let context = AnswerContext::new(tables, request, Definitions::NONE)?;
    let not_split = not_split(tables, &context.dimensions().collect::<Vec<_>>());
    Ok(context.with_groups(row.start, row.end, |groups| {
        let Some(group) = groups.get(row.key) else { return Vec::new() };
        let lines = measures.iter().map(|measure| (*measure, lines_of(group, measure, &not_split)));
        lines.flat_map(|(measure, lines)| lines.into_iter().map(move |line| (measure, line))).collect()
    }))
}

/// Returns the lines of a measure in a group.
fn lines_of(group: &MetricGroup<'_>, measure: &str, not_split: &[String]) -> Vec<ExplainedLine> {
    let mut lines: Vec<OrderedLine> = match measure {
        "opportunityAgents" => agents(group),
        _ => group.rows.iter().filter_map(|row| event_line(group, row, measure)).collect(),
    };
    lines.extend(group.spend.iter().filter_map(|row| spend_line(row, measure, not_split)));
    lines.sort_by(|(one, line), (other, next)| (line.date, &line.account, one).cmp(&(next.date, &next.account, other)));
    lines.into_iter().map(|(_, line)| line).collect()
}

fn line_of(row: &EnrichedEvent<'_>, adds: i128, rule: String) -> OrderedLine {
    let (customer, event) = (row.segment.customer, row.event());
    let line = ExplainedLine {
        account: customer.account.account.clone(),
        opportunity_id: customer.opportunity_id.clone(),
        event_id: event.event_id.clone(),
        date: event.date,
        kind: event.kind.clone(),
        adds,
        rule,
    };
    ((customer.opportunity_id.clone(), row.place, Default::default(), 0), line)
}

/// Returns the line of an event; `None` if the measure does not count it.
fn event_line(group: &MetricGroup<'_>, row: &EnrichedEvent<'_>, measure: &str) -> Option<OrderedLine> {
    const FIRST_TOUCH: &str = "first touch: the customer's first event of all, and a conversion";
    let customer = row.segment.customer;
    let first_of = |stage: &str| format!("the customer's first {stage} event of all");
    let is_first_of = |stage: &str| customer.earliest(stage) == Some(row.place);
    // A rule that also names the event by which the customer reaches a stage.
    let and_then = |rule: &str, stage: &str| {
        let event = customer.earliest(stage)?;
        Some(format!("{rule}; the customer is {stage} by {}", reference(row, event)))
    };
    let count = |holds: bool, rule: Option<String>| rule.filter(|_| holds).map(|rule| line_of(row, 1, rule));
    let lead = |stage| count(is_lead(row), and_then(FIRST_TOUCH, stage));
    let step = |from: &str, to| count(is_first_of(from), and_then(&first_of(from), to));
    let state = |holds: bool, rule: &dyn Fn() -> String| {
        let holds = holds && row.type_is_last();
        holds.then(|| line_of(row, 1, rule()))
    };
    let with_state = |more: String| format!("{}; {more}", state_rule(row));
    let label = row.dimension("conversionDetailedLabel");
    let graded = |holds: bool| count(is_conversion(row) && holds, Some(format!("a conversion graded `{label}`")));
    let status = row.dimension("customerStatus");
    let with_status = || match status.as_str() {
        "" => with_state("no customer status".to_owned()),
        status => with_state(format!("customer status `{status}`")),
    };
    match measure {
        "rows" => count(true, Some("an event".to_owned())),
        "conversions" => count(is_conversion(row), Some("a conversion: an event of stage lead-originated".to_owned())),
        "leads" => count(is_lead(row), Some(FIRST_TOUCH.to_owned())),
        "bookedLeads" => lead("booked"),
        "soldLeads" => lead("sold"),
        "closedLeads" => lead("closed"),
        "openLeads" => {
            let (window, last) = group.cohort?;
            let ends = match (window, last) {
                (Window::Days(days), Some(last)) => {
                    let end = customer.events[0].date.checked_add_days(Days::new(u64::from(days)));
                    // No date of the tables is later.
                    let end = end.unwrap_or(NaiveDate::MAX).min(NaiveDate::from_ymd_opt(2149, 6, 6)?);
                    format!("its window ends on {end}, after the last event, on {last}")
                }
                _ => "its window never ends".to_owned(),
            };
            count(is_lead(row) && is_open(customer, window, last), Some(format!("{FIRST_TOUCH}; {ends}")))
        }
        "gradedConversions" => graded(!label.is_empty()),
        "bookedConversions" => graded(label == "Bookable - Booked"),
        "bookableUnbookedConversions" => graded(label == "Bookable - Didn't Book"),
        "unbookableConversions" => graded(label == "Unbookable"),
        "firstBooked" => count(is_first_of("booked"), Some(first_of("booked"))),
        "firstBookedEstimated" => step("booked", "estimated"),
        "firstEstimated" => count(is_first_of("estimated"), Some(first_of("estimated"))),
        "firstEstimatedSold" => step("estimated", "sold"),
        "firstSold" => count(is_first_of("sold"), Some(first_of("sold"))),
        "firstSoldClosed" => step("sold", "closed"),
        "opportunities" => {
            let is_of_same = |other: &&EnrichedEvent<'_>| std::ptr::eq(other.segment.customer, customer);
            let first = group.rows.iter().filter(is_of_same).map(|other| other.place).min();
            count(first == Some(row.place), Some("the customer's first event in the row".to_owned()))
        }
        "total" => row.event().total.map(|total| line_of(row, i128::from(total), "the amount of an event".to_owned())),
        "customers" => state(true, &|| state_rule(row)),
        "payingCustomers" => state(matches!(row.segment.state, "sold" | "closed"), &|| state_rule(row)),
        "matchedCustomers" => state(is_matched(row), &with_status),
        "unmatchedCustomers" => state(!is_matched(row), &with_status),
        "bookedCustomers" => {
            let booked = row.segment.events_in_range("booked");
            state(!booked.is_empty(), &|| with_state(booked_rule(row, booked[0])))
        }
        "canceledCustomers" => {
            let canceled = row.segment.events_in_range("canceled");
            let rule = || with_state(format!("canceled by {}", reference(row, canceled[canceled.len() - 1])));
            state(!canceled.is_empty(), &rule)
        }
        "canceledAfterBooking" => state(booked_then_canceled(row), &|| {
            let booked = row.segment.events_in_range("booked")[0];
            let later = customer.events[booked..].iter().position(|event| event.kind == "canceled");
            let canceled = reference(row, booked + later.unwrap_or_default());
            with_state(format!("booked by {}, and later canceled by {canceled}", reference(row, booked)))
        }),
        "estimatedRevenue" => revenue_line(row, "estimated", ("the average", "live estimated events")),
        "soldRevenue" => revenue_line(row, "sold", ("the sum", "live sold events")),
        "closedRevenue" => revenue_line(row, "closed", ("the sum", "closed events")),
        _ => duration_line(group, row, measure),
    }
}

/// Returns the line of a customer's revenue, if the customer is in that state.
fn revenue_line(row: &EnrichedEvent<'_>, state: &str, (what, things): (&str, &str)) -> Option<OrderedLine> {
    const MAX_LISTED: usize = 8;
    if !row.type_is_last() || row.segment.state != state {
        return None;
    }
    let events = &row.segment.customer.events;
    let places = row.segment.live_events(state);
    let amounts: Vec<(usize, i64)> =
        places.into_iter().filter_map(|place| Some((place, events[place].total?))).collect();
    let totals: Vec<i64> = amounts.iter().map(|(_, total)| *total).collect();
    let adds = match state {
        "estimated" => average(&totals),
        _ => totals.iter().map(|total| i128::from(*total)).sum(),
    };
    let rule = match amounts.as_slice() {
        [] => format!("none of its {things} has an amount"),
        [(place, total)] => format!("the amount of {}, {}", reference(row, *place), decimal(*total)),
        amounts => {
            let named = |(place, total): &(usize, i64)| match events[*place].event_id.as_str() {
                "" => format!("{} {}", events[*place].date, decimal(*total)),
                id => format!("{id} {}", decimal(*total)),
            };
            let mut list: Vec<String> = amounts.iter().take(MAX_LISTED).map(named).collect();
            if amounts.len() > MAX_LISTED {
                list.push(format!("and {} more", amounts.len() - MAX_LISTED));
            }
            format!("{what} of {} {things} with an amount: {}", amounts.len(), list.join(", "))
        }
    };
    Some(line_of(row, adds, format!("{}; {rule}", state_rule(row))))
}

/// Returns the line of a duration, or of a customer without one: the measures `reached...`, `notReached...` and
/// `days...`.
fn duration_line(group: &MetricGroup<'_>, row: &EnrichedEvent<'_>, measure: &str) -> Option<OrderedLine> {
    let (prefix, [(from, _), (to, _)]): (&str, StagePair) = match measure.strip_prefix("days") {
        Some(pair) => ("days", pair_of(&format!("avgDays{pair}"))?.1),
        None => pair_of(measure)?,
    };
    if !begins(row, from) {
        return None;
    }
    let what = match from {
        "lead-originated" => "first touch".to_owned(),
        stage => format!("the customer's first {stage} event of all"),
    };
    let events = &row.segment.customer.events;
    let found = duration(row, to);
    let rule = match found {
        Some(days) => {
            let later = events.iter().position(|event| event.kind == to && event.date >= row.event().date);
            let days = format!("{days} day{}", if days == 1 { "" } else { "s" });
            format!("{what}; {days} later, the customer is {to} by {}", reference(row, later.unwrap_or_default()))
        }
        None => {
            let until = if group.cohort.is_some() { ", up to the end of its window" } else { "" };
            format!("{what}; no {to} event on that day or later{until}")
        }
    };
    let adds = match (prefix, found) {
        ("reached", Some(_)) | ("notReached", None) => 1,
        ("days", Some(days)) => days,
        _ => return None,
    };
    Some(line_of(row, adds, rule))
}

/// Returns the lines of agents: one for each agent, on the first of the state events that name it.
fn agents(group: &MetricGroup<'_>) -> Vec<OrderedLine> {
    let mut agents: BTreeMap<String, Vec<&EnrichedEvent<'_>>> = BTreeMap::new();
    for row in group.rows.iter().filter(|row| row.type_is_last()) {
        let agent = row.dimension("opportunityAgent");
        if !agent.is_empty() {
            agents.entry(agent).or_default().push(row);
        }
    }
    let lines = agents.into_iter().filter_map(|(agent, rows)| {
        let key = |row: &&EnrichedEvent<'_>| {
            let customer = row.segment.customer;
            (row.event().date, customer.account.account.clone(), customer.opportunity_id.clone())
        };
        let first = rows.iter().copied().min_by_key(key)?;
        let of = match rows.len() {
            1 => format!("agent `{agent}`, on the state event of this customer"),
            customers => {
                format!("agent `{agent}`, on the state events of {customers} customers, of which this is the first")
            }
        };
        Some(line_of(first, 1, format!("{}; {of}", state_rule(first))))
    });
    lines.collect()
}

/// Returns which event is the state event, and why.
fn state_rule(row: &EnrichedEvent<'_>) -> String {
    let segment = row.segment;
    let canceled = segment.events_in_range("canceled").last().map(|place| reference(row, *place));
    let furthest = ["closed", "sold", "estimated", "booked", "lead-originated"]
        .into_iter()
        .find(|stage| !segment.events_in_range(stage).is_empty());
    match (segment.state, canceled, furthest) {
        ("canceled", Some(canceled), Some(furthest)) => format!("state event: {furthest}, but canceled by {canceled}"),
        ("canceled", _, _) => "state event: the last cancellation, with nothing else".to_owned(),
        ("closed", Some(canceled), _) => {
            format!("state event: the last closed event; {canceled} cancels nothing, because work is closed")
        }
        ("closed", None, _) => "state event: the last closed event".to_owned(),
        (state, Some(canceled), _) => {
            format!("state event: the last live {state} event; {canceled} undid what came before it")
        }
        (state, None, _) => format!("state event: the last live {state} event"),
    }
}

/// Returns by which event a customer is booked, and whether a later cancellation undid that.
fn booked_rule(row: &EnrichedEvent<'_>, booked: usize) -> String {
    let rule = format!("booked by {}", reference(row, booked));
    match row.segment.events_in_range("canceled").last() {
        Some(canceled) if row.segment.state != "closed" && *canceled > booked => {
            format!("{rule}, which {} undid", reference(row, *canceled))
        }
        _ => rule,
    }
}

/// Names an event of the row's customer.
fn reference(row: &EnrichedEvent<'_>, place: usize) -> String {
    let event = &row.segment.customer.events[place];
    match event.event_id.as_str() {
        "" => format!("the {} event on {}", event.kind, event.date),
        id => format!("event {id} on {}", event.date),
    }
}

/// Returns millionths as a decimal number, without zeros at the end.
fn decimal(millionths: i64) -> String {
    let sign = if millionths < 0 { "-" } else { "" };
    let (whole, rest) = (millionths.unsigned_abs() / 1_000_000, millionths.unsigned_abs() % 1_000_000);
    let text = format!("{sign}{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the dimensions that spend does not carry: first the ones in the tables, then the others.
fn not_split(tables: &Tables, dimensions: &[&str]) -> Vec<String> {
    let is_known = |name: &str| {
        ["account", "opportunityId", "type", "eventId"].contains(&name)
            || COMPUTED_FIELDS.contains(&name)
            || tables.events.iter().any(|row| row.other.contains_key(name))
    };
    let carried = |name: &str| super::metric::spend_carries(name);
    let (known, others): (Vec<&str>, Vec<&str>) =
        dimensions.iter().copied().filter(|name| !carried(name)).partition(|name| is_known(name));
    known.into_iter().chain(others).map(str::to_owned).collect()
}

/// Returns the line of a row of spend; `None` if it adds nothing to the measure.
fn spend_line(row: &SpendRow, measure: &str, not_split: &[String]) -> Option<OrderedLine> {
    let money = |amount: Option<i64>| i128::from(amount.unwrap_or(0));
    let both = money(row.ad_spend) + money(row.management_fee);
    let texts = [&row.attribution_category, &row.attribution_channel, &row.campaign];
    let texts = texts.map(|text| text.clone().unwrap_or_default());
    let (adds, what) = match measure {
        "adSpend" => (money(row.ad_spend), "the ad spend"),
        "managementFee" => (money(row.management_fee), "the management fee"),
        "campaignSpend" if texts[2].is_empty() => return None,
        "campaignSpend" => (both, "the ad spend and management fee"),
        "clicks" => (i128::from(row.clicks.unwrap_or(0)), "the clicks"),
        "impressions" => (i128::from(row.impressions.unwrap_or(0)), "the impressions"),
        _ => return None,
    };
    if adds == 0 {
        return None;
    }
    let named = ["category", "channel", "campaign"].into_iter().zip(&texts).filter(|(_, text)| !text.is_empty());
    let named: Vec<String> = named.map(|(name, text)| format!("{name} `{text}`")).collect();
    let mut rule = match named.as_slice() {
        [] => format!("{what} of a row of spend without an attribution"),
        named => format!("{what} of {}", named.join(", ")),
    };
    if !not_split.is_empty() {
        rule += &format!("; {} does not split spend", not_split.join(" or "));
    }
    let line = ExplainedLine {
        account: row.account.clone(),
        opportunity_id: String::new(),
        event_id: String::new(),
        date: row.date,
        kind: String::new(),
        adds,
        rule,
    };
    Some(((String::new(), 0, texts, adds), line))
}
