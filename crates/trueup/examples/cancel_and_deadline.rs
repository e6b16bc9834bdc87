//! Ends a query early: from another thread, or at a deadline.
//!
//! Run it with `cargo run -p trueup --example cancel_and_deadline`.

use std::error::Error;
use std::time::Duration;
use trueup::query::EventsQuery;
use trueup::{Dataset, Error as QueryFailure, Execution, Interrupt, Interruption};
use trueup_ingest::Ingest;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
    std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
    Ingest::into(&path).events(&events).run()?;
    let dataset = Dataset::open(&path)?;
    let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    let run =
        |interrupt: &Interrupt| dataset.run(&query, Execution { interrupt: interrupt.clone(), ..Execution::default() });

    // Clones of an interrupt share its state: any of them cancels the query, from any thread.
    let interrupt = Interrupt::default();
    assert!(run(&interrupt).is_ok());
    let handle = interrupt.clone();
    std::thread::spawn(move || handle.cancel()).join().map_err(|_| "the thread panicked")?;
    assert!(matches!(run(&interrupt), Err(QueryFailure::Interrupted(Interruption::Canceled))));

    // A deadline that has passed ends a query at its first check.
    let deadline = Interrupt::after(Duration::ZERO);
    assert!(matches!(run(&deadline), Err(QueryFailure::Interrupted(Interruption::Deadline))));
    Ok(())
}
