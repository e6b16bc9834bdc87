#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

const CODECS: [fn() -> Compression; 6] = [
    || Compression::UNCOMPRESSED,
    || Compression::SNAPPY,
    || Compression::GZIP(GzipLevel::default()),
    || Compression::LZ4,
    || Compression::LZ4_RAW,
    || Compression::ZSTD(ZstdLevel::default()),
];

const VERSIONS: [WriterVersion; 2] = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];

/// Columns of 500 rows, one of them null now and then.
fn columns() -> RecordBatch {
    let text = |row: u32| (!row.is_multiple_of(7)).then(|| format!("{}{}", row % 11, "x".repeat((row % 50) as usize)));
    let amounts = Decimal128Array::from_iter_values((0..500).map(|row| row * 1_000_001));
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("text", Arc::new((0..500).map(text).collect::<StringArray>()), true),
        ("count", Arc::new((0..500_i64).map(|row| row * row).collect::<Int64Array>()), false),
        ("amount", Arc::new(amounts.with_precision_and_scale(20, 6).unwrap()), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn written(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> (Bytes, ParquetMetaData) {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    let bytes = Bytes::from(writer.into_inner().unwrap());
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    (bytes, metadata)
}

fn small_pages() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_data_page_row_count_limit(60).set_write_batch_size(20)
}

/// Whatever Parquet's own reader finds in a page, except for statistics, which it leaves out too.
fn shown(page: &Page) -> String {
    format!("{page:?}")
}

#[test]
fn pages_are_those_that_the_reader_of_parquet_finds() {
    for (version, codec) in VERSIONS.into_iter().flat_map(|version| CODECS.map(|codec| (version, codec()))) {
        for is_coded in [true, false] {
            let properties =
                small_pages().set_writer_version(version).set_compression(codec).set_dictionary_enabled(is_coded);
            let (bytes, metadata) = written(&columns(), properties);
            for chunk in metadata.row_group(0).columns() {
                let theirs = SerializedPageReader::new(Arc::new(bytes.clone()), chunk, 500, None).unwrap();
                let theirs: Vec<Page> = theirs.collect::<Result<_>>().unwrap();
                let ours: Vec<Page> = Pages::new(bytes.clone(), chunk, 1 << 20).collect::<Result<_>>().unwrap();
                assert!(ours.len() > 5, "{}", ours.len());
                let [ours, theirs] = [ours, theirs].map(|pages| pages.iter().map(shown).collect::<Vec<_>>());
                assert_eq!(ours, theirs, "{version:?} {codec:?} {}", chunk.column_path());
            }
        }
    }
}

#[test]
fn a_page_that_is_passed_over_is_not_read() {
    let (bytes, metadata) = written(&columns(), small_pages());
    let chunk = metadata.row_group(0).column(0);
    let all: Vec<Page> = Pages::new(bytes.clone(), chunk, 1 << 20).collect::<Result<_>>().unwrap();
    let mut pages = Pages::new(bytes, chunk, 1 << 20);
    assert!(pages.peek_next_page().unwrap().unwrap().is_dict);
    pages.skip_next_page().unwrap();
    assert_eq!(pages.peek_next_page().unwrap().unwrap().num_levels, Some(60));
    pages.skip_next_page().unwrap();
    assert_eq!(shown(&pages.get_next_page().unwrap().unwrap()), shown(&all[2]));
}

/// A page that a few bytes become, and the bytes that its header says.
fn bomb(codec: Compression, says: impl Fn(usize) -> usize, size: usize) -> Result<()> {
    let page = vec![b'a'; size];
    let packed = match codec {
        Compression::SNAPPY => snap::raw::Encoder::new().compress_vec(&page).unwrap(),
        Compression::GZIP(_) => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            std::io::Write::write_all(&mut encoder, &page).unwrap();
            encoder.finish().unwrap()
        }
        Compression::ZSTD(_) => zstd::bulk::compress(&page, 1).unwrap(),
        Compression::LZ4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            std::io::Write::write_all(&mut encoder, &page).unwrap();
            encoder.finish().unwrap()
        }
        _ => lz4_flex::block::compress(&page),
    };
    let mut unpacked = Vec::new();
    let done = Unpacker::new(codec).unpack(&packed, says(size), &mut unpacked);
    assert!(unpacked.capacity() <= says(size) * 2 + 64, "{codec:?} made room for {} bytes", unpacked.capacity());
    done
}

#[test]
fn a_page_unpacks_to_what_its_header_says_and_no_further() {
    for codec in CODECS.into_iter().skip(1).map(|codec| codec()) {
        assert!(bomb(codec, |size| size, 1_000_000).is_ok(), "{codec:?}");
        assert!(bomb(codec, |_| 1_000, 1_000_000).is_err(), "{codec:?}");
        assert!(bomb(codec, |size| size - 1, 1_000_000).is_err(), "{codec:?}");
        assert!(bomb(codec, |size| size + 1, 1_000_000).is_err(), "{codec:?}");
    }
}

#[test]
fn a_page_beyond_the_limit_is_refused_before_it_is_unpacked() {
    let text = "a".repeat(1 << 20);
    let batch = RecordBatch::try_from_iter([("text", Arc::new(StringArray::from(vec![text.as_str(); 9])) as ArrayRef)])
        .unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let (bytes, metadata) = written(&batch, WriterProperties::builder().set_compression(zstd));
    let chunk = metadata.row_group(0).column(0);
    let limit = (1 << 20) - 1;
    let refused = Pages::new(bytes.clone(), chunk, limit).next().unwrap().unwrap_err().to_string();
    let expected =
        format!("column `text`: a page takes {} bytes of memory, and at most {limit} may be taken", text.len() + 4);
    assert!(refused.ends_with(&expected), "{refused}");
    assert!(Pages::new(bytes, chunk, 1 << 21).all(|page| page.is_ok()));
}

fn room(properties: WriterPropertiesBuilder, texts: &[&str]) -> Room {
    let batch =
        RecordBatch::try_from_iter([("text", Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)]).unwrap();
    let (bytes, metadata) = written(&batch, properties);
    measure(bytes, metadata.row_group(0).column(0), 1 << 24).unwrap()
}

#[test]
fn the_memory_of_a_row_is_that_of_its_longest_text_whatever_the_page_takes() {
    let long = "é".repeat(50_000);
    let texts: Vec<&str> = (0..1_000).map(|row| if row == 500 { "short" } else { &*long }).collect();
    let plain = || WriterProperties::builder().set_dictionary_enabled(false).set_data_page_size_limit(1 << 16);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (name, properties) in [
        ("dictionary", WriterProperties::builder()),
        ("dictionary, packed", WriterProperties::builder().set_compression(zstd)),
        ("plain", plain().set_compression(zstd)),
        ("lengths", plain().set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY).set_compression(zstd)),
        ("prefixes", plain().set_encoding(Encoding::DELTA_BYTE_ARRAY)),
        (
            "prefixes of the second version",
            plain().set_encoding(Encoding::DELTA_BYTE_ARRAY).set_writer_version(VERSIONS[1]),
        ),
    ] {
        let room = room(properties, &texts);
        assert_eq!(room.values, 1_000, "{name}");
        assert!(room.row >= long.len() && room.row < long.len() + 100, "{name}: {room:?}");
        assert!(room.held >= 6 && room.held < 100 * long.len(), "{name}: {room:?}");
    }
}

#[test]
fn a_footer_that_counts_what_it_has_not_is_refused() {
    // The schema (2) has one column, and then come more row groups (4) than any file has bytes for.
    let footer = |row_groups: &[u8]| [&[0x15, 2, 0x19, 0x1c, 0, 0x29][..], row_groups].concat();
    assert!(check_footer(&footer(&[0x1c, 0, 0])).is_ok());
    assert!(check_footer(&footer(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0])).is_err());
    let many = [&[0xfc, 0x81, 0x80, 0x02][..], &[0; 40_000]].concat();
    assert!(check_footer(&footer(&many)).is_err());
    assert!(check_footer(&[]).is_err());
    // Each column lies in the one before it.
    let column = [0x55, 2, 0];
    let deep = |columns: usize| {
        let count = u8::try_from(columns).unwrap();
        [&[0x15, 2, 0x19, 0xfc, count][..], &column.repeat(columns), &[0]].concat()
    };
    assert!(check_footer(&deep(30)).is_ok());
    assert!(check_footer(&deep(40)).is_err());
}

#[test]
fn a_dictionary_that_counts_more_than_it_has_is_refused() {
    let (_, metadata) = written(&columns(), WriterProperties::builder());
    for chunk in metadata.row_group(0).columns() {
        let dictionary = |num_values| Page::DictionaryPage {
            buf: Bytes::from_static(&[0; 64]),
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let checked = |count| values::check(&dictionary(count), chunk.column_descr(), 1 << 20);
        assert!(checked(4).is_ok(), "{}", chunk.column_path());
        assert!(checked(17).is_err(), "{}", chunk.column_path());
        assert!(checked(u32::MAX).is_err(), "{}", chunk.column_path());
    }
}
