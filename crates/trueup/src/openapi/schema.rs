//! The schemas of answers, of filters and of errors.

use super::error_examples::error_examples;
use super::json_value::{JsonValue, object, one_of, reference, texts};
use crate::benchmarks::Series;
use crate::dictionary::{self, Field, FieldKind};
use crate::service::endpoint::description::Endpoint;
use std::collections::BTreeSet;

/// Returns every schema by name.
pub(super) fn components() -> JsonValue {
    let schemas =
        [access_schemas(), event_schemas(), benchmark_schemas(), insight_schemas(), filter_schemas(), error_schemas()];
    object(schemas.into_iter().flatten())
}

fn access_schemas() -> Vec<(&'static str, JsonValue)> {
    let answer = members(
        &["user", "organizations", "endpoints", "dictionary"],
        [
            ("user", described("string", "The login that the credentials belong to.")),
            ("organizations", list_of("Organization")),
            ("endpoints", list_of("Endpoint")),
            ("dictionary", reference("schemas", "Dictionary")),
            (
                "days",
                members(
                    &["start", "end"],
                    [("start", day("The first day that has data.")), ("end", day("The last day that has data."))],
                )
                .with(
                    "description",
                    "The days of the data of these accounts; only with `dictionary=all`, if there are any.",
                ),
            ),
        ],
    );
    let organization = members(
        &["organization", "accounts"],
        [
            ("organization", described("string", "The value for `{organization}` in paths.")),
            (
                "accounts",
                names(
                    "The account keys of the organization that the login may access, sorted. Each works in the path, too.",
                ),
            ),
            (
                "currency",
                described(
                    "string",
                    "The currency of all of these accounts, such as `CAD`; absent if they have several, or one states none; only \
                     with `dictionary=all`.",
                ),
            ),
        ],
    );
    let endpoint = members(
        &["endpoint", "path", "parameters"],
        [
            ("endpoint", described("string", "The name of the endpoint.")),
            ("path", described("string", "The path, with `{organization}` as the placeholder for the organization.")),
            ("parameters", names("The names of the parameters.")),
            ("metrics", names("The metrics that the endpoint supports.")),
            ("dimensions", names("The dimensions that the endpoint supports.")),
            ("notes", described("string", "What else a caller should know.")),
        ],
    );
    vec![
        ("AccessAnswer", answer),
        ("Organization", organization),
        ("Endpoint", endpoint),
        ("DictionaryEntry", dictionary_entry()),
    ]
}

fn names(description: &'static str) -> JsonValue {
    described("array", description).with("items", typed("string"))
}

fn dictionary_entry() -> JsonValue {
    let formats: BTreeSet<&'static str> = dictionary::fields().map(|field| field.format.name()).collect();
    members(
        &["displayName", "definition", "type", "format"],
        [
            ("displayName", described("string", "The name to display.")),
            ("definition", described("string", "What the field counts, and how.")),
            ("type", one_of(["dimension", "metric"])),
            ("format", one_of(formats).with("description", "How to display a value.")),
            (
                "direction",
                one_of(["higher", "lower"])
                    .with("description", "Which values of a metric are better; only with `dictionary=all`."),
            ),
            (
                "formula",
                described(
                    "string",
                    "The measures of a metric, such as `bookedCustomers / customers`; only with `dictionary=all`.",
                ),
            ),
            (
                "addsUp",
                described(
                    "string",
                    "Across which groups the values of a metric add up, such as `across dimensions and intervals`, or `never` with \
                     the reason; only with `dictionary=all`.",
                ),
            ),
            ("synonyms", names("What people call the field in other tools; only with `dictionary=all`.")),
            (
                "usesSpend",
                described("boolean", "True on metrics that are computed from spend; only with `dictionary=all`."),
            ),
            (
                "splitsSpend",
                described(
                    "boolean",
                    "True on dimensions that spend has: on the values of any other, spend is that of the whole; only with \
                     `dictionary=all`.",
                ),
            ),
            (
                "hasTargets",
                described(
                    "boolean",
                    "True on metrics that have a target for an account that the credentials can access; only with \
                     `dictionary=all`.",
                ),
            ),
            ("benchmarkable", described("boolean", "True on metrics that have benchmarks; absent on others.")),
            ("benchmarkDimension", described("boolean", "True on dimensions of benchmarks; absent on others.")),
            ("possible values", names("The values, where they can be listed.")),
        ],
    )
}

fn event_schemas() -> Vec<(&'static str, JsonValue)> {
    let interval = [
        ("start", day("The first day of the sub-range; absent with the interval `total`.")),
        ("end", day("The last day of the sub-range; absent with the interval `total`.")),
    ];
    let fields = dictionary::fields().chain(dictionary::duration_fields()).map(|field| {
        let value = if is_metric(field) { "number" } else { "string" };
        (field.name, described(value, definition(field)))
    });
    let other = object([("type", texts(["string", "number", "null"]))]);
    let row = members(&[], interval.into_iter().chain(fields)).with("additionalProperties", other).with(
        "description",
        "One member for each requested field, in the requested order: a number for a metric, a string for a dimension. A \
             dimension without a value is the empty string. Any column of the data is a dimension, listed here or not. In a \
             comparison, a metric is followed by its `.previous`, `.change` and so on, which are numbers or null; with targets, by \
             its `.target` and `.pace`.",
    );
    let either =
        object([("oneOf", vec![reference("schemas", "EventsRows"), reference("schemas", "Explanation")].into())]);
    let mut schemas = vec![
        ("EventsAnswer", either.with("description", "The rows; with `why`, one object in place of them.")),
        ("EventsRows", list_of("EventsRow")),
        ("EventsRow", row),
        ("Dictionary", dictionary_schema()),
    ];
    schemas.extend(explanation_schemas());
    schemas
}

fn explanation_schemas() -> Vec<(&'static str, JsonValue)> {
    let explanation = members(
        &["start", "end", "row", "metrics", "measures", "lines"],
        [
            ("start", day("The first day of the row.")),
            ("end", day("The last day of the row.")),
            ("previousStart", day("With `compare`, the first day of the earlier range.")),
            ("previousEnd", day("With `compare`, the last day of the earlier range.")),
            (
                "row",
                typed("object")
                    .with("description", "The values of the row, by dimension.")
                    .with("additionalProperties", typed("string")),
            ),
            ("metrics", list_of("ExplainedMetric")),
            (
                "measures",
                list_of("ExplainedMeasure").with("description", "What the metrics are made of, each measure once."),
            ),
            (
                "lines",
                list_of("ExplainedLine")
                    .with("description", "The lines that are listed, by measure, the first days first."),
            ),
        ],
    );
    let metric = members(
        &["metric", "value", "formula"],
        [
            ("metric", described("string", "The name of the metric.")),
            ("value", described("number", "Its value, as in the answer without `why`.")),
            ("formula", described("string", "What it is made of, such as `bookedCustomers / customers`.")),
            ("previous", described("number", "With `compare`, its value in the earlier range.")),
            ("change", described("number", "With `compare`, its value minus the previous one.")),
            (
                "classes",
                list_of("ChangedRatio")
                    .with("description", "With `compare`, the customers of a ratio; empty for other metrics, and for a ratio of spend or of agents."),
            ),
        ],
    );
    let class = || {
        one_of(["current", "previous", "changed", "unchanged"])
            .with("description", "Whether only one range counts them, or both do: differently, or the same.")
    };
    let or_null = |text: &'static str| object([("type", texts(["number", "null"]))]).with("description", text);
    let ratio_class = members(
        &["class", "customers", "previous", "value", "rateEffect", "mixEffect"],
        [
            ("class", class()),
            ("customers", described("integer", "The number of customers of the class.")),
            ("previous", or_null("Their ratio in the earlier range; null if it is over nothing.")),
            ("value", or_null("Their ratio in the range; null if it is over nothing.")),
            ("rateEffect", or_null("What they add to the change because their ratio changed.")),
            ("mixEffect", or_null("What they add to the change because their share in the denominator changed.")),
        ],
    );
    let measure_class = members(
        &["class", "counted", "sum", "previous", "change", "lines", "leftOut"],
        [
            ("class", class()),
            ("counted", described("integer", "The number of customers, agents or campaigns of the class.")),
            ("sum", described("number", "What they add up to in the range.")),
            ("previous", described("number", "What they add up to in the earlier range.")),
            ("change", described("number", "What they add to the change.")),
            ("lines", described("integer", "The number of their lines.")),
            ("leftOut", described("integer", "The number of their lines that are not listed.")),
        ],
    );
    let measure = members(
        &["measure", "format", "sum", "lines", "leftOut"],
        [
            ("measure", described("string", "The name of the measure.")),
            (
                "format",
                one_of(["number", "currency"]).with("description", "Whether its lines add `count` or `amount`."),
            ),
            ("sum", described("number", "What all lines of the range add up to.")),
            ("lines", described("integer", "The number of all lines.")),
            ("leftOut", described("integer", "The number of lines that are not listed, because of `lines`.")),
            ("previous", described("number", "With `compare`, what it is in the earlier range.")),
            ("change", described("number", "With `compare`, what all lines add up to.")),
            (
                "unit",
                one_of(["customer", "agent", "campaign"])
                    .with("description", "With `compare`, what the classes count."),
            ),
            ("classes", list_of("ChangedMeasure").with("description", "With `compare`, who makes the change.")),
        ],
    );
    let line = members(
        &["measure", "account", "opportunityId", "eventId", "date", "type", "rule"],
        [
            ("measure", described("string", "The measure that the line adds to.")),
            ("class", described("string", "With `compare`, the class of the customer, agent or campaign.")),
            (
                "range",
                one_of(["current", "previous"])
                    .with("description", "With `compare`, the range of the line. A line of the earlier one subtracts."),
            ),
            ("account", described("string", "The account key.")),
            ("opportunityId", described("string", "The customer; empty for spend.")),
            ("eventId", described("string", "The event that counts; empty for spend, and for an event without an id.")),
            ("date", day("The day of the event or of the spend.")),
            ("type", described("string", "The stage of the event; empty for spend.")),
            (
                "count",
                described(
                    "integer",
                    "What the line adds to its measure if that is a count, and 0 if it is money. Absent if every \
                     measure is money.",
                ),
            ),
            (
                "amount",
                described(
                    "number",
                    "What the line adds to its measure if that is money, and 0 if it is a count. Absent if no \
                     measure is money.",
                ),
            ),
            ("rule", described("string", "The rule by which the line counts.")),
        ],
    );
    vec![
        ("Explanation", explanation),
        ("ExplainedMetric", metric),
        ("ExplainedMeasure", measure),
        ("ChangedRatio", ratio_class),
        ("ChangedMeasure", measure_class),
        ("ExplainedLine", line),
    ]
}

fn dictionary_schema() -> JsonValue {
    typed("object")
        .with(
            "description",
            "The meaning of each field, by name. Fields of lead grading are listed only if an account in reach has lead grading.",
        )
        .with("additionalProperties", object([("$ref", "#/components/schemas/DictionaryEntry".into())]))
}

fn benchmark_schemas() -> Vec<(&'static str, JsonValue)> {
    let series = one_of(Series::ALL.map(Series::name)).with(
        "description",
        "The figure: the pooled ratio of all compared accounts, or a percentile of the ratios of each.",
    );
    let accounts = described("integer", "The number of accounts that are compared in the segment.");
    let fields = dictionary::fields().filter(|field| field.benchmark).map(|field| {
        let value = if is_metric(field) {
            object([("type", texts(["number", "null"]))]).with(
                "description",
                format!("{} Rounded to three significant digits; null if withheld.", definition(field)),
            )
        } else {
            described("string", definition(field))
        };
        (field.name, value)
    });
    let month = described("string", "The month of the row, as `YYYY-MM`; only if the request names several.");
    let head = [("month", month), ("series", series), ("cohortAccounts", accounts)];
    let row = members(&["series", "cohortAccounts"], head.into_iter().chain(fields))
        .with("additionalProperties", false)
        .with("description", "One series of one combination of dimension values, with the requested fields.");
    vec![("BenchmarksAnswer", list_of("BenchmarksRow")), ("BenchmarksRow", row)]
}

fn insight_schemas() -> Vec<(&'static str, JsonValue)> {
    let insight = members(
        &["account", "date", "insight"],
        [
            ("account", described("string", "The account key.")),
            ("date", day("The day of publication.")),
            ("insight", reference("schemas", "InsightDocument")),
        ],
    );
    vec![
        ("InsightsAnswer", list_of("Insight")),
        ("Insight", insight),
        ("InsightDocument", insight_document()),
        ("ActionItem", action_item()),
    ]
}

/// Returns the schema of a document. No section is required and others are allowed, because sections are still being
/// added.
fn insight_document() -> JsonValue {
    let some_objects = |description| described("array", description).with("items", typed("object"));
    members(
        &[],
        [
            ("account", described("string", "The display name of the account.")),
            ("period", described("string", "The analyzed month, as a label.")),
            ("generated_at", described("string", "When the document was produced, with a UTC offset.").with("format", "date-time")),
            ("confidence", described("string", "Confidence in the analysis.")),
            ("graded_calls", described("number", "The number of graded calls that the document is based on.")),
            ("action_items", described("array", "What to do.").with("items", reference("schemas", "ActionItem"))),
            ("deep_insights", some_objects("Findings: `title`, `summary`, `takeaway`, `priority`.")),
            ("surprise_insights", some_objects("Unexpected findings: what to do, for whom, and the calls that show it.")),
            ("main_themes", some_objects("Themes: an overview, the share of activity, and its causes.")),
        ],
    )
    .with("additionalProperties", true)
    .with(
        "description",
        "The document, byte for byte as published, or its requested sections. Sections are still being added: a client should \
         ignore sections that it does not know.",
    )
}

fn action_item() -> JsonValue {
    let text = || typed("string");
    let impact = members(&[], [("value", typed("number")), ("unit", text()), ("display", text())]);
    let texts = ["title", "summary", "action", "category", "priority"].map(|name| (name, text()));
    members(&[], texts.into_iter().chain([("impact", impact)])).with("additionalProperties", object::<&str>([]))
}

fn filter_schemas() -> Vec<(&'static str, JsonValue)> {
    let conditions =
        typed("object").with("minProperties", 1_usize).with("additionalProperties", reference("schemas", "Expression"));
    let joined = described("array", "`or`, `and` or `not`, and what it joins: objects, or such lists again.");
    let filter = object([("oneOf", vec![conditions, joined].into())]).with(
        "description",
        "An object of fields and expressions, all of which must hold, or a list that joins such objects.",
    );
    let expression = object([("type", texts(["string", "number", "boolean", "null", "array"]))]).with(
        "description",
        "A condition on the value of a field: the value itself (`null` is the empty string), or a list: `or`, `and`, `not` and \
         expressions; `eq`, `ne` and a value; `gt`, `gte`, `lt`, `lte` and a number or a string; `regex`, a pattern and flags; \
         `empty`; `notEmpty`.",
    );
    vec![("Filter", filter), ("Expression", expression)]
}

fn error_schemas() -> Vec<(&'static str, JsonValue)> {
    let codes: BTreeSet<&'static str> = error_examples().iter().filter_map(|example| example.error.code()).collect();
    let code = one_of(codes).with("description", "The machine-readable name of the error. A few errors have none.");
    let words = described("string", "What is wrong, with which value, and what to do.");
    vec![("Error", members(&["error"], [("error", words), ("code", code)]))]
}

/// Returns the dimensions of the dictionary that an endpoint supports.
pub(super) fn dimensions(endpoint: &Endpoint) -> impl Iterator<Item = &'static Field> {
    let supports = endpoint.fields;
    dictionary::fields().filter(move |field| !is_metric(field) && supports.is_some_and(|supports| supports(field)))
}

fn is_metric(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Metric(_))
}

/// Returns the name and definition of a field.
fn definition(field: &Field) -> String {
    format!("{}. {}", field.display_name, field.definition)
}

/// Returns the schema of values of one type.
pub(super) fn typed(name: &'static str) -> JsonValue {
    object([("type", name.into())])
}

/// Returns the schema of values of one type, with a description.
fn described(name: &'static str, description: impl Into<JsonValue>) -> JsonValue {
    typed(name).with("description", description)
}

/// Returns the schema of a day.
fn day(description: &'static str) -> JsonValue {
    typed("string").with("format", "date").with("description", description)
}

/// Returns the schema of a list of the named schema.
fn list_of(name: &str) -> JsonValue {
    typed("array").with("items", reference("schemas", name))
}

/// Returns the schema of an object with these members, of which `required` are always present.
fn members(required: &[&'static str], properties: impl IntoIterator<Item = (&'static str, JsonValue)>) -> JsonValue {
    let required: Vec<JsonValue> = required.iter().map(|name| (*name).into()).collect();
    let object_type = typed("object");
    let schema = if required.is_empty() { object_type } else { object_type.with("required", required) };
    schema.with("properties", object(properties))
}
