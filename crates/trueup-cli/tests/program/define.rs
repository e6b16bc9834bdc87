//! `trueup define`, and the fields that it defines in other commands. The numbers are computed by hand, as on
//! `docs/definitions.md`.

use crate::workspace::Workspace;
use trueup_testkit::object_server::ObjectServer;

const EVENTS: &str = "account,opportunityId,eventId,type,dateTime,campaign,total\n\
    acme,c1,1,lead-originated,2026-03-02T05:30:00Z,Brand A,\n\
    acme,c1,2,closed,2026-03-09T20:00:00Z,Brand A,900\n\
    acme,c2,3,lead-originated,2026-03-03T15:00:00Z,Brand A,\n\
    acme,c3,4,lead-originated,2026-03-03T16:00:00Z,,\n";
const SPEND: &str = "account,date,campaign,adSpend\nacme,2026-03-01,Brand A,300\nacme,2026-03-01,,30\n";
const ACCOUNTS: &str = "account,timeZone\nacme,America/Chicago\n";
const DEFINITIONS: &str = r#"# What the office asks for.
[[metric]]
name = "netRevenuePerLead"
displayName = "Net Revenue per Lead"
definition = "Revenue of completed work less spend, for one lead."
format = "currency"
direction = "up"
numerator = ["closedRevenue", "-spend"]
denominator = ["leads"]

[[metric]]
name = "soldLessLeads"
numerator = ["soldLeads", "-leads"]

[[dimension]]
name = "brand"
from = "campaign"
cases = [
    { equals = [""], value = "None" },
    { regex = "brand|acme", flags = "i", value = "Brand" },
]
otherwise = "Other"

[[dimension]]
name = "hourOfDay"
from = "dateTime"
part = "hour"
"#;

const DAYS: [&str; 4] = ["--start", "2026-03-01", "--end", "2026-03-31"];

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for (name, text) in
        [("events.csv", EVENTS), ("spend.csv", SPEND), ("accounts.csv", ACCOUNTS), ("definitions.toml", DEFINITIONS)]
    {
        workspace.write(name, text);
    }
    let ingest = ["ingest", "events.csv", "--spend", "spend.csv", "--accounts", "accounts.csv", "--into", "ds"];
    workspace.run(&ingest).succeeded();
    workspace
}

fn query(workspace: &Workspace, fields: &str, more: &[&str]) -> String {
    let arguments = ["query", "ds", "--fields", fields, "--format", "json"];
    workspace.run(&[&arguments[..], &DAYS, more].concat()).succeeded()
}

#[test]
fn a_defined_metric_is_described_and_has_no_values() {
    let workspace = workspace();
    workspace.write(
        "share.toml",
        "[[metric]]\nname = \"share\"\nnumerator = [\"leads\"]\ndenominator = [\"soldLeads\", \"leads\"]\n",
    );
    workspace.run(&["define", "ds", "share.toml"]).succeeded();
    let text = workspace.run(&["fields", "ds", "share"]).succeeded();
    let measures: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("             ")?.split(':').next()).collect();
    assert_eq!(measures, ["leads", "soldLeads"], "{text}");
    let message = workspace.run(&["fields", "ds", "--values", "share"]).failed(1);
    assert!(message.contains("expected a dimension, but `share` is a metric"), "{message}");
}

#[test]
fn a_defined_metric_is_explained_in_its_format() {
    let workspace = workspace();
    workspace.write(
        "share.toml",
        "[[metric]]\nname = \"share\"\nnumerator = [\"soldLeads\"]\ndenominator = [\"leads\"]\nformat = \"percent\"\n",
    );
    workspace.run(&["define", "ds", "share.toml"]).succeeded();
    let table = workspace.run(&[&["query", "ds", "--fields", "share"][..], &DAYS].concat()).succeeded();
    let share = table.split_whitespace().find(|cell| cell.ends_with('%')).unwrap();
    let why = workspace.run(&[&["why", "ds", "--fields", "share"][..], &DAYS].concat()).succeeded();
    assert!(why.contains(&format!("share is {share}: ")), "{table}{why}");
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let workspace = workspace();
    // The file is read up to the limit, which is in the middle of a character.
    workspace.write("large.toml", &format!("# {}", "ü".repeat(1 << 19)));
    let message = workspace.run(&["define", "ds", "large.toml"]).failed(1);
    assert!(message.contains("`large.toml`: expected at most 1048576 bytes, but found more"), "{message}");
}

#[test]
fn defined_fields_are_asked_for_like_built_in_ones() {
    let workspace = workspace();
    assert_eq!(
        workspace.run(&["define", "ds", "definitions.toml"]).succeeded(),
        "version 2 of `ds`\n\
         metric     netRevenuePerLead = (closedRevenue - spend) / leads\n\
         metric     soldLessLeads = soldLeads - leads\n\
         dimension  brand from campaign\n\
         dimension  hourOfDay from dateTime\n"
    );
    assert_eq!(
        query(&workspace, "brand,leads,closedRevenue,spend,netRevenuePerLead,soldLessLeads", &[]),
        r#"[{"brand":"Brand","leads":2,"closedRevenue":900,"spend":300,"netRevenuePerLead":300,"soldLessLeads":-2},{"brand":"None","leads":1,"closedRevenue":0,"spend":30,"netRevenuePerLead":-30,"soldLessLeads":-1}]"#
    );
    // In Chicago, six hours behind UTC before 2026-03-08, and five after.
    assert_eq!(
        query(&workspace, "hourOfDay,eventCount", &[]),
        r#"[{"hourOfDay":"09","eventCount":1},{"hourOfDay":"10","eventCount":1},{"hourOfDay":"15","eventCount":1},{"hourOfDay":"23","eventCount":1}]"#
    );
    let sorted = ["--sort", "netRevenuePerLead", "--where", "brand in (Brand, None)", "--where", "soldLessLeads < -1"];
    assert_eq!(query(&workspace, "brand,netRevenuePerLead", &sorted), r#"[{"brand":"Brand","netRevenuePerLead":300}]"#);
    let table =
        workspace.run(&[&["query", "ds", "--fields", "brand,netRevenuePerLead,soldLessLeads"][..], &DAYS].concat());
    let table = table.succeeded();
    assert!(table.contains("300.00") && table.contains("-30.00") && table.contains("-2"), "{table}");
    // A value that only the mapping gives is known, one that nothing gives is not.
    let unseen =
        workspace.run(&[&["query", "ds", "--fields", "leads", "--where", "brand = Brend"][..], &DAYS].concat());
    assert!(unseen.stderr.contains("`Brend`") && unseen.stderr.contains("`Brand`"), "{unseen:?}");
    let typo = workspace.run(&[&["query", "ds", "--fields", "leads,brandd"][..], &DAYS].concat()).failed(1);
    assert!(typo.contains("(did you mean `brand`?)"), "{typo}");
}

#[test]
fn definitions_are_listed_described_and_printed() {
    let workspace = workspace();
    assert!(workspace.run(&["define", "ds"]).stderr.contains("defines no metrics or dimensions"));
    workspace.run(&["define", "ds", "definitions.toml"]).succeeded();
    assert_eq!(workspace.run(&["define", "ds"]).succeeded(), DEFINITIONS);
    let text = workspace.run(&["fields", "ds", "netRevenuePerLead"]).succeeded();
    for part in [
        "netRevenuePerLead: Net Revenue per Lead\n",
        "type       metric, shown as currency\n",
        "unit       currency per count\n",
        "formula    (closedRevenue - spend) / leads\n",
        "adds up    never: a ratio\n",
        "better     higher\n",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let text = workspace.run(&["fields", "ds", "brand"]).succeeded();
    assert!(text.contains("from       campaign\n") && text.contains("spend      is split by it\n"), "{text}");
    assert!(text.contains("values     None, Brand, Other\n"), "{text}");
    let list = workspace.run(&["fields", "ds", "--format", "csv"]).succeeded();
    assert!(["netRevenuePerLead,metric", "hourOfDay,dimension"].iter().all(|part| list.contains(part)), "{list}");
    assert_eq!(workspace.run(&["verify", "ds"]).code, 0);
}

#[test]
fn definitions_are_replaced_removed_and_kept_by_ingests() {
    let workspace = workspace();
    workspace.run(&["define", "ds", "definitions.toml"]).succeeded();
    let again = workspace.run(&["define", "ds", "definitions.toml"]).succeeded();
    assert_eq!(again, "nothing changed: `ds` stays at version 2, which defines the same\n");
    workspace.write("more.csv", "account,opportunityId,eventId,type,date,campaign\nacme,c9,9,booked,2026-03-09,x\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    assert!(query(&workspace, "brand,customers", &[]).contains(r#"{"brand":"Other","customers":1}"#));
    // A column with the name of a definition is refused, and nothing changes.
    workspace.write("brand.csv", "account,opportunityId,eventId,type,date,brand\nacme,c9,10,booked,2026-03-09,x\n");
    let refused = workspace.run(&["ingest", "brand.csv", "--into", "ds"]).failed(1);
    assert!(
        refused.contains("`brand.csv`: the events would have the column `brand`")
            && refused.contains("`--ignore brand`"),
        "{refused}"
    );
    assert_eq!(workspace.run(&["define", "ds"]).succeeded(), DEFINITIONS);
    let ignored = workspace.run(&["ingest", "brand.csv", "--ignore", "brand", "--into", "ds"]);
    assert_eq!(ignored.code, 0, "{ignored:?}");
    let removed = workspace.run(&["define", "ds", "--remove"]).succeeded();
    assert_eq!(removed, "version 5 of `ds`\nnothing is defined any more\n");
    workspace.write("brand.csv", "account,opportunityId,eventId,type,date,brand\nacme,c9,11,booked,2026-03-09,x\n");
    workspace.run(&["ingest", "brand.csv", "--into", "ds"]).succeeded();
    // Now the column is there first.
    let taken = workspace.run(&["define", "ds", "definitions.toml"]).failed(1);
    assert!(taken.contains("`definitions.toml`, line 15, dimension `brand`, `name`"), "{taken}");
    assert!(taken.contains("the events of the dataset have a column of this name"), "{taken}");
}

#[test]
fn a_fault_names_file_line_key_and_value() {
    let workspace = workspace();
    workspace.write("wrong.toml", "[[metric]]\nname = \"net\"\nnumerator = [\"bookRate\"]\n");
    let refused = workspace.run(&["define", "ds", "wrong.toml"]).failed(1);
    assert!(
        refused.contains("`wrong.toml`, line 1, metric `net`, `numerator`: `bookRate`: this is a ratio"),
        "{refused}"
    );
    workspace.write("wrong.toml", "[[metric]]\nname = net\n");
    let refused = workspace.run(&["define", "ds", "wrong.toml"]).failed(1);
    assert!(refused.contains("`wrong.toml`, line 2, column 8: "), "{refused}");
    let missing = workspace.run(&["define", "no-such-dataset", "definitions.toml"]).failed(1);
    assert!(missing.contains("`no-such-dataset` holds no dataset"), "{missing}");
    assert!(!workspace.names().contains(&"no-such-dataset".to_owned()));
}

#[test]
fn a_dataset_in_an_object_store_is_defined() {
    let workspace = workspace();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let run = |arguments: &[&str]| -> crate::workspace::Run {
        let mut command = workspace.command();
        command.env("AWS_ENDPOINT_URL", server.url()).env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "S");
        command.args(arguments).output().unwrap().into()
    };
    let defined = run(&["define", "s3://ds", "definitions.toml"]).succeeded();
    assert!(defined.starts_with("version 2 of `s3://ds`\n"), "{defined}");
    assert_eq!(run(&["define", "s3://ds"]).succeeded(), DEFINITIONS);
    let asked = [&["query", "s3://ds", "--fields", "brand,leads", "--format", "json"][..], &DAYS].concat();
    assert_eq!(run(&asked).succeeded(), r#"[{"brand":"Brand","leads":2},{"brand":"None","leads":1}]"#);
}

#[test]
fn the_service_has_defined_fields() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write(
        "definitions.toml",
        "[[metric]]\nname = \"rowsTwice\"\ndisplayName = \"Rows Twice\"\nnumerator = [\"eventCount\", \"eventCount\"]\n\
         [[dimension]]\nname = \"campaignKind\"\nfrom = \"campaign\"\ncases = []\notherwise = \"Any\"\n",
    );
    let before = workspace.get(Some(&key), &["ds", "/api"]).stdout;
    workspace.run(&["define", "ds", "definitions.toml"]).succeeded();
    let access = workspace.get(Some(&key), &["ds", "/api"]).stdout;
    let metric = r#""rowsTwice":{"displayName":"Rows Twice","definition":"Computed as eventCount + eventCount.","type":"metric","format":"number"}"#;
    let dimension = r#""campaignKind":{"displayName":"campaignKind","definition":"Derived from `campaign`.","type":"dimension","format":"text","possible values":["Any"]}"#;
    assert!(access.contains(&format!("{metric},{dimension}}}}}")), "{access}");
    assert!(!before.contains("rowsTwice") && access.contains(r#","rowsTwice"]"#), "{access}");
    let url = "/api/group/events?fields=campaignKind,eventCount,rowsTwice&start=2025-01-01&end=2025-01-31&rowsTwice=[\"gt\",0]&campaignKind=Any";
    let answer = workspace.get(Some(&key), &["ds", url]).stdout;
    assert!(answer.contains(r#"[{"campaignKind":"Any","eventCount":"#), "{answer}");
    assert!(!answer.to_lowercase().contains("trueup-unknown-fields"), "{answer}");
}
