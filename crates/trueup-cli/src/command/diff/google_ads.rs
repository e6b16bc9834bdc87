//! The file of conversion adjustments that Google Ads imports: what of a difference it can express.
//!
//! Google Ads finds the conversion that an adjustment is about by its order id, or by its click id and its time. A
//! hashed email address or phone number only enhances a conversion: it can neither restate nor retract one.

use crate::exit::Failure;
use crate::output::{Format, ResultTableBuilder};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::collections::BTreeMap;
use trueup::query::Interval;
use trueup::request::QueryRequest;
use trueup::{Dataset, ResultTable, Shown, Value, Values, csv};

/// The value of `--format`.
const NAME: &str = "google-ads-adjustments";

/// The fields that name a conversion by its click, in the order of the alphabet.
const CLICK: [&str; 2] = ["dateTime", "gclid"];

/// The fields that can be the order id of a conversion, and whether each is unique only inside an account.
const ORDER_IDS: [(&str, bool); 3] = [("orderId", false), ("eventId", true), ("opportunityId", true)];

/// Returns a parser of `--format` that also takes the format of this module.
pub(super) fn formats() -> impl TypedValueParser<Value = Format> {
    let usual = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let this = PossibleValue::new(NAME).help("A CSV file of conversion adjustments for Google Ads");
    PossibleValuesParser::new(usual.chain([this]))
        .map(|name| Format::from_str(&name, false).unwrap_or(Format::GoogleAdsAdjustments))
}

/// How the adjustments of a difference are written.
pub(super) struct Adjustments<'a> {
    conversion_name: &'a str,
    /// The field that is the order id; `None` if conversions are named by their clicks.
    order_id: Option<&'a str>,
    metric: &'a str,
    /// The currency of the accounts, empty if they state none.
    currency: String,
    /// When the later version was committed.
    time: String,
}

/// One adjustment.
struct Row {
    /// The order id, or the click id and the time of the conversion.
    conversion: [String; 2],
    kind: &'static str,
    value: String,
}

impl<'a> Adjustments<'a> {
    /// Checks what a request asks for.
    ///
    /// # Errors
    /// The file cannot have adjustments for the request.
    pub(super) fn new(
        request: &'a QueryRequest,
        conversion_name: Option<&'a str>,
        [before, after]: [&Dataset; 2],
    ) -> Result<Self, Failure> {
        let usage = |fault: String| Failure::usage(format!("`--format {NAME}`: {fault}"));
        let Some(conversion_name) = conversion_name else {
            return Err(usage("add `--conversion-name`, the name of the conversion action in Google Ads".to_owned()));
        };
        if request.totals || request.interval != Interval::Total {
            return Err(usage("an adjustment is of one conversion; leave `--totals` and `--interval` out".to_owned()));
        }
        let fields = request.fields.iter().map(String::as_str);
        let (metrics, mut dimensions): (Vec<&str>, Vec<&str>) = fields.partition(|name| after.is_metric(name));
        dimensions.sort_unstable();
        let order_id = match dimensions.as_slice() {
            [name] => ORDER_IDS.iter().find(|(known, _)| known == name),
            _ => None,
        };
        let ([metric], true) = (metrics.as_slice(), order_id.is_some() || dimensions == CLICK) else {
            return Err(usage(format!(
                "expected the fields `gclid` and `dateTime`, or one of `orderId`, `eventId` and `opportunityId`, and one metric that is \
                 an amount, such as `total`, but found `{}`",
                Shown(&request.fields.join(","))
            )));
        };
        if let Some((name, true)) = order_id {
            let accounts = match &request.accounts {
                Some(keys) => keys.len(),
                None => {
                    let count = |dataset: &Dataset| {
                        Ok::<_, Failure>(dataset.account_keys().map_err(trueup::Error::from)?.len())
                    };
                    count(before)?.max(count(after)?)
                }
            };
            if accounts > 1 {
                return Err(usage(format!(
                    "two accounts may have the same `{name}`, and {accounts} are asked for; name one with `--account`"
                )));
            }
        }
        // Amounts of different currencies are refused when the query runs.
        let accounts = after.accounts().iter();
        let mut asked =
            accounts.filter(|account| request.accounts.as_ref().is_none_or(|keys| keys.contains(&account.key)));
        Ok(Self {
            conversion_name,
            order_id: order_id.map(|(name, _)| *name),
            metric: *metric,
            currency: asked.find_map(|account| account.currency).map(|code| code.code().to_owned()).unwrap_or_default(),
            time: after.committed().map(|time| google_time(&time.to_string())).unwrap_or_default(),
        })
    }

    /// Returns the adjustments that turn the conversions of the earlier answer into those of the later one, and what a
    /// person must know of the changes that are not among them.
    ///
    /// # Errors
    /// The metric is no amount.
    pub(super) fn of(&self, changes: &ResultTable) -> Result<(ResultTable, Option<String>), Failure> {
        let metric = changes.column(self.metric);
        if !metric.is_some_and(|column| matches!(column.values, Values::Money(_))) {
            let metric = Shown(self.metric);
            return Err(Failure::usage(format!(
                "`--format {NAME}`: `{metric}` is no amount; ask for one, such as `total`"
            )));
        }
        let cell = |row, name| changes.value(row, name).map(csv::exact).unwrap_or_default();
        let conversion = |row| match self.order_id {
            Some(name) => [cell(row, name), String::new()],
            None => [cell(row, "gclid"), google_time(&cell(row, "dateTime"))],
        };
        let mut changed: BTreeMap<[String; 2], usize> = BTreeMap::new();
        for row in 0..changes.len() {
            *changed.entry(conversion(row)).or_default() += 1;
        }
        let (mut rows, mut left_out) = (Vec::new(), BTreeMap::<&str, usize>::new());
        for row in 0..changes.len() {
            let conversion = conversion(row);
            let [id, time] = &conversion;
            let is_negative = matches!(changes.value(row, self.metric), Some(Value::Money(..0)));
            let status = cell(row, "status");
            let adjustment = if id.is_empty() || self.order_id.is_none() && time.is_empty() {
                Err("without the id or the time of a conversion")
            } else if changed.get(&conversion).is_some_and(|changes| *changes > 1) {
                Err("that share a conversion")
            } else if *time >= self.time {
                Err("of a conversion that is not before the adjustment")
            } else {
                match status.as_str() {
                    "added" => Err("of a new conversion"),
                    "removed" => Ok(("RETRACT", String::new())),
                    _ if is_negative => Err("to a negative value"),
                    _ => Ok(("RESTATE", cell(row, self.metric))),
                }
            };
            match adjustment {
                Ok((kind, value)) => rows.push(Row { conversion, kind, value }),
                Err(reason) => *left_out.entry(reason).or_default() += 1,
            }
        }
        let reasons: Vec<String> = left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let left_out = (!reasons.is_empty()).then(|| {
            format!("changes that Google Ads cannot import as adjustments are left out: {}", reasons.join(", "))
        });
        Ok((self.table(&rows), left_out))
    }

    /// Returns the columns of Google's template.
    fn table(&self, rows: &[Row]) -> ResultTable {
        let table = ResultTableBuilder::default();
        let texts = |table: ResultTableBuilder, name: &str, text: &dyn Fn(&Row) -> String| {
            table.texts(name, rows.iter().map(text))
        };
        let id = if self.order_id.is_some() { "Order ID" } else { "Google Click ID" };
        let table = texts(table, id, &|row| row.conversion[0].clone());
        let table = texts(table, "Conversion Name", &|_| self.conversion_name.to_owned());
        let table = match self.order_id {
            Some(_) => table,
            None => texts(table, "Conversion Time", &|row| row.conversion[1].clone()),
        };
        let table = texts(table, "Adjustment Time", &|_| self.time.clone());
        let table = texts(table, "Adjustment Type", &|row| row.kind.to_owned());
        let table = texts(table, "Adjusted Value", &|row| row.value.clone());
        let currency = |row: &Row| if row.value.is_empty() { String::new() } else { self.currency.clone() };
        texts(table, "Adjusted Value Currency", &currency).build()
    }
}

/// Returns a time in UTC, such as `2025-02-14T15:00:00.5Z`, as Google Ads reads it, to the second. No time stays none.
fn google_time(utc: &str) -> String {
    utc.get(..19).unwrap_or_default().replace('T', " ")
}
