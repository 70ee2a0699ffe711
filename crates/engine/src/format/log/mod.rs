//! The segments of the log, their records, and the operations in a record.

mod encoder;
mod operation;
mod record;
mod segment;

pub use encoder::RecordEncoder;
pub use operation::{CommitReader, LargeValue, Operation};
pub use record::{RECORD_ALIGNMENT, RecordHeader, RecordKind, RecordLink};
pub use segment::{SegmentHeader, SegmentHeaderFault};
