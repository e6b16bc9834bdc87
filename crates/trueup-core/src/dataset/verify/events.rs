//! The rows of the event files, and the customers of all of them.

use super::Fault;
use crate::Day;
use crate::dataset::Bounds;
use crate::dataset::file::TableFile;
use crate::model::{OPPORTUNITY_ID, QuarterSpan};
use crate::scan::{ColumnFault, EventColumns, Projection, TableColumns, TextColumn, customer_numbers};
use hashbrown::HashSet;
use sha2::{Digest, Sha256};

/// The customers of the files checked so far.
#[derive(Default)]
pub(super) struct Customers {
    /// Of each customer, the first bytes of a digest.
    seen: HashSet<[u8; 16]>,
}

/// A customer, as a row group orders them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Customer<'a> {
    account: &'a str,
    start: u16,
    opportunity_id: &'a str,
}

impl Customers {
    /// Checks one file, and its customers against those of the files before.
    pub(super) fn check(&mut self, file: &TableFile) -> Result<(), Fault> {
        let texts = file.texts().map(str::to_owned).collect();
        let projection = Projection { texts, totals: true, date_times: true };
        let mut next = 0;
        for row_group in 0..file.row_groups() {
            let rows = file.read(row_group, &projection.columns(true))?;
            let damaged = |fault| file.damaged(row_group, fault);
            let split = EventColumns::decode(&rows, &projection).map_err(damaged)?;
            file.bounds(row_group).check(&split).map_err(damaged)?;
            let numbers = customer_numbers(&rows).map_err(damaged)?;
            let Some(ids) = split.text(OPPORTUNITY_ID) else {
                return Err(damaged(ColumnFault::new(OPPORTUNITY_ID, "the column is missing")).into());
            };
            next = self
                .check_row_group(&split, &numbers, ids, next)
                .map_err(|(row, fault)| Fault::at(file, row_group, row, fault))?;
        }
        Ok(())
    }

    /// Checks a row group whose first customer has to be number `next` of the file, and gives back which comes after it; on a fault,
    /// its row and what it is.
    fn check_row_group(
        &mut self,
        split: &EventColumns,
        numbers: &[i32],
        ids: &TextColumn,
        next: i64,
    ) -> Result<i64, (usize, String)> {
        let (Some(first_number), Some(last_number)) = (numbers.first(), numbers.last()) else { return Ok(next) };
        // Inside a row group they are known to rise by one.
        if next != i64::from(*first_number) {
            return Err((
                0,
                format!("the row group begins with the customer {first_number} of the file, out of order"),
            ));
        }
        let id = |run: usize, row: usize| &ids.dictionary()[ids.code(run, row) as usize];
        let mut previous = None;
        let mut period = None;
        for run in 0..split.customers.len() {
            let rows = split.customers.events(run);
            let first = rows.start;
            let account = &split.customers.account_keys()[split.customers.accounts().get(run) as usize];
            let opportunity_id = id(run, first);
            if opportunity_id.is_empty() {
                return Err((first, format!("a customer of `{account}` has no `{OPPORTUNITY_ID}`")));
            }
            if let Some(other) = rows.clone().find(|row| id(run, *row) != opportunity_id) {
                return Err((
                    other,
                    format!("the customer `{opportunity_id}` of `{account}` has another `{OPPORTUNITY_ID}`"),
                ));
            }
            let customer = Customer { account, start: split.days[first], opportunity_id };
            // One that occurs twice may be out of order too; that it occurs twice says more.
            if !self.seen.insert(customer.digest()) {
                return Err((
                    first,
                    format!("the customer `{opportunity_id}` of `{account}` occurs twice in the dataset"),
                ));
            }
            if previous.as_ref().is_some_and(|previous| *previous > customer) {
                return Err((first, format!("the customer `{opportunity_id}` of `{account}` is out of order")));
            }
            previous = Some(customer);
            let of_customer =
                QuarterSpan::of(Day::from_number(split.days[first]), Day::from_number(split.days[rows.end - 1]));
            if *period.get_or_insert(of_customer) != of_customer {
                return Err((
                    first,
                    format!(
                        "the customer `{opportunity_id}` of `{account}` is of other quarters than the one before it, and so \
                         belongs in another row group"
                    ),
                ));
            }
        }
        Ok(i64::from(*last_number) + 1)
    }
}

impl Customer<'_> {
    fn digest(&self) -> [u8; 16] {
        let mut digest = Sha256::new();
        digest.update((self.account.len() as u64).to_le_bytes());
        digest.update(self.account);
        digest.update(self.opportunity_id);
        let mut first = [0; 16];
        for (byte, of_digest) in first.iter_mut().zip(digest.finalize()) {
            *byte = of_digest;
        }
        first
    }
}

impl Bounds {
    /// Whether every row of a row group lies inside; a query leaves unread what lies outside.
    fn check(&self, split: &EventColumns) -> Result<(), ColumnFault> {
        if let Some((first, last)) = &self.accounts {
            let inside = |key: &[u8]| first.as_slice() <= key && key <= last.as_slice();
            if !split.customers.present_accounts().all(|key| inside(key.as_bytes())) {
                return Err(ColumnFault::new("account", "an account is not within the statistics"));
            }
        }
        if let Some((first, last)) = self.days
            && !split.days.iter().all(|day| (first..=last).contains(&i32::from(*day)))
        {
            return Err(ColumnFault::new("date", "a date is not within the statistics"));
        }
        Ok(())
    }
}
