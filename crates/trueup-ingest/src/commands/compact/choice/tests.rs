#![expect(clippy::cast_precision_loss, reason = "figures of a model")]

use super::*;
use proptest::prelude::*;

const UNLIMITED: Extent = Extent { min_runs: 1, max_bytes: u64::MAX, full_rows: u64::MAX };

fn file<'a>(pass: &'a str, accounts: (&'a str, &'a str), left: u64, superseded: u64) -> StoredFile<'a> {
    StoredFile { pass, accounts: Some(accounts), left, superseded, bytes: 10 * left }
}

fn of_all_accounts(pass: &str, left: u64, superseded: u64) -> StoredFile<'_> {
    file(pass, ("a", "z"), left, superseded)
}

#[test]
fn runs_are_merged_once_smaller_runs_or_superseded_rows_are_large_enough() {
    let chosen = |sizes: &[(u64, u64)]| {
        let passes: Vec<String> = (0..sizes.len()).map(|pass| pass.to_string()).collect();
        let files: Vec<_> =
            passes.iter().zip(sizes).map(|(pass, (left, gone))| of_all_accounts(pass, *left, *gone)).collect();
        choose(&files, UNLIMITED)
    };
    assert_eq!(chosen(&[]), [0_usize; 0]);
    assert_eq!(chosen(&[(1_000, 0)]), [0_usize; 0]);
    assert_eq!(chosen(&[(1_000, 0), (20, 0), (20, 0), (20, 0)]), [0_usize; 0]);
    assert_eq!(chosen(&[(1_000, 0), (20, 0), (20, 0), (20, 0), (20, 0)]), [1, 2, 3, 4]);
    // The merged run would make four of the next size.
    assert_eq!(
        chosen(&[(5_000, 0), (80, 0), (80, 0), (20, 0), (20, 0), (80, 0), (20, 0), (20, 0)]),
        [1, 2, 3, 4, 5, 6, 7]
    );
    // Half of the largest run.
    assert_eq!(chosen(&[(499, 0), (1_000, 0)]), [0_usize; 0]);
    assert_eq!(chosen(&[(500, 0), (1_000, 0)]), [0, 1]);
    assert_eq!(chosen(&[(400, 0), (1_000, 100)]), [0, 1]);
    assert_eq!(chosen(&[(1_000, 499)]), [0_usize; 0]);
    assert_eq!(chosen(&[(1_000, 500)]), [0]);
    // A smaller run of which most rows are superseded is written again by itself, or leaves nothing.
    assert_eq!(chosen(&[(10, 30), (1_000, 0)]), [0]);
    assert_eq!(chosen(&[(0, 5), (1_000, 0)]), [0]);
    assert_eq!(chosen(&[(0, 5)]), [0]);
    assert_eq!(chosen(&[(0, 0)]), [0_usize; 0]);
}

#[test]
fn limits_allow_fewer_merges() {
    let files = ["1", "2", "3", "4"].map(|pass| of_all_accounts(pass, 20, 0));
    let files = [vec![of_all_accounts("0", 40, 0)], files.to_vec()].concat();
    assert_eq!(choose(&files, UNLIMITED), [0, 1, 2, 3, 4]);
    assert_eq!(choose(&files, Extent { min_runs: 5, ..UNLIMITED }), [0, 1, 2, 3, 4]);
    assert_eq!(choose(&files, Extent { min_runs: 6, ..UNLIMITED }), [0_usize; 0]);
    assert_eq!(choose(&files, Extent { max_bytes: 1_199, ..UNLIMITED }), [1, 2, 3, 4]);
    assert_eq!(choose(&files, Extent { max_bytes: 799, ..UNLIMITED }), [0_usize; 0]);
}

#[test]
fn full_files_of_other_accounts_belong_to_a_run() {
    let base = [file("0", ("a", "c"), 100, 0), file("0", ("c", "c"), 100, 0), file("0", ("f", "m"), 100, 0)];
    let runs_with = |added: StoredFile<'_>, full_rows: u64| {
        let files = [base.as_slice(), &[added]].concat();
        runs(&files, full_rows).len()
    };
    assert_eq!(runs_with(file("1", ("d", "e"), 50, 0), 50), 1);
    assert_eq!(runs_with(file("1", ("n", "n"), 50, 0), 50), 1);
    assert_eq!(runs_with(file("1", ("d", "e"), 50, 0), 51), 2);
    for accounts in [("c", "d"), ("d", "f"), ("b", "b"), ("a", "z"), ("e", "g"), ("m", "m")] {
        assert_eq!(runs_with(file("1", accounts, 50, 0), 50), 2, "{accounts:?}");
    }
    assert_eq!(runs_with(StoredFile { accounts: None, ..file("1", ("d", "e"), 50, 0) }, 50), 2);
    // The files of a pass are a run whatever is known of them.
    assert_eq!(runs_with(StoredFile { accounts: None, ..file("0", ("a", "z"), 50, 0) }, 50), 1);
}

#[test]
fn files_of_a_pass_may_overlap() {
    let base = [file("0", ("a", "z"), 100, 0), file("0", ("b", "y"), 100, 0)];
    for (accounts, expected) in [(("yy", "zz"), 2), (("c", "d"), 2), (("z", "zz"), 2), (("za", "zz"), 1)] {
        let files = [base.as_slice(), &[file("1", accounts, 50, 0)]].concat();
        assert_eq!(runs(&files, 50).len(), expected, "{accounts:?}");
    }
    let mut run = Run::default();
    for (first, last) in [("d", "e"), ("a", "b"), ("g", "h"), ("b", "d"), ("f", "f"), ("a", "c")] {
        run.cover(first, last);
    }
    assert_eq!(run.accounts, BTreeMap::from([("a", "e"), ("f", "f"), ("g", "h")]));
}

/// A dataset that is updated: its files, oldest first, as a pass, rows left, and superseded rows.
struct Model {
    files: Vec<(String, u64, u64)>,
    passes: u64,
    /// The rows that ingests and merges have written.
    ingested: u64,
    merged: u64,
}

impl Model {
    fn new(base: u64) -> Self {
        let mut model = Self { files: Vec::new(), passes: 0, ingested: 0, merged: 0 };
        model.add(base);
        model
    }

    fn add(&mut self, rows: u64) {
        if rows > 0 {
            self.passes += 1;
            self.files.push((format!("{:08}", self.passes), rows, 0));
        }
    }

    /// Adds new rows together with the stored rows of the customers that they touch: `histories` percent as many, of
    /// which `recent` percent are in the newest files, and the others anywhere.
    fn ingest(&mut self, new: u64, histories: u64, recent: u64) {
        let touched = (new * histories / 100).min(self.left());
        let mut carried = 0;
        let mut late = touched * recent / 100;
        for (_, left, superseded) in self.files.iter_mut().rev() {
            let gone = late.min(*left);
            (*left, *superseded, late, carried) = (*left - gone, *superseded + gone, late - gone, carried + gone);
        }
        let (anywhere, total) = (touched - carried, self.left().max(1));
        for (_, left, superseded) in &mut self.files {
            let gone = anywhere * *left / total;
            (*left, *superseded, carried) = (*left - gone, *superseded + gone, carried + gone);
        }
        self.ingested += new + carried;
        self.add(new + carried);
    }

    /// Merges files until none are due.
    fn compact(&mut self, extent: Extent) {
        loop {
            let files: Vec<_> =
                self.files.iter().map(|(pass, left, gone)| of_all_accounts(pass, *left, *gone)).collect();
            let chosen = choose(&files, extent);
            if chosen.is_empty() {
                return;
            }
            let rows = chosen.iter().map(|at| self.files[*at].1).sum();
            let mut at = 0..;
            self.files.retain(|_| at.next().is_none_or(|at| !chosen.contains(&at)));
            self.merged += rows;
            self.add(rows);
        }
    }

    fn left(&self) -> u64 {
        self.files.iter().map(|(_, left, _)| left).sum()
    }

    fn superseded(&self) -> u64 {
        self.files.iter().map(|(_, _, superseded)| superseded).sum()
    }
}

/// Logarithm to the base of [`FAN_OUT`].
fn levels(ratio: f64) -> f64 {
    ratio.max(1.0).log2() / (FAN_OUT as f64).log2()
}

proptest! {
    #[test]
    fn written_rows_runs_and_superseded_rows_stay_bounded(
        base in 0..2_000_000_u64,
        new in 100..20_000_u64,
        histories in 0..400_u64,
        recent in 0..=100_u64,
        ingests in 1..150_u64,
    ) {
        let mut model = Model::new(base);
        for _ in 0..ingests {
            model.ingest(new, histories, recent);
            model.compact(UNLIMITED);
            let largest = model.files.iter().map(|(_, left, _)| *left).max().unwrap_or(0);
            // What is out of place is at most half of the largest run.
            prop_assert!(2 * (model.left() - largest + model.superseded()) <= largest + 1);
            // Each run is at least a third of the runs that are smaller.
            let smallest = model.files.iter().map(|(_, left, _)| *left).min().unwrap_or(0).max(1);
            let runs = (model.left() as f64 / smallest as f64).ln() / (4.0_f64 / 3.0).ln() + 1.0;
            prop_assert!(model.files.len() as f64 <= runs + 1e-6, "{:?}", model.files);
        }
        let rewritten = model.merged as f64 / model.ingested as f64;
        let bound = 1.0 + 1.5 * levels(model.left() as f64 / new as f64) + base.min(2 * model.ingested) as f64 / model.ingested as f64;
        prop_assert!(rewritten <= bound, "{rewritten} > {bound}");
    }

    #[test]
    fn a_choice_has_whole_runs_and_ends(
        sizes in prop::collection::vec((0..5_u8, 0..6_u8, 0..6_u8, 0..1_000_u64, 0..1_000_u64), 0..40),
        full_rows in 0..1_000_u64,
        max_bytes in 0..20_000_u64,
    ) {
        let names: Vec<String> = (0..6).map(|name| format!("{name}")).collect();
        let mut made: Vec<String> = Vec::new();
        let extent = Extent { full_rows, ..UNLIMITED };
        let mut stored: Vec<(String, usize, usize, u64, u64)> = sizes
            .into_iter()
            .map(|(pass, one, other, left, superseded)| {
                let (first, last) = (one.min(other).into(), one.max(other).into());
                (format!("p{pass}"), first, last, left, superseded)
            })
            .collect();
        for round in 0.. {
            prop_assert!(round <= 100);
            let files: Vec<_> = stored
                .iter()
                .map(|(pass, first, last, left, superseded)| file(pass, (&names[*first], &names[*last]), *left, *superseded))
                .collect();
            let limited = choose(&files, Extent { max_bytes, ..extent });
            prop_assert!(limited.iter().map(|at| files[*at].bytes).sum::<u64>() <= max_bytes);
            let chosen = choose(&files, extent);
            prop_assert!(chosen.is_sorted_by(|one, next| one < next));
            prop_assert!(limited.iter().all(|at| chosen.contains(at)));
            for (at, one) in files.iter().enumerate() {
                let is_chosen = |at: &usize| chosen.contains(at);
                let same = (0..files.len()).find(|other| files[*other].pass == one.pass && is_chosen(other));
                prop_assert!(is_chosen(&at) || same.is_none());
            }
            if chosen.is_empty() {
                break;
            }
            made.push(format!("m{round}"));
            let left = chosen.iter().map(|at| stored[*at].3).sum();
            let mut at = 0..;
            stored.retain(|_| at.next().is_none_or(|at| !chosen.contains(&at)));
            if left > 0 {
                stored.push((format!("m{round}"), 0, 5, left, 0));
            }
        }
    }
}

/// The model of `docs/design.md`, with bounds above its figures. From nothing, new events here bring half as many
/// stored events along.
#[test]
fn a_year_of_daily_ingests_writes_little_and_wastes_little() {
    for (base, histories, written, superseded, runs) in [(10_000_000, 100, 6.0, 0.2, 12), (0, 50, 8.0, 0.2, 12)] {
        let mut model = Model::new(base);
        for _ in 0..365 {
            model.ingest(20_000, histories, 50);
            model.compact(UNLIMITED);
            assert!(model.files.len() <= runs, "{}", model.files.len());
        }
        let share = |rows: u64| rows as f64 / model.left() as f64;
        assert!(share(model.ingested + model.merged) < written, "{}", share(model.ingested + model.merged));
        assert!(share(model.superseded()) < superseded, "{}", share(model.superseded()));
    }
}
