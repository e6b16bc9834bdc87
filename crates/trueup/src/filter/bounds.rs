//! How large a filter may be.

use super::error::{Fault, InvalidFilter};
use super::path::Path;
use trueup_core::query::{FilterFault, MAX_DEPTH, MAX_OPERANDS};

/// What a filter has used of its bounds.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    operands: usize,
}

impl Bounds {
    /// Counts a condition.
    pub(super) fn condition(&mut self, path: &Path<'_>) -> Result<(), InvalidFilter> {
        self.operands += 1;
        if self.operands > MAX_OPERANDS {
            Err(Fault::Test(FilterFault::TooManyOperands { limit: MAX_OPERANDS }).at(path))
        } else {
            Ok(())
        }
    }

    /// Counts an `and`, `or` or `not` that stands `depth` deep; the outermost is nobody's operand.
    pub(super) fn join(&mut self, depth: usize, path: &Path<'_>) -> Result<(), InvalidFilter> {
        // Whatever it joins stands one deeper.
        if depth >= MAX_DEPTH {
            return Err(Fault::too_deep(path));
        }
        if depth == 1 { Ok(()) } else { self.condition(path) }
    }
}
