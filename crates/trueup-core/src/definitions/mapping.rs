//! From the text of a source to the text of a dimension that users define.

use super::DefinitionError;
use super::declaration::{Case, DimensionDefinition, Otherwise};
use super::mapped_dictionary::KnownDictionaries;
use crate::Interruption;
use crate::day::calendar_date;
use crate::filter::{CompiledPattern, CompiledPatterns, decimal_number};
use crate::interrupt::InterruptChecks;
use crate::named::named;
use chrono::{Datelike, NaiveDate};
use std::borrow::Cow;
use std::collections::HashMap;

/// From the text of a source to the text of a dimension.
#[derive(Debug)]
pub(crate) struct ValueMapping {
    rule: MappingRule,
    /// What the rule has made of dictionaries.
    pub(super) known: KnownDictionaries,
}

/// How a text is mapped.
#[derive(Debug)]
enum MappingRule {
    /// The first case that holds gives the text.
    Cases(Cases),
    /// A part of a date; the empty text for a text that is no date.
    Part(DatePart),
}

/// Cases by texts, regular expressions and numbers.
#[derive(Debug)]
struct Cases {
    /// By text, the number of the first case that has it.
    equals: HashMap<String, usize>,
    /// The cases that are not by text, each with its number.
    tests: Vec<(usize, Test)>,
    /// The text of each case.
    values: Vec<String>,
    /// The text if no case holds; `None` keeps the text of the source.
    otherwise: Option<String>,
}

#[derive(Debug)]
enum Test {
    Matches(CompiledPattern),
    /// At least the first number, and less than the second.
    Range(f64, f64),
}

named! {
    /// A part of a date.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum DatePart {
        Year = "year",
        Quarter = "quarter",
        Weekday = "weekday",
        /// Of points in time alone.
        Hour = "hour",
    }
}

impl ValueMapping {
    pub(super) fn new(
        declared: &DimensionDefinition,
        patterns: &mut CompiledPatterns,
    ) -> Result<Self, DefinitionError> {
        Ok(Self { rule: MappingRule::new(declared, patterns)?, known: KnownDictionaries::default() })
    }

    /// Returns the text of the dimension for a text of its source.
    ///
    /// # Errors
    /// The interrupt of `checks` ends the query.
    pub(crate) fn map<'t>(
        &'t self,
        text: &'t str,
        checks: &mut InterruptChecks<'_>,
    ) -> Result<Cow<'t, str>, Interruption> {
        checks.before_test()?;
        match &self.rule {
            MappingRule::Cases(cases) => cases.map(text, checks).map(Cow::Borrowed),
            MappingRule::Part(part) => {
                Ok(Cow::Owned(calendar_date(text).map_or_else(String::new, |date| part.of_date(date))))
            }
        }
    }

    /// Returns the part of a date that the mapping gives; `None` if it has cases.
    pub(crate) const fn part(&self) -> Option<DatePart> {
        match self.rule {
            MappingRule::Part(part) => Some(part),
            MappingRule::Cases(_) => None,
        }
    }

    /// Returns the texts that the mapping gives, other than the empty one, each once and in order; `None` if they
    /// depend on the data.
    pub(super) fn values(&self) -> Option<Vec<String>> {
        let numbers = |first: u32, last: u32, digits: usize| (first..=last).map(|n| format!("{n:0digits$}")).collect();
        match &self.rule {
            MappingRule::Part(DatePart::Weekday) => Some(numbers(1, 7, 1)),
            MappingRule::Part(DatePart::Hour) => Some(numbers(0, 23, 2)),
            MappingRule::Part(DatePart::Year | DatePart::Quarter) => None,
            MappingRule::Cases(cases) => {
                let otherwise = cases.otherwise.as_ref()?;
                let mut values: Vec<String> = Vec::new();
                for value in cases.values.iter().chain([otherwise]) {
                    if !value.is_empty() && !values.contains(value) {
                        values.push(value.clone());
                    }
                }
                Some(values)
            }
        }
    }
}

impl MappingRule {
    fn new(declared: &DimensionDefinition, patterns: &mut CompiledPatterns) -> Result<Self, DefinitionError> {
        match (&declared.cases, &declared.part) {
            (Some(_), Some(_)) => Err(DefinitionError::of_key("part", "expected `cases` or `part`, but found both")),
            (None, None) => Err(DefinitionError::of_key("cases", "expected `cases` or `part`, but found neither")),
            (None, Some(_)) if declared.otherwise.is_some() => {
                Err(DefinitionError::of_key("otherwise", "a part of a date has none; leave it out"))
            }
            (None, Some(part)) => DatePart::by_name(part).map(Self::Part),
            (Some(cases), None) => Cases::new(cases, declared.otherwise.as_ref(), patterns).map(Self::Cases),
        }
    }
}

impl Cases {
    fn new(
        cases: &[Case],
        otherwise: Option<&Otherwise>,
        patterns: &mut CompiledPatterns,
    ) -> Result<Self, DefinitionError> {
        let otherwise = match otherwise {
            None => Some(String::new()),
            Some(Otherwise::Text(text)) => Some(text.clone()),
            Some(Otherwise::Keep { keep: true }) => None,
            Some(Otherwise::Keep { keep: false }) => {
                let reason = "expected a text, or `{ keep = true }`; without `otherwise` the text is empty";
                return Err(DefinitionError::of_value("otherwise", "{ keep = false }", reason));
            }
        };
        let mut read = Self { equals: HashMap::new(), tests: Vec::new(), values: Vec::new(), otherwise };
        for (number, case) in cases.iter().enumerate() {
            read.add(number, case, patterns)?;
            read.values.push(case.value.clone());
        }
        Ok(read)
    }

    fn add(&mut self, number: usize, case: &Case, patterns: &mut CompiledPatterns) -> Result<(), DefinitionError> {
        let refused = |reason: &str| Err(DefinitionError::of_key("cases", format!("case {}: {reason}", number + 1)));
        if case.flags.is_some() && case.regex.is_none() {
            return refused("`flags` are those of a `regex`");
        }
        match (&case.equals, &case.regex, case.from, case.below) {
            (Some(texts), None, None, None) if texts.is_empty() => refused("`equals` needs at least one text"),
            (Some(texts), None, None, None) => {
                for text in texts {
                    self.equals.entry(text.clone()).or_insert(number);
                }
                Ok(())
            }
            (None, Some(pattern), None, None) => {
                let compiled = patterns.compile(pattern, case.flags.as_deref().unwrap_or_default());
                match compiled {
                    Ok(pattern) => self.tests.push((number, Test::Matches(pattern))),
                    Err(fault) => return refused(&fault.to_string()),
                }
                Ok(())
            }
            (None, None, Some(_), _) | (None, None, _, Some(_)) => {
                let (from, below) = (case.from.unwrap_or(f64::NEG_INFINITY), case.below.unwrap_or(f64::INFINITY));
                if case.from.is_some_and(|from| !from.is_finite()) || case.below.is_some_and(|below| !below.is_finite())
                {
                    return refused("the ends of a range are finite numbers; leave one out for no end");
                }
                if from >= below {
                    return refused("no number is at least `from` and less than `below`");
                }
                self.tests.push((number, Test::Range(from, below)));
                Ok(())
            }
            (None, None, None, None) => refused("expected `equals`, `regex`, or a range of `from` and `below`"),
            _ => refused("expected one of `equals`, `regex`, and a range of `from` and `below`, but found several"),
        }
    }

    fn map<'t>(&'t self, text: &'t str, checks: &mut InterruptChecks<'_>) -> Result<&'t str, Interruption> {
        let by_text = self.equals.get(text).copied();
        let tests = self.tests.iter().take_while(|(number, _)| by_text.is_none_or(|by_text| *number < by_text));
        for (number, test) in tests {
            if test.holds(text, checks)? {
                return Ok(&self.values[*number]);
            }
        }
        Ok(match by_text {
            Some(number) => &self.values[number],
            None => self.otherwise.as_deref().unwrap_or(text),
        })
    }
}

impl Test {
    fn holds(&self, text: &str, checks: &mut InterruptChecks<'_>) -> Result<bool, Interruption> {
        match self {
            Self::Matches(pattern) => checks.before_match(text).map(|()| pattern.is_match(text)),
            Self::Range(from, below) => {
                checks.before_test()?;
                Ok(decimal_number(text).is_some_and(|number| *from <= number && number < *below))
            }
        }
    }
}

impl DatePart {
    fn by_name(name: &str) -> Result<Self, DefinitionError> {
        let known = Self::ALL.into_iter().find(|part| part.name() == name);
        known.ok_or_else(|| DefinitionError::of_value("part", name, "expected year, quarter, weekday or hour"))
    }

    /// Returns the part of a date. A date alone has no hour.
    pub(crate) fn of_date(self, date: NaiveDate) -> String {
        match self {
            Self::Year => format!("{:04}", date.year()),
            Self::Quarter => format!("{:04}-Q{}", date.year(), date.quarter()),
            Self::Weekday => date.weekday().number_from_monday().to_string(),
            Self::Hour => String::new(),
        }
    }
}
