//! How much memory the names of an XML text take where the parser puts them together, found out before the text is parsed: it writes the
//! namespace before each attribute of a tag, keeps the subject with each, and namespace, base and language with each element that is open; and
//! writes all namespaces into each element that stands directly in an XML literal. Each is a product of what a short text has.
//!
//! (1) Attributes begin and end where the parser has them do so. (2) What is counted is never less than what is put together, but for a small
//! factor: of namespaces, bases and subjects the longest so far stands for all.

/// Goes over the start tags of a text.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The tag at hand.
    tag: Tag,
    /// Bytes of the longest value so far that is put together with others.
    longest_bytes: u64,
    /// Of each element that is open.
    open: Vec<Element>,
    are_too_long: bool,
}

#[derive(Clone, Debug, Default)]
struct Tag {
    /// What stands outside of quotation marks since the last value.
    name: Vec<u8>,
    /// Whether a space is behind it.
    is_name_ended: bool,
    /// The beginning of the value.
    value: Vec<u8>,
    value_bytes: u64,
    /// Bytes that entities had come to when the value began.
    expanded_before: u64,
    attributes: u64,
    element: Element,
}

#[derive(Clone, Copy, Debug, Default)]
struct Element {
    /// Bytes of the namespaces that it declares.
    declared_bytes: u64,
    /// Whether what it holds is an XML literal.
    is_literal: bool,
    /// The elements directly in it.
    children: u64,
}

impl Names {
    /// A start tag begins.
    pub fn begin_tag(&mut self) {
        self.tag = Tag::default();
    }

    /// Goes over a byte of a start tag that is within `quote`, or outside if that is 0. Entities have come to `expanded_bytes` so far.
    pub fn take(&mut self, quote: u8, byte: u8, expanded_bytes: u64) {
        let tag = &mut self.tag;
        match (quote, byte) {
            (0, b'"' | b'\'') => {
                tag.value.clear();
                tag.value_bytes = 0;
                tag.expanded_before = expanded_bytes;
            }
            (0, b' ' | b'\t' | b'\r' | b'\n' | b'=') => tag.is_name_ended = true,
            (0, _) => {
                if tag.is_name_ended {
                    tag.name.clear();
                    tag.is_name_ended = false;
                }
                if tag.name.len() < NAME_BYTES_MAX {
                    tag.name.push(byte);
                }
            }
            (quote, byte) if quote == byte => self.end_value(expanded_bytes),
            _ => {
                tag.value_bytes += 1;
                if tag.value.len() < VALUE_BYTES_MAX {
                    tag.value.push(byte);
                }
            }
        }
    }

    fn end_value(&mut self, expanded_bytes: u64) {
        let tag = &mut self.tag;
        let bytes = tag.value_bytes + expanded_bytes.saturating_sub(tag.expanded_before);
        let local_name = tag.name.rsplit(|&byte| byte == b':').next().unwrap_or_default();
        if tag.name.starts_with(b"xml") || IDENTIFIERS.contains(&local_name) {
            self.longest_bytes = self.longest_bytes.max(bytes);
        }
        if tag.name.starts_with(b"xmlns") {
            tag.element.declared_bytes += bytes + tag.name.len() as u64;
        }
        if local_name == b"parseType" && !matches!(&tag.value[..], b"Resource" | b"Collection") {
            tag.element.is_literal = true;
        }
        tag.attributes += 1;
        tag.is_name_ended = true;
    }

    /// A start tag ends; `is_closed` if the element ends with it.
    pub fn end_tag(&mut self, is_closed: bool) {
        let Tag { attributes, element, .. } = self.tag;
        let held = self.longest_bytes.saturating_mul(attributes + self.open.len() as u64 + 1);
        let declared: u64 =
            self.open.iter().map(|element| element.declared_bytes).sum::<u64>() + element.declared_bytes;
        let written = self.open.last_mut().map_or(0, |parent| {
            parent.children += 1;
            if parent.is_literal { declared.saturating_mul(parent.children) } else { 0 }
        });
        self.are_too_long |= held > HELD_BYTES_MAX || written > HELD_BYTES_MAX;
        if !is_closed {
            self.open.push(element);
        }
    }

    /// An end tag ends.
    pub fn end_element(&mut self) {
        self.open.pop();
    }

    /// Whether they come to more than any text may have.
    pub fn are_too_long(&self) -> bool {
        self.are_too_long
    }
}

/// What is wrong with a text in which they are.
pub fn message(line: u64) -> String {
    format!(
        "line {line}: the names of the document take too much memory where they are put together: namespace, base or subject times the attributes of \
         a tag and the elements around it, or namespaces times the elements of an XML literal, are more than {} MiB; shorten the names, or \
         divide the element",
        HELD_BYTES_MAX >> 20
    )
}

/// Attributes whose values are kept with others.
const IDENTIFIERS: [&[u8]; 5] = [b"about", b"ID", b"nodeID", b"resource", b"annotation"];
/// As much of a name as tells what it is.
const NAME_BYTES_MAX: usize = 256;
const VALUE_BYTES_MAX: usize = 16;
/// Names of a few kilobytes, in tags of thousands of attributes.
const HELD_BYTES_MAX: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::super::{Depth, XmlDepth};

    fn is_too_long(text: &str) -> bool {
        let mut depth = XmlDepth::default();
        let is_too_long = depth.is_too_deep(text.as_bytes());
        assert!(!is_too_long || depth.message().contains("names of the document"), "{}", depth.message());
        is_too_long
    }

    fn attributes(count: usize) -> String {
        (0..count).map(|number| format!(" n:a{number}='x'")).collect()
    }

    #[test]
    fn a_long_name_times_many_attributes_is_too_long_wherever_it_stands() {
        let (long, short) = ("x".repeat(100_000), "x".repeat(100));
        for text in [
            "<a xmlns:n='@'#/>",
            "<a#\n xmlns:n = \"@\" />",
            "<a xmlns:n='@'><b#/></a>",
            "<a xmlns='@'><b#/></a>",
            "<a r:about='@'#/>",
            "<a xml:base='@'#/>",
            "<a xml:lang='@'#>",
            "<a><n:b r:resource='@'#/></a>",
        ] {
            let with = |name: &str, count| text.replace('@', name).replace('#', &attributes(count));
            assert!(is_too_long(&with(&long, 400)), "{text}");
            assert!(!is_too_long(&with(&long, 200)), "{text}");
            assert!(!is_too_long(&with(&short, 10_000)), "{text}");
        }
        // These go with nothing else.
        for text in ["<a n:text='@'#/>", "<a>@<b#/></a>", "<a n='about=' m='@'#/>"] {
            assert!(!is_too_long(&text.replace('@', &long).replace('#', &attributes(1_000))), "{text}");
        }
    }

    #[test]
    fn entities_count_where_names_refer_to_them() {
        let entity = format!("<!DOCTYPE a [<!ENTITY e '{0}'><!ENTITY e \"{0}\"> ]>", "x".repeat(100_000));
        assert!(is_too_long(&format!("{entity}<a xmlns:n='&e;'{}/>", attributes(400))));
        assert!(!is_too_long(&format!("{entity}<a xmlns:n='&e;'{}/>", attributes(200))));
    }

    #[test]
    fn names_count_with_every_element_that_is_open_and_not_with_those_that_are_closed() {
        let base = format!("<a xml:base='{}'>", "x".repeat(100_000));
        assert!(is_too_long(&format!("{base}{}", "<b>".repeat(400))));
        assert!(!is_too_long(&format!("{base}{}", "<b></b><b/>".repeat(40_000))));
    }

    #[test]
    fn namespaces_count_with_each_element_of_a_literal_alone() {
        let begin = format!("<a xmlns:n='{}'><p r:parseType='@'>", "x".repeat(10_000));
        for (kind, expected) in
            [("Literal", true), ("Other", true), ("&#76;iteral", true), ("Resource", false), ("Collection", false)]
        {
            assert_eq!(
                is_too_long(&format!("{}{}", begin.replace('@', kind), "<b/>".repeat(4_000))),
                expected,
                "{kind}"
            );
            assert!(!is_too_long(&format!("{}{}", begin.replace('@', kind), "<b/>".repeat(3_000))), "{kind}");
        }
        let literals = "<p r:parseType='Literal'><b/></p>".repeat(4_000);
        assert!(!is_too_long(&format!("<a xmlns:n='{}'>{literals}", "x".repeat(10_000))));
    }
}
