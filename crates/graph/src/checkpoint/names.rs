//! The names of the files of checkpoints in a storage.

use std::collections::BTreeSet;

use crate::checkpoint::hashing::Content;

/// A name that no other content has: a checkpoint that is created again must not replace a file that others share.
pub fn data_name(kind: &str, id: u64, content: Content) -> String {
    format!("data/{kind}-{id}-{:016x}", content.hash)
}

/// The name of the list of a checkpoint's files.
pub fn manifest_name(id: u64) -> String {
    format!("meta.{id}/manifest")
}

/// The name of the file that is there if a checkpoint is complete.
pub fn commit_name(id: u64) -> String {
    format!("meta.{id}/_commit")
}

/// The ids of the committed checkpoints.
pub fn committed(names: &[String]) -> BTreeSet<u64> {
    names.iter().filter(|name| name.ends_with("/_commit")).filter_map(|name| id_of_meta(name)).collect()
}

/// The id of the checkpoint that a file below `meta.ID/` is of.
pub fn id_of_meta(name: &str) -> Option<u64> {
    let (id, file) = name.strip_prefix("meta.")?.split_once('/')?;
    let file = file.strip_suffix(UNFINISHED).unwrap_or(file);
    id.parse().ok().filter(|_| matches!(file, "manifest" | "_commit"))
}

/// Whether a file has data of checkpoints, as [`data_name`] names them. Others are not ours.
pub fn is_data(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    let rest = ["data/base-", "data/delta-"].iter().find_map(|kind| name.strip_prefix(kind));
    rest.and_then(|rest| rest.split_once('-')).is_some_and(|(id, hash)| {
        id.parse::<u64>().is_ok() && hash.len() == HASH_DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// What [`DirectoryStorage`](crate::DirectoryStorage) adds to the name of a file until the file is whole.
const UNFINISHED: &str = ".new";
/// Digits of a hash in the name of a file.
const HASH_DIGITS: usize = 16;
