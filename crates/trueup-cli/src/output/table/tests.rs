use super::{Heading, Narrowing, Screen, cell, write_on, write_rows};
use trueup::{Column, Day, ResultTable, StringColumn, Values};

fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

fn texts(texts: &[&str]) -> Values {
    Values::Strings(StringColumn::new((0..).take(texts.len()).collect(), texts.iter().collect()).unwrap())
}

fn answer() -> ResultTable {
    let day: Day = "2025-01-01".parse().unwrap();
    ResultTable::from_columns(vec![
        column("start", Values::Days(vec![day; 3])),
        column("attributionChannel", texts(&["", "Paid, \"Search\"", "a\u{1b}[2J"])),
        column("leads", Values::Counts(vec![1_234_567, 0, 12])),
        column("spend", Values::Money(vec![1_234_500_000, 0, -10_000])),
        column("bookRate", Values::Ratios([Some(0.321), None, Some(1.0)].into_iter().collect())),
    ])
}

fn screen(width: Option<usize>) -> Screen {
    Screen { width, is_styled: false, is_brief: true }
}

fn shown(answer: &ResultTable, screen: Screen) -> String {
    shown_narrowed(answer, Narrowing::default(), screen)
}

fn shown_narrowed(answer: &ResultTable, narrowing: Narrowing, screen: Screen) -> String {
    let mut out = Vec::new();
    write_on(answer, 0..answer.len(), Heading::Name, narrowing, screen, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the width of the widest line.
fn widest(text: &str) -> usize {
    text.lines().map(cell::width).max().unwrap_or(0)
}

#[test]
fn tables_align_numbers_right_and_replace_control_characters() {
    assert_eq!(
        shown(&answer(), Screen::FILE),
        "\
start       attributionChannel      leads     spend  bookRate
─────────────────────────────────────────────────────────────
2025-01-01  (none)              1,234,567  1,234.50     32.1%
2025-01-01  Paid, \"Search\"              0      0.00         –
2025-01-01  a\u{fffd}[2J                      12     -0.01    100.0%
"
    );
}

#[test]
fn display_names_are_broken_into_lines() {
    let mut out = Vec::new();
    write_rows(&answer(), &[2, 0], Heading::DisplayName, Screen::FILE, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\
start       Attribution      Leads     Spend  Book Rate
            Channel
───────────────────────────────────────────────────────
2025-01-01  a\u{fffd}[2J               12     -0.01     100.0%
2025-01-01  (none)       1,234,567  1,234.50      32.1%
"
    );
}

#[test]
fn an_empty_text_differs_from_texts_that_look_like_it() {
    let answer = ResultTable::from_columns(vec![column("campaign", texts(&["", "(none)", " ", "\"(none)\"", "-"]))]);
    let text = shown(&answer, Screen::FILE);
    let rows: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(rows, ["(none)", "\"(none)\"", "\" \"", "\"\"(none)\"\"", "-"]);
}

#[test]
fn a_table_that_is_too_wide_is_narrowed_in_steps() {
    let answer = answer();
    let whole = shown(&answer, screen(None));
    assert_eq!(shown(&answer, screen(Some(61))), whole);
    // First texts are cut, down to 10 characters.
    assert_eq!(
        shown(&answer, screen(Some(56))),
        "\
start       attributionC…      leads     spend  bookRate
────────────────────────────────────────────────────────
2025-01-01  (none)         1,234,567  1,234.50     32.1%
2025-01-01  Paid, \"Searc…          0      0.00         –
2025-01-01  a\u{fffd}[2J                 12     -0.01    100.0%
"
    );
    // Then headings are broken into lines.
    let texts = texts(&["Drains"]);
    let wide = ResultTable::from_columns(vec![
        column("campaign", texts),
        column("bookableUnbookedConversions", Values::Counts(vec![7])),
    ]);
    assert_eq!(
        shown(&wide, screen(Some(30))),
        "\
campaign     bookable
             Unbooked
          Conversions
─────────────────────
Drains              7
"
    );
    // Then there is one block of lines per row.
    assert_eq!(
        shown(&answer, screen(Some(40))).lines().skip(6).take(6).collect::<Vec<_>>(),
        [
            "─ row 2 of 3 ───────────────────────────",
            "start               2025-01-01",
            "attributionChannel  Paid, \"Search\"",
            "leads               0",
            "spend               0.00",
            "bookRate            –",
        ]
    );
    for width in 28..70 {
        assert!(widest(&shown(&answer, screen(Some(width)))) <= width, "{width}");
    }
}

#[test]
fn a_table_leaves_columns_out_before_it_breaks_the_last_one_into_lines() {
    let lines = ResultTable::from_columns(vec![
        column("account", texts(&["north"])),
        column("eventId", texts(&["e-4711"])),
        column("count", Values::Counts(vec![1])),
        column("rule", texts(&["is the customer's only event in these days, so its state event"])),
    ]);
    let narrowing = Narrowing { optional: &["eventId", "account"], wraps_last: true };
    let whole = shown(&lines, screen(None));
    assert_eq!(shown_narrowed(&lines, narrowing, screen(None)), whole);
    assert_eq!(shown_narrowed(&lines, narrowing, screen(Some(widest(&whole)))), whole);
    assert_eq!(
        shown_narrowed(&lines, narrowing, screen(Some(52))),
        "\
account  count  rule
────────────────────────────────────────────────────
north        1  is the customer's only event in
                these days, so its state event
… without eventId; `--format csv` has it
"
    );
    let narrow = shown_narrowed(&lines, narrowing, screen(Some(40)));
    assert!(narrow.starts_with("count  rule\n"), "{narrow}");
    assert!(narrow.contains("is the customer's only event in\n       these days, so its state event\n"), "{narrow}");
    assert!(narrow.ends_with("… without eventId and account; `--format csv` has them\n"), "{narrow}");
}

#[test]
fn bold_type_changes_neither_the_text_nor_the_widths() {
    for width in [None, Some(56), Some(40)] {
        let styled = shown(&answer(), Screen { is_styled: true, ..screen(width) });
        assert!(styled.contains('\u{1b}'), "{styled}");
        assert_eq!(styled.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), shown(&answer(), screen(width)));
    }
}

#[test]
fn wide_characters_count_as_two() {
    let answer = ResultTable::from_columns(vec![
        column("campaign", texts(&["北京北京北京北京北京", "Zoë", "e\u{301}"])),
        column("leads", Values::Counts(vec![1, 2, 3])),
    ]);
    assert_eq!(
        shown(&answer, screen(Some(22))),
        "\
campaign         leads
──────────────────────
北京北京北京北…      1
Zoë                  2
e\u{301}                    3
"
    );
}

#[test]
fn the_rows_in_the_middle_of_a_long_table_are_left_out() {
    let answer = |rows: u64| ResultTable::from_columns(vec![column("leads", Values::Counts((1..=rows).collect()))]);
    let text = shown(&answer(1_234_567), screen(Some(80)));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 20 + 1 + 20);
    assert_eq!((lines[2], lines[21], lines[23], lines[42]), ("        1", "       20", "1,234,548", "1,234,567"));
    assert_eq!(lines[22], "… 1,234,527 more rows; `--all` shows them");
    assert!(shown(&answer(41), screen(Some(80))).contains("\n… 1 more row; `--all` shows it\n"));
    assert_eq!(shown(&answer(40), screen(Some(80))).lines().count(), 42);
    assert_eq!(shown(&answer(100), Screen { is_brief: false, ..screen(Some(80)) }).lines().count(), 102);
    // The rows in the gap are counted too.
    let text = shown(&answer(100), screen(Some(4)));
    assert!(text.contains("\n… 90 more rows; `--all` shows them\n─ row 96 of 100 "), "{text}");
}

#[test]
fn a_table_without_rows_has_headings() {
    let empty = ResultTable::from_columns(vec![column("leads", Values::Counts(Vec::new()))]);
    assert_eq!(shown(&empty, screen(Some(80))), "leads\n─────\n");
}
