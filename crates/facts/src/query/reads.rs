//! What a query needs of a database.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::value::values::StoredFact;

/// The function that receives each fact that a seek finds: its id and its key. It may stop the seek. A fact without a
/// key is hidden and not a result; it is reported because skipping it takes time.
pub type Visit<'v> = dyn FnMut(FactId, Option<&[u8]>) -> Result<ControlFlow<()>> + 'v;

/// A view of a database that does not change while it is read.
pub trait Reads {
    /// How many facts a predicate has.
    ///
    /// # Errors
    ///
    /// If reading fails. So do all others.
    fn count(&self, predicate: PredicateId) -> Result<u64>;

    /// Calls `visit` for each fact of a predicate whose key begins with `prefix`, in an order that does not change.
    /// With `from`, it begins at this fact, which is one of those that `visit` was called with.
    fn seek(&self, predicate: PredicateId, prefix: &[u8], from: Option<FactId>, visit: &mut Visit<'_>) -> Result<()>;

    /// The predicate, the key and the value of a fact.
    fn fact_by_id(&self, id: FactId) -> Result<Option<StoredFact>>;

    /// The fact of a predicate with a key.
    fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>>;

    /// The id that the next fact would have. Facts that a query derives are numbered from it.
    fn first_free_id(&self) -> Result<FactId>;
}
