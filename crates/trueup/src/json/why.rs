//! An explanation as JSON: what the numbers of a row are made of, then the lines.

use super::{Frame, JsonRows, amount, count, double, escape, signed};
use trueup_core::dictionary::ValueFormat;
use trueup_core::{ExplainedMeasure, ExplainedMetric, MeasureClass, MetricChange, RatioClass, ResultTable, Value, Why};

/// Returns an explanation as one object. Its lines are the last member, and are written row by row.
///
/// ```text
/// {"start":"2025-01-01","end":"2025-03-31","row":{"campaign":"Drains"},
///  "metrics":[{"metric":"bookRate","value":0.8,"formula":"bookedCustomers / customers"}],
///  "measures":[{"measure":"bookedCustomers","format":"number","sum":4,"lines":4,"leftOut":0}, ...],
///  "lines":[{"measure":"bookedCustomers","account":"north","opportunityId":"c1", ...}, ...]}
/// ```
///
/// If a change is explained, it also has `previousStart` and `previousEnd`, and each metric and measure has `previous`,
/// `change` and `classes`.
pub(crate) fn explanation(why: Why) -> JsonRows<ResultTable> {
    let mut head = JsonObject::default();
    escape(&why.range.start.to_string(), head.member("start"));
    escape(&why.range.end.to_string(), head.member("end"));
    if let Some(previous) = why.previous {
        escape(&previous.start.to_string(), head.member("previousStart"));
        escape(&previous.end.to_string(), head.member("previousEnd"));
    }
    let mut row = JsonObject::default();
    for (column, value) in &why.row {
        escape(value, row.member(column));
    }
    head.member("row").extend(row.closed());
    list(why.metrics.iter().map(metric), head.member("metrics"));
    list(why.measures.iter().map(measure), head.member("measures"));
    head.member("lines").push(b'[');
    JsonRows::new(why.into_lines(), Frame { before: head.bytes, between: b",", after: b"]}" })
}

fn metric(metric: &ExplainedMetric) -> Vec<u8> {
    let mut object = JsonObject::default();
    escape(&metric.name, object.member("metric"));
    number(metric.value, object.member("value"));
    escape(&metric.formula, object.member("formula"));
    if let Some(MetricChange { previous, change, classes, .. }) = &metric.change {
        number(*previous, object.member("previous"));
        number(*change, object.member("change"));
        list(classes.iter().map(ratio_class), object.member("classes"));
    }
    object.closed()
}

fn ratio_class(class: &RatioClass) -> Vec<u8> {
    let mut object = JsonObject::default();
    escape(class.class.name(), object.member("class"));
    number(Value::Count(class.customers), object.member("customers"));
    number(class.previous, object.member("previous"));
    number(class.current, object.member("value"));
    number(class.rate_effect, object.member("rateEffect"));
    number(class.mix_effect, object.member("mixEffect"));
    object.closed()
}

fn measure(measure: &ExplainedMeasure) -> Vec<u8> {
    let format = if matches!(measure.sum, Value::Money(_)) { ValueFormat::Currency } else { ValueFormat::Number };
    let mut object = JsonObject::default();
    escape(measure.measure.name(), object.member("measure"));
    escape(format.name(), object.member("format"));
    number(measure.sum, object.member("sum"));
    number(Value::Count(measure.lines), object.member("lines"));
    number(Value::Count(measure.lines - measure.listed), object.member("leftOut"));
    if let Some(change) = &measure.change {
        number(change.previous, object.member("previous"));
        number(change.change, object.member("change"));
        escape(change.unit, object.member("unit"));
        list(change.classes.iter().map(measure_class), object.member("classes"));
    }
    object.closed()
}

fn measure_class(class: &MeasureClass) -> Vec<u8> {
    let mut object = JsonObject::default();
    escape(class.class.name(), object.member("class"));
    number(Value::Count(class.counted), object.member("counted"));
    number(class.current, object.member("sum"));
    number(class.previous, object.member("previous"));
    number(class.change, object.member("change"));
    number(Value::Count(class.lines), object.member("lines"));
    number(Value::Count(class.lines - class.listed), object.member("leftOut"));
    object.closed()
}

fn list(objects: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, object) in objects.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend(object);
    }
    out.push(b']');
}

/// An object to which members are added one after another.
#[derive(Default)]
struct JsonObject {
    bytes: Vec<u8>,
}

impl JsonObject {
    /// Adds a key, and returns where its value is to be written.
    fn member(&mut self, key: &str) -> &mut Vec<u8> {
        self.bytes.push(if self.bytes.is_empty() { b'{' } else { b',' });
        escape(key, &mut self.bytes);
        self.bytes.push(b':');
        &mut self.bytes
    }

    /// Returns the whole object.
    fn closed(mut self) -> Vec<u8> {
        if self.bytes.is_empty() {
            self.bytes.push(b'{');
        }
        self.bytes.push(b'}');
        self.bytes
    }
}

/// Writes a number; anything else is `null`.
fn number(value: Value<'_>, chunk: &mut Vec<u8>) {
    match value {
        Value::Count(number) => count(number, chunk),
        Value::Money(micros) => amount(micros, chunk),
        Value::Ratio(number) | Value::Number(number) => double(number, chunk),
        Value::Integer(number) => signed(number, chunk),
        Value::Day(_) | Value::Text(_) | Value::Null => chunk.extend_from_slice(b"null"),
    }
}
