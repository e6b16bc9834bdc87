use super::*;

fn blocks(text: &str, size: usize) -> Vec<(u64, String)> {
    let mut blocks = TextBlocks::new(text.as_bytes(), size, 1 << 10, true);
    std::iter::from_fn(|| blocks.next().ok().flatten())
        .map(|block| (block.line, String::from_utf8_lossy(&block.bytes).into_owned()))
        .collect()
}

#[test]
fn a_record_is_never_split() {
    let text = "a,b\n\"x\ny\",2\n3,4\n5";
    for size in 1..text.len() + 2 {
        let blocks = blocks(text, size);
        assert_eq!(blocks.iter().map(|(_, text)| text.as_str()).collect::<String>(), text);
        assert!(blocks.iter().all(|(_, text)| !text.starts_with('y')), "{size}");
        let line_of_three = blocks
            .iter()
            .find_map(|(line, text)| text.find("3,4").map(|at| line + count_lines(&text.as_bytes()[..at])));
        assert_eq!(line_of_three, Some(4));
    }
}
