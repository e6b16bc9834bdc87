use super::*;
use proptest::prelude::*;

proptest! {
    /// Whatever the fast way reads, chrono reads as the same date and time.
    #[test]
    fn digits_are_read_as_chrono_reads_them(
        format in prop::sample::select(vec![
            "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y %H:%M", "%Y%m%d", "%Y-%m-%dT%H:%M:%S", "%d %m %Y at %H h", "%Y-%m-%d %M",
            "%H:%M %Y-%m-%d", "%m%d%Y", "%Y%Y", "%d%d %m %Y",
        ]),
        year in prop_oneof![1900..2200_u32, 0..99_999_u32], month in 0..14_u32, day in 0..33_u32,
        hour in 0..26_u32, minute in 0..62_u32, second in 0..63_u32, width in 1..3_usize, tail in "[ 0x]{0,1}",
    ) {
        let text = format
            .replace("%Y", &format!("{year:04}"))
            .replace("%m", &format!("{month:0width$}"))
            .replace("%d", &format!("{day:0width$}"))
            .replace("%H", &format!("{hour:0width$}"))
            .replace("%M", &format!("{minute:02}"))
            .replace("%S", &format!("{second:02}"));
        let text = text + &tail;
        let format = DateFormat::new(format).unwrap();
        if let Some((date, time)) = format.parse_digits(&text) {
            let parsed = format.parsed(&text).unwrap();
            prop_assert_eq!(parsed.to_naive_date().ok(), Some(date));
            if let Some(time) = time {
                prop_assert_eq!(parsed.to_naive_datetime_with_offset(0).ok(), Some(date.and_time(time)));
            }
        } else if let Ok(parsed) = format.parsed(&text) {
            // What is left to chrono is written in another way, or is no time of a calendar day.
            let is_plain = width == 2 && year < 10_000 && second < 60 && format.has_digits;
            prop_assert!(!is_plain || parsed.to_naive_datetime_with_offset(0).is_err());
        }
    }
}

#[test]
fn digits_without_marks_between_them_are_read_the_fast_way() {
    let format = DateFormat::new("%Y%m%d").unwrap();
    let date = NaiveDate::from_ymd_opt(2025, 1, 31).unwrap();
    assert_eq!(format.parse_digits("20250131"), Some((date, None)));
    assert_eq!(format.parse_digits("202501310"), None);
}

#[test]
fn a_format_without_a_part_of_a_date_or_time_is_incomplete() {
    for (format, date, instant) in [
        ("%Y-%m-%d", true, false),
        ("%d %b %y", true, false),
        ("%Y%j", true, false),
        ("%G-W%V-%u", true, false),
        ("%a %W %Y", true, false),
        ("%m/%d/%Y %I:%M %p", true, true),
        ("%c", true, true),
        ("%D %r", true, true),
        ("%s", false, true),
        ("%+", true, true),
        ("%Y-%m-%d %H:%M", true, true),
        ("%Y-%m-%d %H", true, false),
        ("%m/%d/%Y %I:%M", true, false),
        ("%Y-%d", false, false),
        ("%Y %a", false, false),
        ("%G-%m-%d", false, false),
        ("%m-%d", false, false),
        ("%B %Y", false, false),
        ("%H:%M:%S", false, false),
        ("%m-%d %H:%M", false, false),
    ] {
        let found = DateFormat::new(format).unwrap();
        let is_whole = |is_instant| found.incomplete(is_instant).is_none();
        assert_eq!((is_whole(false), is_whole(true)), (date, instant), "{format}");
    }
    let several = DateFormat::any(&["%Y-%m-%d".to_owned(), "%m-%d".to_owned()]).unwrap();
    assert_eq!((several.incomplete(false), several.incomplete(true)), (Some("%m-%d"), Some("%Y-%m-%d")));
}
