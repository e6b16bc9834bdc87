//! The same settings generate the same rows.

use arrow_array::RecordBatch;

use super::figures::{event_batches, rows};
use crate::{Generator, Settings};

const EVENT: &[&str] =
    &["account", "eventId", "type", "date", "total", "campaign", "conversionCampaign", "technician", "zip"];
const SPEND: &[&str] = &["account", "date", "attributionChannel", "campaign", "adSpend", "managementFee"];

fn settings() -> Settings {
    Settings { months: 5, ..Settings::scale(4_000, 14) }
}

fn spend(generator: &Generator) -> Vec<RecordBatch> {
    generator.spend().map(|batch| batch.unwrap()).collect()
}

/// Returns each row as a slice, so that the split into batches does not matter.
fn by_row(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect()
}

#[test]
fn the_same_seed_generates_the_same_rows() {
    let (left, right) = (Generator::new(settings()).unwrap(), Generator::new(settings()).unwrap());
    assert_eq!(event_batches(&left), event_batches(&right));
    assert_eq!(event_batches(&left), event_batches(&left));
    assert_eq!(spend(&left), spend(&right));
    assert_eq!(left.accounts().unwrap(), right.accounts().unwrap());
}

#[test]
fn another_seed_generates_other_rows() {
    let left = Generator::new(settings()).unwrap();
    let right = Generator::new(Settings { seed: 7, ..settings() }).unwrap();
    assert_ne!(event_batches(&left), event_batches(&right));
    assert_ne!(left.accounts().unwrap(), right.accounts().unwrap());
}

#[test]
fn the_batch_size_does_not_change_the_rows() {
    let whole = Generator::new(settings()).unwrap();
    for batch_rows in [1, 7, 1_000] {
        let cut = Generator::new(Settings { batch_rows, ..settings() }).unwrap();
        let batches = event_batches(&cut);
        assert!(batches.iter().rev().skip(1).all(|batch| batch.num_rows() == batch_rows));
        assert_eq!(by_row(&batches), by_row(&event_batches(&whole)));
        assert_eq!(by_row(&spend(&cut)), by_row(&spend(&whole)));
    }
}

/// Compares a hash of all rows (FNV-1a) with a constant, because the rows must be the same on every machine. A
/// deliberate change of the data changes it; then every figure that was measured on the demo is out of date.
#[test]
fn the_rows_are_the_same_on_every_machine() {
    let generator = Generator::new(Settings { months: 3, ..Settings::scale(600, 12) }).unwrap();
    let events = event_batches(&generator).into_iter().flat_map(|batch| rows(&batch, EVENT));
    let spend = spend(&generator).into_iter().flat_map(|batch| rows(&batch, SPEND));
    let mut fold = 0xcbf2_9ce4_8422_2325_u64;
    for row in events.chain(spend) {
        for byte in format!("{row:?}").bytes() {
            fold = (fold ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(fold, 0x47d7_d710_8951_38de, "{fold:#x}");
}
