//! Files whose bytes have changed, and whose manifest says that they are so: the reader sees every change.

use crate::place::{FILES, Place, SOUND, events};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_testkit::damage::{Numbers, mutate};

/// Files that are changed, each so often.
const CASES: u64 = 30;

/// What the manifest says of a file.
fn file<'a>(manifest: &'a mut Manifest, name: &str) -> &'a mut DataFile {
    let tables = [&mut manifest.events, &mut manifest.spend, &mut manifest.accounts, &mut manifest.insights];
    tables.into_iter().flatten().find(|file| file.path == name).unwrap()
}

fn rewrite(place: &mut Place, rows: &RecordBatch, properties: WriterPropertiesBuilder) {
    let file = File::create(place.path("events/events-0.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties.build())).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    place.manifest.events = vec![place.described("events/events-0.parquet", rows.num_rows() as u64)];
    place.recommit();
}

#[test]
fn no_change_makes_a_query_or_verification_panic() {
    let rows = events(&SOUND);
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let number = |name: &str| parquet::schema::types::ColumnPath::from(name);
    let delta = Encoding::DELTA_BINARY_PACKED;
    let layouts = [
        WriterProperties::builder(),
        WriterProperties::builder().set_compression(Compression::LZ4_RAW),
        plain(),
        plain().set_column_encoding(number("trueup.customer"), delta).set_column_encoding(number("date"), delta),
        plain().set_writer_version(WriterVersion::PARQUET_2_0),
    ];
    for (seed, properties) in (1..).zip(layouts) {
        let mut place = Place::sound();
        rewrite(&mut place, &rows, properties);
        let mut numbers = Numbers::new(seed);
        for name in FILES {
            let bytes = fs::read(place.path(name)).unwrap();
            let sound = place.manifest.clone();
            for case in 0..CASES {
                let mut changed = bytes.clone();
                mutate(&mut changed, &mut numbers);
                fs::write(place.path(name), changed).unwrap();
                let rows = file(&mut place.manifest, name).rows;
                let described = place.described(name, rows);
                *file(&mut place.manifest, name) = described;
                place.recommit();
                let asked = AssertUnwindSafe(&place);
                let survived = catch_unwind(|| (asked.ask().is_ok(), asked.faults().len()));
                assert!(survived.is_ok(), "layout {seed}, {name}, case {case}");
            }
            fs::write(place.path(name), &bytes).unwrap();
            place.manifest = sound;
        }
    }
}
