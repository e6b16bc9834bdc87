//! Changed bytes: in files whose checksums in the manifest are right, so that the decoders see every change, and in
//! files of an open dataset, where bytes that are read again are checked again.

use crate::test_dataset::{FILES, SOUND, TestDataset, events};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::query::{AccountFilter, DateRange, EventsQuery};
use trueup_core::{Dataset, Day, Error, Interrupt};
use trueup_testkit::damage::mutate;
use trueup_testkit::exhaustive::bits;
use trueup_testkit::random::Random;

/// How often each file is changed.
const CASES: u64 = 30;

/// Returns the entry of a file in the manifest.
fn file<'a>(manifest: &'a mut Manifest, name: &str) -> &'a mut DataFile {
    let mut files = manifest.events.iter_mut().chain(&mut manifest.spend).chain(manifest.named.values_mut());
    files.find(|file| file.path == name).unwrap()
}

fn rewrite(stored: &mut TestDataset, rows: &RecordBatch, properties: WriterPropertiesBuilder) {
    let file = File::create(stored.path("events/events-0.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties.build())).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    stored.manifest.events = vec![stored.described("events/events-0.parquet", rows.num_rows() as u64)];
    stored.republish();
}

#[test]
fn no_change_makes_a_query_or_verification_panic() {
    let rows = events(&SOUND);
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let path = |name: &str| parquet::schema::types::ColumnPath::from(name);
    let delta = Encoding::DELTA_BINARY_PACKED;
    let layouts = [
        WriterProperties::builder(),
        WriterProperties::builder().set_compression(Compression::LZ4_RAW),
        plain(),
        plain().set_column_encoding(path("trueup.customer"), delta).set_column_encoding(path("date"), delta),
        plain().set_writer_version(WriterVersion::PARQUET_2_0),
    ];
    for (seed, properties) in (1..).zip(layouts) {
        let mut stored = TestDataset::sound();
        rewrite(&mut stored, &rows, properties);
        let mut random = Random::new(seed);
        for name in FILES {
            let bytes = fs::read(stored.path(name)).unwrap();
            let sound = stored.manifest.clone();
            for case in 0..CASES {
                let mut changed = bytes.clone();
                mutate(&mut changed, &mut random);
                fs::write(stored.path(name), changed).unwrap();
                let rows = file(&mut stored.manifest, name).rows;
                let described = stored.described(name, rows);
                *file(&mut stored.manifest, name) = described;
                stored.republish();
                let asked = AssertUnwindSafe(&stored);
                let survived = catch_unwind(|| (asked.ask().is_ok(), asked.faults().len()));
                assert!(survived.is_ok(), "layout {seed}, {name}, case {case}");
            }
            fs::write(stored.path(name), &bytes).unwrap();
            stored.manifest = sound;
        }
    }
}

/// Queries columns of every kind of every row, and all documents. Returns the answers as text.
fn answers(dataset: &Dataset) -> Result<String, Error> {
    let range = DateRange { start: Day::from_number(19_000), end: Day::from_number(21_000) };
    let fields = ["account", "opportunityId", "campaign", "dateTime", "customers", "eventCount", "total", "spend"];
    let table = dataset.query(&EventsQuery::new(fields, range.start, range.end).allow_long_total())?;
    let insights = dataset.insights(&AccountFilter::All, Some(range), 10, &Interrupt::default())?;
    let insights = insights.collect::<Result<Vec<_>, _>>()?;
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
            for (at, bit) in bits(bytes.len(), 7) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                fs::write(stored.path(name), changed).unwrap();
                match answers(&dataset) {
                    Ok(answer) => assert_eq!(answer, sound, "{name}, byte {at}, bit {bit}"),
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
