//! [`Value`]: a value of a row in eight bytes, also as sorting keeps it.

use crate::TermId;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;

/// The id of a term, the place of a computed term among those of the evaluation, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value(u64);

/// A tag that no id has.
const COMPUTED: u64 = 0xff << 56;

impl Value {
    /// No value.
    pub(crate) const UNBOUND: Self = Self(0);

    pub(crate) fn stored(id: TermId) -> Self {
        Self(id.to_bits())
    }

    pub(crate) fn computed(place: u32) -> Self {
        Self(COMPUTED | u64::from(place))
    }

    /// The value of a stored or a computed term.
    pub(crate) fn of(term: EvaluationTerm) -> Option<Self> {
        match term {
            EvaluationTerm::Stored(id) => Some(Self::stored(id)),
            EvaluationTerm::Computed(place) => Some(Self::computed(place)),
            EvaluationTerm::Form(_) | EvaluationTerm::SortKey(_) => None,
        }
    }

    pub(crate) fn is_bound(self) -> bool {
        self != Self::UNBOUND
    }

    /// The id, if it is that of a term. The store may not have the term if it is in its id.
    pub(crate) fn id(self) -> Option<TermId> {
        if self.is_bound() { TermId::from_own_bits(self.0) } else { None }
    }

    /// The term; `None` if there is no value.
    pub(crate) fn term(self) -> Option<EvaluationTerm> {
        match self.id() {
            Some(id) => Some(EvaluationTerm::Stored(id)),
            None => self.is_bound().then_some(EvaluationTerm::Computed(self.0 as u32)),
        }
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_taken_for_a_computed_term_even_if_damage_has_made_it() {
        for bits in [1, 17, 1 << 56, (0x1c << 56) | 5] {
            let id = TermId::from_own_bits(bits).expect("the tag is known");
            assert_eq!(Value::stored(id).term(), Some(EvaluationTerm::Stored(id)), "{bits:#x}");
        }
        assert_eq!(Value::computed(17).term(), Some(EvaluationTerm::Computed(17)));
        assert_eq!(Value::UNBOUND.term(), None);
    }
}
