//! `docs/api.md`: every block of it, run against the demo as a reader runs it.
//!
//! A block of `sh` or `python` has to succeed; a block of `json` after it is what it prints, byte for byte. The Rust of the page is
//! compiled with the crate `trueup`.

#![expect(clippy::panic, reason = "tests")]

use crate::workspace::Workspace;
use serde_json::Value as Json;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// What begins the line that says where the server listens.
const LISTENING: &str = "listening on ";

/// How often a question that is answered "ask again" is asked.
const ATTEMPTS: usize = 60;

/// A block of the page.
struct Block {
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "api.md"].iter().collect();
    let page = fs::read_to_string(path).unwrap();
    // Fences alternate between opening and closing.
    let parts: Vec<&str> = page.split("```").collect();
    let inner = parts.iter().skip(1).step_by(2).map(|part| part.split_once('\n').unwrap());
    inner.map(|(language, text)| Block { language: language.to_owned(), text: text.to_owned() }).collect()
}

/// A server that is killed when the test ends, however it ends.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself, which is what a failing test has to say then.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A reader at a shell: where they are, and the variables that they have set.
struct Reader {
    workspace: Workspace,
    variables: Vec<(&'static str, String)>,
}

impl Reader {
    /// A command with the variables, and the program in the path.
    fn command(&self, name: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_trueup"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(name);
        command.current_dir(self.workspace.path("")).env("PATH", std::env::join_paths(folders).unwrap());
        command.env_remove("CARGO_MANIFEST_DIR").env_remove("http_proxy").env("no_proxy", "*");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a program prints that is given a text.
    #[track_caller]
    fn prints(&self, name: &str, text: &str) -> String {
        let output = self.command(name).args(["-c", text]).output().unwrap();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts the server at any address that is free, and notes which.
    fn serve(&mut self, text: &str) -> Serving {
        let anywhere = text.replace("127.0.0.1:8080", "127.0.0.1:0");
        assert_ne!(anywhere, text);
        let mut command = self.command("sh");
        command.args(["-c", &format!("exec {anywhere}")]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut serving = Serving(command.spawn().unwrap());
        let mut log = BufReader::new(serving.0.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(LISTENING) {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it does not listen");
        }
        // Nobody may be kept waiting by a log that is not read.
        thread::spawn(move || log.read_to_string(&mut String::new()));
        let (_, address) = line.split_once(LISTENING).unwrap();
        let address = address.split([';', ' ', '\n']).next().unwrap();
        self.variables.push(("TRUEUP_URL", address.to_owned()));
        serving
    }

    /// What a question is answered, once it is not to be asked again.
    fn answer(&self, text: &str) -> String {
        for _ in 0..ATTEMPTS {
            let answer = self.prints("sh", text);
            if !answer.contains(r#""code":"benchmarks-gathering""#) {
                return answer;
            }
            thread::sleep(Duration::from_millis(500));
        }
        panic!("never answered: {text}");
    }
}

fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("{program} is not there: its blocks are not run");
    }
    there
}

#[test]
fn the_page_for_callers_works_as_it_stands() {
    let (curl, python) = (is_there("curl"), is_there("python3"));
    let mut reader = Reader { workspace: Workspace::new(), variables: Vec::new() };
    let mut serving = None;
    let mut asked = 0;
    let blocks = blocks();
    for (workspace, Block { language, text }) in blocks.iter().enumerate() {
        let shown = blocks.get(workspace + 1).filter(|next| next.language == "json").map(|next| next.text.trim_end());
        match language.as_str() {
            "sh" if text.starts_with("trueup demo ") => {
                let report = reader.prints("sh", text);
                let key = report.lines().find_map(|line| line.trim().strip_prefix("export TRUEUP_KEY="));
                reader.variables.push(("TRUEUP_KEY", key.unwrap().to_owned()));
            }
            "sh" if text.starts_with("trueup serve ") => serving = Some(reader.serve(text.trim_end())),
            "sh" if text.starts_with("curl ") => {
                if curl {
                    let answer = reader.answer(text);
                    match shown {
                        Some(shown) => assert_eq!(answer, shown, "{text}"),
                        None => {
                            let answer: Json = serde_json::from_str(&answer).unwrap();
                            assert!(answer.get("error").is_none(), "{text}\n{answer}");
                        }
                    }
                    asked += 1;
                }
            }
            "sh" => drop(reader.prints("sh", &format!("set -e\n{text}"))),
            "python" => assert!(!python || !reader.prints("python3", text).is_empty(), "{text}"),
            "rust" | "json" | "text" => {}
            other => panic!("{other}: {text}"),
        }
    }
    assert!(serving.is_some() && (!curl || asked > 5), "{asked}");
}
