//! A small service for tests (two accounts of one organization, their customers, and a user), and a server that runs in
//! a thread of the test.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;
use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory, Organization, UnixTime};
use trueup::service::{Body, Clock, Request, Response, Service, ServiceBuilder};
use trueup::{Dataset, Tables};
use trueup_server::{Server, Settings, SignInLinks};

/// 2025-04-15 12:15:00 UTC.
const NOW: UnixTime = UnixTime::from_seconds(1_744_719_300);

pub(crate) const USER: &str = "walter@example.com";
pub(crate) const ORGANIZATION: &str = "waterworks";

/// A request for one row of about 800 bytes per customer, with all fields of lead grading.
pub(crate) const CUSTOMERS: &str = "/api/waterworks/events?start=2025-01-01&end=2025-01-31&fields=opportunityId,campaign,leads,\
     conversionDetailedLabel,conversionIntent,conversionReasonUnbookable,conversionReasonLost,conversionOutOfServiceAreaZip,\
     conversionNotOfferedServiceRequested,conversionNeedsManagementReview,conversionPlannedFollowUpSubcategory,\
     conversionVersion,conversionOriginalDetailedLabel,conversionOriginalIntent,conversionOriginalReasonUnbookable,\
     conversionOriginalReasonLost,opportunityDetailedLabel,opportunityReasonUnbookable,opportunityReasonLost,\
     opportunityIntent,conversionTranscript,conversionCallOrChatSummary,recordingPlayer,opportunityTranscript";

pub(crate) struct Town {
    pub(crate) service: Arc<Service>,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) key: String,
    pub(crate) session: String,
    pub(crate) gate: Arc<Gate>,
}

/// A gate that stops requests before they query the dataset, when they read the clock.
#[derive(Default)]
pub(crate) struct Gate {
    /// Whether the gate is closed, and how many requests have reached it.
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

    /// Returns how many requests have reached the gate.
    pub(crate) fn arrived(&self) -> usize {
        self.state.lock().unwrap().1
    }

    /// Waits until `requests` requests have reached the gate.
    pub(crate) fn wait_for(&self, requests: usize) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |(_, arrived)| *arrived < requests).unwrap());
    }
}

struct GateClock(Arc<Gate>);

impl Clock for GateClock {
    fn now(&self) -> UnixTime {
        let mut state = self.0.state.lock().unwrap();
        state.1 += 1;
        self.0.changed.notify_all();
        drop(self.0.changed.wait_while(state, |(is_closed, _)| *is_closed).unwrap());
        NOW
    }
}

/// Creates a dataset of `customers` customers.
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
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(settings).unwrap());
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
        let builder = Service::builder(dataset, Arc::clone(&directory)).clock(GateClock(Arc::clone(&gate)));
        Self { service: Arc::new(build(builder).build()), directory, key, session, gate }
    }

    /// Sends a request to the service without HTTP.
    pub(crate) fn handle(&self, path: &str) -> Response {
        self.service.handle(&Request {
            authorization: Some(self.key.clone()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path)
        })
    }

    /// Returns the bytes of a request with the key.
    pub(crate) fn request(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: h\r\n{}\r\n", self.headers())
    }

    /// Returns header lines with the key.
    pub(crate) fn headers(&self) -> String {
        format!("Authorization: {}\r\nAccept-Encoding: identity\r\n", self.key)
    }
}

/// Returns settings whose timeouts are longer than a test, so that a slow machine only makes a test slow.
pub(crate) fn patient() -> Settings {
    let long = Duration::from_secs(300);
    Settings {
        header_timeout: long,
        idle_timeout: long,
        write_timeout: long,
        half_closed_timeout: long,
        ..Settings::default()
    }
}

/// A server on a free port. Dropping it stops it.
pub(crate) struct RunningServer {
    pub(crate) address: SocketAddr,
    /// The address of operators, if there is one.
    pub(crate) operators: Option<SocketAddr>,
    signal: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl RunningServer {
    pub(crate) fn new(service: &Arc<Service>, settings: Settings) -> Self {
        Self::start(Server::bind("127.0.0.1:0", Arc::clone(service), settings).unwrap(), None)
    }

    /// Starts a server whose explorer signs in by links.
    pub(crate) fn with_links(service: &Arc<Service>, links: SignInLinks) -> Self {
        let server = Server::bind("127.0.0.1:0", Arc::clone(service), patient()).unwrap();
        Self::start(server.sign_in_links(links), None)
    }

    /// Starts a server with a listener of operators.
    pub(crate) fn with_operators(service: &Arc<Service>, settings: Settings) -> Self {
        let mut server = Server::bind("127.0.0.1:0", Arc::clone(service), settings).unwrap();
        let operators = server.listen_for_operators("127.0.0.1:0").unwrap();
        Self::start(server, Some(operators))
    }

    pub(crate) fn start(server: Server, operators: Option<SocketAddr>) -> Self {
        let address = server.local_addr();
        let (signal, signaled) = oneshot::channel();
        let thread = thread::spawn(move || {
            server.run_until(async {
                let _ = signaled.await;
            })
        });
        Self { address, operators, signal: Some(signal), thread: Some(thread) }
    }

    /// Sends the stop signal.
    pub(crate) fn stop(&mut self) {
        self.signal = None;
    }

    /// Stops the server and waits for its end.
    pub(crate) fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.join();
        }
    }
}

/// Reads a body to its end.
pub(crate) fn bytes(body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    body.reader().read_to_end(&mut bytes).unwrap();
    bytes
}
