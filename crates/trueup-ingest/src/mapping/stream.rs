//! The inputs of one table, joined, and the rows of them that it takes.

use super::MappingError;
use super::column::ColumnCompiler;
use super::declaration::{Conditions, Join, TableDeclaration, Unmatched};
use super::error::KeyFault;
use super::fault::FirstFault;
use super::inputs::OpenedInput;
use super::reading::NamedMaps;
use super::rows::each_row;
use super::scope::{KnownColumns, PLACE, inside};
use polars::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// What every table is made from.
pub(super) struct TablePlanner<'a> {
    pub(super) mapping: &'a Path,
    pub(super) maps: &'a NamedMaps,
    pub(super) inputs: &'a BTreeMap<String, OpenedInput>,
    pub(super) faults: &'a FirstFault,
}

/// Rows of one or more inputs side by side.
#[derive(Clone)]
pub(super) struct JoinedRows {
    pub(super) frame: LazyFrame,
    pub(super) scope: KnownColumns,
    /// Where a row of the first input comes from.
    pub(super) place: Expr,
}

impl TablePlanner<'_> {
    /// The rows that a table is made of; `key` is the table's.
    pub(super) fn stream(&self, table: &TableDeclaration, key: &str) -> Result<JoinedRows, MappingError> {
        let Some(from) = &table.from else {
            // A table of constants has one row.
            let row = df!(inside("", PLACE).as_str() => [0_u64]).map_err(|source| engine(key, source))?;
            return Ok(JoinedRows { frame: row.lazy(), scope: KnownColumns::default(), place: col(inside("", PLACE)) });
        };
        let (frame, scope) = self.input(from, from, &format!("{key}.from"))?;
        let mut stream = JoinedRows { frame, scope, place: col(inside(from, PLACE)) };
        for (at, join) in table.join.iter().enumerate() {
            self.join(&mut stream, join, &format!("{key}.join[{at}]"))?;
        }
        for (name, conditions, wanted) in [("where", &table.only, true), ("unless", &table.unless, false)] {
            self.pick(&mut stream, conditions, wanted, &format!("{key}.{name}"))?;
        }
        Ok(stream)
    }

    pub(super) fn context<'a>(&'a self, scope: &'a KnownColumns) -> ColumnCompiler<'a> {
        ColumnCompiler { scope, maps: self.maps, faults: self.faults }
    }

    fn input(&self, name: &str, alias: &str, key: &str) -> Result<(LazyFrame, KnownColumns), MappingError> {
        let opened = self
            .inputs
            .get(name)
            .ok_or_else(|| KeyFault::new(key, "no [input] has this name").with_value(name).of(self.mapping))?;
        let names: Vec<&PlSmallStr> = opened.schema.iter_names().collect();
        let inside: Vec<PlSmallStr> = names.iter().map(|name| inside(alias, name)).collect();
        Ok((opened.frame.clone().rename(names, inside, true), KnownColumns::new(alias, &opened.schema)))
    }

    fn join(&self, stream: &mut JoinedRows, join: &Join, key: &str) -> Result<(), MappingError> {
        let of = |fault: KeyFault| fault.of(self.mapping);
        let (mut other, other_scope) = self.input(&join.input, join.alias(), &format!("{key}.input"))?;
        let on = format!("{key}.on");
        let (mut here_keys, mut there_keys, mut shared, mut columns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (at, (here, there)) in join.on.pairs().into_iter().enumerate() {
            let (here, there) = (stream.scope.find(here, &on).map_err(of)?, other_scope.find(there, &on).map_err(of)?);
            columns.push(here.name.clone());
            if here.name == there.name {
                shared.push(there.name.clone());
            }
            here_keys.push((here.text(&on).map_err(of)?, PlSmallStr::from(format!("here.{at}"))));
            there_keys.push((there.text(&on).map_err(of)?, PlSmallStr::from(format!("there.{at}"))));
        }
        stream.frame = with_keys(stream.frame.clone(), &here_keys);
        other = with_keys(other, &there_keys);
        let named = |keys: &[(Expr, PlSmallStr)]| keys.iter().map(|(_, name)| col(name.clone())).collect::<Vec<_>>();
        let (here, there) = (named(&here_keys), named(&there_keys));
        if !join.many {
            self.once(&other, &there, join, &on)?;
        }
        let how = if join.unmatched == Unmatched::Drop { JoinType::Inner } else { JoinType::Left };
        let mut arguments = JoinArgs::new(how).with_coalesce(JoinCoalesce::KeepColumns);
        arguments.maintain_order = MaintainOrderJoin::LeftRight;
        stream.frame = stream.frame.clone().join(other, here.clone(), there.clone(), arguments);
        if join.unmatched == Unmatched::Refuse {
            let site = self.context(&stream.scope).site(&on, &columns.join(", "));
            let reason = format!("expected a row of the input `{}` with the same key", join.input);
            // A row's place in the other input is there if one was found; all keys but that are for the message.
            let found = when(col(inside(join.alias(), PLACE)).is_null()).then(lit("")).otherwise(lit(NULL));
            let mut texts = here.clone();
            texts.push(found);
            let matched = each_row::<bool>(texts, stream.place.clone(), site, move |texts| match texts.last() {
                Some(Some(_)) => Err(reason.clone()),
                _ => Ok(Some(true)),
            });
            stream.frame = stream.frame.clone().filter(matched);
        }
        let spent = here_keys.iter().chain(&there_keys).map(|(_, name)| name.clone());
        stream.frame = stream.frame.clone().drop(by_name(spent, true, false));
        let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
        stream.scope.join(other_scope, &shared);
        Ok(())
    }

    /// Checks that no key is found twice in an input that is joined.
    fn once(&self, other: &LazyFrame, keys: &[Expr], join: &Join, key: &str) -> Result<(), MappingError> {
        let present = keys.iter().cloned().map(Expr::is_not_null).reduce(Expr::and);
        let twice = other
            .clone()
            .filter(present.unwrap_or_else(|| lit(true)))
            .group_by(keys)
            .agg([len().alias("rows")])
            .filter(col("rows").gt(lit(1)))
            .sort_by_exprs(keys, SortMultipleOptions::default())
            .limit(1)
            .collect()
            .map_err(|source| engine(key, source))?;
        if twice.height() == 0 {
            return Ok(());
        }
        let row = twice.get(0).unwrap_or_default();
        let texts: Vec<String> = row.iter().map(|value| value.str_value().into_owned()).collect();
        let (rows, values) =
            texts.split_last().map_or((String::new(), String::new()), |(rows, keys)| (rows.clone(), keys.join(", ")));
        let reason = format!(
            "the input `{}` has {rows} rows with this key; say `many = true` to take every one of them",
            join.input
        );
        Err(KeyFault::new(key, reason).with_value(values).of(self.mapping))
    }

    /// Keeps the rows for which every condition holds (`wanted`), or those for which none does.
    fn pick(
        &self,
        stream: &mut JoinedRows,
        conditions: &Conditions,
        wanted: bool,
        key: &str,
    ) -> Result<(), MappingError> {
        for (name, values) in conditions {
            let key = format!("{key}.{name}");
            let known = stream.scope.find(name, &key).map_err(|fault| fault.of(self.mapping))?;
            let text = known.text(&key).map_err(|fault| fault.of(self.mapping))?;
            let values = values.texts().to_vec();
            let site = self.context(&stream.scope).site(&key, name);
            let kept = each_row::<bool>(vec![text], known.place(), site, move |texts| {
                let text = texts[0].unwrap_or("");
                Ok(Some(values.iter().any(|value| value == text) == wanted))
            });
            stream.frame = stream.frame.clone().filter(kept);
        }
        Ok(())
    }
}

/// Adds the keys of a join; an empty one is like no other.
fn with_keys(frame: LazyFrame, keys: &[(Expr, PlSmallStr)]) -> LazyFrame {
    let keys = keys.iter().map(|(text, name)| {
        when(text.clone().neq(lit("")))
            .then(text.clone())
            .otherwise(lit(NULL))
            .cast(DataType::String)
            .alias(name.clone())
    });
    frame.with_columns(keys.collect::<Vec<_>>())
}

pub(super) fn engine(key: &str, source: PolarsError) -> MappingError {
    MappingError::Engine { key: key.to_owned(), source: Box::new(source) }
}
