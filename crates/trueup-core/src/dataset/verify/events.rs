//! The check of the event files, and of the customers of all of them.

use super::FileFault;
use crate::Day;
use crate::dataset::prune::RowGroupBounds;
use crate::dataset::table_file::TableFile;
use crate::model::{OPPORTUNITY_ID, QuarterSpan};
use crate::scan::{ColumnFault, EventColumns, EventProjection, TableColumns, TextColumn, customer_numbers};
use hashbrown::HashSet;
use sha2::{Digest, Sha256};

/// The customers of the files checked so far.
#[derive(Default)]
pub(super) struct Customers {
    /// The first bytes of a digest of each customer.
    seen: HashSet<[u8; 16]>,
}

/// What customers are sorted by in a row group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CustomerKey<'a> {
    account: &'a str,
    start: u16,
    opportunity_id: &'a str,
}

impl Customers {
    /// Checks a file, and its customers against those of the files before.
    pub(super) fn check(&mut self, file: &TableFile) -> Result<(), FileFault> {
        let texts = file.texts().map(str::to_owned).collect();
        let projection = EventProjection { texts, totals: true, date_times: true };
        let mut next = 0;
        for row_group in 0..file.row_groups() {
            let rows = file.read(row_group, &projection.columns(true))?;
            let damaged = |fault| file.damaged(row_group, fault);
            let columns = EventColumns::decode(&rows, &projection).map_err(damaged)?;
            file.bounds(row_group).check(&columns).map_err(damaged)?;
            let numbers = customer_numbers(&rows).map_err(damaged)?;
            let Some(ids) = columns.text(OPPORTUNITY_ID) else {
                return Err(damaged(ColumnFault::new(OPPORTUNITY_ID, "the column is missing")).into());
            };
            next = self
                .check_row_group(&columns, &numbers, ids, next)
                .map_err(|(row, fault)| FileFault::at(file, row_group, row, fault))?;
        }
        Ok(())
    }

    /// Checks a row group whose first customer must be number `next` of the file, and returns the number after its last
    /// customer. An error is a row and what is wrong with it.
    fn check_row_group(
        &mut self,
        columns: &EventColumns,
        numbers: &[i32],
        ids: &TextColumn,
        next: i64,
    ) -> Result<i64, (usize, String)> {
        let (Some(first_number), Some(last_number)) = (numbers.first(), numbers.last()) else { return Ok(next) };
        // Decoding has checked that numbers increase by one inside a row group.
        if next != i64::from(*first_number) {
            return Err((
                0,
                format!("the row group begins with the customer {first_number} of the file, out of order"),
            ));
        }
        let id = |customer: usize, row: usize| &ids.dictionary()[ids.code(customer, row) as usize];
        let mut previous = None;
        let mut period = None;
        for number in 0..columns.customers.len() {
            let rows = columns.customers.events(number);
            let first = rows.start;
            let account = &columns.customers.account_keys()[columns.customers.accounts().get(number) as usize];
            let opportunity_id = id(number, first);
            if opportunity_id.is_empty() {
                return Err((first, format!("a customer of `{account}` has no `{OPPORTUNITY_ID}`")));
            }
            if let Some(other) = rows.clone().find(|row| id(number, *row) != opportunity_id) {
                return Err((
                    other,
                    format!("the customer `{opportunity_id}` of `{account}` has another `{OPPORTUNITY_ID}`"),
                ));
            }
            let customer = CustomerKey { account, start: columns.days[first], opportunity_id };
            // A customer that occurs twice may also be out of order. The repetition is reported, because it says more.
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
                QuarterSpan::of(Day::from_number(columns.days[first]), Day::from_number(columns.days[rows.end - 1]));
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

impl CustomerKey<'_> {
    /// Returns the first bytes of a digest of the customer: of its account and its id, but not of its start.
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

impl RowGroupBounds {
    /// Checks that every row of a row group is inside the bounds, because queries skip row groups by them.
    fn check(&self, columns: &EventColumns) -> Result<(), ColumnFault> {
        if let Some((first, last)) = &self.accounts {
            let inside = |key: &[u8]| first.as_slice() <= key && key <= last.as_slice();
            if !columns.customers.present_accounts().all(|key| inside(key.as_bytes())) {
                return Err(ColumnFault::new("account", "an account is not within the statistics"));
            }
        }
        if let Some((first, last)) = self.days
            && !columns.days.iter().all(|day| (first..=last).contains(&i32::from(*day)))
        {
            return Err(ColumnFault::new("date", "a date is not within the statistics"));
        }
        Ok(())
    }
}
