//! The table of all models.

use super::model::Model;
use super::{commit, delta, group_sync, reclaim, slots, turn, visible};

/// All models.
pub const MODELS: &[Model] = &[
    visible::MODEL,
    visible::THREE,
    visible::ABANDONED,
    group_sync::MODEL,
    group_sync::FAILING,
    turn::MODEL,
    delta::SCAN,
    delta::GET,
    delta::CHANGES,
    delta::SPLIT,
    delta::SPLIT_AGAIN,
    delta::SPLIT_INNER,
    delta::FIRST,
    delta::SAME,
    delta::NEW,
    delta::ALONG,
    reclaim::MODEL,
    commit::PINS,
    commit::SKEW,
    commit::MERGE,
    commit::MERGE_ROTATE,
    commit::DURABLE,
    commit::ROTATE,
    slots::READERS,
    slots::WRITERS,
    slots::CLOSING,
];
