//! [`Snapshot`]: all that is committed at one moment, for as long as it lives.

use std::sync::Arc;

use fulgurite::{ReadTxn, Sequence};
use oxrdf::{Term, TermRef};

use crate::error::Result;
use crate::id::TermId;
use crate::pattern::{IdPattern, IdQuad, Position};
use crate::quads::{GraphNames, QuadIds, Quads};

/// All that was committed when it was taken: later commits do not change what it reads, it blocks no writer and waits for
/// none. Clones share it.
#[derive(Clone)]
pub struct Snapshot {
    read: Arc<ReadTxn>,
}

impl Snapshot {
    /// The newest commit that it sees.
    pub fn sequence(&self) -> Sequence {
        self.read.sequence()
    }
}

impl Quads for Snapshot {
    fn quads(&self, _pattern: &IdPattern) -> QuadIds {
        unimplemented!()
    }

    fn quads_sorted_by(&self, _pattern: &IdPattern, _position: Position) -> Option<QuadIds> {
        unimplemented!()
    }

    fn count(&self, _pattern: &IdPattern) -> Result<u64> {
        unimplemented!()
    }

    fn counts_fast(&self, _pattern: &IdPattern) -> bool {
        unimplemented!()
    }

    fn term(&self, _id: TermId) -> Result<Term> {
        unimplemented!()
    }

    fn id(&self, _term: TermRef<'_>) -> Result<Option<TermId>> {
        unimplemented!()
    }

    fn contains(&self, _quad: &IdQuad) -> Result<bool> {
        unimplemented!()
    }

    fn graph_names(&self) -> GraphNames {
        unimplemented!()
    }

    fn contains_graph(&self, _graph: TermId) -> Result<bool> {
        unimplemented!()
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        unimplemented!()
    }
}
