//! The open connections, their limits, and which of them is closed to make room for another.

use crate::connection_state::ConnectionState;
use crate::settings::Settings;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The slots for open connections. If none is free, the connection that has waited longest for its client is closed.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    limit: usize,
    limit_per_network: usize,
    limit_loopback: bool,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// The number of the next connection.
    next: u64,
    /// The open connections by number.
    connections: HashMap<u64, (Network, ConnectionState)>,
    /// How many connections each network has.
    by_network: HashMap<Network, usize>,
}

/// The addresses that share a limit: one IPv4 address, or the 64-bit network of IPv6 that one site has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Network {
    V4([u8; 4]),
    V6([u16; 4]),
    /// A loopback address, which a proxy on this machine has, unless such addresses are limited too.
    Unlimited,
}

/// The decision about a new connection.
#[derive(Debug)]
pub(crate) enum Admission {
    Admitted(ConnectionSlot),
    /// The server is answering on all connections; a slot will be free later.
    Full,
    /// The address has reached its limit, and the server is answering on all of its connections.
    TooManyOfAddress,
}

/// The slot of an open connection. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    pub(crate) state: ConnectionState,
    slots: Arc<ConnectionSlots>,
    number: u64,
}

impl ConnectionSlots {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            limit: settings.max_connections.max(1),
            limit_per_network: settings.max_connections_per_address.max(1),
            limit_loopback: settings.limit_loopback,
            open: Mutex::default(),
        })
    }

    /// Gives a slot to a connection from `address`. Closes another connection if necessary.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Admission {
        let network = self.network(address);
        let mut open = self.open();
        let of_network = open.by_network.get(&network).copied().unwrap_or(0);
        if network != Network::Unlimited && of_network >= self.limit_per_network {
            if !open.evict_one(|other| other == network) {
                return Admission::TooManyOfAddress;
            }
        } else if open.connections.len() >= self.limit && !open.evict_one(|_| true) {
            return Admission::Full;
        }
        let state = ConnectionState::new();
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, (network, state.clone()));
        *open.by_network.entry(network).or_default() += 1;
        Admission::Admitted(ConnectionSlot { state, slots: Arc::clone(self), number })
    }

    /// Returns the largest number of open connections.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the number of open connections.
    pub(crate) fn open_connections(&self) -> usize {
        self.open().connections.len()
    }

    /// Returns the network whose limit counts connections from `address`.
    fn network(&self, address: IpAddr) -> Network {
        match address.to_canonical() {
            address if address.is_loopback() && !self.limit_loopback => Network::Unlimited,
            IpAddr::V4(address) => Network::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = Ipv6Addr::segments(&address);
                Network::V6([a, b, c, d])
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Closes the connection that has waited longest for its client, of the connections whose network satisfies
    /// `is_candidate`. Returns whether there is one.
    fn evict_one(&mut self, is_candidate: impl Fn(Network) -> bool) -> bool {
        let now = Instant::now();
        let candidates = self.connections.iter().filter(|(_, (network, _))| is_candidate(*network));
        let waiting = candidates.filter_map(|(number, (_, state))| Some((state.eviction_rank(now)?, *number)));
        let Some((_, longest)) = waiting.min() else { return false };
        if let Some(state) = self.remove(longest) {
            state.evict();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionState> {
        let (network, state) = self.connections.remove(&number)?;
        if let Some(count) = self.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
        Some(state)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection_state::RequestStage;

    fn slots(limit: usize, limit_per_network: usize) -> Arc<ConnectionSlots> {
        let settings =
            Settings { max_connections: limit, max_connections_per_address: limit_per_network, ..Settings::default() };
        ConnectionSlots::new(&settings)
    }

    /// Returns the slot of a new connection; `None` if it is not admitted.
    fn admitted(slots: &Arc<ConnectionSlots>, address: &str) -> Option<ConnectionSlot> {
        let Ok(address) = address.parse() else { panic!("`{address}` is no address") };
        match slots.admit(address) {
            Admission::Admitted(slot) => Some(slot),
            Admission::Full | Admission::TooManyOfAddress => None,
        }
    }

    fn is_open(slot: &Option<ConnectionSlot>) -> bool {
        slot.as_ref().is_some_and(|slot| slot.slots.open().connections.contains_key(&slot.number))
    }

    #[test]
    fn the_connection_that_waited_longest_is_closed() {
        let slots = slots(4, 4);
        let [oldest, working, sending, newest] = ["192.0.2.1"; 4].map(|address| admitted(&slots, address));
        let running = working.as_ref().map(|slot| slot.state.begin());
        let answer = sending.as_ref().map(|slot| slot.state.begin());
        if let Some(slot) = &sending {
            slot.state.enter(RequestStage::Answer);
        }
        let open = || [&oldest, &working, &sending, &newest].map(is_open);
        assert_eq!(open(), [true; 4]);
        let first = admitted(&slots, "198.51.100.1");
        assert_eq!(open(), [false, true, true, true]);
        let second = admitted(&slots, "198.51.100.1");
        assert_eq!(open(), [false, true, true, false]);
        let third = admitted(&slots, "198.51.100.1");
        assert_eq!([&first, &second, &third].map(is_open), [false, true, true]);
        // A connection is idle from the end of its request on.
        drop(running);
        let fourth = admitted(&slots, "198.51.100.1");
        assert_eq!(([&second, &third, &fourth].map(is_open), is_open(&working)), ([false, true, true], true));
        drop(answer);
    }

    #[test]
    fn a_connection_that_waits_for_a_body_is_idle() {
        let slots = slots(1, 1);
        let slot = admitted(&slots, "192.0.2.1");
        let _in_flight = slot.as_ref().map(|slot| slot.state.begin());
        assert!(admitted(&slots, "192.0.2.2").is_none());
        if let Some(slot) = &slot {
            slot.state.enter(RequestStage::Body);
        }
        assert!(admitted(&slots, "192.0.2.2").is_some());
        assert!(!is_open(&slot));
    }

    #[test]
    fn an_address_has_its_own_limit() {
        let slots = slots(100, 2);
        // A site has 64 bits of IPv6. An IPv4 address may be written as an IPv6 address.
        for same in [
            ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"],
            ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::"],
        ] {
            let open = same.map(|address| admitted(&slots, address));
            assert_eq!([0, 1, 2].map(|at| is_open(&open[at])), [false, true, true], "{same:?}");
            let _in_flight: Vec<_> = open.iter().flatten().map(|slot| slot.state.begin()).collect();
            assert!(admitted(&slots, same[0]).is_none(), "{same:?}");
        }
        for others in ["192.0.2.2", "2001:db8:1:3::1"] {
            assert!(admitted(&slots, others).is_some());
        }
        let proxy: Vec<_> = ["127.0.0.1", "127.0.0.1", "::1", "::ffff:127.0.0.1"].map(|at| admitted(&slots, at)).into();
        assert!(proxy.iter().all(is_open));
    }

    #[test]
    fn a_dropped_slot_is_free() {
        let slots = slots(2, 1);
        for _ in 0..3 {
            let slot = admitted(&slots, "192.0.2.1");
            let _in_flight = slot.as_ref().map(|slot| slot.state.begin());
            assert!(is_open(&slot) && admitted(&slots, "192.0.2.1").is_none());
        }
        let open = slots.open();
        assert!(open.connections.is_empty() && open.by_network.is_empty());
    }
}
