//! Mappings, from files to canonical tables.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod case;
mod containers;
mod control_totals;
mod credit;
mod currencies;
mod documented;
mod draft;
mod files;
mod formats;
mod given;
mod ingested;
mod joins;
mod known_exports;
mod memory;
mod merged;
mod periods;
mod real;
mod records;
mod refused;
mod shapes;
mod sheets;
mod stored;
mod stored_joins;
mod time_zones;
mod values;
mod written;
