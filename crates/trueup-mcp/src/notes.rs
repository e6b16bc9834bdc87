//! What a reader could get wrong about an answer, as notes of the answer.

use crate::Fault;
use crate::answer::{Draft, Grid};
use crate::cell::{Cell, quoted, quoted_up_to};
use crate::question::{Question, month_before};
use crate::toolbox::{Call, MAX_NAMED_ACCOUNTS};
use std::collections::BTreeSet;
use trueup::benchmarks::Month;
use trueup::dictionary::{self, FieldGroup, Measure, MeasureKind, Unit};
use trueup::field::{FieldDescription, MetricDescription};
use trueup::query::{Attribution, ComparisonRange, DateRange, Interval};
use trueup::request::{ComparedWith, QueryRequest};
use trueup::{ATTRIBUTION_WINDOW_DAYS, Day, ResultTable, Value};
use trueup_report::number::counted;

/// The metric that says whether the windows of a cohort are over.
pub(crate) const OPEN_LEADS: &str = "openLeads";

/// The most characters of a note on targets: those of its own words, and of names that are not long.
const MAX_NOTE_OF_TARGETS: usize = 240;

/// The most bytes of the names of accounts in a note.
const MAX_NAMES: usize = 160;

/// How the note on ratios over nothing begins.
pub(crate) const OF_NULL: &str = "null means";

/// Notes on days without data, days to come, and sub-ranges that are not whole.
pub(crate) fn days(draft: &mut Draft, question: &Question, call: &Call<'_>) -> Result<(), Fault> {
    let Some(data) = call.toolbox.days(&call.execution)? else {
        draft.note("there are neither events nor spend at all");
        return Ok(());
    };
    draft.data.insert("dataEnd".to_owned(), data.end.to_string().into());
    let range = question.range();
    missing_days(draft, range, data, "");
    if let Some(before) = question.earlier()? {
        missing_days(draft, before, data, "to compare with ");
        compared_days(draft, question, before, data);
    }
    let today = call.toolbox.today();
    if today < range.end && range.end <= data.end {
        draft.note(format!("today is {today}, so that the range is not over"));
    }
    let query = question.prepared.events();
    let sub_ranges = query.sub_ranges();
    empty_sub_ranges(draft, question, &sub_ranges, data);
    let is_partial =
        |range: &DateRange| whole(range.start, question.request.interval).is_some_and(|whole| whole != *range);
    let partial: Vec<String> = [sub_ranges.first(), sub_ranges.last()]
        .into_iter()
        .flatten()
        .filter(|range| is_partial(range))
        .map(|range| format!("{} to {}", range.start, range.end))
        .collect();
    if let Some(first) = partial.first() {
        let last = partial.get(1).filter(|last| *last != first);
        let both = last.map_or_else(|| first.clone(), |last| format!("{first} and {last}"));
        draft.note(format!(
            "only a part of a {} is in the range: {both}; do not compare it with whole ones",
            question.request.interval
        ));
    }
    if question.request.interval == Interval::Total
        && range.days() > ATTRIBUTION_WINDOW_DAYS
        && question.request.within.is_none()
        && !of_measures(question, is_of_states).is_empty()
    {
        draft.note(format!(
            "the range has {} days, more than the {ATTRIBUTION_WINDOW_DAYS} of the attribution window: a customer counts once, in its \
             last state",
            range.days()
        ));
    }
    let is_recent = DateRange { start: range.end, end: data.end }.days() <= ATTRIBUTION_WINDOW_DAYS;
    let unfinished = of_measures(question, is_of_histories);
    if is_recent && question.request.within.is_none() && !unfinished.is_empty() {
        draft.note(format!(
            "{} may still change: later events of the same customers count, too; a `cohort` gives each the same time",
            unfinished.join(", ")
        ));
    }
    Ok(())
}

/// Returns the metrics of a question that are made of such measures, among others.
fn of_measures(question: &Question, is_meant: fn(Measure) -> bool) -> Vec<&str> {
    let is_of = |name: &&String| {
        metric(question, name).is_some_and(|metric| metric.measures.iter().any(|measure| is_meant(*measure)))
    };
    question.metrics.iter().filter(is_of).map(String::as_str).collect()
}

/// Returns whether a measure counts each customer once in a range.
fn is_of_states(measure: Measure) -> bool {
    matches!(measure.kind(), MeasureKind::StateRows | MeasureKind::StateMoney | MeasureKind::StateDistinct)
}

/// Returns whether a measure counts what became of customers at any time.
fn is_of_histories(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::BookedLeads
            | Measure::SoldLeads
            | Measure::ClosedLeads
            | Measure::FirstBookedEstimated
            | Measure::FirstEstimatedSold
            | Measure::FirstSoldClosed
            | Measure::Reached(_)
    )
}

/// Returns whether a measure is the same whichever event is credited.
fn is_credited_alike(measure: Measure) -> bool {
    let is_of_leads =
        matches!(measure, Measure::Leads | Measure::BookedLeads | Measure::SoldLeads | Measure::ClosedLeads);
    is_of_leads || measure.is_spend()
}

/// Returns whether the ranges of a question are all days of the data. Otherwise a change may be one of the number of
/// days, which is neither better nor worse.
pub(crate) fn can_be_judged(question: &Question, call: &Call<'_>) -> Result<bool, Fault> {
    let data = call.toolbox.days(&call.execution)?;
    let before = question.earlier()?.unwrap_or_else(|| question.range());
    Ok(data.is_some_and(|data| [question.range(), before].into_iter().all(|range| is_within(range, data))))
}

fn is_within(range: DateRange, data: DateRange) -> bool {
    data.start <= range.start && range.end <= data.end
}

/// Returns the first of the ranges of a question that has no data.
pub(crate) fn empty_range(question: &Question, call: &Call<'_>) -> Result<Option<DateRange>, Fault> {
    let data = call.toolbox.days(&call.execution)?;
    let is_empty = |range: &DateRange| data.is_none_or(|data| range.end < data.start || data.end < range.start);
    Ok([Some(question.range()), question.earlier()?].into_iter().flatten().find(is_empty))
}

/// Notes that a comparison has days without data, that it is not one of the same days of two months, or that one range
/// is longer.
fn compared_days(draft: &mut Draft, question: &Question, before: DateRange, data: DateRange) {
    let range = question.range();
    let is_to_date = question.request.range.is_some_and(|named| named.to_string() == "month-to-date");
    let is_usual = question.request.compare == Some(ComparedWith::Earlier(ComparisonRange::PreviousPeriod));
    let same = if is_to_date && is_usual { month_before(range) } else { None };
    let fair = same.unwrap_or(before);
    let has_fair = data.start <= fair.end && fair.start <= data.end;
    if has_fair && data.start <= range.start && (range.start..range.end).contains(&data.end) {
        let days = data.end.number() - range.start.number();
        let end = Day::from_number(fair.start.number().saturating_add(days)).min(fair.end);
        draft.note(format!(
            "only {} of the {} days have data: compare {}..{} with {}..{end}; no change is called better or worse here",
            u32::from(days) + 1,
            range.days(),
            range.start,
            data.end,
            fair.start
        ));
    } else if let Some(same) = same.filter(|same| *same != before) {
        draft.note(format!(
            "{before} are the days directly before; `with` as `previous-month` compares with {same}, the same days"
        ));
    } else if before.days() != range.days() && is_within(range, data) && is_within(before, data) {
        draft.note(format!(
            "the ranges have {} and {} days: a part of each change is the number of days",
            range.days(),
            before.days()
        ));
    }
}

/// Notes that the data end before a range does, or begin after it.
fn missing_days(draft: &mut Draft, range: DateRange, data: DateRange, which: &str) {
    if range.end < data.start || data.end < range.start {
        draft.note(format!(
            "the range {which}{range} has no data at all: the data are from {data}; a 0 there means no data"
        ));
        return;
    }
    if data.end < range.end {
        draft.note(format!("the data end on {}, so that the range {which}{range} is not complete", data.end));
    }
    if range.start < data.start {
        draft.note(format!("the data begin on {}, so that the range {which}{range} is not complete", data.start));
    }
}

/// Notes that some of several sub-ranges are before the first day of the data, or after the last one.
fn empty_sub_ranges(draft: &mut Draft, question: &Question, sub_ranges: &[DateRange], data: DateRange) {
    let before = sub_ranges.iter().filter(|range| range.end < data.start).count();
    let after = sub_ranges.iter().filter(|range| data.end < range.start).count();
    if before + after == sub_ranges.len() {
        // The note on the whole range says so.
        return;
    }
    for (count, which, day) in [(before, "before the first", data.start), (after, "after the last", data.end)] {
        if count > 0 {
            let sub_ranges = counted(count as u64, &question.request.interval.to_string());
            draft.note(format!("{which} day of data, {day}: {sub_ranges}; a 0 there means no data"));
        }
    }
}

/// Returns the whole week or month of a day; `None` for other intervals.
fn whole(day: Day, interval: Interval) -> Option<DateRange> {
    match interval {
        Interval::Month => Month::of(day).days(),
        Interval::Week => {
            // The first day of the calendar, 1970-01-01, is a Thursday.
            let start = Day::from_number(day.number().saturating_sub((day.number() + 3) % 7));
            Some(DateRange { start, end: Day::from_number(start.number().saturating_add(6)) })
        }
        Interval::Total | Interval::Day => None,
    }
}

/// Notes on values in conditions that nothing has.
pub(crate) fn unseen_values(draft: &mut Draft, question: &Question, call: &Call<'_>) -> Result<(), Fault> {
    if question.request.conditions.is_empty() {
        return Ok(());
    }
    let among = call.toolbox.account_filter();
    for value in question.dataset.unseen_values_among(question.prepared.events(), &among, &call.execution)? {
        let listed = |values: &[String]| values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", ");
        // A name of an account is mostly what a person says.
        let keys = call.toolbox.account_keys()?;
        let similar: Vec<String> = match value.field.as_str() {
            "account" | "accountKey" if value.similar.is_empty() => {
                let keys = call.toolbox.similar_accounts(&keys, &value.value);
                keys.into_iter().map(str::to_owned).collect()
            }
            _ => value.similar,
        };
        let nearest = match (similar.as_slice(), value.frequent.as_slice()) {
            ([], []) => String::new(),
            (similar, _) if similar.iter().any(|similar| crate::cell::is_shown_as(similar, &value.value)) => {
                "; an answer shows a longer text so, or one with invisible characters: match its beginning with `~`"
                    .to_owned()
            }
            ([], frequent) => format!("; frequent values are {}", listed(frequent)),
            (similar, _) => format!("; the nearest are {}", listed(similar)),
        };
        draft.note(format!("nothing has the value {} in `{}`{nearest}", quoted(&value.value), value.field));
    }
    Ok(())
}

/// Returns the properties of a metric of a question.
pub(crate) fn metric(question: &Question, name: &str) -> Option<MetricDescription> {
    FieldDescription::of(name, Some(&question.dataset)).metric()
}

/// Returns whether spend has a dimension.
fn splits_spend(question: &Question, dimension: &str) -> bool {
    FieldDescription::of(dimension, Some(&question.dataset)).splits_spend() == Some(true)
}

/// Returns whether the values of a metric add up over the rows of an answer to the value of the whole.
pub(crate) fn adds_up(question: &Question, name: &str) -> bool {
    let Some(metric) = metric(question, name) else { return false };
    let additivity = metric.additivity;
    let across = |dimension: &String| {
        if splits_spend(question, dimension) {
            additivity.across_spend_dimensions
        } else {
            additivity.across_other_dimensions
        }
    };
    // In a cohort each customer counts in one sub-range; additivity says nothing of it, so nothing is added up.
    let across_intervals = question.request.interval == Interval::Total
        || additivity.across_intervals && question.request.within.is_none();
    question.by.iter().all(across) && across_intervals
}

/// Notes that accounts have no row, although a reader asks for a row of each.
fn accounts_without_rows(
    draft: &mut Draft,
    question: &Question,
    call: &Call<'_>,
    table: &ResultTable,
) -> Result<(), Fault> {
    let request = &question.request;
    let is_account = |name: &&String| matches!(name.as_str(), "account" | "accountKey" | "accountName");
    let is_of_accounts = |name: &str| dictionary::field(name).is_some_and(|field| field.group == FieldGroup::Account);
    let Some(dimension) = question.by.iter().find(is_account) else { return Ok(()) };
    // Who asks for some accounts by a condition misses no others.
    if request.conditions.iter().any(|condition| is_of_accounts(condition.field())) {
        return Ok(());
    }
    let (of_rows, of_events): (Vec<_>, Vec<_>) =
        request.conditions.iter().cloned().partition(|condition| question.chooses_rows(condition));
    let has_where = !of_events.is_empty();
    let before_conditions;
    let table = if of_rows.is_empty() {
        table
    } else {
        // An account whose row is left out has one.
        let tested = of_rows.iter().map(|condition| condition.field().to_owned());
        let all = QueryRequest {
            fields: request.fields.iter().cloned().chain(tested).collect(),
            conditions: of_events,
            sort: Vec::new(),
            totals: false,
            targets: false,
            ..request.clone()
        };
        let all = all.prepare(&question.dataset, &call.toolbox.clock())?;
        before_conditions = all.run(&question.dataset, call.execution.clone())?;
        &before_conditions
    };
    let text = |row| match table.value(row, dimension) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    let found: BTreeSet<&str> = (0..table.len()).filter_map(text).collect();
    let keys: BTreeSet<String> = match &request.accounts {
        Some(keys) => keys.iter().cloned().collect(),
        None => question.dataset.account_keys()?,
    };
    let accounts = question.dataset.accounts();
    let has_row = |key: &str| found.contains(if dimension == "accountName" { accounts.name(key) } else { key });
    let missing: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !has_row(key)).collect();
    if !missing.is_empty() {
        draft.note(format!(
            "{} {} nothing to count{} in {} and no row: {}",
            counted(missing.len() as u64, "account"),
            if missing.len() == 1 { "has" } else { "have" },
            if has_where { " that passes `where`" } else { "" },
            if request.compare.is_some() { "either range" } else { "these days" },
            listed(&missing)
        ));
    }
    Ok(())
}

/// Lists keys of accounts, as many as a note has room for.
fn listed(keys: &[&str]) -> String {
    let mut text = String::new();
    for (at, key) in keys.iter().enumerate() {
        let key = quoted(key);
        if at > 0 && text.len() + key.len() > MAX_NAMES {
            return format!("{text} and {} more", keys.len() - at);
        }
        text += if at > 0 { ", " } else { "" };
        text += &key;
    }
    text
}

/// Notes why an answer about few accounts has nothing but zeros, if they have no data, or only of other days.
fn accounts_without_data(
    draft: &mut Draft,
    question: &Question,
    call: &Call<'_>,
    table: &ResultTable,
) -> Result<(), Fault> {
    let keys = question.request.accounts.as_deref().unwrap_or_default();
    let is_nothing = |name: &String| {
        let number = |row: usize| table.value(row, name).and_then(Value::as_f64).unwrap_or_default();
        (0..table.len()).all(|row| number(row) == 0.0)
    };
    // If nobody has data in the range, another note says so.
    if keys.len() > MAX_NAMED_ACCOUNTS
        || !question.metrics.iter().all(is_nothing)
        || empty_range(question, call)?.is_some()
    {
        return Ok(());
    }
    let range = question.range();
    for key in keys {
        let account = quoted(key);
        match question.dataset.days_of([key.as_str()], &call.execution)? {
            None => {
                draft.note(format!("the account {account} has neither events nor spend on any day: 0 means no data"));
            }
            Some(days) if days.end < range.start || range.end < days.start => {
                draft.note(format!("the account {account} has neither events nor spend but from {days}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Notes what targets and paces are on the last day of data, if the range goes on.
fn targets_to_date(draft: &mut Draft, question: &Question, call: &Call<'_>) -> Result<(), Fault> {
    let (range, request) = (question.range(), &question.request);
    let Some(data) = call.toolbox.days(&call.execution)? else { return Ok(()) };
    if !request.targets || !(range.start..range.end).contains(&data.end) {
        return Ok(());
    }
    let (start, end) = (Some(range.start), Some(data.end));
    let to_date = QueryRequest { range: None, start, end, allow_long_total: true, ..request.clone() };
    let to_date = to_date.prepare(&question.dataset, &call.toolbox.clock())?;
    let table = to_date.run(&question.dataset, call.execution.clone())?;
    let is_whole = question.by.is_empty() && request.interval == Interval::Total;
    let whole = table.totals().or_else(|| is_whole.then_some(&table)).filter(|whole| whole.len() == 1);
    let text = |column: String| {
        let cell = Cell::of(question.dataset.definitions(), whole?.column(&column)?, 0);
        if cell.value.is_null() { None } else { Some(cell.text) }
    };
    let of_metric = |name: &String| {
        let (target, pace) = (text(format!("{name}.target"))?, text(format!("{name}.pace"))?);
        Some(format!("{name}.target is {target} and {name}.pace {pace} to that day"))
    };
    let mut parts: Vec<String> = question.metrics.iter().filter_map(of_metric).collect();
    if !is_whole {
        parts.push(format!("for rows ask for {}..{}", range.start, data.end));
    }
    if !parts.is_empty() {
        draft.note(format!("targets are for all days, but the data end on {}: {}", data.end, parts.join("; ")));
    }
    Ok(())
}

/// Notes what the rows hold that conditions on metrics keep, next to totals that they do not change.
pub(crate) fn kept_rows(draft: &mut Draft, question: &Question, grid: &Grid) {
    let request = &question.request;
    if request.totals && request.conditions.iter().any(|condition| question.chooses_rows(condition)) {
        let held: Vec<String> = grid.held(0).into_iter().map(|(name, cell)| format!("{name} {}", cell.text)).collect();
        let held =
            if held.is_empty() { String::new() } else { format!("; the rows that pass hold {}", held.join(", ")) };
        draft.note(format!("conditions on metrics leave rows out, and do not change the totals{held}"));
    }
}

/// Notes on the numbers of a table: accounts that it lacks, what does not add up, what has no value or no target,
/// money, spend and open cohorts.
pub(crate) fn numbers(
    draft: &mut Draft,
    question: &Question,
    call: &Call<'_>,
    table: &ResultTable,
) -> Result<(), Fault> {
    accounts_without_rows(draft, question, call, table)?;
    accounts_without_data(draft, question, call, table)?;
    targets_to_date(draft, question, call)?;
    for note in table.notes() {
        // It names values of the data, which could end a quotation of their own.
        draft.note(format!("targets: {}", quoted_up_to(note, MAX_NOTE_OF_TARGETS)));
    }
    if table.len() > 1 {
        let not_additive: Vec<String> = question
            .metrics
            .iter()
            .filter(|name| !adds_up(question, name))
            .filter_map(|name| Some(format!("{name} ({})", metric(question, name)?.adds_up)))
            .collect();
        if !not_additive.is_empty() {
            draft.note(format!("do not add up or average rows of {}; ask for totals", not_additive.join(", ")));
        }
    }
    let mut over_nothing = Vec::new();
    for name in &question.metrics {
        // A row that is not shown shows no null.
        let is_over_nothing = |table: &ResultTable| {
            let mut shown = 0..table.len().min(question.limit);
            table.column(name).is_some_and(|column| shown.any(|row| column.is_over_nothing(row)))
        };
        if (is_over_nothing(table) || table.totals().is_some_and(is_over_nothing))
            && let Some(metric) = metric(question, name)
        {
            over_nothing.push(format!("{name} ({})", metric.formula));
        }
    }
    if !over_nothing.is_empty() {
        draft.note(format!("{OF_NULL} that the denominator is 0, not that the ratio is: {}", over_nothing.join(", ")));
    }
    let described = || question.metrics.iter().filter_map(|name| Some((name, metric(question, name)?)));
    ungraded(draft, question);
    let is_alike = |metric: &MetricDescription| metric.measures.iter().all(|measure| is_credited_alike(*measure));
    let alike: Vec<&str> = described().filter(|(_, metric)| is_alike(metric)).map(|(name, _)| name.as_str()).collect();
    if question.request.attribution != Attribution::Recorded && !alike.is_empty() {
        draft.note(format!(
            "`attribution` does not change {}: a lead is a first conversion, and spend keeps its own campaign",
            alike.join(", ")
        ));
    }
    let unsplit: Vec<&str> =
        question.by.iter().filter(|name| !splits_spend(question, name)).map(String::as_str).collect();
    let of_spend: Vec<&str> = described()
        .filter(|(_, metric)| metric.measures.iter().any(|measure| measure.is_spend()))
        .map(|(name, _)| name.as_str())
        .collect();
    if !unsplit.is_empty() && !of_spend.is_empty() && table.len() > 1 {
        draft.note(format!(
            "spend has no {}: each row shows the whole spend in {}",
            unsplit.join(", "),
            of_spend.join(", ")
        ));
    }
    let tested = question.prepared.events().names();
    let unfiltered: BTreeSet<&str> = tested
        .into_iter()
        .filter(|name| !question.by.iter().any(|by| by == name) && !question.dataset.is_metric(name))
        .filter(|name| !splits_spend(question, name))
        .collect();
    if !unfiltered.is_empty() && !of_spend.is_empty() {
        draft.note(format!(
            "spend has no {}: the condition on it leaves no spend out in {}",
            Vec::from_iter(unfiltered).join(", "),
            of_spend.join(", ")
        ));
    }
    let is_money = |unit: Unit| matches!(unit, Unit::Currency | Unit::CurrencyPerCount | Unit::CountPerCurrency);
    if described().any(|(_, metric)| is_money(metric.unit)) {
        currencies(draft, question);
    }
    if question.request.within.is_some() {
        open_leads(draft, table);
    }
    Ok(())
}

/// Notes that accounts do not grade leads, if a metric is of grades.
pub(crate) fn ungraded(draft: &mut Draft, question: &Question) {
    let is_of_grades = |metric: &MetricDescription| metric.measures.iter().any(|measure| measure.is_of_grades());
    let of_grades = question.metrics.iter().filter(|name| metric(question, name).is_some_and(|one| is_of_grades(&one)));
    let of_grades: Vec<&str> = of_grades.map(String::as_str).collect();
    let accounts = question.dataset.accounts();
    let keys = keys(question);
    let ungraded: Vec<&&str> = keys.iter().filter(|key| !accounts.lead_grading(key)).collect();
    let subject = match ungraded.as_slice() {
        [] => return,
        _ if of_grades.is_empty() => return,
        [key] => format!("the account {} does not grade leads", quoted(key)),
        several => format!("{} of {} accounts do not grade leads", several.len(), keys.len()),
    };
    draft.note(format!("{subject}: no conversion of theirs is in {}", of_grades.join(", ")));
}

/// Returns the keys of the accounts of a question: the ones that it names, or else all that are described.
fn keys(question: &Question) -> Vec<&str> {
    let all = || question.dataset.accounts().iter().map(|account| account.key.as_str()).collect();
    question.request.accounts.as_ref().map_or_else(all, |keys| keys.iter().map(String::as_str).collect())
}

/// Notes what currency amounts are in.
fn currencies(draft: &mut Draft, question: &Question) {
    let accounts = question.dataset.accounts();
    let mut codes: Vec<String> = keys(question)
        .into_iter()
        .filter_map(|key| accounts.currency(key))
        .map(|currency| currency.code().to_owned())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    match codes.as_slice() {
        [] => {}
        [code] => {
            draft.data.insert("currency".to_owned(), code.as_str().into());
            draft.head.extend([format!("amounts in {code}")]);
        }
        codes => {
            draft.note(format!("accounts have different currencies ({}); never add their amounts up", codes.join(", ")))
        }
    }
}

/// Notes that the windows of some leads are not over.
fn open_leads(draft: &mut Draft, table: &ResultTable) {
    let column = |table: &ResultTable, row| match table.value(row, OPEN_LEADS) {
        Some(Value::Count(count)) => count,
        _ => 0,
    };
    let of_rows = || (0..table.len()).map(|row| column(table, row)).sum::<u64>();
    let open = table.totals().map_or_else(of_rows, |totals| column(totals, 0));
    if open > 0 {
        draft.note(format!(
            "the window of {open} leads is not over ({OPEN_LEADS}): their numbers may still grow, and are not final"
        ));
    }
}
