//! Locks on a file in memory, between the handles of it in this process.

use std::collections::BTreeMap;
use std::io;

use super::{FileLocks, LockHolder};
use crate::sync::{Arc, Mutex};

/// The locks on one file. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryLocks {
    /// No other lock is taken under it.
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the next holder.
    next: u64,
    writer: Option<u64>,
    /// What each holder pins, by its number.
    pinned: BTreeMap<u64, u64>,
}

impl MemoryLocks {
    /// A new holder, which has nothing yet.
    pub fn holder(&self) -> MemoryHolder {
        let mut state = self.state.lock();
        state.next += 1;
        MemoryHolder { locks: self.clone(), number: state.next }
    }
}

/// A handle of a file in memory, as its locks know it. Dropping it releases what it has.
#[derive(Debug)]
pub struct MemoryHolder {
    locks: MemoryLocks,
    number: u64,
}

impl FileLocks for MemoryHolder {
    fn lock_writer(&self) -> io::Result<Option<LockHolder>> {
        let writer = *self.locks.state.lock().writer.get_or_insert(self.number);
        Ok((writer != self.number).then_some(LockHolder::ThisProcess))
    }

    fn unlock_writer(&self) -> io::Result<()> {
        self.locks.state.lock().writer.take_if(|writer| *writer == self.number);
        Ok(())
    }

    fn writer(&self) -> io::Result<Option<LockHolder>> {
        let is_other = self.locks.state.lock().writer.is_some_and(|writer| writer != self.number);
        Ok(is_other.then_some(LockHolder::ThisProcess))
    }

    fn pin(&self, number: u64) -> io::Result<()> {
        assert!(number > 0 && number < 1 << 62, "checkpoints have numbers from 1");
        self.locks.state.lock().pinned.insert(self.number, number);
        Ok(())
    }

    fn unpin(&self) -> io::Result<()> {
        self.locks.state.lock().pinned.remove(&self.number);
        Ok(())
    }

    fn oldest_pinned(&self) -> io::Result<Option<u64>> {
        let state = self.locks.state.lock();
        Ok(state.pinned.iter().filter(|(holder, _)| **holder != self.number).map(|(_, number)| *number).min())
    }
}

impl Drop for MemoryHolder {
    fn drop(&mut self) {
        let mut state = self.locks.state.lock();
        state.writer.take_if(|writer| *writer == self.number);
        state.pinned.remove(&self.number);
    }
}
