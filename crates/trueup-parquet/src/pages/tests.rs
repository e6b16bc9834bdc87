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

/// Columns of 500 rows; one column has some nulls.
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

/// Formats all of a page. Parquet's own reader leaves out the statistics too.
fn shown(page: &Page) -> String {
    format!("{page:?}")
}

#[test]
fn pages_equal_those_of_parquets_own_reader() {
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
fn a_page_can_be_skipped() {
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

#[test]
fn pages_of_both_versions_count_when_only_some_rows_are_wanted() {
    let (mut bytes, mut column) = (Vec::new(), None);
    // No writer mixes the versions in one column chunk.
    for version in [WriterVersion::PARQUET_2_0, WriterVersion::PARQUET_1_0] {
        let properties = small_pages().set_writer_version(version).set_dictionary_enabled(false);
        let (file, metadata) = written(&columns(), properties);
        let chunk = metadata.row_group(0).column(1);
        let (start, length) = chunk.byte_range();
        let [start, length] = [start, length].map(|position| usize::try_from(position).unwrap());
        bytes.extend_from_slice(&file[start..start + length]);
        column = Some(chunk.column_descr_ptr());
    }
    let length = i64::try_from(bytes.len()).unwrap();
    let chunk = ColumnChunkMetaData::builder(column.unwrap()).set_total_compressed_size(length).build().unwrap();
    let pages = || Pages::new(Bytes::from(bytes.clone()), &chunk, 1 << 20);
    let all: Vec<Page> = pages().collect::<Result<_>>().unwrap();
    // The pages of one version have 500 rows, and each has 60 of them, except for the last one.
    let some = pages().with_rows(&[130..131, 620..680]).unwrap();
    assert_eq!((some.len(), all.len()), (18, 18));
    for (at, (some, all)) in some.iter().zip(&all).enumerate() {
        assert_eq!(some.num_values(), all.num_values(), "page {at}");
        if at < 9 || at == 11 {
            assert_eq!(shown(some), shown(all), "page {at}");
        } else {
            assert!(some.buffer().is_empty(), "page {at}");
        }
    }
}

/// Decompresses a page of `size` equal bytes whose header says that it has `says(size)` bytes.
fn bomb(codec: Compression, says: impl Fn(usize) -> usize, size: usize) -> Result<()> {
    let page = vec![b'a'; size];
    let compressed = match codec {
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
    let mut decompressed = Vec::new();
    let done = decompress(codec, &compressed, says(size), &mut decompressed);
    assert!(decompressed.capacity() <= says(size) * 2 + 64, "{codec:?} allocated {} bytes", decompressed.capacity());
    done
}

#[test]
fn a_page_decompresses_to_the_size_in_its_header_or_is_an_error() {
    for codec in CODECS.into_iter().skip(1).map(|codec| codec()) {
        assert!(bomb(codec, |size| size, 1_000_000).is_ok(), "{codec:?}");
        assert!(bomb(codec, |_| 1_000, 1_000_000).is_err(), "{codec:?}");
        assert!(bomb(codec, |size| size - 1, 1_000_000).is_err(), "{codec:?}");
        assert!(bomb(codec, |size| size + 1, 1_000_000).is_err(), "{codec:?}");
    }
}

#[test]
fn a_page_above_the_limit_is_an_error_before_it_is_decompressed() {
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

fn memory(properties: WriterPropertiesBuilder, texts: &[&str]) -> ChunkMemory {
    let batch =
        RecordBatch::try_from_iter([("text", Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)]).unwrap();
    let (bytes, metadata) = written(&batch, properties);
    measure_chunk(bytes, metadata.row_group(0).column(0), 1 << 24).unwrap()
}

#[test]
fn the_memory_of_a_row_is_that_of_the_longest_text_in_any_encoding() {
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
        let memory = memory(properties, &texts);
        assert_eq!(memory.values, 1_000, "{name}");
        assert!(memory.row >= long.len() && memory.row < long.len() + 100, "{name}: {memory:?}");
        assert!(memory.held >= 6 && memory.held < 100 * long.len(), "{name}: {memory:?}");
    }
}

#[test]
fn a_dictionary_that_counts_more_values_than_it_has_is_an_error() {
    let (_, metadata) = written(&columns(), WriterProperties::builder());
    for chunk in metadata.row_group(0).columns() {
        let dictionary = |num_values| Page::DictionaryPage {
            buf: Bytes::from_static(&[0; 64]),
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let checked = |count| check_counts(&dictionary(count), chunk.column_descr(), 1 << 20);
        assert!(checked(4).is_ok(), "{}", chunk.column_path());
        assert!(checked(17).is_err(), "{}", chunk.column_path());
        assert!(checked(u32::MAX).is_err(), "{}", chunk.column_path());
    }
}
