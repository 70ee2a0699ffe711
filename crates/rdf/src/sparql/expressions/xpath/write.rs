//! Writes a pattern for the crate `regex`, which has neither XML Schema's escapes nor its classes: each class is
//! written as its ranges.

use std::fmt::Write;

use super::pattern::Node;
use super::sets::Set;

/// The pattern in the syntax of the crate `regex`. Requires: it has no back-reference.
///
/// With `has_lines`, `^` and `$` match around each `\n`: after one that ends the text too, where XPath has no line.
pub(crate) fn written(node: &Node, has_lines: bool) -> String {
    let mut out = String::new();
    write(node, has_lines, &mut out);
    out
}

fn write(node: &Node, has_lines: bool, out: &mut String) {
    match node {
        Node::Set(set) => write_set(set, out),
        Node::Start => out.push_str(if has_lines { "(?m:^)" } else { "^" }),
        Node::End => out.push_str(if has_lines { "(?m:$)" } else { "$" }),
        Node::Concatenation(nodes) => {
            for node in nodes {
                match node {
                    Node::Alternation(_) => write_apart(node, has_lines, out),
                    _ => write(node, has_lines, out),
                }
            }
        }
        Node::Alternation(branches) => {
            for (index, branch) in branches.iter().enumerate() {
                if index > 0 {
                    out.push('|');
                }
                write(branch, has_lines, out);
            }
        }
        Node::Group(inner, _) => {
            out.push('(');
            write(inner, has_lines, out);
            out.push(')');
        }
        Node::Repetition { node, min, max, is_greedy } => {
            match **node {
                Node::Set(_) | Node::Group(..) => write(node, has_lines, out),
                _ => write_apart(node, has_lines, out),
            }
            write_times(*min, *max, out);
            if !is_greedy {
                out.push('?');
            }
        }
        Node::BackReference(number) => unreachable!("\\{number} is not for this engine"),
    }
}

fn write_apart(node: &Node, has_lines: bool, out: &mut String) {
    out.push_str("(?:");
    write(node, has_lines, out);
    out.push(')');
}

fn write_times(min: u32, max: Option<u32>, out: &mut String) {
    let written = match (min, max) {
        (0, Some(1)) => write!(out, "?"),
        (0, None) => write!(out, "*"),
        (1, None) => write!(out, "+"),
        (min, None) => write!(out, "{{{min},}}"),
        (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
        (min, Some(max)) => write!(out, "{{{min},{max}}}"),
    };
    written.expect("a string takes all that is written");
}

fn write_set(set: &Set, out: &mut String) {
    match set.ranges() {
        [] => out.push_str("[^\\x{0}-\\x{10FFFF}]"),
        [one] if one.start() == one.end() => regex_syntax::escape_into(one.start().encode_utf8(&mut [0; 4]), out),
        ranges => {
            out.push('[');
            for range in ranges {
                write_char(range.start(), out);
                if range.start() < range.end() {
                    out.push('-');
                    write_char(range.end(), out);
                }
            }
            out.push(']');
        }
    }
}

/// A character of a class.
fn write_char(character: char, out: &mut String) {
    if character.is_ascii_alphanumeric() {
        out.push(character);
    } else {
        write!(out, "\\x{{{:X}}}", u32::from(character)).expect("a string takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::Flags;
    use super::super::pattern::parse;
    use super::*;

    #[test]
    fn a_plain_pattern_is_written_as_it_is() {
        for (pattern, flags, expected) in [
            ("^abc", "", "^abc"),
            ("a(b|c)*?d{2,3}$", "", "a(b|c)*?d{2,3}$"),
            ("(?:a|b)+", "", "(?:a|b)+"),
            ("a|", "", "a|"),
            ("^*", "", "(?:^)*"),
            ("a.b", "q", "a\\.b"),
            ("[a-z-[aeiou]]", "", "[b-df-hj-np-tv-z]"),
            ("[a-[a]]", "", "[^\\x{0}-\\x{10FFFF}]"),
            ("k", "i", "[Kk\\x{212A}]"),
            ("a b[ c]", "x", "ab[\\x{20}c]"),
            ("^a", "m", "(?m:^)a"),
        ] {
            let flags = Flags::parse(flags).expect("flags");
            let parsed = parse(pattern, flags).expect(pattern);
            assert_eq!(written(&parsed.node, flags.has_lines), expected, "{pattern}");
            regex::Regex::new(expected).expect(expected);
        }
    }
}
