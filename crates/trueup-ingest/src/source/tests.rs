use super::*;

/// Returns the line and the text of each block.
fn blocks(text: &str, size: usize) -> Vec<(u64, String)> {
    let mut blocks = TextBlocks::new(text.as_bytes(), size, 1 << 10, true);
    std::iter::from_fn(|| blocks.next().ok().flatten())
        .map(|block| (block.line, String::from_utf8_lossy(&block.bytes).into_owned()))
        .collect()
}

#[test]
fn blocks_never_split_a_record() {
    let text = "a,b\n\"x\ny\",2\n3,4\n5";
    for size in 1..text.len() + 2 {
        let blocks = blocks(text, size);
        assert_eq!(blocks.iter().map(|(_, text)| text.as_str()).collect::<String>(), text);
        assert!(blocks.iter().all(|(_, text)| !text.starts_with('y')), "{size}");
        let line_of_three = blocks.iter().find_map(|(line, text)| {
            text.find("3,4").map(|at| line + text_blocks::count_lines(&text.as_bytes()[..at]))
        });
        assert_eq!(line_of_three, Some(4));
    }
}

#[test]
fn members_of_all_ndjson_blocks_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ndjson");
    let names: Vec<String> = (0..ReadLimits::chunks() * 8).map(|line| format!("m{line:06}")).collect();
    // Each line is longer than a block.
    let value = " ".repeat(1 << 10);
    std::fs::write(&path, names.iter().map(|name| format!("{{\"{name}\":\"{value}\"}}\n")).collect::<String>())
        .unwrap();
    let limits = ReadLimits { rows: 1, max_columns: names.len(), ..ReadLimits::default() };
    let input = Input::given(&path);
    let columns = InputReader::open(&Files::default(), &input, limits).unwrap().all_columns(limits).unwrap();
    assert_eq!(columns.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>(), names);
}

#[test]
fn a_name_and_an_ending_mean_one_format() {
    let mut known = BTreeSet::new();
    for format in FORMATS {
        assert_eq!(format.name.parse::<FileFormat>().unwrap(), *format);
        for ending in format.endings {
            assert!(known.insert(*ending), "{ending}");
            for name in [format!("a.b/c.{}", ending.to_uppercase()), format!("c.{ending}.gz")] {
                assert_eq!(FileFormat::from_name(name.as_ref()), Some(*format), "{name}");
            }
        }
    }
    for name in ["csv", "a.csv/b", "a.gz", "a.arrow"] {
        assert_eq!(FileFormat::from_name(name.as_ref()), None, "{name}");
    }
}
