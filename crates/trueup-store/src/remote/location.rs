//! The store and the prefix that a URL means. Credentials come from the places that each cloud's own tools use:
//! variables of the environment, files of the cloud's tools where the store's client or `aws_profile` reads them, and
//! the identity of the machine.

use super::aws_profile::with_profile;
use super::fault;
use super::web_client::{StoreConnector, web_client};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::{Path as ObjectPath, PathPart};
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// The time for an answer to one request, with its body.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(30);

/// The time from the first attempt of a request after which it is not repeated.
pub(super) const RETRY_TIME: Duration = Duration::from_secs(30);

/// The most repetitions of a request that fails.
pub(super) const RETRIES: usize = 8;

/// The time before the first repetition of a publication.
const PAUSE: Duration = Duration::from_millis(100);

/// The most stores that are kept for later, unless more are in use.
const KEPT_STORES: usize = 64;

/// The folders that URLs mean, so that the connections to a store are used for all of its objects, and later again.
static FOLDERS: Mutex<Option<HashMap<String, RemoteStore>>> = Mutex::new(None);

/// The URLs that mean a store, for error messages.
const EXPECTED: &str =
    "expected `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `az://CONTAINER/FOLDER` or `https://HOST/FOLDER`";

/// A folder in an object store, such as that of a dataset: a prefix of the names of objects.
#[derive(Clone, Debug)]
pub struct RemoteStore {
    pub(super) store: Arc<Client>,
    pub(super) prefix: ObjectPath,
}

/// A store, and the connections to it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// The server and the account that the environment names in place of the URL; empty if it names none.
    pub(super) server: String,
    /// A client of the same store that repeats no request.
    once: Once,
    /// The time before the first repetition of a publication; each further one waits twice as long, up to a bound.
    pub(super) pause: Duration,
    /// The page by which a web server lists a folder; `None` for other stores, which list objects themselves.
    pub(super) pages: Option<WebPages>,
}

/// How a client that repeats no request comes about.
#[derive(Debug)]
enum Once {
    /// It is made with the settings and credentials of the environment.
    Of(ObjectStoreScheme, Url),
    Registered(Arc<dyn ObjectStore>),
}

/// A folder of a web server.
#[derive(Debug)]
pub(super) struct WebPages {
    pub(super) client: reqwest::Client,
    /// The URL of the folder, with a slash at its end.
    pub(super) url: Url,
}

impl RemoteStore {
    /// Returns the folder that a URL means.
    ///
    /// # Errors
    /// The URL means no store, or has a user (other than a container of Azure), a password, a `?` or a `#`; or a
    /// setting of the environment is wrong.
    pub(crate) fn find(url: &Path) -> io::Result<Self> {
        let text = url.to_str().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, EXPECTED))?;
        let text = text.trim_end_matches('/');
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = folders.get_or_insert_default();
        if let Some(folder) = folders.get(text) {
            return Ok(folder.clone());
        }
        let folder = Self::connect(text)?;
        if folders.len() >= KEPT_STORES {
            folders.retain(|_, folder| Arc::strong_count(&folder.store) > 1);
        }
        folders.insert(text.to_owned(), folder.clone());
        Ok(folder)
    }

    /// Lets a URL mean a folder of this store until [`unregister`](Self::unregister), for a simulation of one: the
    /// clients repeat requests and do not, and nothing pauses.
    #[doc(hidden)]
    pub fn register(url: &str, prefix: &str, objects: Arc<dyn ObjectStore>, once: Arc<dyn ObjectStore>) {
        let server = String::new();
        let store = Client { objects, server, once: Once::Registered(once), pause: Duration::ZERO, pages: None };
        let folder = Self { store: Arc::new(store), prefix: ObjectPath::from(prefix) };
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        folders.get_or_insert_default().insert(url.to_owned(), folder);
    }

    /// Ends what [`register`](Self::register) began.
    #[doc(hidden)]
    pub fn unregister(url: &str) {
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        folders.get_or_insert_default().remove(url);
    }

    /// Makes the client of a store. It connects when an object is read.
    fn connect(text: &str) -> io::Result<Self> {
        let refused = |fault: &str| io::Error::new(io::ErrorKind::InvalidInput, fault.to_owned());
        let url = Url::parse(text).map_err(|error| refused(&format!("{EXPECTED}: {error}")))?;
        let (scheme, prefix) = match ObjectStoreScheme::parse(&url) {
            Ok((ObjectStoreScheme::Local | ObjectStoreScheme::Memory, _)) | Err(_) => return Err(refused(EXPECTED)),
            Ok(parsed) => parsed,
        };
        // A container of Azure may be where other URLs have a user: `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net`.
        let has_user = !url.username().is_empty() && scheme != ObjectStoreScheme::MicrosoftAzure;
        if has_user || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(refused(
                "a location has no user, password, `?` or `#`; credentials come from the environment, as for the tools of the \
                 store",
            ));
        }
        let pages = match scheme {
            ObjectStoreScheme::Http => Some(WebPages::new(&url)?),
            _ => None,
        };
        let (objects, server) = open(&scheme, &url, RETRIES)?;
        let store = Client { objects, server, once: Once::Of(scheme, url), pause: PAUSE, pages };
        Ok(Self { store: Arc::new(store), prefix })
    }

    /// Returns whether this is a folder of a web server.
    pub(super) fn is_web(&self) -> bool {
        self.store.pages.is_some()
    }

    /// Returns the path of an object, by its name below the folder. The name has the characters of the object's key.
    /// Only a part that no key may have, such as `..`, is encoded.
    pub(super) fn object(&self, name: &str) -> ObjectPath {
        let part = |part| PathPart::parse(part).unwrap_or_else(|_| PathPart::from(part));
        name.split('/').fold(self.prefix.clone(), |path, name| path.join(part(name)))
    }
}

impl Client {
    /// Returns a client of the store that repeats no request.
    pub(super) fn without_retries(&self) -> io::Result<Arc<dyn ObjectStore>> {
        match &self.once {
            Once::Of(scheme, url) => Ok(open(scheme, url, 0)?.0),
            Once::Registered(once) => Ok(once.clone()),
        }
    }
}

/// Makes the client of a store, with the settings and credentials of the environment. Also returns the server and the
/// account that are among these settings.
fn open(scheme: &ObjectStoreScheme, url: &Url, retries: usize) -> io::Result<(Arc<dyn ObjectStore>, String)> {
    let refused = |error: object_store::Error| io::Error::new(io::ErrorKind::InvalidInput, fault::describe(&error));
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(5), ..BackoffConfig::default() },
        max_retries: retries,
        retry_timeout: RETRY_TIME,
    };
    let mut server = String::new();
    let objects: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env()
                .with_url(url.as_str())
                .with_retry(retry)
                .with_http_connector(StoreConnector);
            // Not every store with this protocol can remove several objects at once.
            let mut builder = with_profile(builder)?.with_disable_bulk_delete(true);
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            // Whoever names a server without TLS wants to use it, as with the tools of AWS.
            if endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://")) {
                builder = builder.with_allow_http(true);
            }
            server = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint).or(endpoint).unwrap_or_default();
            Arc::new(builder.build().map_err(refused)?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env()
                .with_url(url.as_str())
                .with_retry(retry)
                .with_http_connector(StoreConnector);
            server = builder.get_config_value(&GoogleConfigKey::BaseUrl).unwrap_or_default();
            Arc::new(builder.build().map_err(refused)?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env()
                .with_url(url.as_str())
                .with_retry(retry)
                .with_http_connector(StoreConnector);
            let settings = [AzureConfigKey::AccountName, AzureConfigKey::Endpoint, AzureConfigKey::UseEmulator];
            server = settings.map(|setting| builder.get_config_value(&setting).unwrap_or_default()).join(" ");
            Arc::new(builder.build().map_err(refused)?)
        }
        _ => {
            let options = ClientOptions::new().with_allow_http(true);
            let origin = &url[..url::Position::BeforePath];
            Arc::new(
                HttpBuilder::new()
                    .with_url(origin)
                    .with_client_options(options)
                    .with_retry(retry)
                    .with_http_connector(StoreConnector)
                    .build()
                    .map_err(refused)?,
            )
        }
    };
    Ok((objects, server))
}

impl WebPages {
    fn new(url: &Url) -> io::Result<Self> {
        let mut url = url.clone();
        url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
        let client = web_client()?.timeout(REQUEST_TIME).build();
        Ok(Self { client: client.map_err(io::Error::other)?, url })
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteStore;
    use std::path::Path;

    #[test]
    fn a_name_has_the_characters_of_the_key() {
        let folder = RemoteStore::find(Path::new("http://localhost/acme")).unwrap();
        let key = |name: &str| folder.object(name).to_string();
        for name in ["leads~1.csv", "day=1/50%20.csv", "a#[b]{c}.csv"] {
            assert_eq!(key(name), format!("acme/{name}"));
        }
        assert_eq!(key("../a\n.csv"), "acme/%2E%2E/a%0A.csv");
    }
}
