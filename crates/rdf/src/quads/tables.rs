//! The tables of a store, how they are read, and what its `meta` says.
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | name of a setting | its value |
//! | `terms` | number of a term | its bytes |
//! | `ids` | hash of a term, 16 bytes | the numbers of the terms that have it |
//! | `iri_namespaces` | 0 and number, 1 and text | text, number |
//! | `graphs` | number of a named graph | |
//! | `namespaces` | prefix | IRI |
//! | one for each order, by its name | three or four numbers | |
//! | the same for inferred quads, once there are any, and `explicit_and_inferred` | the same; four numbers | |

use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use fulgurite::{Database, KeySuffix, MergeOperator, Read, ReadTxn, Table, TableOptions, WriteTxn};

use crate::dictionary::TermHasher;
use crate::error::{Error, Result};
use crate::model::id::{IdKey, PAYLOAD_MAX, TermId};
use crate::model::pattern::Order;
use crate::quads::indexes::{Index, Inferred, StatementKinds};

/// The tables of a store.
#[derive(Clone, Debug)]
pub struct Tables {
    pub meta: Table,
    pub terms: Table,
    pub ids: Table,
    pub iri_namespaces: Table,
    pub graphs: Table,
    pub namespaces: Table,
    /// Indexes of the default graph; at least one.
    pub default_graph: Vec<Index>,
    /// Indexes of the named graphs; at least one.
    pub named_graphs: Vec<Index>,
    /// The tables of inferred quads, if there are any and they are to be read: reads take what is in these for the same
    /// as what is above.
    pub inferred: Option<Arc<Inferred>>,
    /// Whether no quad is to be read.
    pub has_no_quads: bool,
    /// What [`Tables::of`] has answered.
    alone: Alone,
}

/// Tables for statements of one kind, computed once, because every read needs them.
#[derive(Debug, Default)]
struct Alone {
    explicit: OnceLock<Arc<Tables>>,
    inferred: OnceLock<Arc<Tables>>,
}

/// A copy is of tables that are about to be others.
impl Clone for Alone {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What `meta` says once and for all.
#[derive(Clone, Debug)]
pub struct Settings {
    pub orders: Vec<Order>,
    pub hasher: TermHasher,
}

/// What takes the keys of a scan. A function that takes one key is one; what takes all keys of a leaf in one loop is
/// faster.
pub trait KeySink {
    /// Takes the next keys, in order.
    fn take<'k>(&mut self, keys: impl Iterator<Item = KeySuffix<'k>>);
}

impl<F: FnMut(KeySuffix<'_>)> KeySink for F {
    #[inline]
    fn take<'k>(&mut self, keys: impl Iterator<Item = KeySuffix<'k>>) {
        keys.for_each(self);
    }
}

/// Reads of the keys of indexes, for snapshots and transactions.
pub trait Reads: Read {
    /// The number of keys that begin with `prefix`.
    fn count_prefix(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        let end = prefix.end();
        self.count(table, range_of(prefix, end.as_ref()))
    }

    /// As [`Reads::count_prefix`], faster if there are few.
    fn count_narrow(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        self.count_prefix(table, prefix)
    }

    /// Hands the keys that begin with `prefix` to `sink`, in order and the first one whole: `keys_min` or somewhat
    /// more. `false` if there may be more.
    fn scan_prefix(
        &self,
        table: &Table,
        prefix: &IdKey,
        keys_min: usize,
        sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let end = prefix.end();
        let high = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
        self.scan(table, Bound::Included(prefix.as_bytes()), high, keys_min, sink)
    }

    /// Hands keys to `sink`, in order and the first one whole, until it has had `keys_min` at least and where it suits,
    /// or the range ends. Returns whether it has ended.
    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let mut keys = 0;
        for entry in self.range(table, (low, high))? {
            sink.take(std::iter::once(KeySuffix::whole(&entry?.0)));
            keys += 1;
            if keys == keys_min {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Reads for ReadTxn {
    fn count_narrow(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        // Going over a few keys costs one descent. To count a range costs two.
        let mut keys = 0;
        let are_all = self.prefix_keys(table, prefix.as_bytes(), NARROW_KEYS, |_| keys += 1)?;
        if are_all { Ok(keys) } else { self.count_prefix(table, prefix) }
    }

    fn scan_prefix(
        &self,
        table: &Table,
        prefix: &IdKey,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        self.prefix_keys(table, prefix.as_bytes(), keys_min, |key| sink.take(std::iter::once(key)))
    }

    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let mut keys = 0;
        let most = if keys_min < WHOLE_LEAVES_FROM_KEYS { keys_min } else { usize::MAX };
        let mut batches = self.key_batches(table, (low, high))?;
        while let Some(batch) = batches.next_of(most)? {
            sink.take(batch.iter());
            keys += batch.len();
            if keys >= keys_min {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Reads for WriteTxn {}

impl Tables {
    /// Opens the tables of a store that was created with `settings`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if one is not there; what the engine reports.
    pub fn open(read: &ReadTxn, path: &Path, settings: &Settings) -> Result<Self> {
        Self::with(&settings.orders, |name, _| match read.open_table(name) {
            Err(fulgurite::Error::TableNotFound { name }) => {
                Err(damaged(path, &format!("table `{name}`"), "it is not there"))
            }
            opened => Ok(opened?),
        })
    }

    /// Creates the tables of a store.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn create(txn: &mut WriteTxn, settings: &Settings) -> Result<Self> {
        let tables = Self::with(&settings.orders, |name, options| Ok(txn.create_table(name, options)?))?;
        txn.put(&tables.meta, FORMAT_KEY, FORMAT)?;
        let names: Vec<&str> = settings.orders.iter().map(|order| order.name()).collect();
        txn.put(&tables.meta, ORDERS_KEY, names.join(" ").as_bytes())?;
        txn.put(&tables.meta, HASH_KEY, &settings.hasher.to_bytes())?;
        txn.put(&tables.meta, NEXT_NUMBER_KEY, &0_u64.to_be_bytes())?;
        Ok(tables)
    }

    fn with(orders: &[Order], mut table: impl FnMut(&str, TableOptions) -> Result<Table>) -> Result<Self> {
        let plain = TableOptions::new;
        let mut tables = Self {
            meta: table(META, plain())?,
            terms: table("terms", plain())?,
            ids: table("ids", plain())?,
            iri_namespaces: table("iri_namespaces", plain())?,
            graphs: table("graphs", plain().merge(MergeOperator::Append))?,
            namespaces: table("namespaces", plain())?,
            default_graph: Vec::new(),
            named_graphs: Vec::new(),
            inferred: None,
            has_no_quads: false,
            alone: Alone::default(),
        };
        for &order in orders {
            let index = Index { order, table: table(order.name(), plain().counted(true).packed(true))? };
            let is_named = order.is_of_named_graphs();
            if is_named { &mut tables.named_graphs } else { &mut tables.default_graph }.push(index);
        }
        Ok(tables)
    }

    /// Makes a named graph be there. Who drops it at the same time is in conflict, or has it again; others that do the
    /// same are not.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn note_graph(&self, txn: &mut WriteTxn, graph: TermId) -> fulgurite::Result<()> {
        let key = graph.key();
        if self.graphs.merge_operator().is_some() {
            // To append nothing gives a key an empty value, whatever others do until the commit.
            txn.merge(&self.graphs, key.as_bytes(), &[])
        } else {
            // The store was created before its graphs had an operator.
            txn.insert(&self.graphs, key.as_bytes(), &[]).map(|_| ())
        }
    }

    /// All indexes: those of one element have the same quads, and no two elements have one.
    pub fn indexes(&self) -> impl Iterator<Item = &[Index]> {
        let inferred = self.inferred.iter().flat_map(|inferred| [&inferred.default_graph[..], &inferred.named_graphs]);
        [&self.default_graph[..], &self.named_graphs].into_iter().chain(inferred)
    }

    /// The same with the tables of inferred quads.
    pub fn with_inferred(&self, inferred: Arc<Inferred>) -> Self {
        Self { inferred: Some(inferred), ..self.clone() }
    }

    /// What is to be read for these statements. Requires: these are tables for all of them.
    pub fn of(self: &Arc<Self>, statements: StatementKinds) -> Arc<Self> {
        let made = match (statements, &self.inferred) {
            (StatementKinds::All, _) | (StatementKinds::Explicit, None) => self,
            (StatementKinds::Explicit, Some(_)) => {
                self.alone.explicit.get_or_init(|| Arc::new(Self { inferred: None, ..Self::clone(self) }))
            }
            (StatementKinds::Inferred, None) => {
                self.alone.inferred.get_or_init(|| Arc::new(Self { has_no_quads: true, ..Self::clone(self) }))
            }
            (StatementKinds::Inferred, Some(inferred)) => self.alone.inferred.get_or_init(|| {
                Arc::new(Self {
                    default_graph: inferred.default_graph.clone(),
                    named_graphs: inferred.named_graphs.clone(),
                    inferred: None,
                    ..Self::clone(self)
                })
            }),
        };
        Arc::clone(made)
    }

    /// The indexes that have quads of this graph.
    pub fn indexes_of(&self, graph: TermId) -> &[Index] {
        if graph == TermId::DEFAULT_GRAPH { &self.default_graph } else { &self.named_graphs }
    }
}

impl Settings {
    /// What the `meta` of a database says.
    ///
    /// # Errors
    /// [`Error::NotAStore`] if it has none of this crate's; [`Error::Unsupported`], [`Error::Damaged`]; what the engine
    /// reports.
    pub fn read(database: &Database, read: &ReadTxn) -> Result<Self> {
        let path = database.path();
        let not_a_store = || Error::NotAStore { path: path.to_path_buf() };
        let meta = match read.open_table(META) {
            Err(fulgurite::Error::TableNotFound { .. }) => return Err(not_a_store()),
            opened => opened?,
        };
        let format = read.get(&meta, FORMAT_KEY)?;
        let format = format.as_deref().filter(|format| format.starts_with(FORMAT_NAME)).ok_or_else(not_a_store)?;
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

/// Whether a store can have these: none twice, and one at least for the default graph and for named graphs.
pub fn are_orders_of_a_store(orders: &[Order]) -> bool {
    let named = orders.iter().filter(|order| order.is_of_named_graphs()).count();
    let distinct = (1..orders.len()).all(|index| !orders[..index].contains(&orders[index]));
    distinct && named > 0 && named < orders.len()
}

/// The next number of a term that nobody has reserved.
///
/// # Errors
/// [`Error::Damaged`] if it cannot be that; what the engine reports.
pub fn next_number(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<u64> {
    let stored = reads.get(&tables.meta, NEXT_NUMBER_KEY)?;
    let number = stored.as_deref().and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let number = number.filter(|&number| number <= PAYLOAD_MAX);
    number.ok_or_else(|| damaged(path, "meta `next_number`", "it is no number of a term"))
}

/// Sets what [`next_number`] reads.
///
/// # Errors
/// What the engine reports.
pub fn set_next_number(txn: &mut WriteTxn, tables: &Tables, number: u64) -> Result<()> {
    Ok(txn.put(&tables.meta, NEXT_NUMBER_KEY, &number.to_be_bytes())?)
}

/// An entry that this crate cannot have written.
pub fn damaged(path: &Path, place: &str, offence: &str) -> Error {
    Error::Damaged { path: path.to_path_buf(), place: place.into(), offence: offence.into() }
}

const META: &str = "meta";
const FORMAT_KEY: &[u8] = b"format";
const FORMAT_NAME: &[u8] = b"fulgurite-rdf ";
const FORMAT: &[u8] = b"fulgurite-rdf 1";
const ORDERS_KEY: &[u8] = b"orders";
const HASH_KEY: &[u8] = b"hash";
pub const NEXT_NUMBER_KEY: &[u8] = b"next_number";
/// The keys from a prefix to its end.
fn range_of<'k>(prefix: &'k IdKey, end: Option<&'k IdKey>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    let high = end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
    (Bound::Included(prefix.as_bytes()), high)
}

/// So many keys are gone over rather than counted.
const NARROW_KEYS: usize = 16;
/// Scans for fewer keys do not read whole leaves.
const WHOLE_LEAVES_FROM_KEYS: usize = 64;
