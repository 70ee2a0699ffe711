//! [`Source`]: where the parts of an index come from.

use crate::error::Result;
use crate::model::part::Part;

/// What is called for each part.
pub type Visit<'v> = dyn FnMut(Part) -> Result<()> + 'v;

/// What an indexer has written. It is read twice: first to find what has changed.
pub trait Source {
    /// Calls `visit` for each part, in an order that does not matter.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index) with a place, if it is damaged or in another format; those of `visit`.
    fn each(&self, visit: &mut Visit<'_>) -> Result<()>;
}

/// Several sources, one after the other.
impl Source for Vec<Box<dyn Source>> {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        self.iter().try_for_each(|source| source.each(visit))
    }
}
