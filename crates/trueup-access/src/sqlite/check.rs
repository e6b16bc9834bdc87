//! Whether the contents of a file agree with each other.

use super::fault::SqliteFault;
use rusqlite::Connection;

/// The most findings that an error reports; a damaged file may have thousands.
const FINDINGS: usize = 5;

/// The size up to which a file is checked whole whenever it is opened, which takes about a tenth of a second for so much.
const SMALL: u64 = 8 << 20;

/// Refuses a file of that many bytes that ends within a page, which SQLite would fill up with zeros.
pub(super) fn check_length(connection: &Connection, bytes: u64) -> Result<(), SqliteFault> {
    let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    if bytes.is_multiple_of(page.into()) {
        return Ok(());
    }
    Err(SqliteFault::Findings(vec![format!("it has {bytes} bytes, and ends within a page of {page}")]))
}

/// How closely a file is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckDepth {
    /// Every page of every table.
    Quick,
    /// That, every index against its table, and every reference: four times as long.
    Full,
}

impl CheckDepth {
    /// For opening a file of that many bytes: with 100,000 users the quick check takes 0.1 s, the full one 0.6 s.
    pub(super) const fn to_open(bytes: u64) -> Self {
        if bytes <= SMALL { Self::Full } else { Self::Quick }
    }
}

/// The first findings, none if all is well.
pub(super) fn findings(connection: &Connection, depth: CheckDepth) -> Result<Vec<String>, SqliteFault> {
    let pragma = if depth == CheckDepth::Full { "integrity_check" } else { "quick_check" };
    let mut findings = all(connection, &format!("PRAGMA {pragma}({FINDINGS})"), |row| row.get::<_, String>(0))?;
    findings.retain(|finding| finding != "ok");
    if findings.is_empty() && depth == CheckDepth::Full {
        findings = all(connection, "PRAGMA foreign_key_check", |row| {
            let (table, of): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of `{table}` refers to a row of `{of}` that is not there"))
        })?;
    }
    findings.truncate(FINDINGS);
    Ok(findings.iter().map(|finding| finding.trim().replace('\n', ": ")).collect())
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SqliteFault> {
    Ok(connection.prepare(sql)?.query_map([], row)?.collect::<Result<_, _>>()?)
}
