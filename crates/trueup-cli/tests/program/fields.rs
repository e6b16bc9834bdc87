//! `trueup fields`, `completions` and `man`, and the JSON of `inspect`, `explain` and `verify`, whose keys
//! `docs/command-line.md` documents.

use crate::workspace::{RANGE, Workspace};
use serde_json::{Value as Json, json};

/// Returns the rows that `trueup fields` lists as JSON.
fn listed(workspace: &Workspace, arguments: &[&str]) -> Vec<Json> {
    let text = workspace.run(&[&["fields", "--format", "json"], arguments].concat()).succeeded();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn fields_lists_metrics_and_dimensions() {
    let workspace = Workspace::with_dataset();
    let all = listed(&workspace, &[]);
    let names =
        |fields: &[Json]| fields.iter().map(|field| field["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(
        ["leads", "bookRate", "spend", "campaign", "zip"].iter().all(|name| names(&all).contains(&(*name).to_owned()))
    );
    assert_eq!(
        listed(&workspace, &["roasClosed"]),
        [json!({
            "name": "roasClosed",
            "type": "metric",
            "displayName": "Closed Return on Ad Spend",
            "format": "decimal",
            "unit": "ratio",
            "formula": "closedRevenue / (adSpend + managementFee)",
            "addsUp": "never: a ratio",
            "definition": all.iter().find(|field| field["name"] == "roasClosed").unwrap()["definition"],
        })]
    );
    // A dataset has its own columns, and only some of the dictionary's.
    workspace.write("own.csv", "account,opportunityId,type,date,crew\nacme,9,booked,2025-01-03,North\n");
    workspace.run(&["ingest", "own.csv", "--into", "ds"]).succeeded();
    let own = names(&listed(&workspace, &["ds"]));
    let has = |name: &str| own.contains(&name.to_owned());
    assert!(has("crew") && has("campaign") && has("leads") && has("week") && !has("conversionTranscript"), "{own:?}");
    assert_eq!(own.len(), own.iter().collect::<std::collections::BTreeSet<_>>().len());
}

#[test]
fn fields_describes_a_field() {
    let workspace = Workspace::with_dataset();
    let text = workspace.run(&["fields", "bookRate"]).succeeded();
    for part in [
        "bookRate: Book Rate\n",
        "type       metric, shown as percent\n",
        "unit       ratio\n",
        "formula    bookedCustomers / customers\n",
        "bookedCustomers: Customers with a booked event in the sub-range.\n",
        "adds up    never: a ratio\n",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let text = workspace.run(&["fields", "ds", "campaign"]).succeeded();
    assert!(text.contains("spend      is split by it\n"), "{text}");
    assert!(
        text.ends_with(
            "3 values\n\n\
             campaign           eventCount\n\
             ─────────────────────────────\n\
             [Va] Drain                  3\n\
             (none)                      1\n\
             Spring Drain Sale           1\n"
        ),
        "{text}"
    );
    assert_eq!(
        workspace.run(&["fields", "ds", "--values", "campaign", "--format", "csv"]).succeeded(),
        "campaign,eventCount\n[Va] Drain,3\n,1\nSpring Drain Sale,1\n"
    );
    // More values than the description has, of a column with a blank in its name.
    let rows: String = (0..11).map(|row| format!("acme,v{row},booked,2025-01-03,s{row}\n")).collect();
    workspace.write("more.csv", &format!("account,opportunityId,type,date,lead source\n{rows}"));
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    let text = workspace.run(&["fields", "ds", "lead source"]).succeeded();
    assert!(text.contains("`--values 'lead source'` lists all"), "{text}");
}

#[test]
fn fields_refuses_unknown_names() {
    let workspace = Workspace::with_dataset();
    let failed = |arguments: &[&str], code| workspace.run(&[&["fields"], arguments].concat()).failed(code);
    assert!(failed(&["leeds"], 1).contains("the folder of a dataset or the name of a field, but found `leeds`"));
    let message = failed(&["ds", "campain"], 1);
    assert!(message.contains("knows `campain`") && message.contains("`campaign`"), "{message}");
    assert!(failed(&["ds", "--values", "leads"], 1).contains("expected a dimension, but `leads` is a metric"));
    assert!(failed(&["--values", "campaign"], 2).contains("the folder or URL of a dataset"));
    for arguments in [&["bookRate", "--as-of", "7"][..], &["--as-of", "7"]] {
        assert!(failed(arguments, 2).contains("expected the folder or URL of a dataset with `--as-of`"));
    }
    assert!(failed(&["nowhere", "leads"], 1).contains("nowhere"));
    failed(&["ds", "leads", "spend"], 2);
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let workspace = Workspace::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = workspace.run(&["completions", shell]).succeeded();
        assert!(["inspect", "completions", "allow-long-total"].iter().all(|word| script.contains(word)), "{shell}");
    }
    workspace.run(&["completions", "tcsh"]).failed(2);
    let page = workspace.run(&["man"]).succeeded();
    assert!(page.contains(".TH trueup 1") && page.contains("trueup\\-query(1)"), "{page}");
    assert!(workspace.run(&["man", "query"]).succeeded().contains("\\-\\-allow\\-long\\-total"));
    assert!(workspace.run(&["man", "users", "add"]).succeeded().contains("trueup\\-users\\-add"));
    assert!(workspace.run(&["man", "guess"]).failed(2).contains("`guess`"));
}

#[cfg(unix)]
#[test]
fn the_script_for_bash_completes_an_option() {
    let workspace = Workspace::new();
    let script = "source <(trueup completions bash); COMP_WORDS=(trueup query --inter); COMP_CWORD=2; \
                  _trueup trueup --inter query; echo \"${COMPREPLY[*]}\"";
    let run = workspace.command_of("bash").args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "--interval\n");
}

fn object(workspace: &Workspace, arguments: &[&str]) -> Json {
    serde_json::from_str(&workspace.run(arguments).succeeded()).unwrap()
}

#[test]
fn inspect_prints_json() {
    let workspace = Workspace::with_dataset();
    let mut found = object(&workspace, &["inspect", "ds", "--format", "json"]);
    for table in ["events", "spend", "accounts"] {
        assert!(found["tables"][table]["bytes"].as_u64().unwrap() > 0, "{found}");
        found["tables"][table]["bytes"] = json!(1);
    }
    assert_eq!(
        found,
        json!({
            "version": 1,
            "layout": 8,
            "createdBy": concat!("trueup ", env!("CARGO_PKG_VERSION")),
            "tzdata": trueup::tzdata_release(),
            "tables": {
                "accounts": {"rows": 1, "files": 1, "bytes": 1},
                "events": {"rows": 5, "files": 1, "bytes": 1},
                "insights": {"rows": 0, "files": 0, "bytes": 0},
                "spend": {"rows": 1, "files": 1, "bytes": 1},
                "targets": {"rows": 0, "files": 0, "bytes": 0},
            },
            "eventRowGroups": 1,
            "accounts": [{"key": "acme", "name": "Acme Plumbing"}, {"key": "beta", "name": null}],
            "start": "2025-01-03",
            "end": "2025-02-01",
            "columns": ["attributionChannel", "campaign", "eventId", "opportunityId", "zip"],
            "mapping": null,
            "ingests": [{"version": 1, "tables": {
                "accounts": {"rows": 1, "rejected": 0, "inputs": ["accounts.csv"]},
                "events": {"rows": 5, "rejected": 0, "inputs": ["events.csv"]},
                "spend": {"rows": 1, "rejected": 0, "inputs": ["spend.csv"]},
            }}],
        })
    );
}

#[test]
fn explain_prints_json() {
    let workspace = Workspace::with_dataset();
    let arguments = ["explain", "ds", "--fields", "campaign,leads,spend", "--format", "json"];
    let arguments: Vec<&str> = arguments.into_iter().chain(RANGE).collect();
    let plan = object(&workspace, &arguments);
    assert_eq!(plan["subRanges"], json!([{"start": "2025-01-01", "end": "2025-03-31"}]));
    assert_eq!(plan["dimensions"], json!([{"name": "campaign", "source": "stored"}]));
    assert_eq!(plan["eventRowGroups"], json!({"kept": 1, "skipped": 0}));
    assert_eq!(plan["spendRowGroups"], json!({"kept": 1, "skipped": 0}));
    assert_eq!(
        (&plan["run"], &plan["filtersEvents"], &plan["filtersRows"]),
        (&Json::Null, &json!(false), &json!(false))
    );
    let keys: Vec<&String> = plan.as_object().unwrap().keys().collect();
    let analyzed = object(&workspace, &[&arguments, ["--analyze"].as_slice()].concat());
    assert_eq!(analyzed.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    let run = &analyzed["run"];
    assert_eq!((&run["keptEvents"], &run["resultRows"]), (&json!(5), &json!(3)));
    assert!(run["aggregationSeconds"].is_f64() && run["mergingSeconds"].is_f64() && run["finishingSeconds"].is_f64());
}

#[test]
fn verify_prints_json_also_for_a_damaged_dataset() {
    let (workspace, _) = Workspace::with_directory();
    let verify = ["verify", "ds", "--format", "json"];
    let found = object(&workspace, &verify);
    assert_eq!((&found["whole"], &found["version"], &found["files"]), (&json!(true), &json!(1), &json!(6)));
    assert_eq!(found["directory"], json!({"path": "ds/directory.sqlite", "faults": []}));

    let file = workspace.event_file();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let run = workspace.run(&verify);
    let found: Json = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &found["whole"]), (1, &json!(false)), "{run:?}");
    assert!(found["faults"][0].as_str().unwrap().contains("checksum"), "{found}");

    std::fs::write(workspace.path("ds/directory.sqlite"), "no database").unwrap();
    let found: Json = serde_json::from_str(&workspace.run(&verify).stdout).unwrap();
    assert_eq!(
        (&found["whole"], found["directory"]["faults"].as_array().unwrap().len()),
        (&json!(false), 1),
        "{found}"
    );
}

/// Adds every key of an object, and of the objects and lists in it.
fn add_keys(value: &Json, keys: &mut Vec<String>) {
    match value {
        Json::Array(values) => values.iter().for_each(|value| add_keys(value, keys)),
        Json::Object(entries) => {
            for (key, value) in entries {
                keys.push(key.clone());
                add_keys(value, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_of_inspect_verify_explain_and_fields_is_documented() {
    let (workspace, _) = Workspace::with_directory();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/command-line.md");
    let page = std::fs::read_to_string(page).unwrap();
    let explain = ["explain", "ds", "--fields", "campaign,leads", "--compare", "2025-01-01..2025-01-31"];
    let explain = [&explain[..], &["--analyze", "--format", "json"], &RANGE].concat();
    let mut keys = Vec::new();
    add_keys(&object(&workspace, &["inspect", "ds", "--format", "json"]), &mut keys);
    add_keys(&object(&workspace, &["verify", "ds", "--format", "json"]), &mut keys);
    add_keys(&object(&workspace, &explain), &mut keys);
    add_keys(&Json::Array(listed(&workspace, &["leads"])), &mut keys);
    assert!(keys.len() > 40, "{keys:?}");
    let missing: Vec<&String> = keys.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
