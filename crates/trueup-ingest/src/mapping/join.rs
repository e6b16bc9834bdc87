//! Joins the inputs of a table, picks its rows, and knows the columns that its keys can name.

use super::declaration::{Conditions, Join, TableDeclaration, Unmatched};
use super::error::{ColumnSite, FirstFault, KeyFault, MappingError};
use super::expressions::{LOCATION, each_row, float_text};
use super::inputs::OpenedInput;
use super::values::NamedMaps;
use polars::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Plans the tables of a mapping over its inputs.
pub(super) struct TablePlanner<'a> {
    pub(super) mapping: &'a Path,
    pub(super) maps: &'a NamedMaps,
    pub(super) inputs: &'a BTreeMap<String, OpenedInput>,
    pub(super) first_fault: &'a FirstFault,
}

/// The joined rows of one or more inputs.
#[derive(Clone)]
pub(super) struct JoinedRows {
    pub(super) frame: LazyFrame,
    pub(super) columns: KnownColumns,
    /// The location of each row of the first input.
    pub(super) location: Expr,
}

impl TablePlanner<'_> {
    /// Joins the inputs of a table and picks its rows. `key` is the table's.
    pub(super) fn joined_rows(&self, table: &TableDeclaration, key: &str) -> Result<JoinedRows, MappingError> {
        let Some(from) = &table.from else {
            // A table of constants has one row.
            let row =
                df!(inside("", LOCATION).as_str() => [0_u64]).map_err(|source| MappingError::engine(key, source))?;
            return Ok(JoinedRows {
                frame: row.lazy(),
                columns: KnownColumns::default(),
                location: col(inside("", LOCATION)),
            });
        };
        let (frame, columns) = self.input(from, from, &format!("{key}.from"))?;
        let mut rows = JoinedRows { frame, columns, location: col(inside(from, LOCATION)) };
        for (at, join) in table.join.iter().enumerate() {
            self.join(&mut rows, join, &format!("{key}.join[{at}]"))?;
        }
        for (name, conditions, wanted) in [("where", &table.only, true), ("unless", &table.unless, false)] {
            self.pick(&mut rows, conditions, wanted, &format!("{key}.{name}"))?;
        }
        Ok(rows)
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

    pub(super) fn site(&self, key: &str, column: &str) -> ColumnSite {
        ColumnSite { first_fault: self.first_fault.clone(), key: key.to_owned(), column: column.to_owned() }
    }

    fn join(&self, rows: &mut JoinedRows, join: &Join, key: &str) -> Result<(), MappingError> {
        let of = |fault: KeyFault| fault.of(self.mapping);
        let (mut other, other_columns) = self.input(&join.input, join.alias(), &format!("{key}.input"))?;
        let on = format!("{key}.on");
        let (mut here_keys, mut there_keys, mut shared, mut columns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (at, (here, there)) in join.on.pairs().into_iter().enumerate() {
            let (here, there) =
                (rows.columns.find(here, &on).map_err(of)?, other_columns.find(there, &on).map_err(of)?);
            columns.push(here.name.clone());
            if here.name == there.name {
                shared.push(there.name.clone());
            }
            here_keys.push((here.text(&on).map_err(of)?, PlSmallStr::from(format!("here.{at}"))));
            there_keys.push((there.text(&on).map_err(of)?, PlSmallStr::from(format!("there.{at}"))));
        }
        rows.frame = with_keys(rows.frame.clone(), &here_keys);
        other = with_keys(other, &there_keys);
        let named = |keys: &[(Expr, PlSmallStr)]| keys.iter().map(|(_, name)| col(name.clone())).collect::<Vec<_>>();
        let (here, there) = (named(&here_keys), named(&there_keys));
        if !join.many {
            self.check_unique(&other, &there, join, &on)?;
        }
        let how = if join.unmatched == Unmatched::Drop { JoinType::Inner } else { JoinType::Left };
        let mut arguments = JoinArgs::new(how).with_coalesce(JoinCoalesce::KeepColumns);
        arguments.maintain_order = MaintainOrderJoin::LeftRight;
        rows.frame = rows.frame.clone().join(other, here.clone(), there.clone(), arguments);
        if join.unmatched == Unmatched::Refuse {
            let site = self.site(&on, &columns.join(", "));
            let reason = format!("expected a row of the input `{}` with the same key", join.input);
            // The location of the other input's row is null if there is none. The other texts are the keys, for the
            // message.
            let found = when(col(inside(join.alias(), LOCATION)).is_null()).then(lit("")).otherwise(lit(NULL));
            let mut texts = here.clone();
            texts.push(found);
            let matched = each_row::<bool>(texts, rows.location.clone(), site, move |texts| match texts.last() {
                Some(Some(_)) => Err(reason.clone()),
                _ => Ok(Some(true)),
            });
            rows.frame = rows.frame.clone().filter(matched);
        }
        let spent = here_keys.iter().chain(&there_keys).map(|(_, name)| name.clone());
        rows.frame = rows.frame.clone().drop(by_name(spent, true, false));
        let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
        rows.columns.join(other_columns, &shared);
        Ok(())
    }

    /// Checks that a joined input has no key twice.
    fn check_unique(&self, other: &LazyFrame, keys: &[Expr], join: &Join, key: &str) -> Result<(), MappingError> {
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
            .map_err(|source| MappingError::engine(key, source))?;
        if twice.height() == 0 {
            return Ok(());
        }
        let row = twice.get(0).unwrap_or_default();
        let texts: Vec<String> = row.iter().map(|value| value.str_value().into_owned()).collect();
        let (rows, values) =
            texts.split_last().map_or((String::new(), String::new()), |(rows, keys)| (rows.clone(), keys.join(", ")));
        let reason =
            format!("the input `{}` has {rows} rows with this key; set `many = true` to take all of them", join.input);
        Err(KeyFault::new(key, reason).with_value(values).of(self.mapping))
    }

    /// Keeps the rows that meet every condition (`wanted`), or the rows that meet none.
    fn pick(
        &self,
        rows: &mut JoinedRows,
        conditions: &Conditions,
        wanted: bool,
        key: &str,
    ) -> Result<(), MappingError> {
        for (name, values) in conditions {
            let key = format!("{key}.{name}");
            let known = rows.columns.find(name, &key).map_err(|fault| fault.of(self.mapping))?;
            let text = known.text(&key).map_err(|fault| fault.of(self.mapping))?;
            let values = values.texts().to_vec();
            let site = self.site(&key, name);
            let kept = each_row::<bool>(vec![text], known.location(), site, move |texts| {
                let text = texts[0].unwrap_or("");
                Ok(Some(values.iter().any(|value| value == text) == wanted))
            });
            rows.frame = rows.frame.clone().filter(kept);
        }
        Ok(())
    }
}

/// Adds the keys of a join as columns. An empty key becomes null, which equals no other key.
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

/// A column of an input that is part of a table.
#[derive(Clone, Debug)]
pub(super) struct KnownColumn {
    /// The name of its input in this table.
    alias: String,
    pub(super) name: String,
    pub(super) dtype: DataType,
    /// Whether it is a key of a join that has the same name on both sides. The plain name then means the other side's
    /// column.
    is_shadowed: bool,
}

/// The columns that the keys of a table can name.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownColumns(Vec<KnownColumn>);

impl KnownColumns {
    /// Returns the columns of an input that is called `alias` in this table.
    pub(super) fn new(alias: &str, schema: &Schema) -> Self {
        let known = schema.iter().filter(|(name, _)| *name != LOCATION).map(|(name, dtype)| KnownColumn {
            alias: alias.to_owned(),
            name: name.to_string(),
            dtype: dtype.clone(),
            is_shadowed: false,
        });
        Self(known.collect())
    }

    /// Adds the columns of a joined input. `shared` are the keys that have the same name on both sides.
    pub(super) fn join(&mut self, other: Self, shared: &[&str]) {
        self.0.extend(other.0.into_iter().map(|known| {
            let is_shadowed = shared.contains(&known.name.as_str());
            KnownColumn { is_shadowed, ..known }
        }));
    }

    /// Finds the column that a key calls `name` or `input.name`.
    pub(super) fn find(&self, name: &str, key: &str) -> Result<&KnownColumn, KeyFault> {
        let plain: Vec<&KnownColumn> = self.0.iter().filter(|known| known.name == name && !known.is_shadowed).collect();
        if let [one] = plain[..] {
            return Ok(one);
        }
        if plain.len() > 1 {
            let names: Vec<String> = plain.iter().map(|known| format!("`{}.{}`", known.alias, known.name)).collect();
            let reason = format!("more than one input has this column; name one of {}", names.join(", "));
            return Err(KeyFault::new(key, reason).with_value(name));
        }
        let exact = name
            .split_once('.')
            .and_then(|(alias, column)| self.0.iter().find(|known| known.alias == alias && known.name == column));
        exact.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|known| known.name.as_str()).collect();
            KeyFault::new(key, format!("no input has this column; the columns are: {}", names.join(", ")))
                .with_value(name)
        })
    }
}

impl KnownColumn {
    /// Returns the column itself.
    pub(super) fn expr(&self) -> Expr {
        col(inside(&self.alias, &self.name))
    }

    /// Returns the location of each row of its input.
    pub(super) fn location(&self) -> Expr {
        col(inside(&self.alias, LOCATION))
    }

    /// Returns its values as text.
    pub(super) fn text(&self, key: &str) -> Result<Expr, KeyFault> {
        match &self.dtype {
            DataType::String => Ok(self.expr()),
            DataType::Float32 | DataType::Float64 => Ok(float_text(self.expr())),
            dtype if dtype.is_integer() || dtype.is_bool() || dtype.is_date() || dtype.is_decimal() => {
                Ok(self.expr().cast(DataType::String))
            }
            DataType::Null => Ok(self.expr().cast(DataType::String)),
            other => {
                let reason = format!("a column of type {other} cannot be read as text");
                Err(KeyFault::new(key, reason).with_value(&self.name))
            }
        }
    }
}

/// Returns the name inside polars of an input's column. It is unique, because the name of an input has no dot.
pub(super) fn inside(alias: &str, name: &str) -> PlSmallStr {
    format!("{alias}.{name}").into()
}
