//! An exhaustive model of how versions appear and disappear in an object store: a model checker tries every order of
//! the steps of some writers and an expiry, with answers that are lost, answers of a gateway that gave up, requests
//! that arrive later, and writers that are killed.
//!
//! The model has the steps of `StoreVersion`, `manifest_file::publish` and `expiry`, and leaves out what is in the
//! files. `docs/reliability.md` names its invariants. Each rule of the protocol can be switched off, and then the
//! checker must find a history that breaks an invariant: otherwise the model would prove nothing.

mod model;

use model::{Protocol, Rules};
use stateright::{Checker as _, HasDiscoveries, Model as _};
use trueup_testkit::exhaustive::is_exhaustive;

/// The rules as they are.
const RULES: Rules = Rules { tombstones: true, fences: true, confirmation: true, doubt: true, taken_first: true };

/// Checks that the rules are enough, and that each thing the model is about happens in some history.
#[test]
fn every_order_of_steps_keeps_the_invariants() {
    // A writer, and one that purges it, with repetitions and two expiries, so that numbers go behind the floor.
    let two = Protocol { writers: 2, purges: true, expiries: 2, repetitions: 1, rules: RULES };
    let protocols = if is_exhaustive() {
        vec![two, Protocol { purges: false, ..two }, Protocol { writers: 3, ..two }]
    } else {
        vec![two, Protocol { purges: false, ..two }]
    };
    for protocol in protocols {
        let checker = protocol.checker().threads(2).spawn_bfs().join();
        println!("{protocol:?}: {} states, {} of them different", checker.state_count(), checker.unique_state_count());
        checker.assert_properties();
    }
}

/// Returns whether some history breaks an invariant.
fn is_broken(protocol: Protocol) -> bool {
    let checker = protocol.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    checker.discoveries().into_keys().any(|name| !name.starts_with("some "))
}

#[test]
fn without_a_rule_a_history_breaks_an_invariant() {
    let protocol = |rules| Protocol { writers: 3, purges: false, expiries: 1, repetitions: 0, rules };
    assert!(
        is_broken(protocol(Rules { tombstones: false, ..RULES })),
        "the number of an expired version is free again"
    );
    assert!(is_broken(protocol(Rules { fences: false, ..RULES })), "a manifest appears after its files were removed");
    assert!(is_broken(protocol(Rules { confirmation: false, ..RULES })), "a manifest lands behind the floor");
    assert!(is_broken(protocol(Rules { taken_first: false, ..RULES })), "files are removed before the number is taken");
    assert!(is_broken(protocol(Rules { doubt: false, ..RULES })), "later versions name the files of an expired one");
}
