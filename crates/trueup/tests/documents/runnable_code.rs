//! Runs the Rust code of `docs/api.md`, of which this file has a copy, and the examples of this crate.
//! `answer_to_polars` is run by the test `data_frame`, which builds polars, and the crate `embed` by `.ci/features`.

#[path = "../../examples/cancel_and_deadline.rs"]
mod cancel_and_deadline;
#[path = "../../examples/in_memory_tables.rs"]
mod in_memory_tables;
#[path = "../../examples/ingest_record_batches.rs"]
mod ingest_record_batches;
#[path = "../../examples/service_in_process.rs"]
mod service_in_process;

use crate::at;
use std::fs;
use std::sync::Arc;
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory};
use trueup::query::{EventsQuery, Filter, Interval};
use trueup::service::{Clock, Request, Service, SystemClock};

/// Returns the leads of a quarter as JSON. `key` is the key as a caller sends it.
fn leads(service: &Service, organization: &str, key: &str) -> Result<String, Box<dyn std::error::Error>> {
    let response = service.handle(&Request {
        authorization: Some(key.to_owned()),
        accept_encoding: Some("identity".to_owned()),
        ..Request::get(format!("/api/{organization}/events?fields=leads&start=2026-04-01&end=2026-06-29"))
    });
    let status = response.status;
    let body = std::io::read_to_string(response.body.reader())?;
    if status == 200 { Ok(body) } else { Err(body.into()) }
}

/// Prints the cost per lead of each month and channel, over the accounts that `organization` names within the user's
/// reach.
fn cost_of_leads(service: &Service, user: &str, organization: &str) -> Result<(), Box<dyn std::error::Error>> {
    let directory = service.directory();
    let login = directory.login(user)?.map_err(|refusal| refusal.to_string())?;
    let reach = directory.reach(&login)?;
    let scope = reach.resolve(organization).ok_or("not within reach")?;
    let fields = ["attributionChannel", "leads", "spend", "avgCostPerLead"];
    let query = EventsQuery::new(fields, "2026-01-01".parse()?, "2026-06-30".parse()?)
        .interval(Interval::Month)
        .filter(Filter::equals("attributionCategory", "Advertising"));
    let table = service.events(&scope, &query)?;
    for row in table.rows() {
        println!("{:?} {:?} {:?}", row.get("start"), row.get("attributionChannel"), row.get("avgCostPerLead"));
    }
    Ok(())
}

const EVENTS: &str = "account,opportunityId,type,date,attributionCategory,attributionChannel\n\
    acme,1,lead-originated,2026-04-03,Advertising,Paid Search\n\
    acme,2,lead-originated,2026-05-09,Referral,Referral\n\
    other,1,lead-originated,2026-05-09,Referral,Referral\n";
const SPEND: &str = "account,date,attributionCategory,attributionChannel,campaign,adSpend\n\
    acme,2026-04-02,Advertising,Paid Search,Drains,210.00\n";

#[test]
fn the_rust_of_the_page_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let path = folder.path().join("dataset");
    let ingest = trueup_ingest::Ingest::into(&path).events(file("events.csv", EVENTS));
    ingest.spend(file("spend.csv", SPEND)).run().unwrap();
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default()).unwrap());
    directory.add_account("acme").unwrap();
    directory.add_account("other").unwrap();
    directory.add_user("anna@example.com").unwrap();
    directory.grant("anna@example.com", &Grant::Account("acme".into())).unwrap();
    let key = directory.create_key("anna@example.com", SystemClock.now()).unwrap();
    let service = Service::builder(Arc::new(Dataset::open(&path).unwrap()), directory).build();

    assert_eq!(leads(&service, "acme", key.secret.reveal()).unwrap(), r#"[{"leads":2}]"#);
    assert!(leads(&service, "other", key.secret.reveal()).unwrap_err().to_string().contains("inaccessible"));
    cost_of_leads(&service, "anna@example.com", "acme").unwrap();
    assert!(cost_of_leads(&service, "anna@example.com", "other").is_err());
}

#[test]
fn the_page_has_the_code_that_runs_here() {
    let (page, here) = (fs::read_to_string(at("docs/api.md")).unwrap(), include_str!("runnable_code.rs"));
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let function = &block[block.find("///").unwrap()..];
        assert!(here.contains(function.trim_end()), "not the same here:\n{function}");
    }
}

#[test]
fn a_query_can_be_canceled_and_has_a_deadline() {
    cancel_and_deadline::main().unwrap();
}

#[test]
fn a_dataset_is_made_from_record_batches() {
    in_memory_tables::main().unwrap();
}

#[test]
fn record_batches_are_ingested() {
    ingest_record_batches::main().unwrap();
}

#[test]
fn a_service_answers_in_process() {
    service_in_process::main().unwrap();
}

#[test]
fn every_example_is_run_by_a_test() {
    let run = [include_str!("runnable_code.rs"), include_str!("../data_frame.rs")];
    assert!(fs::read_to_string(at(".ci/features")).unwrap().contains("examples/embed\n"));
    let mut count = 0;
    for entry in fs::read_dir(at("crates/trueup/examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_run = name == "embed" || run.iter().any(|text| text.contains(&format!("examples/{name}\"]")));
        assert!(is_run, "{name}");
        count += 1;
    }
    assert_eq!(count, 6);
}
