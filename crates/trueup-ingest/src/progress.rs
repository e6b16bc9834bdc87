//! How far an ingest is.

/// Is told how far an ingest is; called from several threads.
pub trait Progress: Sync {
    /// A stage begins, with the bytes that it will work through, if they are known.
    fn stage(&self, name: &str, total_bytes: Option<u64>);

    /// So many more bytes of the stage are done.
    fn advance(&self, bytes: u64);
}

/// Tells nobody.
impl Progress for () {
    fn stage(&self, _name: &str, _total_bytes: Option<u64>) {}

    fn advance(&self, _bytes: u64) {}
}
