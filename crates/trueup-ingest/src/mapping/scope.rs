//! The columns that a table's keys can name, and what they are called inside polars.

use super::error::KeyFault;
use super::rows::float_text;
use polars::prelude::*;

/// A column of an input, once the input takes part in a table.
#[derive(Clone, Debug)]
pub(super) struct KnownColumn {
    /// The name of its input in this table.
    alias: String,
    pub(super) name: String,
    pub(super) dtype: DataType,
    /// A key of a join under the name that it has on the other side too: the plain name means the other.
    shadowed: bool,
}

/// The columns of a table's inputs.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownColumns(Vec<KnownColumn>);

impl KnownColumns {
    /// The columns of an input under a name.
    pub(super) fn new(alias: &str, schema: &Schema) -> Self {
        let known = schema.iter().filter(|(name, _)| *name != PLACE).map(|(name, dtype)| KnownColumn {
            alias: alias.to_owned(),
            name: name.to_string(),
            dtype: dtype.clone(),
            shadowed: false,
        });
        Self(known.collect())
    }

    /// Adds those of a joined input; `shared` are the keys of the same name on both sides.
    pub(super) fn join(&mut self, other: Self, shared: &[&str]) {
        self.0.extend(other.0.into_iter().map(|known| {
            let shadowed = shared.contains(&known.name.as_str());
            KnownColumn { shadowed, ..known }
        }));
    }

    /// The column that a key means by `name`, or by `input.name`.
    pub(super) fn find(&self, name: &str, key: &str) -> Result<&KnownColumn, KeyFault> {
        let plain: Vec<&KnownColumn> = self.0.iter().filter(|known| known.name == name && !known.shadowed).collect();
        if let [one] = plain[..] {
            return Ok(one);
        }
        if plain.len() > 1 {
            let names: Vec<String> = plain.iter().map(|known| format!("`{}.{}`", known.alias, known.name)).collect();
            let reason = format!("more than one input has this column; say which: {}", names.join(", "));
            return Err(KeyFault::new(key, reason).with_value(name));
        }
        let exact = name
            .split_once('.')
            .and_then(|(alias, column)| self.0.iter().find(|known| known.alias == alias && known.name == column));
        exact.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|known| known.name.as_str()).collect();
            KeyFault::new(key, format!("no input has this column; they have: {}", names.join(", "))).with_value(name)
        })
    }
}

impl KnownColumn {
    /// The column itself.
    pub(super) fn expr(&self) -> Expr {
        col(inside(&self.alias, &self.name))
    }

    /// Where its rows come from.
    pub(super) fn place(&self) -> Expr {
        col(inside(&self.alias, PLACE))
    }

    /// Its values as text.
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

/// The column of an input that holds each row's place.
pub(super) const PLACE: &str = "trueup.place";

/// The name inside polars of a column of an input: no two are alike, since an input's name has no point.
pub(super) fn inside(alias: &str, name: &str) -> PlSmallStr {
    format!("{alias}.{name}").into()
}
