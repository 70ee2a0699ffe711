//! Numbers of terms, and the terms that are stored within their number.
//!
//! Invariants: (1) A term has one number. A literal is inline only if decoding its number returns exactly its form.
//! (2) Numbers of one tag order as the values of their inline terms do, and forms of one value by their lengths.
//! (3) Tags are stored: see [`Tag`]. A number from a damaged file may represent no term: then
//! [`TermId::inline_term`] returns none.

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
