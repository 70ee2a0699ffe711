//! Quads that a reasoner has inferred, apart from those that were asserted (explicit).
//!
//! A quad may be explicit, inferred, or both. Explicit quads are in the tables that every store has. Quads that are
//! inferred and not explicit are in tables like these, and one more table lists the quads that are both. So a quad is
//! in one kind of table only, counts can be added, and removing an explicit quad that was both leaves it inferred.
//!
//! These tables are made with the first inferred quad, and stay. Before that a snapshot looks once, when it is taken,
//! whether they are there, and a transaction when it first reads or changes a quad; their reads know by
//! [`Tables::inferred`] that they are not.

use std::ops::Bound;

use fulgurite::{KeySuffix, Table, TableOptions, WriteTxn};

use crate::error::Result;
use crate::model::id::IdKey;
use crate::model::pattern::{IdPattern, IdQuad, Order};
use crate::tables::{Index, Inferred};
use crate::tables::{KeySink, Reads, Tables};

impl Inferred {
    /// The tables that are there, or nothing if there are none, as `table` opens them.
    ///
    /// # Errors
    /// What `table` returns.
    pub fn open(tables: &Tables, mut table: impl FnMut(&str) -> Result<Table>) -> Result<Self> {
        Self::with(tables, |name, _| table(name))
    }

    /// Creates the tables, and notes in `meta` that they are there.
    ///
    /// # Errors
    /// What the engine reports; some may be there then.
    pub fn create(txn: &mut WriteTxn, tables: &Tables) -> Result<Self> {
        let inferred = Self::with(tables, |name, options| Ok(txn.create_table(name, options)?))?;
        // Last, because the tables must exist then, also after a return to a savepoint.
        txn.put(&tables.meta, INFERRED_KEY, &[1])?;
        Ok(inferred)
    }

    fn with(tables: &Tables, mut table: impl FnMut(&str, TableOptions) -> Result<Table>) -> Result<Self> {
        let mut beside = |indexes: &[Index]| -> Result<Vec<Index>> {
            let named = indexes.iter().map(|index| (index.order, format!("inferred_{}", index.order)));
            named
                .map(|(order, name)| {
                    Ok(Index { order, table: table(&name, TableOptions::new().counted(true).packed(true))? })
                })
                .collect()
        };
        let (default_graph, named_graphs) = (beside(&tables.default_graph)?, beside(&tables.named_graphs)?);
        let both = table("explicit_and_inferred", TableOptions::new().counted(true).packed(true))?;
        Ok(Self { default_graph, named_graphs, both })
    }

    /// The indexes that have inferred quads of this graph.
    pub fn indexes_of(&self, quad: &IdQuad) -> &[Index] {
        if quad.graph == crate::TermId::DEFAULT_GRAPH { &self.default_graph } else { &self.named_graphs }
    }

    /// Whether a quad is inferred, be it explicit too or not.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn has(&self, reads: &impl Reads, quad: &IdQuad) -> Result<bool> {
        let index = self.indexes_of(quad).first().expect("a store has indexes of both");
        Ok(reads.get(&index.table, index.order.key_of(quad).as_bytes())?.is_some()
            || reads.get(&self.both, key_of_both(quad).as_bytes())?.is_some())
    }

    /// Whether nothing is inferred.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn is_empty(&self, reads: &impl Reads) -> Result<bool> {
        let firsts = [&self.default_graph, &self.named_graphs].into_iter().filter_map(|indexes| indexes.first());
        let mut tables = firsts.map(|index| &index.table).chain([&self.both]);
        tables.try_fold(true, |is_empty, table| Ok(is_empty && reads.is_empty(table)?))
    }
}

/// Whether the tables of inferred quads are there.
///
/// # Errors
/// What the engine reports.
pub fn is_there(reads: &impl Reads, tables: &Tables) -> Result<bool> {
    Ok(reads.get(&tables.meta, INFERRED_KEY)?.is_some())
}

/// Lets the transaction commit only if nobody has made the tables of inferred quads since it began.
///
/// # Errors
/// What the engine reports.
pub fn guard(txn: &mut WriteTxn, tables: &Tables) -> Result<()> {
    Ok(txn.guard(&tables.meta, INFERRED_KEY)?)
}

/// The key of a quad in the table of quads that are both: its four numbers, of the default graph too.
pub fn key_of_both(quad: &IdQuad) -> IdKey {
    both_order().key_of(quad)
}

/// What such keys of the quads of a pattern begin with.
pub fn prefix_of_both(pattern: &IdPattern) -> IdKey {
    let mut prefix = IdKey::default();
    let bound = both_order().positions().iter().map_while(|&position| pattern.at(position));
    bound.for_each(|id| prefix.push(id));
    prefix
}

/// The quad of such a key; nothing if it is the key of none.
pub fn quad_of_both(key: &[u8]) -> Option<IdQuad> {
    both_order().quad_of(key)
}

fn both_order() -> Order {
    Order::parse("spog").expect("it is one of all orders")
}

/// As [`Reads::scan`], of a table of a store, with the inferred quads that belong among its own.
///
/// # Errors
/// What the engine reports.
pub fn scan(
    reads: &impl Reads,
    tables: &Tables,
    table: &Table,
    (low, high): (Bound<&[u8]>, Bound<&[u8]>),
    keys_min: usize,
    sink: impl KeySink,
) -> fulgurite::Result<bool> {
    if let Some(beside) = beside(tables, table) {
        return scan_both(reads, [table, beside], (low, high), keys_min, sink);
    }
    if tables.has_no_quads && table.id() != tables.graphs.id() {
        return Ok(true);
    }
    reads.scan(table, low, high, keys_min, sink)
}

/// As [`Reads::scan_prefix`], of a table of a store, with the inferred quads that belong among its own.
///
/// # Errors
/// What the engine reports.
pub fn scan_prefix(
    reads: &impl Reads,
    tables: &Tables,
    table: &Table,
    prefix: &IdKey,
    keys_min: usize,
    sink: impl KeySink,
) -> fulgurite::Result<bool> {
    if tables.inferred.is_none() && !tables.has_no_quads {
        return reads.scan_prefix(table, prefix, keys_min, sink);
    }
    let end = prefix.end();
    let high = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
    scan(reads, tables, table, (Bound::Included(prefix.as_bytes()), high), keys_min, sink)
}

/// Passes the keys of two tables without a common key, in order.
fn scan_both(
    reads: &impl Reads,
    [first, second]: [&Table; 2],
    (low, high): (Bound<&[u8]>, Bound<&[u8]>),
    keys_min: usize,
    mut sink: impl KeySink,
) -> fulgurite::Result<bool> {
    let mut seconds = reads.range(second, (low, high))?;
    let mut next_second = seconds.next().transpose()?;
    if next_second.is_none() {
        return reads.scan(first, low, high, keys_min, sink);
    }
    let mut firsts = reads.range(first, (low, high))?;
    let mut next_first = firsts.next().transpose()?;
    let mut keys = 0;
    loop {
        let is_first = match (&next_first, &next_second) {
            (None, None) => return Ok(true),
            (Some((first, _)), Some((second, _))) => first[..] <= second[..],
            (first, _) => first.is_some(),
        };
        let (next, rest) = if is_first { (&mut next_first, &mut firsts) } else { (&mut next_second, &mut seconds) };
        if let Some((key, _)) = next {
            sink.take(std::iter::once(KeySuffix::whole(key)));
        }
        keys += 1;
        if keys == keys_min {
            return Ok(false);
        }
        *next = rest.next().transpose()?;
    }
}

/// How many keys of a table of a store begin with `prefix`, with the inferred quads that belong among its own.
/// `is_narrow`: there are few, probably.
///
/// # Errors
/// What the engine reports.
pub fn count_prefix(
    reads: &impl Reads,
    tables: &Tables,
    table: &Table,
    prefix: &IdKey,
    is_narrow: bool,
) -> fulgurite::Result<u64> {
    if tables.has_no_quads {
        return Ok(0);
    }
    let count =
        |table: &Table| if is_narrow { reads.count_narrow(table, prefix) } else { reads.count_prefix(table, prefix) };
    Ok(count(table)? + beside(tables, table).map_or(Ok(0), count)?)
}

/// Whether a quad is there, explicit or inferred, as far as these tables say.
///
/// # Errors
/// What the engine reports.
pub fn contains(reads: &impl Reads, tables: &Tables, quad: &IdQuad) -> Result<bool> {
    if tables.has_no_quads {
        return Ok(false);
    }
    let has = |indexes: &[Index]| -> Result<bool> {
        let index = indexes.first().expect("a store has indexes of both");
        Ok(reads.get(&index.table, index.order.key_of(quad).as_bytes())?.is_some())
    };
    if has(tables.indexes_of(quad.graph))? {
        return Ok(true);
    }
    tables.inferred.as_ref().map_or(Ok(false), |inferred| has(inferred.indexes_of(quad)))
}

/// The table of inferred quads that belongs beside this one.
#[inline]
fn beside<'t>(tables: &'t Tables, table: &Table) -> Option<&'t Table> {
    let inferred = tables.inferred.as_ref()?;
    let explicit = tables.default_graph.iter().chain(&tables.named_graphs);
    let mut pairs = explicit.zip(inferred.default_graph.iter().chain(&inferred.named_graphs));
    pairs.find(|(index, _)| index.table.id() == table.id()).map(|(_, beside)| &beside.table)
}

const INFERRED_KEY: &[u8] = b"inferred";
