//! Accepts connections until a stop signal: [`serve`] in the caller's runtime, [`Server`] with its own runtime.

use crate::Settings;
use crate::connection::serve_connection;
use crate::pipeline::Pipeline;
use crate::signal::StopSignal;
use crate::slots::{Admission, ConnectionSlots};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trueup::service::Service;

/// Pause before the next attempt to accept a connection after the operating system refused one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Pause before a connection without a slot checks again whether another has become idle. The end of a connection is
/// noticed immediately.
const SLOT_PAUSE: Duration = Duration::from_millis(50);

/// Time for canceled queries to stop before [`serve`] returns without waiting for them.
const CANCELED_QUERIES: Duration = Duration::from_secs(1);

/// Pause before the next check whether canceled queries have stopped.
const IDLE_PAUSE: Duration = Duration::from_millis(5);

/// A listening server with its own threads, for programs without an asynchronous runtime.
///
/// # Examples
/// ```no_run
/// # use std::sync::Arc;
/// # fn serve(service: Arc<trueup::service::Service>) -> std::io::Result<()> {
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
    listener: StdListener,
    address: SocketAddr,
    service: Arc<Service>,
    settings: Settings,
    /// Ready once a signal has arrived; `None` until [`Server::hear_signals`].
    signal: Option<StopSignal>,
}

impl Server {
    /// Listens on an address. From the call on clients can connect; they are answered once the server runs. Port 0
    /// selects any free port.
    ///
    /// # Errors
    /// If the address is invalid, in use or not permitted, or if threads cannot be started.
    pub fn bind(address: impl ToSocketAddrs, service: Arc<Service>, settings: Settings) -> io::Result<Self> {
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().thread_name("trueup-server").enable_all().build()?;
        Ok(Self { runtime, listener, address, service, settings, signal: None })
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Handles Ctrl-C and, on Unix, `SIGTERM` and `SIGHUP` from the call on, before the server [runs](Self::run). Call
    /// this before announcing that the server listens, so that a signal sent in between stops the server properly.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn hear_signals(mut self) -> io::Result<Self> {
        if self.signal.is_none() {
            let _entered = self.runtime.enter();
            self.signal = Some(StopSignal::new()?);
        }
        Ok(self)
    }

    /// Answers requests until Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`. Then stops like [`serve`].
    ///
    /// # Errors
    /// If the signal handlers cannot be installed, or the listener is unusable.
    pub fn run(self) -> io::Result<()> {
        let mut server = self.hear_signals()?;
        let signal = server.signal.take();
        server.run_until(async {
            if let Some(signal) = signal {
                signal.await;
            }
        })
    }

    /// Answers requests until `signal` is ready. Then stops like [`serve`]. The signal is polled in the server's
    /// runtime; any thread can send one through a tokio channel.
    ///
    /// # Errors
    /// If the listener is unusable.
    pub fn run_until(self, signal: impl Future<Output = ()> + Send) -> io::Result<()> {
        let Self { runtime, listener, service, settings, .. } = self;
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener)?;
            serve(listener, service, settings, signal).await
        })
    }
}

/// Answers requests over HTTP/1.1 until `shutdown` is ready. Then accepts no more connections and finishes the running
/// requests. After [`Settings::shutdown_grace`], cancels the requests that still run and closes their connections.
///
/// # Errors
/// If the listener is unusable.
///
/// # Examples
/// ```no_run
/// # use std::sync::Arc;
/// # async fn run(service: Arc<trueup::service::Service>) -> std::io::Result<()> {
/// use trueup_server::{Settings, serve, stop_signal};
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// serve(listener, service, Settings::default(), stop_signal()?).await
/// # }
/// ```
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let grace = settings.shutdown_grace;
    let slots = ConnectionSlots::new(&settings);
    let pipeline = Arc::new(Pipeline::new(service, settings));
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    // An accepted connection that has no slot yet.
    let mut waiting: Option<(TcpStream, SocketAddr)> = None;
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            next = accept(&listener), if waiting.is_none() => waiting = Some(next),
            () = sleep(SLOT_PAUSE), if waiting.is_some() => {}
        }
        let Some((tcp, address)) = waiting.take() else { continue };
        match slots.admit(address.ip()) {
            Admission::Admitted(slot) => {
                let (pipeline, stopping) = (Arc::clone(&pipeline), stopping.clone());
                connections.spawn(serve_connection(tcp, slot, pipeline, stopping));
            }
            Admission::Full => waiting = Some((tcp, address)),
            // Closed without an answer, because writing one would need a slot.
            Admission::TooManyOfAddress => {
                tracing::warn!("a connection was closed: its address has too many, and all of them are being answered");
            }
        }
    }
    drop((listener, waiting));
    stop.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, finished).await.is_err() {
        tracing::warn!(connections = connections.len(), "canceled the requests that were still running");
        connections.shutdown().await;
    }
    let idle = async {
        while !pipeline.is_idle() {
            sleep(IDLE_PAUSE).await;
        }
    };
    if timeout(CANCELED_QUERIES, idle).await.is_err() {
        tracing::warn!("a canceled query has not stopped yet");
    }
    Ok(())
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                // This connection has failed, or the machine is out of sockets for now. Open connections continue.
                tracing::warn!(cause = %error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
