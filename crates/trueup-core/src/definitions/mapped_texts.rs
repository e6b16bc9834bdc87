//! The codes of a dimension that users define: each text of its source is mapped once, whatever the number of rows.

use super::mapped_dictionary::MappedDictionary;
use super::mapping::ValueMapping;
use crate::TextList;
use std::sync::Arc;

/// From the codes of a source in one row group to those of a dimension that is derived from it.
#[derive(Debug)]
pub(crate) struct MappedTexts {
    mapping: Arc<ValueMapping>,
    mapped: Arc<MappedDictionary>,
}

impl MappedTexts {
    /// Maps the texts of a source that is complete. Unless these are very many, what the mapping makes of them is kept
    /// for as long as the source is in memory, so that a repeated query maps no texts.
    pub(crate) fn of_dictionary(mapping: &Arc<ValueMapping>, source: &Arc<TextList>) -> Self {
        let mapped = mapping.known.get(source).unwrap_or_else(|| {
            let mut mapped = MappedDictionary::default();
            mapped.extend(source, |text| mapping.map(text));
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
            Arc::make_mut(&mut self.mapped).extend(source, |text| self.mapping.map(text));
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
