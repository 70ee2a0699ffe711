//! Keys and versions as they lie in the arena.
//!
//! A record is a key and the newest of its versions; each version names the one before it. Its first version lies
//! behind the key, so that a read finds both on neighbouring cache lines.
//! ```text
//! record:  newest u32 · key length u32 · hash u64 · key bytes (or the address of a block) · first version
//! version: sequence u64 · older u32 · length and kind u32 · [jump u32 · depth u32 · 8 unused] · value bytes (or address)
//! ```
//! The bracketed part exists where `older` is not zero. `jump` names a version further down the chain, chosen by depth
//! as in a skew-binary list (Myers 1983): the version that an old snapshot sees of a key written n times is found in
//! O(log n) steps.
//!
//! Invariants: (1) Everything but `newest` is written before the reference is published with Release, and never
//! changes. (2) Down the chain, sequences never rise. (3) Value bytes are aligned to the table's `value_align`.
#![allow(unsafe_code)] // Typed views of raw arena memory.

use crate::delta::Change;
use crate::delta::arena::{Arena, Unit};
use crate::format::{OverflowRef, ValueAlign};
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Names a record. Only the arena that it was made in can resolve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordRef(Unit);

/// Names a version of a record. Only the arena that it was made in can resolve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VersionRef(Unit);

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
    /// Bit 31: the key is a block of its own.
    length: u32,
    hash: u64,
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

const KEY_IN_BLOCK: u32 = 1 << 31;
const LENGTH_MASK: u32 = (1 << 30) - 1;
const KIND_INLINE: u32 = 0 << 30;
const KIND_BLOCK: u32 = 1 << 30;
const KIND_LARGE: u32 = 2 << 30;
const KIND_DELETE: u32 = 3 << 30;

/// Longer keys and values get a block of their own: chunks would lose too much at their ends.
const INLINE_BYTES_MAX: usize = 32 << 10;

const _: () = assert!(size_of::<KeyHeader>() == 16 && align_of::<KeyHeader>() == 8);
const _: () = assert!(size_of::<VersionHeader>() == 16 && align_of::<VersionHeader>() == 8);
const _: () = assert!(size_of::<Chain>() == 16 && align_of::<OverflowRef>() <= 8);

/// Writes a record with one version, unpublished.
pub(super) fn write_record(
    arena: &Arena,
    align: ValueAlign,
    key: &[u8],
    hash: u64,
    at: Sequence,
    change: Change<'_>,
) -> RecordRef {
    let in_block = key.len() > INLINE_BYTES_MAX;
    assert!(key.len() < KEY_IN_BLOCK as usize);
    let align = align.bytes().max(8);
    let key_end = size_of::<KeyHeader>() + if in_block { size_of::<usize>() } else { key.len() };
    let version_at = key_end.next_multiple_of(align);
    let bytes = version_at + size_of::<VersionHeader>() + stored_bytes(&change);
    let (unit, record) = arena.allocate(bytes, align);
    let version = Unit::new(unit.get() + (version_at / 8) as u32).expect("it lies behind its record");
    let length = key.len() as u32 | if in_block { KEY_IN_BLOCK } else { 0 };
    let header = KeyHeader { newest: AtomicU32::new(version.get()), length, hash };
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
    // SAFETY: `version_at` lies within the allocation.
    let version = unsafe { record.add(version_at) };
    // SAFETY: from `version_at` on there are a header and the bytes of the change, aligned to 8, unshared.
    unsafe { write_version_at(arena, version, at, None, &change) };
    RecordRef(unit)
}

/// What a version stores behind its headers.
fn stored_bytes(change: &Change<'_>) -> usize {
    match change {
        Change::Put(value) if value.len() > INLINE_BYTES_MAX => size_of::<usize>(),
        Change::Put(value) => value.len(),
        Change::PutLarge(_) => size_of::<OverflowRef>(),
        Change::Delete => 0,
    }
}

/// Writes a version header, its chain if there is an older one, and the change.
///
/// # Safety
/// `version` is aligned to 8, has room for the headers and [`stored_bytes`] of the change, and is not shared.
unsafe fn write_version_at(
    arena: &Arena,
    version: NonNull<u8>,
    at: Sequence,
    chained: Option<(VersionRef, Chain)>,
    change: &Change<'_>,
) {
    let (older, chain) = match chained {
        Some((older, chain)) => (older.0.get(), Some(chain)),
        None => (0, None),
    };
    let length = match change {
        Change::Put(value) => {
            assert!(value.len() <= LENGTH_MASK as usize, "a value of this size lies in an extent of its own");
            value.len() as u32 | if value.len() > INLINE_BYTES_MAX { KIND_BLOCK } else { KIND_INLINE }
        }
        Change::PutLarge(_) => KIND_LARGE,
        Change::Delete => KIND_DELETE,
    };
    // SAFETY: room and alignment by the caller's word.
    unsafe { version.cast::<VersionHeader>().write(VersionHeader { sequence: at.0, older, length }) };
    let mut offset = size_of::<VersionHeader>();
    if let Some(chain) = chain {
        // SAFETY: a chained version has room for a chain behind its header.
        let place = unsafe { version.add(offset) };
        // SAFETY: as above; 16 bytes behind an address aligned to 8 are aligned for it.
        unsafe { place.cast::<Chain>().write(chain) };
        offset += size_of::<Chain>();
    }
    // SAFETY: the caller's room reaches to the end of the stored bytes.
    let stored = unsafe { version.add(offset) };
    match change {
        Change::Put(value) if length & KIND_BLOCK != 0 => {
            // SAFETY: room for an address, at a multiple of 8.
            unsafe { stored.cast::<NonNull<u8>>().write(arena.store_block(value)) };
        }
        Change::Put(value) => {
            // SAFETY: room for the value's bytes, in fresh memory.
            unsafe { stored.copy_from_nonoverlapping(NonNull::from(*value).cast(), value.len()) };
        }
        // SAFETY: room for the reference, at a multiple of 8.
        Change::PutLarge(large) => unsafe { stored.cast::<OverflowRef>().write(*large) },
        Change::Delete => {}
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
        // SAFETY: the caller's word is the same.
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
        let length = self.header().length;
        // SAFETY: the key follows the header in the same allocation.
        let mut bytes = unsafe { self.address.add(size_of::<KeyHeader>()) };
        if length & KEY_IN_BLOCK != 0 {
            // SAFETY: a long key's place holds the address of its block, written before the record was published.
            bytes = unsafe { bytes.cast::<NonNull<u8>>().read() };
        }
        // SAFETY: `length` bytes were written there before the record was published; nobody changes or frees them
        // while the arena lives.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), (length & !KEY_IN_BLOCK) as usize) }
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

    /// What a version of this record says.
    #[inline(always)]
    pub(super) fn change(self, version: VersionRef) -> Change<'d> {
        self.version(version).change()
    }

    /// Sequence of a version of this record.
    pub(super) fn sequence(self, version: VersionRef) -> Sequence {
        Sequence(self.version(version).header().sequence)
    }

    /// Writes a version above the newest one, unpublished.
    ///
    /// # Panics
    /// If the newest version is later than `at`.
    pub(super) fn write_version(self, align: ValueAlign, at: Sequence, change: Change<'_>) -> VersionRef {
        let older_ref = self.newest();
        let older = self.version(older_ref);
        assert!(older.header().sequence <= at.0, "versions of a key are inserted in the order of their sequences");
        let jump_ref = older.jump().unwrap_or(older_ref);
        let jump = self.version(jump_ref);
        let next_ref = jump.jump().unwrap_or(jump_ref);
        // Two neighbouring jumps of one length are joined into one twice as long.
        let joined = older.depth() - jump.depth() == jump.depth() - self.version(next_ref).depth();
        let target = if joined { next_ref } else { older_ref };
        let chain = Chain { jump: target.0.get(), depth: older.depth() + 1, unused: 0 };
        let align = align.bytes().max(8);
        let bytes = size_of::<VersionHeader>() + size_of::<Chain>() + stored_bytes(&change);
        let (unit, version) = self.arena.allocate(bytes, align);
        // SAFETY: allocated above with that room and alignment, and not shared yet.
        unsafe { write_version_at(self.arena, version, at, Some((older_ref, chain)), &change) };
        VersionRef(unit)
    }

    /// Makes `version`, which [`Record::write_version`] wrote, the newest.
    ///
    /// Requires: the caller has held the lock of the record's node since before that version was written, or knows
    /// that no other version came in between.
    pub(super) fn publish(self, version: VersionRef) {
        // Release pairs with the acquire in `newest`.
        self.header().newest.store(version.0.get(), Ordering::Release);
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
        let header = self.header();
        let chain_bytes = if header.older == 0 { 0 } else { size_of::<Chain>() };
        // SAFETY: the stored bytes follow the headers in the same allocation.
        let stored = unsafe { self.address.add(size_of::<VersionHeader>() + chain_bytes) };
        let length = (header.length & LENGTH_MASK) as usize;
        match header.length & !LENGTH_MASK {
            // SAFETY: an inline value has `length` bytes here, never changed once published.
            KIND_INLINE => Change::Put(unsafe { std::slice::from_raw_parts(stored.as_ptr(), length) }),
            KIND_BLOCK => {
                // SAFETY: a value of this kind has stored the address of its block.
                let block = unsafe { stored.cast::<NonNull<u8>>().read() };
                // SAFETY: the block has `length` bytes, and lives and stays as long as the arena.
                Change::Put(unsafe { std::slice::from_raw_parts(block.as_ptr(), length) })
            }
            // SAFETY: a value of this kind has stored a reference.
            KIND_LARGE => Change::PutLarge(unsafe { stored.cast::<OverflowRef>().read() }),
            _ => Change::Delete,
        }
    }
}
