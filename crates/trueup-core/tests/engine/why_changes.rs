//! Explained changes: who makes the change of a row between two ranges, and the lines of both, are those of the oracle.

use crate::comparison::{engine_earlier, has_days};
use crate::run::{dataset, requested};
use crate::why::{JsonRow, adds, line, lines, oracle_lines, text, why};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::dictionary::{self, Formula, Measure};
use trueup_core::query::{ComparedColumn, EventsQuery, LineOrder, WhyQuery};
use trueup_core::{ChangeClass, Dataset, Value, Why};
use trueup_testkit::cases::comparison_case;
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{Definitions, Earlier, ExplainedLine, Request, Tables, compared};

/// The lines of a customer, an agent or a campaign in both ranges, the earlier one first.
type Lines = [Vec<ExplainedLine>; 2];

/// For each measure, the lines of each customer, agent or campaign.
type ByMeasure = BTreeMap<String, BTreeMap<(String, String), Lines>>;

/// The customers of a class, and its numerator and denominator of both ranges.
type Class = (u64, [f64; 2], [f64; 2]);

/// Generates comparisons without percentiles.
fn any_case() -> impl Strategy<Value = (Tables, Request, Earlier)> {
    comparison_case().prop_map(|(tables, mut request, earlier)| {
        request.fields.retain(|name| !name.starts_with("median") && !name.starts_with("p90"));
        (tables, request, earlier)
    })
}

/// Returns the query of a case, and the rows of the oracle's answer; `None` if it is refused.
fn answered((tables, request, earlier): &(Tables, Request, Earlier)) -> Option<(EventsQuery, Vec<JsonRow>)> {
    let query = requested(request).ok().filter(|_| has_days(request, *earlier))?;
    let rows = compared(tables, request, &Definitions::default(), *earlier, &[], None).ok()?;
    Some((query.compare(engine_earlier(*earlier)), serde_json::from_str(&rows).unwrap()))
}

/// Returns the question for a row of a comparison.
fn question(query: &EventsQuery, row: &JsonRow) -> WhyQuery {
    let values = row.iter().filter(|(name, _)| ComparedColumn::split(name).is_none());
    values.fold(WhyQuery::new(query.clone()), |why, (name, value)| why.value(name, value.as_str().unwrap()))
}

/// Returns who a line is of: an agent, a campaign of an account, or a customer.
fn unit(measure: &str, line: &ExplainedLine) -> (String, String) {
    let agent = || line.rule.split_once("; agent `").unwrap().1.rsplit_once("`, on the state event").unwrap().0;
    match (measure, line.opportunity_id.as_str()) {
        ("opportunityAgents", _) => (String::new(), agent().to_owned()),
        (_, "") => (line.account.clone(), line.rule.clone()),
        (_, customer) => (line.account.clone(), customer.to_owned()),
    }
}

/// Returns the oracle's lines behind a row in both ranges.
fn expected((tables, request, earlier): &(Tables, Request, Earlier), row: &JsonRow, why: &Why) -> ByMeasure {
    let mut by_measure = ByMeasure::new();
    let ranges = [earlier.range(request.start, request.end), (request.start, request.end)];
    for (range, (start, end)) in ranges.into_iter().enumerate() {
        let mut row = row.clone();
        row.insert("start".to_owned(), start.to_string().into());
        row.insert("end".to_owned(), end.to_string().into());
        for (measure, line) in oracle_lines((tables, request), &row, &why.measures) {
            let units = by_measure.entry(measure.clone()).or_default();
            units.entry(unit(&measure, &line)).or_default()[range].push(line);
        }
    }
    by_measure
}

fn sums(lines: &Lines) -> [i128; 2] {
    lines.each_ref().map(|lines| lines.iter().map(|line| line.adds).sum())
}

/// Returns the class of a customer that one or several measures count.
fn class(lines: &[&Lines]) -> ChangeClass {
    let is_counted = |range: usize| lines.iter().any(|lines| !lines[range].is_empty());
    match (is_counted(0), is_counted(1)) {
        (false, _) => ChangeClass::Current,
        (_, false) => ChangeClass::Previous,
        _ if lines.iter().all(|lines| sums(lines)[0] == sums(lines)[1]) => ChangeClass::Unchanged,
        _ => ChangeClass::Changed,
    }
}

/// Returns a count, a change of one, or an amount in millionths.
fn whole(value: Value<'_>) -> i128 {
    match value {
        Value::Count(count) => count.into(),
        Value::Integer(change) => change.into(),
        Value::Money(amount) => amount,
        other => panic!("{other:?}"),
    }
}

/// Returns the lines that an explanation should have, without their order. All rows of spend of a campaign in a range
/// are one line.
fn expected_lines(by_measure: &ByMeasure) -> Vec<String> {
    let mut all = Vec::new();
    for (measure, units) in by_measure {
        for lines in units.values() {
            let class = class(&[lines]);
            for (lines, range) in lines.iter().zip(["previous", "current"]) {
                let mut lines = lines.clone();
                if lines.len() > 1 && lines[0].opportunity_id.is_empty() {
                    let adds = lines.iter().map(|line| line.adds).sum();
                    let date = lines.iter().map(|line| line.date).min().unwrap();
                    let rule = format!("{}; the sum of {} rows of spend", lines[0].rule, lines.len());
                    lines = vec![ExplainedLine { adds, date, rule, ..lines[0].clone() }];
                }
                for mut line in lines.into_iter().filter(|_| class != ChangeClass::Unchanged) {
                    line.adds *= if range == "previous" { -1 } else { 1 };
                    all.push(format!("{measure} {} {range} {line:?}", class.name()));
                }
            }
        }
    }
    all.sort();
    all
}

fn found_lines(why: &Why) -> Vec<String> {
    let table = why.lines();
    let of_row = |row: usize| {
        let (measure, line) = line(table, row);
        format!("{measure} {} {} {line:?}", text(table, row, "class"), text(table, row, "range"))
    };
    let mut all: Vec<String> = (0..table.len()).map(of_row).collect();
    all.sort();
    all
}

/// Checks the classes of a ratio over customers against those of the oracle's lines.
fn check_ratio(why: &Why, metric: &str, by_measure: &ByMeasure) -> Result<(), TestCaseError> {
    let Formula::Ratio { numerator, denominator } = dictionary::metric(metric).unwrap().1.formula else {
        return Ok(());
    };
    let explained = why.metrics.iter().find(|explained| explained.name == metric).unwrap();
    let change = explained.change.as_ref().unwrap();
    let is_of_customers = |measure: &Measure| !measure.is_spend() && *measure != Measure::OpportunityAgents;
    if !numerator.iter().chain(denominator).all(is_of_customers) {
        prop_assert!(change.classes.is_empty());
        return Ok(());
    }
    let mut classes: [Class; 4] = [(0, [0.0; 2], [0.0; 2]); 4];
    let of = |measure: &Measure| by_measure.get(measure.name());
    let customers: BTreeSet<_> = numerator.iter().chain(denominator).filter_map(of).flat_map(BTreeMap::keys).collect();
    for customer in customers {
        let lines = |measures: &'static [Measure]| -> Vec<&Lines> {
            measures.iter().filter_map(|measure| of(measure)?.get(customer)).collect()
        };
        let both = [lines(numerator), lines(denominator)];
        let (count, n, d) = &mut classes[class(&both.concat()) as usize];
        *count += 1;
        for (sum, lines, measures) in [(n, &both[0], numerator), (d, &both[1], denominator)] {
            let unit = why.measures.iter().find(|measure| measures.contains(&measure.measure)).unwrap();
            let unit = if matches!(unit.sum, Value::Money(_)) { 1e6 } else { 1.0 };
            for (range, sum) in sum.iter_mut().enumerate() {
                let total: i128 = lines.iter().map(|lines| sums(lines)[range]).sum();
                *sum += total.to_string().parse::<f64>().unwrap() / unit;
            }
        }
    }
    let all =
        |part: fn(&Class) -> [f64; 2]| [0, 1].map(|range| classes.iter().map(|class| part(class)[range]).sum::<f64>());
    let [all_n, all_d] = [all(|class| class.1), all(|class| class.2)];
    let near = |found: Value<'_>, expected: Option<f64>| match (found.as_f64(), expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        (found, expected) => found == expected,
    };
    let mut added = Some(0.0);
    for (found, (customers, n, d)) in change.classes.iter().zip(classes) {
        let ratios = [0, 1].map(|range| (d[range] != 0.0).then(|| n[range] / d[range]));
        let [before, now] = [ratios[0].or(ratios[1]).unwrap_or(0.0), ratios[1].or(ratios[0]).unwrap_or(0.0)];
        let is_known = all_d.iter().all(|sum| *sum != 0.0);
        let shares = [0, 1].map(|range| d[range] / all_d[range]);
        let rate = is_known.then(|| (shares[0] + shares[1]) / 2.0 * (now - before));
        let mix = rate.map(|rate| {
            let mean = (all_n[0] / all_d[0] + all_n[1] / all_d[1]) / 2.0;
            n[1] / all_d[1] - n[0] / all_d[0] - rate - (shares[1] - shares[0]) * mean
        });
        prop_assert_eq!(found.customers, customers);
        prop_assert!(near(found.previous, ratios[0]) && near(found.current, ratios[1]), "{:?}", found);
        prop_assert!(near(found.rate_effect, rate) && near(found.mix_effect, mix), "{:?} {:?} {:?}", found, rate, mix);
        let effects = found.rate_effect.as_f64().zip(found.mix_effect.as_f64());
        added = added.zip(effects).map(|(sum, (rate, mix))| sum + rate + mix);
    }
    if let Some(added) = added {
        prop_assert!(near(change.change, Some(added)), "{:?} {}", change, added);
    }
    Ok(())
}

/// Explains every row of a comparison.
fn explained(
    case: &(Tables, Request, Earlier),
    mut check: impl FnMut(&Dataset, &WhyQuery, &JsonRow) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let Some((query, rows)) = answered(case) else { return Ok(()) };
    let dataset = dataset(&case.0, 7);
    rows.iter().try_for_each(|row| check(&dataset, &question(&query, row), row))
}

proptest! {
    #![proptest_config(cases(400))]

    /// What the classes of a measure change is what its change is, to the millionth. The lines are those of the oracle.
    #[test]
    fn classes_and_lines_are_those_of_the_oracle(case in any_case()) {
        explained(&case, |dataset, question, row| {
            let why = why(dataset, question);
            let by_measure = expected(&case, row, &why);
            for measure in &why.measures {
                let change = measure.change.as_ref().unwrap();
                let mut totals = [(0, [0; 2]); 4];
                for lines in by_measure.get(measure.measure.name()).into_iter().flat_map(BTreeMap::values) {
                    let (counted, of_class) = &mut totals[class(&[lines]) as usize];
                    *counted += 1;
                    for (into, sum) in of_class.iter_mut().zip(sums(lines)) {
                        *into += sum;
                    }
                }
                for (found, (counted, [previous, current])) in change.classes.iter().zip(totals) {
                    let numbers = [found.previous, found.current, found.change].map(whole);
                    prop_assert_eq!((found.counted, numbers), (counted, [previous, current, current - previous]));
                }
                let changes: i128 = change.classes.iter().map(|class| whole(class.change)).sum();
                prop_assert_eq!(changes, whole(change.change));
                prop_assert_eq!(whole(measure.sum) - whole(change.previous), whole(change.change));
                let name = measure.measure.name();
                let is_of = |line: &usize| text(why.lines(), *line, "measure") == name;
                let added: i128 = (0..why.lines().len()).filter(is_of).map(|line| adds(why.lines(), line)).sum();
                prop_assert_eq!(added, whole(change.change));
            }
            for metric in &why.metrics {
                let change = metric.change.as_ref().unwrap();
                let of = |part: &str| row[&format!("{}{part}", metric.name)].as_f64();
                let found = [metric.value, change.previous, change.change].map(Value::as_f64);
                prop_assert_eq!(found, [of(""), of(".previous"), of(".change")], "{} of {:?}", metric.name, row);
                check_ratio(&why, &metric.name, &by_measure)?;
            }
            prop_assert_eq!(found_lines(&why), expected_lines(&by_measure));
            prop_assert_eq!(why.lines().len() as u64, why.total_lines());
            Ok(())
        })?;
    }

    /// For each class of a measure, a limited list has the first lines of the whole list, which has the lines of a
    /// customer one after the other. Neither list depends on row groups.
    #[test]
    fn limits_and_row_groups_change_no_line(
        case in any_case(),
        (limit, order) in (0_usize..4, prop::sample::select(vec![LineOrder::Oldest, LineOrder::Newest, LineOrder::Largest])),
    ) {
        let one = dataset(&case.0, 10_000);
        explained(&case, |dataset, question, _| {
            let question = question.clone().order(order);
            let all = why(&one, &question);
            prop_assert_eq!(lines(&why(dataset, &question)), lines(&all));
            let limited = why(dataset, &question.limit(limit));
            prop_assert_eq!(&limited.metrics, &all.metrics);
            let list = |why: &Why, row: usize| (text(why.lines(), row, "measure"), text(why.lines(), row, "class"));
            let mut shown: BTreeMap<_, usize> = BTreeMap::new();
            let texts = lines(&all).into_iter().enumerate().filter(|(row, _)| {
                let shown = shown.entry(list(&all, *row)).or_default();
                *shown += 1;
                *shown <= limit
            });
            prop_assert_eq!(lines(&limited), texts.map(|(_, text)| text).collect::<Vec<_>>());
            for (limited, all) in limited.measures.iter().zip(&all.measures) {
                let of = |lines: u64| lines.min(limit as u64);
                let classes = |of: &trueup_core::ExplainedMeasure| of.change.clone().unwrap().classes;
                for (limited, all) in classes(limited).into_iter().zip(classes(all)) {
                    prop_assert_eq!((limited.lines, limited.listed), (all.lines, of(all.lines)));
                }
            }
            // By customer: its place in the list, and how much it changes.
            let mut seen: BTreeSet<_> = BTreeSet::new();
            let mut changes: BTreeMap<_, Vec<(String, i128)>> = BTreeMap::new();
            for row in 0..all.lines().len() {
                let (measure, line) = line(all.lines(), row);
                let of_list = changes.entry(list(&all, row)).or_default();
                let who = format!("{:?}", if line.opportunity_id.is_empty() {
                    (line.account.clone(), line.rule.split("; the sum of").next().unwrap().to_owned())
                } else {
                    unit(&measure, &line)
                });
                match of_list.last_mut().filter(|(last, _)| *last == who) {
                    Some((_, change)) => *change += line.adds,
                    None => {
                        prop_assert!(seen.insert((list(&all, row), who.clone())), "{} is not together", who);
                        of_list.push((who, line.adds));
                    }
                }
            }
            if order == LineOrder::Largest {
                for of_list in changes.values() {
                    prop_assert!(of_list.is_sorted_by(|(_, one), (_, next)| one.abs() >= next.abs()), "{:?}", of_list);
                }
            }
            Ok(())
        })?;
    }

    /// Whatever the range, the change of a range from itself has no line.
    #[test]
    fn a_range_does_not_differ_from_itself((tables, request, _) in any_case()) {
        let case = (tables, request.clone(), Earlier::Range(request.start, request.end));
        explained(&case, |dataset, question, _| {
            prop_assert_eq!(why(dataset, question).total_lines(), 0);
            Ok(())
        })?;
    }
}
