//! The codes of a dimension that users define: each text of its source is mapped once, whatever the number of rows.

use super::mapped_dictionary::MappedDictionary;
use super::mapping::ValueMapping;
use crate::interrupt::InterruptChecks;
use crate::{Interrupt, Interruption, StringList};
use std::sync::Arc;

/// From the codes of a source in one row group to those of a dimension that is derived from it.
#[derive(Debug)]
pub(crate) struct MappedTexts<'a> {
    mapping: Arc<ValueMapping>,
    mapped: Arc<MappedDictionary>,
    interrupt: &'a Interrupt,
}

impl<'a> MappedTexts<'a> {
    /// Maps the texts of a source that is complete. Unless these are very many, what the mapping makes of them is kept
    /// for as long as the source is in memory, so that a repeated query maps no texts.
    ///
    /// # Errors
    /// The interrupt ends the query. Nothing is kept.
    pub(crate) fn of_dictionary(
        mapping: &Arc<ValueMapping>,
        source: &Arc<StringList>,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        if let Some(mapped) = mapping.known.get(source) {
            return Ok(Self { mapping: mapping.clone(), mapped, interrupt });
        }
        let mapped = Self::of_growing(mapping, source, interrupt)?;
        mapping.known.insert(source, &mapped.mapped);
        Ok(mapped)
    }

    /// Maps the texts of a source so far. The source may grow while rows are read.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn of_growing(
        mapping: &Arc<ValueMapping>,
        source: &StringList,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut mapped = Self { mapping: mapping.clone(), mapped: Arc::default(), interrupt };
        mapped.extend(source)?;
        Ok(mapped)
    }

    /// Maps the texts of the source that are new.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn extend(&mut self, source: &StringList) -> Result<(), Interruption> {
        if source.len() <= self.mapped.codes.len() {
            return Ok(());
        }
        let mut checks = InterruptChecks::new(self.interrupt);
        Arc::make_mut(&mut self.mapped).extend(source, |text| self.mapping.map(text, &mut checks))
    }

    /// Replaces codes of the source by those of the dimension.
    pub(crate) fn apply(&self, codes: &mut [u32]) {
        let mapped = &*self.mapped.codes;
        codes.iter_mut().for_each(|code| *code = mapped[*code as usize]);
    }

    /// Returns the texts by code.
    pub(crate) fn texts(&self) -> &Arc<StringList> {
        &self.mapped.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::Definitions;
    use crate::interrupt::INTERRUPT_CHECK_BYTES;

    fn mapping(rule: &str) -> Arc<ValueMapping> {
        let text = format!("[[dimension]]\nname = \"own\"\nfrom = \"ownColumn\"\n{rule}");
        Definitions::parse(&text).unwrap().dimension("own").unwrap().mapping.clone()
    }

    #[test]
    fn a_canceled_query_maps_few_more_texts() {
        let canceled = Interrupt::default();
        canceled.cancel();
        let mapped = |rule: &str, text: &str| {
            let source: StringList = std::iter::repeat_n(text, 2_000).collect();
            let mut mapped = MappedTexts::of_growing(&mapping(rule), &StringList::default(), &canceled).unwrap();
            assert_eq!(mapped.extend(&source), Err(Interruption::Canceled));
            mapped.mapped.codes.len()
        };
        let matches = "cases = [{ regex = \"a.*e\", value = \"x\" }]";
        assert_eq!(mapped(matches, &"a".repeat(400)), 0);
        // A text of 7 bytes counts as 8 bytes when it is matched, and each text as one more.
        assert_eq!(mapped(matches, "spring!"), INTERRUPT_CHECK_BYTES / 9);
        assert_eq!(mapped("part = \"year\"", &"a".repeat(400)), INTERRUPT_CHECK_BYTES - 1);
    }

    #[test]
    fn only_a_dictionary_that_is_mapped_whole_is_kept() {
        let (mapping, source) = (mapping("cases = []"), Arc::new(std::iter::repeat_n("a", 2_000).collect()));
        let (interrupt, canceled) = (Interrupt::default(), Interrupt::default());
        canceled.cancel();
        let refused = MappedTexts::of_dictionary(&mapping, &source, &canceled).unwrap_err();
        assert_eq!(refused, Interruption::Canceled);
        assert!(mapping.known.get(&source).is_none());
        MappedTexts::of_dictionary(&mapping, &source, &interrupt).unwrap();
        assert_eq!(mapping.known.get(&source).unwrap().codes.len(), 2_000);
    }
}
