use crate::document::{Block, Cell, Document, Section, Table, TableRow, Text};
use crate::figure::{Figure, Magnitude, Verdict};
use crate::period::month_name;
use crate::sections::open_change;
use crate::{html, markdown};
use trueup::Value;
use trueup::query::ComparedColumn;

fn signed(metric: &str, value: Value<'_>) -> (String, Verdict) {
    let figure = Figure::signed(metric, ComparedColumn::Change, value, String::new());
    (figure.shown, figure.verdict)
}

#[test]
fn a_change_has_a_sign_a_unit_and_a_direction() {
    for (metric, value, shown, verdict) in [
        ("leads", Value::Integer(45), "+45", Verdict::Better),
        ("leads", Value::Integer(-1_045), "-1,045", Verdict::Worse),
        ("leads", Value::Integer(0), "0", Verdict::Neither),
        ("spend", Value::Money(10_500_000), "+10.50", Verdict::Neither),
        // Shown as nothing, and so without a sign and a verdict.
        ("closedRevenue", Value::Money(-4_000), "0.00", Verdict::Neither),
        ("avgCostPerLead", Value::Number(-3.1), "-3.10", Verdict::Better),
        ("canceledCustomers", Value::Integer(2), "+2", Verdict::Worse),
        ("bookRate", Value::Number(0.012), "+1.20 pp", Verdict::Better),
        ("bookRate", Value::Null, "–", Verdict::Neither),
    ] {
        assert_eq!(signed(metric, value), (shown.to_owned(), verdict), "{metric}");
    }
    let ratio = Figure::signed("bookRate", ComparedColumn::Ratio, Value::Number(-0.5), String::new());
    assert_eq!(ratio.shown, "-50.00%");
    let magnitude = Magnitude::new("bookRate.change", Value::Number(-0.012));
    assert!(magnitude.text == "1.20" && magnitude.is_points && !magnitude.is_zero);
}

#[test]
fn a_change_that_is_not_final_is_neither_better_nor_worse() {
    let change = Figure::signed("closedLeads", ComparedColumn::Change, Value::Integer(-210), String::new());
    let open = open_change(change.clone(), true);
    assert_eq!((open.figure.shown.as_str(), open.figure.verdict, open.is_open), ("-210", Verdict::Neither, true));
    let closed = open_change(change, false);
    assert_eq!((closed.figure.verdict, closed.is_open), (Verdict::Worse, false));
}

#[test]
fn months_have_names() {
    let name = |day: &str| month_name(day.parse().unwrap());
    assert_eq!(["1970-01-31", "2026-12-01"].map(name), ["January 1970", "December 2026"]);
}

/// Returns a document that shows `text` everywhere.
fn document(text: &str) -> Document {
    let row = TableRow {
        name: text.to_owned(),
        cells: vec![Cell::new(Figure::new("leads", Value::Count(1), String::new()))],
        is_total: true,
    };
    let table =
        Table { caption: text.to_owned(), headings: vec![text.to_owned(), "Leads".to_owned()], rows: vec![row] };
    let texts = || Text::of(text);
    let blocks = vec![
        Block::Heading(texts()),
        Block::Paragraph(texts()),
        Block::Warning(texts()),
        Block::List(vec![texts()]),
        Block::Table(table),
    ];
    Document {
        title: text.to_owned(),
        logo: None,
        facts: vec![("Accounts", text.to_owned())],
        sections: vec![Section { id: "a", heading: "A", blocks }],
        commands: vec![text.to_owned()],
    }
}

#[test]
fn every_text_is_escaped() {
    let mut page = Vec::new();
    html::write(&document("<b>&\"'"), &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("<b>") && !page.contains("&\""), "{page}");
    assert_eq!(page.matches("&lt;b&gt;&amp;&quot;&#39;").count(), 12, "{page}");

    let mut page = Vec::new();
    markdown::write(&document("a|`b`\n<c> http://x www.y"), &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert_eq!(page.matches(r"a\|\`b\` \<c\> http:&#47;/x www\.y").count(), 9, "{page}");
    // A command is code, in which nothing has a meaning but the quotes around it.
    assert!(page.contains("1. `` a|`b` <c> http://x www.y ``\n"), "{page}");
}

#[test]
fn items_are_joined_as_in_a_sentence() {
    let list = |items: &[&str]| {
        let mut page = Vec::new();
        let text = Text::list(items.iter().map(|item| Text::of(*item)).collect());
        let sections = vec![Section { id: "a", heading: "A", blocks: vec![Block::Paragraph(text)] }];
        let document = Document { title: String::new(), logo: None, facts: Vec::new(), sections, commands: Vec::new() };
        markdown::write(&document, &mut page).unwrap();
        String::from_utf8(page).unwrap().split("## A\n\n").nth(1).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!([list(&["a"]), list(&["a", "b"]), list(&["a", "b", "c"])], ["a", "a and b", "a, b and c"]);
}
