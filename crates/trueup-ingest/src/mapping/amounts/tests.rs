use super::*;

/// Reads the values of a column; a value that cannot be read is what was expected.
fn read(values: &[&str], source: &ValueSource) -> Vec<String> {
    let rules = AmountRules::new(source, "total").unwrap();
    let each_text: &EachText<'_> = &|see| {
        for (at, text) in values.iter().enumerate() {
            see(text, CellForm::Text, &|| format!("line {}", at + 2));
        }
    };
    let value = |text: &&str| match rules.read(text, CellForm::Text, each_text) {
        Ok(amount) => amount.into_owned(),
        Err(expected) => format!("! {expected}"),
    };
    values.iter().map(value).collect()
}

fn read_plain(values: &[&str]) -> Vec<String> {
    read(values, &ValueSource::default())
}

#[test]
fn amounts_are_read_as_they_are_written() {
    for (text, expected) in [
        ("1234.5", "1234.5"),
        ("-1234.5", "-1234.5"),
        ("$1,234.50", "1234.50"),
        ("-$1,234.50", "-1234.50"),
        ("$-1,234.50", "-1234.50"),
        ("1.234,50 \u{20ac}", "1234.50"),
        ("\u{20ac} 1.234.567,5", "1234567.5"),
        ("(1,294.13)", "-1294.13"),
        ("($1,294.13)", "-1294.13"),
        ("$(1,294.13)", "-1294.13"),
        ("1,294.13-", "-1294.13"),
        ("\u{2212}5", "-5"),
        ("1 473,99 $", "1473.99"),
        ("1\u{202f}473,99\u{a0}$", "1473.99"),
        ("1'473.99", "1473.99"),
        ("CA$1,234.50", "1234.50"),
        ("USD 12.50", "12.50"),
        ("12,50", "12.50"),
        ("0,125", "0.125"),
        ("1,234,567", "1234567"),
        ("$.50", "0.50"),
        ("$0", "0"),
    ] {
        assert_eq!(read_plain(&[text]), [expected], "{text}");
    }
    for text in [
        "",
        "-",
        "()",
        "(-5)",
        "--5",
        "5-5",
        "1,23,456.00",
        "12.",
        "1.2.3",
        "5 %",
        "N/A",
        "5\u{a2}",
        "1e5",
        "$$5",
        "abc5",
    ] {
        assert_eq!(read_plain(&[text]), [format!("! {EXPECTED}")], "{text}");
    }
}

#[test]
fn other_values_decide_what_a_mark_is() {
    assert_eq!(read_plain(&["1,234", "12.50"]), ["1234", "12.50"]);
    assert_eq!(read_plain(&["1,234", "12,50"]), ["1.234", "12.50"]);
    assert_eq!(read_plain(&["1.234", "12,50"]), ["1234", "12.50"]);
    // As in files without a mapping.
    assert_eq!(read_plain(&["1.234", "7"]), ["1.234", "7"]);
    let open = read_plain(&["1,234", "1.234", "7"]);
    for at in [0, 1] {
        assert!(
            open[at].starts_with("! expected an amount that can be read in one way; write `decimal_mark"),
            "{open:?}"
        );
    }
    assert_eq!(open[2], "7");
    assert!(read_plain(&["1.234 \u{20ac}"])[0].starts_with("! expected an amount that can be read in one way"));
}

#[test]
fn amounts_in_two_ways_are_refused_with_both() {
    let values = read_plain(&["12.50", "1.234,50"]);
    assert_eq!(values[0], "12.50");
    assert!(
        values[1].starts_with(
            "! expected amounts that are all written in one way, but `12.50` in line 2 has a decimal point and `1.234,50` in line 3 \
             a decimal comma"
        ),
        "{values:?}"
    );
    let values = read_plain(&["$5", "C$5"]);
    let expected = "! expected amounts of one currency, but there are `$5` in line 2 and `C$5` in line 3";
    assert!(values.iter().all(|value| value.starts_with(expected)), "{values:?}");
}

#[test]
fn the_mapping_decides_first() {
    let source = |remove: Option<&str>, decimal_mark| ValueSource {
        remove: remove.map(str::to_owned),
        decimal_mark,
        ..ValueSource::default()
    };
    assert_eq!(read(&["1,234", "12.50"], &source(None, Some('.'))), ["1234", "12.50"]);
    assert_eq!(read(&["1,234", "1.234", "7"], &source(None, Some(','))), ["1.234", "1234", "7"]);
    assert_eq!(read(&["1.234"], &source(Some("$,"), None)), ["1.234"]);
    assert_eq!(read(&["1\u{b7}5"], &source(None, Some('\u{b7}'))), ["1.5"]);
    for sign in ["(", ")", "-", "$,()"] {
        let fault = AmountRules::new(&source(Some(sign), None), "events[0].columns.total").unwrap_err().to_string();
        assert!(fault.starts_with("key `events[0].columns.total.remove`"), "{fault}");
    }
}
