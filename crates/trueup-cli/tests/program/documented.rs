//! Runs every code block of `docs/api.md` against the demo, as a reader would.
//!
//! A block of `sh` or `python` must succeed. If a block of `json` follows a call of `curl`, it is the exact output. The
//! crate `trueup` compiles the Rust blocks.

#![expect(clippy::panic, reason = "tests")]

use crate::workspace::{RunningServer, Workspace};
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Largest number of times to send a request whose answer says to retry.
const ATTEMPTS: usize = 60;

/// A code block of the page.
struct Block {
    language: String,
    text: String,
}

/// Returns the code blocks of the page, in their order.
fn blocks() -> Vec<Block> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "api.md"].iter().collect();
    let page = fs::read_to_string(path).unwrap();
    // Opening and closing fences alternate.
    let parts: Vec<&str> = page.split("```").collect();
    let inner = parts.iter().skip(1).step_by(2).map(|part| part.split_once('\n').unwrap());
    inner.map(|(language, text)| Block { language: language.to_owned(), text: text.to_owned() }).collect()
}

/// A reader with a shell: the current folder, and the variables that are set.
struct Reader {
    workspace: Workspace,
    variables: Vec<(&'static str, String)>,
}

impl Reader {
    /// Returns a command that has the variables, and `trueup` on its path. It uses no proxy.
    fn command(&self, program: &str) -> Command {
        let mut command = self.workspace.command_of(program);
        command.env_remove("http_proxy").env("no_proxy", "*");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a program with `-c text` and returns its output.
    #[track_caller]
    fn output_of(&self, program: &str, text: &str) -> String {
        let output = self.command(program).args(["-c", text]).output().unwrap();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts the server on a free port, and sets the variable with its URL.
    fn serve(&mut self, text: &str) -> RunningServer {
        let on_free_port = text.replace("127.0.0.1:8080", "127.0.0.1:0");
        assert_ne!(on_free_port, text);
        let mut command = self.command("sh");
        command.args(["-c", &format!("exec {on_free_port}")]);
        let server = RunningServer::start(command);
        self.variables.push(("TRUEUP_URL", server.url()));
        server
    }

    /// Sends a request until its answer does not say to retry.
    fn answer(&self, text: &str) -> String {
        for _ in 0..ATTEMPTS {
            let answer = self.output_of("sh", text);
            if !answer.contains(r#""code":"benchmarks-gathering""#) {
                return answer;
            }
            thread::sleep(Duration::from_millis(500));
        }
        panic!("still no answer: {text}");
    }
}

/// The file into which a command of the page writes an answer.
const PARQUET_FILE: &str = "leads.parquet";

fn is_installed(program: &str) -> bool {
    let is_installed = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_installed {
        eprintln!("{program} is not installed, so its blocks are not run");
    }
    is_installed
}

#[test]
fn every_block_of_the_api_page_works() {
    let (curl, python) = (is_installed("curl"), is_installed("python3"));
    let mut reader = Reader { workspace: Workspace::new(), variables: Vec::new() };
    let mut server = None;
    let mut requests = 0;
    let blocks = blocks();
    for (index, Block { language, text }) in blocks.iter().enumerate() {
        let shown = blocks.get(index + 1).filter(|next| next.language == "json").map(|next| next.text.trim_end());
        match language.as_str() {
            "sh" if text.starts_with("trueup demo ") => {
                let report = reader.output_of("sh", text);
                let key = report.lines().find_map(|line| line.trim().strip_prefix("export TRUEUP_KEY="));
                reader.variables.push(("TRUEUP_KEY", key.unwrap().to_owned()));
            }
            "sh" if text.starts_with("trueup serve ") => server = Some(reader.serve(text.trim_end())),
            "sh" if text.starts_with("curl ") => {
                if curl {
                    let answer = reader.answer(text);
                    match shown {
                        Some(shown) => assert_eq!(answer, shown, "{text}"),
                        None if text.contains(PARQUET_FILE) => {
                            let file = fs::read(reader.workspace.path(PARQUET_FILE)).unwrap();
                            assert!(answer.is_empty() && file.starts_with(b"PAR1"), "{text}\n{answer}");
                        }
                        None => {
                            let answer: Json = serde_json::from_str(&answer).unwrap();
                            assert!(answer.get("error").is_none(), "{text}\n{answer}");
                        }
                    }
                    requests += 1;
                }
            }
            "sh" => drop(reader.output_of("sh", &format!("set -e\n{text}"))),
            "python" => assert!(!python || !reader.output_of("python3", text).is_empty(), "{text}"),
            "rust" | "json" | "text" => {}
            other => panic!("{other}: {text}"),
        }
    }
    assert!(server.is_some() && (!curl || requests > 5), "{requests}");
}
