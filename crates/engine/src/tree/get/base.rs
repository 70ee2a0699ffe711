//! The tree of a table, and the shortcut to its leaves.
//!
//! A get makes the shortcut after about as many gets as the tree has leaves: so it costs little beside these, and a
//! tree that is replaced earlier, or only written and scanned, has none. Only gets of some hashes are counted,
//! because all threads write to the line of memory with the count.

use std::ops::Deref;

use crate::pager::Pages;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, OnceLock};
use crate::tree::root::{Root, branch_at};

use super::shortcut::Shortcut;
use super::shortcut_build::build;

/// The tree of a table. Clones share the shortcut.
#[derive(Clone, Debug)]
pub struct Base {
    root: Root,
    shared: Arc<Shared>,
}

/// The shortcut, once it is made, and the count of gets until then.
#[derive(Debug, Default)]
struct Shared {
    /// Never set where a shortcut would be of little use.
    shortcut: OnceLock<Shortcut>,
    /// Counted gets. Relaxed: an estimate.
    gets_counted: AtomicU64,
}

impl Base {
    /// The tree, without a shortcut yet.
    pub fn new(root: Root) -> Self {
        Self { root, shared: Arc::default() }
    }

    /// The tree with a shortcut, if one is of use.
    #[cfg(test)]
    pub fn with_shortcut(root: Root, pages: &Pages) -> Self {
        let base = Self::new(root);
        if let Ok(Some(shortcut)) = build(pages, &root) {
            base.shared.shortcut.set(shortcut).expect("it is new");
        }
        base
    }

    /// Whether there is a shortcut.
    #[cfg(test)]
    pub fn has_shortcut(&self) -> bool {
        self.shortcut().is_some()
    }

    /// Its root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The shortcut, if there is one.
    #[inline(always)]
    pub(in crate::tree) fn shortcut(&self) -> Option<&Shortcut> {
        self.shared.shortcut.get()
    }

    /// Whether [`Base::count_get`] has to be called for a get of a key with this hash that found no shortcut.
    #[inline(always)]
    pub(in crate::tree) fn is_counted(hash: u64) -> bool {
        // A get needs these bits anyway: they are in the tag.
        (hash >> 48) & (GETS_PER_COUNT - 1) == 0
    }

    /// Counts a get, and makes the shortcut if it is time.
    pub(in crate::tree) fn count_get(&self, pages: &Pages) {
        let shared = &*self.shared;
        let counted = shared.gets_counted.load(Ordering::Relaxed);
        if self.root.level == 0 || counted >= COUNTED_ENOUGH {
            return;
        }
        if counted < self.leaves(pages) / GETS_PER_COUNT {
            shared.gets_counted.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // One thread makes it. A page that cannot be read is reported by the read that needs it.
        if shared.gets_counted.swap(COUNTED_ENOUGH, Ordering::Relaxed) < COUNTED_ENOUGH
            && let Ok(Some(shortcut)) = build(pages, &self.root)
        {
            let _ = shared.shortcut.set(shortcut);
        }
    }

    /// An estimate of the number of leaves: as if each branch had as many children as the first one of its level.
    fn leaves(&self, pages: &Pages) -> u64 {
        let (mut leaves, mut at) = (1_u64, self.root.page);
        for level in (1..=self.root.level).rev() {
            let Ok(page) = pages.page(at) else { break };
            let Ok(branch) = branch_at(pages, &page, at, level) else { break };
            leaves = leaves.saturating_mul(branch.children() as u64);
            at = branch.child(0).page;
        }
        leaves
    }
}

impl Deref for Base {
    type Target = Root;

    #[inline(always)]
    fn deref(&self) -> &Root {
        &self.root
    }
}

impl PartialEq for Base {
    /// Whether they are clones of one base, not only equal trees.
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Base {}

/// One get of this many is counted. A power of two.
const GETS_PER_COUNT: u64 = 1024;
/// The shortcut was made, or is being made, or would be of little use.
const COUNTED_ENOUGH: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Search, WithSearch, supported, with_isa, with_loops};
    use crate::ids::PageRef;

    /// Where the branches and the shortcut lead.
    struct BothWays<'a>(&'a Pages, &'a Base, &'a [u8]);

    impl WithSearch for BothWays<'_> {
        type Output = (PageRef, Option<PageRef>);

        fn run<S: Search>(self) -> Self::Output {
            let Self(pages, base, key) = self;
            let by_branches = base.root.place_of::<S>(pages, key).expect("the tree is sound");
            (by_branches, base.shortcut().map(|shortcut| shortcut.leaf_of::<S>(key)))
        }
    }

    impl Base {
        /// Compares where the shortcut leads with where the branches do, for these keys and others near them, with
        /// every instruction set.
        pub fn compare_ways<'k>(&self, pages: &Pages, keys: impl Iterator<Item = &'k [u8]>) {
            for near in keys.flat_map(near) {
                let ways = |isa| with_isa(isa, BothWays(pages, self, &near)).expect("it is supported");
                for (by_branches, by_shortcut) in
                    supported().map(ways).chain([with_loops(BothWays(pages, self, &near))])
                {
                    let is_right = by_shortcut.is_none_or(|at| at.is_nowhere() || at == by_branches);
                    assert!(is_right, "{}", near.escape_ascii());
                }
            }
        }
    }

    /// A key, and keys that are a little above or below it.
    fn near(key: &[u8]) -> Vec<Vec<u8>> {
        let mut keys = vec![key.to_vec(), [key, b"\0"].concat(), key[..key.len() / 2].to_vec()];
        for (index, step) in [(key.len().saturating_sub(1), 1), (key.len() / 2, 0xFF), (key.len() / 3, 1)] {
            let mut other = key.to_vec();
            if let Some(byte) = other.get_mut(index) {
                *byte = byte.wrapping_add(step);
                other.truncate(index + 1);
                keys.push(other);
            }
        }
        keys
    }
}
