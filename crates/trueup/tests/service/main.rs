//! The service as callers see it: requests, the responses that its documents promise, and what must not change them.
//!
//! | file | tests |
//! |---|---|
//! | `platform` | none: it has the services that the other files query |
//! | `goldens` | responses, byte for byte |
//! | `order` | which fault is reported if a request has several |
//! | `malformed`, `overload` | malformed requests; requests that cost too much, or that find no memory |
//! | `bodies` | the memory of answers until they are sent, and documents that are read meanwhile |
//! | `failures` | a damaged dataset, a passed deadline |
//! | `currencies` | the header that names currencies |
//! | `why`, `parquet`, `csv` | explanations of numbers; answers as Parquet and as CSV |
//! | `benchmarks` | when benchmarks are computed, and whom they must not reveal |
//! | `keys`, `keys_hidden` | rotation and the hourly limit under load; no secret is ever shown |
//! | `marked` | an order, a number of rows and totals; how many requests are left |
//! | `targets` | targets next to the numbers, and of nobody else |
//! | `tenants` | the data of one tenant change no answer to another |
//! | `tenants_reach` | the same for random directories and data |
//! | `tenants_platform`, `tenants_world` | none: the service with those data, and the model of its directory |

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod benchmarks;
mod bodies;
mod csv;
mod currencies;
mod failures;
mod goldens;
mod keys;
mod keys_hidden;
mod malformed;
mod marked;
mod order;
mod overload;
mod parquet;
mod platform;
mod targets;
mod tenants;
mod tenants_platform;
mod tenants_reach;
mod tenants_world;
mod why;
