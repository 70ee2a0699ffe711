//! In which forms leaves can be built.

/// At which multiple a table's values begin within a page, so that they can be read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueAlign {
    /// Anywhere: the densest.
    #[default]
    One = 0,
    /// Multiples of 4 bytes.
    Four = 2,
    /// Multiples of 8 bytes.
    Eight = 3,
    /// Multiples of 16 bytes.
    Sixteen = 4,
}

impl ValueAlign {
    /// The alignment of this many bytes: 1, 4, 8 or 16.
    pub fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            1 => Some(Self::One),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            16 => Some(Self::Sixteen),
            _ => None,
        }
    }

    /// The alignment with this stored logarithm.
    pub fn from_log2(log2: u8) -> Option<Self> {
        match log2 {
            0 => Some(Self::One),
            2 => Some(Self::Four),
            3 => Some(Self::Eight),
            4 => Some(Self::Sixteen),
            _ => None,
        }
    }

    /// The multiple, in bytes.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        1 << self as u8
    }
}

/// In which form the leaves of a table's tree are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafForm {
    /// With hash tags, values aligned so.
    Tagged(ValueAlign),
    /// Packed. Entries that no packed leaf can hold are stored in tagged leaves between them.
    Packed,
}

impl LeafForm {
    /// How values are aligned.
    pub fn align(self) -> ValueAlign {
        match self {
            Self::Tagged(align) => align,
            Self::Packed => ValueAlign::One,
        }
    }
}
