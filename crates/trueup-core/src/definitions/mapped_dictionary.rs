//! What a mapping makes of a dictionary, kept for as long as the dictionary is in memory.

use crate::{Interruption, StringList};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Dictionaries with more texts are mapped by each query, so that little memory is used in addition to that of columns.
const MOST_TEXTS: usize = 4_096;

/// What a mapping makes of the texts of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct MappedDictionary {
    /// By code of the source, the code of the dimension.
    pub(super) codes: Vec<u32>,
    /// The codes by text.
    by_text: HashMap<String, u32>,
    /// The texts by code.
    pub(super) texts: Arc<StringList>,
}

/// What a mapping has made of dictionaries that are in memory.
#[derive(Debug, Default)]
pub(super) struct KnownDictionaries(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By the address of a dictionary, which no other one gets while the entry is there.
    by_address: HashMap<usize, (Weak<StringList>, Arc<MappedDictionary>)>,
    /// The number of entries at which the next insertion first removes the entries of dropped dictionaries.
    next_sweep: usize,
}

impl MappedDictionary {
    /// Maps the texts of `source` that are new, with the function `map`. The first error of `map` ends the mapping.
    pub(super) fn extend<'t>(
        &mut self,
        source: &'t StringList,
        mut map: impl FnMut(&'t str) -> Result<Cow<'t, str>, Interruption>,
    ) -> Result<(), Interruption> {
        let Self { codes, by_text, texts } = self;
        let texts = Arc::make_mut(texts);
        for text in source.iter().skip(codes.len()) {
            let text = map(text)?;
            let code = by_text.get(&*text).copied().unwrap_or_else(|| {
                // A source has fewer than 2^32 texts.
                let code = u32::try_from(texts.len()).unwrap_or(u32::MAX);
                texts.push(&text);
                by_text.insert(text.clone().into_owned(), code);
                code
            });
            codes.push(code);
        }
        Ok(())
    }
}

impl KnownDictionaries {
    /// Returns what the mapping has made of a dictionary.
    pub(super) fn get(&self, source: &Arc<StringList>) -> Option<Arc<MappedDictionary>> {
        self.with(|known| known.by_address.get(&address(source)).map(|(_, mapped)| mapped.clone()))
    }

    /// Keeps what the mapping has made of a dictionary, unless it has too many texts.
    pub(super) fn insert(&self, source: &Arc<StringList>, mapped: &Arc<MappedDictionary>) {
        if source.len() > MOST_TEXTS {
            return;
        }
        self.with(|Known { by_address, next_sweep }| {
            if by_address.len() >= *next_sweep {
                by_address.retain(|_, (source, _)| source.strong_count() > 0);
                *next_sweep = (2 * by_address.len()).max(64);
            }
            by_address.insert(address(source), (Arc::downgrade(source), mapped.clone()));
        });
    }

    fn with<T>(&self, run: impl FnOnce(&mut Known) -> T) -> T {
        // Nothing that holds the lock panics half-way through a change.
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn address(source: &Arc<StringList>) -> usize {
    Arc::as_ptr(source).addr()
}
