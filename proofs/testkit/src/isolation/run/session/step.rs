//! The steps that transactions are made of, drawn by weights.

use crate::random::Random;

/// One thing that a transaction does. In a transaction that cannot write, steps that write only read, or do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a list and puts an element at its end.
    Append,
    /// Puts an element at the end of a list without reading it, by the table's merge operator.
    Merge,
    /// Reads a list.
    ReadList,
    /// Sets a register without reading it.
    Put,
    /// Reads a register and sets it.
    Update,
    /// Reads a register.
    Get,
    /// Reads several.
    GetMany,
    /// Makes a register absent.
    Delete,
    /// Sets a register if it is absent.
    Insert,
    /// Sets a register, or makes it absent, if it holds what it last held.
    CompareAndSet,
    /// Makes the registers of a range absent.
    DeleteRange,
    /// Makes the first register that is present absent, or the last one.
    Pop,
    /// Makes some registers of a range absent on the way through it, which may end early.
    Extract,
    /// Reads a range from below, as far as it likes.
    Scan,
    /// Reads a range from above.
    ScanBack,
    /// Reads a range from both ends.
    ScanBoth,
    /// Reads the registers whose keys begin alike.
    Prefix,
    /// Reads the first register that is present, or the last one.
    Ends,
    /// Goes over registers with a cursor.
    Cursor,
    /// Counts the registers of a range.
    Count,
    /// Reads a table that comes and goes.
    ReadNamed,
    /// Creates one.
    CreateNamed,
    /// Drops one.
    DropNamed,
    /// Renames one.
    RenameNamed,
}

impl Step {
    /// One of those in the mix.
    pub fn draw(mix: &[(Self, u64)], random: &mut Random) -> Self {
        let mut left = random.below(mix.iter().map(|(_, weight)| weight).sum());
        for (step, weight) in mix {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *step,
            }
        }
        unreachable!("what was drawn is below the sum of the weights")
    }
}
