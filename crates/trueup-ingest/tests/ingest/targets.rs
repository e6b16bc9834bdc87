//! Targets: what an ingest takes, replaces and says, and that every version keeps its own.

use crate::dataset::Case;
use std::fs;
use trueup_core::Dataset;
use trueup_core::dataset::Verification;
use trueup_ingest::{Compact, Define, IngestSummary, Restore};

const HEADER: &str = "account,month,metric,value,attributionChannel\n";

fn targets(case: &Case, text: &str) -> IngestSummary {
    case.ingest().targets(case.file("targets.csv", format!("{HEADER}{text}"))).run().unwrap()
}

/// Returns the targets of a version, as lines.
fn stored(case: &Case, version: u64) -> Vec<String> {
    let dataset = Dataset::open_as_of(case.dataset(), version).unwrap();
    let line = |(key, value): (&trueup_core::model::TargetKey, i64)| {
        format!("{} {} {} {} {value}", key.account, key.month.month(), key.metric, key.dimensions[1])
    };
    dataset.targets().iter().map(line).collect()
}

#[test]
fn a_later_target_replaces_the_one_with_the_same_key_and_is_counted() {
    let case = Case::new();
    let first = targets(&case, "a,2026-05,spend,100,\na,2026-05,spend,40,Radio\na,2026-05,spend,120.5,\n");
    assert_eq!((first.version, first.targets.taken, first.targets.replaced), (1, 3, 1));
    let second = targets(&case, "b,2026-05-01,leads,7,\na,2026-05,spend,50,Radio\n");
    assert_eq!((second.targets.taken, second.targets.replaced), (2, 1));
    assert_eq!(second.protocol["targets"].taken().rows, 2);
    assert_eq!(second.protocol["targets"].replaced_others.rows, 1);
    let (before, after) = (
        ["a 2026-05 spend  120500000", "a 2026-05 spend Radio 40000000"],
        ["a 2026-05 spend  120500000", "a 2026-05 spend Radio 50000000", "b 2026-05 leads  7000000"],
    );
    assert_eq!(stored(&case, 1), before);
    assert_eq!(stored(&case, 2), after);
    assert!(case.manifest().named("targets").is_some());
    // Whatever makes another version keeps them.
    case.events("events.csv", "account,opportunityId,type,date,eventId\na,1,sold,2026-05-01,e\n");
    case.events("more.csv", "account,opportunityId,type,date,eventId\na,1,sold,2026-05-02,e\n");
    Compact::new(case.dataset()).run().unwrap();
    let newest = case.manifest().version;
    assert_eq!(stored(&case, newest), after);
    let restored = Restore::new(case.dataset(), 1).run().unwrap();
    assert_eq!(stored(&case, restored.version), before);
    let open = Dataset::open_as_of(case.dataset(), newest).unwrap().reopen().unwrap().unwrap();
    assert_eq!(open.targets().len(), 2);
    let verified = Verification::of(case.dataset(), None).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
}

#[test]
fn a_row_that_breaks_a_rule_is_named_and_can_be_rejected() {
    let case = Case::new();
    let path = case.file("targets.csv", format!("{HEADER}a,2026-05,spend,100,\na,May,spend,1,\na,2026-05,spnd,1,\n"));
    let refused = case.ingest().targets(&path).run().unwrap_err().to_string();
    let expected = "line 3, column `month`: expected a month as YYYY-MM from 1970-01 to 2149-06, but found `May`";
    assert!(refused.contains(expected), "{refused}");
    assert!(Dataset::open(case.dataset()).is_err());
    let summary = case.ingest().targets(&path).rejects(case.path("rejects.ndjson")).run().unwrap();
    assert_eq!((summary.targets.taken, summary.targets.rejected), (1, 2));
    let rejects = fs::read_to_string(case.path("rejects.ndjson")).unwrap();
    assert!(rejects.contains("expected the name of a metric") && rejects.contains("spnd"), "{rejects}");
    // A metric that the dataset defines is one.
    let definitions = "[[metric]]\nname = \"spnd\"\nnumerator = [\"spend\"]\n";
    let definitions = trueup_core::definitions::Definitions::parse(definitions).unwrap();
    Define::new(case.dataset(), &definitions).run().unwrap();
    let defined = targets(&case, "a,2026-05,spnd,2,\n");
    assert_eq!((defined.targets.taken, defined.targets.rejected), (1, 0));
}

#[test]
fn a_target_of_what_nothing_has_is_a_warning() {
    let case = Case::new();
    // A budget may come before there are any data.
    assert_eq!(targets(&case, "acme,2026-05,spend,1,Google LSAs\n").warnings, [""; 0]);
    let spend = case.file("spend.csv", "account,date,adSpend,attributionChannel\nacme,2026-05-01,5,Google LSA\n");
    let accounts = case.file("accounts.csv", "account,accountName\nbolt,Bolt\n");
    case.ingest().spend(&spend).accounts(&accounts).run().unwrap();
    let summary = targets(&case, "acme,2026-05,spend,310,Google LSA\nbolt,2026-05,leads,3,\nacmes,2026-05,leads,3,\n");
    let words = "nothing counts toward a target: no event and no spend of the dataset has the value";
    assert_eq!(
        summary.warnings,
        [
            format!("{words} `acmes` in `account`; did you mean `acme`?"),
            format!("{words} `Google LSAs` in `attributionChannel`; did you mean `Google LSA`?"),
        ]
    );
}

#[test]
fn damaged_targets_are_found() {
    let case = Case::new();
    targets(&case, "a,2026-05,spend,100,\n");
    let path = case.dataset().join(&case.manifest().named("targets").unwrap().path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[10] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(Dataset::open(case.dataset()).is_err());
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults.len(), 1);
}

#[test]
fn a_mapping_makes_targets_of_a_wide_file() {
    let case = Case::new();
    let mapping = case.file(
        "mapping.toml",
        r#"
[input.plan]
file = "plan.csv"

[[targets]]
from = "plan"
unless = { Budget = "" }
columns = { account = "Client", month = "Month", metric = { value = "spend" }, value = { column = "Budget", remove = "$" } }

[[targets]]
from = "plan"
columns = { account = "Client", month = "Month", metric = { value = "leads" }, value = "Leads" }
"#,
    );
    let plan = case.file("plan.csv", "Client,Month,Budget,Leads\na,2026-05,$900,12\nb,2026-05,,3\n");
    let summary = case.ingest().mapping(&mapping).events(&plan).run().unwrap();
    assert_eq!(summary.targets.taken, 3);
    assert_eq!(
        stored(&case, 1),
        ["a 2026-05 leads  12000000", "a 2026-05 spend  900000000", "b 2026-05 leads  3000000"]
    );
    let with_currency = fs::read_to_string(&mapping).unwrap().replace("unless = ", "currency = \"USD\"\nunless = ");
    let mapping = case.file("currency.toml", with_currency);
    let refused = case.ingest().mapping(mapping).events(&plan).run().unwrap_err().to_string();
    assert!(refused.contains("targets[0].currency") && refused.contains("currency of its account"), "{refused}");
}
