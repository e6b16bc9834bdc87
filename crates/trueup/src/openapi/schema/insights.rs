//! Insight documents.

use super::super::node::{JsonValue, object, reference};
use super::{day, list_of, meant, members, typed};

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let insight = members(
        &["account", "date", "insight"],
        [
            ("account", meant("string", "The account key.")),
            ("date", day("The day of publication.")),
            ("insight", reference("schemas", "InsightDocument")),
        ],
    );
    vec![
        ("InsightsAnswer", list_of("Insight")),
        ("Insight", insight),
        ("InsightDocument", document()),
        ("ActionItem", action_item()),
    ]
}

/// The sections that are documented; documents grow, so none is required and others may be there.
fn document() -> JsonValue {
    let some_objects = |means| meant("array", means).with("items", typed("object"));
    members(
        &[],
        [
            ("account", meant("string", "The name of the account for people.")),
            ("period", meant("string", "The period analyzed, as the label of a month.")),
            ("generated_at", meant("string", "When it was produced, with an offset.").with("format", "date-time")),
            ("confidence", meant("string", "Confidence in the analysis.")),
            ("graded_calls", meant("number", "How many graded calls informed it.")),
            ("action_items", meant("array", "What to do.").with("items", reference("schemas", "ActionItem"))),
            ("deep_insights", some_objects("Findings: `title`, `summary`, `takeaway`, `priority`.")),
            ("surprise_insights", some_objects("What was not expected, what to do, for whom, and the calls behind it.")),
            ("main_themes", some_objects("Themes: an overview, the share of activity, and what is behind it.")),
        ],
    )
    .with("additionalProperties", true)
    .with(
        "description",
        "The document, byte for byte as published, or the sections asked for. Sections are still being added: read those that \
         are needed, and ignore the rest.",
    )
}

fn action_item() -> JsonValue {
    let text = || typed("string");
    let impact = members(&[], [("value", typed("number")), ("unit", text()), ("display", text())]);
    let texts = ["title", "summary", "action", "category", "priority"].map(|name| (name, text()));
    members(&[], texts.into_iter().chain([("impact", impact)])).with("additionalProperties", object::<&str>([]))
}
