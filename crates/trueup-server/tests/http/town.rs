//! A small town: two plumbers of one organization, their customers, and who may ask for them.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory, Organization, UnixTime};
use trueup::service::{Clock, Request, Response, Service, ServiceBuilder};
use trueup::{Dataset, Tables};

/// 2025-04-15 12:15:00 UTC.
const NOW: UnixTime = UnixTime::from_seconds(1_744_719_300);

pub(crate) const USER: &str = "walter@example.com";
pub(crate) const ORGANIZATION: &str = "waterworks";

/// One row per customer, each of about 800 bytes: all that grading says of it.
pub(crate) const CUSTOMERS: &str = "/api/waterworks/events?start=2025-01-01&end=2025-01-31&fields=opportunityId,campaign,leads,\
     conversionDetailedLabel,conversionIntent,conversionReasonUnbookable,conversionReasonLost,conversionOutOfServiceAreaZip,\
     conversionNotOfferedServiceRequested,conversionNeedsManagementReview,conversionPlannedFollowUpSubcategory,\
     conversionVersion,conversionOriginalDetailedLabel,conversionOriginalIntent,conversionOriginalReasonUnbookable,\
     conversionOriginalReasonLost,opportunityDetailedLabel,opportunityReasonUnbookable,opportunityReasonLost,\
     opportunityIntent,conversionTranscript,conversionCallOrChatSummary,recordingPlayer,opportunityTranscript";

pub(crate) struct Town {
    pub(crate) service: Arc<Service>,
    pub(crate) key: String,
    pub(crate) session: String,
    pub(crate) gate: Arc<Gate>,
}

/// Requests pass it before they ask the dataset: they ask what the time is.
#[derive(Default)]
pub(crate) struct Gate {
    /// Whether it is closed, and how many have come to it.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().0 = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    /// How many have come.
    pub(crate) fn come(&self) -> usize {
        self.state.lock().unwrap().1
    }

    /// Returns once so many have come.
    pub(crate) fn wait_for(&self, requests: usize) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |(_, come)| *come < requests).unwrap());
    }
}

struct Clockwork(Arc<Gate>);

impl Clock for Clockwork {
    fn now(&self) -> UnixTime {
        let mut state = self.0.state.lock().unwrap();
        state.1 += 1;
        self.0.changed.notify_all();
        drop(self.0.changed.wait_while(state, |(is_closed, _)| *is_closed).unwrap());
        NOW
    }
}

/// A town of so many customers.
pub(crate) fn dataset(customers: usize) -> Dataset {
    let campaigns = ["Spring, Drain + Sale", "Zoë's \"50%\" [Va] Drain|$99"];
    let column = |cell: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..customers).map(cell)))
    };
    let events = RecordBatch::try_from_iter([
        ("account", column(&|row| ["east", "west"][row % 2].to_owned())),
        ("opportunityId", column(&|row| format!("customer-{row:07}"))),
        ("type", column(&|_| "lead-originated".to_owned())),
        ("date", column(&|row| format!("2025-01-{:02}", row % 31 + 1))),
        ("campaign", column(&|row| campaigns[row % 2].to_owned())),
    ]);
    Dataset::from_tables(&Tables { events: vec![events.unwrap()], ..Tables::default() }).unwrap()
}

static SMALL: LazyLock<Arc<Dataset>> = LazyLock::new(|| Arc::new(dataset(100)));

impl Town {
    pub(crate) fn new() -> Self {
        Self::with(Arc::clone(&SMALL), |builder| builder)
    }

    pub(crate) fn with(dataset: Arc<Dataset>, build: impl FnOnce(ServiceBuilder) -> ServiceBuilder) -> Self {
        let settings = DirectorySettings::default().hourly_limit(1_000_000);
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(settings));
        directory.add_organization(&Organization::new(ORGANIZATION)).unwrap();
        for account in ["east", "west"] {
            directory.add_account(account).unwrap();
            directory.place_account(account, ORGANIZATION).unwrap();
        }
        directory.add_user(USER).unwrap();
        directory.grant(USER, &Grant::Organization(ORGANIZATION.into())).unwrap();
        let key = directory.create_key(USER, NOW).unwrap().secret.reveal().to_owned();
        let session = directory.open_session(USER, NOW, NOW.plus_seconds(60)).unwrap().reveal().to_owned();
        let gate = Arc::<Gate>::default();
        let builder = Service::builder(dataset, directory).clock(Clockwork(Arc::clone(&gate)));
        Self { service: Arc::new(build(builder).build()), key, session, gate }
    }

    /// The same request without HTTP.
    pub(crate) fn handle(&self, path: &str) -> Response {
        self.service.handle(&Request {
            authorization: Some(self.key.clone()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path)
        })
    }

    /// The lines of the headers of one who has the key.
    pub(crate) fn headers(&self) -> String {
        format!("Authorization: {}\r\nAccept-Encoding: identity\r\n", self.key)
    }
}
