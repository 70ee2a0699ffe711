//! The tables of a store.
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | name of a setting | its value |
//! | `terms` | term id | its bytes |
//! | `ids` | hash of a term, 16 bytes | the ids of the terms with this hash |
//! | `iri_namespaces` | 0 and number, 1 and text | text, number |
//! | `graphs` | term id of a named graph | |
//! | `namespaces` | prefix | IRI |
//! | one for each index, with its name | three or four term ids | |
//! | the same for inferred quads, once there are any, and `explicit_and_inferred` | the same; four term ids | |

use std::path::Path;
use std::sync::{Arc, OnceLock};

use fulgurite::{MergeOperator, ReadTxn, Table, TableOptions, WriteTxn};

use super::index::{Index, Inferred, StatementKinds};
use super::settings::{META, Settings, damaged};
use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::Order;

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
    /// The tables of inferred quads, if they exist and are to be read. Reads return the quads of both.
    pub inferred: Option<Arc<Inferred>>,
    /// Whether reads return no quads.
    pub has_no_quads: bool,
    /// Results of [`Tables::of`].
    alone: Alone,
}

/// Tables for statements of one kind, computed once, because every read needs them.
#[derive(Debug, Default)]
struct Alone {
    explicit: OnceLock<Arc<Tables>>,
    inferred: OnceLock<Arc<Tables>>,
}

/// A clone starts empty, because its tables are about to be changed.
impl Clone for Alone {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Tables {
    /// Opens the tables of a store that was created with `settings`.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if a table is missing; errors of the engine.
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
    /// Errors of the engine.
    pub fn create(txn: &mut WriteTxn, settings: &Settings) -> Result<Self> {
        let tables = Self::with(&settings.orders, |name, options| Ok(txn.create_table(name, options)?))?;
        settings.write(txn, &tables.meta)?;
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

    /// Inserts a named graph. A transaction that drops the graph concurrently conflicts, or the graph exists again
    /// after both. Transactions that insert it concurrently do not conflict.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn note_graph(&self, txn: &mut WriteTxn, graph: TermId) -> fulgurite::Result<()> {
        let key = graph.key();
        if self.graphs.merge_operator().is_some() {
            // Appending nothing creates the key with an empty value, whatever others do until the commit.
            txn.merge(&self.graphs, key.as_bytes(), &[])
        } else {
            // The store was created before its graphs had an operator.
            txn.insert(&self.graphs, key.as_bytes(), &[]).map(|_| ())
        }
    }

    /// All indexes. Those of one slice have the same quads; a quad is in the indexes of one slice only.
    pub fn indexes(&self) -> impl Iterator<Item = &[Index]> {
        let inferred = self.inferred.iter().flat_map(|inferred| [&inferred.default_graph[..], &inferred.named_graphs]);
        [&self.default_graph[..], &self.named_graphs].into_iter().chain(inferred)
    }

    /// Returns these tables with those of inferred quads.
    pub fn with_inferred(&self, inferred: Arc<Inferred>) -> Self {
        Self { inferred: Some(inferred), ..self.clone() }
    }

    /// Returns the tables to read for these kinds of statements. Requires: `self` has the tables of all kinds.
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

    /// Returns the indexes with the quads of this graph.
    pub fn indexes_of(&self, graph: TermId) -> &[Index] {
        if graph == TermId::DEFAULT_GRAPH { &self.default_graph } else { &self.named_graphs }
    }
}
