//! A range that owns its snapshot, so that it may be stored and sent to other threads.

use crate::error::Result;
use crate::sync::Arc;
use crate::txn::reads::bounds::{OwnedBound, as_bound, is_left_back, is_left_front};
use crate::txn::reads::layers::Layers;
use crate::txn::reads::walk::Walk;
use crate::txn::snapshot::state::{Snapshot, TableView};
use crate::txn::snapshot::table::Table;
use crate::txn::writes::run_walk::Start;

/// A [`Range`](crate::Range) that owns its snapshot: it can be stored, sent to another thread, and outlive the
/// transaction.
///
/// It returns copies of keys and values.
#[derive(Debug)]
pub struct OwnedRange {
    snapshot: Snapshot,
    view: Arc<TableView>,
    low: OwnedBound,
    high: OwnedBound,
    front: Option<Walk<'static>>,
    back: Option<Walk<'static>>,
    given_front: Option<Vec<u8>>,
    given_back: Option<Vec<u8>>,
    ended: bool,
}

impl OwnedRange {
    pub(crate) fn new(snapshot: Snapshot, table: &Table, low: OwnedBound, high: OwnedBound) -> Result<Self> {
        snapshot.state.view(table)?;
        let view = snapshot.state.view_of(table.info.id).map(Arc::clone).expect("the view was found just now");
        let (front, back, given_front, given_back) = (None, None, None, None);
        Ok(Self { snapshot, view, low, high, front, back, given_front, given_back, ended: false })
    }

    fn read(&mut self, back: bool) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.snapshot.state.check_process()?;
        if self.ended {
            return Ok(None);
        }
        let layers = Layers {
            state: &self.snapshot.state,
            view: &self.view,
            at: self.snapshot.sequence,
            set: None,
            reads: None,
        };
        let walk = if back { &mut self.back } else { &mut self.front };
        let walk = match walk {
            Some(walk) => walk,
            None => {
                let start =
                    if back { Start::from_high(as_bound(&self.high)) } else { Start::from_low(as_bound(&self.low)) };
                walk.insert(Walk::detached(&layers, start)?)
            }
        };
        let next = if back {
            walk.next_if(&layers, |key| is_left_back(key, &self.low, self.given_front.as_deref()))?
        } else {
            walk.next_if(&layers, |key| is_left_front(key, &self.high, self.given_back.as_deref()))?
        };
        let Some((key, value)) = next else {
            self.ended = true;
            return Ok(None);
        };
        let (key, value) = (key.to_vec(), value.to_vec());
        let given = if back { &mut self.given_back } else { &mut self.given_front };
        *given = Some(key.clone());
        Ok(Some((key, value)))
    }
}

impl Iterator for OwnedRange {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read(false);
        self.ended |= item.is_err();
        item.transpose()
    }
}

impl DoubleEndedIterator for OwnedRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        let item = self.read(true);
        self.ended |= item.is_err();
        item.transpose()
    }
}
