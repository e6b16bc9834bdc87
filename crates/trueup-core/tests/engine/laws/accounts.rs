//! Checks that accounts do not affect each other.

use super::figures::Figures;
use super::law_case::{amounts, law_case};
use crate::run::{dataset, run};
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueup_core::Execution;
use trueup_core::dictionary::{Measure, MeasureKind};
use trueup_testkit::cases::case;
use trueup_testkit::oracle::{Request, Tables};

/// Returns the tables of some accounts.
fn only(tables: &Tables, accounts: &BTreeSet<String>) -> Tables {
    Tables {
        events: tables.events.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
        spend: tables.spend.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
        accounts: tables.accounts.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
    }
}

proptest! {
    #![proptest_config(super::config())]

    /// Every customer is in one account, so all counts and sums add up over sets of accounts, except that an agent may
    /// work for several accounts. Spend adds up if it has all dimensions; otherwise a group shows the spend of accounts
    /// that have no events in it.
    #[test]
    fn sets_of_accounts_add_up((asked, part) in (law_case(), any::<[u8; 5]>())) {
        let metrics = amounts(|measure: Measure| {
            let with_refunds = measure == Measure::CampaignSpend && asked.has_refunds();
            let adds_up = !measure.is_spend() || asked.has_only_spend_dimensions();
            measure.kind() != MeasureKind::StateDistinct && !with_refunds && adds_up
        });
        let query = asked.query(asked.fields(&metrics));
        let whole = Figures::new(&asked.ask(&query), &asked.dimensions, &metrics);
        let mut sums: Option<Figures> = None;
        for number in 0..3 {
            let chosen = asked.scope().into_iter().zip(part).filter(|(_, part)| part % 3 == number).map(|(key, _)| key);
            let figures = Figures::new(&asked.ask(&query.clone().accounts(chosen)), &asked.dimensions, &metrics);
            sums = Some(match sums {
                Some(sums) => sums.plus(&figures),
                None => figures,
            });
        }
        sums.unwrap().check_equal(&whole)?;
    }

    #[test]
    fn the_data_of_other_accounts_changes_nothing(((tables, request), chosen) in (case(), any::<[bool; 5]>())) {
        let known = tables.account_keys().into_iter().zip(chosen);
        let accounts: BTreeSet<String> = known.filter(|(_, chosen)| *chosen).map(|(key, _)| key).collect();
        let request = Request { accounts: Some(accounts.iter().cloned().collect()), ..request };
        let among_others = run(&dataset(&tables, 7), &request, Execution::default());
        let alone = run(&dataset(&only(&tables, &accounts), 7), &request, Execution::default());
        prop_assert_eq!(among_others, alone);
    }
}
