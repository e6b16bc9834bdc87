//! What a footer says, looked at before Parquet's reader makes room for it.

use super::thrift::{Thrift, Value};
use parquet::errors::{ParquetError, Result};

/// The most row groups that Parquet can number.
const ROW_GROUPS: usize = 1 << 15;

/// How deep columns may lie in each other: the reader goes down on its stack.
const DEPTH: usize = 32;

/// Checks that the counts of a footer are such as its bytes can hold, and that its columns do not lie in each other without end.
///
/// # Errors
/// They are not.
pub fn check_footer(footer: &[u8]) -> Result<()> {
    let read = Thrift::new(footer).fields(|thrift, id, value| match (id, &value) {
        (2, Value::List) => columns(thrift),
        (4, Value::List) => {
            let count = thrift.structures().filter(|count| *count <= ROW_GROUPS)?;
            (0..count).try_for_each(|_| thrift.pass(&Value::Struct))
        }
        _ => thrift.pass(&value),
    });
    read.ok_or_else(|| {
        ParquetError::General(format!(
            "the footer is damaged: it counts more than its bytes hold, or more than {ROW_GROUPS} row groups, or its columns lie \
             more than {DEPTH} deep in each other"
        ))
    })
}

fn columns(thrift: &mut Thrift<'_>) -> Option<()> {
    /// The field of a column that says how many lie in it.
    const CHILDREN: i64 = 5;

    // For each column that the next one may lie in, how many are to come.
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..thrift.structures()? {
        let mut children = 0;
        thrift.fields(|thrift, id, value| {
            if let (CHILDREN, Value::Number(number)) = (id, &value) {
                children = *number;
            }
            thrift.pass(&value)
        })?;
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        (open.len() <= DEPTH).then_some(())?;
    }
    Some(())
}
