//! The rows of a spend file.

use super::Fault;
use crate::Day;
use crate::dataset::file::TableFile;
use crate::scan::{SpendColumns, SpendProjection, TableColumns};

/// Checks that every column decodes, and the order of calendar quarters, accounts and dates.
pub(super) fn check(file: &TableFile) -> Result<(), Fault> {
    let mut last: Option<(u16, String, u16)> = None;
    let projection = SpendProjection::all();
    for row_group in 0..file.row_groups() {
        let rows = file.read(row_group, &projection.columns(true))?;
        let split = SpendColumns::decode(&rows, &projection).map_err(|fault| file.damaged(row_group, fault))?;
        for (row, day) in split.days.iter().copied().enumerate() {
            let account = &split.accounts.texts[split.accounts.codes.get(row) as usize];
            let quarter = Day::from_number(day).quarter();
            if last
                .as_ref()
                .is_some_and(|(last, key, last_day)| (*last, key.as_str(), *last_day) > (quarter, account, day))
            {
                let fault = "the rows are not in the order of quarters, accounts and dates";
                return Err(Fault::at(file, row_group, row, fault));
            }
            last = Some((quarter, account.to_owned(), day));
        }
    }
    Ok(())
}
