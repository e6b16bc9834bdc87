//! The states and steps of the model.

use stateright::{Model, Property};
use std::collections::{BTreeMap, BTreeSet};

/// Which rules of the protocol hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// An expired manifest is replaced by a tombstone, and not removed.
    pub(crate) tombstones: bool,
    /// A writer that gives up takes its number before it removes its files.
    pub(crate) fences: bool,
    /// A writer looks for the floor after its manifest was created.
    pub(crate) confirmation: bool,
    /// A writer that finds its number behind the floor does not know what became of its version: it may have been
    /// published and have expired, so that later ones name its files.
    pub(crate) doubt: bool,
    /// Files of a writer that no manifest names are removed only if the writer's number is taken.
    pub(crate) taken_first: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol {
    pub(crate) writers: u8,
    /// Whether the last writer removes the rows of the first one, and lets all versions before expire.
    pub(crate) purges: bool,
    /// How many times versions expire.
    pub(crate) expiries: u8,
    /// How many times a writer repeats a request whose outcome it does not know.
    pub(crate) repetitions: u8,
    pub(crate) rules: Rules,
}

/// Writers, as bits. A writer adds rows, which are in a file of its own.
type Writers = u8;

/// The number of a version.
type Number = u8;

/// A manifest: who wrote it, and whose rows, and so files, it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Manifest {
    writer: u8,
    rows: Writers,
}

/// What has the name of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Object {
    Manifest(Manifest),
    Tombstone(Manifest),
    Fence,
}

/// A request to create an object, which may arrive at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    number: Number,
    object: Object,
}

/// What a writer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It reads the newest version.
    Begin,
    /// It uploads its file, and sends its manifest.
    Send { number: Number, manifest: Manifest, left: u8 },
    /// It has no answer, and reads what has the name.
    ReadBack { number: Number, manifest: Manifest, left: u8 },
    /// It gives up, and takes the number.
    Fence { number: Number, manifest: Manifest },
    /// It has no answer to that, and reads what has the name.
    ReadFence { number: Number, manifest: Manifest },
    /// Its manifest was created, and it looks for the floor.
    Confirm { number: Number, manifest: Manifest },
    /// Something else has its number. It removes its file, unless it has a doubt.
    CleanUp { number: Number },
    /// It has said that its rows are in the dataset.
    Acknowledged,
    /// It has said that its rows are not in the dataset.
    Failed,
    /// It has said that it does not know.
    Indeterminate,
    /// It was killed.
    Killed,
}

/// What an expiry does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Expiry {
    /// Nothing.
    Idle,
    /// Its record is written. It replaces the manifests of these versions, if they are still the ones that it read.
    Bury(Vec<(Number, Manifest)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    objects: BTreeMap<Number, Object>,
    /// No version has a number up to this one.
    floor: Number,
    /// Whose files are in the store.
    files: Writers,
    /// Whose files were uploaded at some time.
    uploaded: Writers,
    /// Whose files an expiry has written into its record.
    recorded: Writers,
    /// Requests that may still arrive.
    under_way: BTreeSet<Request>,
    phases: Vec<Phase>,
    expiry: Expiry,
    expiries: u8,
    /// The numbers that each writer has used; see [`Rules::taken_first`].
    numbers: Vec<Number>,
    /// Whose manifests counted at some time, by their number.
    published: BTreeMap<Number, Writers>,
    /// Whether the purge was acknowledged and the versions before it have expired.
    is_purged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A writer goes on. What it sends arrives now, and so does the answer.
    Go(u8),
    /// What a writer sends arrives now, and the answer is lost.
    LoseAnswer(u8),
    /// What a writer sends arrives later, and a gateway answers that it has given up.
    Delay(u8),
    Kill(u8),
    /// A request arrives that was under way.
    Arrive(Request),
    Expire,
    Bury,
    /// The floor rises to just below the first version, or the first one that does not expire.
    RaiseFloor,
    /// A name behind the floor is removed.
    Forget(Number),
    /// A file that a record lists is removed.
    RemoveExpired(u8),
    /// A file of a writer that seems to have been killed is removed.
    RemoveLeftover(u8),
}

const fn bit(writer: u8) -> Writers {
    1 << writer
}

impl State {
    /// Returns the versions, ascending.
    fn versions(&self) -> impl DoubleEndedIterator<Item = (Number, Manifest)> {
        self.objects.range(self.floor + 1..).filter_map(|(number, object)| match object {
            Object::Manifest(manifest) => Some((*number, *manifest)),
            Object::Tombstone(_) | Object::Fence => None,
        })
    }

    fn newest(&self) -> Option<(Number, Manifest)> {
        self.versions().next_back()
    }

    fn highest(&self) -> Number {
        self.objects.keys().copied().max().unwrap_or(0).max(self.floor)
    }

    /// Whose files the versions name.
    fn named(&self) -> Writers {
        self.versions().fold(0, |named, (_, manifest)| named | manifest.rows)
    }

    /// Creates an object if its name is free. Returns whether it was.
    fn create(&mut self, request: Request) -> bool {
        if self.objects.contains_key(&request.number) {
            return false;
        }
        self.objects.insert(request.number, request.object);
        if let (Object::Manifest(manifest), true) = (request.object, request.number > self.floor) {
            *self.published.entry(request.number).or_default() |= bit(manifest.writer);
        }
        true
    }

    /// Sends a request. Returns whether the object was created, if the writer learns that.
    fn send(&mut self, request: Request, step: &Step) -> Option<bool> {
        match step {
            Step::Go(_) => Some(self.create(request)),
            Step::LoseAnswer(_) => {
                self.create(request);
                None
            }
            _ => {
                self.under_way.insert(request);
                None
            }
        }
    }
}

/// What a writer finds under the name of its manifest.
enum Holder {
    Own,
    Fence,
    Other,
    Nothing,
}

impl Protocol {
    fn holder(state: &State, number: Number, manifest: Manifest) -> Holder {
        match state.objects.get(&number) {
            None => Holder::Nothing,
            Some(Object::Manifest(found) | Object::Tombstone(found)) if *found == manifest => Holder::Own,
            Some(Object::Fence) => Holder::Fence,
            Some(_) => Holder::Other,
        }
    }

    fn is_purge(&self, writer: u8) -> bool {
        self.purges && writer + 1 == self.writers
    }

    /// Returns what a writer does after it has learned that its manifest was created.
    fn created(&self, number: Number, manifest: Manifest) -> Phase {
        if self.rules.confirmation { Phase::Confirm { number, manifest } } else { Phase::Acknowledged }
    }

    fn gives_up(&self, number: Number, manifest: Manifest) -> Phase {
        if self.rules.fences { Phase::Fence { number, manifest } } else { Phase::CleanUp { number } }
    }

    /// Takes the next step of a writer.
    fn write(&self, state: &mut State, writer: u8, step: &Step) -> Option<()> {
        let phase = *state.phases.get(usize::from(writer))?;
        let answered = matches!(step, Step::Go(_));
        let next = match phase {
            Phase::Begin if answered => {
                let number = state.highest() + 1;
                let rows = state.newest().map_or(0, |(_, newest)| newest.rows);
                let removed = if self.is_purge(writer) { bit(0) } else { 0 };
                if removed & !rows != 0 {
                    // There is nothing to remove yet.
                    return None;
                }
                let manifest = Manifest { writer, rows: rows & !removed | bit(writer) };
                state.files |= bit(writer);
                state.uploaded |= bit(writer);
                *state.numbers.get_mut(usize::from(writer))? = number;
                Phase::Send { number, manifest, left: self.repetitions }
            }
            Phase::Send { number, manifest, left } => {
                let request = Request { number, object: Object::Manifest(manifest) };
                match state.send(request, step) {
                    Some(true) => self.created(number, manifest),
                    _ => Phase::ReadBack { number, manifest, left },
                }
            }
            Phase::ReadBack { number, manifest, left } if answered => {
                match (Self::holder(state, number, manifest), left.checked_sub(1)) {
                    (Holder::Own, _) => self.created(number, manifest),
                    (Holder::Fence | Holder::Other, _) => Phase::CleanUp { number },
                    (Holder::Nothing, Some(left)) => Phase::Send { number, manifest, left },
                    (Holder::Nothing, None) => self.gives_up(number, manifest),
                }
            }
            Phase::Fence { number, manifest } => match state.send(Request { number, object: Object::Fence }, step) {
                Some(true) => Phase::CleanUp { number },
                _ => Phase::ReadFence { number, manifest },
            },
            Phase::ReadFence { number, manifest } if answered => match Self::holder(state, number, manifest) {
                Holder::Own => self.created(number, manifest),
                Holder::Fence | Holder::Other => Phase::CleanUp { number },
                Holder::Nothing => Phase::Indeterminate,
            },
            Phase::Confirm { number, .. } if answered && number > state.floor => Phase::Acknowledged,
            Phase::Confirm { number, manifest } if answered => match state.objects.get(&number) {
                Some(Object::Manifest(found)) if *found == manifest && !self.rules.doubt => {
                    state.objects.remove(&number);
                    Phase::CleanUp { number }
                }
                Some(Object::Tombstone(found)) if *found == manifest => Phase::Acknowledged,
                _ => Phase::Indeterminate,
            },
            Phase::CleanUp { number } if answered && self.rules.doubt && number <= state.floor => Phase::Indeterminate,
            Phase::CleanUp { .. } if answered => {
                state.files &= !bit(writer);
                Phase::Failed
            }
            _ => return None,
        };
        *state.phases.get_mut(usize::from(writer))? = next;
        Some(())
    }

    /// Replaces the next manifest that expires.
    fn bury(&self, state: &mut State) -> Option<()> {
        let Expiry::Bury(mut left) = state.expiry.clone() else { return None };
        if let Some((number, manifest)) = left.pop() {
            // Conditional: nothing else is replaced.
            if state.objects.get(&number) == Some(&Object::Manifest(manifest)) {
                if self.rules.tombstones {
                    state.objects.insert(number, Object::Tombstone(manifest));
                } else {
                    state.objects.remove(&number);
                }
            }
        }
        state.expiry = if left.is_empty() { Expiry::Idle } else { Expiry::Bury(left) };
        if state.expiry == Expiry::Idle && self.purges && state.phases.last() == Some(&Phase::Acknowledged) {
            let purge = state.numbers.last().copied()?;
            let first = state.versions().next();
            state.is_purged |= first.is_some_and(|(first, _)| first >= purge);
        }
        Some(())
    }

    fn is_taken(&self, state: &State, number: Number) -> bool {
        !self.rules.taken_first || number <= state.floor || state.objects.contains_key(&number)
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let writers = usize::from(self.writers);
        vec![State {
            objects: BTreeMap::new(),
            floor: 0,
            files: 0,
            uploaded: 0,
            recorded: 0,
            under_way: BTreeSet::new(),
            phases: vec![Phase::Begin; writers],
            expiry: Expiry::Idle,
            expiries: 0,
            numbers: vec![0; writers],
            published: BTreeMap::new(),
            is_purged: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        for writer in 0..self.writers {
            actions.extend([Step::Go(writer), Step::LoseAnswer(writer), Step::Delay(writer), Step::Kill(writer)]);
            actions.extend([Step::RemoveExpired(writer), Step::RemoveLeftover(writer)]);
        }
        actions.extend(state.under_way.iter().copied().map(Step::Arrive));
        actions.extend([Step::Expire, Step::Bury, Step::RaiseFloor]);
        actions.extend(state.objects.range(..=state.floor).map(|(number, _)| Step::Forget(*number)));
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match &step {
            Step::Go(writer) | Step::LoseAnswer(writer) | Step::Delay(writer) => {
                self.write(&mut state, *writer, &step)?;
            }
            Step::Kill(writer) => {
                let phase = state.phases.get_mut(usize::from(*writer))?;
                if matches!(
                    phase,
                    Phase::Begin | Phase::Acknowledged | Phase::Failed | Phase::Indeterminate | Phase::Killed
                ) {
                    return None;
                }
                *phase = Phase::Killed;
            }
            Step::Arrive(request) => {
                state.under_way.remove(request);
                state.create(*request);
            }
            Step::Expire => {
                let mut expired: Vec<(Number, Manifest)> = state.versions().collect();
                expired.pop();
                if state.expiry != Expiry::Idle || state.expiries == self.expiries || expired.is_empty() {
                    return None;
                }
                let newest = state.newest().map_or(0, |(_, newest)| newest.rows);
                state.recorded |= expired.iter().fold(0, |named, (_, manifest)| named | manifest.rows) & !newest;
                state.expiries += 1;
                state.expiry = Expiry::Bury(expired);
            }
            Step::Bury => self.bury(&mut state)?,
            Step::RaiseFloor => {
                // An expiry raises it over manifests, too, in place of replacing them.
                let expires = match &state.expiry {
                    Expiry::Bury(left) => left.as_slice(),
                    Expiry::Idle => &[],
                };
                let (first, _) = state.versions().find(|version| !expires.contains(version))?;
                if first - 1 <= state.floor || !self.rules.tombstones {
                    return None;
                }
                state.floor = first - 1;
            }
            Step::Forget(number) => {
                state.objects.remove(number)?;
            }
            Step::RemoveExpired(writer) => {
                if state.recorded & state.files & !state.named() & bit(*writer) == 0 {
                    return None;
                }
                state.files &= !bit(*writer);
            }
            Step::RemoveLeftover(writer) => {
                let number = *state.numbers.get(usize::from(*writer))?;
                if state.files & !state.named() & bit(*writer) == 0 || !self.is_taken(&state, number) {
                    return None;
                }
                state.files &= !bit(*writer);
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn acknowledged(state: &State) -> impl Iterator<Item = u8> {
            (0_u8..).zip(&state.phases).filter(|(_, phase)| **phase == Phase::Acknowledged).map(|(writer, _)| writer)
        }
        vec![
            Property::always("what is acknowledged stays", |model: &Self, state: &State| {
                let newest = state.newest().map_or(0, |(_, newest)| newest.rows);
                let is_purged = model.purges && newest & bit(model.writers - 1) != 0;
                acknowledged(state).all(|writer| newest & bit(writer) != 0 || is_purged && writer == 0)
            }),
            Property::always("the newest version is whole", |_, state: &State| {
                state.newest().is_none_or(|(_, newest)| newest.rows & !state.files == 0)
            }),
            Property::always("each number is that of one version", |_, state: &State| {
                state.published.values().all(|writers| writers.count_ones() == 1)
            }),
            Property::always("what has failed does not appear", |_, state: &State| {
                state.versions().all(|(_, manifest)| {
                    (0_u8..)
                        .zip(&state.phases)
                        .all(|(writer, phase)| *phase != Phase::Failed || manifest.rows & bit(writer) == 0)
                })
            }),
            Property::always("what is purged stays away", |_, state: &State| {
                !state.is_purged || state.versions().all(|(_, manifest)| manifest.rows & bit(0) == 0)
            }),
            Property::sometimes("some histories acknowledge all writers", |model: &Self, state: &State| {
                acknowledged(state).count() == usize::from(model.writers)
            }),
            Property::sometimes("some requests arrive too late", |_, state: &State| {
                let is_late =
                    |request: &Request| matches!(state.objects.get(&request.number), Some(Object::Tombstone(_)));
                state.under_way.iter().any(is_late)
            }),
            Property::sometimes("some writers do not know", |_, state: &State| {
                state.phases.contains(&Phase::Indeterminate)
            }),
            Property::sometimes("some names go behind the floor and come back", |_, state: &State| {
                let is_back = |(number, object): (&Number, &Object)| {
                    matches!(object, Object::Manifest(_)) && *number <= state.floor
                };
                state.objects.iter().any(is_back)
            }),
        ]
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.highest() <= self.writers + 2
    }
}
