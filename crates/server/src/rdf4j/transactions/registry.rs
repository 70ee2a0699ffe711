//! [`Registry`]: the open transactions of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fulgurite_rdf::oxrdf::BlankNode;

use crate::http::refusal::Refusal;
use crate::protocol::document::CancelCheck;
use crate::rdf4j::transactions::open::OpenTransaction;

/// The open transactions, each with a name that cannot be guessed.
pub struct Registry {
    idle: Duration,
    most: usize,
    open: Mutex<HashMap<String, Entry>>,
}

struct Entry {
    transaction: Arc<Mutex<OpenTransaction>>,
    /// When the last request for it ended.
    used: Instant,
    /// The requests that use it now. It is not idle then.
    users: usize,
}

/// The use of a transaction by a request.
pub struct InUse {
    registry: Arc<Registry>,
    id: String,
    transaction: Arc<Mutex<OpenTransaction>>,
}

impl Registry {
    pub fn new(idle: Duration, most: usize) -> Self {
        Self { idle, most, open: Mutex::default() }
    }

    /// The time after which a transaction without requests is rolled back.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Adds a transaction, and returns its name.
    ///
    /// # Errors
    /// 503 if too many are open.
    pub fn add(&self, transaction: OpenTransaction) -> Result<String, Refusal> {
        let mut open = self.lock();
        if open.len() >= self.most {
            let message = format!(
                "{} transactions are open; commit or roll back some, or start the server with more of them (--transactions)",
                open.len()
            );
            return Err(Refusal::busy(message));
        }
        let id = BlankNode::default().into_string();
        let transaction = Arc::new(Mutex::new(transaction));
        open.insert(id.clone(), Entry { transaction, used: Instant::now(), users: 0 });
        Ok(id)
    }

    /// Begins to use a transaction.
    ///
    /// # Errors
    /// 400 if there is none of this name.
    pub fn begin_use(self: &Arc<Self>, id: &str) -> Result<InUse, Refusal> {
        let mut open = self.lock();
        let Some(entry) = open.get_mut(id) else {
            let message = format!(
                "there is no transaction {id}: it has ended, or it was rolled back because no request came for {:?}",
                self.idle
            );
            return Err(Refusal::bad_request(message));
        };
        entry.users += 1;
        let transaction = Arc::clone(&entry.transaction);
        Ok(InUse { registry: Arc::clone(self), id: id.to_owned(), transaction })
    }

    /// Removes the transactions that were idle for too long. The caller drops them, which can take some time.
    #[must_use]
    pub fn take_idle(&self) -> Vec<impl Send + use<>> {
        let is_idle = |_: &String, entry: &mut Entry| entry.users == 0 && entry.used.elapsed() > self.idle;
        self.lock().extract_if(is_idle).map(|(_, entry)| entry).collect()
    }

    /// Removes all transactions. The caller drops them.
    #[must_use]
    pub fn take_all(&self) -> Vec<impl Send + use<>> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InUse {
    /// The transaction, when no other request is changing it.
    pub fn lock(&self) -> MutexGuard<'_, OpenTransaction> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction for a read, which sees what others have committed if the isolation level allows that. It does
    /// not if another request uses the transaction: that one may still be reading.
    ///
    /// # Errors
    /// As [`OpenTransaction::refresh`].
    pub fn lock_to_read(&self, watch: &CancelCheck) -> Result<MutexGuard<'_, OpenTransaction>, Refusal> {
        let mut transaction = self.lock();
        if self.is_alone() {
            transaction.refresh(watch)?;
        }
        Ok(transaction)
    }

    /// Whether no other request uses it. Of a transaction that was removed, this is not known.
    fn is_alone(&self) -> bool {
        self.registry.lock().get(&self.id).is_some_and(|entry| entry.users == 1)
    }

    /// Removes the transaction from the registry. It is dropped when its last request ends.
    pub fn remove(&self) {
        drop(self.registry.lock().remove(&self.id));
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(entry) = self.registry.lock().get_mut(&self.id) {
            entry.users -= 1;
            entry.used = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
    use fulgurite_rdf::{CancellationToken, IdPattern, IsolationLevel, Quads, Store, StoreOptions};

    use super::*;
    use crate::options::ServerOptions;
    use crate::protocol::service::ServedStore;
    use crate::protocol::sparql_request::RequestLimits;
    use crate::rdf4j::transactions::open::Reads;

    fn served(directory: &tempfile::TempDir) -> Arc<ServedStore> {
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        Arc::new(ServedStore { store, options: ServerOptions::new().writable(true) })
    }

    #[test]
    fn a_transaction_is_not_refreshed_while_another_request_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let served = served(&directory);
        let registry = Arc::new(Registry::new(Duration::ZERO, 1));
        let open = OpenTransaction::begin(Arc::clone(&served), IsolationLevel::SnapshotRead).unwrap();
        let id = registry.add(open).unwrap();
        let watch = CancelCheck::begin(CancellationToken::new(), RequestLimits { timeout: None });
        let size = |in_use: &InUse| match in_use.lock_to_read(&watch).unwrap().reads().unwrap() {
            Reads::Transaction(view) => view.count(&IdPattern::ALL).unwrap(),
            Reads::Snapshot(_) => unreachable!("the server writes"),
        };
        let [first, second] = [(); 2].map(|()| registry.begin_use(&id).unwrap());
        let node = NamedNode::new("http://example.org/a").unwrap();
        let quad = Quad::new(node.clone(), node.clone(), node, GraphName::DefaultGraph);
        served.store.update(|txn| txn.insert(&quad)).unwrap();
        assert_eq!((size(&first), size(&second)), (0, 0));
        drop(first);
        assert_eq!(size(&second), 1);
        second.remove();
        let other = Quad { object: Literal::from(1).into(), ..quad };
        served.store.update(|txn| txn.insert(&other)).unwrap();
        assert_eq!(size(&second), 1);
    }

    #[test]
    fn idle_transactions_are_removed_and_those_in_use_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let (served, registry) = (served(&directory), Arc::new(Registry::new(Duration::ZERO, 2)));
        let begin = || OpenTransaction::begin(Arc::clone(&served), IsolationLevel::Snapshot).unwrap();
        let [idle, used] = [(); 2].map(|()| registry.add(begin()).unwrap());
        assert_eq!(registry.add(begin()).unwrap_err().status, 503);
        let in_use = registry.begin_use(&used).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(registry.take_idle().len(), 1);
        assert_eq!(registry.begin_use(&idle).err().unwrap().status, 400);
        drop(in_use);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((registry.take_idle().len(), registry.take_all().len()), (1, 0));
    }
}
