//! Numbers formatted for people: `1,234.50`, `32.1%`, `12,345`.

use trueup::dictionary::{self, ValueFormat};
use trueup::{Value, money};

/// Formats a value of the field `name` as the dictionary specifies.
pub(crate) fn readable(name: &str, value: Value<'_>) -> String {
    match value {
        Value::Day(day) => day.to_string(),
        Value::Text(text) => text.to_owned(),
        Value::Count(count) => grouped(&count.to_string()),
        Value::Money(micros) => amount(micros),
        Value::Ratio(ratio) => match dictionary::field(name).map(|field| field.format) {
            Some(ValueFormat::Percent) => format!("{}%", fixed(ratio * 100.0, 1)),
            _ => fixed(ratio, 2),
        },
    }
}

/// Formats money, given in millionths, to the cent; half a cent is rounded away from zero.
fn amount(micros: i128) -> String {
    let cent = u128::try_from(money::MICROS_PER_UNIT / 100).unwrap_or(1);
    let cents = (micros.unsigned_abs() + cent / 2) / cent;
    let sign = if micros < 0 && cents > 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", grouped(&(cents / 100).to_string()), cents % 100)
}

/// Formats a number with `decimals` digits after the point. A number that is rounded to zero has no sign.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) { "-" } else { "" };
    format!("{sign}{}.{fraction}", grouped(whole))
}

/// Separates groups of three digits by commas.
pub(crate) fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun: `1 file`, `12 files`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(&count.to_string()))
}

/// Formats a number of bytes: `12.3 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!(readable("spend", Value::Money(1_234_500_000)), "1,234.50");
        assert_eq!(readable("spend", Value::Money(-1_999_995_000)), "-2,000.00");
        assert_eq!(readable("spend", Value::Money(-4_999)), "0.00");
        assert_eq!(readable("leads", Value::Count(1_234_567)), "1,234,567");
        assert_eq!(readable("leads", Value::Count(999)), "999");
        assert_eq!(readable("bookRate", Value::Ratio(0.3214)), "32.1%");
        assert_eq!(readable("roasClosed", Value::Ratio(1234.567)), "1,234.57");
        assert_eq!(readable("avgCostPerLead", Value::Ratio(-0.001)), "0.00");
    }
}
