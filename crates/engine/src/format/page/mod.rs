//! The header of all pages, and the pages of the extent table.

mod extent;
mod layout;
mod offence;
mod seal;

pub use extent::{ExtentEntry, ExtentFlags, ExtentKind, ExtentTablePage, LIVE_SLOTS_MAX, verify_extent_table};
pub use layout::{INLINE_KEY_BYTES_MAX, PageKind, PageSize, TRAILER_BYTES};
pub use offence::{Offence, require, zeros};
pub use seal::{seal_page, verify_seal};
