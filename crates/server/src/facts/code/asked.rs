//! [`Asked`]: what a request about an index may read.

use fulgurite_code::CodeReader;

/// What a request may read.
pub struct Asked<'r> {
    pub reader: &'r CodeReader,
    /// The most entries of an answer.
    pub results_max: usize,
    /// The size of an answer in bytes; the answer ends with the entry that reaches it.
    pub bytes_max: usize,
}
