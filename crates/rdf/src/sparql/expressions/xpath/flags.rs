//! The flags of `REGEX` and `REPLACE`: XPath and XQuery Functions 3.1, 5.6.2.

/// What the flags say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flags {
    /// `s`: `.` is every character.
    pub dot_is_all: bool,
    /// `m`: `^` and `$` are the ends of lines.
    pub has_lines: bool,
    /// `i`.
    pub ignores_case: bool,
    /// `x`: white space of the pattern is removed, but for that in classes.
    pub ignores_space: bool,
    /// `q`: each character stands for itself.
    pub is_literal: bool,
}

impl Flags {
    /// The flags, or the letter that is none.
    pub(crate) fn parse(letters: &str) -> Result<Self, char> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            match letter {
                's' => flags.dot_is_all = true,
                'm' => flags.has_lines = true,
                'i' => flags.ignores_case = true,
                'x' => flags.ignores_space = true,
                'q' => flags.is_literal = true,
                other => return Err(other),
            }
        }
        Ok(flags)
    }
}
