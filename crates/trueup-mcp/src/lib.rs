//! The door of trueup for agents: ten read-only tools over a dataset, for the Model Context Protocol.
//!
//! A [`Toolbox`] answers one caller about one version of a dataset, and knows nothing of the protocol. Only the module
//! `sdk` knows the official SDK, and with it the protocol.
//!
//! ```no_run
//! use trueup::{Dataset, Execution};
//! use trueup_mcp::{Caller, Settings, Toolbox};
//!
//! let dataset = Dataset::open("my-data")?;
//! let toolbox = Toolbox::new(dataset.into(), Caller::default(), Settings::default());
//! let answer = toolbox.call("find_fields", serde_json::json!({ "names": ["bookRate"] }), &Execution::default())?;
//! assert!(answer.text.contains("bookedCustomers / customers"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `toolbox` | [`Toolbox`]: who asks, what they may see, and a call of a tool |
//! | `schema` | the arguments of tools, described once: their schemas, and how they are read |
//! | `question` | the arguments that all tools about numbers share, as a `QueryRequest` |
//! | `tools` | the tools, one file each |
//! | `answer`, `cell` | an answer as text and as data, cut to the characters that it may have |
//! | `notes` | what a reader could get wrong about an answer |
//! | `personal` | the columns that are personal |
//! | `fault` | [`Fault`]: an error that says what to do |
//! | `prompts`, `resources` | prompts and resources |
//! | `local` | [`LocalDataset`]: a dataset in this process, in its newest version |
//! | `install` | the configuration of clients |
//! | `sdk` | the protocol |

mod answer;
mod cell;
mod fault;
mod install;
mod local;
mod notes;
mod personal;
mod prompts;
mod question;
mod resources;
mod schema;
mod sdk;
mod toolbox;
mod tools;

pub use answer::{Answer, MAX_CHARACTERS};
pub use fault::Fault;
pub use install::{Client, UnknownClient, configuration};
pub use local::LocalDataset;
pub use prompts::{Prompt, PromptArgument};
pub use resources::Resource;
pub use sdk::{HttpDoor, ServeError, Visit, relay_stdio, serve, serve_stdio};
pub use toolbox::{Caller, KnownData, Organization, Settings, Tool, Toolbox};
