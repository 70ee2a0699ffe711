//! Which prefixes can be declared.

use crate::xml::is_nc_name;

/// Whether Turtle, TriG and SPARQL can declare a prefix: `PN_PREFIX` of their grammars, or the empty one. Namespaces of
/// other prefixes can be stored; [`dump`](crate::dump) writes their IRIs in full.
pub fn is_turtle_prefix(prefix: &str) -> bool {
    // The letters are those of XML, which may begin with `_` and end with a dot besides.
    prefix.is_empty() || (is_nc_name(prefix) && !prefix.starts_with('_') && !prefix.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_the_grammar() {
        for prefix in ["", "ex", "é", "a.b-c_d", "a1", "a\u{b7}", "\u{10000}", "xml"] {
            assert!(is_turtle_prefix(prefix), "{prefix}");
        }
        for prefix in ["µ", "m²", "ª", "_", "_x", "1a", "-a", "a.", ".a", "a b", "a:b", "\u{b7}a", "\u{d7}"] {
            assert!(!is_turtle_prefix(prefix), "{prefix}");
        }
    }
}
