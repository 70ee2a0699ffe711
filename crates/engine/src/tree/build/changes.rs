//! The sorted stream of changes that a merge reads.

use crate::error::{Error, Result};
use crate::format::OverflowRef;

/// One change.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The identity's hash of the key, if it is known.
    pub hash: Option<u64>,
    /// What the change does to the key.
    pub action: Action<'a>,
}

/// What a change does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// It has this value from now on.
    Put(&'a [u8]),
    /// It has this value from now on, whose pages are live already: they become the tree's.
    PutLarge(OverflowRef),
    /// It has no value from now on. It may have had none.
    Delete,
}

/// Changes in order: each key is above the one before it.
pub trait Changes {
    /// The change at hand; `None` after the last.
    ///
    /// # Errors
    /// Those of the source: the merge fails with them.
    fn peek(&mut self) -> Result<Option<Change<'_>>>;

    /// Moves to the next change. Called only after `peek` returned one.
    fn advance(&mut self);
}

/// Changes from an iterator of sorted keys and values, for a bulk load.
#[derive(Debug)]
pub struct Sorted<I, K, V> {
    source: I,
    next: Option<(K, V)>,
    /// The last key that was taken out of `source` before `next`.
    previous: Option<K>,
    taken: u64,
}

impl<I, K, V> Sorted<I, K, V>
where
    I: Iterator<Item = Result<(K, V)>>,
    K: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    /// Changes that put every pair of `source`.
    pub fn new(source: I) -> Self {
        Self { source, next: None, previous: None, taken: 0 }
    }
}

impl<I, K, V> Changes for Sorted<I, K, V>
where
    I: Iterator<Item = Result<(K, V)>>,
    K: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        if self.next.is_none() {
            let Some(pair) = self.source.next().transpose()? else { return Ok(None) };
            if self.previous.as_ref().is_some_and(|previous| previous.as_ref() >= pair.0.as_ref()) {
                return Err(Error::OutOfOrder { index: self.taken });
            }
            self.taken += 1;
            self.next = Some(pair);
        }
        let next = self.next.as_ref();
        Ok(next.map(|(key, value)| Change { key: key.as_ref(), hash: None, action: Action::Put(value.as_ref()) }))
    }

    #[inline]
    fn advance(&mut self) {
        self.previous = self.next.take().map(|(key, _)| key);
    }
}
