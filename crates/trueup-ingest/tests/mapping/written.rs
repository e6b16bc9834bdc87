//! Values as people write them: amounts, phone numbers, addresses, and texts that are made of others.

use crate::case::{Case, column};
use crate::sheets::workbook;
use crate::values::events_with;

const DATED: &str = "date = { value = \"2025-01-01\" }";

/// Maps a file of events with further columns.
fn case(columns: &str, text: &str) -> Case {
    Case::new(&events_with(&format!("{DATED}\n{columns}"))).file("a.csv", text)
}

#[test]
fn amounts_are_read_in_the_way_of_their_column() {
    for (source, text, expected) in [
        ("\"t\"", "id,t\n1,\"$1,234.50\"\n2,\"($1,294.13)\"\n3,5\n", vec!["1234.50", "-1294.13", "5"]),
        ("\"t\"", "id,t\n1,\"1.234,50 €\"\n2,1.234\n3,\"1.294,13-\"\n", vec!["1234.50", "1234", "-1294.13"]),
        // The value that decides comes last.
        ("\"t\"", "id,t\n1,\"1,234\"\n2,12.50\n", vec!["1234", "12.50"]),
        ("\"t\"", "id,t\n1,1.234\n2,0.5\n", vec!["1.234", "0.5"]),
        ("{ column = \"t\", decimal_mark = \",\" }", "id,t\n1,1.234\n2,\"1.234,5\"\n", vec!["1234", "1234.5"]),
        ("{ column = \"t\", remove = \"$,\" }", "id,t\n1,\"$1,234\"\n2,\"(5)\"\n", vec!["1234", "-5"]),
        (
            "{ column = \"t\", map = { none = \"\" }, unmapped = \"keep\" }",
            "id,t\n1,none\n2,\"$1,234.5\"\n",
            vec!["", "1234.5"],
        ),
        ("\"t\"", "id,t\n1, 12.50 \n2,7\n", vec!["12.50", "7"]),
    ] {
        assert_eq!(column(&case(&format!("total = {source}"), text).events(), "total"), expected, "{source} {text}");
    }
}

#[test]
fn an_amount_that_can_be_read_in_two_ways_names_the_key() {
    let refusal = case("total = \"t\"", "id,t\n1,7\n2,\"1,234\"\n").refusal();
    assert_eq!(
        refusal,
        "`a.csv`, line 3, column `t`: expected an amount that can be read in one way; write `decimal_mark = \".\"` if the comma \
         separates thousands, or `decimal_mark = \",\"` if it is the decimal mark, but found `1,234` (mapping key \
         `events[0].columns.total`)"
    );
    let mixed = case("total = \"t\"", "id,t\n1,12.50\n2,\"1.234,50\"\n").refusal();
    assert!(
        mixed.starts_with(
            "`a.csv`, line 3, column `t`: expected amounts that are all written in one way, but `12.50` in line 2 of"
        ),
        "{mixed}"
    );
    let removed = case("total = { column = \"t\", remove = \"$,()\" }", "id,t\n").refusal();
    assert!(
        removed.starts_with("mapping `mapping.toml`, key `events[0].columns.total.remove`, value `$,()`: `(` says that an amount is negative"),
        "{removed}"
    );
}

/// A number of a sheet is read as it is, and batches and threads do not change what a column shows.
#[test]
fn the_whole_column_decides_in_every_format_and_batch() {
    let rows: [&[&str]; 4] = [&["id", "t"], &["1", "1.234"], &["2", "1,234"], &["3", "12,50"]];
    let mapping = events_with(&format!("{DATED}\ntotal = \"t\"")).replace("a.csv", "a.xlsx");
    let events = Case::new(&mapping).file("a.xlsx", workbook(&rows, &[])).events();
    assert_eq!(column(&events, "total"), ["1.234", "1.234", "12.50"]);
    let mut text = "id,t\n".to_owned();
    (0..5_000).for_each(|id| text += &format!("{id},\"1.234\"\n"));
    text += "x,\"0,5\"\n";
    let case = case("total = \"t\"", &text);
    for rows in [7, 1 << 16] {
        let summary = Ingested::of(&case, rows);
        assert_eq!(summary, 5_001);
    }
    let totals = column(&case.events(), "total");
    assert!(totals[..5_000].iter().all(|total| total == "1234") && totals[5_000] == "0.5");
}

struct Ingested;

impl Ingested {
    /// Ingests into a new dataset with small batches. Returns the number of events.
    fn of(case: &Case, rows: usize) -> u64 {
        let into = case.path(&format!("dataset-{rows}"));
        let ingest = trueup_ingest::Ingest::into(into).mapping(case.path("mapping.toml")).events(case.path("a.csv"));
        ingest.batch_rows(rows).run().unwrap().events.taken
    }
}

#[test]
fn counts_may_have_marks_between_thousands() {
    let mapping = "[input.a]\nfile = \"a.csv\"\n[[spend]]\nfrom = \"a\"\n\
        columns = { account = { value = \"x\" }, date = \"d\", clicks = \"n\" }\n";
    let clicks = |count: &str| {
        let case = Case::new(mapping).file("a.csv", format!("d,n\n2025-01-01,\"{count}\"\n"));
        case.run().map(|_| column(&case.spend(), "clicks").remove(0)).map_err(|_| case.refusal())
    };
    for (count, expected) in
        [("1,204", "1204"), ("1.204", "1204"), ("1 204 300", "1204300"), ("12.0", "12"), (" 7", "7")]
    {
        assert_eq!(clicks(count).unwrap(), expected);
    }
    for count in ["1.5", "1,20", "-3", "$5", "(5)"] {
        assert!(clicks(count).unwrap_err().contains("expected a whole number, 0 or more"), "{count}");
    }
}

#[test]
fn phone_numbers_and_addresses_have_one_spelling() {
    let columns = "phone = { column = \"p\", normalize = \"phone\", region = \"US\" }\n\
        mail = { column = \"m\", normalize = \"email\" }";
    let text = "id,p,m\n1,(602) 555-2620,Ada@Example.com\n2,602-555-2620, ada@example.COM \n3,+16025552620,nobody\n\
        4,Anonymous,a@b\n5,,\n6,+44 20 7946 0958,x@y.co.uk\n";
    let case = case(columns, text);
    let events = case.events();
    assert_eq!(
        column(&events, "phone"),
        ["+16025552620", "+16025552620", "+16025552620", "Anonymous", "", "+442079460958"]
    );
    assert_eq!(column(&events, "mail"), ["ada@example.com", "ada@example.com", "nobody", "a@b", "", "x@y.co.uk"]);
    let summary = case.ingest().run().unwrap();
    let kept = summary.not_normal.iter().map(|kept| (kept.location.line(), kept.column.as_str(), kept.value.as_str()));
    let expected = [(Some(4), "m", "nobody"), (Some(5), "m", "a@b"), (Some(5), "p", "Anonymous")];
    assert_eq!((summary.events.not_normal, kept.collect::<Vec<_>>()), (3, expected.to_vec()));
    assert!(summary.not_normal.iter().all(|kept| kept.file == case.path("a.csv")));
}

#[test]
fn phone_numbers_may_have_any_dashes_and_blanks_but_no_other_text() {
    let columns = "phone = { column = \"p\", normalize = \"phone\", region = \"US\" }";
    let dashes = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];
    let numbers = dashes.into_iter().map(|dash| format!("(602)\u{a0}555{dash}2620"));
    let numbers = numbers
        .chain(["602\u{202f}555\u{2007}2620", "602-555-2620 (cell)", "602-555-2620 / 602-555-2621"].map(str::to_owned));
    let rows: String = numbers.enumerate().map(|(id, number)| format!("{id},{number}\n")).collect();
    let case = case(columns, &format!("id,p\n{rows}"));
    let phones = column(&case.events(), "phone");
    let (known, others) = phones.split_at(8);
    assert_eq!(known, ["+16025552620"; 8]);
    assert_eq!(others, ["602-555-2620 (cell)", "602-555-2620 / 602-555-2621"]);
}

#[test]
fn keys_of_a_column_apply_in_their_order() {
    for (source, row, expected) in [
        ("{ column = \"k\", extract = \"invoice ([0-9]+)\" }", "paid invoice 17,", "17"),
        ("{ column = \"k\", extract = \"[0-9]+\" }", "paid invoice 17,", "17"),
        ("{ column = \"k\", extract = \"invoice ([0-9]+)\" }", "paid,", ""),
        ("{ column = \"k\", extract = \"invoice ([0-9]+)\", otherwise = \"n\" }", "paid, 9 ", "9"),
        ("{ column = \"k\", extract = \"invoice ([0-9]+)\", otherwise = \"n\" }", "invoice 17,9", "17"),
        ("{ column = \"k\", otherwise = \"n\", default = \"none\" }", ",", "none"),
        ("{ template = \"{k}-booked\" }", "J1 ,", "J1-booked"),
        ("{ template = \"{k}/{n}\" }", "J1,", ""),
        ("{ template = \"{k}/{n}\", remove = \"#\", extract = \"#?[0-9]+\" }", "job #17,x9", "17/9"),
        ("{ template = \"{{{k}}}\" }", "a,", "{a}"),
        // The text is trimmed after characters are removed, and mapped after it is trimmed.
        ("{ column = \"k\", remove = \"$\", map = { a = \"b\" } }", "$ a ,", "b"),
        ("{ column = \"k\", trim = false }", " a ,", " a "),
        ("{ column = \"k\" }", " a ,", "a"),
        (
            "{ column = \"k\", map = { x = \"(602) 555-2620\" }, normalize = \"phone\", region = \"US\" }",
            "x,",
            "+16025552620",
        ),
    ] {
        let events = case(&format!("made = {source}"), &format!("id,k,n\n1,{row}\n")).events();
        assert_eq!(column(&events, "made"), [expected], "{source}");
    }
}

/// A phone number, else an address, else an id: each in its own spelling.
#[test]
fn the_first_alternative_with_a_value_is_taken() {
    let columns = "made = { column = \"p\", normalize = \"phone\", region = \"US\", default = \"none\", \
        otherwise = [\"q\", { column = \"m\", normalize = \"email\" }, { template = \"job {j}\", otherwise = \"p\" }] }";
    let rows = "id,p,q,m,j\n1,602-555-2620,602-555-2621,A@x.com,7\n2, ,(602) 555-2621,A@x.com,7\n3,,  ,A@X.com,7\n\
        4,,,nobody,7\n5,,,,6025552620\n6,,,,\n";
    let case = case(columns, rows);
    let found = column(&case.events(), "made");
    assert_eq!(found, ["+16025552620", "+16025552621", "a@x.com", "nobody", "job 6025552620", "none"]);
    // `nobody` is no address.
    assert_eq!(case.ingest().run().unwrap().events.not_normal, 1);
    // Without rules of its own, a column in braces is taken as it is.
    let raw = "{ column = \"p\", map = { x = \"y\" }, unmapped = \"refuse\", otherwise = { column = \"q\" } }";
    let events = self::case(&format!("made = {raw}"), "id,p,q\n1,x,z\n2,,z\n").events();
    assert_eq!(column(&events, "made"), ["y", "z"]);
}

/// Blanks at the ends of texts make no difference: in dimensions, keys, conditions and joins.
#[test]
fn texts_are_trimmed() {
    let mapping = "[input.a]\nfile = \"a.csv\"\n[input.b]\nfile = \"b.csv\"\n[[events]]\nfrom = \"a\"\nunless = { k = \"Total\" }\n\
        join = [{ input = \"b\", on = \"k\", unmatched = \"drop\" }]\nkeep = [\"campaign\"]\n\
        columns = { account = { value = \"x\" }, opportunityId = \"id\", type = { value = \"booked\" }, date = \"d\" }\n";
    let rows = "id,k,d,campaign\n 1 , a, 2025-01-01 ,Brand \n2,b ,2025-01-02,Brand\n3, b,2025-01-02,  \n4,\u{a0}Total,2025-01-03,\n";
    let case = Case::new(mapping).file("a.csv", rows).file("b.csv", "k,n\n a,1\nb,2\n");
    let events = case.events();
    assert_eq!(column(&events, "opportunityId"), ["1", "2", "3"]);
    assert_eq!(column(&events, "campaign"), ["Brand", "Brand", ""]);
    assert_eq!(column(&events, "date"), ["2025-01-01", "2025-01-02", "2025-01-02"]);
}

#[test]
fn keys_that_cannot_be_carried_out_are_named() {
    for (source, expected) in [
        (
            "{ column = \"k\", extract = \"(\" }",
            "key `events[0].columns.made.extract`: expected a regular expression: ",
        ),
        ("{ template = \"{k\" }", "key `events[0].columns.made.template`, value `{k`: expected columns in braces"),
        (
            "{ template = \"k\" }",
            "key `events[0].columns.made.template`, value `k`: expected at least one column in braces",
        ),
        (
            "{ template = \"{k}\", column = \"k\" }",
            "key `events[0].columns.made`: expected one of `column`, `columns`, `template`",
        ),
        ("{ template = \"{other}\" }", "value `other`: no input has this column"),
        (
            "{ column = \"k\", otherwise = \"other\" }",
            "key `events[0].columns.made.otherwise`, value `other`: no input has this column",
        ),
        (
            "{ column = \"k\", otherwise = [\"k\", { column = \"other\" }] }",
            "key `events[0].columns.made.otherwise[1]`, value `other`: no input has this column",
        ),
        ("{ column = \"k\", otherwise = [] }", "key `events[0].columns.made.otherwise`: expected at least one column"),
        ("{ column = \"k\", otherwise = { value = \"x\" } }", "a constant is the key `default` of the whole source"),
        (
            "{ column = \"k\", otherwise = { column = \"k\", map = { a = \"b\" } } }",
            "key `events[0].columns.made.otherwise.unmapped`: expected `keep` or `empty`",
        ),
        ("{ column = \"k\", otherwise = 7 }", "expected a column's name, a source such as"),
        (
            "{ column = \"k\", normalize = \"phone\" }",
            "key `events[0].columns.made.region`: expected the region of numbers without",
        ),
        (
            "{ column = \"k\", normalize = \"phone\", region = \"USA\" }",
            "key `events[0].columns.made.region`, value `USA`: expected the two letters of a region, such as `US`",
        ),
        (
            "{ column = \"k\", normalize = \"email\", region = \"US\" }",
            "key `events[0].columns.made.region`: only a column with `normalize = \"phone\"` can have this key",
        ),
        ("{ value = \"k\", trim = false }", "go with `column`, `columns` or `template`"),
    ] {
        let refusal = case(&format!("made = {source}"), "id,k\n1,a\n").refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
    let refusal = case("total = { column = \"k\", normalize = \"email\" }", "id,k\n").refusal();
    assert!(
        refusal.ends_with("key `events[0].columns.total.normalize`: only ids and dimensions can have this key"),
        "{refusal}"
    );
}

/// Invoices that name their job only in a text are joined by it.
#[test]
fn an_input_has_columns_of_its_own() {
    let mapping = "[input.books]\nfile = \"books.csv\"\n\
        compute = { Job = { column = \"Memo\", extract = \"job ([0-9]+)\", otherwise = \"Num\" }, Kind = { column = \"Type\", map = { Invoice = \"sale\" }, unmapped = \"keep\" } }\n\
        [input.jobs]\nfile = \"jobs.csv\"\n[[events]]\nfrom = \"books\"\nwhere = { Kind = \"sale\" }\n\
        join = [{ input = \"jobs\", on = { Job = \"id\" }, unmatched = \"drop\" }]\n\
        columns = { account = { value = \"x\" }, opportunityId = \"customer\", type = { value = \"closed\" }, date = \"day\", total = \"Amount\", job = \"Job\" }\n";
    let books = "day,Type,Num,Memo,Amount\n2026-01-01,Invoice,9,paid job 17,1\n2026-01-02,Invoice,18,,2\n2026-01-03,Bill,18,,3\n";
    let case =
        |mapping: &str| Case::new(mapping).file("books.csv", books).file("jobs.csv", "id,customer\n17,a\n18,b\n");
    let events = case(mapping).events();
    assert_eq!(column(&events, "opportunityId"), ["a", "b"]);
    assert_eq!(column(&events, "job"), ["17", "18"]);
    assert_eq!(column(&events, "total"), ["1", "2"]);
    // A column that is made of another one, whatever their names.
    let of_another = mapping.replacen("compute = {", "compute = { A = { template = \"job {Job}\" },", 1);
    let events = case(&of_another.replacen("job = \"Job\"", "job = \"A\"", 1)).events();
    assert_eq!(column(&events, "job"), ["job 17", "job 18"]);
    for (from, to, expected) in [
        (
            "compute = {",
            "compute = { A = \"B\", B = { column = \"Memo\", otherwise = \"A\" },",
            "key `input.books.compute`, value `A, B`: each of these columns needs another of them",
        ),
        ("Job =", "Num =", "key `input.books.compute.Num`, value `Num`: the input already has a column of this name"),
        (", unmapped = \"keep\"", "", "key `input.books.compute.Kind.unmapped`: expected `keep` or `empty`"),
        (
            "column = \"Memo\"",
            "column = \"Text\"",
            "key `input.books.compute.Job`, value `Text`: no input has this column",
        ),
    ] {
        let refusal = case(&mapping.replacen(from, to, 1)).refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

/// A job is several events, each under a condition, with an id and an amount of its own.
#[test]
fn a_stage_has_conditions() {
    let mapping = "[input.jobs]\nfile = \"jobs.csv\"\n[[events]]\nfrom = \"jobs\"\n[events.columns]\naccount = { value = \"a\" }\n\
        opportunityId = \"Customer\"\neventId = \"Job #\"\n[events.stages]\nbooked = { date = \"Created\" }\n\
        canceled = { date = \"Done\", where = { Status = \"Canceled\" } }\n\
        closed = { date = \"Done\", unless = { Status = [\"Canceled\", \"\"] }, total = \"Total\", eventId = { template = \"{Job #}|{Status}\" } }\n";
    let jobs = "Job #,Customer,Created,Done,Status,Total\n1,x,2026-01-01,2026-01-03, Completed ,5\n2,y,2026-01-02,2026-01-04,Canceled,6\n\
        3,z,2026-01-05,2026-01-06,,7\n";
    let case = |mapping: &str| Case::new(mapping).file("jobs.csv", jobs);
    let events = case(mapping).events();
    let shown: Vec<String> = events.iter().map(|row| format!("{} {}", row["type"], row["eventId"])).collect();
    assert_eq!(
        shown,
        ["booked 1-booked", "booked 2-booked", "booked 3-booked", "closed 1|Completed", "canceled 2-canceled"]
    );
    let summary = case(&mapping.replace("= \"Canceled\" }", "= \"Gone\" }")).ingest().run().unwrap();
    assert!(
        summary
            .warnings
            .iter()
            .any(|warning| warning.contains("key `events[0].stages.canceled.where.Status`: no row of the input")),
        "{:?}",
        summary.warnings
    );
    let refusal = case(&mapping.replace("{ Status = \"Canceled\" }", "{ State = \"Canceled\" }")).refusal();
    assert!(
        refusal.contains("key `events[0].stages.canceled.where.State`, value `State`: no input has this column"),
        "{refusal}"
    );
}
