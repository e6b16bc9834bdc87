//! Whether the contents of a file agree with each other.

use super::fault::Fault;
use rusqlite::Connection;

/// Findings that are told; a damaged file may have thousands.
const FINDINGS: usize = 5;

/// How closely a file is looked at.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    /// Every page of every table, and every reference. For each opening.
    Quick,
    /// That, and every index against its table, which takes several times as long.
    Full,
}

/// The first findings, none if all is well.
pub(super) fn findings(connection: &Connection, depth: Depth) -> Result<Vec<String>, Fault> {
    let pragma = match depth {
        Depth::Quick => "quick_check",
        Depth::Full => "integrity_check",
    };
    let mut findings = all(connection, &format!("PRAGMA {pragma}({FINDINGS})"), |row| row.get::<_, String>(0))?;
    findings.retain(|finding| finding != "ok");
    if findings.is_empty() {
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
) -> Result<Vec<T>, Fault> {
    Ok(connection.prepare(sql)?.query_map([], row)?.collect::<Result<_, _>>()?)
}
