//! The codes of a dimension that users define: each text of its source is mapped once, whatever the number of rows.

use super::mapping::ValueMapping;
use crate::TextList;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Dictionaries with more texts are mapped by each query, so that little memory is used in addition to that of columns.
const MOST_TEXTS: usize = 4_096;

/// From the codes of a source in one row group to those of a dimension that is derived from it.
#[derive(Debug)]
pub(crate) struct MappedTexts {
    mapping: Arc<ValueMapping>,
    mapped: Arc<MappedDictionary>,
}

/// What a mapping makes of the texts of a source.
#[derive(Clone, Debug, Default)]
struct MappedDictionary {
    /// By code of the source, the code of the dimension.
    codes: Vec<u32>,
    /// The codes by text.
    by_text: HashMap<String, u32>,
    /// The texts by code.
    texts: Arc<TextList>,
}

impl MappedTexts {
    /// Maps the texts of a source to which no more are added. What the mapping makes of them is kept for as long as the
    /// source is in memory, so that a query asked again maps no texts.
    pub(crate) fn of_dictionary(mapping: &Arc<ValueMapping>, source: &Arc<TextList>) -> Self {
        let mapped = mapping.known.get(source).unwrap_or_else(|| {
            let mut mapped = MappedDictionary::default();
            mapped.extend(mapping, source);
            let mapped = Arc::new(mapped);
            mapping.known.insert(source, &mapped);
            mapped
        });
        Self { mapping: mapping.clone(), mapped }
    }

    /// Maps the texts of a source that grows while rows are read.
    pub(crate) fn of_growing(mapping: &Arc<ValueMapping>, source: &TextList) -> Self {
        let mut mapped = Self { mapping: mapping.clone(), mapped: Arc::default() };
        mapped.extend(source);
        mapped
    }

    /// Maps the texts of the source that are new.
    pub(crate) fn extend(&mut self, source: &TextList) {
        if source.len() > self.mapped.codes.len() {
            Arc::make_mut(&mut self.mapped).extend(&self.mapping, source);
        }
    }

    /// Replaces codes of the source by those of the dimension.
    pub(crate) fn apply(&self, codes: &mut [u32]) {
        let mapped = &*self.mapped.codes;
        codes.iter_mut().for_each(|code| *code = mapped[*code as usize]);
    }

    /// Returns the texts by code.
    pub(crate) fn texts(&self) -> &Arc<TextList> {
        &self.mapped.texts
    }
}

impl MappedDictionary {
    fn extend(&mut self, mapping: &ValueMapping, source: &TextList) {
        let Self { codes, by_text, texts } = self;
        let texts = Arc::make_mut(texts);
        for text in source.iter().skip(codes.len()) {
            let text = mapping.map(text);
            let code = by_text.get(&*text).copied().unwrap_or_else(|| {
                // A source has fewer than 2^32 texts.
                let code = u32::try_from(texts.len()).unwrap_or(u32::MAX);
                texts.push(&text);
                by_text.insert(text.clone().into_owned(), code);
                code
            });
            codes.push(code);
        }
    }
}

/// What a mapping has made of dictionaries that are in memory.
#[derive(Debug, Default)]
pub(super) struct KnownDictionaries(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By the address of a dictionary, which no other one gets while the entry is there.
    by_address: HashMap<usize, (Weak<TextList>, Arc<MappedDictionary>)>,
    /// The number of entries from which the next one first removes those of dropped dictionaries.
    next_sweep: usize,
}

impl KnownDictionaries {
    fn get(&self, source: &Arc<TextList>) -> Option<Arc<MappedDictionary>> {
        self.with(|known| known.by_address.get(&address(source)).map(|(_, mapped)| mapped.clone()))
    }

    fn insert(&self, source: &Arc<TextList>, mapped: &Arc<MappedDictionary>) {
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

fn address(source: &Arc<TextList>) -> usize {
    Arc::as_ptr(source).addr()
}
