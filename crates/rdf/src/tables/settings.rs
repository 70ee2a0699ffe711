//! The table `meta` of a store: its format, its indexes, the hash of its terms, and its next dictionary number.

use std::path::Path;

use fulgurite::{Database, Read, ReadTxn, Table, WriteTxn};

use super::hasher::TermHasher;
use crate::error::{Error, Result};
use crate::model::id::PAYLOAD_MAX;
use crate::model::pattern::Order;

/// The settings that a store has from its creation on.
#[derive(Clone, Debug)]
pub struct Settings {
    pub orders: Vec<Order>,
    pub hasher: TermHasher,
}

impl Settings {
    /// Writes the settings of a new store.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn write(&self, txn: &mut WriteTxn, meta: &Table) -> Result<()> {
        txn.put(meta, FORMAT_KEY, FORMAT)?;
        let names: Vec<&str> = self.orders.iter().map(|order| order.name()).collect();
        txn.put(meta, ORDERS_KEY, names.join(" ").as_bytes())?;
        txn.put(meta, HASH_KEY, &self.hasher.to_bytes())?;
        Ok(txn.put(meta, NEXT_NUMBER_KEY, &0_u64.to_be_bytes())?)
    }

    /// Reads the settings of a store.
    ///
    /// # Errors
    /// [`Error::NotAStore`] if the database has none; [`Error::Unsupported`]; [`Error::Damaged`]; errors of the engine.
    pub fn read(database: &Database, read: &ReadTxn) -> Result<Self> {
        let path = database.path();
        let not_a_store = |is_empty| Error::NotAStore { path: path.to_path_buf(), is_empty };
        let meta = match read.open_table(META) {
            Err(fulgurite::Error::TableNotFound { .. }) => return Err(not_a_store(read.tables().is_empty())),
            opened => opened?,
        };
        let format = read.get(&meta, FORMAT_KEY)?;
        let format = format.as_deref().filter(|format| format.starts_with(FORMAT_NAME));
        let format = format.ok_or_else(|| not_a_store(false))?;
        if format != FORMAT {
            let found = format!("the store's format is `{}`", format.escape_ascii());
            return Err(Error::Unsupported { path: path.to_path_buf(), found });
        }
        let orders = read.get(&meta, ORDERS_KEY)?;
        let orders = orders.as_deref().and_then(parse_orders);
        let orders = orders.ok_or_else(|| damaged(path, "meta `orders`", "these are no orders of quads"))?;
        let hasher = read.get(&meta, HASH_KEY)?;
        let hasher = hasher.as_deref().and_then(TermHasher::from_bytes);
        let hasher = hasher.ok_or_else(|| damaged(path, "meta `hash`", "it has an impossible length or width"))?;
        Ok(Self { orders, hasher })
    }
}

fn parse_orders(names: &[u8]) -> Option<Vec<Order>> {
    let names = std::str::from_utf8(names).ok()?;
    let orders: Vec<Order> = names.split(' ').map(Order::parse).collect::<Option<_>>()?;
    are_orders_of_a_store(&orders).then_some(orders)
}

/// Whether a store can have these orders: no order twice, at least one for the default graph and one for named graphs.
pub fn are_orders_of_a_store(orders: &[Order]) -> bool {
    let named = orders.iter().filter(|order| order.is_of_named_graphs()).count();
    let distinct = (1..orders.len()).all(|index| !orders[..index].contains(&orders[index]));
    distinct && named > 0 && named < orders.len()
}

/// Returns the first dictionary number that is not reserved.
///
/// # Errors
/// [`Error::Damaged`] if the stored number is impossible; errors of the engine.
pub fn next_number(reads: &impl Read, meta: &Table, path: &Path) -> Result<u64> {
    let stored = reads.get(meta, NEXT_NUMBER_KEY)?;
    let number = stored.as_deref().and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let number = number.filter(|&number| number <= PAYLOAD_MAX);
    number.ok_or_else(|| damaged(path, "meta `next_number`", "it is not a number of a term"))
}

/// Sets the number that [`next_number`] returns.
///
/// # Errors
/// Errors of the engine.
pub fn set_next_number(txn: &mut WriteTxn, meta: &Table, number: u64) -> Result<()> {
    Ok(txn.put(meta, NEXT_NUMBER_KEY, &number.to_be_bytes())?)
}

/// Returns the error of an entry that this crate cannot have written.
pub fn damaged(path: &Path, place: &str, offence: &str) -> Error {
    Error::Damaged { path: path.to_path_buf(), place: place.into(), offence: offence.into() }
}

pub const META: &str = "meta";
const FORMAT_KEY: &[u8] = b"format";
const FORMAT_NAME: &[u8] = b"fulgurite-rdf ";
const FORMAT: &[u8] = b"fulgurite-rdf 1";
const ORDERS_KEY: &[u8] = b"orders";
const HASH_KEY: &[u8] = b"hash";
pub const NEXT_NUMBER_KEY: &[u8] = b"next_number";
