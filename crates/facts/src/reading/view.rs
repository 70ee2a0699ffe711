//! [`View`]: one state of one database, whichever backend has it.

use fulgurite::{Read, ReadTxn, Value};

use crate::error::Result;
use crate::layout::tables::{EachEntry, Side, Tables};

/// One state of one database of a stack.
#[cfg_attr(feature = "lmdb", allow(clippy::large_enum_variant, reason = "a snapshot has one for each database"))]
pub enum View {
    /// In a database of the engine.
    Engine {
        /// The transaction.
        txn: ReadTxn,
        /// Its tables.
        tables: Tables,
    },
    /// In a file of LMDB.
    #[cfg(feature = "lmdb")]
    Lmdb(crate::lmdb::view::View),
}

impl View {
    /// An entry that is not a fact.
    pub fn get(&self, side: Side, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        match self {
            Self::Engine { txn, tables } => Ok(txn.get(tables.side(side), key)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(view) => Ok(view.side(side, key.as_ref())?.map(Value::from)),
        }
    }

    /// Calls `each` with the key and the value of the entries of a side whose keys begin with `prefix`, in the order of
    /// keys. LMDB returns keys that share their first 494 bytes in another order.
    pub fn each(&self, side: Side, prefix: &[u8], each: &mut EachEntry<'_>) -> Result<()> {
        match self {
            Self::Engine { txn, tables } => {
                for entry in txn.prefix(tables.side(side), prefix)? {
                    let (key, value) = entry?;
                    each(&key, &value)?;
                }
                Ok(())
            }
            #[cfg(feature = "lmdb")]
            Self::Lmdb(view) => view.each_side(side, prefix, each),
        }
    }
}
