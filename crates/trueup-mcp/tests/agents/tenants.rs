//! What a caller learns of accounts that they may not see: nothing.

use crate::data::{SMALL, answer, fault};
use serde_json::json;

/// What is only in the account `b`.
const SECRETS: [&str; 6] = ["Secret", "Radio", "Beta", "EUR", "2024-06-2", "hvac"];

#[test]
fn no_answer_has_anything_of_others() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let of = |tool: &str, arguments| answer(&toolbox, tool, arguments);
    for found in [
        of("overview", json!({})),
        of("find_values", json!({ "field": "campaign" })),
        of("find_values", json!({ "field": "campaign", "search": "Secret Campain" })),
        of("find_values", json!({ "field": "account" })),
        of("query", json!({ "metrics": ["leads", "closedRevenue"], "by": ["attributionChannel"], "days": "2024-Q2" })),
        of("query", json!({ "metrics": ["leads"], "days": "2024-Q2", "where": ["attributionChannel = 'Radjo'"] })),
        of(
            "compare",
            json!({ "metrics": ["leads"], "by": ["campaign"], "days": "2024-05", "with": "2024-06-01..2024-06-30" }),
        ),
        of("insights", json!({})),
        of(
            "query",
            json!({ "metrics": ["leads", "closedRevenue"], "by": ["attributionChannel"], "days": "2024-05", "targets": true }),
        ),
    ] {
        for secret in SECRETS {
            let [text, data] =
                [found.text.clone(), found.data.to_string()].map(|said| said.replace("Secret Campain", ""));
            assert!(!text.contains(secret) && !data.contains(secret), "{secret}: {text} {data}");
        }
    }
    let targets = of("overview", json!({})).data["targets"].clone();
    assert_eq!(targets, json!({ "metrics": ["leads"], "from": "2024-05", "to": "2024-05" }));
    let refused = fault(&toolbox, "query", json!({ "metrics": ["closedRevenue"], "days": "2024-06", "targets": true }));
    assert_eq!(refused.code, "no-targets");
    assert_eq!(refused.message, "none of the metrics has a target; metrics with targets are `leads`");
    // A value that only others have is one that nothing has.
    let found =
        of("query", json!({ "metrics": ["leads"], "days": "2024-Q2", "where": ["attributionChannel = Radio"] }));
    assert!(found.text.contains("nothing has the value \"Radio\""), "{}", found.text);
}

#[test]
fn an_account_of_others_is_like_one_that_does_not_exist() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let refused = |key: &str| {
        let fault = fault(&toolbox, "query", json!({ "metrics": ["leads"], "days": "2024-05", "accounts": [key] }));
        (fault.code, fault.to_string().replace(key, "KEY"))
    };
    assert_eq!(refused("b"), refused("q"));
}
