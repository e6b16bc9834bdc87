//! Sentences that say what changed, and why: the numbers of a comparison in words.

use crate::document::Text;
use crate::figure::{AnswerRow, Figure, Magnitude, Verdict, is_percent, is_ratio, sign};
use crate::number::readable;
use crate::period::{EarlierDays, ReportDays};
use crate::question::Answer;
use crate::text::push_text;
use trueup::Value;
use trueup::dictionary::{self, Unit};
use trueup::query::ComparedColumn;

/// The most groups that a sentence about new or gone groups names. The others are counted, unless there is only one.
const LISTED: usize = 5;

/// How a sentence about a change for the better ends.
pub(crate) const BETTER: &str = ", which is better.";
/// How a sentence about a change for the worse ends.
pub(crate) const WORSE: &str = ", which is worse.";

/// A dimension whose groups explain a change, and the noun for a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupNoun<'a> {
    pub(crate) dimension: &'a str,
    /// `channel`
    pub(crate) noun: &'a str,
    /// `channels`
    pub(crate) nouns: &'a str,
    /// The most groups that a sentence about contributions names. The others are added up, unless there is only one.
    pub(crate) named: usize,
    /// Returns a value of the dimension as readers see it.
    pub(crate) label: fn(&str) -> String,
}

pub(crate) const CHANNELS: GroupNoun<'static> =
    GroupNoun { dimension: "attributionChannel", noun: "channel", nouns: "channels", named: 3, label };
pub(crate) const CAMPAIGNS: GroupNoun<'static> =
    GroupNoun { dimension: "campaign", noun: "campaign", nouns: "campaigns", named: 3, label };

/// Returns a value of a dimension as people read it.
pub(crate) fn label(text: &str) -> String {
    let mut shown = String::new();
    push_text(&mut shown, text);
    shown
}

/// Returns why days have no comparison with earlier ones.
pub(crate) fn without_comparison(earlier: &EarlierDays, period: &ReportDays) -> Text {
    Text::of(format!("Against {}: no comparison, because the data begin on {}.", earlier.name, period.data.start))
}

/// Says how a metric changed: a row of a comparison in words. `earlier` and `period` are the names of its ranges.
pub(crate) fn change(metric: &str, answer: &Answer, row: AnswerRow, earlier: &str, period: &str) -> Text {
    let column = |part: ComparedColumn| format!("{metric}{}", part.suffix());
    let figure = |part| answer.figure(row, &column(part));
    let value = |part| answer.value(row, &column(part));
    let (now, before) = (value(ComparedColumn::Current), value(ComparedColumn::Previous));
    let text = Text::of(format!("Against {earlier}"));
    match (now, before) {
        (Value::Null, Value::Null) => return text.text(": no value in either, because the denominator is 0 in both."),
        (_, Value::Null) => {
            return text.text(format!(": no comparison, because the denominator is 0 in {earlier}."));
        }
        (Value::Null, _) => {
            let text = text.text(" (").figure(figure(ComparedColumn::Previous));
            return text.text(format!("): no comparison, because the denominator is 0 in {period}."));
        }
        _ => {}
    }
    let text = text.text(" (").figure(figure(ComparedColumn::Previous)).text("): ");
    let change = value(ComparedColumn::Change);
    if sign(change) == 0 {
        return text.text("unchanged.");
    }
    let magnitude = Magnitude::new(&column(ComparedColumn::Change), change);
    if magnitude.is_zero {
        return text.text("the same, after rounding.");
    }
    let points = if magnitude.is_points { " percentage points" } else { "" };
    let words = format!("{}{points} {}", magnitude.text, more_or_less(metric, change));
    let mut text = text.figure(figure(ComparedColumn::Change).with_text(words));
    // A ratio to a negative amount would have the wrong sign, and one of percentages would be read as percentage
    // points.
    if sign(before) > 0 && !is_percent(metric) {
        let ratio = column(ComparedColumn::Ratio);
        let source = format!("{}/{row}/{ratio}", answer.number);
        let ratio = Figure::signed(metric, ComparedColumn::Ratio, value(ComparedColumn::Ratio), source);
        text = text.text(" (").figure(ratio).text(")");
    }
    text.text(match Verdict::of(metric, change) {
        Verdict::Better => BETTER,
        Verdict::Worse => WORSE,
        Verdict::Neither => ".",
    })
}

/// Returns the word for a change: `more`, `fewer`, `less`, `higher` or `lower`.
fn more_or_less(metric: &str, change: Value<'_>) -> &'static str {
    let is_count = dictionary::metric(metric).is_some_and(|(_, metric)| metric.unit == Unit::Count);
    match (sign(change) > 0, is_ratio(metric)) {
        (true, true) => "higher",
        (false, true) => "lower",
        (true, false) => "more",
        (false, false) if is_count => "fewer",
        (false, false) => "less",
    }
}

/// Says what the groups of a comparison contribute to the change of a metric. The contributions add up to it. `None` if
/// there is only one group, no group changed, or the change of a ratio cannot be split.
pub(crate) fn contributions(metric: &str, answer: &Answer, group: GroupNoun<'_>) -> Option<Text> {
    if answer.groups().count() < 2 {
        return None;
    }
    if is_ratio(metric) { effects(metric, answer, group) } else { changes(metric, answer, group) }
}

/// The groups that a sentence names, and the others that changed.
struct NamedGroups {
    named: Vec<AnswerRow>,
    others: Vec<AnswerRow>,
}

/// Splits groups, given with their contributions, into at most `named` with the largest contributions and the others.
fn split(mut parts: Vec<(AnswerRow, f64)>, named: usize, is_shown: impl Fn(f64) -> bool) -> NamedGroups {
    parts.retain(|(_, contribution)| *contribution != 0.0);
    // Stable, so that groups with equal contributions stay in the order of the answer.
    parts.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let shown = parts.iter().take_while(|(_, contribution)| is_shown(*contribution)).count();
    let limit = shown.min(named);
    // "All others" are at least two.
    let limit = if limit > 0 && parts.len() == limit + 1 { parts.len() } else { limit };
    let mut named: Vec<AnswerRow> = parts.iter().map(|(row, _)| *row).collect();
    let others = named.split_off(limit);
    NamedGroups { named, others }
}

/// Says how much each group adds to the change of a count or of an amount.
fn changes(metric: &str, answer: &Answer, group: GroupNoun<'_>) -> Option<Text> {
    let column = format!("{metric}{}", ComparedColumn::Change.suffix());
    let change = |row: AnswerRow| answer.value(row, &column);
    let is_money = matches!(change(AnswerRow::Totals), Value::Money(_));
    let parts = answer.groups().filter_map(|row| Some((row, change(row).as_f64()?))).collect();
    let is_shown = |contribution: f64| !is_money || contribution.abs() >= 0.005;
    let NamedGroups { named, others } = split(parts, group.named, is_shown);
    let words = |value: Value<'_>| {
        let magnitude = Magnitude::new(&column, value);
        format!("{} {}", magnitude.text, more_or_less(metric, value))
    };
    let mut items = Vec::new();
    for row in &named {
        let name = (group.label)(answer.text(*row, group.dimension));
        let previous = format!("{metric}{}", ComparedColumn::Previous.suffix());
        let note = match (sign(answer.value(*row, metric)), sign(answer.value(*row, &previous))) {
            (_, 0) => " (none before)",
            (0, _) => " (none now)",
            _ => "",
        };
        let figure = answer.figure(*row, &column);
        items.push(Text::of(format!("{name} ")).figure(figure.with_text(words(change(*row)))).text(note));
    }
    if !others.is_empty() {
        let rest = sum(others.iter().map(|row| change(*row)))?;
        let source = format!("{}/rest/{column}", answer.number);
        let shown = if sign(rest) == 0 { "unchanged".to_owned() } else { words(rest) };
        let figure = Figure::new(&column, rest, source).with_text(shown);
        items.push(Text::of(format!("all other {} together ", group.nouns)).figure(figure));
    }
    let is_any = !named.is_empty();
    is_any.then(|| Text::of(format!("By {}: ", group.noun)).then(Text::list(items)).text("."))
}

/// Adds counts or amounts of money; `None` if there is anything else, or too much.
fn sum<'a>(values: impl Iterator<Item = Value<'a>>) -> Option<Value<'static>> {
    let (mut sum, mut is_money) = (0_i128, false);
    for value in values {
        sum = sum.checked_add(match value {
            Value::Integer(integer) => integer.into(),
            Value::Count(count) => count.into(),
            Value::Money(micros) => {
                is_money = true;
                micros
            }
            _ => return None,
        })?;
    }
    if is_money { Some(Value::Money(sum)) } else { i64::try_from(sum).ok().map(Value::Integer) }
}

/// Says how much the rate and the mix of each group add to the change of a ratio.
fn effects(metric: &str, answer: &Answer, group: GroupNoun<'_>) -> Option<Text> {
    let [rate, mix] =
        [ComparedColumn::RateEffect, ComparedColumn::MixEffect].map(|part| format!("{metric}{}", part.suffix()));
    let effect = |row: AnswerRow, column: &str| answer.value(row, column).as_f64();
    let mut parts = Vec::new();
    for row in answer.groups() {
        parts.push((row, effect(row, &rate)? + effect(row, &mix)?));
    }
    let is_shown = |contribution: f64| !Magnitude::new(&rate, Value::Number(contribution)).is_zero;
    let NamedGroups { named, others } = split(parts.clone(), group.named, is_shown);
    if named.is_empty() {
        return None;
    }
    let signed = |value: f64, row: &str, column: &str| {
        let source = format!("{}/{row}/{column}", answer.number);
        let figure = Figure::signed(metric, ComparedColumn::RateEffect, Value::Number(value), source);
        let shown = figure.shown.trim_end_matches(" pp").to_owned();
        figure.with_text(shown)
    };
    let both = format!("{rate}+{mix}");
    let contribution = |row: &AnswerRow| match row {
        AnswerRow::Group(at) => parts.get(*at).map_or(0.0, |(_, sum)| *sum),
        AnswerRow::Totals => 0.0,
    };
    let mut items = Vec::new();
    for row in &named {
        let name = (group.label)(answer.text(*row, group.dimension));
        let at = row.to_string();
        let of = |column: &str| signed(effect(*row, column).unwrap_or_default(), &at, column);
        let text = Text::of(format!("{name} ")).figure(signed(contribution(row), &at, &both));
        items.push(text.text(" (rate ").figure(of(&rate)).text(", mix ").figure(of(&mix)).text(")"));
    }
    if !others.is_empty() {
        let rest: f64 = others.iter().map(contribution).sum();
        let text = Text::of(format!("all other {} together ", group.nouns));
        items.push(text.figure(signed(rest, "rest", &both)));
    }
    let whole = |column: &str| -> f64 { answer.groups().filter_map(|row| effect(row, column)).sum() };
    let unit = if is_percent(metric) { ", in percentage points" } else { "" };
    let text = Text::of(format!("By {}{unit}: ", group.noun)).then(Text::list(items));
    let text = text.text("; in all, the rates add ").figure(signed(whole(&rate), "all", &rate));
    Some(text.text(", and the mix ").figure(signed(whole(&mix), "all", &mix)).text("."))
}

/// Says which groups are new, and which are gone. All `metrics` are 0 in the earlier range for a new group, and in the
/// days of the report for a group that is gone. The first metric is the number of leads, which the sentence shows for
/// each group.
pub(crate) fn new_and_gone(
    metrics: &[&str],
    answer: &Answer,
    group: GroupNoun<'_>,
    earlier: &EarlierDays,
) -> Vec<Text> {
    let has_any = |row: AnswerRow, part: ComparedColumn| {
        metrics.iter().any(|metric| sign(answer.value(row, &format!("{metric}{}", part.suffix()))) != 0)
    };
    let groups = |is_new: bool| {
        let (has, lacks) = if is_new {
            (ComparedColumn::Current, ComparedColumn::Previous)
        } else {
            (ComparedColumn::Previous, ComparedColumn::Current)
        };
        let rows = answer.groups().filter(|row| !answer.text(*row, group.dimension).is_empty());
        let rows: Vec<AnswerRow> = rows.filter(|row| has_any(*row, has) && !has_any(*row, lacks)).collect();
        (rows, has)
    };
    let sentence = |is_new: bool| {
        let (mut rows, part) = groups(is_new);
        let metric = metrics.first().copied().unwrap_or_default();
        let column = format!("{metric}{}", part.suffix());
        let number = |row: &AnswerRow| answer.value(*row, &column).as_f64().unwrap_or_default();
        rows.sort_by(|a, b| number(b).total_cmp(&number(a)));
        let mut items: Vec<Text> = Vec::new();
        let listed = if rows.len() == LISTED + 1 { rows.len() } else { rows.len().min(LISTED) };
        for row in rows.iter().take(listed) {
            let name = (group.label)(answer.text(*row, group.dimension));
            let value = answer.value(*row, &column);
            let noun = if readable(&column, value) == "1" { "lead" } else { "leads" };
            items.push(Text::of(format!("{name} (")).figure(answer.figure(*row, &column)).text(format!(" {noun})")));
        }
        match rows.len() - listed {
            0 => {}
            more => items.push(Text::of(format!("{more} more"))),
        }
        let begin = if is_new { "New" } else { "Gone" };
        let begin = format!("{begin} against {}: ", earlier.name);
        (!items.is_empty()).then(|| Text::of(begin).then(Text::list(items)).text("."))
    };
    [sentence(true), sentence(false)].into_iter().flatten().collect()
}
