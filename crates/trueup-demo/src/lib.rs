//! Generates a synthetic dataset of home-services businesses that advertise. The data are realistic, of any size, and
//! the same on every machine for the same settings.
//!
//! Each account has an industry with its season, a main phone line, and a long tail of campaigns. Most customers begin
//! with a conversion through one of them, and may convert again. About a third are booked; these are visited,
//! estimated, sold and invoiced, or lost on the way. Spend is what the expected leads of each campaign cost, so it
//! matches the events although it is not computed from them.
//!
//! # Examples
//! ```
//! use trueup_demo::{Generator, Settings};
//!
//! let generator = Generator::new(Settings::scale(1_000, 12))?;
//! let rows: usize = generator.events().map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum();
//! assert!((800..1_200).contains(&rows));
//! # Ok::<(), trueup_demo::SettingsError>(())
//! ```

// In call order: `settings`; `generator`, which calls all others; `calendar`; `account` with `market` and `campaign`;
// `plan`; `history` with `service_job` and `event`; `spend`; `target`; `tables`. Every draw is made by `dice`.
mod account;
mod calendar;
mod campaign;
mod dice;
mod event;
mod generator;
mod history;
mod market;
mod plan;
mod service_job;
mod settings;
mod spend;
mod tables;
mod target;

#[cfg(test)]
mod tests;

pub use generator::Generator;
pub use settings::{Settings, SettingsError};
