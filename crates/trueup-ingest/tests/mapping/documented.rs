//! Runs the worked examples of `docs/mapping.md`.

use crate::case::{Case, lines};

/// Returns the fenced blocks of a text: the words after each fence, and the lines inside.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((words, inside.join("\n") + "\n"));
        }
    }
    blocks
}

#[test]
fn documented_examples_make_the_documented_rows() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mapping.md")).unwrap();
    let (mut files, mut mapping, mut examples) = (Vec::new(), String::new(), 0);
    for (words, inside) in blocks(&text) {
        match words.split_once(' ') {
            Some(("csv", "events")) => {
                let case = files
                    .drain(..)
                    .fold(Case::new(&mapping), |case, (name, content): (&str, String)| case.file(name, content));
                let tables: Vec<String> =
                    case.run().unwrap().events.iter().map(|path| lines(path).join("\n")).collect();
                assert_eq!(tables.join("\n\n") + "\n", inside);
                examples += 1;
            }
            Some(("csv", name)) => files.push((name, inside)),
            Some(("toml", _)) => mapping = inside,
            _ => {}
        }
    }
    assert_eq!(examples, 2);
}
