//! The currency that the amounts of a table are in, and their conversion to the currency of the account: exactly, at
//! the rate of the day or the last one before.

use super::canonical::ColumnType;
use super::cells::{RowView, StringCells};
use super::column::{ColumnPlan, ColumnPlanner};
use super::declaration::{ConvertDeclaration, ValueSource};
use super::faults::PickedFaults;
use super::held::{BufferedRows, HeldRow};
use super::inputs::OpenedInput;
use super::spread::amount_text;
use super::times::KnownAccounts;
use crate::error::MappingFault;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_core::Day;
use trueup_core::dataset::{ControlTotals, ConvertedAmounts};
use trueup_core::model::{Currency, DATE, DATE_TIME, UtcMicros, Zone, readable_amounts};

/// What the amounts of a table are in, and what they become.
pub(super) struct MoneyPlan {
    currency: ColumnPlan,
    conversion: Option<Conversion>,
    accounts: Arc<KnownAccounts>,
}

/// The currency that amounts become, and the rates.
struct Conversion {
    to: Currency,
    /// The name of the input of the rates, for messages.
    input: String,
    rates: Rates,
}

/// Rates by the two currencies and the day, counted from 1970-01-01.
#[derive(Default)]
struct Rates(HashMap<(Currency, Currency), BTreeMap<i32, Rate>>);

/// A rate: a whole number, divided by a power of ten.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rate {
    digits: i128,
    decimals: u32,
}

/// The most digits of a rate.
const MAX_DIGITS: usize = 18;

/// The columns of a table of rates.
pub(super) const RATE_COLUMNS: [&str; 4] = ["date", "from", "to", "rate"];

/// The currency of a row's amounts, and the day of each row that it becomes. `None` where nothing is converted.
pub(super) type RowCurrencies = Vec<Option<Currency>>;

impl MoneyPlan {
    /// Plans the currency of a table's amounts.
    pub(super) fn new(
        currency: &ValueSource,
        convert: Option<(&ConvertDeclaration, &OpenedInput, &BufferedRows)>,
        planner: &mut ColumnPlanner<'_>,
        accounts: &Arc<KnownAccounts>,
        key: &str,
    ) -> Result<Self, MappingFault> {
        let conversion = convert.map(|(declared, opened, held)| {
            let key = format!("{key}.convert");
            let to = declared.to.parse();
            let to = to.map_err(|error: trueup_core::model::ParseCurrencyError| {
                MappingFault::new(format!("{key}.to"), error.to_string()).with_value(&declared.to)
            });
            let rates = Rates::read(opened, held, &format!("{key}.rates"))?;
            Ok::<_, MappingFault>(Conversion { to: to?, input: declared.rates.clone(), rates })
        });
        let currency = planner.plan(currency, ColumnType::Text, &format!("{key}.currency"))?;
        Ok(Self { currency, conversion: conversion.transpose()?, accounts: accounts.clone() })
    }

    /// Returns how the type of a column changes when its amounts are converted.
    pub(super) fn converted_type(&self, column_type: ColumnType) -> Option<DataType> {
        (self.conversion.is_some() && column_type == ColumnType::Amount).then_some(DataType::Utf8)
    }

    /// Checks the currency of each picked row that has an amount, and that there is a rate for its first day, which
    /// `days` has. Returns what its amounts are converted from.
    pub(super) fn check(
        &self,
        view: &RowView<'_>,
        (accounts, days): (&StringCells, &[Option<i32>]),
        has_amount: impl Fn(usize) -> bool,
        faults: &mut PickedFaults,
    ) -> Result<RowCurrencies, ArrowError> {
        let texts = StringCells::of(Some(&self.currency.read(view, &StringCells::Absent, faults)?))?;
        let mut currencies: RowCurrencies = vec![None; view.len()];
        for (row, slot) in currencies.iter_mut().enumerate().filter(|(row, _)| has_amount(*row)) {
            let (Some(account), false) = (accounts.get(row), faults.has(row)) else { continue };
            let text = texts.get(row).unwrap_or_default();
            match self.checked(text, account, days[row]) {
                Ok(currency) => *slot = currency,
                Err(expected) => {
                    faults.add(row, self.currency.site.fault(view, row, text.to_owned(), expected));
                }
            }
        }
        Ok(currencies)
    }

    /// Returns what the amounts of a row are converted from; `None` if they stay. Otherwise returns what was expected.
    fn checked(&self, text: &str, account: &str, day: Option<i32>) -> Result<Option<Currency>, String> {
        let currency: Currency =
            text.parse().map_err(|error: trueup_core::model::ParseCurrencyError| error.to_string())?;
        let wanted = self.conversion.as_ref().map_or(currency, |conversion| conversion.to);
        match self.accounts.currency(account) {
            Some(Some(own)) if own == wanted => {}
            Some(Some(own)) if self.conversion.is_some() => {
                return Err(format!(
                    "expected an account in {wanted}, which `convert` makes of amounts, but `{account}` is in {own}"
                ));
            }
            Some(Some(own)) => {
                return Err(format!(
                    "expected amounts in {own}, the currency of the account `{account}`; `convert = {{ to = \"{own}\", rates = \
                     \"FILE\" }}` makes them such"
                ));
            }
            Some(None) => {
                return Err(format!(
                    "expected an account in {wanted}, but `{account}` has no currency; give it one in a table of accounts"
                ));
            }
            // Outside of an ingest, nobody knows the accounts.
            None => {}
        }
        let Some(conversion) = self.conversion.as_ref().filter(|conversion| conversion.to != currency) else {
            return Ok(None);
        };
        // A row without a date has a fault of its own.
        let Some(day) = day else { return Ok(None) };
        if conversion.rates.find(currency, conversion.to, day).is_none() {
            let (to, input) = (conversion.to, &conversion.input);
            let day = Day::from_number(u16::try_from(day).unwrap_or_default());
            return Err(format!("expected a rate from {currency} to {to} of {day}, or of a day before, in `{input}`"));
        }
        Ok(Some(currency))
    }

    /// Converts a column of amounts. `rows` has, for each of its rows, what the amounts are converted from and the day.
    /// Adds the amounts and the rates to `converted`.
    pub(super) fn convert(
        &self,
        name: &str,
        column: &ArrayRef,
        rows: &[(Option<Currency>, Option<i32>)],
        converted: &mut Vec<ConvertedAmounts>,
    ) -> Result<ArrayRef, ArrowError> {
        let Some(conversion) = &self.conversion else { return Ok(column.clone()) };
        let (texts, amounts) = (StringCells::of(Some(column))?, readable_amounts(name, column)?);
        let mut made = StringBuilder::new();
        for (row, (currency, day)) in rows.iter().enumerate() {
            let text = texts.get(row);
            let found = currency.zip(*day).and_then(|(currency, day)| {
                let (day, rate) = conversion.rates.find(currency, conversion.to, day)?;
                Some((currency, day, rate, amounts[row]?))
            });
            // An amount that cannot be read stays, and the rules of the table refuse it.
            let (Some(_), Some((currency, day, rate, micros))) = (text, found) else {
                made.append_option(text);
                continue;
            };
            let after = rate.of(micros);
            made.append_value(amount_text(after));
            let to = conversion.to.to_string();
            let mut used = ConvertedAmounts { from: currency.to_string(), to, ..ConvertedAmounts::default() };
            used.before.add_amount(name, micros.into());
            used.after.add_amount(name, after);
            let day = Day::from_number(u16::try_from(day).unwrap_or_default());
            used.rates.insert(day.to_string(), rate.to_string());
            used.add_to(converted);
        }
        Ok(Arc::new(made.finish()))
    }

    /// Counts the rows whose amounts are converted.
    pub(super) fn count(&self, rows: &RowCurrencies, converted: &mut Vec<ConvertedAmounts>) {
        let Some(conversion) = &self.conversion else { return };
        let mut counts: BTreeMap<Currency, u64> = BTreeMap::new();
        rows.iter().flatten().for_each(|currency| *counts.entry(*currency).or_default() += 1);
        for (from, rows) in counts {
            let (before, after) = (ControlTotals::of_rows(rows), ControlTotals::of_rows(rows));
            let (from, to, rates) = (from.to_string(), conversion.to.to_string(), BTreeMap::new());
            ConvertedAmounts { from, to, before, after, rates }.add_to(converted);
        }
    }

    /// Returns the day of each row, counted from 1970-01-01: its date, or else that of its time in the time zone of its
    /// account. `column` returns a canonical column.
    pub(super) fn days<'c>(
        &self,
        accounts: &StringCells,
        rows: usize,
        column: impl Fn(&str) -> Option<&'c ArrayRef>,
    ) -> Result<Vec<Option<i32>>, ArrowError> {
        let dates = column(DATE).map(|dates| arrow_cast::cast(dates, &DataType::Date32)).transpose()?;
        let dates = dates.as_ref().and_then(|dates| dates.as_primitive_opt::<Date32Type>());
        let times = column(DATE_TIME).and_then(|times| times.as_primitive_opt::<TimestampMicrosecondType>());
        let day = |row: usize| {
            if let Some(dates) = dates.filter(|dates| dates.is_valid(row)) {
                return Some(dates.value(row));
            }
            let time = times.filter(|times| times.is_valid(row)).map(|times| UtcMicros(times.value(row)))?;
            let zone = self.accounts.zone(accounts.get(row).unwrap_or_default()).unwrap_or(Zone::UTC);
            time.day_in(zone).map(|day| i32::from(day.number()))
        };
        Ok((0..rows).map(day).collect())
    }
}

impl Rates {
    /// Reads the rows of a table of rates.
    fn read(opened: &OpenedInput, held: &BufferedRows, key: &str) -> Result<Self, MappingFault> {
        let names = RATE_COLUMNS.map(|name| opened.columns.iter().find(|column| column.name == name));
        let [Some(date), Some(from), Some(to), Some(rate)] = names else {
            let found: Vec<&str> = opened.columns.iter().map(|column| column.name.as_str()).collect();
            let reason =
                format!("expected the columns {}; the columns are: {}", RATE_COLUMNS.join(", "), found.join(", "));
            return Err(MappingFault::new(key, reason));
        };
        let mut rates = Self::default();
        for (number, batch) in (0..).zip(&held.batches) {
            let texts = [date, from, to, rate].map(|column| StringCells::of(batch.column_by_name(&column.in_file)));
            let [dates, sources, targets, values] = texts.map(|texts| texts.unwrap_or(StringCells::Absent));
            for row in 0..batch.num_rows() {
                let [date, from, to, value] =
                    [&dates, &sources, &targets, &values].map(|texts| texts.trimmed(row).unwrap_or_default());
                let refuse = |text: &str, expected: &str| {
                    let place = held.location(HeldRow { batch: number, row: u32::try_from(row).unwrap_or(u32::MAX) });
                    let place = place.map_or_else(String::new, |(path, at)| format!("`{}`, {at}: ", path.display()));
                    MappingFault::new(key, format!("{place}{expected}")).with_value(text)
                };
                let day: Day = date.parse().map_err(|_| refuse(date, "expected a day as YYYY-MM-DD"))?;
                let currency = |text: &str| text.parse::<Currency>().map_err(|error| refuse(text, &error.to_string()));
                let pair = (currency(from)?, currency(to)?);
                let expected = "expected a rate above 0 with at most 18 digits, such as 0.7312";
                let rate = Rate::parse(value).ok_or_else(|| refuse(value, expected))?;
                let of_pair = rates.0.entry(pair).or_default();
                let known = of_pair.entry(i32::from(day.number())).or_insert_with(|| rate.clone());
                if *known != rate {
                    return Err(refuse(
                        value,
                        &format!("another row has the rate {known} from {from} to {to} of {date}"),
                    ));
                }
            }
        }
        Ok(rates)
    }

    /// Returns the rate of a day or the last one before, with its day.
    fn find(&self, from: Currency, to: Currency, day: i32) -> Option<(i32, &Rate)> {
        self.0.get(&(from, to))?.range(..=day).next_back().map(|(day, rate)| (*day, rate))
    }
}

impl Rate {
    /// Reads a decimal number above 0.
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let fraction = fraction.trim_end_matches('0');
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_digits = !whole.is_empty() && !text.ends_with('.') && whole.len() + fraction.len() <= MAX_DIGITS;
        if !has_digits || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok().filter(|digits| *digits > 0)?;
        Some(Self { digits, decimals: u32::try_from(fraction.len()).ok()? })
    }

    /// Returns millionths at this rate, rounded half away from zero.
    fn of(&self, micros: i64) -> i128 {
        let (product, unit) = (i128::from(micros) * self.digits, 10_i128.pow(self.decimals));
        let rounded = (product.abs() + unit / 2) / unit;
        if product < 0 { -rounded } else { rounded }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = 10_i128.pow(self.decimals);
        write!(f, "{}", self.digits / unit)?;
        if self.decimals == 0 {
            return Ok(());
        }
        write!(f, ".{:0width$}", self.digits % unit, width = self.decimals as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_decimal_numbers_above_zero() {
        let shown = |text: &str| Rate::parse(text).map(|rate| rate.to_string());
        for (text, rate) in [("1", "1"), ("0.7300", "0.73"), ("12.050", "12.05"), ("100", "100"), ("1.0", "1")] {
            assert_eq!(shown(text).as_deref(), Some(rate));
        }
        for text in ["", "0", "0.0", "-1", "1.", ".5", "1e3", "1,5", "0.1234567890123456789", "+1", "١"] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_rounded_half_away_from_zero() {
        let at = |rate: &str, micros| Rate::parse(rate).unwrap().of(micros);
        assert_eq!([at("0.5", 1), at("0.5", -1), at("0.5", 3), at("0.49", 1)], [1, -1, 2, 0]);
        assert_eq!(at("999999999999999999", i64::MAX), i128::from(i64::MAX) * 999_999_999_999_999_999);
    }

    proptest! {
        /// The product in decimal digits, computed the slow way.
        #[test]
        fn products_are_exact(micros: i64, digits in 1..999_999_999_i128, decimals in 0..9_u32) {
            let made = Rate { digits, decimals }.of(micros);
            let (product, unit) = (i128::from(micros) * digits, 10_i128.pow(decimals));
            let rest = (product - made * unit).abs();
            prop_assert!(rest * 2 <= unit, "{made}");
            prop_assert!(rest * 2 < unit || made.abs() * unit > product.abs(), "{made}");
        }
    }
}
