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

/// The files of an example, each with its content, and the events that it makes.
type Example = (Vec<(String, String)>, String);

/// Returns the files of an example, and its events.
pub(crate) fn example(number: usize) -> Example {
    examples().into_iter().nth(number).map(|(_, example)| example).unwrap()
}

/// Returns the examples of the page, each with its mapping.
fn examples() -> Vec<(String, Example)> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mapping.md")).unwrap();
    let (mut files, mut mapping, mut examples) = (Vec::new(), String::new(), Vec::new());
    for (words, inside) in blocks(&text) {
        match words.split_once(' ') {
            Some(("csv", "events")) => {
                examples.push((std::mem::take(&mut mapping), (std::mem::take(&mut files), inside)))
            }
            Some(("csv", name)) => files.push((name.to_owned(), inside)),
            Some(("toml", _)) => mapping = inside,
            _ => {}
        }
    }
    examples
}

#[test]
fn documented_examples_make_the_documented_rows() {
    let examples = examples();
    assert_eq!(examples.len(), 3);
    for (mapping, (files, expected)) in examples {
        let case = files.iter().fold(Case::new(&mapping), |case, (name, content)| case.file(name, content));
        let tables: Vec<String> = case.run().unwrap().events.iter().map(|path| lines(path).join("\n")).collect();
        assert_eq!(tables.join("\n\n") + "\n", expected);
    }
}
