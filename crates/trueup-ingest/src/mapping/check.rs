//! Checks a mapping, as far as possible without its data.

use super::canonical::{ColumnType, stage_names};
use super::declaration::{
    Alternative, Conditions, CurrencyKey, EventTableDeclaration, HeaderKey, InputDeclaration, Join, MappingFile,
    StageDeclaration, TableDeclaration, Unmapped, UnpivotColumns, ValueSource,
};
use super::origin::ValueOrigin;
use super::spread::month_format;
use super::stored::RECORD;
use super::times::ClockRule;
use super::values::{TextRules, ValueReader, regex};
use crate::error::MappingFault;
use crate::source::MAX_HEADER_ROW;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::model::{
    ACCOUNT, Currency, ParseCurrencyError, SOURCE, SPEND_COLUMNS, Stage, Zone, is_leading_column,
};

pub(super) type CheckResult = Result<(), MappingFault>;

/// Refuses a key for a reason unless it is right.
pub(super) fn expect(is_right: bool, key: impl Into<String>, reason: &str) -> CheckResult {
    if is_right { Ok(()) } else { Err(MappingFault::new(key, reason)) }
}

/// Refuses a value of a key for a reason if there is one.
pub(super) fn refuse(value: Option<impl Into<String>>, key: impl Into<String>, reason: &str) -> CheckResult {
    value.map_or(Ok(()), |value| Err(MappingFault::new(key, reason).with_value(value)))
}

/// Checks a whole mapping.
pub(super) fn mapping(file: &MappingFile) -> CheckResult {
    let open: Vec<String> = file.open_questions.iter().map(ToString::to_string).collect();
    let reason = "this draft has open questions; answer each where it stands, and remove its number here";
    refuse((!open.is_empty()).then(|| open.join(", ")), "open_questions", reason)?;
    for (name, found) in &file.input {
        check_input(name, found)?;
        for (column, source) in &found.compute {
            let key = format!("input.{name}.compute.{column}");
            check_source(file, source, ColumnType::Text, &key)?;
            check_keeps(source, &key, "a value of an input is no row")?;
        }
    }
    let reason = "a mapping makes at least one table of [[events]], [[spend]], [[accounts]] or [[targets]]";
    expect(!file.events.is_empty() || file.other_tables().next().is_some(), "events", reason)?;
    for (at, table) in file.events.iter().enumerate() {
        check_events(file, table, &format!("events[{at}]"))?;
    }
    for (target, tables) in file.tables() {
        for (at, table) in tables.iter().enumerate() {
            let key = format!("{}[{at}]", target.name());
            check_inputs(file, table, target, &key)?;
            check_sources(file, target, &table.columns, &format!("{key}.columns"))?;
            let dates: &[&str] = match (target, &table.spread) {
                (Table::Spend, None) => &["date"],
                _ => &[],
            };
            check_spread(table, target, &key)?;
            check_money(file, table, target, &key)?;
            check_required(target, dates, &key, |name| table.columns.contains_key(name))?;
            if target == Table::Spend {
                check_measure(table, &key)?;
            }
        }
    }
    check_first_touch(file)
}

/// Checks that a map refuses no value and leaves no row out, for a reason.
fn check_keeps(source: &ValueSource, key: &str, because: &str) -> CheckResult {
    let keeps = source.map.is_none() || matches!(source.unmapped, Some(Unmapped::Keep | Unmapped::Empty));
    expect(keeps, format!("{key}.unmapped"), &format!("expected `keep` or `empty`, because {because}"))
}

fn check_input(name: &str, input: &InputDeclaration) -> CheckResult {
    let key = format!("input.{name}");
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let reason = "an input's name is made of letters, digits, `-` and `_`";
    expect(!name.is_empty() && name.chars().all(is_plain), key.as_str(), reason)?;
    let is_name = !input.file.is_empty() && !input.file.contains(['/', '\\']);
    let reason = "expected the name of a file without its folder; `*` and `?` match other characters";
    refuse((!is_name).then_some(&input.file), format!("{key}.file"), reason)?;
    refuse(repeated(input.rename.values()), format!("{key}.rename"), "two columns get this name")?;
    if let Some(header_row) = &input.header_row {
        let key = format!("{key}.header_row");
        let reason = "a file whose columns `header` names has no header of its own";
        expect(input.header.is_none(), key.as_str(), reason)?;
        match header_row {
            HeaderKey::Number(1..=MAX_HEADER_ROW) => {}
            HeaderKey::Number(number) => {
                let reason = format!("expected the number of a line, from 1 to {MAX_HEADER_ROW}");
                refuse(Some(number.to_string()), key, &reason)?;
            }
            HeaderKey::Names(names) => expect(!names.is_empty(), key, "expected at least one name")?,
        }
    }
    if let Some(unpivot) = &input.unpivot {
        let key = format!("{key}.unpivot");
        match &unpivot.columns {
            UnpivotColumns::Pattern { regex: text } => drop(regex(text, &format!("{key}.columns.regex"))?),
            UnpivotColumns::Names(names) => {
                refuse(repeated(names.iter()), format!("{key}.columns"), "the column is listed twice")?;
            }
        }
        let same = Some(&unpivot.value).filter(|value| **value == unpivot.name);
        refuse(same, format!("{key}.value"), "the names and the values of the columns are in two columns")?;
    }
    refuse(repeated(input.header.iter().flatten()), format!("{key}.header"), "two columns have this name")
}

/// Returns a name that is in the list twice.
fn repeated<'n>(mut names: impl Iterator<Item = &'n String>) -> Option<&'n String> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

fn check_events(file: &MappingFile, table: &EventTableDeclaration, key: &str) -> CheckResult {
    check_inputs(file, &table.table(), Table::Events, key)?;
    let own = format!("{key}.columns");
    check_sources(file, Table::Events, &table.columns, &own)?;
    let twice = table.keep.iter().find(|name| table.columns.contains_key(*name));
    refuse(twice, format!("{key}.keep"), "a column of this name is made under `columns`")?;
    let leading = table.keep.iter().find(|name| is_leading_column(name));
    refuse(leading, format!("{key}.keep"), "only dimensions can be kept; make this column under `columns`")?;
    check_record(file, table, key)?;
    check_money(file, &table.table(), Table::Events, key)?;
    let dates = ["date", "dateTime"];
    if table.stages.is_empty() {
        let has = |name: &str| table.columns.contains_key(name);
        expect(has("type"), own, "expected `type`, or a table of `stages` next to `columns`")?;
        return check_required(Table::Events, &dates, key, has);
    }
    let reason = "the `stages` already say what type an event has";
    expect(!table.columns.contains_key("type"), format!("{own}.type"), reason)?;
    for (stage, StageDeclaration { only, unless, columns }) in table.stages.iter() {
        let key = format!("{key}.stages.{stage}");
        let unknown = Stage::from_name(stage).is_none().then_some(stage);
        refuse(unknown, key.as_str(), &format!("expected one of {}", stage_names().join(", ")))?;
        expect(!columns.contains_key("type"), format!("{key}.type"), "the stage itself is the type")?;
        check_conditions([only, unless], &key)?;
        check_sources(file, Table::Events, columns, &key)?;
        check_required(Table::Events, &dates, &key, |name| {
            columns.contains_key(name) || table.columns.contains_key(name)
        })?;
    }
    Ok(())
}

/// Checks the currency of amounts, and what converts them.
fn check_money(file: &MappingFile, table: &TableDeclaration, target: Table, key: &str) -> CheckResult {
    let reason = "a target is in the currency of its account; only other tables can have this key";
    expect(target != Table::Targets || table.currency.is_none(), format!("{key}.currency"), reason)?;
    if let Some(currency) = &table.currency {
        let key = format!("{key}.currency");
        check_source(file, &currency.source(), ColumnType::Text, &key)?;
        if let CurrencyKey::Code(code) = currency {
            check_currency(code, &key)?;
        }
        let has_column = target == Table::Accounts && table.columns.contains_key("currency");
        expect(!has_column, key, "the table has the column `currency`, too; one of them is enough")?;
    }
    let Some(convert) = &table.convert else { return Ok(()) };
    let key = format!("{key}.convert");
    let has_amounts = !matches!(target, Table::Accounts | Table::Targets);
    expect(has_amounts, key.as_str(), "only tables of events and spend can have this key")?;
    let reason = "expected the key `currency`, too, which says what amounts are in";
    expect(table.currency.is_some(), key.as_str(), reason)?;
    check_currency(&convert.to, &format!("{key}.to"))?;
    let is_name = !convert.rates.is_empty() && !convert.rates.contains(['/', '\\']);
    let reason = "expected the name of an input, or of a file without its folder, which is given with the others";
    refuse((!is_name).then_some(&convert.rates), format!("{key}.rates"), reason)
}

fn check_currency(code: &str, key: &str) -> CheckResult {
    let fault = |error: ParseCurrencyError| MappingFault::new(key, error.to_string()).with_value(code);
    code.parse::<Currency>().map(drop).map_err(fault)
}

/// Checks the source of the records of events.
fn check_record(file: &MappingFile, table: &EventTableDeclaration, key: &str) -> CheckResult {
    let Some(record) = table.record() else { return Ok(()) };
    let record_key = format!("{key}.record");
    let reason = "the `stages` have this key, too; one of them is enough";
    expect(!table.has_two_records(), record_key.as_str(), reason)?;
    check_source(file, record, ColumnType::Text, &record_key)?;
    let own = |name: &&&str| table.stages.values().any(|stage| stage.columns.contains_key(**name));
    if let Some(name) = [ACCOUNT, SOURCE].iter().find(own) {
        let reason = format!("the stages of a record have one `{name}`; make it under `columns`");
        return Err(MappingFault::new(record_key, reason));
    }
    expect(table.columns.contains_key(ACCOUNT), format!("{key}.columns"), "expected the column `account`")
}

/// Checks that a table names inputs that exist, each under a name of its own, and that its conditions have values.
fn check_inputs(file: &MappingFile, table: &TableDeclaration, target: Table, key: &str) -> CheckResult {
    let known = |name: &str, key: String| {
        let names: Vec<&str> = file.input.keys().map(String::as_str).collect();
        let reason = format!("no [input] has this name; the inputs are: {}", names.join(", "));
        refuse((!names.contains(&name)).then_some(name), key, &reason)
    };
    let may_have_source = !matches!(target, Table::Accounts | Table::Targets) || table.source.is_none();
    expect(may_have_source, format!("{key}.source"), "only tables of events and spend can have this key")?;
    let Some(from) = &table.from else {
        let needs = !table.join.is_empty() || !table.only.is_empty() || !table.unless.is_empty();
        let is_whole = target == Table::Accounts && !needs;
        return expect(is_whole, format!("{key}.from"), "expected the name of an input");
    };
    known(from, format!("{key}.from"))?;
    check_conditions([&table.only, &table.unless], key)?;
    let mut aliases = BTreeSet::from([from.as_str()]);
    for (at, join) in table.join.iter().enumerate() {
        let key = format!("{key}.join[{at}]");
        match &join.input {
            Some(input) if !join.stored => known(input, format!("{key}.input"))?,
            None if join.stored => {}
            _ => expect(false, key.as_str(), "expected `input`, or `stored = true` to join what the dataset holds")?,
        }
        check_source_of(join, &key)?;
        let alias = join.alias();
        let broken = Some(alias).filter(|alias| alias.is_empty() || alias.contains('.'));
        refuse(broken, format!("{key}.as"), "expected a name without a dot")?;
        let reason = "an input of this table already has this name; `as` can give another";
        refuse((!aliases.insert(alias)).then_some(alias), key.as_str(), reason)?;
        expect(!join.on.pairs().is_empty(), format!("{key}.on"), "expected at least one column")?;
    }
    Ok(())
}

/// Checks that a join on the records of stored events says whose records they are: the number of a job may be that of
/// an invoice.
fn check_source_of(join: &Join, key: &str) -> CheckResult {
    let reason = "only a join with `stored = true` can have this key";
    expect(join.source.is_none() || join.stored, format!("{key}.source"), reason)?;
    let is_open = join.stored && join.source.is_none() && join.is_on(RECORD) && !join.is_on(SOURCE);
    let reason = "another source may have a record of the same name; write `source = \"...\"` into this join: the name of the input \
                  whose records are joined, or the `source` of its table";
    refuse(is_open.then_some(RECORD), format!("{key}.on"), reason)
}

/// Checks that conditions have values.
fn check_conditions([only, unless]: [&Conditions; 2], key: &str) -> CheckResult {
    for (name, conditions) in [("where", only), ("unless", unless)] {
        for (column, values) in conditions {
            expect(!values.texts().is_empty(), format!("{key}.{name}.{column}"), "expected at least one value")?;
        }
    }
    Ok(())
}

fn check_sources(file: &MappingFile, target: Table, columns: &BTreeMap<String, ValueSource>, key: &str) -> CheckResult {
    for (name, source) in columns {
        let key = format!("{key}.{name}");
        if let Some(columns) = target.columns().filter(|columns| !columns.contains(&name.as_str())) {
            let reason = format!("a table of {} has only the columns {}", target.name(), columns.join(", "));
            return Err(MappingFault::new(key, reason).with_value(name));
        }
        check_source(file, source, target.column_type(name), &key)?;
    }
    Ok(())
}

fn check_source(file: &MappingFile, source: &ValueSource, column_type: ColumnType, key: &str) -> CheckResult {
    // What the ingest says about clock times is not known yet. A constant time is checked again when it is planned.
    let reader = ValueReader::new(column_type, source, &ClockRule::Zone(Zone::UTC), key)?;
    let rules = TextRules::new(source, &file.map, key)?;
    for (from, to) in rules.map().filter(|(_, to)| !to.is_empty()) {
        reader.check(to).map_err(|reason| MappingFault::new(format!("{key}.map.{from}"), reason).with_value(to))?;
    }
    if let Some(default) = source.default.as_ref().map(|default| &default.0).filter(|text| !text.is_empty()) {
        reader
            .check(default)
            .map_err(|reason| MappingFault::new(format!("{key}.default"), reason).with_value(default))?;
    }
    if let Some(otherwise) = &source.otherwise {
        let reason = "expected at least one column or source";
        expect(!otherwise.0.is_empty(), format!("{key}.otherwise"), reason)?;
        for (key, alternative) in otherwise.keyed(key) {
            let Alternative::Source(source) = alternative else { continue };
            check_source(file, source, ColumnType::Text, &key)?;
            check_keeps(source, &key, "a value that is not found is no fault here")?;
            expect(source.value.is_none(), key, "a constant is the key `default` of the whole source")?;
        }
    }
    match ValueOrigin::new(source, column_type, key)? {
        ValueOrigin::Value(value) => {
            let required = matches!(column_type, ColumnType::Key | ColumnType::Stage) && value.0.is_empty();
            let read = if required { Err("expected a value".to_owned()) } else { reader.check(&value.0) };
            read.map_err(|reason| MappingFault::new(key, reason).with_value(&value.0))
        }
        ValueOrigin::Parts(parts) => {
            for (name, part) in parts {
                check_source(file, part, ColumnType::Text, &format!("{key}.{name}"))?;
            }
            let has_column = parts.iter().any(|(_, part)| part.value.is_none());
            expect(has_column, key, "at least one of the parts must be a column")
        }
        ValueOrigin::Column(_) | ValueOrigin::Template(_) => Ok(()),
    }
}

/// Checks that a table has the columns that it needs. One of the dates is enough.
fn check_required(target: Table, dates: &[&str], key: &str, has: impl Fn(&str) -> bool) -> CheckResult {
    let mut required = target.required().iter().filter(|name| !["type", "date"].contains(name));
    if let Some(missing) = required.find(|name| !has(name)) {
        return Err(MappingFault::new(key, format!("expected the column `{missing}`")));
    }
    let is_dated = dates.is_empty() || dates.iter().any(|name| has(name));
    expect(is_dated, key, &format!("expected the column `{}`", dates.join("` or `")))
}

/// Checks what says the period of a row of spend.
fn check_spread(table: &TableDeclaration, target: Table, key: &str) -> CheckResult {
    let Some(spread) = &table.spread else { return Ok(()) };
    let key = format!("{key}.spread");
    expect(target == Table::Spend, key.as_str(), "only tables of spend can have this key")?;
    let reason = "the days of the period are the dates; leave `date` out of `columns`";
    expect(!table.columns.contains_key("date"), key.as_str(), reason)?;
    match (&spread.from, &spread.to, &spread.week, &spread.month) {
        (Some(_), Some(_), None, None) | (_, _, Some(_), None) => {
            let source = ValueSource { format: spread.format.clone(), ..ValueSource::default() };
            ValueReader::new(ColumnType::Day, &source, &ClockRule::Zone(Zone::UTC), &key).map(drop)
        }
        (None, None, None, Some(_)) => month_format(spread, &key).map(drop),
        _ => Err(MappingFault::new(key, "expected `from` and `to`, `month`, or `week`")),
    }
}

/// Checks that a table of spend has an amount or a count.
fn check_measure(table: &TableDeclaration, key: &str) -> CheckResult {
    let is_measure = |name: &&str| matches!(Table::Spend.column_type(name), ColumnType::Amount | ColumnType::Count);
    let measures: Vec<&str> = SPEND_COLUMNS.into_iter().filter(is_measure).collect();
    let has_measure = measures.iter().any(|name| table.columns.contains_key(*name));
    expect(has_measure, key, &format!("expected one of the columns `{}`", measures.join("`, `")))
}

fn check_first_touch(file: &MappingFile) -> CheckResult {
    let Some(first_touch) = &file.first_touch else { return Ok(()) };
    let key = "first_touch.copy";
    let is_any = !first_touch.copy.is_empty() && !file.events.is_empty();
    expect(is_any, key, "expected columns of [[events]] to copy")?;
    let mut seen = BTreeSet::new();
    for name in &first_touch.copy {
        let made = file.events.iter().any(|table| {
            table.keep.contains(name)
                || table.columns.contains_key(name)
                || table.stages.values().any(|stage| stage.columns.contains_key(name))
        });
        let reason = if !made {
            "no table of [[events]] has this column"
        } else if is_leading_column(name) {
            "this column belongs to the single event and is not copied"
        } else if !seen.insert(name) {
            "the column is listed twice"
        } else {
            continue;
        };
        return Err(MappingFault::new(key, reason).with_value(name));
    }
    Ok(())
}
