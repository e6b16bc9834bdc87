//! Who is connected, and whose connection is closed to make room for another.

use crate::Settings;
use crate::connection_state::ConnectionState;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The connections that are open. When there is no place for another, the one that has waited longest for its caller is closed.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    limit: usize,
    limit_per_network: usize,
    limit_loopback: bool,
    held: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    connections: HashMap<u64, (Network, ConnectionState)>,
    by_network: HashMap<Network, usize>,
}

/// The addresses that are limited together: one of IPv4, the 64 bits of IPv6 that one site has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Network {
    V4([u8; 4]),
    V6([u16; 4]),
    /// This machine, where a proxy may be, if it is not limited.
    Unlimited,
}

/// What becomes of a new connection.
#[derive(Debug)]
pub(crate) enum Admission {
    Admitted(ConnectionSlot),
    /// All connections are being answered; a place is free later.
    Full,
    /// All connections of its address are being answered, and they are as many as one address may have.
    TooManyOfAddress,
}

/// A connection that is open; dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    pub(crate) activity: ConnectionState,
    places: Arc<ConnectionSlots>,
    number: u64,
}

impl ConnectionSlots {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            limit: settings.max_connections.max(1),
            limit_per_network: settings.max_connections_per_address.max(1),
            limit_loopback: settings.limit_loopback,
            held: Mutex::default(),
        })
    }

    /// Gives a connection from an address a place, if need be that of another.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Admission {
        let network = self.network(address);
        let mut held = self.held();
        let of_network = held.by_network.get(&network).copied().unwrap_or(0);
        if network != Network::Unlimited && of_network >= self.limit_per_network {
            if !held.evict(|other| other == network) {
                return Admission::TooManyOfAddress;
            }
        } else if held.connections.len() >= self.limit && !held.evict(|_| true) {
            return Admission::Full;
        }
        let activity = ConnectionState::new();
        let number = held.next;
        held.next += 1;
        held.connections.insert(number, (network, activity.clone()));
        *held.by_network.entry(network).or_default() += 1;
        Admission::Admitted(ConnectionSlot { activity, places: Arc::clone(self), number })
    }

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

    fn held(&self) -> MutexGuard<'_, OpenConnections> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Closes the connection that has waited longest for its caller; whether there is one.
    fn evict(&mut self, is_meant: impl Fn(Network) -> bool) -> bool {
        let now = Instant::now();
        let meant = self.connections.iter().filter(|(_, (network, _))| is_meant(*network));
        let waiting = meant.filter_map(|(number, (_, activity))| Some((activity.waiting(now)?, *number)));
        let Some((_, longest)) = waiting.min() else { return false };
        if let Some(activity) = self.remove(longest) {
            activity.evict();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionState> {
        let (network, activity) = self.connections.remove(&number)?;
        if let Some(count) = self.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
        Some(activity)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.places.held().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use super::*;
    use crate::connection_state::RequestStage;

    fn places(limit: usize, limit_per_network: usize) -> Arc<ConnectionSlots> {
        let settings =
            Settings { max_connections: limit, max_connections_per_address: limit_per_network, ..Settings::default() };
        ConnectionSlots::new(&settings)
    }

    fn admitted(places: &Arc<ConnectionSlots>, address: &str) -> Option<ConnectionSlot> {
        let Ok(address) = address.parse() else { panic!("`{address}` is no address") };
        match places.admit(address) {
            Admission::Admitted(place) => Some(place),
            Admission::Full | Admission::TooManyOfAddress => None,
        }
    }

    fn is_held(place: &Option<ConnectionSlot>) -> bool {
        place.as_ref().is_some_and(|place| place.places.held().connections.contains_key(&place.number))
    }

    #[test]
    fn the_one_that_waited_longest_makes_room() {
        let places = places(4, 4);
        let [oldest, works, sends, newest] = ["192.0.2.1"; 4].map(|address| admitted(&places, address));
        let answering = works.as_ref().map(|place| place.activity.begin());
        let sending = sends.as_ref().map(|place| place.activity.begin());
        if let Some(place) = &sends {
            place.activity.enter(RequestStage::Answer);
        }
        let held = || [&oldest, &works, &sends, &newest].map(is_held);
        assert_eq!(held(), [true; 4]);
        let first = admitted(&places, "198.51.100.1");
        assert_eq!(held(), [false, true, true, true]);
        let second = admitted(&places, "198.51.100.1");
        assert_eq!(held(), [false, true, true, false]);
        let third = admitted(&places, "198.51.100.1");
        assert_eq!([&first, &second, &third].map(is_held), [false, true, true]);
        // A request that has ended is idle from its end on.
        drop(answering);
        let fourth = admitted(&places, "198.51.100.1");
        assert_eq!(([&second, &third, &fourth].map(is_held), is_held(&works)), ([false, true, true], true));
        drop(sending);
    }

    #[test]
    fn who_has_not_sent_a_body_is_idle() {
        let places = places(1, 1);
        let place = admitted(&places, "192.0.2.1");
        let _answering = place.as_ref().map(|place| place.activity.begin());
        assert!(admitted(&places, "192.0.2.2").is_none());
        if let Some(place) = &place {
            place.activity.enter(RequestStage::Body);
        }
        assert!(admitted(&places, "192.0.2.2").is_some());
        assert!(!is_held(&place));
    }

    #[test]
    fn an_address_has_its_own_limit() {
        let places = places(100, 2);
        // Of IPv6 a site has 64 bits; an address of IPv4 may be written as one of IPv6.
        for same in [
            ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"],
            ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::"],
        ] {
            let held = same.map(|address| admitted(&places, address));
            assert_eq!([0, 1, 2].map(|at| is_held(&held[at])), [false, true, true], "{same:?}");
            let _answering: Vec<_> = held.iter().flatten().map(|place| place.activity.begin()).collect();
            assert!(admitted(&places, same[0]).is_none(), "{same:?}");
        }
        for others in ["192.0.2.2", "2001:db8:1:3::1"] {
            assert!(admitted(&places, others).is_some());
        }
        let proxy: Vec<_> =
            ["127.0.0.1", "127.0.0.1", "::1", "::ffff:127.0.0.1"].map(|at| admitted(&places, at)).into();
        assert!(proxy.iter().all(is_held));
    }

    #[test]
    fn a_place_is_free_once_it_is_dropped() {
        let places = places(2, 1);
        for _ in 0..3 {
            let place = admitted(&places, "192.0.2.1");
            let _answering = place.as_ref().map(|place| place.activity.begin());
            assert!(is_held(&place) && admitted(&places, "192.0.2.1").is_none());
        }
        let held = places.held();
        assert!(held.connections.is_empty() && held.by_network.is_empty());
    }
}
