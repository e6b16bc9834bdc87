//! The sections of a report: key figures, what changed, funnel, channels, campaigns, trend and cohorts. Each asks its
//! questions, and turns the answers into sentences, tables and charts.

use crate::ReportError;
use crate::document::{Bar, Block, Cell, Chart, Section, Shape, Table, TableRow, Text};
use crate::figure::{AnswerRow, Figure, Verdict, display_name, sign};
use crate::period::{EarlierDays, ReportDays, month_name};
use crate::question::{Answer, Question, Questions};
use crate::sentences::{self, CAMPAIGNS, CHANNELS, GroupNoun, label};
use trueup::Value;
use trueup::query::{Attribution, ComparedColumn};

/// The metrics of sentences, of tables by group, and of the trend.
pub(crate) const METRICS: [&str; 6] = ["leads", "bookRate", "spend", "avgCostPerLead", "closedRevenue", "roasClosed"];

/// The metrics of the table of key figures.
const KEY_METRICS: [&str; 10] = [
    "leads",
    "customers",
    "bookRate",
    "payingCustomers",
    "avgTicket",
    "closedRevenue",
    "revenuePotential",
    "spend",
    "avgCostPerLead",
    "roasClosed",
];

/// The metrics whose change the campaigns explain.
const CAMPAIGN_METRICS: [&str; 4] = ["leads", "spend", "closedRevenue", "roasClosed"];

/// The metrics that are all 0 in the earlier range for a new group, and in the days of the report for a group that is
/// gone.
const ACTIVITY: [&str; 4] = ["leads", "customers", "spend", "closedRevenue"];

/// The most rows of groups in a table by group. One more row is that of all others.
const TABLE_ROWS: usize = 15;

/// The stages of the funnel: name, number of leads that reached it, and median of the days until then.
const FUNNEL: [(&str, &str, &str); 4] = [
    ("Booked", "reachedLeadToBooked", "medianDaysLeadToBooked"),
    ("Estimated", "reachedLeadToEstimated", "medianDaysLeadToEstimated"),
    ("Sold", "reachedLeadToSold", "medianDaysLeadToSold"),
    ("Closed", "reachedLeadToClosed", "medianDaysLeadToClosed"),
];

/// The window of the funnel, in days.
const FUNNEL_DAYS: u32 = 30;

/// The windows of the cohorts, in days.
const WINDOWS: [u32; 4] = [30, 60, 90, 180];

/// What all sections share.
pub(crate) struct Subject<'a> {
    pub(crate) accounts: &'a [String],
    pub(crate) period: &'a ReportDays,
    pub(crate) attribution: Attribution,
}

impl Subject<'_> {
    pub(crate) fn question(&self, fields: impl IntoIterator<Item = &'static str>) -> Question {
        Question::new(self.accounts, fields, self.period.range)
    }

    /// Asks for metrics by the groups of a dimension, compared with earlier days if the data have any.
    pub(crate) fn by_group(
        &self,
        questions: &mut Questions<'_>,
        group: GroupNoun<'static>,
        earlier: &EarlierDays,
    ) -> Result<Answer, ReportError> {
        let metrics = METRICS.into_iter().chain(["customers"]);
        let question = self.question([group.dimension].into_iter().chain(metrics)).compare(earlier.compare);
        questions.ask(&question.sort(&["leads:desc", "spend:desc", "closedRevenue:desc"]).totals())
    }
}

/// Returns the key figures: every metric, with both comparisons.
pub(crate) fn key_figures(subject: &Subject<'_>, questions: &mut Questions<'_>) -> Result<Section, ReportError> {
    let period = subject.period;
    let mut headings = vec!["Metric".to_owned(), period.name.clone()];
    let mut answers = Vec::new();
    for earlier in [&period.month_before, &period.year_before] {
        if earlier.compare.is_some() {
            answers.push(questions.ask(&subject.question(KEY_METRICS).compare(earlier.compare))?);
            headings.extend([earlier.name.clone(), "Change".to_owned(), "%".to_owned()]);
        }
    }
    let is_compared = !answers.is_empty();
    if !is_compared {
        answers.push(questions.ask(&subject.question(KEY_METRICS))?);
    }
    let row = AnswerRow::Group(0);
    let compared = |answer: &Answer, metric: &str| -> Vec<Cell> {
        let column = |part: ComparedColumn| format!("{metric}{}", part.suffix());
        let signed = |part: ComparedColumn| {
            let source = format!("{}/{row}/{}", answer.number, column(part));
            let change = change_of(answer, row, metric).map(|_| answer.value(row, &column(part)));
            Figure::signed(metric, part, change.unwrap_or(Value::Null), source)
        };
        let previous = Cell::new(answer.figure(row, &column(ComparedColumn::Previous)));
        let ratio = Figure { verdict: signed(ComparedColumn::Change).verdict, ..signed(ComparedColumn::Ratio) };
        vec![previous, Cell::new(signed(ComparedColumn::Change)), Cell::new(ratio)]
    };
    let table_row = |metric: &&'static str| {
        let now = answers.first().map(|answer| Cell::new(answer.figure(row, metric)));
        let more = answers.iter().filter(|_| is_compared).flat_map(|answer| compared(answer, metric));
        TableRow {
            name: display_name(metric).to_owned(),
            cells: now.into_iter().chain(more).collect(),
            is_total: false,
        }
    };
    let rows = KEY_METRICS.iter().map(table_row).collect();
    let caption = "Changes of percentages are in percentage points (pp)".to_owned();
    let has_any = |metric: &&str| answers.first().is_some_and(|answer| sign(answer.value(row, metric)) != 0);
    let mut blocks = Vec::new();
    if !["customers", "spend"].iter().any(has_any) {
        blocks.push(Block::Warning(Text::of(format!("There were neither events nor spend in {}.", period.name))));
    }
    blocks.push(Block::Table(Table { caption, headings, rows }));
    Ok(Section { id: "figures", heading: "Key figures", blocks })
}

/// Returns the sections about what changed, the channels and the campaigns.
pub(crate) fn changes(subject: &Subject<'_>, questions: &mut Questions<'_>) -> Result<[Section; 3], ReportError> {
    let period = subject.period;
    let channels = subject.by_group(questions, CHANNELS, &period.month_before)?;
    let a_year_ago = match period.year_before.compare {
        Some(_) => Some(subject.by_group(questions, CHANNELS, &period.year_before)?),
        None => None,
    };
    let mut blocks = Vec::new();
    for metric in METRICS {
        let figure = channels.figure(AnswerRow::Totals, metric);
        blocks.push(Block::Heading(Text::of(format!("{}: ", display_name(metric))).figure(figure)));
        let month_before = period.month_before.compare.map(|_| &channels);
        let comparisons = [(month_before, &period.month_before), (a_year_ago.as_ref(), &period.year_before)];
        blocks.push(Block::List(
            comparisons.into_iter().map(|(answer, earlier)| against(metric, answer, earlier, period)).collect(),
        ));
    }
    blocks.push(Block::Paragraph(Text::of(
        "What channels contribute adds up to the change of the whole. A channel contributes to the change of a ratio in \
         two ways: by its rate, because its own ratio changed, and by the mix, because its share in the denominator changed.",
    )));
    let changed = Section { id: "changes", heading: "What changed", blocks };

    let campaigns = subject.by_group(questions, CAMPAIGNS, &period.month_before)?;
    let mut blocks: Vec<Block> = uncredited_revenue(&channels, subject.attribution).into_iter().collect();
    blocks.extend(group_blocks(subject, questions, &channels, CHANNELS)?);
    let channels = Section { id: "channels", heading: "Channels", blocks };
    let mut blocks = Vec::new();
    if period.month_before.compare.is_some() {
        let mut sentences = Vec::new();
        for metric in CAMPAIGN_METRICS {
            let why = sentences::contributions(metric, &campaigns, CAMPAIGNS);
            sentences.extend(why.map(|why| {
                let (earlier, now) = (&period.month_before.name, &period.name);
                let change = sentences::change(metric, &campaigns, AnswerRow::Totals, earlier, now);
                Text::of(format!("{}. ", display_name(metric))).then(change).text(" ").then(why)
            }));
        }
        sentences.extend(sentences::new_and_gone(&ACTIVITY, &campaigns, CAMPAIGNS, &period.month_before));
        blocks.extend((!sentences.is_empty()).then_some(Block::List(sentences)));
    }
    blocks.extend(group_blocks(subject, questions, &campaigns, CAMPAIGNS)?);
    Ok([changed, channels, Section { id: "campaigns", heading: "Campaigns", blocks }])
}

/// Says that more than half of the closed revenue has no channel although leads have one, and what to do; `None` if
/// that is not so, or if channels are those of conversions already.
fn uncredited_revenue(channels: &Answer, attribution: Attribution) -> Option<Block> {
    let (unnamed, named): (Vec<_>, Vec<_>) =
        channels.groups().partition(|row| channels.text(*row, CHANNELS.dimension).is_empty());
    let revenue = |row| match channels.value(row, "closedRevenue") {
        Value::Money(micros) => micros,
        _ => 0,
    };
    let none = *unnamed.first()?;
    let is_most = revenue(none) > 0 && revenue(none).saturating_mul(2) > revenue(AnswerRow::Totals);
    let has_leads = named.iter().any(|row| sign(channels.value(*row, "leads")) > 0);
    let figure = |row| channels.figure(row, "closedRevenue");
    (attribution == Attribution::Recorded && is_most && has_leads).then(|| {
        let text = Text::of("Of the closed revenue of ").figure(figure(AnswerRow::Totals)).text(", ");
        Block::Warning(text.figure(figure(none)).text(
            " has no channel, because the events that bring it name none, although leads name theirs. With --attribution \
             first (attribution=first in a request), it counts for the channel of its customer's first conversion.",
        ))
    })
}

/// Says how a metric changed against earlier days, and which channels made it change.
fn against(metric: &str, answer: Option<&Answer>, earlier: &EarlierDays, period: &ReportDays) -> Text {
    let Some(answer) = answer else { return sentences::without_comparison(earlier, period) };
    let change = sentences::change(metric, answer, AnswerRow::Totals, &earlier.name, &period.name);
    match sentences::contributions(metric, answer, CHANNELS) {
        Some(why) => change.text(" ").then(why),
        None => change,
    }
}

/// Returns the chart and the table of the groups of a dimension.
fn group_blocks(
    subject: &Subject<'_>,
    questions: &mut Questions<'_>,
    answer: &Answer,
    group: GroupNoun<'static>,
) -> Result<Vec<Block>, ReportError> {
    let earlier = &subject.period.month_before;
    let groups: Vec<AnswerRow> = answer.groups().collect();
    let is_named = |row: &AnswerRow| !answer.text(*row, group.dimension).is_empty();
    if !groups.iter().any(is_named) {
        return Ok(vec![Block::Paragraph(Text::of(format!("No event and no spend names a {}.", group.noun)))]);
    }
    // One more row would take as much room as the row of the others.
    let shown = if groups.len() == TABLE_ROWS + 1 { groups.len() } else { groups.len().min(TABLE_ROWS) };
    let cells = |answer: &Answer, row: AnswerRow| -> Vec<Cell> {
        METRICS.iter().map(|metric| cell(answer, row, metric, earlier)).collect()
    };
    let mut rows: Vec<TableRow> = Vec::new();
    for row in groups.iter().take(shown) {
        let name = label(answer.text(*row, group.dimension));
        rows.push(TableRow { name, cells: cells(answer, *row), is_total: false });
    }
    if shown < groups.len() {
        let values = groups.iter().take(shown).map(|row| answer.text(*row, group.dimension).to_owned()).collect();
        let others = subject.question(METRICS).compare(earlier.compare).without(group.dimension, values);
        let others = questions.ask(&others)?;
        let name = format!("{} other {}", groups.len() - shown, group.nouns);
        rows.push(TableRow { name, cells: cells(&others, AnswerRow::Group(0)), is_total: false });
    }
    rows.push(TableRow { name: "All".to_owned(), cells: cells(answer, AnswerRow::Totals), is_total: true });

    let previous = format!("leads{}", ComparedColumn::Previous.suffix());
    let bar = |row: &AnswerRow| Bar {
        name: label(answer.text(*row, group.dimension)),
        figure: answer.figure(*row, "leads"),
        earlier: earlier.compare.map(|_| answer.figure(*row, &previous)),
    };
    let has_leads = |row: &&AnswerRow| ["leads", &previous].iter().any(|column| sign(answer.value(**row, column)) != 0);
    let bars: Vec<Bar> = groups.iter().take(shown).filter(has_leads).map(bar).collect();
    let chart = (!bars.is_empty()).then(|| bar_chart(&format!("Leads by {}", group.noun), bars, subject.period));
    let mut headings = vec![capitalized(group.noun)];
    headings.extend(METRICS.iter().map(|metric| display_name(metric).to_owned()));
    let caption = match earlier.compare {
        Some(_) => format!("{} by {}, with the change against {}", subject.period.name, group.noun, earlier.name),
        None => format!("{} by {}", subject.period.name, group.noun),
    };
    let table = Block::Table(Table { caption, headings, rows });
    Ok(chart.into_iter().chain([table]).collect())
}

fn capitalized(noun: &str) -> String {
    let mut chars = noun.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns a number with its change.
fn cell(answer: &Answer, row: AnswerRow, metric: &str, earlier: &EarlierDays) -> Cell {
    let change = earlier.compare.and_then(|_| change_of(answer, row, metric));
    Cell::new(answer.figure(row, metric)).with_change(change)
}

/// Returns the change of a metric; `None` if it has no value in one of the two ranges.
fn change_of(answer: &Answer, row: AnswerRow, metric: &str) -> Option<Figure> {
    let column = |part: ComparedColumn| format!("{metric}{}", part.suffix());
    let has = |part| answer.value(row, &column(part)) != Value::Null;
    let change = column(ComparedColumn::Change);
    let source = format!("{}/{row}/{change}", answer.number);
    (has(ComparedColumn::Current) && has(ComparedColumn::Previous))
        .then(|| Figure::signed(metric, ComparedColumn::Change, answer.value(row, &change), source))
}

fn bar_chart(title: &str, bars: Vec<Bar>, period: &ReportDays) -> Block {
    let value = |bar: &Bar| match &bar.earlier {
        Some(earlier) => format!("{} {}, before {}", bar.name, bar.figure.shown, earlier.shown),
        None => format!("{} {}", bar.name, bar.figure.shown),
    };
    let has_earlier = bars.iter().any(|bar| bar.earlier.is_some());
    let below =
        if has_earlier { format!(", and below it the bar of {}", period.month_before.name) } else { String::new() };
    let description = bars.iter().map(value).collect::<Vec<_>>().join("; ");
    let title = format!("{title}: {}{below}", period.name);
    Block::Chart(Chart { title, description, shape: Shape::Bars(bars) })
}

/// Returns the funnel: how far the leads of the month got within the same time as those of the month before.
pub(crate) fn funnel(subject: &Subject<'_>, questions: &mut Questions<'_>) -> Result<Section, ReportError> {
    let period = subject.period;
    let earlier = &period.month_before;
    let stages = FUNNEL.into_iter().flat_map(|(_, reached, days)| [reached, days]);
    let question = subject.question(["leads", "openLeads"].into_iter().chain(stages)).within(FUNNEL_DAYS);
    let answer = questions.ask(&question.compare(earlier.compare))?;
    let row = AnswerRow::Group(0);
    let steps =
        [("Leads", "leads", None)].into_iter().chain(FUNNEL.map(|(name, reached, days)| (name, reached, Some(days))));
    let has_open_leads = sign(answer.value(row, "openLeads")) != 0;
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (name, metric, days) in steps {
        // The leads themselves are counted on their first day.
        let is_open = has_open_leads && days.is_some();
        let previous =
            earlier.compare.map(|_| answer.figure(row, &format!("{metric}{}", ComparedColumn::Previous.suffix())));
        let mut cells = vec![Cell { is_open, ..Cell::new(answer.figure(row, metric)) }];
        if let Some(previous) = &previous {
            cells.push(Cell::new(previous.clone()));
            let change = change_of(&answer, row, metric);
            cells.extend(change.map(|change| open_change(change, is_open)));
        }
        // There is no median time to a stage that no lead has reached.
        let days = days.map(|days| match sign(answer.value(row, metric)) {
            0 => Figure::new(days, Value::Null, String::new()),
            _ => answer.figure(row, days),
        });
        cells.push(Cell::new(days.unwrap_or_else(|| Figure::new("leads", Value::Null, String::new()))));
        rows.push(TableRow { name: name.to_owned(), cells, is_total: false });
        bars.push(Bar { name: name.to_owned(), figure: answer.figure(row, metric), earlier: previous });
    }
    let mut headings = vec!["Stage".to_owned(), period.name.clone()];
    if earlier.compare.is_some() {
        headings.extend([earlier.name.clone(), "Change".to_owned()]);
    }
    headings.push("Median days".to_owned());
    let mut blocks = vec![Block::Paragraph(Text::of(format!(
        "The leads that came in, and how many of them reached each stage within {FUNNEL_DAYS} days after their first event. \
         The booked share of these leads is not the {}, which is of all customers with an event in the month.",
        display_name("bookRate")
    )))];
    if has_open_leads {
        let open = answer.figure(row, "openLeads");
        blocks.push(Block::Warning(Text::of("For ").figure(open).text(format!(
            " of the leads, fewer than {FUNNEL_DAYS} days have passed, so that the numbers with * may still grow."
        ))));
    }
    blocks.push(bar_chart(&format!("Funnel within {FUNNEL_DAYS} days"), bars, period));
    let caption = format!("Leads by stage reached within {FUNNEL_DAYS} days, and the median days from lead to stage");
    blocks.push(Block::Table(Table { caption, headings, rows }));
    Ok(Section { id: "funnel", heading: "Funnel", blocks })
}

/// Returns the cell of a change. While the numbers may still change, it is neither for the better nor for the worse.
pub(crate) fn open_change(change: Figure, is_open: bool) -> Cell {
    let verdict = if is_open { Verdict::Neither } else { change.verdict };
    Cell { is_open, ..Cell::new(Figure { verdict, ..change }) }
}

/// Returns the trend: the metrics month by month.
pub(crate) fn trend(subject: &Subject<'_>, questions: &mut Questions<'_>) -> Result<Section, ReportError> {
    let months = subject.period.trend();
    let answer = questions.ask(&Question::new(subject.accounts, METRICS, months).by_month())?;
    let rows: Vec<(AnswerRow, String)> = answer.groups().map(|row| (row, start_name(&answer, row))).collect();
    let mut blocks = Vec::new();
    let mut sentences = Vec::new();
    for metric in METRICS {
        let points: Vec<(String, Figure)> =
            rows.iter().map(|(row, name)| (name.clone(), answer.figure(*row, metric))).collect();
        let Some(ends) = lowest_and_highest(&points) else { continue };
        let text = Text::of(format!("{}: lowest in {} (", display_name(metric), ends[0].0)).figure(ends[0].1.clone());
        let text = text.text(format!("), highest in {} (", ends[1].0)).figure(ends[1].1.clone()).text(").");
        let description: Vec<String> = points.iter().map(|(name, figure)| format!("{name} {}", figure.shown)).collect();
        sentences.push(text);
        blocks.push(Block::Chart(Chart {
            title: display_name(metric).to_owned(),
            description: description.join("; "),
            shape: Shape::Line(points),
        }));
    }
    blocks.extend((!sentences.is_empty()).then_some(Block::List(sentences)));
    let table_row = |(row, name): &(AnswerRow, String)| TableRow {
        name: name.clone(),
        cells: METRICS.iter().map(|metric| Cell::new(answer.figure(*row, metric))).collect(),
        is_total: false,
    };
    let headings = ["Month"].into_iter().chain(METRICS.iter().map(|metric| display_name(metric))).map(str::to_owned);
    blocks.push(Block::Table(Table {
        caption: "Month by month, each computed by itself".to_owned(),
        headings: headings.collect(),
        rows: rows.iter().map(table_row).collect(),
    }));
    Ok(Section { id: "trend", heading: "Trend", blocks })
}

fn start_name(answer: &Answer, row: AnswerRow) -> String {
    answer.start(row).map_or_else(String::new, month_name)
}

/// Returns the points with the lowest and the highest number, the first ones if there are several; `None` if there are
/// not two different numbers.
fn lowest_and_highest(points: &[(String, Figure)]) -> Option<[&(String, Figure); 2]> {
    let numbers = || points.iter().filter_map(|point| Some((point, point.1.number()?)));
    let lowest = numbers().reduce(|best, next| if next.1 < best.1 { next } else { best })?;
    let highest = numbers().reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    (lowest.1 < highest.1).then_some([lowest.0, highest.0])
}

/// Returns the cohorts: what the leads of each month brought in within some days.
pub(crate) fn cohorts(subject: &Subject<'_>, questions: &mut Questions<'_>) -> Result<Section, ReportError> {
    let months = subject.period.cohorts();
    let fields = ["leads", "openLeads", "spend", "payingCustomerRate", "closedRevenue", "roasClosed"];
    let question = Question::new(subject.accounts, fields, months).by_month();
    let mut answers = Vec::new();
    for days in WINDOWS {
        answers.push((days, questions.ask(&question.clone().within(days))?));
    }
    let has_spend =
        answers.iter().any(|(_, answer)| answer.groups().any(|row| answer.value(row, "roasClosed") != Value::Null));
    let mut blocks = vec![Block::Paragraph(Text::of(
        "What became of the leads of each month within some days after their first event. A number with * may still change, \
         because for some leads of its month that time is not over yet.",
    ))];
    for metric in ["payingCustomerRate", if has_spend { "roasClosed" } else { "closedRevenue" }] {
        blocks.push(Block::Table(cohort_table(&answers, metric)));
    }
    Ok(Section { id: "cohorts", heading: "Cohorts", blocks })
}

fn cohort_table(answers: &[(u32, Answer)], metric: &'static str) -> Table {
    let shown = |answer: &Answer, row: AnswerRow| {
        // A month without leads has no cohort.
        match sign(answer.value(row, "leads")) {
            0 => Figure::new(metric, Value::Null, String::new()),
            _ => answer.figure(row, metric),
        }
    };
    let numbers = answers.iter().flat_map(|(_, answer)| answer.groups().filter_map(|row| shown(answer, row).number()));
    let highest = numbers.fold(0.0, f64::max);
    let mut rows = Vec::new();
    if let Some((_, first)) = answers.first() {
        for row in first.groups() {
            let leads = Cell::new(first.figure(row, "leads"));
            let windows = answers.iter().map(|(_, answer)| {
                let figure = shown(answer, row);
                let shade = figure.number().filter(|_| highest > 0.0).map(|number| shade(number / highest));
                let is_open = sign(answer.value(row, "openLeads")) != 0;
                Cell { figure, change: None, shade, is_open }
            });
            let cells = [leads].into_iter().chain(windows).collect();
            rows.push(TableRow { name: start_name(first, row), cells, is_total: false });
        }
    }
    let mut headings = vec!["Leads of".to_owned(), "Leads".to_owned()];
    headings.extend(answers.iter().map(|(days, _)| format!("{days} days")));
    let caption = format!("{} of the leads of each month, by days after their first event", display_name(metric));
    Table { caption, headings, rows }
}

/// Returns the shade of a number, given as a fraction of the highest one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of shades")]
fn shade(part: f64) -> u8 {
    (part.clamp(0.0, 1.0) * f64::from(Cell::SHADES)).round() as u8
}
