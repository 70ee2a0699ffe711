//! One node of the tree: sorted keys under a version that rises when they change.
//!
//! A node holds the heads of its keys (the 8 bytes after the node's prefix, as big-endian numbers) apart from the
//! references to their records: a search reads heads, and a record only where heads tie.
//!
//! # Reading beside a writer
//! The version is even while the node is at rest and odd while a writer changes it. A reader takes the version, reads
//! what it needs, and trusts it only if the version is still the same: a sequence lock (Boehm 2012).
//! - [`Header::stamp`] (Acquire) pairs with the Release in the drop of [`Locked`]: a reader sees all that came before
//!   that.
//! - [`Header::is_unchanged`] (Acquire fence, then the load) pairs with the Release fence in [`Keys::try_lock`]: a
//!   reader that saw any store of a writer also sees that the version was odd, or is past.
//!
//! All fields that change are atomic, so that a reader that loses the race reads old numbers, not undefined ones. What
//! it reads through references is safe at any time, because records are never changed or freed.
//!
//! Invariants: (1) Keys rise strictly, in `heads` and `keys` alike; heads past `count` are all ones. (2) Every key in
//! the node is at or above `low` and below `high`, where they are set. (3) All keys that are or may be routed here
//! share their first `shared` bytes; all keys that are in it share `prefix_length` bytes with `prefix`. (4) No
//! version of a key in a leaf is later than its `latest`.

use crate::delta::arena::Unit;
use crate::delta::record::{AtomicRecordRef, RecordRef};
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::{spin_loop, yield_now};
use std::cmp::Ordering as Order;
use std::mem::offset_of;
use std::ops::Deref;

/// Keys in a leaf: a search fetches all of its lines at once, so they should be few. (An interpreter runs with few
/// keys, which should cause splits of every kind; a model checker with even fewer.)
pub(in crate::delta) const LEAF_KEYS: usize = if cfg!(model_checked) {
    4
} else if cfg!(miri) {
    16
} else {
    48
};
/// Keys in an inner node: those of a delta of a million entries stay in the near cache.
pub(in crate::delta) const INNER_KEYS: usize = if cfg!(model_checked) {
    4
} else if cfg!(miri) {
    8
} else {
    64
};
/// A search counts whole blocks of heads, a cache line each, before it looks into one.
const BLOCK: usize = if cfg!(model_checked) { 2 } else { 8 };
/// How many bytes longer than the fences' common prefix a prefix must be, since each search compares it, and
/// how many bytes of a head may repeat known bytes before all heads are rewritten.
const PREFIX_GAIN_MIN: usize = 4;

/// What every node begins with.
#[repr(C, align(64))]
pub(in crate::delta) struct Header {
    version: AtomicU64,
    /// The latest sequence of any insert into this leaf, or into the one that it was split from.
    latest: AtomicU64,
    count: AtomicU32,
    prefix_length: AtomicU32,
    shared: AtomicU32,
    /// A key that begins with the prefix.
    prefix: AtomicRecordRef,
    low: AtomicRecordRef,
    high: AtomicRecordRef,
    /// 0 for a leaf.
    level: u32,
    /// The unit where this node begins.
    unit: Unit,
    /// The nearest nodes of this level, as far as this node knows: see [`Header::right`].
    left: AtomicU32,
    right: AtomicU32,
    /// The position after the key that was inserted last: where the next one goes if keys come in order.
    after_last_insert: AtomicU32,
}

/// The keys of a node, at most `N` of them.
#[repr(C)]
pub(in crate::delta) struct Keys<const N: usize> {
    header: Header,
    heads: [AtomicU64; N],
    keys: [AtomicRecordRef; N],
}

/// A node of level 0.
pub(in crate::delta) type Leaf = Keys<LEAF_KEYS>;

/// A node of level 1 or more: child `i` holds the keys from key `i − 1` to below key `i`.
#[repr(C)]
pub(in crate::delta) struct Inner {
    pub(in crate::delta) keys: Keys<INNER_KEYS>,
    children: [AtomicU32; INNER_KEYS + 1],
}

// What a walk over leaves reads of each, the header, is one line.
const _: () = assert!(size_of::<Header>() == 64 && (cfg!(model_checked) || LEAF_KEYS.is_multiple_of(16)));

/// The version of a node at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::delta) struct Stamp(u64);

/// Where a key is in a node, or where it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::delta) struct KeySearch {
    /// Keys below it.
    pub(in crate::delta) position: usize,
    /// Whether the key at `position` is equal.
    pub(in crate::delta) exact: bool,
}

/// The place of a key in a node as far as heads decide it.
#[derive(Clone, Copy, Debug)]
pub(in crate::delta) struct Located {
    position: usize,
    /// The key's head, if the head at `position` is the same: then the keys themselves decide.
    tie: Option<u64>,
}

/// The right to change a node; released when dropped.
pub(in crate::delta) struct Locked<'n, const N: usize> {
    node: &'n Keys<N>,
    stamp: Stamp,
}

/// The right to change an inner node.
pub(in crate::delta) type LockedInner<'n> = Locked<'n, INNER_KEYS>;

impl<const N: usize> Deref for Locked<'_, N> {
    type Target = Keys<N>;

    fn deref(&self) -> &Keys<N> {
        self.node
    }
}

impl<const N: usize> Drop for Locked<'_, N> {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `stamp`.
        self.node.version.store(self.stamp.0 + 2, Ordering::Release);
    }
}

impl Header {
    fn new(level: u32, unit: Unit) -> Self {
        Self {
            version: AtomicU64::new(0),
            latest: AtomicU64::new(0),
            count: AtomicU32::new(0),
            prefix_length: AtomicU32::new(0),
            shared: AtomicU32::new(0),
            prefix: AtomicRecordRef::none(),
            low: AtomicRecordRef::none(),
            high: AtomicRecordRef::none(),
            level,
            unit,
            left: AtomicU32::new(0),
            right: AtomicU32::new(0),
            after_last_insert: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    pub(in crate::delta) fn level(&self) -> u32 {
        self.level
    }

    pub(in crate::delta) fn unit(&self) -> Unit {
        self.unit
    }

    /// The version, once no writer holds the node. A writer holds it for some dozen stores.
    #[inline(always)]
    pub(in crate::delta) fn stamp(&self) -> Stamp {
        let version = self.version.load(Ordering::Acquire);
        if version & 1 == 0 { Stamp(version) } else { self.stamp_after_writer() }
    }

    #[cold]
    fn stamp_after_writer(&self) -> Stamp {
        let mut tries = 0_u32;
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version & 1 == 0 {
                return Stamp(version);
            }
            tries += 1;
            if tries.is_multiple_of(64) {
                yield_now(); // The writer may have lost its processor.
            } else {
                spin_loop();
            }
        }
    }

    /// Whether all that was read since `stamp` was taken is what the node held at one moment.
    #[inline(always)]
    pub(in crate::delta) fn is_unchanged(&self, stamp: Stamp) -> bool {
        fence(Ordering::Acquire);
        self.version.load(Ordering::Relaxed) == stamp.0
    }

    #[inline(always)]
    pub(in crate::delta) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    /// No version of any key in this leaf is later.
    #[inline(always)]
    pub(in crate::delta) fn latest(&self) -> Sequence {
        Sequence(self.latest.load(Ordering::Relaxed))
    }

    /// The least key that may be here; none at the tree's left edge.
    pub(in crate::delta) fn low(&self) -> Option<RecordRef> {
        self.low.load()
    }

    /// The least key that is too great to be here; none at the tree's right edge.
    pub(in crate::delta) fn high(&self) -> Option<RecordRef> {
        self.high.load()
    }
}

impl Header {
    /// Whether a key at `position` would follow the key that was inserted last.
    pub(in crate::delta) fn follows_last_insert(&self, position: usize) -> bool {
        self.after_last_insert.load(Ordering::Relaxed) as usize == position
    }

    /// A leaf to the right of this one. It is the next one if its `low` is this one's `high`: a leaf keeps its `low`,
    /// and no two have the same.
    pub(in crate::delta) fn right(&self) -> Option<Unit> {
        // Acquire pairs with the Release in `set_right`: the leaf's first content is there.
        Unit::new(self.right.load(Ordering::Acquire))
    }

    /// A leaf to the left of this one. It is the one before if its `high` is this one's `low`.
    pub(in crate::delta) fn left(&self) -> Option<Unit> {
        Unit::new(self.left.load(Ordering::Acquire))
    }

    /// See [`Header::right`]. It is a hint, and so needs no lock.
    pub(in crate::delta) fn set_right(&self, right: Option<Unit>) {
        self.right.store(right.map_or(0, Unit::get), Ordering::Release);
    }

    /// See [`Header::left`]. It is a hint, and so needs no lock.
    pub(in crate::delta) fn set_left(&self, left: Option<Unit>) {
        self.left.store(left.map_or(0, Unit::get), Ordering::Release);
    }
}

impl<const N: usize> Deref for Keys<N> {
    type Target = Header;

    #[inline(always)]
    fn deref(&self) -> &Header {
        &self.header
    }
}

impl<const N: usize> Keys<N> {
    /// Bytes of a node that a search reads: header and heads.
    pub(in crate::delta) const SEARCH_BYTES: usize = offset_of!(Self, keys);

    /// An empty node.
    pub(in crate::delta) fn new(level: u32, unit: Unit) -> Self {
        Self {
            header: Header::new(level, unit),
            heads: [const { AtomicU64::new(u64::MAX) }; N],
            keys: [const { AtomicRecordRef::none() }; N],
        }
    }

    /// Whether there is no room for another key.
    pub(in crate::delta) fn is_full(&self) -> bool {
        self.count() >= N
    }

    /// Locks the node if it is unchanged since `stamp`.
    pub(in crate::delta) fn try_lock(&self, stamp: Stamp) -> Option<Locked<'_, N>> {
        // Acquire pairs with the Release of the writer before. The fence orders the odd version before every store
        // that follows: see `is_unchanged`.
        self.version.compare_exchange(stamp.0, stamp.0 + 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        fence(Ordering::Release);
        Some(Locked { node: self, stamp })
    }

    /// Locks a node that only this thread knows.
    pub(in crate::delta) fn lock_fresh(&self) -> Locked<'_, N> {
        self.try_lock(self.stamp()).expect("no other thread knows this node yet")
    }

    /// The key at `index`; none if a writer is at work, or past the count.
    #[inline(always)]
    pub(in crate::delta) fn key(&self, index: usize) -> Option<RecordRef> {
        self.keys.get(index)?.load()
    }

    /// Looks for `key`. None if what it read cannot be: a writer is at work.
    #[inline(always)]
    pub(in crate::delta) fn search<'d>(
        &self,
        key: &[u8],
        resolve: impl Fn(RecordRef) -> &'d [u8],
    ) -> Option<KeySearch> {
        let located = self.locate(key, &resolve)?;
        self.confirm(key, located, resolve)
    }

    /// The first half of [`Keys::search`], which reads no key in this node. None as there.
    #[inline(always)]
    pub(in crate::delta) fn locate<'d>(&self, key: &[u8], resolve: impl Fn(RecordRef) -> &'d [u8]) -> Option<Located> {
        let count = self.count();
        let prefix_length = self.prefix_length.load(Ordering::Relaxed) as usize;
        let shared = self.shared.load(Ordering::Relaxed) as usize;
        if prefix_length > shared {
            let prefix = resolve(self.prefix.load()?).get(..prefix_length)?;
            let wanted = &key[..key.len().min(prefix_length)];
            match wanted.get(shared..)?.cmp(&prefix[shared..]) {
                Order::Less => return Some(Located { position: 0, tie: None }),
                Order::Greater => return Some(Located { position: count, tie: None }),
                Order::Equal => {}
            }
        }
        let head = head(key, prefix_length);
        let position = self.heads_below(head);
        if position >= count || self.heads[position].load(Ordering::Relaxed) != head {
            return Some(Located { position: position.min(count), tie: None });
        }
        Some(Located { position, tie: Some(head) })
    }

    /// The second half of [`Keys::search`]. None as there, and if the node has changed since the first.
    #[inline(always)]
    pub(in crate::delta) fn confirm<'d>(
        &self,
        key: &[u8],
        located: Located,
        resolve: impl Fn(RecordRef) -> &'d [u8],
    ) -> Option<KeySearch> {
        let Located { position, tie: Some(head) } = located else {
            return Some(KeySearch { position: located.position, exact: false });
        };
        match resolve(self.key(position)?).cmp(key) {
            Order::Equal => Some(KeySearch { position, exact: true }),
            Order::Greater => Some(KeySearch { position, exact: false }),
            Order::Less => self.search_ties(key, head, position + 1, resolve),
        }
    }

    /// The record whose key [`Keys::confirm`] will compare first, if any.
    #[inline(always)]
    pub(in crate::delta) fn tied(&self, located: Located) -> Option<RecordRef> {
        located.tie?;
        self.key(located.position)
    }

    /// Bisects the keys from `low` on whose heads are equal to `head`.
    fn search_ties<'d>(
        &self,
        key: &[u8],
        head: u64,
        mut low: usize,
        resolve: impl Fn(RecordRef) -> &'d [u8],
    ) -> Option<KeySearch> {
        let count = self.count();
        let mut high = if head == u64::MAX { count } else { self.heads_below(head + 1).min(count) };
        while low < high {
            let middle = low.midpoint(high);
            match resolve(self.key(middle)?).cmp(key) {
                Order::Less => low = middle + 1,
                Order::Equal => return Some(KeySearch { position: middle, exact: true }),
                Order::Greater => high = middle,
            }
        }
        Some(KeySearch { position: low, exact: false })
    }

    /// How many heads are below `head`: whole blocks by their last heads, then within one block. No branch depends on
    /// the heads.
    #[inline(always)]
    fn heads_below(&self, head: u64) -> usize {
        let below = |one: &AtomicU64| usize::from(one.load(Ordering::Relaxed) < head);
        let (blocks, _) = self.heads.as_chunks::<BLOCK>();
        let whole: usize = blocks.iter().map(|block| below(&block[BLOCK - 1])).sum();
        let Some(block) = blocks.get(whole) else { return N };
        whole * BLOCK + block.iter().map(below).sum::<usize>()
    }
}

impl<const N: usize> Locked<'_, N> {
    /// Puts a key at `position`, and moves up those from there on.
    ///
    /// Requires: the node has room; `key` shares the node's prefix.
    pub(in crate::delta) fn insert(&self, position: usize, record: RecordRef, key: &[u8]) {
        let node = self.node;
        let count = node.count();
        assert!(count < N);
        // By windows, which need no check of their bounds.
        for pair in node.heads[position..=count].windows(2).rev() {
            pair[1].store(pair[0].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for pair in node.keys[position..=count].windows(2).rev() {
            pair[1].copy(&pair[0]);
        }
        let head = head(key, node.prefix_length.load(Ordering::Relaxed) as usize);
        node.heads[position].store(head, Ordering::Relaxed);
        node.keys[position].store(Some(record));
        node.count.store(count as u32 + 1, Ordering::Relaxed);
        node.after_last_insert.store(position as u32 + 1, Ordering::Relaxed);
    }

    /// Notes an insert at this sequence.
    #[inline(always)]
    pub(in crate::delta) fn raise_latest(&self, at: Sequence) {
        // Not an exchange: only the holder of the lock stores.
        if self.node.latest() < at {
            self.node.latest.store(at.0, Ordering::Relaxed);
        }
    }

    /// Fills the node, which is empty, with what `from` holds from `start` on.
    pub(in crate::delta) fn take(&self, from: &Keys<N>, start: usize) {
        let node = self.node;
        let count = from.count() - start;
        for index in 0..count {
            node.heads[index].store(from.heads[start + index].load(Ordering::Relaxed), Ordering::Relaxed);
            node.keys[index].copy(&from.keys[start + index]);
        }
        node.prefix_length.store(from.prefix_length.load(Ordering::Relaxed), Ordering::Relaxed);
        node.prefix.copy(&from.prefix);
        node.count.store(count as u32, Ordering::Relaxed);
        // Which key has it is not known: both parts keep it.
        self.raise_latest(from.latest());
    }

    /// Forgets the keys from `count` on.
    pub(in crate::delta) fn truncate(&self, count: usize) {
        let node = self.node;
        for index in count..node.count() {
            node.heads[index].store(u64::MAX, Ordering::Relaxed);
            node.keys[index].store(None);
        }
        node.count.store(count as u32, Ordering::Relaxed);
    }

    /// Sets which keys may be here.
    pub(in crate::delta) fn set_fences(&self, low: Option<RecordRef>, high: Option<RecordRef>) {
        self.node.low.store(low);
        self.node.high.store(high);
    }

    /// Fits the prefix to the fences and keys that the node has now.
    pub(in crate::delta) fn choose_prefix<'d>(&self, resolve: impl Fn(RecordRef) -> &'d [u8]) {
        let node = self.node;
        let shared = match (node.low(), node.high()) {
            (Some(low), Some(high)) => common_length(resolve(low), resolve(high)),
            _ => 0,
        };
        let first = node.key(0);
        let last = node.key(node.count().saturating_sub(1));
        let common = match (first, last) {
            (Some(first), Some(last)) => common_length(resolve(first), resolve(last)),
            _ => 0,
        };
        let best = if common >= shared + PREFIX_GAIN_MIN { common } else { shared };
        let now = node.prefix_length.load(Ordering::Relaxed) as usize;
        if now <= best && best - now < PREFIX_GAIN_MIN {
            node.shared.store(shared as u32, Ordering::Relaxed);
        } else {
            self.set_prefix(best, shared, first, resolve);
        }
    }

    /// Shortens the prefix until `key` begins with it.
    #[inline]
    pub(in crate::delta) fn shorten_prefix<'d>(&self, key: &[u8], resolve: impl Fn(RecordRef) -> &'d [u8]) {
        let node = self.node;
        let prefix_length = node.prefix_length.load(Ordering::Relaxed) as usize;
        let shared = node.shared.load(Ordering::Relaxed) as usize;
        if prefix_length <= shared {
            return;
        }
        let record = node.prefix.load();
        let prefix = &resolve(record.expect("a prefix has a key that begins with it"))[..prefix_length];
        if !key.starts_with(prefix) {
            let common = common_length(prefix, key);
            let useful = if common >= shared + PREFIX_GAIN_MIN { common } else { shared };
            self.set_prefix(useful, shared, record, resolve);
        }
    }

    fn set_prefix<'d>(
        &self,
        length: usize,
        shared: usize,
        prefix: Option<RecordRef>,
        resolve: impl Fn(RecordRef) -> &'d [u8],
    ) {
        let node = self.node;
        node.prefix_length.store(length as u32, Ordering::Relaxed);
        node.shared.store(shared as u32, Ordering::Relaxed);
        node.prefix.store(prefix);
        for (slot, key) in node.heads.iter().zip(&node.keys).take(node.count()) {
            let record = key.load().expect("a locked node has a key at every position below its count");
            slot.store(head(resolve(record), length), Ordering::Relaxed);
        }
    }
}

impl Inner {
    /// Bytes from the node's begin where its children are.
    pub(in crate::delta) const CHILDREN_OFFSET: usize = offset_of!(Self, children);
    /// Their length in bytes.
    pub(in crate::delta) const CHILDREN_BYTES: usize = size_of::<[AtomicU32; INNER_KEYS + 1]>();

    /// An empty inner node: it has no child yet.
    pub(in crate::delta) fn new(level: u32, unit: Unit) -> Self {
        Self { keys: Keys::new(level, unit), children: [const { AtomicU32::new(0) }; INNER_KEYS + 1] }
    }

    /// The unit of child `index`. `None` if a writer is at work.
    #[inline(always)]
    pub(in crate::delta) fn child(&self, index: usize) -> Option<Unit> {
        // Acquire pairs with the Release in `set_child`: the child's first content is there.
        Unit::new(self.children.get(index)?.load(Ordering::Acquire))
    }

    /// Requires: the caller has locked the node, and takes care of its keys.
    pub(in crate::delta) fn set_child(&self, index: usize, child: Option<Unit>) {
        self.children[index].store(child.map_or(0, Unit::get), Ordering::Release);
    }

    /// Moves the children from `index` on up by one.
    ///
    /// Requires: as [`Inner::set_child`].
    pub(in crate::delta) fn open_gap(&self, index: usize) {
        for to in (index + 1..=self.keys.count() + 1).rev() {
            self.set_child(to, self.child(to - 1));
        }
    }
}

/// The 8 bytes of `key` after the first `skip`, as a big-endian number, with zeroes for what is missing.
#[inline(always)]
fn head(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => short_head(rest),
    }
}

#[inline(always)]
fn short_head(rest: &[u8]) -> u64 {
    rest.iter().enumerate().fold(0, |head, (index, byte)| head | u64::from(*byte) << (56 - 8 * index))
}

/// How many bytes both begin with.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    let (one_words, _) = one.as_chunks::<8>();
    let (other_words, _) = other.as_chunks::<8>();
    let words = one_words.iter().zip(other_words).take_while(|(a, b)| a == b).count() * 8;
    words + one[words..].iter().zip(&other[words..]).take_while(|(a, b)| a == b).count()
}
