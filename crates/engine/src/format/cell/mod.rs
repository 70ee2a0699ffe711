//! The stored form of one entry: operation, key and value, in the cell or in an overflow.

mod entry;
mod form;
mod long_key;
mod overflow;

pub use entry::{
    CELL_HEADER_BYTES, Cell, CellKey, CellValue, LENGTH_MASK, LONG_KEY_BYTES, LongKeys, OVERFLOW_BIT, Op, Separator,
};
pub use form::{LeafForm, ValueAlign};
pub use long_key::{long_key_at, verify_long_key, verify_reference};
pub use overflow::OverflowRef;
