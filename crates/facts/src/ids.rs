//! Numbers that identify facts and predicates. 0 is none of them, and both start at [`FIRST`].

use std::fmt;
use std::num::NonZeroU64;

/// The first id of facts and of predicates. Lower ids are kept for other uses, as in Glean.
const FIRST: NonZeroU64 = NonZeroU64::new(1024).expect("1024 is not 0");

/// The id of a fact. A database's ids are dense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(NonZeroU64);

/// The id of a predicate: the kind of a fact, which says what its key and value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PredicateId(NonZeroU64);

impl FactId {
    /// The id of the first fact of a database that is not stacked on another.
    pub const FIRST: Self = Self(FIRST);

    /// The id with this number, if it is not 0.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The id `facts` after this one.
    ///
    /// # Panics
    ///
    /// If there is none, as ids end at 2⁶⁴ − 1.
    #[must_use]
    pub const fn plus(self, facts: u64) -> Self {
        Self(self.0.checked_add(facts).expect("no database has 2⁶⁴ facts"))
    }
}

impl PredicateId {
    /// The id of the first predicate of a schema.
    pub const FIRST: Self = Self(FIRST);

    /// The id with this number, if it is not 0.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for FactId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for PredicateId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_id() {
        assert_eq!(FactId::new(0), None);
        assert_eq!(PredicateId::new(0), None);
        assert_eq!(FactId::new(1024), Some(FactId::FIRST));
        assert_eq!(FactId::FIRST.plus(2).get(), 1026);
    }
}
