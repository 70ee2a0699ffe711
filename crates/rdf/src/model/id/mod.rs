//! Ids of terms, and the terms that are stored inline in their id.
//!
//! Invariants: (1) A term has one id. A literal is inline only if decoding its id returns exactly its form. (2) Ids of
//! one tag sort as the values of their inline terms do, and forms of one value by their lengths. (3) Tags are stored:
//! see [`Tag`]. An id from a damaged file may represent no term: then [`TermId::inline_term`] returns `None`.

mod key;
mod number;
mod short_text;
mod term_id;
#[cfg(test)]
mod tests;
mod text;
mod time;

pub(crate) use key::{IdKey, KeyReader};
pub use short_text::ShortText;
pub(crate) use short_text::{PAYLOAD_BITS, PAYLOAD_MAX};
pub(crate) use term_id::{InlineForm, Tag};
pub use term_id::{InlineValue, TermId, TermKind};
