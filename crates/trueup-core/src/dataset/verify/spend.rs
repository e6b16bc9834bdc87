//! The rows of a spend file.

use super::Fault;
use crate::dataset::file::TableFile;
use crate::plan::SpendProjection;
use crate::scan::{Columns, SpendSplit};
use std::sync::Arc;

/// Checks that every column decodes, and the order of accounts and dates.
pub(super) fn check(file: &TableFile) -> Result<(), Fault> {
    let mut last: Option<(Arc<str>, u16)> = None;
    let projection = SpendProjection::all();
    for row_group in 0..file.row_groups() {
        let rows = file.read(row_group, &projection.columns(true))?;
        let split = SpendSplit::decode(&rows, &projection).map_err(|fault| file.damaged(row_group, fault))?;
        for (row, day) in split.days.iter().enumerate() {
            let (account, day) = (&split.accounts.texts[split.accounts.codes.get(row) as usize], *day);
            if let Some((last_account, last_day)) = &mut last {
                let unordered = (&*last_account, &*last_day) > (account, &day);
                if unordered {
                    return Err(Fault::at(file, row_group, row, "the rows are not in the order of accounts and dates"));
                }
                if !Arc::ptr_eq(last_account, account) {
                    last_account.clone_from(account);
                }
                *last_day = day;
            } else {
                last = Some((account.clone(), day));
            }
        }
    }
    Ok(())
}
