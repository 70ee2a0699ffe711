//! How much memory the active deltas may take before commits ask for relief, and whether the disk has room for more.
//!
//! The content of deltas is in the log too, and a checkpoint writes it once more before the log can be removed. So on
//! a disk that is nearly full deltas are kept small, and commits that add are refused while there is still room for
//! commits that delete and for checkpoints.

use crate::pager::Room;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The budget of the active deltas of one database. All of it is a hint: nothing is ordered by it.
#[derive(Debug)]
pub struct Budget {
    /// Bytes that the options allow.
    bytes_max: u64,
    /// Bytes that are allowed now.
    bytes: AtomicU64,
    /// From so many bytes on, the disk is to be measured again.
    measure_at: AtomicU64,
    /// From so many bytes on, commits ask for relief.
    relieve_at: AtomicU64,
    /// What the active deltas take while commits are to ask for relief, otherwise 0. Every transaction reads it, so a
    /// commit writes it only when it changes.
    excess_bytes: AtomicU64,
    /// There is no room for commits that add.
    is_short: AtomicBool,
    /// Bytes that commits may still add until the disk is measured again, although it is short, because they free as
    /// many.
    exchange_bytes: AtomicU64,
}

/// What the room on a disk allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes that the active deltas may take. Twice as many still fit, when a checkpoint is under way.
    pub bytes: u64,
    /// From so many on the disk is to be measured again.
    pub measure_at: u64,
    /// There is no room for commits that add.
    pub is_short: bool,
    /// If there is not, bytes that commits may add that free as many.
    pub exchange_bytes: u64,
}

/// What deltas hold that no checkpoint has flushed, and the room that the disk has beside that.
#[derive(Clone, Copy, Debug)]
pub struct DeltaUsage {
    /// Bytes of the active deltas.
    pub active: u64,
    /// Bytes of the deltas that are being flushed.
    pub frozen: u64,
    pub room: Room,
}

impl DeltaUsage {
    /// Bytes of all deltas.
    pub fn bytes(self) -> u64 {
        self.active + self.frozen
    }

    /// Whether there is room for a commit of so many bytes as well: in the log, for a checkpoint, and for the pages
    /// of that.
    pub fn has_room_for(self, bytes: u64) -> bool {
        self.room.bytes >= 3 * bytes + owed(self.bytes()) && self.room.log_bytes >= bytes
    }

    /// Whether a checkpoint that failed before may succeed `now`.
    pub fn is_worth_another_try(self, now: Self) -> bool {
        now.bytes() >= self.bytes() + TRIED_AGAIN_BYTES || now.room.bytes >= self.room.bytes + TRIED_AGAIN_BYTES
    }

    /// Whether a checkpoint has since flushed what an earlier one could not.
    pub fn is_merged(self, now: Self) -> bool {
        now.bytes() == 0 || (self.frozen > 0 && now.frozen == 0)
    }
}

/// Estimate of what a checkpoint writes for deltas of so many bytes.
fn owed(bytes: u64) -> u64 {
    bytes + bytes / 2
}

impl Allowance {
    /// What the disk allows where the options allow `bytes_max`.
    pub fn of(held: DeltaUsage, bytes_max: u64) -> Self {
        let DeltaUsage { active, frozen, room } = held;
        let left = room.bytes.saturating_sub(owed(frozen));
        // A delta of twice so many bytes takes as many in the log, where more is prepared, and half as many again to
        // be merged.
        let bytes = ((left + active) / 5).min((room.log_bytes + active) / 3).max(BUDGET_BYTES_MIN).min(bytes_max);
        let measure_at = active + (bytes / MEASURED_DIVISOR).clamp(MEASURED_BYTES_MIN, MEASURED_BYTES_MAX);
        let is_short = room.log_bytes == 0 || left <= owed(active);
        Self { bytes, measure_at, is_short, exchange_bytes: room.log_bytes / EXCHANGED_DIVISOR }
    }
}

impl Budget {
    /// Allows what the options allow, until the disk is measured.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            bytes: AtomicU64::new(bytes_max),
            measure_at: AtomicU64::new(1),
            relieve_at: AtomicU64::new(1),
            excess_bytes: AtomicU64::new(0),
            is_short: AtomicBool::new(false),
            exchange_bytes: AtomicU64::new(u64::MAX),
        }
    }

    /// Bytes that the options allow.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Bytes that the active deltas may take now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether there is no room for commits that add.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// Takes so many bytes of what may be exchanged. False, and nothing is taken, if there are fewer.
    pub fn take_exchange(&self, bytes: u64) -> bool {
        self.exchange_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// What the active deltas take, if commits are to ask for relief, otherwise 0.
    #[inline]
    pub fn excess_bytes(&self) -> u64 {
        self.excess_bytes.load(Ordering::Relaxed)
    }

    /// The active deltas are empty again. The room that the disk has left is to be measured.
    pub fn reset(&self) {
        self.measure_at.store(1, Ordering::Relaxed);
        if !self.is_short() {
            self.relieve_at.store(1, Ordering::Relaxed);
        }
        self.note(0);
    }

    /// The active deltas take so many bytes now.
    #[inline]
    pub fn note(&self, bytes: u64) {
        let is_over = bytes >= self.relieve_at.load(Ordering::Relaxed);
        let excess_bytes = if is_over { bytes.max(1) } else { 0 };
        if self.excess_bytes.load(Ordering::Relaxed) != excess_bytes {
            self.excess_bytes.store(excess_bytes, Ordering::Relaxed);
        }
    }

    /// Whether the disk is to be measured when the active deltas take so many bytes.
    pub fn is_due(&self, bytes: u64) -> bool {
        self.is_short() || bytes >= self.measure_at.load(Ordering::Relaxed)
    }

    /// The active deltas take `bytes`, and this was allowed, by a disk that was measured, or by one whose room has no
    /// end.
    pub fn allow(&self, allowance: Option<Allowance>, bytes: u64) {
        let endless =
            Allowance { bytes: self.bytes_max, measure_at: u64::MAX, is_short: false, exchange_bytes: u64::MAX };
        let allowance = allowance.unwrap_or(endless);
        self.bytes.store(allowance.bytes, Ordering::Relaxed);
        self.measure_at.store(allowance.measure_at, Ordering::Relaxed);
        self.is_short.store(allowance.is_short, Ordering::Relaxed);
        self.exchange_bytes.store(allowance.exchange_bytes, Ordering::Relaxed);
        // On a disk that is short of room every transaction that begins to write measures it: room may have been made.
        let relieve_at =
            if allowance.is_short { 0 } else { allowance.measure_at.min(allowance.bytes.saturating_add(1)) };
        self.relieve_at.store(relieve_at, Ordering::Relaxed);
        self.note(bytes);
    }
}

/// After a checkpoint failed on a full disk, another one is tried when deltas hold so much more, or when there is so
/// much more room.
const TRIED_AGAIN_BYTES: u64 = 64 << 10;
/// However full the disk, deltas may take so much: smaller checkpoints would write mostly the pages of trees again.
const BUDGET_BYTES_MIN: u64 = 64 << 10;
/// A commit that frees as much as it adds writes to the log first, and the checkpoint that would free the log may fail.
/// Such commits may use this share of the space left for the log. The rest is reserved for commits that only delete.
const EXCHANGED_DIVISOR: u64 = 4;
/// The disk is measured each time that deltas have grown by this share of their budget, within the bounds below.
const MEASURED_DIVISOR: u64 = 8;
const MEASURED_BYTES_MIN: u64 = 256 << 10;
const MEASURED_BYTES_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn allowance(room: u64, active: u64, frozen: u64) -> Allowance {
        Allowance::of(held(room, active, frozen), 64 * MIB)
    }

    fn held(room: u64, active: u64, frozen: u64) -> DeltaUsage {
        DeltaUsage { active, frozen, room: Room { bytes: room, log_bytes: room } }
    }

    #[test]
    fn a_commit_has_room_if_it_and_all_that_is_held_fit_into_the_log_and_can_be_merged() {
        assert!(held(4 * MIB + 2, 1, 1).has_room_for(MIB));
        assert!(held(9 * MIB, 2 * MIB, 2 * MIB).has_room_for(MIB));
        assert!(!held(9 * MIB - 1, 2 * MIB, 2 * MIB).has_room_for(MIB));
        let room = Room { bytes: 9 * MIB, log_bytes: MIB - 1 };
        assert!(!DeltaUsage { active: 0, frozen: 0, room }.has_room_for(MIB));
    }

    #[test]
    fn a_checkpoint_that_failed_is_tried_again_when_much_has_changed_until_one_has_merged_what_it_could_not() {
        let failed = held(MIB, MIB, MIB);
        assert!(!failed.is_worth_another_try(failed) && !failed.is_merged(failed));
        assert!(failed.is_worth_another_try(held(MIB, MIB + TRIED_AGAIN_BYTES, MIB)));
        assert!(failed.is_worth_another_try(held(MIB + TRIED_AGAIN_BYTES, MIB, MIB)));
        assert!(failed.is_merged(held(MIB, 1, 0)));
        // A checkpoint that could not even exchange the deltas had none frozen.
        assert!(!held(MIB, MIB, 0).is_merged(held(MIB, 1, 0)) && held(MIB, MIB, 0).is_merged(held(MIB, 0, 0)));
    }

    #[test]
    fn a_roomy_disk_allows_what_the_options_allow() {
        assert_eq!(allowance(1000 * MIB, 0, 64 * MIB).bytes, 64 * MIB);
        assert_eq!(allowance(1000 * MIB, 60 * MIB, 0).bytes, 64 * MIB);
    }

    #[test]
    fn a_budget_does_not_change_while_the_log_takes_what_deltas_take() {
        let first = allowance(100 * MIB, 0, 0);
        assert_eq!(first.bytes, 20 * MIB);
        let later = allowance(90 * MIB, 10 * MIB, 0);
        assert_eq!(later.bytes, first.bytes);
        // Where commits wait for a checkpoint, there is room for what that writes.
        assert!(!allowance(61 * MIB, 40 * MIB, 0).is_short);
        assert!(allowance(60 * MIB, 40 * MIB, 0).is_short);
        assert!(allowance(61 * MIB, 40 * MIB, MIB).is_short);
        assert!(allowance(0, 0, 0).is_short);
    }

    #[test]
    fn commits_that_free_what_they_add_take_a_share_of_what_is_left_for_the_log() {
        let budget = Budget::new(64 * MIB);
        budget.allow(Some(Allowance::of(held(MIB, MIB, 0), 64 * MIB)), MIB);
        assert!(budget.is_short());
        assert!(budget.take_exchange(MIB / 8) && !budget.take_exchange(MIB / 4) && budget.take_exchange(MIB / 8));
        assert!(!budget.take_exchange(1));
        budget.allow(Some(Allowance::of(held(0, MIB, 0), 64 * MIB)), MIB);
        assert!(budget.is_short() && !budget.take_exchange(1));
        budget.allow(None, MIB);
        assert!(budget.take_exchange(MIB));
    }

    #[test]
    fn relief_is_called_for_past_the_budget_and_where_the_disk_is_to_be_measured() {
        let budget = Budget::new(64 * MIB);
        budget.note(0);
        assert_eq!(budget.excess_bytes(), 0);
        budget.note(MIB);
        assert_eq!(budget.excess_bytes(), MIB);
        assert!(budget.is_due(MIB));
        budget.allow(Some(allowance(1000 * MIB, MIB, 0)), MIB);
        assert_eq!(budget.excess_bytes(), 0);
        budget.note(9 * MIB);
        assert!(budget.excess_bytes() > 0 && budget.is_due(9 * MIB));
        budget.allow(None, 9 * MIB);
        assert_eq!(budget.excess_bytes(), 0);
        budget.note(64 * MIB + 1);
        assert_eq!(budget.excess_bytes(), 64 * MIB + 1);
        assert!(!budget.is_due(64 * MIB + 1));
        budget.reset();
        assert!(budget.is_due(1));
    }

    #[test]
    fn a_short_disk_is_measured_by_all_who_begin_to_write() {
        let budget = Budget::new(64 * MIB);
        budget.allow(Some(allowance(0, MIB, 0)), MIB);
        assert!(budget.is_short() && budget.is_due(0));
        budget.note(0);
        assert_eq!(budget.excess_bytes(), 1);
        budget.allow(Some(allowance(100 * MIB, 0, 0)), 0);
        assert!(!budget.is_short());
        assert_eq!(budget.excess_bytes(), 0);
    }
}
