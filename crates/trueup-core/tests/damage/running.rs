//! Bytes that change while a dataset is open: bytes that are read again are checked again.

use crate::test_dataset::{FILES, TestDataset};
use std::fs;
use trueup_core::query::{AccountFilter, DateRange, EventsQuery};
use trueup_core::{Dataset, Day, Error, Interrupt};

/// Queries every column of every row, and all documents. Returns the answers as text.
fn answers(dataset: &Dataset) -> Result<String, Error> {
    let range = DateRange { start: Day::from_number(19_000), end: Day::from_number(21_000) };
    let fields = ["account", "opportunityId", "campaign", "dateTime", "customers", "eventCount", "total", "spend"];
    let table = dataset.query(&EventsQuery::new(fields, range.start, range.end).allow_long_total())?;
    let insights = dataset.insights(&AccountFilter::All, Some(range), 10, &Interrupt::default())?;
    Ok(format!("{table:?} {insights:?}"))
}

#[test]
fn no_byte_that_changes_while_a_dataset_is_open_changes_an_answer() {
    let stored = TestDataset::sound();
    let sound = answers(&Dataset::open(stored.folder()).unwrap()).unwrap();
    let held = Dataset::open(stored.folder()).unwrap();
    answers(&held).unwrap();
    let all = held.held_column_bytes();
    assert!(all > 1);
    // No row group fits into 0 bytes or 1 byte. With one byte less than all need, the cache drops one.
    for budget in [0, 1, all - 1] {
        let dataset = Dataset::open(stored.folder()).unwrap().with_column_budget(budget);
        assert_eq!(answers(&dataset).unwrap(), sound);
        let mut refused = 0;
        for name in FILES {
            let bytes = fs::read(stored.path(name)).unwrap();
            for at in (0..bytes.len()).step_by(7) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                fs::write(stored.path(name), changed).unwrap();
                match answers(&dataset) {
                    Ok(answer) => assert_eq!(answer, sound, "{name}, byte {at}"),
                    Err(error) => {
                        let message = error.to_string();
                        assert!(message.contains(name) && message.contains("the bytes from 0 on"), "{message}");
                        refused += 1;
                    }
                }
            }
            fs::write(stored.path(name), &bytes).unwrap();
            assert_eq!(answers(&dataset).unwrap(), sound, "{name} is whole again");
        }
        assert!(refused > 100, "{refused}");
    }
}
