//! What the database is at one moment: the trees of a checkpoint, the deltas above them, and the tables there are.
//!
//! Invariants:
//! (1) A published [`State`] never changes; commits go into the deltas that it shares, numbered by sequence.
//! (2) Whoever takes a state sees all commits up to [`State::floor`]: the trees hold nothing younger.
//! (3) Pages that a state can reach are not reused while it lives: its [`Pin`] tells the space accounts.

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::format::{LeafForm, MergeOperator, MergeRule, Merging, Overflowed, TableDescriptor, ValueAlign};
use crate::ids::{Birth, Sequence, TableId};
use crate::merge_functions::MergeFunctions;
use crate::options::VALUE_BYTES_MAX;
use crate::pager::Pages;
use crate::planted::give_way;
use crate::process::Stamp;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Instant, Mutex};
use crate::tree::{Base, Root, Stack};
use crate::txn::history::Epoch;
use crate::txn::large::Recent;
use crate::txn::prefix::Prefix;
use crate::txn::slots::Slots;

/// One table within a state.
#[derive(Clone, Debug)]
pub struct TableView {
    /// Name and options; its root is that of the last checkpoint or meaningless: [`TableView::trees`] counts.
    pub info: Arc<TableInfo>,
    /// The trees of the last checkpoint.
    pub trees: Trees,
    /// Commits that a running checkpoint is merging into the tree.
    pub frozen: Option<Arc<Delta>>,
    /// Commits since.
    pub active: Arc<Delta>,
    /// How many bulk loads have changed the table since the database was opened.
    pub loads: u64,
    /// The commit that created the table, if that was since the last checkpoint.
    pub created: Sequence,
}

/// What the file has of a table.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// The tree.
    pub base: Option<Base>,
    /// The runs above it, if there are any.
    pub stack: Option<Arc<Stack>>,
}

impl Trees {
    /// Whether these are the same, not only alike.
    pub fn are(&self, others: &Self) -> bool {
        let same_stack = match (&self.stack, &others.stack) {
            (Some(stack), Some(other)) => Arc::ptr_eq(stack, other),
            (None, None) => true,
            _ => false,
        };
        same_stack && self.base == others.base
    }
}

/// What does not change about a table while it exists.
#[derive(Debug)]
pub struct TableInfo {
    /// What tells the table from all others of this process, whatever its name: the number of one whose creation was rolled back is given
    /// out again.
    pub identity: u64,
    /// The table's number.
    pub id: TableId,
    /// The table's name.
    pub name: Arc<str>,
    /// Options and types; the root in it is not kept up to date.
    pub descriptor: TableDescriptor,
}

impl TableInfo {
    /// A table that was not known before.
    pub fn new(name: Arc<str>, descriptor: TableDescriptor) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: it orders nothing.
        let identity = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { identity, id: descriptor.id, name, descriptor }
    }

    /// The same table by another name.
    pub fn renamed(&self, name: &str) -> Self {
        Self { identity: self.identity, id: self.id, name: name.into(), descriptor: self.descriptor.clone() }
    }

    /// Whether both are the same table, perhaps by different names.
    #[inline(always)]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.identity == other.identity
    }

    /// Alignment of values.
    pub fn align(&self) -> ValueAlign {
        ValueAlign::from_bytes(usize::from(self.descriptor.value_align))
            .expect("descriptors are checked when they are made")
    }

    /// In which form the leaves of its tree are built.
    pub fn form(&self) -> LeafForm {
        if self.descriptor.packed { LeafForm::Packed } else { LeafForm::Tagged(self.align()) }
    }

    /// How values are merged, if the table has an operator of the engine.
    #[inline]
    pub fn merge_rule(&self) -> Option<MergeRule> {
        self.merge_operator().map(|operator| {
            let rule = MergeRule::of(operator, &self.descriptor.value_type);
            rule.expect("descriptors are checked when they are made")
        })
    }

    /// The table's merge operator, if it has one of the engine.
    #[inline]
    pub fn merge_operator(&self) -> Option<MergeOperator> {
        self.descriptor.merge.as_ref().and_then(Merging::operator)
    }

    /// The name of the function of the program that merges values, if one does.
    #[inline]
    pub fn merge_function(&self) -> Option<&str> {
        self.descriptor.merge.as_ref().and_then(Merging::function)
    }

    /// Checks that a value may have this length.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table's merge operator takes numbers of another width.
    #[inline]
    pub fn check_width(&self, length_bytes: usize) -> Result<()> {
        match self.merge_rule() {
            Some(rule) if !rule.takes(length_bytes) => Err(self.misfit(rule, length_bytes)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn misfit(&self, rule: MergeRule, length_bytes: usize) -> Error {
        let (name, width) = (&self.name, rule.width_bytes().unwrap_or_default());
        let form = if self.descriptor.value_type.is_empty() { "big-endian" } else { &*self.descriptor.value_type };
        let message =
            format!("table `{name}` merges numbers of {width} bytes ({form}); these are {length_bytes} bytes");
        Error::Invalid { message }
    }

    /// What `before`, the value of `key`, becomes by a merge. The operand of a function is a list of operands.
    ///
    /// # Errors
    /// [`Error::Unmergeable`] if the value would be too long, if what is stored is none of the table's numbers, or if the function
    /// fails. [`Error::MergeFunctionMissing`].
    ///
    /// # Panics
    /// If the table has neither operator nor function, or the operand does not fit it.
    pub fn merged(
        &self,
        functions: &MergeFunctions,
        key: &[u8],
        before: Option<&[u8]>,
        operand: &[u8],
    ) -> Result<Vec<u8>> {
        if let Some(function) = self.merge_function() {
            return self.merged_by(functions, function, key, before, operand);
        }
        let rule = self.merge_rule().expect("a merge was taken for a table that has an operator");
        let Some(before) = before else { return Ok(operand.to_vec()) };
        if !rule.takes(before.len()) {
            return Err(self.unmergeable(key, Error::Decode { message: self.misfit(rule, before.len()).to_string() }));
        }
        let length_bytes = rule.length_bytes(before.len(), operand.len());
        if length_bytes > VALUE_BYTES_MAX {
            let (length_bytes, limit_bytes) = (length_bytes as u64, VALUE_BYTES_MAX as u64);
            return Err(self.unmergeable(key, Error::ValueTooLong { length_bytes, limit_bytes }));
        }
        let mut value = Vec::with_capacity(length_bytes);
        value.extend_from_slice(before);
        match rule.apply(&mut value, operand) {
            Ok(()) => Ok(value),
            Err(Overflowed) => Err(self.overflow(key)),
        }
    }

    fn merged_by(
        &self,
        functions: &MergeFunctions,
        function: &str,
        key: &[u8],
        before: Option<&[u8]>,
        operands: &[u8],
    ) -> Result<Vec<u8>> {
        let value = functions.call(&self.name, function, key, before, operands).map_err(|error| match error {
            failed @ Error::MergeFunction { .. } => self.unmergeable(key, failed),
            error => error,
        })?;
        let (length_bytes, limit_bytes) = (value.len() as u64, VALUE_BYTES_MAX as u64);
        if length_bytes > limit_bytes {
            return Err(self.unmergeable(key, Error::ValueTooLong { length_bytes, limit_bytes }));
        }
        Ok(value)
    }

    /// The error of a sum that the table's numbers cannot hold.
    #[cold]
    pub fn overflow(&self, key: &[u8]) -> Error {
        self.unmergeable(key, Error::Overflow)
    }

    #[cold]
    fn unmergeable(&self, key: &[u8], source: Error) -> Error {
        Error::Unmergeable { table: self.name.to_string(), key: key.to_vec(), source: Box::new(source) }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct State {
    /// The open database that this belongs to: a table handle of another is refused.
    pub instance: u64,
    /// The process that opened it: a child made by `fork` reads nothing.
    pub stamp: Stamp,
    /// Every commit up to this one is visible to whoever takes this state.
    pub floor: Sequence,
    /// Tables that were dropped since the last checkpoint, and by which commits.
    pub dropped: Vec<(Sequence, Arc<TableView>)>,
    /// Tables that were renamed since the last checkpoint, by which commits, and what they were called before.
    pub renamed: Vec<(Sequence, Arc<TableInfo>)>,
    /// The last commit that created, dropped or renamed a table, of those since the database was opened.
    pub tables_changed: Sequence,
    /// The epoch of the active deltas.
    pub epoch: Arc<Epoch>,
    /// The deltas of all epochs below this one are in the trees. The frozen ones, if there are any, are of the epoch before
    /// the active ones'.
    pub thawed: u64,
    /// The pages of the last checkpoint.
    pub pages: Pages,
    /// Tables by number; a dropped table leaves a hole.
    pub tables: Vec<Option<Arc<TableView>>>,
    /// Tables by name.
    pub names: Arc<BTreeMap<String, TableId>>,
    /// Every commit up to this one is in the trees.
    pub checkpoint: Sequence,
    /// The trees of all tables as of the last checkpoint, and the runs above them, those of tables that were dropped since
    /// included.
    pub trees: Arc<[Trees]>,
    /// The tree of the catalog as of the last checkpoint.
    pub catalog: Option<Root>,
    /// Where the large values of the active deltas are.
    pub active_large: Arc<Recent>,
    /// Where the large values of the frozen deltas are.
    pub frozen_large: Arc<Recent>,
    /// Keeps other processes from writing, or from using pages again that are read here, while this is held. Nothing in the last state
    /// of a database that was closed, which nobody reads.
    pub guard: Arc<dyn Any + Send + Sync>,
    /// Keeps the pages of `pages` from being reused.
    pub pin: Arc<Pin>,
    /// Where transactions leave it for the next ones.
    pub slots: Arc<Slots>,
    /// The functions by which the program merges values.
    pub merge_functions: Arc<MergeFunctions>,
}

impl State {
    /// The table that a handle names.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] if it did not exist then, [`Error::Invalid`] if the handle is another database's, [`Error::Forked`].
    #[inline]
    pub fn view(&self, table: &Table) -> Result<&TableView> {
        self.find(table).ok_or_else(|| self.missing(table))
    }

    /// The table that a handle names, if it is there.
    #[inline(always)]
    pub fn find(&self, table: &Table) -> Option<&TableView> {
        if self.stamp.is_inherited() {
            return None;
        }
        let view = self.tables.get(table.info.id.0 as usize)?.as_deref()?;
        view.info.is_same(&table.info).then_some(view)
    }

    /// Sees to it that this process opened the database.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline(always)]
    pub fn check_process(&self) -> Result<()> {
        if self.stamp.is_inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    /// With the tables that there were after an earlier commit. Requires: that is not older than the last checkpoint.
    fn at(&self, sequence: Sequence) -> Self {
        let mut then = self.clone();
        for place in &mut then.tables {
            place.take_if(|view| view.created > sequence);
        }
        for (_, view) in self.dropped.iter().filter(|(dropped, view)| *dropped > sequence && view.created <= sequence) {
            then.tables[view.info.id.0 as usize] = Some(Arc::clone(view));
        }
        // The latest first: of several names of a table the earliest remains.
        for (_, info) in self.renamed.iter().rev().filter(|(renamed, _)| *renamed > sequence) {
            if let Some(view) = then.tables[info.id.0 as usize].as_mut().filter(|view| view.info.is_same(info)) {
                *view = Arc::new(TableView { info: Arc::clone(info), ..(**view).clone() });
            }
        }
        let names = then.tables.iter().flatten().map(|view| (view.info.name.to_string(), view.info.id));
        then.names = Arc::new(names.collect());
        then
    }

    /// The table of that number, if it exists.
    pub fn view_of(&self, id: TableId) -> Option<&Arc<TableView>> {
        self.tables.get(id.0 as usize)?.as_ref()
    }

    #[cold]
    fn missing(&self, table: &Table) -> Error {
        if self.stamp.is_inherited() {
            Error::Forked
        } else if table.instance == self.instance {
            Error::TableNotFound { name: table.name().to_owned() }
        } else {
            Error::Invalid { message: format!("table `{}` was opened from another database", table.name()) }
        }
    }
}

/// A table of an open database: cheap to clone, good for every transaction of that database.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) info: Arc<TableInfo>,
    pub(crate) instance: u64,
}

impl Table {
    /// The table's name, as it was when this handle was opened: [`WriteTxn::rename_table`](crate::WriteTxn::rename_table) does not change it.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The table's number, which no other table of the database gets, not even after this one was dropped.
    pub fn id(&self) -> TableId {
        self.info.id
    }

    /// Name of the key encoding, empty for plain bytes.
    pub fn key_type(&self) -> &str {
        &self.info.descriptor.key_type
    }

    /// Name of the value encoding, empty for plain bytes.
    pub fn value_type(&self) -> &str {
        &self.info.descriptor.value_type
    }

    /// Whether this is a multimap.
    pub fn is_multimap(&self) -> bool {
        self.info.descriptor.multimap
    }

    /// Whether it was created with [`crate::TableOptions::packed`].
    pub fn is_packed(&self) -> bool {
        self.info.descriptor.packed
    }

    /// Whether it was created with [`crate::TableOptions::counted`].
    pub fn is_counted(&self) -> bool {
        self.info.descriptor.counted
    }

    /// The operator that it was created with, if any; see [`crate::TableOptions::merge`].
    pub fn merge_operator(&self) -> Option<MergeOperator> {
        self.info.merge_operator()
    }

    /// The name of the function that merges its values, if it was created with one; see [`crate::TableOptions::merge_function`].
    pub fn merge_function(&self) -> Option<&str> {
        self.info.merge_function()
    }

    /// Alignment of values in bytes.
    pub fn value_align(&self) -> u8 {
        self.info.descriptor.value_align
    }

    /// Kind and types, for messages.
    pub(crate) fn type_text(&self) -> String {
        let name = |name: &str| if name.is_empty() { "bytes" } else { name }.to_owned();
        let kind = if self.is_multimap() { "multimap " } else { "" };
        format!("{kind}{} → {}", name(self.key_type()), name(self.value_type()))
    }
}

/// A moment of the database, for as long as it is held.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Trees, deltas and tables.
    pub state: Arc<State>,
    /// Commits above this one are not seen.
    pub sequence: Sequence,
}

/// The newest state, and the newest visible commit.
#[derive(Debug)]
pub struct Published {
    state: Mutex<Arc<State>>,
    visible: Prefix,
    slots: Arc<Slots>,
}

impl Snapshot {
    /// An earlier moment, as far as that can still be read: what is in the trees is.
    pub fn at(self, sequence: Sequence) -> Self {
        let sequence = sequence.max(self.state.checkpoint).min(self.sequence);
        let state = if self.state.tables_changed > sequence { Arc::new(self.state.at(sequence)) } else { self.state };
        Self { state, sequence }
    }
}

impl Published {
    /// Begins with `state`, all of whose floor is visible.
    pub fn new(state: State) -> Self {
        let (visible, state) = (Prefix::new(state.floor), Arc::new(state));
        let slots = Arc::clone(&state.slots);
        slots.set_newest(&state);
        Self { visible, slots, state: Mutex::new(state) }
    }

    /// The present moment.
    pub fn snapshot(&self) -> Snapshot {
        // The number is read before the state: a state taken later holds at least the deltas that the number needs, and a floor
        // above the number only means that more is visible by now.
        let visible = self.visible();
        give_way();
        let state = Arc::clone(&self.state.lock());
        let sequence = visible.max(state.floor);
        Snapshot { state, sequence }
    }

    /// The newest state.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.lock())
    }

    /// Whether `state` is the newest.
    #[inline]
    pub fn is_newest(&self, state: &Arc<State>) -> bool {
        self.slots.is_newest(state)
    }

    /// Where transactions leave what they hold.
    #[inline]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The newest visible commit.
    pub fn visible(&self) -> Sequence {
        self.visible.through()
    }

    /// Whether a commit may get this number: not too many are under way.
    pub fn has_room(&self, sequence: Sequence) -> bool {
        self.visible.has_room(sequence)
    }

    /// The commit's changes are in the deltas of the newest state: it is visible as soon as all before it are.
    pub fn finish(&self, sequence: Sequence) {
        self.visible.finish(sequence);
    }

    /// A commit that has a number will never finish, because its thread panicked.
    pub fn abandon(&self) {
        self.visible.abandon();
    }

    /// Waits until all commits up to this one are visible.
    ///
    /// # Panics
    /// If one of them was abandoned.
    pub fn wait(&self, sequence: Sequence) {
        self.visible.wait(sequence);
    }

    /// Waits until all commits up to this one are visible, or one is abandoned. Whether they are visible.
    pub fn arrives(&self, sequence: Sequence) -> bool {
        self.visible.arrives(sequence)
    }

    /// Waits until all commits up to this one are visible, or one is abandoned, or `deadline` comes. Whether they are visible.
    pub fn wait_until(&self, sequence: Sequence, deadline: Instant) -> bool {
        self.visible.wait_until(sequence, Some(deadline))
    }

    /// Replaces the newest state by one derived from it.
    pub fn update(&self, derive: impl FnOnce(&State) -> State) -> Replaced<'_> {
        let mut newest = self.state.lock();
        let state = Arc::new(derive(&newest));
        let before = std::mem::replace(&mut *newest, Arc::clone(&state));
        self.slots.set_newest(&state);
        Replaced { slots: &self.slots, state, _before: before }
    }
}

impl Drop for Published {
    /// What was left holds the slots, and they hold that.
    fn drop(&mut self) {
        self.slots.close();
    }
}

/// The newest state has been replaced. Its end lets go of the one before, which its last holder frees, deltas and all, and clears
/// what transactions left of it.
///
/// Requires: when it ends, its holder has neither the log's lock, for which all commits would wait then, nor the history's or
/// one above that, which are locked there.
#[must_use = "it ends when no lock is held"]
#[derive(Debug)]
pub struct Replaced<'p> {
    slots: &'p Slots,
    state: Arc<State>,
    _before: Arc<State>,
}

impl Replaced<'_> {
    /// The new state.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }
}

impl Drop for Replaced<'_> {
    fn drop(&mut self) {
        self.slots.clear();
    }
}

/// The checkpoints that live states still read, so that their pages are not reused, and when each was replaced by the next.
#[derive(Debug, Default)]
pub struct Pins(Mutex<BTreeMap<Birth, Option<Instant>>>);

/// One checkpoint is being read; dropped with the last state that reads it.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<Pins>,
    birth: Birth,
}

impl Pins {
    /// Pins the pages that exist at checkpoint `birth`. Requires: it is not pinned already.
    pub fn pin(all: &Arc<Self>, birth: Birth) -> Arc<Pin> {
        let mut pins = all.0.lock();
        let now = Instant::now();
        pins.values_mut().for_each(|replaced| _ = replaced.get_or_insert(now));
        let before = pins.insert(birth, None);
        assert!(before.is_none(), "each checkpoint is pinned once and the pin is shared");
        drop(pins);
        Arc::new(Pin { pins: Arc::clone(all), birth })
    }

    /// All pinned checkpoints, oldest first.
    pub fn pinned(&self) -> Vec<Birth> {
        self.0.lock().keys().copied().collect()
    }

    /// How long ago the oldest pinned checkpoint was replaced by the next. None if only the newest one is pinned.
    pub fn oldest_age(&self) -> Option<Duration> {
        self.0.lock().values().next().copied().flatten().map(|replaced| replaced.elapsed())
    }
}

impl Pin {
    /// The checkpoint that is pinned.
    pub fn birth(&self) -> Birth {
        self.birth
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.lock().remove(&self.birth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_none_of_a_tables_numbers_is_told_with_its_key_and_what_to_do() {
        let descriptor = TableDescriptor {
            id: TableId(1),
            multimap: false,
            counted: false,
            packed: false,
            value_align: 1,
            merge: Some(Merging::Operator(MergeOperator::Add)),
            key_type: String::new(),
            value_type: String::new(),
            root: None,
            ranges: Vec::new(),
        };
        let counts = TableInfo::new("counts".into(), descriptor);
        let (one, none) = (1_u64.to_be_bytes(), MergeFunctions::default());
        assert_eq!(counts.merged(&none, b"k", Some(&one), &one).expect("it is a number"), 2_u64.to_be_bytes());
        for before in [&b""[..], b"short", b"longer than 8"] {
            let error = counts.merged(&none, b"home\xff", Some(before), &one).expect_err("it is no number");
            let text = error.to_string();
            assert!(matches!(&error, Error::Unmergeable { source, .. } if matches!(**source, Error::Decode { .. })));
            assert!(text.contains(r#"key "home\xff" of table `counts`"#) && text.contains("delete it"), "{text}");
            assert!(
                text.contains(&format!("numbers of 8 bytes (big-endian); these are {} bytes", before.len())),
                "{text}"
            );
        }
    }
}
