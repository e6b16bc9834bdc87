//! Answers a request of the HTTP API in this process: a user, a key, a request, a JSON response.
//!
//! Run it with `cargo run -p trueup --example service_in_process`.

use std::error::Error;
use std::sync::Arc;
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory};
use trueup::service::{Clock, Request, Service, SystemClock};
use trueup_ingest::Ingest;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
    std::fs::write(
        &events,
        "account,opportunityId,type,date\n\
         acme,1,lead-originated,2025-01-03\n\
         other,1,lead-originated,2025-01-04\n",
    )?;
    Ingest::into(&path).events(&events).run()?;

    // Users and keys in memory. With the feature `sqlite`, `SqliteDirectory` keeps them in a file.
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default())?);
    directory.add_account("acme")?;
    directory.add_user("anna@example.com")?;
    directory.grant("anna@example.com", &Grant::Account("acme".to_owned()))?;
    let key = directory.create_key("anna@example.com", SystemClock.now())?;

    let service = Service::builder(Arc::new(Dataset::open(&path)?), directory).build();
    let ask = |organization: &str| {
        service.handle(&Request {
            authorization: Some(key.secret.reveal().to_owned()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(format!("/api/{organization}/events?fields=leads&start=2025-01-01&end=2025-01-31"))
        })
    };

    let response = ask("acme");
    assert_eq!(response.status, 200);
    assert_eq!(std::io::read_to_string(response.body.reader())?, r#"[{"leads":1}]"#);
    // The key does not reach this account, so the service says neither that it exists nor that it does not.
    assert_eq!(ask("other").status, 404);
    Ok(())
}
