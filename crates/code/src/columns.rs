//! The units of columns, and conversion between them.

/// The unit of the columns of a file. Stored by its position here: never reorder, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Columns {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16.
    Utf16,
    /// Characters of Unicode.
    Utf32,
}

impl Columns {
    /// The count with this number.
    pub(crate) fn of(number: usize) -> Option<Columns> {
        [Columns::Utf8, Columns::Utf16, Columns::Utf32].get(number).copied()
    }

    /// Its name, as in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Columns::Utf8 => "utf8",
            Columns::Utf16 => "utf16",
            Columns::Utf32 => "utf32",
        }
    }

    /// The width of a character.
    pub(crate) fn width(self, character: char) -> usize {
        match self {
            Columns::Utf8 => character.len_utf8(),
            Columns::Utf16 => character.len_utf16(),
            Columns::Utf32 => 1,
        }
    }
}

/// A column of a line, counted otherwise. A column within a character is that of the character; one after the line is
/// as far after it.
#[must_use]
pub fn convert(line: &str, column: u32, from: Columns, to: Columns) -> u32 {
    if from == to || line.is_ascii() {
        return column;
    }
    let (mut at, mut counted) = (0, 0);
    for character in line.chars() {
        if at + from.width(character) > column as usize {
            return u32::try_from(counted).unwrap_or(u32::MAX);
        }
        at += from.width(character);
        counted += to.width(character);
    }
    u32::try_from(counted + (column as usize - at)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_bytes_units_and_characters() {
        let line = "let ä = \"🦀\"; x";
        // The last letter is behind one character of two bytes and one of four.
        assert_eq!(line.find('x'), Some(17));
        for (from, at) in [(Columns::Utf8, 17), (Columns::Utf16, 14), (Columns::Utf32, 13)] {
            for (to, expected) in [(Columns::Utf8, 17), (Columns::Utf16, 14), (Columns::Utf32, 13)] {
                assert_eq!(convert(line, at, from, to), expected, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn columns_within_characters_and_behind_the_line_are_bounded() {
        assert_eq!(convert("🦀", 1, Columns::Utf16, Columns::Utf8), 0);
        assert_eq!(convert("🦀", 2, Columns::Utf16, Columns::Utf8), 4);
        assert_eq!(convert("🦀", 5, Columns::Utf16, Columns::Utf8), 7);
        assert_eq!(convert("abc", 9, Columns::Utf16, Columns::Utf8), 9);
        assert_eq!(convert("é", u32::MAX, Columns::Utf8, Columns::Utf16), u32::MAX - 1);
    }
}
