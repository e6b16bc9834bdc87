//! `trueup insights draft`: the rules say what they should, an ingest takes the documents as they are, and `why`
//! explains the numbers.

use crate::mcp::ask_each;
use crate::workspace::Workspace;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// Account `a` has 20 leads of ads and 12 of mail in April; in May 20 of ads, two of them on the last day, and 6 of
/// mail, one of which is booked. Campaign `One` spends 400 and then 600, `Two` spends 50 in May. Account `b` ends in
/// April.
fn small() -> Workspace {
    let workspace = Workspace::new();
    let mut events = "account,opportunityId,type,date,attributionChannel,campaign\n".to_owned();
    for (day, channel, campaign, leads) in [
        ("2025-04-01", "Ads", "One", 20),
        ("2025-04-01", "Mail", "Post", 12),
        ("2025-05-10", "Ads", "One", 18),
        ("2025-05-31", "Ads", "One", 2),
        ("2025-05-10", "Mail", "Post", 6),
        ("2025-06-15", "Ads", "One", 1),
    ] {
        for lead in 0..leads {
            let _ = writeln!(events, "a,{day}-{campaign}-{lead},lead-originated,{day},{channel},{campaign}");
        }
    }
    events.push_str("a,2025-05-10-Post-0,booked,2025-05-12,Mail,Post\nb,1,lead-originated,2025-04-02,Ads,One\n");
    workspace.write("events.csv", &events);
    workspace.write(
        "spend.csv",
        "account,date,attributionChannel,campaign,adSpend\na,2025-04-10,Ads,One,400\na,2025-05-10,Ads,One,600\n\
         a,2025-05-11,Ads,Two,50\n",
    );
    workspace.write("accounts.csv", "account,accountName,industry,currency\na,Acme,Plumbing,USD\n");
    workspace
        .run(&["ingest", "events.csv", "--spend", "spend.csv", "--accounts", "accounts.csv", "--into", "ds"])
        .succeeded();
    workspace
}

/// Returns a document for each line of a draft.
fn documents(lines: &str) -> Vec<Json> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn items<'a>(document: &'a Json, section: &str) -> &'a [Json] {
    document["insight"][section].as_array().unwrap()
}

/// Asks `why` with the arguments of items, in their order. Returns the metrics that it explains, by call.
fn explained(workspace: &Workspace, items: &[&Json]) -> Vec<Vec<Json>> {
    let calls = items.iter().flat_map(|item| item["why"].as_array().into_iter().flatten().cloned());
    let metrics = |message: &Json| {
        assert_eq!(message["result"]["isError"], false, "{message}");
        message["result"]["structuredContent"]["metrics"].as_array().unwrap().clone()
    };
    ask_each(workspace, "why", &calls.collect::<Vec<_>>()).iter().map(metrics).collect()
}

#[test]
fn the_rules_say_what_changed_and_an_ingest_takes_it_as_it_is() {
    let workspace = small();
    let run = workspace.run(&["insights", "draft", "ds", "--month", "2025-05", "--date", "2025-06-16"]);
    assert!(run.code == 0 && run.stderr.contains("no document for the account `b`"), "{run:?}");
    let [document] = &documents(&run.stdout)[..] else { panic!("{run:?}") };
    assert_eq!((&document["account"], &document["date"]), (&json!("a"), &json!("2025-06-16")));
    let insight = &document["insight"];
    let facts = ["account", "period", "confidence", "graded_calls", "drafted_by"].map(|name| insight[name].clone());
    assert_eq!(facts, [json!("Acme"), json!("May 2025"), json!("medium"), json!(0), json!("rules")]);
    assert!(insight["generated_at"].as_str().unwrap().ends_with('Z'), "{insight}");

    let actions: Vec<Json> = items(document, "action_items")
        .iter()
        .map(|item| {
            let impact = &item["impact"];
            let value = impact["value"].as_f64().unwrap();
            json!([
                item["title"],
                item["summary"],
                item["category"],
                item["priority"],
                value,
                impact["unit"],
                impact["display"]
            ])
        })
        .collect();
    assert_eq!(
        actions,
        [
            json!([
                "One: cost per lead +50.00% against April 2025",
                "Cost per lead of One: 30.00. Against April 2025 (20.00): 10.00 higher (+50.00%), which is worse.",
                "Spend",
                "high",
                10.0,
                "USD per lead",
                "+10.00 USD per lead"
            ]),
            json!([
                "Mail: leads -6 against April 2025",
                "Leads of Mail: 6. Against April 2025 (12): 6 fewer (-50.00%), which is worse.",
                "Leads",
                "high",
                -6.0,
                "leads",
                "-6 leads"
            ]),
            // Alone in its dataset, the account has no benchmarks, of which nothing is said.
            json!([
                "Two: spend without a lead",
                "Two in May 2025: spend 50.00, leads 0.",
                "Spend",
                "medium",
                50.0,
                "USD",
                "50.00 USD"
            ]),
        ]
    );
    let found = items(document, "deep_insights");
    for (item, (title, summary, priority)) in found.iter().zip([
        (
            "Average Cost per Lead: +100.00% against April 2025",
            "Average Cost per Lead: 25.00. Against April 2025 (12.50): 12.50 higher (+100.00%), which is worse. By channel: ",
            "high",
        ),
        (
            "Leads: -18.75% against April 2025",
            "Leads: 26. Against April 2025 (32): 6 fewer (-18.75%), which is worse. By channel: Mail 6 fewer.",
            "medium",
        ),
        (
            "Spend: +62.50% against April 2025",
            "Spend: 650.00. Against April 2025 (400.00): 250.00 more (+62.50%). By channel: Ads 250.00 more.",
            "medium",
        ),
        (
            "Leads of May 2025 that are open: 2",
            "Leads of May 2025: 26, of which open: 2, because fewer than 30 days have passed since their first event. Booked \
             within 30 days, so far: 1.",
            "low",
        ),
    ]) {
        assert_eq!((&item["title"], &item["priority"]), (&json!(title), &json!(priority)), "{item}");
        assert!(item["summary"].as_str().unwrap().starts_with(summary), "{item}");
    }
    assert_eq!(found.len(), 4, "{found:?}");

    // A campaign without spend in the days before is explained in May alone; the cohort is asked for as one.
    let why = |title: &str| {
        let all = items(document, "action_items").iter().chain(found);
        all.filter(|item| item["title"] == title).map(|item| item["why"].clone()).next().unwrap()
    };
    let may = json!({ "start": "2025-05-01", "end": "2025-05-31" });
    assert_eq!(
        why("Two: spend without a lead"),
        json!([{ "metrics": ["spend", "leads"], "by": ["campaign"], "days": may, "accounts": ["a"], "row": { "campaign": "Two" } }])
    );
    assert_eq!(
        why("Leads of May 2025 that are open: 2"),
        json!([{ "metrics": ["openLeads", "leads", "reachedLeadToBooked"], "days": may, "accounts": ["a"], "cohort": "30d" }])
    );
    let all: Vec<&Json> = items(document, "action_items").iter().chain(found).collect();
    let explained = explained(&workspace, &all);
    // Cost per lead in May and in April, then the leads of the channel.
    let values: Vec<f64> = explained.iter().take(4).map(|metrics| metrics[0]["value"].as_f64().unwrap()).collect();
    assert_eq!(values, [30.0, 20.0, 6.0, 12.0]);

    workspace.write("may.ndjson", &run.stdout);
    workspace.run(&["ingest", "--insights", "may.ndjson", "--into", "ds"]).succeeded();
    let kept = workspace.path("ds/insights").read_dir().unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), run.stdout);
}

/// The account `a` of a month that is not over is drafted up to a day, and compared with the same days.
#[test]
fn a_month_that_is_not_over_needs_its_last_day() {
    let workspace = small();
    let draft = |more: &[&str]| workspace.run(&[&["insights", "draft", "ds", "--month", "2025-06"], more].concat());
    let message = draft(&[]).failed(1);
    assert!(
        message.contains("the data end on 2025-06-15, before the last day of 2025-06-01 to 2025-06-30"),
        "{message}"
    );
    assert!(message.contains("`--through 2025-06-15`"), "{message}");
    let message = draft(&["--through", "2025-05-31"]).failed(1);
    assert!(message.contains("expected the last day of the report in 2025-06"), "{message}");
    let run = draft(&["--through", "2025-06-15", "--account", "a"]).succeeded();
    let [document] = &documents(&run)[..] else { panic!("{run}") };
    assert_eq!(document["insight"]["period"], "1 to 15 June 2025");
    // One lead is too few to compare; it is open.
    let titles: Vec<&Json> = items(document, "deep_insights").iter().map(|item| &item["title"]).collect();
    assert_eq!(titles, ["Leads of 1 to 15 June 2025 that are open: 1"]);
    assert!(draft(&["--account", "nobody"]).failed(1).contains("no account `nobody`"));
}

/// In a demo with benchmarks, each impact is what `why` explains: a number of the month, or its change.
#[test]
fn every_impact_is_explained_by_why() {
    let workspace = Workspace::new();
    let run = workspace.run(&["demo", "ds", "--events", "40000", "--accounts", "40", "--until", "2026-06-30"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = workspace.run(&["insights", "draft", "ds", "--month", "2025-05", "-o", "may.ndjson"]);
    assert_eq!(run.code, 0, "{run:?}");
    let lines = std::fs::read_to_string(workspace.path("may.ndjson")).unwrap();
    let documents = documents(&lines);
    assert!(documents.len() > 30, "{}", documents.len());
    let actions: Vec<&Json> = documents.iter().flat_map(|document| items(document, "action_items")).collect();
    for category in ["Spend", "Leads", "Benchmarks"] {
        assert!(actions.iter().any(|item| item["category"] == category), "{category}");
    }
    let mut explained = explained(&workspace, &actions).into_iter();
    for item in &actions {
        let calls: Vec<Vec<Json>> = explained.by_ref().take(item["why"].as_array().unwrap().len()).collect();
        let value = |call: usize| calls[call][0]["value"].as_f64().unwrap();
        let impact = item["impact"]["value"].as_f64().unwrap();
        let expected = if item["impact"]["display"].as_str().unwrap().starts_with(['+', '-']) {
            // A channel without leads now has no row to explain.
            if calls.len() == 2 { value(0) - value(1) } else { -value(0) }
        } else {
            value(0)
        };
        assert!((impact - expected).abs() <= 1e-9 * impact.abs(), "{impact} is not {expected}: {item}");
    }
    workspace.run(&["ingest", "--insights", "may.ndjson", "--into", "ds"]).succeeded();
}
