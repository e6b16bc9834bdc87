//! Does what `docs/tutorial.md` does, block by block, and compares every output with the page.
//!
//! | block | what is done |
//! |---|---|
//! | `console` | each line after `$ ` is run; the lines below are what it prints, errors too |
//! | `diff FILE` | the file is edited: the lines with ` ` and `-` become those with ` ` and `+` |
//! | `toml FILE` | the file is written |

#![expect(clippy::panic, reason = "tests")]

use crate::workspace::{RunningServer, Workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The address on the page, in place of which the server takes a free port.
const ADDRESS: &str = "127.0.0.1:8080";

/// A fenced block of the page.
struct Block {
    /// The number of its first line on the page.
    line: usize,
    /// The words after the fence.
    words: String,
    lines: Vec<String>,
}

/// Returns the blocks of the page, in their order.
fn blocks() -> Vec<Block> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/tutorial.md")).unwrap();
    let mut lines = page.lines().zip(1..);
    let mut blocks = Vec::new();
    while let Some((fence, line)) = lines.next() {
        if let Some(words) = fence.strip_prefix("```") {
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```");
            blocks.push(Block { line: line + 1, words: words.to_owned(), lines: inside.map(str::to_owned).collect() });
        }
    }
    blocks
}

/// Returns the commands of a block, each with what it prints. A command that ends in `\` goes on in the next line.
fn commands(block: &Block) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((command, output))) if command.ends_with('\\') && output.is_empty() => {
                *command += &format!("\n{line}");
            }
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("line {}: a block begins with a command: {line}", block.line),
        }
    }
    commands
}

/// A reader with a shell.
struct Reader {
    workspace: Workspace,
    /// The current folder.
    folder: PathBuf,
    server: Option<RunningServer>,
}

impl Reader {
    fn new() -> Self {
        let workspace = Workspace::new();
        let (from, to) = (Path::new(ROOT).join("testdata/tutorial"), workspace.path("testdata/tutorial"));
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        let folder = workspace.path("");
        Self { workspace, folder, server: None }
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = self.workspace.command_of("sh");
        shell.current_dir(&self.folder).env_remove("http_proxy").env("no_proxy", "*").args(["-c", command]);
        shell
    }

    /// Runs a command and returns what it prints.
    fn run(&mut self, command: &str) -> String {
        if let Some(folder) = command.strip_prefix("cd ") {
            self.folder.push(folder);
            return String::new();
        }
        if command.starts_with("trueup serve ") {
            let server = RunningServer::start(self.shell(&format!("exec {command} --listen 127.0.0.1:0")));
            self.server = Some(server);
            return format!("listening on http://{ADDRESS}; press Ctrl-C to stop\n");
        }
        let address = self.server.as_ref().map_or(ADDRESS, |server| server.address.as_str());
        let output = self.shell(&format!("exec 2>&1\n{}", command.replace(ADDRESS, address))).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        if command.starts_with("trueup ") {
            let has_error = text.lines().any(|line| line.starts_with("error: "));
            assert_eq!(output.status.success(), !has_error, "{command}\n{text}");
        }
        // A page cannot show whether the last line has an end.
        if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
    }

    /// Edits a file: replaces the only place that has the old lines.
    fn edit(&self, name: &str, block: &Block) {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let lines = |signs: [char; 2]| -> String {
            // An editor may have removed the blank of an empty line.
            let lines = block.lines.iter().map(|line| if line.is_empty() { " " } else { line });
            lines.filter_map(|line| line.strip_prefix(signs)).map(|line| format!("{line}\n")).collect()
        };
        let (old, new) = (lines([' ', '-']), lines([' ', '+']));
        assert_eq!(
            text.matches(&old).count(),
            1,
            "line {}: the file does not have these lines exactly once:\n{old}",
            block.line
        );
        fs::write(path, text.replace(&old, &new)).unwrap();
    }
}

#[test]
fn the_tutorial_prints_what_it_shows() {
    let has_curl = Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success());
    let mut reader = Reader::new();
    let (mut run, mut differences) = (0, String::new());
    for block in blocks() {
        match block.words.split_once(' ') {
            None if block.words == "console" => {
                for (command, shown) in commands(&block) {
                    if command.starts_with("curl ") && !has_curl {
                        continue;
                    }
                    let found = reader.run(&command);
                    run += 1;
                    if found != shown {
                        let line = block.line;
                        differences +=
                            &format!("line {line}: $ {command}\nthe page shows:\n{shown}but it prints:\n{found}\n");
                    }
                }
            }
            Some(("diff", name)) => reader.edit(name, &block),
            Some(("toml", name)) => fs::write(reader.folder.join(name), block.lines.join("\n") + "\n").unwrap(),
            _ => panic!("line {}: unknown kind of block: {}", block.line, block.words),
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(run > 20 && reader.server.is_some(), "{run}");
}
