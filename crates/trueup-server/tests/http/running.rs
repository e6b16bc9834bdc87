//! A server that runs in a thread of the test.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;
use trueup::service::Service;
use trueup_server::{Server, Settings};

/// A server on a free port. Dropping it stops it.
pub(crate) struct RunningServer {
    pub(crate) address: SocketAddr,
    signal: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl RunningServer {
    pub(crate) fn new(service: &Arc<Service>, settings: Settings) -> Self {
        let server = Server::bind("127.0.0.1:0", Arc::clone(service), settings).unwrap();
        let address = server.local_addr();
        let (signal, signaled) = oneshot::channel();
        let thread = thread::spawn(move || {
            server.run_until(async {
                let _ = signaled.await;
            })
        });
        Self { address, signal: Some(signal), thread: Some(thread) }
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
