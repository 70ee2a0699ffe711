//! Reading one snapshot: references to verified bytes, from the map or through a cache.

mod cache;
mod filters;
mod page;
mod pages;
mod source;
mod value;
mod verified;

pub(super) use cache::FrameCache;
pub use filters::MappedFilters;
pub use page::{LeafPage, Page};
pub use pages::Pages;
pub(super) use source::Source;
pub use value::Value;
pub use verified::VerifiedPages;
