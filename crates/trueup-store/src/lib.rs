//! Files and objects, wherever they are: this crate knows names and bytes, and not what they say.
//!
//! - [`files`]: every operation that writes a file, so that each can be made to fail
//! - `plain_file`: opens a file only if it is plain, and reads it at any position
//! - `remote`: folders in object stores and on web servers, and the block cache
//! - `interrupt`: ends the wait for a store, and what else takes long
//!
//! Errors are those of the operating system or of the store (`std::io::Error`); the caller adds what they are about.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod files;
mod interrupt;
mod plain_file;
mod remote;

pub use interrupt::{Interrupt, Interruption};
pub use plain_file::{NotOpened, PositionedReader, open_plain, read_at};
pub use remote::{
    BLOCK_BYTES, CachedFile, Holder, Pending, Publication, PublishError, ReadFault, RemoteFile, RemoteFiles,
    RemoteFolder, RemoteObject, RemoteReader, is_url, location_of, without_credentials,
};
#[cfg(feature = "object-store")]
pub use remote::{BlockCache, BlockCacheError, set_block_cache};
