//! The server for programs without an asynchronous runtime of their own.

use crate::signal::StopSignal;
use crate::{Settings, serve};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use trueup::service::Service;

/// A server that listens, with threads of its own.
///
/// ```no_run
/// # use std::sync::Arc;
/// # fn main() -> std::io::Result<()> {
/// # let service: Arc<trueup::service::Service> = unimplemented!();
/// use trueup_server::{Server, Settings};
///
/// let server = Server::bind("127.0.0.1:8080", service, Settings::default())?.hear_signals()?;
/// println!("listening on http://{}", server.local_addr());
/// server.run()
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    settings: Settings,
    /// Is ready once a signal has come, if they are heard.
    signal: Option<StopSignal>,
}

impl Server {
    /// Listens at an address; callers may connect from here on, and are answered once the server runs. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When the address is not one, is taken, or must not be used; or when no threads can be started.
    pub fn bind(address: impl ToSocketAddrs, service: Arc<Service>, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().thread_name("trueup-server").enable_all().build()?;
        Ok(Self { runtime, listener, address, service, settings, signal: None })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Hears Ctrl-C and, on Unix, `SIGTERM` and `SIGHUP` from here on, before it [runs](Self::run): none that comes after somebody was
    /// told that the server listens then ends the process by itself.
    ///
    /// # Errors
    /// When signals cannot be heard.
    pub fn hear_signals(mut self) -> io::Result<Self> {
        if self.signal.is_none() {
            let _entered = self.runtime.enter();
            self.signal = Some(StopSignal::new()?);
        }
        Ok(self)
    }

    /// Answers until Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`; then as [`serve`] ends.
    ///
    /// # Errors
    /// When signals cannot be heard, or the listener is not usable.
    pub fn run(self) -> io::Result<()> {
        let mut server = self.hear_signals()?;
        let signal = server.signal.take();
        server.run_until(async {
            if let Some(signal) = signal {
                signal.await;
            }
        })
    }

    /// Answers until `signal` is ready; then as [`serve`] ends. The signal is polled in the server's own runtime; a channel of tokio's
    /// is one that any thread can send.
    ///
    /// # Errors
    /// When the listener is not usable.
    pub fn run_until(self, signal: impl Future<Output = ()> + Send) -> io::Result<()> {
        let Self { runtime, listener, service, settings, .. } = self;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            serve(listener, service, settings, signal).await
        })
    }
}
