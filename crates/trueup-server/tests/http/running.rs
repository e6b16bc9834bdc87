//! A server that runs beside the test.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;
use trueup::service::Service;
use trueup_server::{Server, Settings};

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    signal: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
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

    /// Tells it to end.
    pub(crate) fn stop(&mut self) {
        self.signal = None;
    }

    /// Returns once it has ended.
    pub(crate) fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.join();
        }
    }
}
