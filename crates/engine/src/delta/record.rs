//! Keys and versions as they are stored in the arena.
//!
//! A record is a key and the newest of its versions; each version names the one before it. Its first version follows
//! the key, so that a read finds both on neighbouring cache lines. The record's header also has what a further
//! version must know of the versions below, so that an insert need not wait for one of them.
//!
//! ```text
//! record:  newest u32 · key length u32 · hash u64 · sequence of the newest u64 · its marker u32 · its depth u32
//!          · key bytes (or the address of a block) · first version
//! version: sequence u64 · older u32 · length and kind u32 · [jump u32 · depth u32 · 8 unused]
//!          · value bytes (or address)
//! ```
//! The bracketed part exists where `older` is not zero. Every [`STRIDE`]th version of a chain, counted from the
//! oldest, is a *marker*. The `jump` of another version names the nearest marker below it, that of a marker one
//! further down, chosen as in a skew-binary list (Myers 1983): the version that an old snapshot sees of a key written
//! n times is found in O(log n) steps.
//!
//! Invariants: (1) Everything but what describes the newest version is written before the reference is published with
//! Release, and never changes. (2) Down the chain, sequences never rise. (3) Value bytes are aligned to the table's
//! `value_align`. (4) The header's sequence, marker and depth are those of `newest` for the holder of the lock of the
//! record's leaf, and for a reader that then finds the leaf unchanged.
#![allow(unsafe_code)] // Typed views of raw arena memory.

use crate::delta::arena::{Arena, Unit};
use crate::delta::change::Change;
use crate::format::{OverflowRef, ValueAlign};
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Names a record. Only the arena that it was made in can resolve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordRef(Unit);

/// Names a version of a record. Only the arena that it was made in can resolve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VersionRef(Unit);

/// A version that no other thread knows yet, above another one: it may still be moved above a third.
pub(super) struct Unpublished(Top);

/// A version on top of a chain, and what a version above it must know.
#[derive(Clone, Copy)]
struct Top {
    version: VersionRef,
    sequence: Sequence,
    /// The nearest marker, which may be the version itself.
    marker: VersionRef,
    /// Versions below it.
    depth: u32,
}

/// A shared place for a [`RecordRef`] or none.
pub(super) struct AtomicRecordRef(AtomicU32);

impl RecordRef {
    /// The number of the record's unit, to store it elsewhere.
    pub(super) fn unit(self) -> Unit {
        self.0
    }

    /// The record whose [`RecordRef::unit`] was stored; none for 0.
    #[inline(always)]
    pub(super) fn from_unit(unit: u32) -> Option<Self> {
        Unit::new(unit).map(Self)
    }
}

impl AtomicRecordRef {
    pub(super) const fn none() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Acquire pairs with the Release of [`AtomicRecordRef::store`]: the record's bytes are there.
    #[inline(always)]
    pub(super) fn load(&self) -> Option<RecordRef> {
        Unit::new(self.0.load(Ordering::Acquire)).map(RecordRef)
    }

    /// See [`AtomicRecordRef::load`].
    #[inline(always)]
    pub(super) fn store(&self, record: Option<RecordRef>) {
        self.0.store(record.map_or(0, |record| record.0.get()), Ordering::Release);
    }

    /// Takes over what `from` holds.
    #[inline(always)]
    pub(super) fn copy(&self, from: &Self) {
        // Relaxed: only writers copy, under the lock of the node, where the record is known already.
        self.0.store(from.0.load(Ordering::Relaxed), Ordering::Release);
    }
}

#[repr(C)]
struct KeyHeader {
    /// Unit of the newest version.
    newest: AtomicU32,
    /// Low 30 bits: length of the key. Bit 31: it is a block of its own. Bit 30: the index knows the record.
    length: AtomicU32,
    hash: u64,
    /// Sequence of the newest version.
    latest: AtomicU64,
    /// Unit of its marker.
    marker: AtomicU32,
    /// Versions below it.
    depth: AtomicU32,
}

#[repr(C)]
struct VersionHeader {
    sequence: u64,
    /// Unit of the version before, or 0.
    older: u32,
    /// Low 30 bits: length of an inline or block value. Above: the kind.
    length: u32,
}

/// Follows a [`VersionHeader`] that is not the first of its record.
#[repr(C)]
struct Chain {
    /// Unit of a version further down.
    jump: u32,
    /// Versions below this one.
    depth: u32,
    unused: u64,
}

/// How far markers are apart. Between them a version is written without a look at another one.
const STRIDE: u32 = if cfg!(model_checked) { 2 } else { 8 };

const KEY_IN_BLOCK: u32 = 1 << 31;
const KEY_INDEXED: u32 = 1 << 30;
const LENGTH_MASK: u32 = (1 << 30) - 1;
const KIND_INLINE: u32 = 0 << 30;
const KIND_BLOCK: u32 = 1 << 30;
const KIND_LARGE: u32 = 2 << 30;
const KIND_DELETE: u32 = 3 << 30;

/// Longer keys and values get a block of their own: chunks would lose too much at their ends.
const INLINE_BYTES_MAX: usize = 32 << 10;

const _: () = assert!(size_of::<KeyHeader>() == 32 && align_of::<KeyHeader>() == 8);
const _: () = assert!(size_of::<VersionHeader>() == 16 && align_of::<VersionHeader>() == 8);
const _: () = assert!(size_of::<Chain>() == 16 && align_of::<OverflowRef>() <= 8);

/// What a version stores behind its headers.
#[derive(Clone, Copy)]
pub(super) enum Stored<'v> {
    /// The value itself.
    Inline(&'v [u8]),
    /// The address of a block with this many bytes, which is the value.
    Block(NonNull<u8>, usize),
    /// Where the value is.
    Large(OverflowRef),
    /// Nothing: the key has no value.
    Delete,
}

impl<'v> Stored<'v> {
    /// What a version with this `change` stores. A value that is too long for a chunk is written to its block now.
    ///
    /// # Panics
    /// If a value has 1 GiB or more.
    #[inline]
    pub(super) fn new(arena: &Arena, change: Change<'v>) -> Self {
        match change {
            Change::Put(value) if value.len() <= INLINE_BYTES_MAX => Self::Inline(value),
            Change::Put(value) => {
                assert!(value.len() <= LENGTH_MASK as usize, "a value of this size is stored in an extent of its own");
                Self::Block(arena.store_block(value), value.len())
            }
            Change::PutLarge(large) => Self::Large(large),
            Change::Delete => Self::Delete,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Inline(value) => value.len(),
            Self::Block(..) => size_of::<NonNull<u8>>(),
            Self::Large(_) => size_of::<OverflowRef>(),
            Self::Delete => 0,
        }
    }

    fn length_and_kind(&self) -> u32 {
        match self {
            Self::Inline(value) => value.len() as u32 | KIND_INLINE,
            Self::Block(_, length) => *length as u32 | KIND_BLOCK,
            Self::Large(_) => KIND_LARGE,
            Self::Delete => KIND_DELETE,
        }
    }
}

/// Writes a record with one version, unpublished.
pub(super) fn write_record(
    arena: &Arena,
    align: ValueAlign,
    key: &[u8],
    hash: u64,
    at: Sequence,
    stored: Stored<'_>,
) -> RecordRef {
    let in_block = key.len() > INLINE_BYTES_MAX;
    assert!(key.len() < KEY_INDEXED as usize, "a key has less than 1 GiB");
    let align = align.bytes().max(8);
    let key_end = size_of::<KeyHeader>() + if in_block { size_of::<usize>() } else { key.len() };
    let version_at = key_end.next_multiple_of(align);
    let bytes = version_at + size_of::<VersionHeader>() + stored.bytes();
    let (unit, record) = arena.allocate(bytes, align);
    let version = Unit::new(unit.get() + (version_at / 8) as u32).expect("it follows its record");
    let length = AtomicU32::new(key.len() as u32 | if in_block { KEY_IN_BLOCK } else { 0 });
    let header = KeyHeader {
        newest: AtomicU32::new(version.get()),
        length,
        hash,
        latest: AtomicU64::new(at.0),
        marker: AtomicU32::new(version.get()),
        depth: AtomicU32::new(0),
    };
    // SAFETY: the allocation begins with room for a header, aligned to 8, and is not shared yet.
    unsafe { record.cast::<KeyHeader>().write(header) };
    // SAFETY: the allocation has `bytes` bytes, more than a header.
    let key_bytes = unsafe { record.add(size_of::<KeyHeader>()) };
    if in_block {
        // SAFETY: eight bytes behind the header belong to the key, and are aligned as it is.
        unsafe { key_bytes.cast::<NonNull<u8>>().write(arena.store_block(key)) };
    } else {
        // SAFETY: `key.len()` bytes behind the header belong to the key, and are fresh.
        unsafe { key_bytes.copy_from_nonoverlapping(NonNull::from(key).cast(), key.len()) };
    }
    // SAFETY: `version_at` is within the allocation.
    let version = unsafe { record.add(version_at) };
    // SAFETY: from `version_at` on there are a header and what is stored, aligned to 8, unshared.
    unsafe { write_version_at(version, at, None, stored) };
    RecordRef(unit)
}

/// Writes a version header, its chain if there is an older one, and what is stored behind them.
///
/// # Safety
/// `version` is aligned to 8, has room for the headers and the bytes of `stored`, and is not shared.
unsafe fn write_version_at(
    version: NonNull<u8>,
    at: Sequence,
    chained: Option<(VersionRef, Chain)>,
    stored: Stored<'_>,
) {
    let has_chain = chained.is_some();
    // SAFETY: this function's contract.
    unsafe { write_headers_at(version, at, chained, stored.length_and_kind()) };
    // SAFETY: the caller's room reaches to the end of the stored bytes.
    let place = unsafe { version.add(headers_bytes(has_chain)) };
    match stored {
        // SAFETY: room for the value's bytes, in fresh memory.
        Stored::Inline(value) => unsafe {
            place.copy_from_nonoverlapping(NonNull::from(value).cast(), value.len());
        },
        // SAFETY: room for an address, at a multiple of 8.
        Stored::Block(block, _) => unsafe { place.cast::<NonNull<u8>>().write(block) },
        // SAFETY: room for the reference, at a multiple of 8.
        Stored::Large(large) => unsafe { place.cast::<OverflowRef>().write(large) },
        Stored::Delete => {}
    }
}

/// # Safety
/// `version` is aligned to 8, has room for the header, and for a chain if there is one, and is not shared.
unsafe fn write_headers_at(version: NonNull<u8>, at: Sequence, chained: Option<(VersionRef, Chain)>, length: u32) {
    let older = chained.as_ref().map_or(0, |(older, _)| older.0.get());
    // SAFETY: room and alignment by this function's contract.
    unsafe { version.cast::<VersionHeader>().write(VersionHeader { sequence: at.0, older, length }) };
    if let Some((_, chain)) = chained {
        // SAFETY: a chained version has room for a chain behind its header.
        let place = unsafe { version.add(size_of::<VersionHeader>()) };
        // SAFETY: as above; 16 bytes behind an address aligned to 8 are aligned for it.
        unsafe { place.cast::<Chain>().write(chain) };
    }
}

/// Bytes of a version before what it stores.
#[inline(always)]
fn headers_bytes(has_chain: bool) -> usize {
    size_of::<VersionHeader>() + if has_chain { size_of::<Chain>() } else { 0 }
}

/// Whether the version with so many below it is a marker.
#[inline(always)]
fn is_marker(depth: u32) -> bool {
    depth.is_multiple_of(STRIDE)
}

impl Chain {
    /// `version`, which has this chain, as the top.
    #[inline(always)]
    fn top(&self, version: VersionRef, sequence: Sequence) -> Top {
        let jump = || VersionRef(Unit::new(self.jump).expect("a chain names a version"));
        let marker = if is_marker(self.depth) { version } else { jump() };
        Top { version, sequence, marker, depth: self.depth }
    }
}

/// A published record.
#[derive(Clone, Copy)]
pub(super) struct Record<'d> {
    arena: &'d Arena,
    address: NonNull<u8>,
}

impl<'d> Record<'d> {
    /// # Safety
    /// `record` was made in `arena`, and reached this thread by [`AtomicRecordRef::load`] or another acquiring path.
    #[inline(always)]
    pub(super) unsafe fn resolve(arena: &'d Arena, record: RecordRef) -> Self {
        // SAFETY: this function's contract is the same.
        Self { arena, address: unsafe { arena.address(record.0) } }
    }

    #[inline(always)]
    fn header(self) -> &'d KeyHeader {
        // SAFETY: a record begins with its header, initialised before it was published, and lives as long as the arena.
        unsafe { self.address.cast::<KeyHeader>().as_ref() }
    }

    /// The hash that the key came with.
    #[inline(always)]
    pub(super) fn hash(self) -> u64 {
        self.header().hash
    }

    /// The whole key.
    #[inline(always)]
    pub(super) fn key(self) -> &'d [u8] {
        // Relaxed: all but the mark of the index was there when the record was published.
        let length = self.header().length.load(Ordering::Relaxed);
        // SAFETY: the key follows the header in the same allocation.
        let mut bytes = unsafe { self.address.add(size_of::<KeyHeader>()) };
        if length & KEY_IN_BLOCK != 0 {
            // SAFETY: a long key's place holds the address of its block, written before the record was published.
            bytes = unsafe { bytes.cast::<NonNull<u8>>().read() };
        }
        // SAFETY: `length` bytes were written there before the record was published; nobody changes or frees them
        // while the arena lives.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), (length & LENGTH_MASK) as usize) }
    }

    /// Whether [`Record::set_indexed`] was called: then the index finds the record, for this thread and all after it.
    #[inline(always)]
    pub(super) fn is_indexed(self) -> bool {
        // Acquire pairs with the release in `set_indexed`.
        self.header().length.load(Ordering::Acquire) & KEY_INDEXED != 0
    }

    /// Notes that the record was added to the index.
    #[inline(always)]
    pub(super) fn set_indexed(self) {
        let length = &self.header().length;
        // Not an exchange: all threads store the same. Release pairs with the acquire in `is_indexed`.
        length.store(length.load(Ordering::Relaxed) | KEY_INDEXED, Ordering::Release);
    }

    /// Where the record begins, for a prefetch.
    pub(super) fn address(self) -> *const u8 {
        self.address.as_ptr()
    }

    /// The newest version.
    #[inline(always)]
    fn newest(self) -> VersionRef {
        // Acquire pairs with the release in `publish`, or with the record's own publication for its first version.
        VersionRef(Unit::new(self.header().newest.load(Ordering::Acquire)).expect("a record has a version"))
    }

    /// Where the newest version begins, for a prefetch. It reads the record itself.
    #[inline(always)]
    pub(super) fn newest_address(self) -> *const u8 {
        self.version(self.newest()).address.as_ptr()
    }

    /// The newest version with a sequence of at most `at`.
    #[inline(always)]
    pub(super) fn visible(self, at: Sequence) -> Option<VersionRef> {
        let newest = self.newest();
        let version = self.version(newest);
        if version.header().sequence <= at.0 { Some(newest) } else { self.visible_below(version, at) }
    }

    /// As [`Record::visible`], when `version` is later than `at`.
    #[cold]
    fn visible_below(self, mut version: Version<'d>, at: Sequence) -> Option<VersionRef> {
        loop {
            let older = version.older()?;
            let jump = self.version(version.jump()?);
            if jump.header().sequence > at.0 {
                version = jump;
                continue;
            }
            version = self.version(older);
            if version.header().sequence <= at.0 {
                return Some(older);
            }
        }
    }

    #[inline(always)]
    fn version(self, version: VersionRef) -> Version<'d> {
        // SAFETY: a record names only versions of its own arena, all published with or before the reference.
        Version { address: unsafe { self.arena.address(version.0) }, arena: PhantomData }
    }

    /// The change in a version of this record.
    #[inline(always)]
    pub(super) fn change(self, version: VersionRef) -> Change<'d> {
        self.version(version).change()
    }

    /// Sequence of a version of this record.
    pub(super) fn sequence(self, version: VersionRef) -> Sequence {
        Sequence(self.version(version).header().sequence)
    }

    /// Sequence of the newest version.
    #[inline]
    pub(super) fn newest_sequence(self) -> Sequence {
        // Relaxed: nothing is read through it, and a thread that is ordered after an insert finds no earlier one.
        Sequence(self.header().latest.load(Ordering::Relaxed))
    }

    /// The newest version as the header describes it: see invariant (4).
    #[inline(always)]
    fn top(self) -> Top {
        let header = self.header();
        // Acquire pairs with the release in `publish`: its chain will be read.
        let marker = Unit::new(header.marker.load(Ordering::Acquire)).expect("every chain begins with a marker");
        // Relaxed: the leaf's version orders it, or it is not trusted.
        let depth = header.depth.load(Ordering::Relaxed);
        Top { version: self.newest(), sequence: self.newest_sequence(), marker: VersionRef(marker), depth }
    }

    /// A version as it describes itself.
    fn top_at(self, name: VersionRef) -> Top {
        let version = self.version(name);
        let depth = version.depth();
        let marker = version.jump().filter(|_| !is_marker(depth)).unwrap_or(name);
        Top { version: name, sequence: self.sequence(name), marker, depth }
    }

    /// Writes a version above the newest one, unpublished. None if that is later than `at`.
    ///
    /// The version that was `written` for the same change before, and lost a race, is used again: values are long,
    /// and a thread that copied its value for each attempt might always lose to threads that change short values.
    #[inline]
    pub(super) fn write_newest(
        self,
        align: ValueAlign,
        at: Sequence,
        stored: Stored<'_>,
        written: Option<Unpublished>,
    ) -> Option<Unpublished> {
        let newest = self.top();
        if newest.sequence > at {
            return None;
        }
        Some(Unpublished(match written {
            Some(Unpublished(version)) => self.put_above(&newest, version.version, at, stored),
            None => self.write_above(align, Some(&newest), at, stored),
        }))
    }

    /// Links `version`, which has `stored` and which no other thread knows, to another older one.
    #[cold]
    fn put_above(self, older: &Top, version: VersionRef, at: Sequence, stored: Stored<'_>) -> Top {
        let chain = self.chain_above(older);
        let top = chain.top(version, at);
        // SAFETY: a version of this arena, by the type's meaning, as is what is written there.
        let address = unsafe { self.arena.address(version.0) };
        // SAFETY: it was written with a chain, and no other thread knows it: the caller guarantees it.
        unsafe { write_headers_at(address, at, Some((older.version, chain)), stored.length_and_kind()) };
        top
    }

    /// Writes a version above those that are not later than `at`, and copies of those that are above it, unpublished.
    /// Returns what is then the newest.
    ///
    /// Requires: the caller holds the lock of the record's node until that is published. A thread that wrote first
    /// and locked afterwards would lose repeatedly where many versions have to be copied.
    #[cold]
    pub(super) fn write_late(self, align: ValueAlign, at: Sequence, stored: Stored<'_>) -> Unpublished {
        let mut later = Vec::new();
        let mut below = Some(self.newest());
        while let Some(version) = below
            && self.sequence(version) > at
        {
            later.push(version);
            below = self.version(version).older();
        }
        let below = below.map(|version| self.top_at(version));
        let written = self.write_above(align, below.as_ref(), at, stored);
        let newest = later.into_iter().rev().fold(written, |below, original| {
            let stored = self.version(original).stored();
            self.write_above(align, Some(&below), self.sequence(original), stored)
        });
        Unpublished(newest)
    }

    /// Writes a version above `older`, or one that begins a chain.
    #[inline]
    fn write_above(self, align: ValueAlign, older: Option<&Top>, at: Sequence, stored: Stored<'_>) -> Top {
        let chained = older.map(|older| (older.version, self.chain_above(older)));
        let bytes = headers_bytes(chained.is_some()) + stored.bytes();
        let (unit, address) = self.arena.allocate(bytes, align.bytes().max(8));
        let version = VersionRef(unit);
        let top = match &chained {
            Some((_, chain)) => chain.top(version, at),
            None => Top { version, sequence: at, marker: version, depth: 0 },
        };
        // SAFETY: allocated above with that room and alignment, and not shared yet.
        unsafe { write_version_at(address, at, chained, stored) };
        top
    }

    /// The chain of a version whose older one is `older`.
    #[inline(always)]
    fn chain_above(self, older: &Top) -> Chain {
        let depth = older.depth + 1;
        let jump = if is_marker(depth) { self.jump_above(older.marker) } else { older.marker };
        Chain { jump: jump.0.get(), depth, unused: 0 }
    }

    /// The jump of the marker that follows the marker `older_ref`.
    fn jump_above(self, older_ref: VersionRef) -> VersionRef {
        let older = self.version(older_ref);
        let jump_ref = older.jump().unwrap_or(older_ref);
        let jump = self.version(jump_ref);
        let next_ref = jump.jump().unwrap_or(jump_ref);
        // Two neighbouring jumps of one length are joined into one twice as long.
        let joined = older.depth() - jump.depth() == jump.depth() - self.version(next_ref).depth();
        if joined { next_ref } else { older_ref }
    }

    /// Makes `version`, which [`Record::write_newest`] or [`Record::write_late`] wrote, the newest.
    ///
    /// Requires: the caller holds the lock of the record's node, and no other version was added since that one was
    /// written.
    pub(super) fn publish(self, version: Unpublished) {
        let (Unpublished(top), header) = (version, self.header());
        // Relaxed and release: see where they are loaded.
        header.latest.store(top.sequence.0, Ordering::Relaxed);
        header.marker.store(top.marker.0.get(), Ordering::Release);
        header.depth.store(top.depth, Ordering::Relaxed);
        // Release pairs with the acquire in `newest`.
        header.newest.store(top.version.0.get(), Ordering::Release);
    }
}

/// A published version.
#[derive(Clone, Copy)]
struct Version<'d> {
    address: NonNull<u8>,
    arena: PhantomData<&'d Arena>,
}

impl<'d> Version<'d> {
    #[inline(always)]
    fn header(self) -> &'d VersionHeader {
        // SAFETY: a version begins with its header, initialised before it was published; the arena outlives `'d`.
        unsafe { self.address.cast::<VersionHeader>().as_ref() }
    }

    /// The version before.
    #[inline(always)]
    fn older(self) -> Option<VersionRef> {
        Unit::new(self.header().older).map(VersionRef)
    }

    /// What follows the header, if there is an older version.
    fn chain(self) -> Option<&'d Chain> {
        self.older()?;
        // SAFETY: a version with an older one has a chain behind its header.
        let chain = unsafe { self.address.add(size_of::<VersionHeader>()) };
        // SAFETY: written with the header, before the version was published.
        Some(unsafe { chain.cast::<Chain>().as_ref() })
    }

    fn jump(self) -> Option<VersionRef> {
        Unit::new(self.chain()?.jump).map(VersionRef)
    }

    fn depth(self) -> u32 {
        self.chain().map_or(0, |chain| chain.depth)
    }

    #[inline(always)]
    fn change(self) -> Change<'d> {
        match self.stored() {
            Stored::Inline(value) => Change::Put(value),
            // SAFETY: the block has `length` bytes, and lives and stays as long as the arena.
            Stored::Block(block, length) => Change::Put(unsafe { std::slice::from_raw_parts(block.as_ptr(), length) }),
            Stored::Large(large) => Change::PutLarge(large),
            Stored::Delete => Change::Delete,
        }
    }

    #[inline(always)]
    fn stored(self) -> Stored<'d> {
        let header = self.header();
        // SAFETY: the stored bytes follow the headers in the same allocation.
        let place = unsafe { self.address.add(headers_bytes(header.older != 0)) };
        let length = (header.length & LENGTH_MASK) as usize;
        match header.length & !LENGTH_MASK {
            // SAFETY: an inline value has `length` bytes here, never changed once published.
            KIND_INLINE => Stored::Inline(unsafe { std::slice::from_raw_parts(place.as_ptr(), length) }),
            // SAFETY: a value of this kind has stored the address of its block.
            KIND_BLOCK => Stored::Block(unsafe { place.cast::<NonNull<u8>>().read() }, length),
            // SAFETY: a value of this kind has stored a reference.
            KIND_LARGE => Stored::Large(unsafe { place.cast::<OverflowRef>().read() }),
            _ => Stored::Delete,
        }
    }
}

#[cfg(test)]
mod tests {
    //! The form of chains, which reads do not show: a wrong one is only slow.

    use super::*;

    /// How many versions below a version with as many below it the one is that its jump names.
    fn jump_depths(count: usize) -> Vec<u32> {
        let mut jumps = vec![0];
        for depth in 1..count as u32 {
            let marker = (depth - 1) / STRIDE * STRIDE;
            let jump = jumps[marker as usize];
            let next = jumps[jump as usize];
            let joins = depth % STRIDE == 0 && marker - jump == jump - next;
            jumps.push(if joins { next } else { marker });
        }
        jumps
    }

    /// Sequences of the chain from the newest on, each version judged by its place.
    fn check_chain(record: Record<'_>) -> Vec<u64> {
        let mut chain = vec![record.newest()];
        while let Some(older) = record.version(chain[chain.len() - 1]).older() {
            chain.push(older);
        }
        let jumps = jump_depths(chain.len());
        for (depth, version) in chain.iter().rev().map(|version| record.version(*version)).enumerate() {
            assert_eq!(version.depth() as usize, depth);
            let jump = (depth > 0).then(|| chain[chain.len() - 1 - jumps[depth] as usize]);
            assert_eq!(version.jump(), jump, "of the version with {depth} below it");
        }
        let [described, described_by_itself] = [record.top(), record.top_at(record.newest())]
            .map(|top| (top.version, top.sequence, top.marker, top.depth));
        assert_eq!(described, described_by_itself);
        let sequences: Vec<u64> = chain.iter().map(|version| record.sequence(*version).0).collect();
        assert!(sequences.is_sorted_by(|above, below| above >= below));
        sequences
    }

    /// Versions that are met on the way to what is visible at `at`.
    fn steps_to(record: Record<'_>, at: u64) -> usize {
        let mut steps = 0;
        let mut version = record.version(record.newest());
        while version.header().sequence > at {
            steps += 1;
            let (Some(older), Some(jump)) = (version.older(), version.jump()) else { break };
            let jump = record.version(jump);
            version = if jump.header().sequence > at { jump } else { record.version(older) };
        }
        steps
    }

    #[test]
    fn chains_with_late_versions_have_the_form_of_chains_without() {
        let arena = Arena::default();
        let stored = Stored::Inline(b"value");
        let name = write_record(&arena, ValueAlign::One, b"key", 0, Sequence(100), stored);
        // SAFETY: it was made in this arena, by this thread.
        let record = unsafe { Record::resolve(&arena, name) };
        let mut expected = vec![100];
        let mut insert = |at: u64| {
            let newest = record.write_newest(ValueAlign::One, Sequence(at), stored, None);
            assert_eq!(newest.is_none(), expected[0] > at);
            record.publish(newest.unwrap_or_else(|| record.write_late(ValueAlign::One, Sequence(at), stored)));
            expected.insert(expected.partition_point(|above| *above > at), at);
            assert_eq!(check_chain(record), expected);
        };
        let count = if cfg!(miri) { 20 } else { 150 };
        (1..=count).for_each(|number| insert(100 + number * 10));
        (1..=count).for_each(|number| insert(95 + number * 37 % count * 10));
        [1, 0, 100, 100, 3, 7, 7, u64::MAX].into_iter().for_each(insert);
        for at in 0..=200 + count * 10 {
            assert!(
                steps_to(record, at) <= 2 * 2 * count.ilog2() as usize + STRIDE as usize,
                "to what is visible at {at}"
            );
        }
    }

    #[test]
    fn a_version_that_lost_a_race_is_put_above_the_one_that_won() {
        let arena = Arena::default();
        let [first, second, third] = [1, 2, 3].map(|byte| vec![byte; 100 * usize::from(byte)]);
        let stored = [&first, &second, &third].map(|value| Stored::Inline(value));
        let name = write_record(&arena, ValueAlign::Sixteen, b"key", 0, Sequence(1), stored[0]);
        // SAFETY: it was made in this arena, by this thread.
        let record = unsafe { Record::resolve(&arena, name) };
        let write = |at, which: usize, written| {
            record.write_newest(ValueAlign::Sixteen, Sequence(at), stored[which], written).expect("none is later")
        };
        let loser = write(3, 2, None);
        record.publish(write(2, 1, None));
        let used = arena.used_bytes();
        record.publish(write(3, 2, Some(loser)));
        assert_eq!(arena.used_bytes(), used, "its bytes are used again");
        assert_eq!(check_chain(record), [3, 2, 1]);
        for (at, value) in (1..).zip([&first, &second, &third]) {
            let version = record.visible(Sequence(at)).expect("it was published");
            assert_eq!(record.change(version), Change::Put(value));
        }
    }
}
