//! How fast a client receives an answer.

use std::time::{Duration, Instant};

/// Measures how fast a client receives bytes while the server waits for it. A client that receives a few bytes now and
/// then never causes a timeout, but keeps the memory of its answer.
#[derive(Debug)]
pub(crate) struct SendPace {
    /// After this time of waiting, the client must have received `min_bytes`.
    period: Duration,
    min_bytes: u64,
    /// When the current wait began; `None` if no write waits.
    waiting_since: Option<Instant>,
    /// The time of earlier waits in this period.
    waited: Duration,
    /// Bytes that were written in this period.
    bytes: u64,
}

impl SendPace {
    /// Creates a pace of at least `min_rate` bytes per second, on average over each `period` of waiting.
    pub(crate) fn new(period: Duration, min_rate: u32) -> Self {
        let min_bytes = period.as_millis().saturating_mul(min_rate.into()) / 1_000;
        let min_bytes = u64::try_from(min_bytes).unwrap_or(u64::MAX);
        Self { period, min_bytes, waiting_since: None, waited: Duration::ZERO, bytes: 0 }
    }

    /// Records that bytes were written.
    pub(crate) fn wrote(&mut self, bytes: usize, now: Instant) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_duration_since(since);
        }
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Records that a write has to wait for the client. Returns whether the client has been too slow.
    pub(crate) fn is_too_slow(&mut self, now: Instant) -> bool {
        if self.waiting_since.is_none() {
            self.waiting_since = Some(now);
            if self.waited.is_zero() {
                // What was written before fitted into buffers, and says nothing of the client.
                self.bytes = 0;
            }
        }
        if self.waited < self.period {
            return false;
        }
        let is_slow = self.bytes < self.min_bytes;
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        is_slow
    }

    /// Forgets what it has measured, for another answer.
    pub(crate) const fn restart(&mut self) {
        (self.waiting_since, self.waited, self.bytes) = (None, Duration::ZERO, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns after how many seconds a client is too slow that takes `bytes` every `seconds` seconds; `None` if it is
    /// not within ten minutes.
    fn slow_after(bytes: usize, seconds: usize) -> Option<u64> {
        let mut pace = SendPace::new(Duration::from_secs(30), 1_000);
        let begun = Instant::now();
        // Buffers take the first bytes at once.
        pace.wrote(1_000_000, begun);
        (0..600).step_by(seconds).find(|after| {
            let at = begun + Duration::from_secs(*after);
            pace.wrote(bytes, at);
            pace.is_too_slow(at)
        })
    }

    #[test]
    fn a_client_must_receive_the_rate_on_average() {
        assert_eq!([slow_after(1, 1), slow_after(990, 1), slow_after(9_900, 10)], [Some(30); 3]);
        assert_eq!([slow_after(1_000, 1), slow_after(10_000, 10), slow_after(100_000, 25)], [None; 3]);
    }

    #[test]
    fn only_the_time_of_waiting_counts() {
        let mut pace = SendPace::new(Duration::from_secs(30), 1_000);
        let begun = Instant::now();
        // Each second, a write waits for a millisecond; the rest of the time the server has nothing to send.
        let is_slow = (0..3_600).any(|second| {
            let at = begun + Duration::from_secs(second);
            let is_slow = pace.is_too_slow(at);
            pace.wrote(1, at + Duration::from_millis(1));
            is_slow
        });
        assert!(!is_slow && pace.waited == Duration::from_millis(3_600));
        pace.restart();
        assert!(pace.waited.is_zero());
    }
}
