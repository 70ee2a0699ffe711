//! The tables that a write transaction creates, drops and renames, before its commit.

use std::collections::BTreeMap;

use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::format::TableDescriptor;
use crate::ids::{Sequence, TableId};
use crate::options::{TABLE_NAME_BYTES_MAX, TableOptions};
use crate::sync::Arc;
use crate::txn::snapshot::state::{Snapshot, State, TableView, Trees};
use crate::txn::snapshot::table::{Table, TableInfo};

impl TableOptions {
    /// Whether a table that exists is what is asked for here.
    pub(crate) fn matches(&self, table: &TableInfo) -> Result<()> {
        let stored = &table.descriptor;
        let same = stored.counted == self.counted
            && stored.packed == self.packed
            && stored.value_align == self.value_align.max(1)
            && stored.multimap == self.multimap
            && stored.merge == self.merge
            && stored.key_type == self.key_type
            && stored.value_type == self.value_type;
        if same {
            return Ok(());
        }
        let requested = descriptor(stored.id, self.clone());
        Err(Error::TableMismatch {
            name: table.name.to_string(),
            stored: options_text(stored),
            requested: options_text(&requested),
        })
    }
}

/// One change of the set of tables.
#[derive(Clone, Debug)]
pub enum SchemaChange {
    /// A table came to be.
    Created(Arc<TableView>),
    /// A table went.
    Dropped(Arc<TableInfo>),
    /// A table got another name.
    Renamed {
        /// As it was.
        before: Arc<TableInfo>,
        /// As it is.
        after: Arc<TableInfo>,
    },
}

impl SchemaChange {
    /// Whether it drops the table.
    pub fn drops(&self, table: TableId) -> bool {
        matches!(self, Self::Dropped(info) if info.id == table)
    }
}

/// The changes of one transaction, in order.
#[derive(Debug, Default)]
pub struct Schema {
    changes: Vec<SchemaChange>,
}

impl Schema {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// The changes, in order.
    pub fn changes(&self) -> &[SchemaChange] {
        &self.changes
    }

    /// Undoes all but the first `length` changes.
    pub fn truncate(&mut self, length: usize) {
        self.changes.truncate(length);
    }

    /// The table as this transaction sees it.
    ///
    /// # Errors
    /// As [`State::view`].
    pub fn view<'a>(&'a self, state: &'a State, table: &Table) -> Result<&'a TableView> {
        for change in self.changes.iter().rev() {
            match change {
                SchemaChange::Created(view) if view.info.is_same(&table.info) => return Ok(view),
                SchemaChange::Dropped(info) if info.is_same(&table.info) => {
                    return Err(Error::TableNotFound { name: table.name().to_owned() });
                }
                _ => {}
            }
        }
        state.view(table)
    }

    /// The table of that number: one that the transaction created, or one that is there.
    pub fn view_of<'a>(&'a self, state: &'a State, id: TableId) -> Option<&'a TableView> {
        let created = self.changes.iter().find_map(|change| match change {
            SchemaChange::Created(view) if view.info.id == id => Some(view),
            _ => None,
        });
        created.or_else(|| state.view_of(id)).map(|view| &**view)
    }

    /// Creates a table, which gets the number that `number` gives out.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::Invalid`].
    pub fn create(
        &mut self,
        state: &State,
        name: &str,
        options: TableOptions,
        number: impl FnOnce() -> Option<TableId>,
    ) -> Result<Table> {
        options.validate()?;
        self.check_name(state, name)?;
        let Some(id) = number() else {
            let message = format!("a database creates at most {} tables in its life", TableId::END.0);
            return Err(Error::Invalid { message });
        };
        let view = empty_view(TableInfo::new(name.into(), descriptor(id, options)));
        let table = Table { info: Arc::clone(&view.info), instance: state.instance };
        self.changes.push(SchemaChange::Created(Arc::new(view)));
        Ok(table)
    }

    /// Drops a table.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn drop_table(&mut self, state: &State, table: &Table) -> Result<()> {
        let info = self.newest_info(state, table)?;
        self.changes.push(SchemaChange::Dropped(info));
        Ok(())
    }

    /// Gives a table another name, and returns a handle with it.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::TableExists`], [`Error::Invalid`].
    pub fn rename(&mut self, state: &State, table: &Table, name: &str) -> Result<Table> {
        let before = self.newest_info(state, table)?;
        if &*before.name == name {
            return Ok(Table { info: before, instance: state.instance });
        }
        self.check_name(state, name)?;
        let after = Arc::new(before.renamed(name));
        self.changes.push(SchemaChange::Renamed { before, after: Arc::clone(&after) });
        Ok(Table { info: after, instance: state.instance })
    }

    /// The table with the name that it has now, which may be another than that of the handle.
    fn newest_info(&self, state: &State, table: &Table) -> Result<Arc<TableInfo>> {
        let view = self.view(state, table)?;
        let renamed = self.changes.iter().rev().find_map(|change| match change {
            SchemaChange::Renamed { after, .. } if after.is_same(&table.info) => Some(after),
            _ => None,
        });
        Ok(Arc::clone(renamed.unwrap_or(&view.info)))
    }

    fn check_name(&self, state: &State, name: &str) -> Result<()> {
        if name.is_empty() || name.len() > TABLE_NAME_BYTES_MAX {
            let message = format!("a table's name has 1 to {TABLE_NAME_BYTES_MAX} bytes, not {}", name.len());
            return Err(Error::Invalid { message });
        }
        match self.find(state, name) {
            Some(_) => Err(Error::TableExists { name: name.to_owned() }),
            None => Ok(()),
        }
    }

    /// The table of that name.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn open(&self, state: &State, name: &str) -> Result<Table> {
        state.check_process()?;
        let info = self.find(state, name).ok_or_else(|| Error::TableNotFound { name: name.to_owned() })?;
        Ok(Table { info, instance: state.instance })
    }

    /// All tables, by name.
    pub fn tables(&self, state: &State) -> Vec<Table> {
        let mut infos: BTreeMap<Arc<str>, Arc<TableInfo>> = state
            .names
            .values()
            .filter_map(|&id| state.view_of(id))
            .map(|view| (Arc::clone(&view.info.name), Arc::clone(&view.info)))
            .collect();
        for change in &self.changes {
            match change {
                SchemaChange::Created(view) => {
                    infos.insert(Arc::clone(&view.info.name), Arc::clone(&view.info));
                }
                SchemaChange::Dropped(info) => {
                    infos.remove(&info.name);
                }
                SchemaChange::Renamed { before, after } => {
                    infos.remove(&before.name);
                    infos.insert(Arc::clone(&after.name), Arc::clone(after));
                }
            }
        }
        infos.into_values().map(|info| Table { info, instance: state.instance }).collect()
    }

    fn find(&self, state: &State, name: &str) -> Option<Arc<TableInfo>> {
        for change in self.changes.iter().rev() {
            match change {
                SchemaChange::Created(view) if &*view.info.name == name => return Some(Arc::clone(&view.info)),
                SchemaChange::Dropped(info) if &*info.name == name => return None,
                SchemaChange::Renamed { after, .. } if &*after.name == name => return Some(Arc::clone(after)),
                SchemaChange::Renamed { before, .. } if &*before.name == name => return None,
                _ => {}
            }
        }
        let view = state.view_of(*state.names.get(name)?)?;
        Some(Arc::clone(&view.info))
    }
}

impl Snapshot {
    /// The table of that name.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        Schema::default().open(&self.state, name)
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        Schema::default().tables(&self.state)
    }
}

/// `state` after the schema changes of the commit `sequence`.
pub fn with_schema(state: &State, changes: &[SchemaChange], sequence: Sequence) -> State {
    let mut next = State { floor: sequence, tables_changed: sequence, ..state.clone() };
    let names = Arc::make_mut(&mut next.names);
    for change in changes {
        match change {
            SchemaChange::Created(view) => {
                let at = view.info.id.0 as usize;
                if next.tables.len() <= at {
                    next.tables.resize(at + 1, None);
                }
                next.tables[at] = Some(Arc::new(TableView { created: sequence, ..(**view).clone() }));
                names.insert(view.info.name.to_string(), view.info.id);
            }
            SchemaChange::Dropped(info) => {
                let dropped = next.tables[info.id.0 as usize].take();
                next.dropped.extend(dropped.map(|view| (sequence, view)));
                names.remove(&*info.name);
            }
            SchemaChange::Renamed { before, after } => {
                if let Some(view) = &mut next.tables[after.id.0 as usize] {
                    *view = Arc::new(TableView { info: Arc::clone(after), ..(**view).clone() });
                }
                next.renamed.push((sequence, Arc::clone(before)));
                names.remove(&*before.name);
                names.insert(after.name.to_string(), after.id);
            }
        }
    }
    next
}

/// A table with nothing in it.
pub fn empty_view(info: TableInfo) -> TableView {
    let active = Arc::new(Delta::new(info.align()));
    TableView { info: Arc::new(info), trees: Trees::default(), frozen: None, active, loads: 0, created: Sequence(0) }
}

fn options_text(table: &TableDescriptor) -> String {
    let kind = if table.multimap { "multimap " } else { "" };
    let name = |name: &str| if name.is_empty() { "bytes" } else { name }.to_owned();
    let counted = if table.counted { ", counted" } else { "" };
    let packed = if table.packed { ", packed" } else { "" };
    let merge = table.merge.as_ref().map_or(String::new(), |merging| format!(", merge {merging}"));
    let align = if table.value_align > 1 { format!(", value_align {}", table.value_align) } else { String::new() };
    let (key, value) = (name(&table.key_type), name(&table.value_type));
    format!("{kind}{key} → {value}{counted}{packed}{align}{merge}")
}

fn descriptor(id: TableId, options: TableOptions) -> TableDescriptor {
    TableDescriptor {
        id,
        multimap: options.multimap,
        counted: options.counted,
        packed: options.packed,
        value_align: options.value_align.max(1),
        merge: options.merge,
        key_type: options.key_type,
        value_type: options.value_type,
        root: None,
        ranges: Vec::new(),
    }
}
