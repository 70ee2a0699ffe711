//! Which keys the newest commits wrote, so that a transaction whose reads were checked a moment ago compares them
//! only with the commits since.
//!
//! Transactions check their reads without a lock, against deltas. Under the log's lock, where no commit can come in
//! between, only the commits that got a number since remain to be checked; their changes may not be in a delta yet. A
//! footprint never denies a key that its commit wrote. It may claim other keys, and then the check is repeated.

use crate::delta::Approach;
use crate::format::Identity;
use crate::ids::Sequence;
use crate::txn::writes::write_set::WriteSet;

/// Hashes of the keys that a commit writes, in any table. It takes one cache line, because another thread wrote it
/// last.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Footprint {
    hashes: [u64; HASHES],
    /// How many of them count; above [`HASHES`]: any key.
    count: usize,
}

const _: () = assert!(size_of::<Footprint>() == 64);

/// The footprints of the newest commits.
#[derive(Debug)]
pub struct Footprints {
    recent: Box<[Footprint]>,
}

impl Footprint {
    /// Of a commit that may have written any key.
    pub const ANYTHING: Self = Self { hashes: [0; HASHES], count: usize::MAX };

    /// Of a set; `begun` is an approach to its only key, whose hash is known.
    pub fn of(set: &WriteSet, identity: &Identity, begun: Option<&Approach>) -> Self {
        if let Some(approach) = begun {
            return Self { hashes: [approach.hash(); HASHES], count: 1 };
        }
        let mut print = Self { hashes: [0; HASHES], count: 0 };
        for (_, key, _) in set.iter() {
            let Some(place) = print.hashes.get_mut(print.count) else { return Self::ANYTHING };
            *place = identity.hash(key);
            print.count += 1;
        }
        print
    }

    /// The hashes of the keys in the order of the set, unless there are too many.
    pub fn hashes(&self) -> Option<&[u64]> {
        self.hashes.get(..self.count)
    }

    fn may_hold(&self, hash: u64) -> bool {
        self.hashes().is_none_or(|hashes| hashes.contains(&hash))
    }
}

impl Default for Footprints {
    fn default() -> Self {
        Self { recent: vec![Footprint::ANYTHING; RECENT as usize].into_boxed_slice() }
    }
}

impl Footprints {
    /// Notes what the commit writes. Requires: called for each commit, in their order.
    #[inline]
    pub fn note(&mut self, sequence: Sequence, print: &Footprint) {
        self.recent[(sequence.0 % RECENT) as usize] = *print;
    }

    /// Whether a commit above `checked`, up to `last`, may have written a key with one of these hashes.
    ///
    /// Requires: `last` was noted last.
    pub fn may_hold(&self, checked: Sequence, last: Sequence, mut hashes: impl Iterator<Item = u64>) -> bool {
        if last.0 - checked.0 > RECENT {
            return true;
        }
        let since = || (checked.0 + 1..=last.0).map(|number| &self.recent[(number % RECENT) as usize]);
        hashes.any(|hash| since().any(|print| print.may_hold(hash)))
    }
}

/// Keys of a commit that are remembered one by one.
pub const HASHES: usize = 7;
/// Commits that are remembered: more than get numbers while one checks its reads.
const RECENT: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn print(hashes: &[u64]) -> Footprint {
        let mut print = Footprint { hashes: [0; HASHES], count: hashes.len() };
        print.hashes[..hashes.len()].copy_from_slice(hashes);
        print
    }

    #[test]
    fn only_commits_since_the_check_count_and_unknown_ones_always_do() {
        let mut prints = Footprints::default();
        for number in 1..=200 {
            prints.note(Sequence(number), &print(&[number, number + 1000]));
        }
        let may = |checked, last, hash| prints.may_hold(Sequence(checked), Sequence(last), [hash].into_iter());
        assert!(may(190, 200, 195) && may(190, 200, 1191) && may(199, 200, 200));
        assert!(!may(190, 200, 190) && !may(195, 200, 195) && !may(200, 200, 200));
        assert!(!may(136, 200, 7), "as many as are remembered");
        assert!(may(135, 200, 7), "one more");
    }

    #[test]
    fn a_commit_of_many_keys_may_have_written_any() {
        let mut prints = Footprints::default();
        prints.note(Sequence(1), &print(&[]));
        assert!(!prints.may_hold(Sequence(0), Sequence(1), [5].into_iter()));
        prints.note(Sequence(2), &Footprint::ANYTHING);
        assert!(prints.may_hold(Sequence(1), Sequence(2), [5].into_iter()));
        assert!(!prints.may_hold(Sequence(1), Sequence(2), std::iter::empty()));
    }
}
