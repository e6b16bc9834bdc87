use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::Schema;
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, parquet_to_arrow_schema};
use parquet::basic::{Compression, Encoding};
use parquet::column::page::Page;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use proptest::prelude::*;
use std::sync::Arc;

/// How a column is stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Dictionary,
    /// With a dictionary so small that most values are stored one by one.
    PartlyDictionary,
    Plain,
    Delta,
}

/// A column that Parquet's own writer wrote.
struct Written {
    file: SerializedFileReader<Bytes>,
    schema: Schema,
}

impl Written {
    fn of(column: &ArrayRef, nullable: bool, stored: Stored) -> Self {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", column.clone(), nullable)]).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::LZ4_RAW)
            .set_dictionary_enabled(matches!(stored, Stored::Dictionary | Stored::PartlyDictionary))
            .set_dictionary_page_size_limit(if matches!(stored, Stored::PartlyDictionary) { 16 } else { 1 << 20 })
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(10);
        let properties = match stored {
            Stored::Delta => properties.set_encoding(Encoding::DELTA_BINARY_PACKED),
            _ => properties,
        };
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        let file = SerializedFileReader::new(Bytes::from(writer.into_inner().unwrap())).unwrap();
        let schema = parquet_to_arrow_schema(file.metadata().file_metadata().schema_descr(), None).unwrap();
        Self { file, schema }
    }

    fn pages(&self) -> Vec<Page> {
        let pages = self.file.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
        pages.collect::<Result<_, _>>().unwrap()
    }

    fn whole(&self) -> ColumnChunk<'_> {
        self.chunk(self.pages())
    }

    fn chunk(&self, pages: Vec<Page>) -> ColumnChunk<'_> {
        let column = self.file.metadata().row_group(0).column(0).column_descr();
        ColumnChunk { column, data_type: self.schema.field(0).data_type(), pages }
    }
}

fn numbers(chunk: &ColumnChunk<'_>) -> Result<Vec<Option<i64>>, &'static str> {
    let values = chunk.numbers(|number| Ok(Some(number)))?;
    values.rows.expand(values.values, None)
}

fn texts(chunk: &ColumnChunk<'_>) -> Result<Vec<Option<String>>, &'static str> {
    let values = chunk.texts()?;
    let places = values.rows.expand((0..values.values.len()).map(Some).collect(), None)?;
    Ok(places.into_iter().map(|place| place.map(|place| values.values[place].to_owned())).collect())
}

/// Generates numbers of at most some random number of bits, with runs of equal numbers.
fn runs_of_numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
    (0_u32..64, any::<bool>()).prop_flat_map(|(bits, has_gaps)| {
        let number = any::<i64>().prop_map(move |number| number >> bits);
        let number = prop_oneof![1 => Just(None), 4 => number.prop_map(Some)];
        let number = number.prop_map(move |number| if has_gaps { number } else { Some(number.unwrap_or(7)) });
        let run = (number, prop_oneof![3 => Just(1_usize), 1 => 1_usize..70]);
        prop::collection::vec(run, 0..60)
            .prop_map(|runs| runs.into_iter().flat_map(|(number, times)| std::iter::repeat_n(number, times)).collect())
    })
}

fn narrow(numbers: &[Option<i64>]) -> Vec<Option<i32>> {
    numbers.iter().map(|number| number.map(|number| i32::try_from(number >> 32).unwrap())).collect()
}

fn wide(numbers: &[Option<i32>]) -> Vec<Option<i64>> {
    numbers.iter().map(|number| number.map(i64::from)).collect()
}

fn decimals(numbers: &[Option<i64>], precision: u8) -> ArrayRef {
    let numbers: Decimal128Array = numbers.iter().map(|number| number.map(i128::from)).collect();
    Arc::new(numbers.with_precision_and_scale(precision, 6).unwrap())
}

proptest! {
    #[test]
    fn numbers_are_read_as_they_were_written(
        given in runs_of_numbers(),
        stored in prop_oneof![
            Just(Stored::Dictionary), Just(Stored::PartlyDictionary), Just(Stored::Plain), Just(Stored::Delta),
        ],
    ) {
        let nullable = given.contains(&None);
        let small = narrow(&given);
        let cents: Vec<_> = given.iter().map(|number| number.map(|number| number / 100)).collect();
        let columns: [(ArrayRef, Vec<Option<i64>>); 6] = [
            (Arc::new(Int64Array::from(given.clone())), given.clone()),
            (Arc::new(TimestampMicrosecondArray::from(given.clone())), given.clone()),
            (Arc::new(Int32Array::from(small.clone())), wide(&small)),
            (Arc::new(Date32Array::from(small.clone())), wide(&small)),
            (decimals(&cents, 18), cents.clone()),
            (decimals(&given, 38), given.clone()),
        ];
        for (column, expected) in columns {
            let is_decimal = matches!(column.data_type(), DataType::Decimal128(..));
            if expected.is_empty() || (matches!(stored, Stored::Delta) && is_decimal) {
                continue;
            }
            let written = Written::of(&column, nullable, stored);
            prop_assert_eq!(numbers(&written.whole()), Ok(expected), "{}", column.data_type());
        }
    }

    #[test]
    fn texts_are_read_as_they_were_written(
        given in prop::collection::vec(prop::option::weighted(0.8, "[a-cé]{0,3}"), 1..400),
        stored in prop_oneof![Just(Stored::Dictionary), Just(Stored::PartlyDictionary), Just(Stored::Plain)],
    ) {
        let column: ArrayRef = Arc::new(StringArray::from(given.clone()));
        prop_assert_eq!(texts(&Written::of(&column, true, stored).whole()), Ok(given));
    }

    /// Only the block checksums find a changed byte, but no change makes the decoders panic.
    #[test]
    fn a_damaged_page_does_not_panic(
        given in runs_of_numbers(),
        stored in prop_oneof![Just(Stored::Dictionary), Just(Stored::Plain), Just(Stored::Delta)],
        cut in any::<bool>(),
        at in any::<prop::sample::Index>(),
        flipped in 1_u8..,
    ) {
        let rows = given.len();
        prop_assume!(rows > 0);
        let written = Written::of(&(Arc::new(Int64Array::from(given)) as ArrayRef), true, stored);
        let pages = written.pages();
        for damaged in 0..pages.len() {
            let mut pages = pages.clone();
            let (Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. }) = &mut pages[damaged] else { continue };
            let mut bytes = buf.to_vec();
            if bytes.is_empty() {
                continue;
            }
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= flipped;
            }
            *buf = bytes.into();
            let chosen: Vec<usize> = (0..rows).step_by(3).collect();
            if let Ok(found) = written.chunk(pages.clone()).pick(&chosen) {
                prop_assert_eq!(found.len(), chosen.len());
            }
            if let Ok(found) = numbers(&written.chunk(pages)) {
                prop_assert_eq!(found.len(), rows);
            }
        }
    }
}

#[test]
fn a_page_that_ends_early_is_an_error() {
    let given: Vec<i64> = (0..1_000).map(|number| number * number % 611).collect();
    for stored in [Stored::Dictionary, Stored::Plain, Stored::Delta] {
        let written = Written::of(&(Arc::new(Int64Array::from(given.clone())) as ArrayRef), false, stored);
        let pages = written.pages();
        for cut in 0..pages.len() {
            let mut pages = pages.clone();
            let (Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. }) = &mut pages[cut] else { continue };
            buf.truncate(buf.len() / 2);
            assert_eq!(numbers(&written.chunk(pages)), Err(ENDS_EARLY), "{stored:?}");
        }
    }
}

#[test]
fn a_page_with_more_numbers_than_rows_is_an_error() {
    let written = Written::of(&(Arc::new(Int64Array::from_iter_values(0..50)) as ArrayRef), false, Stored::Delta);
    let mut pages = written.pages();
    let [Page::DataPage { buf, .. }] = pages.as_mut_slice() else { panic!("expected one page") };
    let mut bytes = buf.to_vec();
    // The number of numbers is the third of the header. Only the last byte of each is below 128.
    let count = bytes.iter().enumerate().filter(|(_, byte)| **byte < 128).nth(1).unwrap().0 + 1;
    assert_eq!(bytes[count], 50);
    bytes[count] = 51;
    *buf = bytes.into();
    assert_eq!(written.chunk(pages).pick(&[0]).unwrap_err(), OTHER_ENCODING);
    assert!(written.chunk(written.pages()).pick(&[0]).is_ok());
}

#[test]
fn a_page_of_another_encoding_is_an_error() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let properties = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let batch = RecordBatch::try_from_iter([("c", column.clone())]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    let file = SerializedFileReader::new(Bytes::from(writer.into_inner().unwrap())).unwrap();
    let written = Written { file, schema: Schema::new(batch.schema().fields().clone()) };
    assert_eq!(texts(&written.whole()), Err("a page is not encoded as the layout says"));
    assert!(numbers(&Written::of(&column, false, Stored::Plain).whole()).is_err());
}

/// Returns the rows that are picked from the column, after its pages without such rows were emptied.
fn picked(written: &Written, rows: &[usize]) -> Result<ArrayRef, &'static str> {
    let mut first = 0;
    let pages = written.pages().into_iter().map(|page| match page {
        Page::DataPage { num_values, encoding, def_level_encoding, rep_level_encoding, buf, statistics } => {
            let end = first + count(num_values);
            let is_needed = rows.iter().any(|row| (first..end).contains(row));
            first = end;
            let buf = if is_needed { buf } else { Bytes::new() };
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
        }
        page => page,
    });
    written.chunk(pages.collect()).pick(rows)
}

/// Returns whether `found` has the given rows of a column.
fn is_picked(column: &ArrayRef, rows: &[usize], found: &ArrayRef) -> bool {
    let rows: UInt64Array = rows.iter().map(|row| *row as u64).collect();
    let expected = arrow_select::take::take(column, &rows, None).unwrap();
    let found = match found.as_dictionary_opt::<Int32Type>() {
        Some(texts) => arrow_select::take::take(texts.values(), texts.keys(), None).unwrap(),
        None => found.clone(),
    };
    found.to_data() == expected.to_data()
}

proptest! {
    #[test]
    fn picked_rows_are_those_that_were_written(
        given in runs_of_numbers(),
        chosen in prop::collection::vec(prop::sample::select(vec![true, false, false, false]), 4_200),
        stored in prop::sample::select(vec![Stored::Dictionary, Stored::PartlyDictionary, Stored::Plain]),
        delta in any::<bool>(),
    ) {
        prop_assume!(!given.is_empty());
        let rows: Vec<usize> = (0..given.len()).filter(|row| chosen[*row]).collect();
        let nullable = given.contains(&None);
        let narrow = narrow(&given);
        let texts = given.iter().map(|number| number.map(|number| number.to_string()));
        let times = given.iter().copied().collect::<TimestampMicrosecondArray>().with_timezone("UTC");
        let columns: [(ArrayRef, bool); 6] = [
            (Arc::new(narrow.iter().copied().collect::<Int32Array>()), true),
            (Arc::new(narrow.iter().copied().collect::<Date32Array>()), true),
            (Arc::new(given.iter().copied().collect::<Int64Array>()), true),
            (Arc::new(times), true),
            (decimals(&given, 38), false),
            (Arc::new(texts.collect::<StringArray>()), false),
        ];
        for (column, may_be_delta) in columns {
            let stored = if delta && may_be_delta { Stored::Delta } else { stored };
            let written = Written::of(&column, nullable, stored);
            let found = picked(&written, &rows).unwrap();
            prop_assert!(is_picked(&column, &rows, &found), "{column:?} {rows:?} {found:?}");
            prop_assert!(picked(&written, &[given.len()]).is_err());
        }
    }
}
