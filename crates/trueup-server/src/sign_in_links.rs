//! Links that sign in to the explorer once, for a program that opens the page for its own user.

use crate::body::{Body, whole};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trueup::access::{Directory, Error, KeyId, OneTimeToken, OneTimeTokens, SecretKey};
use trueup::service::{Clock as _, SystemClock};

/// Links to the explorer that sign a user in once.
///
/// Such a link holds a token and not a key, because the address of a page is visible in the list of processes when a
/// program opens it, and stays in the history of the browser. The page exchanges the token for a new key at
/// `POST /explore/key`, keeps the key in memory, and removes the token from its address. A token that was used is worth
/// nothing, and a token is worth nothing anywhere else: it is neither a key nor a session. The answer has a further
/// token, with which the page survives a reload; its exchange also revokes the key that the page had before.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// use trueup::access::{Directory, DirectorySettings, MemoryDirectory};
/// use trueup_server::SignInLinks;
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default())?);
/// directory.add_user("anna")?;
/// let links = SignInLinks::new(directory, "anna");
/// assert!(links.issue()?.starts_with("explore#sign-in="));
/// # Ok::<(), trueup::access::Error>(())
/// ```
#[derive(Clone)]
pub struct SignInLinks {
    directory: Arc<dyn Directory>,
    user: String,
    /// The tokens that were issued and not used, each with the key that its exchange revokes: `None` for that of a
    /// link. Locked while one is exchanged, so that no two requests can use it.
    unused: Arc<Mutex<OneTimeTokens<Option<KeyId>>>>,
}

/// What the page gets for a token.
struct SignedIn {
    key: SecretKey,
    /// The token of the next exchange.
    next: OneTimeToken,
}

impl SignInLinks {
    /// Returns links for a user of a directory. Each exchange of a token creates a key.
    #[must_use]
    pub fn new(directory: Arc<dyn Directory>, user: &str) -> Self {
        Self { directory, user: user.to_owned(), unused: Arc::default() }
    }

    /// Returns a new link, relative to the address of the server.
    ///
    /// # Errors
    /// If the operating system provides no random bytes.
    pub fn issue(&self) -> Result<String, Error> {
        Ok(format!("explore#sign-in={}", self.unused().issue(None)?.reveal()))
    }

    /// Answers a request of the page, whose token is in the header `Authorization`, as a key is. `None` if the
    /// directory fails.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Option<Response<Body>> {
        let token = headers.get(header::AUTHORIZATION).and_then(|token| token.to_str().ok()).unwrap_or_default();
        let (status, body) = match self.exchange(&OneTimeToken::new(token)) {
            // Keys and tokens are letters, digits, `-` and `_`.
            Ok(Some(SignedIn { key, next })) => {
                (StatusCode::OK, format!(r#"{{"key":"{}","next":"{}"}}"#, key.reveal(), next.reveal()))
            }
            Ok(None) => {
                tracing::warn!("a link to the explorer that was used before, or is wrong, was refused");
                let error = "this link was used before, or is not complete; start again for a new one";
                (StatusCode::UNAUTHORIZED, format!(r#"{{"error":"{error}","code":"used-link"}}"#))
            }
            Err(error) => {
                tracing::error!(cause = %error, "a link to the explorer could not be exchanged");
                return None;
            }
        };
        let mut response = Response::new(whole(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }

    /// Exchanges a token; `None` if it was not issued, or was used.
    fn exchange(&self, token: &OneTimeToken) -> Result<Option<SignedIn>, Error> {
        let mut unused = self.unused();
        let Some(former) = unused.redeem(token) else { return Ok(None) };
        let now = SystemClock.now();
        if let Some(former) = former {
            match self.directory.delete_key(&self.user, former, now) {
                // The user may have rotated or deleted the key.
                Ok(()) | Err(Error::UnknownKey { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let issued = self.directory.create_key(&self.user, now)?;
        let next = unused.issue(Some(issued.id))?;
        Ok(Some(SignedIn { key: issued.secret, next }))
    }

    fn unused(&self) -> MutexGuard<'_, OneTimeTokens<Option<KeyId>>> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SignInLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInLinks").field("user", &self.user).finish_non_exhaustive()
    }
}
