//! Text columns as codes into a dictionary.

use super::history::{StageHistories, stage};
use crate::attribution::Attribution;
use crate::{Code, StringList};
use hashbrown::HashMap;
use std::sync::Arc;
use trueup_parquet::{StoredColumn, ValueOfRow};

/// The texts of a column by code. In a stored column, code 0 is the empty text, and each text has one code.
pub(crate) type TextDictionary = Arc<StringList>;

/// A dictionary code for each row, or for each customer, in as few bytes as the dictionary allows.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

/// A text column of the event table.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    codes: Codes,
    /// Whether there is one code for each customer rather than for each event: the text is the same on all events of
    /// each customer.
    per_customer: bool,
    dictionary: TextDictionary,
}

impl TextColumn {
    /// Makes a column from the code of each event; customer `i` has the events from `offsets[i]` to `offsets[i + 1]`.
    pub(super) fn new(codes: Codes, dictionary: TextDictionary, offsets: &[u32]) -> Self {
        let (codes, per_customer) = match codes.per_customer(offsets) {
            Some(codes) => (codes, true),
            None => (codes, false),
        };
        Self { codes, per_customer, dictionary }
    }

    /// Returns the column with the values that an attribution takes from the recorded ones. Customer `i` has the events
    /// from `offsets[i]` to `offsets[i + 1]`.
    pub(super) fn attribute(
        recorded: &Arc<Self>,
        attribution: Attribution,
        offsets: &[u32],
        histories: &StageHistories,
    ) -> Arc<Self> {
        // Whichever event of a customer is credited, the values are the same.
        if recorded.per_customer || attribution == Attribution::Recorded {
            return recorded.clone();
        }
        let mut codes = recorded.codes.clone();
        match &mut codes {
            Codes::Byte(codes) => attribute(codes, attribution, offsets, histories),
            Codes::Short(codes) => attribute(codes, attribution, offsets, histories),
            Codes::Word(codes) => attribute(codes, attribution, offsets, histories),
        }
        Arc::new(Self::new(codes, recorded.dictionary.clone(), offsets))
    }

    /// Returns the code of an event of a customer.
    #[inline]
    pub(crate) fn code(&self, customer: usize, event: usize) -> Code {
        self.codes.get(if self.per_customer { customer } else { event })
    }

    /// Appends the codes of events; each belongs to the customer at the same place of `customers`.
    pub(crate) fn gather(&self, customers: &[u32], events: &[u32], codes: &mut Vec<u32>) {
        self.codes.gather(if self.per_customer { customers } else { events }, codes);
    }

    /// Returns the codes, one for each customer or for each event.
    pub(crate) const fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Returns whether there is one code for each customer.
    pub(crate) const fn is_per_customer(&self) -> bool {
        self.per_customer
    }

    /// Returns the texts by code.
    pub(crate) const fn dictionary(&self) -> &TextDictionary {
        &self.dictionary
    }

    /// Returns the bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.codes.bytes() + self.dictionary.bytes()
    }
}

/// Gives each row of a text column a code; a row without a text has code 0.
///
/// # Errors
/// The rows do not decode, or there are more texts than codes.
pub(super) fn encode(column: StoredColumn<'_, &str>) -> Result<(Codes, TextDictionary), &'static str> {
    let StoredColumn { values, rows } = column;
    let (codes, dictionary) = distinct(&values)?;
    let codes = Codes::of_rows(&rows, codes, dictionary.len())?;
    if rows.are_selected() { Ok(codes.compact(&dictionary)) } else { Ok((codes, dictionary)) }
}

/// Returns the code of each value, and the texts by code.
fn distinct(values: &[&str]) -> Result<(Vec<u32>, TextDictionary), &'static str> {
    let mut texts = StringList::with_capacity(values.len() + 1, values.iter().map(|text| text.len()).sum());
    texts.push("");
    let mut known: HashMap<&str, u32> = HashMap::with_capacity(values.len() + 1);
    known.insert("", 0);
    let mut codes = Vec::with_capacity(values.len());
    for text in values {
        let next = u32::try_from(texts.len()).map_err(|_| "too many texts")?;
        let code = *known.entry(text).or_insert(next);
        if code == next {
            texts.push(text);
        }
        codes.push(code);
    }
    // Values that are not stored as a dictionary repeat, so that far too much may have been reserved for texts that are
    // held for later queries.
    texts.shrink_to_fit();
    Ok((codes, texts.into()))
}

impl Codes {
    /// Returns the code of each row, 0 for a row without a value. `codes` holds the code of each value, all below
    /// `cardinality`.
    ///
    /// # Errors
    /// The rows do not decode.
    fn of_rows(rows: &ValueOfRow<'_>, codes: Vec<u32>, cardinality: usize) -> Result<Self, &'static str> {
        #[expect(clippy::cast_possible_truncation, reason = "every code is below the cardinality")]
        match cardinality {
            0..=0x100 => rows.expand(codes.into_iter().map(|code| code as u8).collect(), 0).map(Self::Byte),
            0x101..=0x1_0000 => rows.expand(codes.into_iter().map(|code| code as u16).collect(), 0).map(Self::Short),
            _ => rows.expand(codes, 0).map(Self::Word),
        }
    }

    /// Returns the codes in a dictionary of the texts that occur, in the order of codes. The empty text stays in it,
    /// because it always has code 0.
    fn compact(&self, dictionary: &TextDictionary) -> (Self, TextDictionary) {
        let mut occurs = vec![false; dictionary.len()];
        occurs[0] = true;
        match self {
            Self::Byte(codes) => codes.iter().for_each(|code| occurs[usize::from(*code)] = true),
            Self::Short(codes) => codes.iter().for_each(|code| occurs[usize::from(*code)] = true),
            Self::Word(codes) => codes.iter().for_each(|code| occurs[*code as usize] = true),
        }
        let texts: StringList =
            dictionary.iter().zip(&occurs).filter_map(|(text, occurs)| occurs.then_some(text)).collect();
        let mut next = 0;
        let new = occurs.iter().map(|occurs| {
            let code = next;
            next += u32::from(*occurs);
            code
        });
        let new: Vec<u32> = new.collect();
        // No code is larger than before.
        #[expect(clippy::cast_possible_truncation, reason = "every code is below the number of texts")]
        let codes = match self {
            Self::Byte(codes) => Self::Byte(codes.iter().map(|code| new[usize::from(*code)] as u8).collect()),
            Self::Short(codes) => Self::Short(codes.iter().map(|code| new[usize::from(*code)] as u16).collect()),
            Self::Word(codes) => Self::Word(codes.iter().map(|code| new[*code as usize]).collect()),
        };
        (codes, texts.into())
    }

    /// Returns one code for each customer, or `None` if a customer has several. Customer `i` has the rows from
    /// `offsets[i]` to `offsets[i + 1]`.
    pub(super) fn per_customer(&self, offsets: &[u32]) -> Option<Self> {
        match self {
            Self::Byte(codes) => per_customer(codes, offsets).map(Self::Byte),
            Self::Short(codes) => per_customer(codes, offsets).map(Self::Short),
            Self::Word(codes) => per_customer(codes, offsets).map(Self::Word),
        }
    }

    /// Returns the end of each run of equal codes.
    pub(super) fn run_ends(&self) -> Vec<usize> {
        match self {
            Self::Byte(codes) => run_ends(codes),
            Self::Short(codes) => run_ends(codes),
            Self::Word(codes) => run_ends(codes),
        }
    }

    /// Returns whether a row or a customer has the code.
    pub(super) fn contain(&self, code: u8) -> bool {
        match self {
            Self::Byte(codes) => codes.contains(&code),
            Self::Short(codes) => codes.contains(&code.into()),
            Self::Word(codes) => codes.contains(&code.into()),
        }
    }

    /// Returns the code of a row or a customer.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Code {
        Code(match self {
            Self::Byte(codes) => codes[at].into(),
            Self::Short(codes) => codes[at].into(),
            Self::Word(codes) => codes[at],
        })
    }

    /// Appends the codes at `indexes`.
    pub(crate) fn gather(&self, indexes: &[u32], into: &mut Vec<u32>) {
        match self {
            Self::Byte(codes) => into.extend(indexes.iter().map(|at| u32::from(codes[*at as usize]))),
            Self::Short(codes) => into.extend(indexes.iter().map(|at| u32::from(codes[*at as usize]))),
            Self::Word(codes) => into.extend(indexes.iter().map(|at| codes[*at as usize])),
        }
    }

    /// Returns the bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Byte(codes) => codes.len(),
            Self::Short(codes) => codes.len() * 2,
            Self::Word(codes) => codes.len() * 4,
        }
    }
}

impl Default for Codes {
    fn default() -> Self {
        Self::Byte(Vec::new())
    }
}

fn run_ends<T: PartialEq>(codes: &[T]) -> Vec<usize> {
    let mut end = 0;
    let runs = codes.chunk_by(PartialEq::eq).map(|run| {
        end += run.len();
        end
    });
    runs.collect()
}

fn per_customer<T: Copy + PartialEq>(codes: &[T], offsets: &[u32]) -> Option<Vec<T>> {
    let firsts = &offsets[..offsets.len() - 1];
    // The code may change only where a customer begins, so the changes there must be all changes.
    let changes = codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let at_firsts =
        firsts.iter().skip(1).map(|first| *first as usize).filter(|first| codes[*first - 1] != codes[*first]);
    (changes == at_firsts.count()).then(|| firsts.iter().map(|first| codes[*first as usize]).collect())
}

/// Replaces the code of each event by that of the conversion that is credited with it. Customers without a conversion
/// keep their codes.
fn attribute<T: Copy>(codes: &mut [T], attribution: Attribution, offsets: &[u32], histories: &StageHistories) {
    let flags = histories.events();
    for ends in offsets.windows(2) {
        let events = ends[0] as usize..ends[1] as usize;
        let Some(first) = histories.first(events.clone(), stage::LEAD_ORIGINATED) else { continue };
        let mut credited = codes[first];
        codes[events.start..first].fill(credited);
        match attribution {
            Attribution::First => codes[first..events.end].fill(credited),
            _ => {
                let flags = flags.slice(first..events.end);
                for (code, flags) in codes[first..events.end].iter_mut().zip(flags.iter()) {
                    if flags.stage() == stage::LEAD_ORIGINATED {
                        credited = *code;
                    }
                    *code = credited;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stage;

    #[test]
    fn an_attribution_credits_conversions() {
        // A customer with two conversions after a booking, one without a conversion, one with a conversion alone.
        let stages = [Stage::Booked, Stage::LeadOriginated, Stage::Sold, Stage::LeadOriginated, Stage::Closed]
            .into_iter()
            .chain([Stage::Booked, Stage::Closed, Stage::LeadOriginated]);
        let offsets = [0, 5, 7, 8];
        let histories = StageHistories::new(stages.map(Stage::code).collect(), &offsets);
        let dictionary: TextDictionary = Arc::new(["", "a", "b", "c", "d"].into_iter().collect());
        let recorded = Arc::new(TextColumn::new(Codes::Byte(vec![1, 2, 3, 4, 0, 1, 2, 3]), dictionary, &offsets));
        let codes = |attribution| {
            let column = TextColumn::attribute(&recorded, attribution, &offsets, &histories);
            (0..8).map(|event| column.code([0, 0, 0, 0, 0, 1, 1, 2][event], event).index()).collect::<Vec<_>>()
        };
        assert_eq!(codes(Attribution::Recorded), [1, 2, 3, 4, 0, 1, 2, 3]);
        assert_eq!(codes(Attribution::First), [2, 2, 2, 2, 2, 1, 2, 3]);
        assert_eq!(codes(Attribution::Last), [2, 2, 2, 4, 4, 1, 2, 3]);
    }

    #[test]
    fn a_column_with_one_value_per_customer_is_shared_by_every_attribution() {
        let (offsets, dictionary) = ([0, 2, 3], Arc::new(["", "a", "b"].into_iter().collect()));
        let histories = StageHistories::new(vec![stage::LEAD_ORIGINATED; 3], &offsets);
        let recorded = Arc::new(TextColumn::new(Codes::Byte(vec![1, 1, 2]), dictionary, &offsets));
        let last = TextColumn::attribute(&recorded, Attribution::Last, &offsets, &histories);
        assert!(Arc::ptr_eq(&recorded, &last));
    }

    #[test]
    fn a_column_has_one_code_per_customer_if_it_changes_only_where_customers_begin() {
        let of = |codes: &[u8], offsets: &[u32]| per_customer(codes, offsets);
        assert_eq!(of(&[], &[0]), Some(vec![]));
        assert_eq!(of(&[4, 4, 4, 4], &[0, 1, 4]), Some(vec![4, 4]));
        assert_eq!(of(&[4, 5, 5, 4], &[0, 1, 3, 4]), Some(vec![4, 5, 4]));
        assert_eq!(of(&[4, 5, 5, 4], &[0, 1, 4]), None);
        assert_eq!(of(&[4, 5, 5, 5], &[0, 2, 4]), None);
    }
}
