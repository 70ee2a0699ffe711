//! Sets of characters, as the classes of XML Schema's patterns name them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::blocks::block;

/// A set of characters.
pub(crate) type Set = ClassUnicode;

pub(crate) fn of_ranges(ranges: &[(char, char)]) -> Set {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

pub(crate) fn of_char(character: char) -> Set {
    of_ranges(&[(character, character)])
}

pub(crate) fn every_char() -> Set {
    of_ranges(&[('\0', char::MAX)])
}

/// What `.` stands for without the flag `s`.
pub(crate) fn within_a_line() -> Set {
    negated(of_ranges(&[('\n', '\n'), ('\r', '\r')]))
}

pub(crate) fn negated(mut set: Set) -> Set {
    set.negate();
    set
}

/// What a letter after `\` stands for, if it stands for more than one character: `\s`, `\i`, `\c`, `\d`, `\w` and their
/// complements.
pub(crate) fn of_escape(letter: char) -> Option<Set> {
    let set = match letter.to_ascii_lowercase() {
        's' => of_ranges(&[(' ', ' '), ('\t', '\t'), ('\n', '\n'), ('\r', '\r')]),
        'i' => of_ranges(NAME_START),
        'c' => {
            let mut set = of_ranges(NAME_START);
            set.union(&of_ranges(NAME_MORE));
            set
        }
        'd' => of_category("Nd")?,
        'w' => {
            let mut others = of_category("P")?;
            others.union(&of_category("Z")?);
            others.union(&of_category("C")?);
            negated(others)
        }
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { negated(set) } else { set })
}

/// What `\p{name}` stands for: a category of characters or, after `Is`, a block.
pub(crate) fn of_property(name: &str) -> Option<Set> {
    match name.strip_prefix("Is") {
        Some(name) => block(name).map(of_ranges),
        None => of_category(name),
    }
}

fn of_category(name: &str) -> Option<Set> {
    if !CATEGORIES.contains(&name) {
        return None;
    }
    let hir = regex_syntax::Parser::new().parse(&format!("\\p{{{name}}}")).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        // A category of one character is a literal; there is `Zl`, and `Zp`.
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok()?.chars().next().map(of_char),
        _ => None,
    }
}

/// Adds the case-variants of the characters of a set: F&O 3.1, 5.6.1.1. Two characters are variants of each other if
/// they are the same in lower case, or in upper case. (Dotless `ı` is one of `I` by that.)
pub(crate) fn add_case_variants(set: &mut Set) {
    let variants = case_variants();
    let mut added = Vec::new();
    for range in set.ranges() {
        for others in variants.range(range.start()..=range.end()).map(|(_, others)| others) {
            added.extend(others.iter().map(|&other| ClassUnicodeRange::new(other, other)));
        }
    }
    if !added.is_empty() {
        set.union(&ClassUnicode::new(added));
    }
}

/// Whether two characters are the same but for their case.
pub(crate) fn are_case_variants(left: char, right: char) -> bool {
    left == right || case_variants().get(&left).is_some_and(|others| others.contains(&right))
}

/// The other case-variants of each character that has any.
fn case_variants() -> &'static BTreeMap<char, Vec<char>> {
    static VARIANTS: OnceLock<BTreeMap<char, Vec<char>>> = OnceLock::new();
    VARIANTS.get_or_init(|| {
        let mut by_case: BTreeMap<(bool, String), Vec<char>> = BTreeMap::new();
        for character in '\0'..=LAST_CASED {
            let (lower, upper) = (character.to_lowercase(), character.to_uppercase());
            if lower.len() == 1 && upper.len() == 1 && lower.clone().eq([character]) && upper.clone().eq([character]) {
                continue;
            }
            by_case.entry((false, lower.to_string())).or_default().push(character);
            by_case.entry((true, upper.to_string())).or_default().push(character);
        }
        let mut variants: BTreeMap<char, Vec<char>> = BTreeMap::new();
        for group in by_case.values() {
            for &character in group {
                let others = group.iter().filter(|&&other| other != character);
                let known = variants.entry(character).or_default();
                for &other in others {
                    if !known.contains(&other) {
                        known.push(other);
                    }
                }
            }
        }
        variants.retain(|_, others| !others.is_empty());
        variants
    })
}

/// No character above the second plane has a case.
const LAST_CASED: char = '\u{1FFFF}';

/// The categories that XML Schema names. It has no `Cs`: a surrogate is not a character.
const CATEGORIES: [&str; 36] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C", "Cc", "Cf", "Co", "Cn",
];

/// `NameStartChar` of XML 1.0, fifth edition.
const NAME_START: &[(char, char)] = &[
    (':', ':'),
    ('A', 'Z'),
    ('_', '_'),
    ('a', 'z'),
    ('\u{C0}', '\u{D6}'),
    ('\u{D8}', '\u{F6}'),
    ('\u{F8}', '\u{2FF}'),
    ('\u{370}', '\u{37D}'),
    ('\u{37F}', '\u{1FFF}'),
    ('\u{200C}', '\u{200D}'),
    ('\u{2070}', '\u{218F}'),
    ('\u{2C00}', '\u{2FEF}'),
    ('\u{3001}', '\u{D7FF}'),
    ('\u{F900}', '\u{FDCF}'),
    ('\u{FDF0}', '\u{FFFD}'),
    ('\u{10000}', '\u{EFFFF}'),
];

/// What `NameChar` has besides.
const NAME_MORE: &[(char, char)] =
    &[('-', '-'), ('.', '.'), ('0', '9'), ('\u{B7}', '\u{B7}'), ('\u{300}', '\u{36F}'), ('\u{203F}', '\u{2040}')];

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(set: &Set, character: char) -> bool {
        set.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character))
    }

    #[test]
    fn every_category_of_xml_schema_is_known_and_they_cover_all_characters() {
        let mut all = of_ranges(&[]);
        for name in CATEGORIES {
            let set = of_property(name).unwrap_or_else(|| panic!("{name}"));
            assert!(!set.ranges().is_empty(), "{name}");
            if name.len() == 1 {
                all.union(&set);
            }
        }
        assert_eq!(all, every_char(), "unassigned characters are of category C");
        assert!(of_property("Cs").is_none() && of_property("Latin").is_none() && of_property("IsLatin").is_none());
    }

    #[test]
    fn words_have_symbols_and_marks_and_no_punctuation() {
        let word = of_escape('w').expect("a class");
        for character in ['a', '7', '+', '$', '\u{301}', 'я', '語'] {
            assert!(contains(&word, character), "{character}");
        }
        for character in ['_', '-', ' ', '.', '\n', '\u{378}'] {
            assert!(!contains(&word, character), "{character:?}");
        }
    }

    #[test]
    fn variants_are_the_same_in_lower_or_upper_case() {
        for (left, right) in [('k', 'K'), ('k', '\u{212A}'), ('s', 'ſ'), ('ß', 'ẞ'), ('i', 'ı'), ('σ', 'ς'), ('Ж', 'ж')]
        {
            assert!(are_case_variants(left, right) && are_case_variants(right, left), "{left} {right}");
        }
        for (left, right) in [('a', 'b'), ('i', 'İ'), ('1', '2')] {
            assert!(!are_case_variants(left, right), "{left} {right}");
        }
        let mut set = of_ranges(&[('k', 'k')]);
        add_case_variants(&mut set);
        assert_eq!(set, of_ranges(&[('K', 'K'), ('k', 'k'), ('\u{212A}', '\u{212A}')]));
    }
}
