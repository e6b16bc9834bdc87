//! A seeded data set of home-services businesses that advertise: believable, of any size, and the same on every machine.
//!
//! Each account has a trade with its season, a main line and a long tail of campaigns. A customer is found through one of
//! them, may call again, is booked, visited, estimated, sold and invoiced, or canceled on the way. Spend is what the expected
//! leads of each campaign cost, so it fits the events without being computed from them.
//!
//! ```
//! use trueup_demo::{Generator, Settings};
//!
//! let generator = Generator::new(Settings::scale(1_000, 12))?;
//! let rows: usize = generator.events().map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum();
//! assert!((800..1_200).contains(&rows));
//! # Ok::<(), trueup_demo::SettingsError>(())
//! ```

mod account;
mod account_table;
mod batches;
mod calendar;
mod campaign;
mod channel;
mod customer_plan;
mod dice;
mod event;
mod event_table;
mod fee;
mod generator;
mod grade;
mod history;
mod job;
mod lead_mix;
mod market;
mod money;
mod names;
mod settings;
mod spend;
mod spend_table;
mod ticket;

#[cfg(test)]
mod tests;

pub use generator::Generator;
pub use settings::{Settings, SettingsError};
