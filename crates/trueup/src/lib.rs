//! The facade of trueup: filters as the service spells them, and answers as it writes them.
