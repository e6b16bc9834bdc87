//! Joins of inputs.

use crate::case::{Case, column};
use crate::files::parquet;
use arrow_array::{ArrayRef, StringArray, TimestampMicrosecondArray};
use std::sync::Arc;

fn mapping(join: &str) -> String {
    format!(
        "[input.a]\nfile = \"a.csv\"\n[input.b]\nfile = \"b.csv\"\n[[events]]\nfrom = \"a\"\njoin = [{join}]\n[events.columns]\n\
         account = {{ value = \"x\" }}\nopportunityId = \"id\"\ntype = {{ value = \"sold\" }}\n\
         date = {{ value = \"2025-01-01\" }}\nsource = \"b.name\"\nagent = \"k\"\n"
    )
}

const A: &str = "id,k,name\n1,p,x\n2,q,x\n3,,x\n4,p,x\n";

#[test]
fn unmatched_rows_are_kept_dropped_or_refused() {
    let run = |how: &str| {
        let case = Case::new(&mapping(&format!("{{ input = \"b\", on = \"k\", unmatched = \"{how}\" }}")));
        case.file("a.csv", A).file("b.csv", "k,name\np,Pat\n,Nobody\n")
    };
    let kept = run("keep").events();
    assert_eq!(column(&kept, "opportunityId"), ["1", "2", "3", "4"]);
    assert_eq!(column(&kept, "source"), ["Pat", "", "", "Pat"]);
    assert_eq!(column(&kept, "agent"), ["p", "q", "", "p"]);
    assert_eq!(column(&run("drop").events(), "opportunityId"), ["1", "4"]);
    assert_eq!(
        run("refuse").refusal(),
        "`a.csv`, line 3, column `k`: expected a row of the input `b` with the same key, but found `q` \
         (mapping key `events[0].join[0].on`)"
    );
}

/// A line of totals has no key, and is left out before a join refuses it. Conditions on joined columns come after it.
#[test]
fn conditions_on_the_own_columns_come_before_joins() {
    let run = |conditions: &str| {
        let join = "{ input = \"b\", on = \"k\", unmatched = \"refuse\" }";
        let mapping = mapping(join).replace("[events.columns]", &format!("{conditions}\n[events.columns]"));
        Case::new(&mapping).file("a.csv", format!("{A}Total,,\n")).file("b.csv", "k,name\np,Pat\nq,Quin\n")
    };
    let own = run("unless = { id = [\"3\", \"Total\"] }");
    assert_eq!(column(&own.events(), "opportunityId"), ["1", "2", "4"]);
    let both = run("where = { \"b.name\" = \"Pat\" }\nunless = { k = \"\" }");
    assert_eq!(column(&both.events(), "opportunityId"), ["1", "4"]);
    let summary = both.ingest().run().unwrap();
    let left_out = |key: &str| summary.protocol["events"].inputs[0].left_out[key].rows;
    assert_eq!((left_out("events[0].unless.k"), left_out("events[0].where.b.name")), (2, 1));
    assert!(
        run("unless = { \"b.name\" = \"Pat\" }")
            .refusal()
            .contains("line 4, column `k`: expected a row of the input `b`")
    );
}

#[test]
fn a_repeated_key_is_refused_unless_many_is_set() {
    let run = |many: &str| {
        let join = format!("{{ input = \"b\", on = \"k\", unmatched = \"drop\"{many} }}");
        Case::new(&mapping(&join)).file("a.csv", A).file("b.csv", "k,name\np,Pat\np,Pam\nq,Quin\n")
    };
    assert_eq!(
        run("").refusal(),
        "mapping `mapping.toml`, key `events[0].join[0].on`, value `p`: the input `b` has 2 rows with this key; \
         with `many = true`, a row with the key counts once for each"
    );
    let rows = run(", many = true").events();
    assert_eq!(column(&rows, "source"), ["Pat", "Pam", "Quin", "Pat", "Pam"]);
}

#[test]
fn keys_may_differ_in_name_and_have_several_columns() {
    let join = "{ input = \"b\", on = { k = \"key\", name = \"part\" }, unmatched = \"drop\" }";
    let case = Case::new(&mapping(join)).file("a.csv", A).file("b.csv", "key,part,name\np,x,Pat\np,y,Pam\n");
    assert_eq!(column(&case.events(), "source"), ["Pat", "Pat"]);
}

#[test]
fn an_input_joins_twice_under_two_names() {
    let join = "{ input = \"b\", on = \"k\", unmatched = \"keep\" }, \
                { input = \"b\", as = \"c\", on = { id = \"k\" }, unmatched = \"keep\" }";
    let mapping = mapping(join).replace("agent = \"k\"", "agent = \"c.name\"");
    let case = Case::new(&mapping).file("a.csv", A).file("b.csv", "k,name\np,Pat\n2,Two\n");
    assert_eq!(column(&case.events(), "source"), ["Pat", "", "", "Pat"]);
    assert_eq!(column(&case.events(), "agent"), ["", "Two", "", ""]);
}

#[test]
fn a_column_of_two_inputs_must_be_named_in_full() {
    let mapping = mapping("{ input = \"b\", on = \"k\", unmatched = \"keep\" }").replace("b.name", "name");
    let case = Case::new(&mapping).file("a.csv", A).file("b.csv", "k,name\np,Pat\n");
    assert_eq!(
        case.refusal(),
        "mapping `mapping.toml`, key `events[0].columns.source`, value `name`: more than one input has this column; \
         name one of `a.name`, `b.name`"
    );
}

/// A file without rows says the types of its columns.
#[test]
fn a_joined_file_may_have_no_rows() {
    let mapping = mapping("{ input = \"b\", on = \"k\", unmatched = \"keep\" }").replace("b.csv", "b.parquet");
    let clocks = TimestampMicrosecondArray::from(Vec::<i64>::new());
    for (source, stamps) in [
        ("\"at\"", clocks.clone().with_timezone("UTC")),
        ("{ column = \"at\", time_zone = \"Europe/Berlin\" }", clocks),
    ] {
        let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        let empty = parquet([("k", none.clone()), ("name", none), ("at", Arc::new(stamps))]);
        let mapping = format!("{mapping}dateTime = {source}\n");
        let rows = Case::new(&mapping).file("a.csv", A).file("b.parquet", empty).events();
        assert_eq!(column(&rows, "dateTime"), [""; 4], "{source}");
        assert_eq!(column(&rows, "source"), [""; 4], "{source}");
    }
}

/// Two joins that each match many rows make a row for each pair.
#[test]
fn a_row_that_matches_too_many_combinations_is_refused() {
    let join = "{ input = \"b\", on = \"k\", unmatched = \"keep\", many = true }, \
                { input = \"b\", as = \"c\", on = \"k\", unmatched = \"keep\", many = true }";
    let case = |rows: usize| {
        let b: String = (0..rows).map(|row| format!("p,{row}\n")).collect();
        Case::new(&mapping(join)).file("a.csv", A).file("b.csv", format!("k,name\n{b}"))
    };
    // Rows 1 and 4 match each pair.
    let few = case(100);
    assert_eq!(few.ingest().batch_rows(10).run().unwrap().events.taken, 2 * 100 * 100 + 2);
    let many = case(3_000);
    let expected = "expected a key that at most 65536 combinations of rows of the joined inputs match, but found `p` \
                    (mapping key `events[0].join[1].on`)";
    assert_eq!(many.refusal(), format!("`a.csv`, line 2, column `k`: {expected}"));
    let summary = many.ingest().rejects(many.path("rejects.ndjson")).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (2, 2));
    // Combinations also count if a condition or a later join leaves them out, because trying them takes time.
    let picked = mapping(join).replace("[events.columns]", "where = { \"c.name\" = \"none\" }\n[events.columns]");
    let later = "{ input = \"b\", as = \"d\", on = { \"c.name\" = \"k\" }, unmatched = \"drop\", many = true }";
    let dropped = mapping(&format!("{join}, {later}")).replace("agent = \"k\"", "agent = \"a.k\"");
    for mapping in [picked, dropped] {
        let case = Case::new(&mapping).file("a.csv", A).file_at(many.path("b.csv"));
        assert_eq!(case.refusal(), format!("`a.csv`, line 2, column `k`: {expected}"), "{mapping}");
    }
    // A row that matches as many rows as a single joined input has is taken.
    let single = mapping("{ input = \"b\", on = \"k\", unmatched = \"drop\", many = true }");
    let b: String = (0..70_000).map(|row| format!("q,{row}\n")).collect();
    let single = Case::new(&single).file("a.csv", A).file("b.csv", format!("k,name\n{b}"));
    assert_eq!(single.ingest().run().unwrap().events.taken, 70_000);
}

#[test]
fn a_warning_about_a_condition_names_the_joined_input() {
    let join = "{ input = \"b\", as = \"c\", on = \"k\", unmatched = \"drop\" }";
    let mapping = mapping(join)
        .replace("b.name", "c.name")
        .replace("[events.columns]", "where = { \"c.name\" = \"none\" }\n[events.columns]");
    // No row is joined to the one with the value.
    let case = Case::new(&mapping).file("a.csv", A).file("b.csv", "k,name\np,Pat\nz,none\n");
    let warnings = case.ingest().run().unwrap().warnings;
    let expected =
        "no joined row of the input `c` has the value `none`, so that the table has no rows; the column has `Pat`";
    assert!(warnings.iter().any(|warning| warning.ends_with(expected)), "{warnings:?}");
}
