//! The places of variables in rows, and which of them are bound.

use spargebra::term::{TermPattern, Variable};

use crate::sparql::evaluation::limits::Stopped;

/// The most names of a query, and the most triple patterns of a group: finding a name and choosing an order take time
/// that grows with these numbers.
pub(super) const PARTS_MAX: usize = 256;

/// Why a query has no operators.
pub(super) enum Refused {
    /// The library evaluates it.
    Outside,
    /// The evaluation has ended.
    Stopped(Stopped),
}

impl From<Stopped> for Refused {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// A variable, or a blank node of a pattern, which is a variable without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'q> {
    Variable(&'q str),
    Blank(&'q str),
}

impl<'q> Name<'q> {
    /// The name of a position of a pattern, if it has one.
    pub(super) fn of_term(pattern: &'q TermPattern) -> Option<Self> {
        match pattern {
            TermPattern::Variable(variable) => Some(Self::Variable(variable.as_str())),
            TermPattern::BlankNode(node) => Some(Self::Blank(node.as_str())),
            _ => None,
        }
    }
}

/// The names of places.
#[derive(Default)]
pub(super) struct Names<'q>(Vec<Name<'q>>);

impl<'q> Names<'q> {
    /// The place of a name, which is new if the name is.
    ///
    /// # Errors
    /// [`Refused::Outside`] if there are too many names.
    pub(super) fn place(&mut self, name: Name<'q>) -> Result<usize, Refused> {
        if let Some(place) = self.find(name) {
            return Ok(place);
        }
        if self.0.len() == PARTS_MAX {
            return Err(Refused::Outside);
        }
        self.0.push(name);
        Ok(self.0.len() - 1)
    }

    pub(super) fn find(&self, name: Name<'_>) -> Option<usize> {
        self.0.iter().position(|known| *known == name)
    }

    /// The place of a variable, if it is one of these.
    pub(super) fn find_in(&self, variable: &Variable, places: &Places) -> Option<usize> {
        self.find(Name::Variable(variable.as_str())).filter(|place| places.has(*place))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A set of places.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<bool>);

impl Places {
    pub(super) fn has(&self, place: usize) -> bool {
        self.0.get(place) == Some(&true)
    }

    pub(super) fn has_all(&self, places: &[usize]) -> bool {
        places.iter().all(|place| self.has(*place))
    }

    pub(super) fn add(&mut self, place: usize) {
        if self.0.len() <= place {
            self.0.resize(place + 1, false);
        }
        self.0[place] = true;
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|place| self.add(place));
    }

    pub(super) fn in_both(&self, other: &Self) -> Self {
        Self(self.0.iter().enumerate().map(|(place, is_in)| *is_in && other.has(place)).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(place, _)| place)
    }

    /// As flags by place.
    pub(super) fn flags(&self) -> Vec<bool> {
        self.0.clone()
    }
}
