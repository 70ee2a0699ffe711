//! Namespaces that no IRI is stored by.
//!
//! No index leads from a namespace to its IRIs: so first it is read beside others which may be unused, mostly none.
//! Only then nobody may commit while that is read again.

use std::collections::HashSet;

use fulgurite::{Durability, ReadTxn};

use super::Sweep;
use crate::dictionary::{IriNamespaces, bytes, numbers_of_namespaces};
use crate::error::Result;
use crate::model::id::{PAYLOAD_MAX, Tag, TermId};

impl Sweep<'_> {
    /// Takes unused namespaces away. The one with the highest number stays, lest that be given again.
    pub(crate) fn namespaces(&mut self) -> Result<()> {
        if self.unused_namespaces(&self.shared.database.read()?)?.is_empty() {
            return Ok(());
        }
        let mut txn = self.begin_alone()?;
        let unused = self.unused_namespaces(&self.shared.database.read()?)?;
        if unused.is_empty() {
            return Ok(());
        }
        IriNamespaces::remove(&mut txn, &self.tables, self.shared.path(), &unused)?;
        txn.commit_with(Durability::Memory)?;
        self.report.namespaces_removed = unused.len() as u64;
        Ok(())
    }

    /// The numbers of namespaces that no IRI is stored by, but for the highest number.
    fn unused_namespaces(&self, read: &ReadTxn) -> Result<Vec<u32>> {
        let mut numbers = numbers_of_namespaces(read, &self.tables, self.shared.path())?;
        numbers.pop();
        let total = numbers.len() as u64;
        let mut unused: HashSet<u32> = numbers.iter().copied().collect();
        let first = TermId::new(Tag::IRI, 0).key();
        let end = TermId::new(Tag::IRI, PAYLOAD_MAX).key().end().expect("tags are below 31");
        for batch in read.leaf_batches(&self.tables.terms, first.as_bytes()..end.as_bytes())? {
            if unused.is_empty() {
                return Ok(Vec::new());
            }
            for (_, stored) in batch?.iter() {
                if let Some((number, _)) = bytes::namespace_of(stored) {
                    unused.remove(&number);
                }
            }
            self.tell(READING_NAMESPACES, total - unused.len() as u64, total);
        }
        numbers.retain(|number| unused.contains(number));
        Ok(numbers)
    }
}

const READING_NAMESPACES: &str = "reading namespaces";
