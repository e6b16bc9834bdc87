//! Events that come again: applied, left alone, or refused with what differs.

use crate::dataset::Case;
use std::path::Path;
use std::sync::Arc;
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{Batch, Verification};
use trueup_core::files::{FaultInjector, Files, InjectedFault, Operation};
use trueup_ingest::{Compact, Difference, ErrorKind, Ingest, IngestError, Repetition};

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

/// The end of the message about events that were ingested before in another way.
const REMEDIES: &str = "; events without an `eventId` would count twice: remove what came in then, by its source with \
                        `--replace-source` or by going back with `trueup restore`, or add all of these files once more \
                        with `--again`";

pub(crate) fn repetition(error: &IngestError) -> &Repetition {
    let ErrorKind::IngestedBefore(repetition) = error.kind() else { unreachable!("{error}") };
    repetition
}

/// Runs an ingest that must be refused, checks that the dataset stays as it was, and returns the message without its
/// end.
fn refused(case: &Case, ingest: Ingest) -> String {
    let before = case.snapshot();
    let error = ingest.run().unwrap_err();
    assert_eq!(case.snapshot(), before);
    assert_eq!(repetition(&error).to_string(), error.to_string());
    error.to_string().strip_suffix(REMEDIES).unwrap().to_owned()
}

#[test]
fn events_with_ids_are_applied_however_often_they_come() {
    let case = Case::new();
    let [a, b] = ["10", "20"]
        .map(|total| case.file(&format!("{total}.csv"), format!("{HEADER}a,1,sold,2025-01-01,e1,{total}\n")));
    for (version, (file, total)) in (1..).zip([(&a, "10"), (&b, "20"), (&a, "10"), (&a, "10")]) {
        let summary = case.ingest().events(file).run().unwrap();
        assert_eq!((summary.version, summary.changed, summary.events.taken), (version, true, 1));
        assert_eq!(case.stored_events(), [format!("a|1|sold|2025-01-01||e1|{total}.000000")]);
        // The third replaces what is newer.
        assert_eq!(summary.warnings.len(), usize::from(version == 3));
    }
}

#[test]
fn events_without_ids_that_come_again_are_left_alone() {
    let case = Case::new();
    let a = case.file("a.csv", format!("{HEADER}a,1,sold,2025-01-01,,10\na,1,closed,2025-01-02,e1,10\n"));
    let b = case.file("b.csv", format!("{HEADER}a,1,closed,2025-01-02,e1,20\n"));
    assert!(case.ingest().events(&a).run().unwrap().changed);
    let again = case.ingest().events(&a).run().unwrap();
    assert_eq!(
        (again.changed, again.version, &again.warnings[..]),
        (false, 1, &[][..]),
        "it holds all of this already"
    );
    case.ingest().events(&b).run().unwrap();
    let before = case.snapshot();
    let passed_over = "these events were ingested before, as version 1; they are not applied again, because some have no \
                       `eventId` and would count twice (`--again` applies them)";
    let again = case.ingest().events(&a).run().unwrap();
    assert_eq!((again.changed, again.version, &again.warnings[..]), (false, 2, &[passed_over.to_owned()][..]));
    assert_eq!(case.snapshot(), before);
    // The other tables of the same ingest are applied, however often they come.
    let spend = case.file("spend.csv", "account,date,adSpend\na,2025-01-01,1\n");
    for version in [3, 4] {
        let mixed = case.ingest().events(&a).spend(&spend).run().unwrap();
        assert_eq!((mixed.version, mixed.changed, mixed.events.taken, mixed.spend.taken), (version, true, 0, 1));
        assert_eq!(mixed.warnings, [passed_over]);
    }
    assert_eq!(case.stored_events().len(), 2);
    let again = case.ingest().events(&a).again(true).run().unwrap();
    assert_eq!((again.changed, again.events.taken, again.events.replaced), (true, 2, 1));
    assert_eq!(case.stored_events().len(), 3);
}

#[test]
fn a_wrong_time_zone_can_be_corrected() {
    let row = |id: &str| {
        format!("account,opportunityId,type,dateTime,eventId\nA,o1,lead-originated,2025-01-31T23:30:00,{id}\n")
    };
    for (id, is_applied) in [("e1", true), ("", false)] {
        let case = Case::new();
        let events = case.file("e.csv", row(id));
        let ingest = |zone: &str| case.ingest().events(&events).time_zone(zone.parse().unwrap());
        let stored = |instant: &str, day: &str| format!("A|o1|lead-originated|{day}|{instant}|{id}|");
        ingest("account").run().unwrap();
        assert_eq!(case.stored_events(), [stored("2025-01-31T23:30:00Z", "2025-01-31")]);
        let accounts = case.file("a.csv", "account,timeZone\nA,Asia/Tokyo\n");
        case.ingest().accounts(&accounts).run().unwrap();
        if is_applied {
            assert_eq!(ingest("account").run().unwrap().events.replaced, 1);
            assert_eq!(case.stored_events(), [stored("2025-01-31T14:30:00Z", "2025-01-31")]);
            continue;
        }
        let told = "`e.csv` was ingested before, as version 1: ";
        let zone = "the time zone of account `A` was `UTC` and is now `Asia/Tokyo`";
        assert_eq!(refused(&case, ingest("account")), format!("{told}{zone}"));
        let option = "`--time-zone` was `account` and is now `America/New_York`";
        assert_eq!(refused(&case, ingest("America/New_York")), format!("{told}{option}; {zone}"));
        // The time zones of the accounts that come with the events count.
        let back = case.file("back.csv", "account,timeZone\nA,UTC\n");
        let same = ingest("account").accounts(&back).run().unwrap();
        assert_eq!((same.events.taken, same.accounts.taken), (0, 1));
        assert!(same.warnings[0].starts_with("these events were ingested before, as version 1"), "{:?}", same.warnings);
        let again = ingest("Asia/Tokyo").again(true).run().unwrap();
        assert_eq!((again.events.taken, case.stored_events().len()), (1, 2));
        // Both readings are known now.
        assert!(!ingest("Asia/Tokyo").run().unwrap().changed);
        assert!(!ingest("account").run().unwrap().changed);
    }
}

#[test]
fn rejected_rows_can_be_ingested_later() {
    let text = |id: &str| {
        let row = |customer: u8, time: &str| {
            format!(
                "A,o{customer},closed,{time},{id}{}\n",
                if id.is_empty() { "" } else { "x" }.repeat(customer.into())
            )
        };
        let rows = row(1, "2025-01-31T23:30:00Z") + &row(2, "2025-01-31T23:30:00");
        format!("account,opportunityId,type,dateTime,eventId\n{rows}")
    };
    for (id, is_applied) in [("e", true), ("", false)] {
        let case = Case::new();
        let events = case.file("r.csv", text(id));
        let first = case.ingest().events(&events).rejects(case.path("rejects.ndjson")).run().unwrap();
        assert_eq!((first.events.taken, first.events.rejected), (1, 1));
        let second = || case.ingest().events(&events).time_zone("UTC".parse().unwrap());
        if is_applied {
            assert_eq!(second().run().unwrap().events.taken, 2);
            assert_eq!(case.stored_events().len(), 2);
            continue;
        }
        let told = "`r.csv` was ingested before, as version 1: a row was rejected then";
        let option = "`--time-zone` was not given and is now `UTC`";
        assert_eq!(refused(&case, second()), format!("{told}; {option}"));
        // The same ingest once more would add the events that were taken.
        let names = case.names();
        let same = case.ingest().events(&events).rejects(case.path("more.ndjson"));
        assert_eq!(refused(&case, same), told);
        assert_eq!(case.names(), names);
        assert_eq!(second().again(true).run().unwrap().events.taken, 2);
    }
}

#[test]
fn the_message_names_each_option_that_differs() {
    let (ids, none) = (
        "account;opportunityId;type;date;eventId;total\na;1;sold;2025-01-01;\u{e9}t\u{e9};10\n",
        "account;opportunityId;type;date;total;note\na;1;sold;2025-01-01;10;\u{e9}t\u{e9}\n",
    );
    let latin = |text: &str| text.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect::<Vec<u8>>();
    for (text, is_applied) in [(ids, true), (none, false)] {
        let case = Case::new();
        let events = case.file("e.csv", latin(text));
        let ingest = |encoding: &str| case.ingest().events(&events).delimiter(';').encoding(encoding.parse().unwrap());
        ingest("windows-1251").ignore("total").run().unwrap();
        let corrected = || ingest("windows-1252");
        if is_applied {
            corrected().run().unwrap();
            assert!(case.stored_events().contains(&"a|1|sold|2025-01-01||\u{e9}t\u{e9}|10.000000".to_owned()));
            continue;
        }
        let error = corrected().run().unwrap_err();
        let option = |name, before: &str, now: Option<&str>| Difference::Option {
            name,
            before: Some(before.to_owned()),
            now: now.map(str::to_owned),
        };
        let found = &repetition(&error).differences;
        let encoding = option("--encoding", "windows-1251", Some("windows-1252"));
        assert_eq!(found, &[encoding, option("--ignore", "total", None)]);
        assert_eq!(
            refused(&case, corrected()),
            "`e.csv` was ingested before, as version 1: `--encoding` was `windows-1251` and is now `windows-1252`; \
             `--ignore` was `total` and is not given now"
        );
        // What reads the same is the same batch: another name, the order of patterns, and what is the default.
        let other = case.file("e.tsv", latin(text));
        let same = case.ingest().events(&other).delimiter(';').encoding("cp1251".parse().unwrap());
        assert!(!same.ignore("total").run().unwrap().changed);
    }
}

#[test]
fn ids_that_were_left_out_before_are_no_new_events() {
    let text = format!("{HEADER}a,1,sold,2025-01-01,e1,10\n");
    for [first, second] in [["eventId", "none"], ["none", "eventId"]] {
        let case = Case::new();
        let events = case.file("e.csv", &text);
        case.ingest().events(&events).ignore(first).run().unwrap();
        let message = refused(&case, case.ingest().events(&events).ignore(second));
        assert!(message.ends_with(&format!(": `--ignore` was `{first}` and is now `{second}`")), "{message}");
        assert_eq!(case.stored_events().len(), 1);
    }
}

#[test]
fn files_that_come_again_with_others_are_refused() {
    let case = Case::new();
    let row = |customer: u8| format!("{HEADER}a,{customer},sold,2025-01-01,,10\n");
    let files: Vec<_> = (0..6_u8).map(|file| case.file(&format!("{file}.csv"), row(file))).collect();
    case.ingest().events(&files[0]).events(&files[1]).run().unwrap();
    let with_more = case.ingest().events(&files[1]).events(&files[2]);
    assert_eq!(
        refused(&case, with_more),
        "`1.csv` was ingested before, as version 1: it was ingested together with `0.csv`; it was ingested without `2.csv`"
    );
    let all = files.iter().fold(case.ingest(), Ingest::events);
    let message = refused(&case, all);
    assert!(message.starts_with("`0.csv` and another file were ingested before, as version 1: "), "{message}");
    assert!(message.contains("it was ingested without `"), "{message}");
    assert!(message.ends_with(" and another file"), "{message}");
    // A file without events, or with events that have ids, may come with any others.
    let (header, ids) =
        (case.file("header.csv", HEADER), case.file("ids.csv", format!("{HEADER}b,1,sold,2025-01-01,e1,1\n")));
    for file in &files[2..5] {
        assert!(case.ingest().events(&header).events(&ids).events(file).run().unwrap().changed);
    }
    assert_eq!(case.stored_events().len(), 2 + 3 + 1);
}

/// Some of its events would be lost without a word.
#[test]
fn a_batch_of_which_a_source_was_removed_is_refused() {
    let case = Case::new();
    let header = "account,opportunityId,type,date,total,source\n";
    let (none, crm) = ("a,1,closed,2026-05-01,1,\n", "a,2,closed,2026-05-02,2,crm\n");
    let both = case.file("both.csv", format!("{header}{none}{crm}"));
    let ingest = |source: &str| case.ingest().events(&both).replace_source(source);
    case.ingest().events(&both).run().unwrap();
    let told = "`both.csv` was ingested before, as version 1: ";
    for (source, events) in [("", "events without a source"), ("crm", "events of the source `crm`")] {
        let expected = format!("{told}this ingest would remove only the {events}, and with them events of `both.csv`");
        assert_eq!(refused(&case, ingest(source)), expected);
    }
    // A source that it does not have. The version says what became of the file.
    let other = ingest("fax").run().unwrap();
    assert_eq!((other.version, other.changed, other.events.taken), (2, true, 0));
    let [before, nothing] = &other.warnings[..] else { panic!("{:?}", other.warnings) };
    assert!(before.starts_with("these events were ingested before, as version 1; they are not applied again"));
    assert_eq!(nothing, "no stored event and no stored spend has the source `fax`; nothing was removed");
    let [input] = &other.protocol["events"].inputs[..] else { panic!("{:?}", other.protocol) };
    assert_eq!((input.input.as_str(), input.left_out["ingested before, as version 1"].rows), ("both.csv", 2));
    // Another ingest has removed some of it.
    let spend = case.file("spend.csv", "account,date,adSpend\na,2026-05-01,1\n");
    assert_eq!(case.ingest().spend(&spend).replace_source("crm").run().unwrap().removed.unwrap().events, 1);
    assert_eq!(
        refused(&case, case.ingest().events(&both)),
        format!("{told}version 3 removed only the events of the source `crm`, and with them events of `both.csv`")
    );
    // Without the rest, it is as if it had never come.
    assert_eq!(ingest("").run().unwrap().events.taken, 2);
    assert_eq!(case.stored_events().len(), 2);

    // A file of the batch was removed as a whole.
    let case = Case::new();
    let [none, crm] =
        [("none.csv", none), ("crm.csv", crm)].map(|(name, row)| case.file(name, format!("{header}{row}")));
    let together = || case.ingest().events(&none).events(&crm);
    together().run().unwrap();
    let spend = case.file("spend.csv", "account,date,adSpend\na,2026-05-01,1\n");
    case.ingest().spend(&spend).replace_source("crm").run().unwrap();
    assert_eq!(
        refused(&case, together()),
        "`none.csv` was ingested before, as version 1: version 2 removed only the events of the source `crm`, and with \
         them events of `crm.csv`"
    );
    assert!(!case.ingest().events(&none).run().unwrap().changed);
    assert_eq!(case.ingest().events(&crm).run().unwrap().events.taken, 1);

    // The sources of a file with many are not known.
    let case = Case::new();
    let rows: String = (0..17).map(|row| format!("a,{row},closed,2026-05-01,1,s{row}\n")).collect();
    let many = case.file("many.csv", format!("{header}{rows}"));
    case.ingest().events(&many).run().unwrap();
    assert_eq!(
        refused(&case, case.ingest().events(&many).replace_source("s1")),
        "`many.csv` was ingested before, as version 1: this ingest would remove only the events of the source `s1`, \
         and with them perhaps events of `many.csv`"
    );
}

#[test]
fn a_mapping_and_the_inputs_that_it_joins_are_part_of_a_batch() {
    let case = Case::new();
    let mapping = |stage: &str, note: &str| {
        format!(
            "# {note}\n[input.jobs]\nfile = \"jobs*.csv\"\n[input.crews]\nfile = \"crews*.csv\"\n[input.ads]\nfile = \"ads*.csv\"\n\
             [[events]]\nfrom = \"jobs\"\njoin = [{{ input = \"crews\", on = \"crew\", unmatched = \"keep\" }}]\n\
             columns = {{ account = {{ value = \"a\" }}, opportunityId = \"id\", type = {{ value = \"{stage}\" }}, \
             date = \"day\", crewName = \"crews.name\" }}\n\
             [[spend]]\nfrom = \"ads\"\ncolumns = {{ account = {{ value = \"a\" }}, date = \"day\", adSpend = \"{note}\" }}\n"
        )
    };
    let jobs = case.file("jobs.csv", "id,day,crew\n7,2025-01-31,c\n");
    let crews = case.file("crews.csv", "crew,name\nc,Cat\n");
    let ads = case.file("ads.csv", "day,cost,net\n2025-01-31,5,4\n");
    let (sold, other) =
        (case.file("sold.toml", mapping("sold", "cost")), case.file("booked.toml", mapping("booked", "cost")));
    let ingest = |mapping, crews, ads| case.ingest().mapping(mapping).events(&jobs).events(crews).events(ads);
    let first = ingest(&sold, &crews, &ads).run().unwrap();
    assert_eq!((first.events.taken, first.spend.taken), (1, 1));
    // What the mapping says of spend, its comments, and files of spend alone are not part of a batch of events.
    let net = case.file("net.toml", mapping("sold", "net"));
    let later = case.file("ads-2.csv", "day,cost,net\n2025-02-28,6,5\n");
    for (mapping, ads) in [(&net, &ads), (&sold, &later)] {
        let corrected = ingest(mapping, &crews, ads).run().unwrap();
        assert_eq!((corrected.changed, corrected.events.taken, corrected.spend.taken), (true, 0, 1));
        assert!(corrected.warnings[0].starts_with("these events were ingested before, as version 1"));
    }
    assert_eq!(
        refused(&case, ingest(&other, &crews, &ads)),
        "`jobs.csv` was ingested before, as version 1: the mapping changed"
    );
    let others = case.file("crews-2.csv", "crew,name\nc,Dog\n");
    assert_eq!(
        refused(&case, ingest(&sold, &others, &ads)),
        "`jobs.csv` was ingested before, as version 1: the joined input `crews` changed"
    );
    // Other jobs may be joined to the same crews.
    let more = case.file("jobs-2.csv", "id,day,crew\n8,2025-02-28,c\n");
    let more = case.ingest().mapping(&sold).events(more).events(&crews).events(&ads).run().unwrap();
    assert_eq!((more.events.taken, case.stored_events().len()), (1, 2));
}

#[test]
fn the_columns_that_folders_give_are_part_of_a_file() {
    let case = Case::new();
    let file = |day: &str| {
        std::fs::create_dir_all(case.path(day)).unwrap();
        case.file(&format!("{day}/part.csv"), "account,opportunityId,type\na,1,sold\n")
    };
    let [first, second] = ["date=2025-01-01", "date=2025-01-02"].map(file);
    for (path, changed) in [(&first, true), (&second, true), (&first, false), (&second, false)] {
        assert_eq!(case.ingest().events(path).run().unwrap().changed, changed);
    }
    assert_eq!(case.stored_events().len(), 2);
}

#[test]
fn what_was_ingested_stays_out_of_the_manifest() {
    const INGESTS: usize = 80;
    let (case, mut after_ten) = (Case::new(), 0);
    let size = || {
        std::fs::metadata(case.dataset().join(format!("manifest-{:08}.json", case.manifest().version))).unwrap().len()
    };
    for number in 0..INGESTS {
        case.events(
            &format!("a-file-with-a-long-name-{number:04}.csv"),
            &format!("{HEADER}a,{number},sold,2025-01-01,,1\n"),
        );
        if number == 9 {
            Compact::new(case.dataset()).all().run().unwrap();
            after_ten = size();
        }
    }
    Compact::new(case.dataset()).all().run().unwrap();
    let manifest = case.manifest();
    assert!(manifest.batches.len() <= 5, "{:?}", manifest.batches);
    // Nothing but a few more lists of batches.
    assert!(size() < after_ten + 1_200, "{} and {after_ten}", size());
    let batches = manifest.read_batches(&case.dataset()).unwrap();
    assert_eq!(batches.len(), INGESTS);
    assert!(batches.is_sorted_by(|one, next| one.version < next.version));
    for (number, batch) in batches.iter().enumerate() {
        let table = &batch.protocol["events"];
        assert_eq!(
            (table.names(), table.taken().rows),
            (vec![&*format!("a-file-with-a-long-name-{number:04}.csv")], 1)
        );
        assert_eq!(batch.reading.as_ref().unwrap().files[0].without_id, 1);
    }
    // Each of them is known.
    let old = case.file("b.csv", format!("{HEADER}a,3,sold,2025-01-01,,1\n"));
    assert!(!case.ingest().events(old).run().unwrap().changed);
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
}

#[test]
fn a_damaged_list_of_batches_stops_ingests_of_events_and_no_query() {
    let case = Case::new();
    case.events("1.csv", &format!("{HEADER}a,1,sold,2025-01-01,,10\n"));
    let [list] = &case.manifest().batches[..] else { panic!("one list") };
    let path = case.dataset().join(&list.path);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(Dataset::open(case.dataset()).unwrap().event_rows(), 1);
    let events = case.file("2.csv", format!("{HEADER}a,2,sold,2025-01-01,,10\n"));
    let error = case.ingest().events(events).run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stored { .. }), "{error}");
    let faults = Verification::of(case.dataset(), None).unwrap().faults;
    assert!(faults.len() == 1 && faults[0].contains(&list.path), "{faults:?}");
}

/// Lets manifests have no more than some bytes.
#[derive(Debug)]
struct SmallManifests(u64);

impl FaultInjector for SmallManifests {
    fn before(&self, _: Operation, _: &Path) -> Option<InjectedFault> {
        None
    }

    fn max_manifest_bytes(&self) -> Option<u64> {
        Some(self.0)
    }
}

#[test]
fn a_manifest_that_no_reader_would_accept_is_not_published() {
    let case = Case::new();
    case.events("1.csv", &format!("{HEADER}a,1,sold,2025-01-01,,10\n"));
    let (before, events) = (case.snapshot(), case.file("2.csv", format!("{HEADER}b,2,sold,2025-01-01,,10\n")));
    let ingest = |limit| case.ingest().events(&events).files(Files::failing(Arc::new(SmallManifests(limit)))).run();
    let error = ingest(500).unwrap_err();
    let ErrorKind::Manifest(ManifestError::Oversized { size, limit: 500, .. }) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(case.snapshot(), before);
    // The size is that of the manifest. The time in it may have another length.
    let size = *size;
    assert!(ingest(size - 20).is_err());
    assert_eq!(case.snapshot(), before);
    ingest(size + 20).unwrap();
    assert_eq!(Dataset::open(case.dataset()).unwrap().event_rows(), 2);
}

/// Returns the batches of a dataset.
pub(crate) fn batches(case: &Case) -> Vec<Batch> {
    case.manifest().read_batches(&case.dataset()).unwrap()
}
