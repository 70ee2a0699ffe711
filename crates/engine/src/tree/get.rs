//! Point reads: one key, and many keys with their cache misses overlapped.
//!
//! The whole descent runs inside one `with_search`, so that the instruction set is chosen once for each call.

use crate::error::Result;
use crate::format::{
    BranchStart, Candidate, Cell, CellKey, CellValue, Found, INLINE_KEY_BYTES_MAX, Leaf, LeafView, Lookup, Op,
    PackedLeaf, Search, WithSearch, key_start, look_up, with_search,
};
use crate::ids::PageRef;
use crate::pager::{Page, Pages, Value, VerifiedPages};

use super::base::Base;
use super::root::{Root, branch_at};
use super::shortcut::Shortcut;

/// The value of `key`, if the tree has one.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
#[inline(always)]
pub fn get<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Result<Option<Value<'p>>> {
    match get_shortly(pages, base, key).settled() {
        Some(value) => Ok(value.map(Value::from)),
        None => get_by_all_means(pages, base, key, None),
    }
}

/// Apart from its callers, and nothing but jumps to searches, which take over its arguments and its result: so it saves no
/// registers, and callers have one call instead of one for each search.
#[inline(never)]
fn get_shortly<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Found<'p> {
    match base.shortcut() {
        Some(shortcut) => look_up::<Quick, _, _>(pages, shortcut, key),
        None => look_up::<Quick, _, _>(pages, base, key),
    }
}

/// What lies above a tree.
pub trait Above {
    /// Whether it may know `key`, whose hash is `hash`.
    ///
    /// Requires: the key is short enough to be whole in a page.
    fn may_know<S: Search>(&self, key: &[u8], hash: u64) -> bool;
}

/// What [`get`] gives by its shortest way, unless `above` may know the key.
#[inline(always)]
pub fn get_beneath<'p, A: Above>(pages: &'p Pages, base: &Base, above: &A, key: &[u8]) -> Found<'p> {
    match base.shortcut() {
        Some(shortcut) => look_up::<Quick, _, _>(pages, (shortcut, above), key),
        None => look_up::<Quick, _, _>(pages, (base, above), key),
    }
}

/// The leaf to which `key` belongs, with its first lines on their way, if that can be told by the shortest way: for whoever has
/// other memory to wait for before it reads the leaf.
#[inline]
pub fn approach<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Option<Leaf<'p>> {
    match base.shortcut() {
        Some(shortcut) => look_up::<Approach, _, _>(pages, shortcut, key),
        None => look_up::<Approach, _, _>(pages, base, key),
    }
}

/// As [`get`], from where [`approach`] led if it did, given the identity's hash of `key`.
///
/// # Errors
/// As [`get`].
#[inline]
pub fn get_approached<'p>(
    pages: &'p Pages,
    base: &Base,
    leaf: Option<Leaf<'p>>,
    key: &[u8],
    hash: u64,
) -> Result<Option<Value<'p>>> {
    let found = match leaf {
        // The way to the leaf counted nothing.
        Some(_) if base.shortcut().is_none() && Base::is_counted(hash) => Found::UNCLEAR,
        Some(leaf) => look_up::<Quick, _, _>(leaf, hash, key),
        None => match base.shortcut() {
            Some(shortcut) => look_up::<Quick, _, _>(pages, (shortcut, hash), key),
            None => look_up::<Quick, _, _>(pages, (base, hash), key),
        },
    };
    match found.settled() {
        Some(value) => Ok(value.map(Value::from)),
        None => get_by_all_means(pages, base, key, Some(hash)),
    }
}

/// Apart, so that it takes no room where the short way goes.
#[inline(never)]
fn get_by_all_means<'p>(pages: &'p Pages, base: &Base, key: &[u8], hash: Option<u64>) -> Result<Option<Value<'p>>> {
    let hash = hash.unwrap_or_else(|| pages.identity().hash(key));
    if Base::is_counted(hash) {
        base.count_get(pages);
    }
    with_search(Get { pages, root: base, key, hash })
}

/// The values of many keys, into `values` at the same places. `hashes` are the identity's hashes of `keys`.
///
/// # Errors
/// As [`get`].
///
/// # Panics
/// If the three slices differ in length.
pub fn get_many<'p>(
    pages: &'p Pages,
    base: &Base,
    keys: &[&[u8]],
    hashes: &[u64],
    values: &mut [Option<Value<'p>>],
) -> Result<()> {
    assert!(keys.len() == hashes.len(), "each key has a hash");
    assert!(keys.len() == values.len(), "each key has a place for its value");
    with_search(GetMany { pages, base, keys, hashes, values })
}

/// A get through pages that are mapped and verified, by the shortest way. What it cannot tell, it leaves to [`Get`].
struct Quick;

/// What leads to the leaves of a tree.
trait Way: Copy {
    /// Where the leaf is to which `key` belongs, if pages that are mapped and verified lead there; or nowhere.
    fn way<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)>;

    /// What a leaf to which this led has of `key`.
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p>;

    /// Whether the long way has to count a get of a key with this hash.
    fn is_counted(hash: u64) -> bool;
}

impl Way for &Base {
    #[inline(always)]
    fn way<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
        way::<S>(pages, self, key)
    }

    #[inline(always)]
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p> {
        leaf.value_of::<S>(key, hash)
    }

    #[inline(always)]
    fn is_counted(hash: u64) -> bool {
        Base::is_counted(hash)
    }
}

impl Way for &Shortcut {
    #[inline(always)]
    fn way<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
        if key.len() > INLINE_KEY_BYTES_MAX {
            return None;
        }
        Some((pages.verified()?, self.leaf_of::<S>(key)))
    }

    #[inline(always)]
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p> {
        // Keys that a shortcut tells apart seldom tie.
        match leaf.value_by_one_look::<S>(key, hash) {
            Some(found) => found,
            None => look_up::<Quick, _, _>(leaf, hash, key),
        }
    }

    #[inline(always)]
    fn is_counted(_: u64) -> bool {
        false
    }
}

impl<'p, W: Way> Lookup<&'p Pages, W> for Quick {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, way: W, key: &[u8]) -> Found<'p> {
        Self::find::<S, W>(pages, way, key, pages.identity().hash(key))
    }
}

impl<'p, W: Way> Lookup<&'p Pages, (W, u64)> for Quick {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, (way, hash): (W, u64), key: &[u8]) -> Found<'p> {
        Self::find::<S, W>(pages, way, key, hash)
    }
}

impl<'p, W: Way, A: Above> Lookup<&'p Pages, (W, &A)> for Quick {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, (way, above): (W, &A), key: &[u8]) -> Found<'p> {
        let Some((verified, at)) = way.way::<S>(pages, key) else { return Found::UNCLEAR };
        // What lies above is elsewhere in memory: the leaf is on its way while that is asked.
        let leaf = verified.leaf(at);
        let hash = pages.identity().hash(key);
        if above.may_know::<S>(key, hash) {
            return Found::UNCLEAR;
        }
        match leaf {
            Some(_) if W::is_counted(hash) => Found::UNCLEAR,
            Some(leaf) => W::value_in::<S>(leaf, key, hash),
            None => packed_value_of::<W>(pages, at, key, hash),
        }
    }
}

impl Quick {
    #[inline(always)]
    fn find<'p, S: Search, W: Way>(pages: &'p Pages, way: W, key: &[u8], hash: u64) -> Found<'p> {
        let Some((verified, at)) = way.way::<S>(pages, key) else { return Found::UNCLEAR };
        match verified.leaf(at) {
            Some(_) if W::is_counted(hash) => Found::UNCLEAR,
            Some(leaf) => W::value_in::<S>(leaf, key, hash),
            None => packed_value_of::<W>(pages, at, key, hash),
        }
    }
}

impl<'p> Lookup<Leaf<'p>, u64> for Quick {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(leaf: Leaf<'p>, hash: u64, key: &[u8]) -> Found<'p> {
        leaf.value_of::<S>(key, hash)
    }
}

/// The way to a leaf, as [`Quick`] goes it.
struct Approach;

impl<'p, W: Way> Lookup<&'p Pages, W> for Approach {
    type Output = Option<Leaf<'p>>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, way: W, key: &[u8]) -> Option<Leaf<'p>> {
        let (pages, at) = way.way::<S>(pages, key)?;
        pages.leaf(at)
    }
}

/// The way to where a leaf is, of whichever kind.
pub(super) struct PlaceOfLeaf;

impl<'p> Lookup<&'p Pages, &Root> for PlaceOfLeaf {
    type Output = Option<PageRef>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, root: &Root, key: &[u8]) -> Option<PageRef> {
        way::<S>(pages, root, key).map(|(_, at)| at).filter(|at| *at != PageRef::NOWHERE)
    }
}

/// Where the leaf is to which `key` belongs, if pages that are mapped and verified lead there; or [`PageRef::NOWHERE`].
#[inline(always)]
fn way<'p, S: Search>(pages: &'p Pages, root: &Root, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
    if key.len() > INLINE_KEY_BYTES_MAX {
        return None;
    }
    let pages = pages.verified()?;
    let (mut at, mut branch_start) = (root.page, BranchStart::of_level(root.level));
    let start = key_start(key);
    if branch_start.is_branch() {
        // The lowest branch is a step of its own: processors guess from where they are how wide the next page is.
        while !branch_start.is_lowest() {
            at = pages.branch(at, branch_start)?.child_of_short::<S>(key, start);
            branch_start = branch_start.below();
        }
        at = pages.branch(at, branch_start)?.child_of_short::<S>(key, start);
    }
    Some((pages, at))
}

/// Apart, so that it takes no room where the way to leaves with tags goes.
#[inline(never)]
fn packed_value_of<'p, W: Way>(pages: &'p Pages, at: PageRef, key: &[u8], hash: u64) -> Found<'p> {
    if W::is_counted(hash) {
        return Found::UNCLEAR;
    }
    pages.verified().and_then(|pages| pages.packed_leaf(at)).map_or(Found::UNCLEAR, |leaf| leaf.value_of(key))
}

struct Get<'a, 'p> {
    pages: &'p Pages,
    root: &'a Root,
    key: &'a [u8],
    hash: u64,
}

impl<'p> WithSearch for Get<'_, 'p> {
    type Output = Result<Option<Value<'p>>>;

    #[inline(always)]
    fn run<S: Search>(self) -> Self::Output {
        let leaf = self.root.leaf_of::<S>(self.pages, self.key)?;
        match leaf.leaf() {
            LeafView::Tagged(tagged) => {
                value_of::<S>(self.pages, leaf.page(), self.key, tagged.find::<S>(self.key, self.hash))
            }
            LeafView::Packed(packed) => packed_value(self.pages, leaf.page(), packed, self.key),
        }
    }
}

struct GetMany<'a, 'p> {
    pages: &'p Pages,
    base: &'a Base,
    keys: &'a [&'a [u8]],
    hashes: &'a [u64],
    values: &'a mut [Option<Value<'p>>],
}

impl WithSearch for GetMany<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<()> {
        let groups = self.keys.chunks(IN_FLIGHT).zip(self.hashes.chunks(IN_FLIGHT));
        for ((keys, hashes), values) in groups.zip(self.values.chunks_mut(IN_FLIGHT)) {
            get_group::<S>(self.pages, self.base, keys, hashes, values)?;
        }
        Ok(())
    }
}

/// One group in lockstep: in each pass every key takes one step, and asks for the lines that its next one reads.
///
/// Requires: at most [`IN_FLIGHT`] keys, and as many hashes and values.
#[inline(always)]
fn get_group<'p, S: Search>(
    pages: &'p Pages,
    base: &Base,
    keys: &[&[u8]],
    hashes: &[u64],
    values: &mut [Option<Value<'p>>],
) -> Result<()> {
    let mut at = [base.page; IN_FLIGHT];
    match base.shortcut() {
        Some(shortcut) => follow::<S>(shortcut, pages, base, keys, &mut at)?,
        None => {
            descend::<S>(pages, base, keys, &mut at)?;
            hashes.iter().filter(|&&hash| Base::is_counted(hash)).for_each(|_| base.count_get(pages));
        }
    }
    let mut leaves: [Option<Page<'p>>; IN_FLIGHT] = [const { None }; IN_FLIGHT];
    for (at, leaf) in at.iter().zip(&mut leaves).take(keys.len()) {
        let page = pages.page(*at)?;
        Leaf::prefetch_page(page.bytes());
        *leaf = Some(page);
    }
    let mut candidates: [Option<Candidate<'_>>; IN_FLIGHT] = [None; IN_FLIGHT];
    for (index, (key, hash)) in keys.iter().zip(hashes).enumerate() {
        candidates[index] = candidate::<S>(pages, at[index], leaves[index].as_ref(), key, *hash)?;
    }
    for (index, value) in values.iter_mut().enumerate() {
        *value = None;
        let Some(page) = &leaves[index] else { continue };
        let (key, hash) = (keys[index], hashes[index]);
        let leaf = match page.leaf() {
            Some(LeafView::Packed(packed)) => {
                *value = packed_value(pages, page, packed, key)?;
                continue;
            }
            Some(LeafView::Tagged(leaf)) => leaf,
            None => continue,
        };
        let cell = match candidates[index] {
            Some(candidate) => leaf.confirm::<S>(candidate, key, hash),
            // A long key is no matter for tags alone.
            None if key.len() > INLINE_KEY_BYTES_MAX => leaf.find::<S>(key, hash),
            None => None,
        };
        *value = value_of::<S>(pages, page, key, cell)?;
    }
    Ok(())
}

/// Where the leaves of some keys are, by a shortcut.
#[inline(always)]
fn follow<S: Search>(
    shortcut: &Shortcut,
    pages: &Pages,
    root: &Root,
    keys: &[&[u8]],
    at: &mut [PageRef; IN_FLIGHT],
) -> Result<()> {
    for (key, at) in keys.iter().zip(at) {
        *at = shortcut.leaf_of::<S>(key);
        if at.is_nowhere() {
            *at = root.place_of::<S>(pages, key)?;
        }
    }
    Ok(())
}

/// Where the leaves of some keys are, by the branches, level by level.
#[inline(always)]
fn descend<S: Search>(pages: &Pages, root: &Root, keys: &[&[u8]], at: &mut [PageRef; IN_FLIGHT]) -> Result<()> {
    for level in (1..=root.level).rev() {
        for (key, at) in keys.iter().zip(at.iter_mut()) {
            let page = pages.page(*at)?;
            let branch = branch_at(pages, &page, *at, level)?;
            *at = branch.child(branch.route::<S, Pages>(key, pages)?).page;
            if level > 1 {
                pages.prefetch(*at);
            }
        }
    }
    Ok(())
}

/// The first candidate for a key in its leaf; none in a packed one.
#[inline(always)]
fn candidate<'l, S: Search>(
    pages: &Pages,
    at: PageRef,
    page: Option<&'l Page<'_>>,
    key: &[u8],
    hash: u64,
) -> Result<Option<Candidate<'l>>> {
    match page.and_then(Page::leaf) {
        Some(LeafView::Tagged(leaf)) => Ok(leaf.candidate::<S>(key, hash)),
        Some(LeafView::Packed(_)) => Ok(None),
        None => Err(pages.misfit(at, "the page is not a leaf, as its parent says")),
    }
}

/// The cell of `key` in the leaf to which it belongs, whatever that says of it, and the leaf.
pub(super) struct FindCell<'a, 'p, F> {
    pub(super) pages: &'p Pages,
    pub(super) root: &'a Root,
    pub(super) key: &'a [u8],
    pub(super) hash: u64,
    /// What is made of them.
    pub(super) then: F,
}

impl<'p, R, F: FnOnce(&Page<'p>, Option<Cell<'_>>) -> Result<R>> WithSearch for FindCell<'_, 'p, F> {
    type Output = Result<R>;

    #[inline(always)]
    fn run<S: Search>(self) -> Self::Output {
        let leaf = self.root.leaf_of::<S>(self.pages, self.key)?;
        let tagged = match leaf.leaf() {
            LeafView::Tagged(tagged) => tagged,
            LeafView::Packed(packed) => return (self.then)(leaf.page(), packed_cell(packed, self.key)),
        };
        let mut cell = tagged.find::<S>(self.key, self.hash);
        if self.key.len() > INLINE_KEY_BYTES_MAX
            && let Some(found) = cell
        {
            cell = cell_of_long_key::<S>(self.pages, tagged, self.key, found)?;
        }
        (self.then)(leaf.page(), cell)
    }
}

/// The entry of a key in a packed leaf, as a cell.
fn packed_cell<'l>(leaf: PackedLeaf<'l>, key: &'l [u8]) -> Option<Cell<'l>> {
    Some(Cell { op: Op::PutNew, key: CellKey::Inline(key), value: leaf.find(key)? })
}

/// The value of a key in a packed leaf, which is in `page`.
#[inline]
fn packed_value<'p>(pages: &'p Pages, page: &Page<'p>, leaf: PackedLeaf<'_>, key: &[u8]) -> Result<Option<Value<'p>>> {
    match leaf.find(key) {
        None => Ok(None),
        Some(CellValue::Inline(value)) => Ok(Some(page.value(value))),
        Some(CellValue::Overflow(at)) => pages.value(&at).map(Some),
    }
}

/// The value of a cell that was found for `key`.
#[inline(always)]
fn value_of<'p, S: Search>(
    pages: &'p Pages,
    leaf: &Page<'p>,
    key: &[u8],
    cell: Option<Cell<'_>>,
) -> Result<Option<Value<'p>>> {
    let Some(cell) = cell else { return Ok(None) };
    if key.len() > INLINE_KEY_BYTES_MAX {
        return value_of_long_key::<S>(pages, leaf, key, &cell);
    }
    if cell.op.is_delete() {
        return Ok(None);
    }
    match cell.value {
        CellValue::Inline(value) => Ok(Some(leaf.value(value))),
        CellValue::Overflow(at) => pages.value(&at).map(Some),
    }
}

#[cold]
#[inline(never)]
fn value_of_long_key<'p, S: Search>(
    pages: &'p Pages,
    leaf: &Page<'p>,
    key: &[u8],
    cell: &Cell<'_>,
) -> Result<Option<Value<'p>>> {
    let Some(LeafView::Tagged(view)) = leaf.leaf() else { return Ok(None) };
    let Some(cell) = cell_of_long_key::<S>(pages, view, key, *cell)? else { return Ok(None) };
    match cell.value {
        _ if cell.op.is_delete() => Ok(None),
        CellValue::Inline(value) => Ok(Some(leaf.value(value))),
        CellValue::Overflow(at) => pages.value(&at).map(Some),
    }
}

/// A long key was found by its hash: compares it whole, and falls back to order if two long keys share a hash.
#[cold]
#[inline(never)]
fn cell_of_long_key<'l, S: Search>(
    pages: &Pages,
    leaf: Leaf<'l>,
    key: &[u8],
    found: Cell<'l>,
) -> Result<Option<Cell<'l>>> {
    if is_key(pages, &found.key, key)? {
        return Ok(Some(found));
    }
    let index = leaf.lower_bound::<S, Pages>(key, pages)?;
    if index == leaf.count() {
        return Ok(None);
    }
    let cell = leaf.cell(index);
    Ok(is_key(pages, &cell.key, key)?.then_some(cell))
}

fn is_key(pages: &Pages, stored: &CellKey<'_>, key: &[u8]) -> Result<bool> {
    match stored {
        CellKey::Inline(stored) => Ok(*stored == key),
        CellKey::Overflow { at, .. } => Ok(pages.value(at)? == key),
    }
}

/// Keys in flight at once: more than a processor's line buffers gain nothing, and their leaves' lines must stay in its cache.
const IN_FLIGHT: usize = 32;
