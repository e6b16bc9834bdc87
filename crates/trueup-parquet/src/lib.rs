//! Parquet pages and columns: read within bounds, and written. What decodes an encoding and what encodes it are side by
//! side.
//!
//! The crate `parquet` allocates memory by the counts of a file before it checks them, and decodes into Arrow arrays of
//! all rows. The readers here check first, and decode straight into what the caller makes of a value, for all rows or
//! for some. In the order in which a reader passes through them:
//!
//! - `footer`: checked, then decoded by `parquet`; `thrift` reads it, and the headers of pages
//! - `file_slice`: bytes of a file, of which `pages` makes the pages of a column chunk, decompressed
//! - `column_chunk`: a column of a row group, decoded with `encoding`: the values, and which row has which value
//!   (`stored_column`), without superseded rows (`live_rows`); `picked_rows` decodes some rows only
//!
//! And of a writer:
//!
//! - `text_column`: encodes a column of texts that recur
//! - `row_group_writer`: has `parquet` encode the other columns, and writes row groups
//!
//! Errors are those of `parquet` or, of the values of a column, a text that says what is wrong: the caller knows the
//! file and the column, and adds them. This crate knows neither files and stores, nor what the columns mean.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod column_chunk;
mod encoding;
mod file_slice;
mod footer;
mod live_rows;
mod pages;
mod picked_rows;
mod row_group_writer;
mod stored_column;
mod text_column;
mod thrift;

pub use column_chunk::ColumnChunk;
pub use encoding::OUT_OF_RANGE;
pub use file_slice::FileSlice;
pub use footer::{DecodedFooter, catch_panics, check_chunk_ranges, check_footer, decode_footer, read_all_rows};
pub use live_rows::LiveRows;
pub use pages::{ChunkMemory, Pages, measure_chunk};
pub use picked_rows::{RowsWith, TextRows};
pub use row_group_writer::{ColumnData, EncodedChunk, RowGroupWriter};
pub use stored_column::{StoredColumn, Validity, ValueOfRow};
pub use text_column::{TextColumn, TextColumnBuilder};
