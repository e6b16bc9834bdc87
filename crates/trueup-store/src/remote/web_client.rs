//! The clients with which stores and web servers are asked: their TLS, and where redirects may lead.
//!
//! A URL says which machine is asked. With a redirect, the server of that machine decides about the next one. So a
//! redirect keeps `https`, and reaches no address of a special class, such as loopback, unless the URL itself was of
//! an address of that class. Addresses are checked where names are resolved, so that a connection goes to no other
//! address than one that was checked.

use super::fault::describe;
use super::location::REQUEST_TIME;
use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Action, Attempt, Policy};
use rustls::ClientConfig;
use rustls::crypto::ring;
use std::collections::{BTreeSet, HashMap};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use url::{Host, Url};

/// The time to connect to a server.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The most redirects that a request follows.
const MAX_REDIRECTS: usize = 10;

/// Returns the settings of a client of web servers. The end of an answer of HTTP/1 is certain if the answer has a
/// length or comes in chunks. With HTTP/2, a server can end an answer early, and the client reports no error.
pub(super) fn web_client() -> io::Result<ClientBuilder> {
    let guard = Arc::new(RedirectGuard::default());
    let policy = Arc::clone(&guard);
    let builder = reqwest::Client::builder()
        .http1_only()
        .connect_timeout(CONNECT_TIME)
        .user_agent(concat!("trueup/", env!("CARGO_PKG_VERSION")))
        // The header would tell the URL, with the secret in it, to the server that a redirect leads to.
        .referer(false)
        .redirect(Policy::custom(move |attempt| policy.decide(attempt)))
        .dns_resolver(GuardedResolver(guard));
    Ok(builder.tls_backend_preconfigured(tls()?))
}

/// Returns a client for requests to a service on the web, such as one of trueup. A redirect keeps `https`, and reaches
/// no address of a special class, such as loopback, that the URL itself does not have.
///
/// # Errors
/// The authorities that the system trusts cannot be read.
pub fn http_client() -> io::Result<reqwest::Client> {
    web_client()?.build().map_err(io::Error::other)
}

/// Returns the settings of TLS: those of ring, and the authorities that the system trusts. They are no settings of the
/// process, whose provider of TLS is up to the program that this library is part of.
fn tls() -> io::Result<ClientConfig> {
    static CONFIG: OnceLock<Result<ClientConfig, String>> = OnceLock::new();

    let make = || -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        // A verifier of one's own is called dangerous; this one is the platform's.
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    };
    // The authorities are read once, because there are many.
    CONFIG.get_or_init(|| make().map_err(|error| describe(&error))).clone().map_err(io::Error::other)
}

/// Makes the clients of stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreConnector;

/// Settings of the environment that these clients do not have. They would weaken TLS, or name authorities in a way of
/// their own.
const UNSUPPORTED: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::AllowInvalidCertificates, "false"),
    (ClientConfigKey::NoSystemCertificates, "false"),
    (ClientConfigKey::ProxyCaCertificate, ""),
];

impl HttpConnector for StoreConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let refused = |source: Box<dyn StdError + Send + Sync>| object_store::Error::Generic { store: "HTTP", source };
        let option = |key| options.get_config_value(&key);
        for (key, otherwise) in UNSUPPORTED {
            if option(key).is_some_and(|value| value != otherwise) {
                let fault =
                    format!("the setting `{}` is not supported; name authorities in `SSL_CERT_FILE`", key.as_ref());
                return Err(refused(fault.into()));
            }
        }
        let mut builder = web_client().map_err(|error| refused(error.into()))?;
        builder = builder.timeout(REQUEST_TIME);
        // A second (`1s`) for the servers that give credentials to machines of a cloud, which are near or absent.
        let connect_time =
            option(ClientConfigKey::ConnectTimeout).and_then(|time| time.strip_suffix('s')?.parse().ok());
        if let Some(seconds) = connect_time {
            builder = builder.connect_timeout(Duration::from_secs(seconds));
        }
        if let Some(agent) = option(ClientConfigKey::UserAgent) {
            builder = builder.user_agent(agent);
        }
        if let Some(proxy) = option(ClientConfigKey::ProxyUrl) {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| refused(error.into()))?;
            let excluded = option(ClientConfigKey::ProxyExcludes);
            let excluded = excluded.and_then(|excluded| reqwest::NoProxy::from_string(&excluded));
            builder = builder.proxy(proxy.no_proxy(excluded));
        }
        let allows_http = option(ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let client = builder.https_only(!allows_http).build().map_err(|error| refused(error.into()))?;
        Ok(HttpClient::new(client))
    }
}

/// A class of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressClass {
    /// Anywhere in the internet. Any redirect may lead there.
    Public,
    Loopback,
    /// Of a network at home or in a company.
    Private,
    /// Of the same network, such as the servers that give credentials to machines in a cloud.
    LinkLocal,
    /// `0.0.0.0`, which many systems take for loopback.
    Unspecified,
    Multicast,
    /// Of a special purpose, or of none.
    Reserved,
}

/// The ranges are those of the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates). Some
/// of their smaller ranges, such as the anycast addresses in 192.0.0.0/24, are public, but no files are there.
impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [169, 254, ..] => Self::LinkLocal,
            // The range of protocols, in which one cloud has its server of credentials (192.0.0.192), and the address
            // at which Azure has that of its platform, which is in no registry.
            [192, 0, 0, _] | [168, 63, 129, 16] => Self::LinkLocal,
            // Documentation, the former relays of 6to4, and benchmarks of devices.
            [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] | [198, 18..=19, ..] => {
                Self::Reserved
            }
            [224..=239, ..] => Self::Multicast,
            [240..=255, ..] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let embedded = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // An address of IPv4: mapped, compatible or translated. In a network of IPv6 alone, all public addresses of
            // IPv4 are translated to 64:ff9b::/96.
            [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
            // 6to4, whose public relays are gone.
            [0x2002, high, low, ..] => match embedded(high, low) {
                Self::Public => Self::Reserved,
                class => class,
            },
            // The rest of a translation inside of one network.
            [0x64, 0xff9b, 1, ..] => Self::Private,
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Self::Private,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // The range of protocols, such as Teredo and benchmarks, and documentation.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Reserved,
            [0x2000..=0x3fff, ..] => Self::Public,
            // Outside of global unicast, such as the discarded addresses 100::/64 and the segments 5f00::/16.
            _ => Self::Reserved,
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        })
    }
}

/// Returns the first address that a redirect may not reach, given the classes of the addresses of the URL itself.
fn first_forbidden(named: &BTreeSet<AddressClass>, addresses: &[IpAddr]) -> Option<(IpAddr, AddressClass)> {
    let mut classes = addresses.iter().map(|address| (*address, AddressClass::of(*address)));
    classes.find(|(_, class)| *class != AddressClass::Public && !named.contains(class))
}

/// Why a redirect is not followed. The host is the one that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RedirectFault {
    #[error(
        "a redirect leads to `{host}`, whose address {address} is {class}; only a URL of such an address may lead there"
    )]
    Address { host: String, address: IpAddr, class: AddressClass },
    #[error("a redirect leads to `{host}`, and from `{before}` to `{scheme}`")]
    Scheme { host: String, before: String, scheme: String },
    #[error("a redirect leads to `{host}`, but at most {} redirects are followed", MAX_REDIRECTS)]
    Number { host: String },
}

impl RedirectFault {
    /// Returns the fault that is the cause of an error.
    pub(super) fn of(error: &reqwest::Error) -> Option<&Self> {
        let mut causes = std::iter::successors(StdError::source(error), |cause: &&(dyn StdError + 'static)| {
            StdError::source(*cause)
        });
        causes.find_map(|cause| cause.downcast_ref())
    }
}

/// Decides where the redirects of a client may lead.
#[derive(Debug, Default)]
struct RedirectGuard(Mutex<GuardedHosts>);

/// The hosts that a client knows, by their names.
#[derive(Debug, Default)]
struct GuardedHosts {
    /// The addresses that a host had when its name was first resolved.
    resolved: HashMap<String, Vec<IpAddr>>,
    /// The classes that each host may have to which a redirect leads.
    targets: HashMap<String, BTreeSet<AddressClass>>,
}

impl RedirectGuard {
    fn lock(&self) -> MutexGuard<'_, GuardedHosts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about a redirect. The address of a name is checked when the name is resolved.
    fn decide(&self, attempt: Attempt<'_>) -> Action {
        let fault = match attempt.previous() {
            [] => None,
            previous => self.fault(previous, attempt.url()),
        };
        match fault {
            Some(fault) => attempt.error(fault),
            None => attempt.follow(),
        }
    }

    /// Returns why a redirect is not followed, given the URLs so far. The first one is the one that was asked for.
    fn fault(&self, previous: &[Url], next: &Url) -> Option<RedirectFault> {
        let host = next.host_str().unwrap_or_default().to_owned();
        if previous.len() > MAX_REDIRECTS {
            return Some(RedirectFault::Number { host });
        }
        let (before, scheme) = (previous.last().map_or("", |last| last.scheme()), next.scheme());
        if !matches!((before, scheme), (_, "https") | ("http", "http")) {
            return Some(RedirectFault::Scheme { host, before: before.to_owned(), scheme: scheme.to_owned() });
        }
        let mut hosts = self.lock();
        let named = match previous.first().and_then(Url::host) {
            Some(Host::Domain(name)) => {
                hosts.resolved.get(name).into_iter().flatten().map(|address| AddressClass::of(*address)).collect()
            }
            Some(Host::Ipv4(address)) => BTreeSet::from([AddressClass::of_v4(address)]),
            Some(Host::Ipv6(address)) => BTreeSet::from([AddressClass::of_v6(address)]),
            None => BTreeSet::new(),
        };
        let forbidden = match next.host()? {
            Host::Domain(name) => {
                // What two URLs may not both reach is reached by neither.
                let allowed: BTreeSet<AddressClass> = match hosts.targets.get(name) {
                    Some(before) => before.intersection(&named).copied().collect(),
                    None => named,
                };
                // A connection to one of these addresses may be open.
                let forbidden = hosts.resolved.get(name).and_then(|known| first_forbidden(&allowed, known));
                hosts.targets.insert(name.to_owned(), allowed);
                forbidden
            }
            Host::Ipv4(address) => first_forbidden(&named, &[address.into()]),
            Host::Ipv6(address) => first_forbidden(&named, &[address.into()]),
        };
        let (address, class) = forbidden?;
        Some(RedirectFault::Address { host, address, class })
    }

    /// Checks the addresses of a name before one of them is connected to. Names to which no redirect leads are those of
    /// URLs and of proxies, which may have any address.
    fn check(&self, name: &str, addresses: &[IpAddr]) -> Result<(), RedirectFault> {
        let mut hosts = self.lock();
        let Some(allowed) = hosts.targets.get(name) else {
            hosts.resolved.entry(name.to_owned()).or_insert_with(|| addresses.to_vec());
            return Ok(());
        };
        match first_forbidden(allowed, addresses) {
            None => Ok(()),
            Some((address, class)) => Err(RedirectFault::Address { host: name.to_owned(), address, class }),
        }
    }
}

/// Resolves names as the system does, and passes only addresses on that the guard allows.
struct GuardedResolver(Arc<RedirectGuard>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            // The port of the URL takes the place of this one.
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let ips: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
            guard.check(name.as_str(), &ips)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
