//! The service as callers see it: requests and the responses that its documents promise, and what must not change them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod benchmarks;
mod costly;
mod crowd;
mod failures;
mod goldens;
mod keys;
mod keys_hidden;
mod malformed;
mod order;
mod order_table;
mod overload;
mod platform;
mod tenants;
mod tenants_data;
mod tenants_reach;
mod tenants_world;
mod worked_example;
