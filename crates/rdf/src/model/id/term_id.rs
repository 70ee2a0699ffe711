//! [`TermId`] and its parts.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, LiteralRef, NamedNodeRef, Term, TermRef};
use oxsdatatypes::{Date, DateTime, Decimal, Double, Float, Time};

use crate::model::id::short_text::{PAYLOAD_BITS, PAYLOAD_MAX, ShortText};
use crate::model::id::{number, text, time};

/// The id of a term in one store, 64 bits: a tag, and either the term itself if it is short (inline), or its number in
/// the dictionary. Two terms are the same if and only if their ids are. Inline ids of one tag are in the order of the
/// terms' values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub(super) u64);

/// The kind of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// No term: the default graph.
    DefaultGraph,
    /// An IRI.
    Iri,
    /// A blank node.
    BlankNode,
    /// A literal.
    Literal,
    /// A triple term.
    Triple,
}

/// The value of an inline literal.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InlineValue {
    /// `xsd:boolean`.
    Boolean(bool),
    /// `xsd:integer` and the types derived from it.
    Integer(i64),
    /// `xsd:decimal`.
    Decimal(Decimal),
    /// `xsd:double`.
    Double(Double),
    /// `xsd:float`.
    Float(Float),
    /// `xsd:dateTime`.
    DateTime(DateTime),
    /// `xsd:date`.
    Date(Date),
    /// `xsd:time`.
    Time(Time),
    /// `xsd:gYear`.
    Year(i64),
    /// `xsd:string`.
    String(ShortText),
    /// `rdf:langString`: the language, two letters, and the text.
    LangString(ShortText, ShortText),
}

/// What a term that is in its number has besides its label or its form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InlineForm {
    Blank,
    Text,
    LangText(ShortText),
    Typed(NamedNodeRef<'static>),
}

/// The first byte of a number. Stored: never renumber, only append; at most 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(super) u8);

impl Tag {
    pub(crate) const DEFAULT_GRAPH: Self = Self(0);
    pub(crate) const IRI: Self = Self(1);
    pub(crate) const LABELLED_BLANK: Self = Self(2);
    pub(crate) const BLANK: Self = Self(3);
    pub(crate) const TRIPLE: Self = Self(4);
    pub(crate) const LITERAL: Self = Self(5);
    pub(crate) const STRING: Self = Self(6);
    pub(crate) const LANG_STRING: Self = Self(7);
    pub(crate) const BOOLEAN: Self = Self(8);
    /// The integers, one tag for each row of `number::INTEGERS`.
    pub(crate) const INTEGER_FIRST: Self = Self(9);
    pub(crate) const INTEGER_LAST: Self = Self(21);
    pub(crate) const DECIMAL: Self = Self(22);
    pub(crate) const FLOAT: Self = Self(23);
    pub(crate) const DOUBLE: Self = Self(24);
    pub(crate) const DATE_TIME: Self = Self(25);
    pub(crate) const DATE: Self = Self(26);
    pub(crate) const TIME: Self = Self(27);
    pub(crate) const YEAR: Self = Self(28);
    pub(crate) const LAST: Self = Self::YEAR;

    /// Those whose terms are in the dictionary.
    pub(crate) const DICTIONARY: [Self; 4] = [Self::IRI, Self::LABELLED_BLANK, Self::TRIPLE, Self::LITERAL];

    pub(crate) fn is_of_dictionary(self) -> bool {
        matches!(self, Self::IRI | Self::LABELLED_BLANK | Self::TRIPLE | Self::LITERAL)
    }

    pub(crate) fn to_byte(self) -> u8 {
        self.0
    }

    /// `None` if there is no such tag.
    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        (byte <= Self::LAST.0).then_some(Self(byte))
    }

    fn is_integer(self) -> bool {
        (Self::INTEGER_FIRST.0..=Self::INTEGER_LAST.0).contains(&self.0)
    }
}

impl TermId {
    /// The default graph, for ids of graphs.
    pub const DEFAULT_GRAPH: Self = Self(0);

    /// Requires: `payload` has 56 bits.
    pub(crate) fn new(tag: Tag, payload: u64) -> Self {
        debug_assert!(payload <= PAYLOAD_MAX && tag.0 <= Tag::LAST.0);
        Self((tag.0 as u64) << PAYLOAD_BITS | payload)
    }

    /// The id of a term that is short enough to be inline. It needs no store.
    pub fn of_inline(term: TermRef<'_>) -> Option<Self> {
        match term {
            TermRef::Literal(literal) => Self::of_inline_literal(literal),
            TermRef::BlankNode(node) => text::parse_blank(node.as_str()).map(|number| Self::new(Tag::BLANK, number)),
            TermRef::NamedNode(_) | TermRef::Triple(_) => None,
        }
    }

    /// Returns a new blank node that no store contains: ids count up from a random start in each process.
    pub fn new_blank() -> Self {
        Self::new_blanks(1)
    }

    /// The first of `count` blank nodes that no store has, whose payloads follow each other.
    pub(crate) fn new_blanks(count: u64) -> Self {
        static NEXT: OnceLock<AtomicU64> = OnceLock::new();
        let next = NEXT.get_or_init(|| AtomicU64::new(RandomState::new().hash_one(std::process::id())));
        // Relaxed: nothing is read through the number.
        let first = next.fetch_add(count, Ordering::Relaxed) & PAYLOAD_MAX;
        if first + count <= PAYLOAD_MAX { Self::new(Tag::BLANK, first) } else { Self::new_blanks(count) }
    }

    fn of_inline_literal(literal: LiteralRef<'_>) -> Option<Self> {
        let value = literal.value();
        if let Some(language) = literal.language() {
            let plain = literal.direction().is_none();
            let payload = if plain { text::parse_lang_string(value, language) } else { None };
            return payload.map(|payload| Self::new(Tag::LANG_STRING, payload));
        }
        let name = literal.datatype().as_str().strip_prefix(XSD)?;
        let (tag, payload) = match name {
            "string" => (Tag::STRING, text::parse_string(value)?),
            "boolean" => (Tag::BOOLEAN, text::parse_boolean(value)?),
            "decimal" => (Tag::DECIMAL, number::parse_decimal(value)?),
            "double" => (Tag::DOUBLE, number::parse_double(value)?),
            "float" => (Tag::FLOAT, number::parse_float(value)?),
            "dateTime" => (Tag::DATE_TIME, time::parse_date_time(value)?),
            "date" => (Tag::DATE, time::parse_date(value)?),
            "time" => (Tag::TIME, time::parse_time(value)?),
            "gYear" => (Tag::YEAR, time::parse_year(value)?),
            _ => {
                let (index, payload) = number::parse_integer(name, value)?;
                (Tag(Tag::INTEGER_FIRST.0 + index), payload)
            }
        };
        Some(Self::new(tag, payload))
    }

    /// The kind of the term.
    pub fn kind(self) -> TermKind {
        match self.tag() {
            Tag::DEFAULT_GRAPH => TermKind::DefaultGraph,
            Tag::IRI => TermKind::Iri,
            Tag::LABELLED_BLANK | Tag::BLANK => TermKind::BlankNode,
            Tag::TRIPLE => TermKind::Triple,
            _ => TermKind::Literal,
        }
    }

    /// Whether the term is in the id, and not in the dictionary.
    pub fn is_inline(self) -> bool {
        !self.tag().is_of_dictionary() && self != Self::DEFAULT_GRAPH
    }

    /// The term, if it is inline.
    pub fn inline_term(self) -> Option<Term> {
        if self.tag().is_of_dictionary() {
            return None;
        }
        let mut text = String::with_capacity(INLINE_FORM_BYTES);
        let form = self.write_inline(&mut text)?;
        // Terms have no spare capacity, so the length of a text is the memory that it uses.
        text.shrink_to_fit();
        Some(match form {
            InlineForm::Blank => BlankNode::new_unchecked(text).into(),
            InlineForm::Text => Literal::new_simple_literal(text).into(),
            InlineForm::LangText(language) => {
                Literal::new_language_tagged_literal_unchecked(text, language.as_str()).into()
            }
            InlineForm::Typed(datatype) => Literal::new_typed_literal(text, datatype).into(),
        })
    }

    /// Appends the label or the form of the term, if it is in the number, and returns the rest. `None` if it is not;
    /// then something may have been appended.
    pub(crate) fn write_inline(self, out: &mut String) -> Option<InlineForm> {
        let payload = self.payload();
        let tag = self.tag();
        if tag.is_of_dictionary() || tag == Tag::DEFAULT_GRAPH {
            return None;
        }
        match tag {
            Tag::BLANK => {
                text::format_blank(payload, out);
                return Some(InlineForm::Blank);
            }
            Tag::LANG_STRING => {
                let (language, text) = text::format_lang_string(payload)?;
                out.push_str(text.as_str());
                return Some(InlineForm::LangText(language));
            }
            Tag::STRING => {
                out.push_str(text::format_string(payload)?.as_str());
                return Some(InlineForm::Text);
            }
            Tag::BOOLEAN => out.push_str(text::format_boolean(payload)?),
            Tag::DECIMAL => out.push_str(&number::format_decimal(payload)?),
            Tag::DOUBLE => out.push_str(&number::format_double(payload)?),
            Tag::FLOAT => out.push_str(&number::format_float(payload)?),
            Tag::DATE_TIME => time::write_date_time(payload, out)?,
            Tag::DATE => time::write_date(payload, out)?,
            Tag::TIME => time::write_time(payload, out)?,
            Tag::YEAR => time::write_year(payload, out)?,
            _ => write!(out, "{}", number::integer(payload)).expect("a string takes everything"),
        }
        self.inline_datatype().map(InlineForm::Typed)
    }

    /// The value of a literal, if it is inline.
    pub fn inline_value(self) -> Option<InlineValue> {
        let payload = self.payload();
        Some(match self.tag() {
            Tag::STRING => InlineValue::String(text::format_string(payload)?),
            Tag::LANG_STRING => {
                let (language, text) = text::format_lang_string(payload)?;
                InlineValue::LangString(language, text)
            }
            Tag::BOOLEAN => InlineValue::Boolean(payload != 0),
            Tag::DECIMAL => InlineValue::Decimal(number::decimal(payload)?),
            Tag::DOUBLE => InlineValue::Double(number::double(payload).into()),
            Tag::FLOAT => InlineValue::Float(number::float(payload)?.into()),
            Tag::DATE_TIME => InlineValue::DateTime(self.inline_form()?.parse().ok()?),
            Tag::DATE => InlineValue::Date(self.inline_form()?.parse().ok()?),
            Tag::TIME => InlineValue::Time(self.inline_form()?.parse().ok()?),
            Tag::YEAR => InlineValue::Year(payload as i64),
            tag if tag.is_integer() => InlineValue::Integer(number::integer(payload)),
            _ => return None,
        })
    }

    fn inline_form(self) -> Option<String> {
        let mut form = String::with_capacity(INLINE_FORM_BYTES);
        self.write_inline(&mut form)?;
        Some(form)
    }

    /// The datatype of a literal, if it is inline.
    pub fn inline_datatype(self) -> Option<NamedNodeRef<'static>> {
        Some(match self.tag() {
            Tag::STRING => xsd::STRING,
            Tag::LANG_STRING => oxrdf::vocab::rdf::LANG_STRING,
            Tag::BOOLEAN => xsd::BOOLEAN,
            Tag::DECIMAL => xsd::DECIMAL,
            Tag::DOUBLE => xsd::DOUBLE,
            Tag::FLOAT => xsd::FLOAT,
            Tag::DATE_TIME => xsd::DATE_TIME,
            Tag::DATE => xsd::DATE,
            Tag::TIME => xsd::TIME,
            Tag::YEAR => xsd::G_YEAR,
            tag if tag.is_integer() => number::INTEGERS[(tag.0 - Tag::INTEGER_FIRST.0) as usize].datatype,
            _ => return None,
        })
    }

    /// The bits of the id.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The id of these bits. `None` if the tag is unknown.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let id = Self(bits);
        let known = id.tag().0 <= Tag::LAST.0 && (id.tag() != Tag::DEFAULT_GRAPH || bits == 0);
        known.then_some(id)
    }

    /// The id that [`TermId::to_bits`] returned these bits of, even one that a damaged key has. `None` if the tag is
    /// unknown.
    pub(crate) fn from_own_bits(bits: u64) -> Option<Self> {
        let id = Self(bits);
        (id.tag().0 <= Tag::LAST.0).then_some(id)
    }

    pub(crate) fn tag(self) -> Tag {
        Tag((self.0 >> PAYLOAD_BITS) as u8)
    }

    pub(crate) fn payload(self) -> u64 {
        self.0 & PAYLOAD_MAX
    }
}

impl std::fmt::Debug for TermId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inline_term() {
            Some(term) => write!(out, "TermId({term})"),
            None => write!(out, "TermId({}:{})", self.tag().0, self.payload()),
        }
    }
}

/// As long as nearly all forms are of what is in numbers.
const INLINE_FORM_BYTES: usize = 32;
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
