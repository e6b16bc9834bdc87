//! Files and objects, wherever they are: this crate knows names and bytes, and not what they say.
//!
//! - [`Store`]: a folder of files, with the operations by which files and versions of a dataset appear and disappear
//! - `store/folder`, `remote`: the implementations, for folders of a file system and of object stores and web servers
//! - [`files`]: every operation that writes a file, so that each can be made to fail
//! - `plain_file`: opens a file only if it is plain, and reads it at any position
//! - `block_cache`: keeps blocks of objects in a local folder
//! - `locations`: paths and URLs
//! - `interrupt`, `pending`: the wait for a store, and what ends it
//!
//! Errors are those of the operating system or of the store (`std::io::Error`); the caller adds what they are about.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(feature = "object-store"))]
mod absent;
mod block_cache;
pub mod files;
mod interrupt;
mod locations;
mod pending;
mod plain_file;
#[cfg(feature = "object-store")]
mod remote;
mod store;

#[cfg(not(feature = "object-store"))]
pub use absent::{RemoteFile, RemoteFiles, RemoteReader};
pub use block_cache::{BlockCache, BlockCacheError, CachedFile, set_block_cache};
pub use interrupt::{Interrupt, Interruption};
pub use locations::{is_url, location_of, without_credentials};
pub use pending::Pending;
pub use plain_file::{PositionedReader, open_plain, read_at};
#[cfg(feature = "object-store")]
pub use remote::{RemoteFile, RemoteFiles, RemoteReader, RemoteStore, http_client};
pub use store::{Entry, Holder, Listed, Publication, PublishError, ReadFault, Replacement, Store, open_store};

/// The bytes of a block: what the block cache keeps as a whole, and what has a checksum of its own.
pub const BLOCK_BYTES: u64 = 1 << 16;
