//! Where the bytes of pages come from.

use crate::io::Map;
use crate::sync::Arc;

use super::cache::FrameCache;

/// Where bytes come from.
#[derive(Clone, Debug)]
pub(in crate::pager) enum Source {
    /// A window that reaches past every extent of the snapshot.
    Map(Arc<Map>),
    /// `pread`, through a cache of verified pages.
    Cache(Arc<FrameCache>),
}
