//! Accepts connections until a stop signal: [`serve`] in the caller's runtime, [`Server`] with its own runtime.

use crate::door::Door;
use crate::operations::RefreshReport;
use crate::pipeline::Pipeline;
use crate::settings::Settings;
use crate::sign_in_links::SignInLinks;
use crate::signal::StopSignal;
use crate::slots::{Admission, ConnectionSlot, ConnectionSlots};
use crate::timed_stream::TimedStream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trueup::service::Service;

/// Pause before the next attempt to accept a connection after the operating system refused one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Pause before the server looks again for a slot for a connection that has none, because another connection may have
/// become idle. The end of a connection is noticed immediately.
const SLOT_PAUSE: Duration = Duration::from_millis(50);

/// Time that [`serve`] waits at its end for canceled queries to stop.
const CANCELED_QUERIES: Duration = Duration::from_secs(1);

/// Pause before the next check whether canceled queries have stopped.
const IDLE_PAUSE: Duration = Duration::from_millis(5);

/// Largest number of open connections of operators. Each further one closes the one that has been idle longest.
const OPERATOR_CONNECTIONS: usize = 64;

/// Smallest buffer limit that hyper accepts, in bytes.
const MIN_BUFFER: usize = 8_192;

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
    listeners: Listeners,
    address: SocketAddr,
    service: Arc<Service>,
    settings: Settings,
    /// Ready once a signal has arrived; `None` until [`Server::hear_signals`].
    signal: Option<StopSignal>,
}

impl Server {
    /// Listens on an address. From the call on, clients can connect; they are answered once the server runs. Port 0
    /// selects any free port.
    ///
    /// # Errors
    /// If the address is invalid, in use or not permitted, or if threads cannot be started.
    pub fn bind(address: impl ToSocketAddrs, service: Arc<Service>, settings: Settings) -> io::Result<Self> {
        let listener = StdListener::bind(address)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().thread_name("trueup-server").enable_all().build()?;
        let listeners = of_runtime(listener, &runtime)?.into();
        Ok(Self { runtime, listeners, address, service, settings, signal: None })
    }

    /// Also listens on an address for operators, who get `/metrics`, `/health` and `/ready` there, without a key.
    /// Returns the address.
    ///
    /// # Errors
    /// If the address is invalid, in use or not permitted.
    pub fn listen_for_operators(&mut self, address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
        let listener = of_runtime(StdListener::bind(address)?, &self.runtime)?;
        self.listeners.operators.insert(listener).local_addr()
    }

    /// Returns the report of attempts to open newer versions of the dataset, for a program that makes such attempts.
    ///
    /// ```no_run
    /// # use std::path::Path;
    /// # fn refresh(server: &trueup_server::Server, service: &trueup::service::Service, folder: &Path) {
    /// let report = server.refresh_report();
    /// match trueup::Dataset::open(folder) {
    ///     Ok(dataset) => {
    ///         service.replace_dataset(dataset.into());
    ///         report.succeeded();
    ///     }
    ///     Err(_) => report.failed(),
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn refresh_report(&self) -> RefreshReport {
        self.listeners.refreshes.clone()
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Also lets the page of the explorer sign in with these links, in place of a key that its user pastes.
    #[must_use]
    pub fn sign_in_links(mut self, links: SignInLinks) -> Self {
        self.listeners.links = Some(links);
        self
    }

    /// Also answers requests to the path of a door. Call it several times for several doors.
    #[must_use]
    pub fn door(mut self, door: Arc<dyn Door>) -> Self {
        self.listeners.doors.push(door);
        self
    }

    /// Handles the signals of [`stop_signal`](crate::stop_signal) from the call on, before the server
    /// [runs](Self::run). Call this before announcing that the server listens, so that a signal sent in between stops
    /// the server properly.
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

    /// Answers requests until a signal of [`stop_signal`](crate::stop_signal) arrives. Then stops like [`serve`].
    ///
    /// # Errors
    /// If the signal handlers cannot be installed, or the metrics cannot be created.
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
    /// As [`serve`].
    pub fn run_until(self, signal: impl Future<Output = ()> + Send) -> io::Result<()> {
        let Self { runtime, listeners, service, settings, .. } = self;
        runtime.block_on(serve(listeners, service, settings, signal))
    }
}

/// Returns a listener of a runtime.
fn of_runtime(listener: StdListener, runtime: &Runtime) -> io::Result<TcpListener> {
    let _entered = runtime.enter();
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Where a server listens. A [`TcpListener`] can be converted to `Listeners` without one for operators.
#[derive(Debug)]
pub struct Listeners {
    /// Where requests arrive.
    pub requests: TcpListener,
    /// Where operators get `/metrics`, `/health` and `/ready`, without a key. It answers until the last request is
    /// answered, also after [`requests`](Self::requests) was closed.
    pub operators: Option<TcpListener>,
    /// What operators see of attempts to open newer versions of the dataset.
    pub refreshes: RefreshReport,
    /// The links by which the page of the explorer may sign in, if there are any.
    pub links: Option<SignInLinks>,
    /// What else answers paths of its own.
    pub doors: Vec<Arc<dyn Door>>,
}

impl From<TcpListener> for Listeners {
    fn from(requests: TcpListener) -> Self {
        Self { requests, operators: None, refreshes: RefreshReport::default(), links: None, doors: Vec::new() }
    }
}

/// Answers requests over HTTP/1.1 until `shutdown` is ready. After [`Settings::shutdown_delay`], accepts no more
/// connections and finishes the running requests. After [`Settings::shutdown_grace`], cancels the requests that still
/// run and closes their connections. A connection that cannot be accepted is logged, and the server goes on.
///
/// # Errors
/// If the metrics cannot be created.
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
    listeners: impl Into<Listeners>,
    service: Arc<Service>,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let Listeners { requests, operators, refreshes, links, doors } = listeners.into();
    let slots = ConnectionSlots::new(&settings);
    let pipeline = Pipeline::new(service, settings, Arc::clone(&slots), refreshes, links, doors);
    let pipeline = pipeline.map_err(io::Error::other)?;
    let pipeline = Arc::new(pipeline);
    let answered = answer_requests(requests, &slots, &pipeline, shutdown);
    match operators {
        None => answered.await,
        Some(operators) => tokio::select! {
            () = answered => {}
            () = answer_operators(operators, &pipeline) => {}
        },
    }
    Ok(())
}

/// Answers requests until `shutdown` is ready, and stops.
async fn answer_requests(
    listener: TcpListener,
    slots: &Arc<ConnectionSlots>,
    pipeline: &Arc<Pipeline>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let Settings { shutdown_delay, shutdown_grace, .. } = pipeline.settings;
    let (stop, stopping) = watch::channel(false);
    let shutdown = async {
        shutdown.await;
        pipeline.operations().drain();
        sleep(shutdown_delay).await;
    };
    let mut connections = JoinSet::new();
    answer_until(listener, slots, pipeline, &stopping, &mut connections, shutdown).await;
    stop.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(shutdown_grace, finished).await.is_err() {
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
}

/// Answers operators until the future is dropped, which closes their connections.
async fn answer_operators(listener: TcpListener, pipeline: &Pipeline) {
    let pipeline = Arc::new(pipeline.for_operators());
    let (max_connections, max_connections_per_address) = (OPERATOR_CONNECTIONS, OPERATOR_CONNECTIONS);
    let settings = Settings { max_connections, max_connections_per_address, ..pipeline.settings.clone() };
    let (_stop, stopping) = watch::channel(false);
    let (slots, mut connections) = (ConnectionSlots::new(&settings), JoinSet::new());
    answer_until(listener, &slots, &pipeline, &stopping, &mut connections, pending()).await;
}

/// Accepts connections until `end` is ready, and answers each in a task.
async fn answer_until(
    listener: TcpListener,
    slots: &Arc<ConnectionSlots>,
    pipeline: &Arc<Pipeline>,
    stopping: &watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
    end: impl Future<Output = ()> + Send,
) {
    let mut end = pin!(end);
    // An accepted connection that has no slot yet.
    let mut waiting: Option<(TcpStream, SocketAddr)> = None;
    loop {
        tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => {}
            next = accept(&listener), if waiting.is_none() => waiting = Some(next),
            () = sleep(SLOT_PAUSE), if waiting.is_some() => {}
        }
        let Some((tcp, address)) = waiting.take() else { continue };
        match slots.admit(address.ip()) {
            Admission::Admitted(slot) => {
                connections.spawn(serve_connection(tcp, slot, Arc::clone(pipeline), stopping.clone()));
            }
            Admission::Full => waiting = Some((tcp, address)),
            // Closed without an answer, because writing one would need a slot.
            Admission::TooManyOfAddress => {
                tracing::warn!("a connection was closed: its address has too many, and all of them are being answered");
            }
        }
    }
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

/// Answers the requests of a connection until it ends, its slot is given to another connection, or `stopping` becomes
/// true and the current request is answered.
async fn serve_connection(
    tcp: TcpStream,
    slot: ConnectionSlot,
    pipeline: Arc<Pipeline>,
    mut stopping: watch::Receiver<bool>,
) {
    let state = &slot.state;
    let settings = &pipeline.settings;
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(cause = %error, "a connection is gone");
        return;
    }
    // Requests beyond the limits are answered by the pipeline. A head of more than twice the limits together, or with
    // more than twice the permitted number of headers, is refused by hyper, as is a URL of more than 65,534 bytes.
    let head_bytes = settings.max_header_bytes.saturating_add(settings.max_url_bytes).saturating_mul(2).max(MIN_BUFFER);
    let stream = TimedStream::new(tcp, state.clone(), Arc::clone(&pipeline), head_bytes);
    let mut builder = http1::Builder::new();
    builder
        .max_headers(settings.max_headers.saturating_mul(2).max(1))
        .max_header_size(head_bytes)
        .max_buf_size(head_bytes)
        .header_read_timeout(None);
    let service = service_fn(|request| {
        // The request begins here and not in the future, because the stream may read the end of the client's sending
        // half before the future is polled.
        let (pipeline, state, in_flight) = (Arc::clone(&pipeline), state.clone(), state.begin());
        async move { Ok::<_, Infallible>(pipeline.answer(request, &state, in_flight).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Also ready if the sender is dropped, which ends the server too.
    let stopped = async move { _ = stopping.wait_for(|stopping| *stopping).await };
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stopped => None,
        () = state.evicted() => {
            if state.eviction_rank(Instant::now()).is_some() {
                tracing::debug!("a connection that waited for its client was closed to make room for another");
                return;
            }
            // A request has arrived in the meantime, so it is answered first.
            None
        }
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // These errors contain nothing that the client sent.
        tracing::debug!(cause = %error, "a connection ended early");
    }
}
