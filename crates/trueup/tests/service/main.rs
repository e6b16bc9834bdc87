//! The service as callers see it: requests, the responses that its documents promise, and what must not change them.
//!
//! | file | tests |
//! |---|---|
//! | `platform`, `crowd` | none: the services that the other files query |
//! | `goldens`, `worked_example` | responses, byte for byte |
//! | `order`, `order_table` | which fault is reported if a request has several |
//! | `malformed`, `costly`, `overload` | malformed requests, requests that cost too much, memory that others hold |
//! | `failures` | a damaged dataset, a passed deadline |
//! | `benchmarks` | when benchmarks are computed, and whom they must not reveal |
//! | `keys`, `keys_hidden` | rotation and the hourly limit under load; no secret is ever shown |
//! | `tenants` | data of another tenant change no answer |
//! | `tenants_reach`, `tenants_data`, `tenants_world` | the same for random directories and data, against a model |

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
