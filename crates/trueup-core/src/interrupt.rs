//! Checks of an interrupt while texts are tested.

use trueup_store::{Interrupt, Interruption};

/// The number of bytes that regular expressions are matched with between two checks of the interrupt: few, because a
/// large expression may take some 100 microseconds for each, and enough that the checks take a small part of the time
/// that small expressions take. Any other test counts as one byte.
pub(crate) const INTERRUPT_CHECK_BYTES: usize = 128;

/// Checks an interrupt once in a while, while texts are tested.
#[derive(Debug)]
pub(crate) struct InterruptChecks<'a> {
    interrupt: &'a Interrupt,
    /// The number of bytes since the last check.
    unchecked: usize,
}

impl<'a> InterruptChecks<'a> {
    pub(crate) const fn new(interrupt: &'a Interrupt) -> Self {
        Self { interrupt, unchecked: 0 }
    }

    /// Counts a match of a regular expression with a text, and checks the interrupt if it is time. The time of a match
    /// is proportional to the length of the text, and up to a thousand times that of other tests.
    #[inline]
    pub(crate) fn before_match(&mut self, text: &str) -> Result<(), Interruption> {
        self.count(text.len() + 1)
    }

    /// Counts a test that is no match of a regular expression, and checks the interrupt if it is time.
    #[inline]
    pub(crate) fn before_test(&mut self) -> Result<(), Interruption> {
        self.count(1)
    }

    #[inline]
    fn count(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.unchecked += bytes;
        if self.unchecked < INTERRUPT_CHECK_BYTES {
            return Ok(());
        }
        self.unchecked = 0;
        self.interrupt.check()
    }
}
