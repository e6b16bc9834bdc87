//! What an ingest of spend reads of the stored spend.

use crate::assert_sound;
use crate::case::with_store;
use std::fmt::Write as _;
use trueup_core::dataset::manifest_file;
use trueup_ingest::Ingest;

/// The bytes that are read together, because they have one checksum.
const BLOCK: u64 = 1 << 16;

#[test]
fn a_restated_day_reads_the_accounts_and_days_of_a_few_row_groups() {
    with_store("spend::a_restated_day_reads_the_accounts_and_days_of_a_few_row_groups", |store| {
        let mut text = "account,date,campaign,adSpend\n".to_owned();
        for row in 0..24_000_u64 {
            let (account, day) = (row % 10, row / 10 % 80);
            // Texts that hardly compress.
            let campaign: String = (0..8)
                .map(|part| format!("{:016x}", (row + 1).wrapping_mul(part * 2 + 0x9E37_79B9_7F4A_7C15)))
                .collect();
            let date = format!("2025-{:02}-{:02}", day / 28 + 1, day % 28 + 1);
            writeln!(text, "a{account},{date},{campaign},{row}").unwrap();
        }
        store.write("days.csv", &text);
        let url = store.url("acme");
        let ingest = |name| Ingest::into(&url).row_group_rows(2_000).spend(store.dir().join(name)).run().unwrap();
        ingest("days.csv");
        let [old] = manifest_file::read_latest(&url).unwrap().unwrap().spend.try_into().unwrap();
        assert!(old.row_groups.len() == 12 && old.size > 25 * BLOCK, "{} bytes", old.size);
        // An account has 2,400 rows, which are in two row groups, and 30 rows a day.
        for (name, restated, days, row_groups) in [
            ("one.csv", "account,date,adSpend\na3,2025-02-07,5\n", 1, 2),
            ("other.csv", "account,date,adSpend\na3,2025-02-08,5\na8,2025-01-02,7\n", 2, 4),
            // No row group has the account or the day.
            ("none.csv", "account,date,adSpend\na3,2026-02-08,5\nb,2025-01-02,7\n", 0, 0),
        ] {
            store.write(name, restated);
            drop(store.server().take_log());
            let summary = ingest(name);
            let is_read = |path: &str, method: &str| path.ends_with(&old.path) && method == "GET";
            let requested = store.server().take_log();
            let reads: Vec<_> = requested.iter().filter(|request| is_read(&request.path, &request.method)).collect();
            let bytes: u64 = reads
                .iter()
                .filter_map(|read| read.range.as_ref())
                .map(|range| range.end.min(old.size) - range.start)
                .sum();
            // The length of the footer, the footer, and the columns of the keys of each row group; then the amounts of
            // the row group that has the restated day, which campaigns separate from the keys. Each may be in two
            // blocks.
            let most = if row_groups == 0 { 0 } else { 2 + row_groups + days };
            assert!(reads.len() == most && bytes <= 2 * BLOCK * most as u64, "{name}: {bytes} bytes in {reads:?}");
            assert_eq!(summary.spend.replaced, 30 * days as u64, "{name}");
            assert_sound(&url, name);
        }
    });
}
