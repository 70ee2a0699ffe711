//! Every field of every structure in the files, by name, so that a run can choose a field, and report which ones it has
//! changed.

/// A field: its name, and where it is in its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Unique among all.
    pub name: &'static str,
    /// Offset in the structure; from its end, if negative.
    pub at: isize,
    /// Bytes.
    pub size: usize,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $list:ident: $($name:literal $at:literal $size:literal,)*)*) => {
        $($(#[$doc])* pub const $list: &[Field] = &[$(Field { name: $name, at: $at, size: $size },)*];)*

        /// All lists.
        pub const ALL: &[&[Field]] = &[$($list,)*];
    };
}

fields! {
    /// A meta.
    META:
        "meta magic" 0 8,
        "meta version" 8 4,
        "meta page size" 12 4,
        "meta uuid" 16 16,
        "meta compatible" 32 8,
        "meta read compatible" 40 8,
        "meta incompatible" 48 8,
        "meta number" 56 8,
        "meta birth" 64 8,
        "meta sequence" 72 8,
        "meta first log segment" 80 8,
        "meta page count" 88 8,
        "meta next table" 96 4,
        "meta flags" 100 4,
        "meta quota" 104 8,
        "meta catalog extent" 112 4,
        "meta catalog slot" 116 4,
        "meta catalog level" 120 1,
        "meta catalog present" 121 1,
        "meta catalog reserved" 122 6,
        "meta catalog entries" 128 8,
        "meta table first page" 136 8,
        "meta table pages" 144 4,
        "meta table entries" 148 4,
        "meta table birth" 152 8,
        "meta table checksum" 160 8,
        "meta created" 168 8,
        "meta reserved" 176 328,
        "meta checksum" 504 8,
    /// The trailer of a page.
    TRAILER:
        "page reserved" -48 32,
        "page birth" -16 8,
        "page checksum" -8 8,
    /// The header of a page of the extent table.
    TABLE:
        "table kind" 0 1,
        "table reserved" 1 1,
        "table count" 2 2,
        "table first id" 4 4,
        "table reserved too" 8 56,
    /// An entry of the extent table.
    ENTRY:
        "extent first page" 0 8,
        "extent pages" 8 4,
        "extent kind" 12 1,
        "extent flags" 13 1,
        "extent reserved" 14 2,
        "extent birth" 16 8,
        "extent live map" 24 16,
        "extent reserved too" 40 24,
    /// The header of a leaf.
    LEAF:
        "leaf kind" 0 1,
        "leaf flags" 1 1,
        "leaf count" 2 2,
        "leaf prefix" 4 2,
        "leaf blocks" 6 2,
        "leaf blocks offset" 8 2,
        "leaf cells offset" 10 2,
        "leaf net count" 12 2,
        "leaf alignment" 14 1,
        "leaf reserved" 15 1,
        "leaf first hint" 16 4,
    /// A cell of a leaf; key and value are mutated as bytes of the page.
    CELL:
        "cell key field" 0 2,
        "cell value field" 2 2,
        "cell key" 4 8,
    /// The header of a branch.
    BRANCH:
        "branch kind" 0 1,
        "branch level" 1 1,
        "branch separators" 2 2,
        "branch prefix" 4 2,
        "branch hints" 6 2,
        "branch heads offset" 8 2,
        "branch children offset" 10 2,
        "branch counts offset" 12 2,
        "branch slots offset" 14 2,
        "branch prefix offset" 16 2,
        "branch separators offset" 18 2,
        "branch flags" 20 1,
        "branch reserved" 21 3,
        "branch prefix start" 24 40,
        "branch first hint" 64 4,
    /// A child of a branch.
    CHILD:
        "child extent" 0 4,
        "child slot" 4 3,
        "child flags" 7 1,
    /// An overflow reference.
    REFERENCE:
        "reference extent" 0 4,
        "reference slot" 4 4,
        "reference length" 8 4,
        "reference reserved" 12 4,
        "reference checksum" 16 8,
    /// A description in the catalog.
    DESCRIPTION:
        "description version" 0 1,
        "description flags" 1 1,
        "description alignment" 2 1,
        "description merge operator" 3 1,
        "description table" 4 4,
        "description root flags" 8 1,
        "description level" 9 1,
        "description reserved" 10 2,
        "description extent" 12 4,
        "description slot" 16 4,
        "description entries" 20 8,
        "description key type length" 28 2,
        "description value type length" 30 2,
        "description function's name" 32 8,
    /// A range of a table, in its description.
    RANGE:
        "range bound length" 0 4,
        "range first bytes" 4 8,
    /// A run of a range.
    RUN:
        "run count before, or a run's end" -1 1,
        "run root flags" 0 1,
        "run level" 1 1,
        "run reserved" 2 2,
        "run extent" 4 4,
        "run slot" 8 4,
        "run entries" 12 8,
        "run filter extent" 20 4,
        "run filter slot" 24 4,
        "run filter length" 28 4,
        "run filter reserved" 32 4,
        "run filter checksum" 36 8,
    /// The header of a log segment.
    SEGMENT:
        "segment magic" 0 8,
        "segment version" 8 4,
        "segment features" 12 4,
        "segment uuid" 16 16,
        "segment number" 32 8,
        "segment salt" 40 8,
        "segment reserved" 48 8,
        "segment checksum" 56 8,
    /// The header of a log record, and the first bytes of its payload.
    RECORD:
        "record checksum" 0 8,
        "record length" 8 4,
        "record kind" 12 1,
        "record zero" 13 3,
        "record previous" 16 8,
        "record sequence" 24 8,
        "record synced up to" 32 8,
        "record payload checksum" 40 8,
        "record operations" 48 4,
        "record part" 52 4,
        "operation kind" 56 1,
        "operation table" 57 1,
        "operation key length" 58 1,
        "operation value length" 59 1,
        "operation bytes" 60 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own() {
        let mut names: Vec<&str> = ALL.iter().copied().flatten().map(|field| field.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
