//! The examples of this crate, run. `answer_to_polars` is run by the tests of `trueup-testkit`, which build polars.

#[path = "../../examples/cancel_and_deadline.rs"]
mod cancel_and_deadline;
#[path = "../../examples/in_memory_tables.rs"]
mod in_memory_tables;
#[path = "../../examples/report_from_files.rs"]
mod report_from_files;
#[path = "../../examples/service_in_process.rs"]
mod service_in_process;

use std::fs;

#[test]
fn a_query_can_be_canceled_and_has_a_deadline() {
    cancel_and_deadline::main().unwrap();
}

#[test]
fn a_dataset_is_made_from_record_batches() {
    in_memory_tables::main().unwrap();
}

#[test]
fn a_report_is_made_from_files() {
    report_from_files::main().unwrap();
}

#[test]
fn a_service_answers_in_process() {
    service_in_process::main().unwrap();
}

#[test]
fn every_example_is_run_by_a_test() {
    let run =
        [include_str!("runnable_examples.rs"), include_str!("../../../trueup-testkit/tests/polars_oracle/main.rs")];
    let mut count = 0;
    for entry in fs::read_dir(crate::at("crates/trueup/examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(run.iter().any(|text| text.contains(&format!("examples/{name}\"]"))), "{name}");
        count += 1;
    }
    assert_eq!(count, 5);
}
