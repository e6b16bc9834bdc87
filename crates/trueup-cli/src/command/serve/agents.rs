//! The door for agents at `/mcp`: the tools of `trueup mcp` over HTTP, with the users, the scopes, the limits and the
//! log of the service.

use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use trueup::service::{Service, ServiceError, SignedIn};
use trueup::{Dataset, Day, Error, Execution};
use trueup_mcp::{Caller, Fault, HttpDoor, KnownData, Organization, Settings, Toolbox, Visit};
use trueup_server::{Door, DoorAnswer, DoorBody};

/// The sets of accounts above which what is known of all of them is forgotten.
const MANY_SCOPES: usize = 4_096;

/// The options of the door for agents.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct AgentArgs {
    /// Also answer agents at /mcp, over HTTP as the Model Context Protocol has it, with the same users and keys. Each
    /// call of a tool is one request of the hour
    #[arg(long, help_heading = "Agents")]
    mcp: bool,

    /// A host that agents may name in their requests, such as that of a proxy. Repeat the option for several. This
    /// machine's own loopback names, and the address of --listen, are always allowed
    #[arg(long = "allow-host", value_name = "HOST", help_heading = "Agents", requires = "mcp")]
    allowed_hosts: Vec<String>,

    /// Answer questions of agents about names, phones, e-mails, transcripts and recordings of customers
    #[arg(long, help_heading = "Agents", requires = "mcp")]
    allow_personal: bool,

    /// The day that ranges of agents such as `last-month` count from; by default that of the clock, in the time zone of
    /// the accounts
    #[arg(long, value_name = "DATE", help_heading = "Agents", requires = "mcp")]
    today: Option<Day>,
}

impl AgentArgs {
    /// Returns the door of a service that listens on an address; `None` unless it is asked for.
    pub(super) fn door(&self, service: &Arc<Service>, address: IpAddr) -> Option<Arc<dyn Door>> {
        if !self.mcp {
            return None;
        }
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !address.is_unspecified() {
            hosts.push(address.to_string());
        }
        hosts.extend(self.allowed_hosts.iter().cloned());
        let settings = Settings {
            allow_personal: self.allow_personal,
            today: self.today,
            privacy: service.privacy(),
            account_intervals: Some(service.limits().account_intervals),
            deadline: Some(service.limits().deadline),
            ..Settings::default()
        };
        let agents = Arc::new(Agents { service: Arc::clone(service), settings, known: Mutex::default() });
        Some(Arc::new(AgentDoor { door: HttpDoor::new(&hosts), agents }))
    }
}

/// The door for agents.
#[derive(Debug)]
struct AgentDoor {
    door: HttpDoor,
    agents: Arc<Agents>,
}

/// What all agents share.
#[derive(Debug)]
struct Agents {
    service: Arc<Service>,
    settings: Settings,
    known: Mutex<DataOfScopes>,
}

/// What is known of each set of accounts that was asked for, in one version. Each call would compute it again.
#[derive(Debug, Default)]
struct DataOfScopes {
    version: Weak<Dataset>,
    by_accounts: HashMap<BTreeSet<String>, KnownData>,
}

impl Agents {
    /// Returns what is known of some accounts, which is computed when it is first needed.
    fn known(&self, dataset: &Arc<Dataset>, accounts: &BTreeSet<String>) -> KnownData {
        let version = Arc::downgrade(dataset);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.version.ptr_eq(&version) || known.by_accounts.len() >= MANY_SCOPES {
            *known = DataOfScopes { version, by_accounts: HashMap::new() };
        }
        known.by_accounts.entry(accounts.clone()).or_default().clone()
    }
}

impl Door for AgentDoor {
    fn path(&self) -> &str {
        "/mcp"
    }

    fn answer(&self, caller: SignedIn, request: Request<Full<Bytes>>) -> DoorAnswer<'_> {
        let memory = self.agents.service.answer_memory(&caller);
        let visit = Visitor { agents: Arc::clone(&self.agents), caller };
        Box::pin(async {
            let response = self.door.answer(request, Arc::new(visit)).await;
            response.map(|body| DoorBody::frames(body, memory))
        })
    }
}

/// A user of the service who calls tools.
#[derive(Debug)]
struct Visitor {
    agents: Arc<Agents>,
    caller: SignedIn,
}

impl Visitor {
    /// Returns the tools of the user. The directory may have accounts that have no data yet.
    fn toolbox(&self) -> Result<Toolbox, Fault> {
        let (dataset, reach) = (self.agents.service.dataset(), &self.caller.reach);
        let mut keys: BTreeSet<String> = reach.accounts().accounts().map(str::to_owned).collect();
        let named: Vec<String> = keys.iter().cloned().collect();
        for key in dataset.missing_accounts(&named)? {
            keys.remove(key);
        }
        let organizations = reach.organizations().into_iter().map(|organization| Organization {
            id: organization.id().to_owned(),
            accounts: organization.accounts().accounts().map(str::to_owned).collect(),
        });
        let organizations = organizations.collect();
        let known = self.agents.known(&dataset, &keys);
        let caller = Caller { user: Some(self.caller.user().to_owned()), organizations, accounts: Some(keys) };
        Ok(Toolbox::new(dataset, caller, self.agents.settings.clone()).sharing(&known))
    }
}

impl Visit for Visitor {
    fn begin(&self) -> Result<(Arc<Toolbox>, Execution), Fault> {
        let service = &self.agents.service;
        service.count(&self.caller).map_err(|error| refused(&error))?;
        let budget = service.memory_budget().map(|budget| budget.for_user(self.caller.user()));
        let memory = budget.map(|budget| budget.reserve(0)).transpose().map_err(Error::from)?;
        let execution =
            Execution { memory: memory.map(Arc::new), max_rows: Some(service.limits().rows), ..Execution::default() };
        Ok((Arc::new(self.toolbox()?), execution))
    }
}

/// Returns the fault of a call that the service refuses.
fn refused(error: &ServiceError) -> Fault {
    Fault::new(error.code().unwrap_or("signed-out"), error.to_string(), "ask the person who runs this server")
}
