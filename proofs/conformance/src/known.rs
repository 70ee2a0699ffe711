//! The committed list of tests that fail, each with the reason.

use std::collections::BTreeMap;

/// The list: a test's name and why it fails, a line each; lines that begin with `#` are for the reader.
const LIST: &str = include_str!("../known-failures.txt");

/// Tests that are known to fail.
pub struct Known(BTreeMap<&'static str, &'static str>);

impl Known {
    /// The committed list.
    ///
    /// # Errors
    /// If a line has no reason, or a test is listed twice.
    pub fn committed() -> Result<Self, String> {
        Self::parse(LIST)
    }

    /// A list.
    ///
    /// # Errors
    /// As [`Known::committed`].
    pub fn parse(list: &'static str) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (test, reason) =
                line.split_once(' ').ok_or_else(|| format!("known-failures.txt: `{line}` has no reason"))?;
            if known.insert(test, reason.trim()).is_some() {
                return Err(format!("known-failures.txt: {test} is listed twice"));
            }
        }
        Ok(Self(known))
    }

    /// Why a test fails, if that is known.
    pub fn reason(&self, test: &str) -> Option<&'static str> {
        self.0.get(test).copied()
    }

    /// The tests of the list.
    pub fn tests(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_list_gives_each_test_once_and_with_a_reason() {
        assert!(Known::committed().is_ok());
    }

    #[test]
    fn a_test_without_a_reason_is_refused() {
        assert!(
            Known::parse("# why\nhttp://test/1 because\n")
                .is_ok_and(|known| known.reason("http://test/1") == Some("because"))
        );
        assert!(Known::parse("http://test/1\n").is_err());
        assert!(Known::parse("http://test/1 a\nhttp://test/1 b\n").is_err());
    }
}
