//! Columns that folders give, that are left out, and that become text; and the codecs of Parquet.

use crate::case::{Case, EVENTS, accepted, foreign, no_options, refusal};
use trueup_ingest::Ingest;

fn stored(name: &str, options: impl FnOnce(Ingest) -> Ingest) -> Vec<String> {
    let case = Case::new();
    options(case.ingest().events(foreign(name))).run().unwrap();
    case.stored_events()
}

#[test]
fn parquet_of_every_codec_is_read() {
    for codec in ["brotli", "gzip", "lz4", "snappy", "zstd", "none"] {
        accepted(&format!("{codec}.parquet"), no_options);
    }
}

#[test]
fn folders_give_columns() {
    accepted("hive", no_options);
    accepted("hive/*/*/*", no_options);
    assert_eq!(
        stored("hive-ndjson", |ingest| ingest.ignore("note")),
        ["bolt|7|booked|2025-02-04|||x|"],
        "the column `day` has no value"
    );
    assert_eq!(stored("hive-ndjson", |ingest| ingest.ignore("n*").ignore("day=*")), ["bolt|7|booked|2025-02-04|||x"]);
}

#[test]
fn a_column_of_file_and_folder_is_refused() {
    assert_eq!(
        refusal("hive-twice", no_options),
        "`hive-twice/account=acme/events.csv`: the file has a column `account`, and its folder `account=acme` gives one, too; \
         say `--ignore 'account'` or `--ignore 'account=acme'` for the one to leave out"
    );
    for pattern in ["account", "account=*"] {
        assert_eq!(stored("hive-twice", |ingest| ingest.ignore(pattern)), EVENTS[..1]);
    }
}

#[test]
fn the_same_bytes_in_another_folder_are_another_batch() {
    let case = Case::new();
    for account in ["a", "b", "b"] {
        let folder = case.dir.path().join(format!("account={account}"));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("events.csv");
        std::fs::write(&path, "opportunityId,type,date\n1,sold,2025-02-03\n").unwrap();
        case.ingest().events(path).run().unwrap();
    }
    assert_eq!(case.stored_events(), ["a|1|sold|2025-02-03||", "b|1|sold|2025-02-03||"]);
}

#[test]
fn uuids_and_times_of_day_become_text() {
    // The dimensions are in the order of their names: called, city, visit.
    assert_eq!(
        stored("uuid-and-time.parquet", no_options),
        [
            "acme|1|lead-originated|2025-01-30|e1||09:05:00|Zürich|00010203-0405-0607-0809-0a0b0c0d0e0f",
            "acme|1|sold|2025-02-03|e2|1250.500000|23:59:59.250|Zürich|",
            "bolt|7|booked|2025-02-04|e3|||Austin, TX|00000000-0000-0000-0000-000000000000",
        ]
    );
}

#[test]
fn columns_that_cannot_be_dimensions_are_listed_and_can_be_ignored() {
    let refused = refusal("unfit.parquet", no_options);
    assert_eq!(
        refused,
        "`unfit.parquet`: columns that cannot be dimensions: `photo` (Binary), `tags` (List(Utf8, field: 'element')), `address` \
         (Struct(\"zip\": Utf8)); leave them out with `--ignore photo` `--ignore tags` `--ignore address`"
    );
    accepted("unfit.parquet", |ingest| ingest.ignore("photo").ignore("tags").ignore("address"));
    accepted("unfit.parquet", |ingest| ingest.ignore("photo").ignore("?a*s").ignore("addr*"));
    // A row group that is not read as a whole.
    accepted("unfit.parquet", |ingest| ingest.memory(1).ignore("photo").ignore("tags").ignore("address"));
    let left = refusal("unfit.parquet", |ingest| ingest.ignore("tags").ignore("photo"));
    assert!(left.ends_with("leave them out with `--ignore address`"), "{left}");
    assert_eq!(
        stored("bar.csv", |ingest| ingest.delimiter('|').ignore("cit?"))[0],
        "acme|1|lead-originated|2025-01-30|e1|"
    );
    assert_eq!(refusal("bar.csv", |ingest| ingest.ignore("[")), "`[` is no pattern of names: invalid range pattern");
}
