//! Spend by source: what a later ingest replaces, what it leaves, and what it refuses because it would count twice. An
//! oracle that keeps all rows in a list says what is stored after each of random ingests.

use crate::dataset::Case;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Row, Value};
use trueup_ingest::{ErrorKind, Ingest, IngestSummary};
use trueup_testkit::random::Random;

const HEADER: &str = "account,date,source,attributionChannel,adSpend\n";

/// A row of spend: account, date, source, channel and amount.
type SpendRow = (String, String, String, String, u64);

/// What an ingest should do with the stored rows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    stored: Vec<SpendRow>,
    /// By source and channel.
    replaced: BTreeMap<(String, String), u64>,
    removed: u64,
    /// The rows that would count twice, by the stored source; `None` are those of the batch itself. If there are any,
    /// nothing changes.
    twice: BTreeMap<Option<String>, u64>,
}

/// Ingests rows the slow, obvious way. `removed` is the source that is replaced as a whole.
fn expected(stored: &[SpendRow], batch: &[SpendRow], removed: Option<&str>) -> Expected {
    let mut found = Expected::default();
    let doubles = |one: &SpendRow, other: &SpendRow| {
        let is_of_channel = (&one.0, &one.1, &one.3) == (&other.0, &other.1, &other.3);
        is_of_channel && one.2.is_empty() != other.2.is_empty()
    };
    let of_batch = batch.iter().filter(|row| row.2.is_empty() && batch.iter().any(|other| doubles(row, other)));
    let of_batch: BTreeSet<_> = of_batch.map(|row| (&row.0, &row.1, &row.3)).collect();
    if !of_batch.is_empty() {
        found.twice.insert(None, of_batch.len() as u64);
    }
    for row in stored {
        let (account, date, source, channel, _) = row;
        let is_of_day = |new: &&SpendRow| new.0 == *account && new.1 == *date;
        if removed == Some(source) {
            found.removed += 1;
        } else if batch.iter().filter(is_of_day).any(|new| new.2 == *source) {
            *found.replaced.entry((source.clone(), channel.clone())).or_default() += 1;
        } else {
            if batch.iter().any(|new| doubles(row, new)) {
                *found.twice.entry(Some(source.clone())).or_default() += 1;
            }
            found.stored.push(row.clone());
        }
    }
    if !found.twice.is_empty() {
        return Expected { stored: stored.to_vec(), twice: found.twice, ..Expected::default() };
    }
    found.stored.extend_from_slice(batch);
    found
}

fn csv(rows: &[SpendRow]) -> String {
    let line =
        |(account, date, source, channel, amount): &SpendRow| format!("{account},{date},{source},{channel},{amount}\n");
    HEADER.to_owned() + &rows.iter().map(line).collect::<String>()
}

/// Returns the spend of each account, day and channel.
fn sums(rows: &[SpendRow]) -> BTreeMap<(String, String, String), u64> {
    let mut sums = BTreeMap::new();
    for (account, date, _, channel, amount) in rows {
        *sums.entry((account.clone(), date.clone(), channel.clone())).or_default() += amount;
    }
    sums.retain(|_, amount| *amount > 0);
    sums
}

/// Returns what a dataset answers for the same question.
fn answered(case: &Case) -> BTreeMap<(String, String, String), u64> {
    let dataset = Dataset::open(case.dataset()).unwrap();
    let fields = ["account", "date", "attributionChannel", "spend"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-12-31".parse().unwrap());
    let table = dataset.query(&query.allow_long_total()).unwrap();
    let text = |row: &Row<'_>, name: &str| match row.get(name) {
        Some(Value::Text(text)) => text.to_owned(),
        Some(Value::Day(day)) => day.to_string(),
        other => unreachable!("{other:?}"),
    };
    let amount = |row: &Row<'_>| match row.get("spend") {
        Some(Value::Money(amount)) => u64::try_from(amount / 1_000_000).unwrap(),
        other => unreachable!("{other:?}"),
    };
    let key = |row: &Row<'_>| (text(row, "account"), text(row, "date"), text(row, "attributionChannel"));
    table.rows().map(|row| (key(&row), amount(&row))).collect()
}

fn replaced(summary: &IngestSummary) -> BTreeMap<(String, String), u64> {
    let replaced = summary.protocol.get("spend").map_or(&[][..], |spend| &spend.replaced);
    replaced.iter().map(|row| ((row.source.clone(), row.channel.clone()), row.totals.rows)).collect()
}

fn random_batch(random: &mut Random) -> Vec<SpendRow> {
    let pick = |random: &mut Random, of: &[&str]| of[random.index(of.len())].to_owned();
    // Mostly few sources, so that batches can follow each other.
    let sources: &[&str] =
        [&["google", "meta"][..], &["google"], &["meta", "fees"], &["", "fees"], &[""]][random.index(5)];
    (0..=random.below(12))
        .map(|_| {
            (
                pick(random, &["a", "b", "c"]),
                format!("2025-0{}-0{}", random.below(2) + 1, random.below(3) + 1),
                pick(random, sources),
                pick(random, &["Search", "Social", ""]),
                random.below(50),
            )
        })
        .collect()
}

#[test]
fn random_histories_store_what_a_list_of_rows_has() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..40 {
        let (case, mut random) = (Case::new(), Random::new(seed));
        let mut stored: Vec<SpendRow> = Vec::new();
        for number in 0..8 {
            let batch = random_batch(&mut random);
            let removed = (random.below(4) == 0).then(|| ["", "google", "meta", "none"][random.index(4)]);
            let expected = expected(&stored, &batch, removed);
            // The order of the files, their number and the memory change nothing.
            let (one, two) = batch.split_at(random.index(batch.len() + 1));
            let mut files = [case.file("one.csv", csv(one)), case.file("two.csv", csv(two))];
            if random.below(2) == 0 {
                files.reverse();
            }
            let mut ingest = files.iter().fold(case.ingest().row_group_rows(4), Ingest::spend);
            if random.below(4) == 0 {
                ingest = ingest.memory(1);
            }
            if let Some(source) = removed {
                ingest = ingest.replace_source(source);
            }
            let what = format!("seed {seed}, ingest {number}");
            match ingest.run() {
                Ok(summary) => {
                    assert_eq!(expected.twice, BTreeMap::new(), "{what}");
                    if summary.changed {
                        assert_eq!(replaced(&summary), expected.replaced, "{what}");
                        assert_eq!(summary.spend.replaced, expected.replaced.values().sum::<u64>(), "{what}");
                        assert_eq!(
                            summary.removed.as_ref().map(|it| it.spend),
                            removed.map(|_| expected.removed),
                            "{what}"
                        );
                    }
                    let channels: BTreeSet<&String> = batch.iter().map(|row| &row.3).collect();
                    let lost = expected.replaced.keys().any(|(_, channel)| !channels.contains(channel));
                    let warned =
                        summary.warnings.iter().any(|it| it.contains("of channels that this ingest does not have"));
                    assert_eq!(warned, lost && summary.changed, "{what}: {:?}", summary.warnings);
                    *seen.entry("replaced").or_default() += summary.spend.replaced;
                    *seen.entry("removed").or_default() += expected.removed;
                    *seen.entry("warned").or_default() += u64::from(warned);
                    stored = expected.stored;
                }
                Err(error) => {
                    let ErrorKind::SpendTwice(twice) = error.kind() else { panic!("{what}: {error}") };
                    assert!(error.is_data());
                    let first = expected.twice.first_key_value().map(|(stored, count)| (stored.clone(), *count));
                    assert_eq!(Some((twice.stored.clone(), twice.rows.count)), first, "{what}");
                    let kind = match twice.stored.as_deref() {
                        None => "twice in the batch",
                        Some("") => "twice next to no source",
                        Some(_) => "twice next to a source",
                    };
                    *seen.entry(kind).or_default() += 1;
                }
            }
            if case.dataset().exists() {
                assert_eq!(answered(&case), sums(&stored), "{what}");
            }
        }
    }
    println!("{seen:?}");
    let twice = ["twice in the batch", "twice next to no source", "twice next to a source"];
    let all = ["replaced", "removed", "warned"].iter().chain(&twice);
    assert!(all.copied().all(|what| seen.get(what).is_some_and(|count| *count > 4)));
}

/// Each platform exports its own spend, one at a time.
#[test]
fn the_october_of_one_platform_leaves_that_of_the_others() {
    let case = Case::new();
    let header = "account,date,attributionChannel,adSpend,managementFee\n";
    let google = |name: &str, amount: &str| case.file(name, format!("{header}a,2025-10-01,Google Ads,{amount},\n"));
    let meta = case.file("meta.csv", format!("{header}a,2025-10-01,Facebook,20,\n"));
    let fees = case.file("fees.csv", format!("{header}a,2025-10-01,,,7\n"));
    case.ingest().source("google").spend(google("1.csv", "10")).run().unwrap();
    case.ingest().source("meta").spend(&meta).run().unwrap();
    case.ingest().source("fees").spend(&fees).run().unwrap();
    let summary = case.ingest().source("google").spend(google("2.csv", "12")).run().unwrap();
    assert_eq!((summary.spend.replaced, summary.warnings), (1, Vec::<String>::new()));
    let of = |channel: &str| ("a".to_owned(), "2025-10-01".to_owned(), channel.to_owned());
    assert_eq!(answered(&case), BTreeMap::from([(of("Google Ads"), 12), (of("Facebook"), 20), (of(""), 7)]));
}

/// Without sources, the file of one platform replaces whole days. It says so.
#[test]
fn replaced_rows_of_other_channels_are_a_warning() {
    let case = Case::new();
    let header = "account,date,attributionChannel,adSpend\n";
    let all = "a,2025-10-01,Google Ads,10\na,2025-10-01,Facebook,20\na,2025-10-01,Facebook,21\na,2025-10-01,,7\n";
    case.ingest().spend(case.file("1.csv", format!("{header}{all}"))).run().unwrap();
    let summary =
        case.ingest().spend(case.file("2.csv", format!("{header}a,2025-10-01,Google Ads,12\n"))).run().unwrap();
    assert_eq!(summary.spend.replaced, 4);
    assert_eq!(
        summary.warnings,
        [
            "3 rows of spend are replaced, of channels that this ingest does not have: no channel (1), `Facebook` (2); spend of \
          several sources needs a source for each (`--source`, or the column `source`)"
        ]
    );
}

/// A report with a filter replaces the whole one. It says which campaigns are gone, if they had amounts.
#[test]
fn replaced_rows_of_other_campaigns_are_a_warning() {
    let header = "account,date,source,attributionChannel,campaign,adSpend,managementFee\n";
    let all = "a,2025-10-01,google,Ads,Brand,10,\na,2025-10-01,google,Ads,Drains,20.5,\na,2025-10-01,google,Ads,Old,0,\n\
               a,2025-10-02,google,Ads,Drains,,3\na,2025-10-02,google,Ads,,7,\nb,2025-10-01,google,Ads,Drains,5,\n\
               a,2025-10-01,meta,Ads,Drains,8,\na,2025-10-01,google,Mail,Letter,9,\n";
    let ingested = |new: &str| {
        let case = Case::new();
        case.ingest().spend(case.file("1.csv", format!("{header}{all}"))).run().unwrap();
        case.ingest().spend(case.file("2.csv", format!("{header}{new}"))).run().unwrap().warnings
    };
    let channels = "1 row of spend is replaced, of channels that this ingest does not have: `Mail` (1); spend of several sources \
                    needs a source for each (`--source`, or the column `source`)";
    let advice = "if the report has a filter, ingest it again without the filter";
    // Neither the campaign of the other account nor that of the other source is the one that is gone.
    let brand =
        "a,2025-10-01,google,Ads,Brand,10,\na,2025-10-02,google,Ads,Brand,1,\nb,2025-10-01,google,Ads,Drains,5,\n";
    assert_eq!(
        ingested(brand),
        [
            channels.to_owned(),
            format!(
                "2 rows of spend with 23.5 are replaced, of campaigns that this ingest does not have for the same account and \
                 source: `Drains` (2, 23.5); {advice}"
            )
        ]
    );
    assert_eq!(ingested(all), [""; 0]);
    assert_eq!(ingested("a,2025-10-02,google,Ads,Drains,1,\n"), [""; 0]);
}

/// The second download of a report is given together with the first. Nothing is taken for a repetition that is not.
#[test]
fn rows_that_two_inputs_share_are_a_warning() {
    let header = "account,date,attributionChannel,campaign,adSpend,managementFee,clicks\n";
    let february = "a,2025-02-27,Google,Brand,10.25,,3\na,2025-02-28,Google,Brand,4,,1\na,2025-02-28,Google,Drains,0,,1\n\
                    b,2025-02-28,Google,Brand,7,0.5,1\na,2025-03-31,Google,Brand,9,,1\n";
    for memory in [1 << 30, 1] {
        let ingest = |files: &[(&str, &str)]| {
            let case = Case::new();
            let files = files.iter().map(|(name, rows)| case.file(name, format!("{header}{rows}")));
            let summary = files.fold(case.ingest().memory(memory), Ingest::spend).run().unwrap();
            summary.warnings.iter().map(|it| it.replace(case.path("").to_str().unwrap(), "")).collect::<Vec<_>>()
        };
        // The day that both reports end with was not over in the first: its row differs, and counts as other spend.
        let march = "a,2025-02-28,Google,Brand,4,,1\na,2025-02-28,Google,Drains,0,,1\na,2025-03-31,Google,Brand,12,,2\n\
                     b,2025-02-28,Google,Brand,7,0.5,1\n";
        let advice = "if both are of the same report, ingest the newer one again by itself, which replaces these days";
        assert_eq!(
            ingest(&[("2.csv", february), ("3.csv", march)]),
            [format!(
                "`2.csv` and `3.csv` have 2 rows of spend in common, with 11.5 that count twice, from account `a` on \
                 2025-02-28; {advice}"
            )]
        );
        assert_eq!(ingest(&[("3.csv", march)]), [""; 0]);
        let twice = "b,2025-02-28,Google,Brand,7,0.5,1\nb,2025-02-28,Google,Brand,7,0.5,1\n";
        let many = [twice, february, march, march, twice];
        let names = ["1.csv", "2.csv", "3.csv", "4.csv", "5.csv"];
        let four = ingest(&names.into_iter().zip(many).collect::<Vec<_>>());
        let first =
            "`1.csv` and `2.csv` have 1 row of spend in common, with 7.5 that counts twice, from account `b` on";
        assert!(four.len() == 4 && four[0].starts_with(first) && four[3].starts_with("4 more pairs of"), "{four:?}");
        // Rows of one file are none of its business, and neither are other platforms, campaigns, devices and sources.
        let meta = february.replace("Google", "Meta");
        let drains = february.replace("Brand", "Generic").replace(",0,,1", ",3,,1");
        let mobile =
            february.replace(",10.25,", ",1,").replace(",4,,", ",2,,").replace(",7,", ",8,").replace(",9,", ",8,");
        let others = [("meta.csv", &*meta), ("drains.csv", &*drains), ("mobile.csv", &*mobile)];
        assert_eq!(ingest(&[&[("2.csv", february)], &others[..]].concat()), [""; 0]);
        assert_eq!(ingest(&[("1.csv", twice)]), [""; 0]);
    }
}

#[test]
fn spend_with_a_source_does_not_count_next_to_spend_without_one() {
    let case = Case::new();
    let header = "account,date,attributionChannel,adSpend\n";
    case.ingest().spend(case.file("1.csv", format!("{header}a,2025-10-01,Google Ads,10\n"))).run().unwrap();
    let google = case.file("2.csv", format!("{header}a,2025-10-01,Google Ads,12\na,2025-10-02,Google Ads,13\n"));
    let error = case.ingest().source("google").spend(&google).run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 stored row of spend without a source has the account, the day and the channel of spend that now comes with a source, \
         so that it would count in addition: account `a`, 2025-10-01, channel `Google Ads`. Give the new spend without a \
         source, or pass `--replace-source \"\"`, which first removes all stored spend and all stored events without a source"
    );
    assert_eq!(case.manifest().version, 1);
    let summary = case.ingest().source("google").replace_source("").spend(&google).run().unwrap();
    assert_eq!(summary.removed.map(|removed| (removed.events, removed.spend)), Some((0, 1)));
    assert_eq!(answered(&case).values().sum::<u64>(), 25);
}

#[test]
fn spend_without_a_source_does_not_count_next_to_spend_with_one() {
    let case = Case::new();
    let rows = "account,date,attributionChannel,adSpend\na,2025-10-01,Google Ads,10\na,2025-10-02,,13\n";
    let file = case.file("1.csv", rows);
    case.ingest().source("google").spend(&file).run().unwrap();
    let error = case.ingest().spend(&file).run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 stored rows of spend with the source `google` have the account, the day and the channel of spend that now comes \
         without a source, so that they would count in addition: account `a`, 2025-10-01, channel `Google Ads`; account `a`, \
         2025-10-02, no channel. Give the new spend this source (`--source`), or pass `--replace-source` with it, which \
         first removes all stored spend and all stored events of this source"
    );
    assert_eq!(case.manifest().version, 1);
    let both = case.file("2.csv", format!("{HEADER}a,2025-10-01,meta,Google Ads,5\na,2025-10-01,,Google Ads,5\n"));
    let error = case.ingest().replace_source("google").spend(&both).run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "this ingest has spend of the same account, day and channel both with a source and without one, so that it would \
         count twice: account `a`, 2025-10-01, channel `Google Ads`. Give all of this spend a source, or none of it"
    );
    let summary = case.ingest().replace_source("google").spend(&file).run().unwrap();
    assert_eq!(summary.removed.map(|removed| (removed.events, removed.spend)), Some((0, 2)));
    assert_eq!(answered(&case).values().sum::<u64>(), 23);
}

const EVENTS: &str = "account,opportunityId,type,date,eventId,source\n";

#[test]
fn a_source_is_replaced_with_all_its_events_and_spend() {
    for memory in [1 << 30, 1] {
        let case = Case::new();
        let old = "a,1,booked,2025-01-01,1,crm\na,1,lead-originated,2025-01-01,,calls\nb,2,sold,2025-01-02,2,crm\nb,2,sold,2025-01-02,3,\n";
        let without = case.file("0.csv", "account,opportunityId,type,date\nc,9,sold,2025-01-09\n");
        let spend = case.file("s.csv", format!("{HEADER}a,2025-01-01,crm,x,5\na,2025-01-01,ads,x,6\n"));
        case.ingest().events(case.file("1.csv", format!("{EVENTS}{old}"))).events(without).spend(spend).run().unwrap();
        // A corrected mapping makes other ids of the same rows.
        let new = case.file("2.csv", format!("{EVENTS}a,1,booked,2025-01-01,1-b,crm\n"));
        let ingest = case.ingest().memory(memory).replace_source("crm").events(&new);
        let summary = ingest.run().unwrap();
        let removed = summary.removed.unwrap();
        assert_eq!((removed.events, removed.spend, summary.events.replaced), (2, 1, 0), "memory {memory}");
        let stored = case.stored_events();
        assert_eq!(stored.len(), 4, "{stored:?}");
        let of_crm: Vec<&String> = stored.iter().filter(|row| row.ends_with("|crm")).collect();
        assert!(of_crm.len() == 1 && of_crm[0].contains("|1-b|"), "{stored:?}");
        assert_eq!(answered(&case).values().sum::<u64>(), 6);
        // The same batch again: what it had brought is removed and added.
        let again = case.ingest().replace_source("crm").events(&new).run().unwrap();
        assert_eq!((again.changed, again.removed.unwrap().events, case.stored_events().len()), (true, 1, 4));
        // A source that nothing has is a note.
        let none = case.ingest().replace_source("fax").events(&new).run().unwrap();
        assert_eq!(none.warnings, ["no stored event and no stored spend has the source `fax`; nothing was removed"]);
        // The empty source is that of rows without one, and of files without the column.
        let empty = case.ingest().replace_source("").events(&new).run().unwrap();
        assert_eq!((empty.removed.unwrap().events, case.stored_events().len()), (2, 2));
    }
}
