//! The configuration of clients, as text to paste: nothing is written.

use serde_json::json;
use std::str::FromStr;
use trueup::Shown;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Desktop and Claude Code.
    Claude,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Codex.
    Codex,
}

/// A text that names no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}, but found `{}`", Client::NAMES.join(", "), Shown(.0))]
pub struct UnknownClient(String);

impl Client {
    /// The names of the clients.
    pub const NAMES: [&str; 4] = ["claude", "cursor", "vscode", "codex"];

    /// Returns where the configuration belongs.
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            Self::Claude => "claude_desktop_config.json of Claude Desktop, or .mcp.json of a project for Claude Code",
            Self::Cursor => "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
            Self::Vscode => ".vscode/mcp.json of a workspace",
            Self::Codex => "~/.codex/config.toml",
        }
    }
}

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(text: &str) -> Result<Self, UnknownClient> {
        match text {
            "claude" => Ok(Self::Claude),
            "cursor" => Ok(Self::Cursor),
            "vscode" => Ok(Self::Vscode),
            "codex" => Ok(Self::Codex),
            other => Err(UnknownClient(other.to_owned())),
        }
    }
}

/// Returns the configuration with which a client starts `program` with `arguments`.
///
/// ```
/// use trueup_mcp::{Client, configuration};
///
/// let text = configuration(Client::Claude, "/usr/bin/trueup", &["mcp".to_owned(), "/data/demo".to_owned()]);
/// assert!(text.contains(r#""command": "/usr/bin/trueup""#));
/// ```
#[must_use]
pub fn configuration(client: Client, program: &str, arguments: &[String]) -> String {
    // JSON strings are strings of TOML, too.
    let toml = || {
        let arguments: Vec<String> = arguments.iter().map(|argument| json!(argument).to_string()).collect();
        format!("[mcp_servers.trueup]\ncommand = {}\nargs = [{}]\n", json!(program), arguments.join(", "))
    };
    let server = json!({ "command": program, "args": arguments });
    let object = match client {
        Client::Claude | Client::Cursor => json!({ "mcpServers": { "trueup": server } }),
        Client::Vscode => {
            json!({ "servers": { "trueup": { "type": "stdio", "command": program, "args": arguments } } })
        }
        Client::Codex => return toml(),
    };
    // An object of texts can always be written.
    serde_json::to_string_pretty(&object).unwrap_or_default() + "\n"
}
