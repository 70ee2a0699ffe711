//! The names of the files of checkpoints in a storage.

use std::collections::BTreeSet;

use crate::checkpoint::compression::Compression;
use crate::checkpoint::hashing::{FileHash, LONG_DIGITS, SHORT_DIGITS};

/// A name that no other content has: a checkpoint that is created again must not replace a file that others share.
///
/// The id is that of the checkpoint that sends the file, so only a checkpoint that is created again may send a file
/// under a name that is there. It does not if a committed manifest names the file and can be read. So an end of the
/// process while a storage replaces a file damages no other checkpoint. The hash is of the content, so a compressed
/// file has another name than the file of the same content that is not.
pub fn data_name(kind: &str, id: u64, hash: FileHash, compression: Compression) -> String {
    let suffix = match compression {
        Compression::Off => "",
        Compression::Zstandard(_) => COMPRESSED,
    };
    format!("data/{kind}-{id}-{hash}{suffix}")
}

/// Whether a file is compressed.
pub fn is_compressed(name: &str) -> bool {
    name.ends_with(COMPRESSED)
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
    let content = name.strip_suffix(COMPRESSED).unwrap_or(name);
    let is_of = |name: &str, prefix: &str, digits: usize| {
        let parts = name.strip_prefix(prefix).and_then(|rest| rest.split_once('-'));
        parts.is_some_and(|(id, hash)| {
            id.parse::<u64>().is_ok() && hash.len() == digits && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    is_of(name, "data/base-", SHORT_DIGITS)
        || is_of(content, "data/delta-", SHORT_DIGITS)
        || is_of(content, SEGMENT, LONG_DIGITS)
}

/// Whether a file has changes that a checkpoint has sent.
pub fn is_delta_of(name: &str, id: u64) -> bool {
    name.starts_with("data/delta-") && sender_of(name) == Some(id)
}

/// Whether a file has data that a checkpoint has sent.
pub fn is_sent_by(name: &str, id: u64) -> bool {
    is_data(name) && sender_of(name) == Some(id)
}

/// The checkpoint that has sent a file of data.
fn sender_of(name: &str) -> Option<u64> {
    name.split('-').nth(1)?.parse().ok()
}

/// Whether a file is a segment.
pub fn is_segment(name: &str) -> bool {
    name.starts_with(SEGMENT) && is_data(name)
}

/// What the names of segments begin with.
const SEGMENT: &str = "data/segment-";
/// What the names of compressed files end with.
const COMPRESSED: &str = ".zst";
/// What the name of a file ends with until a storage in a directory has the whole file.
const UNFINISHED: &str = ".new";
