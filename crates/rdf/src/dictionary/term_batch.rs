//! Terms of a batch of statements, all in one text.
//!
//! A term is read and decoded once for as long as the batch has it, and its texts are borrowed from there: no term
//! costs memory of its own. Batches that follow each other keep what they have in common, until it is too much.
//!
//! Invariants: (1) The term at a place has the kind of its number. (2) Every place has its term: the batch is emptied
//! if one cannot be read.

use oxrdf::{BlankNodeRef, LiteralRef, NamedNode, NamedNodeRef, Term, TermRef};

use crate::dictionary::bytes::{self, Stored};
use crate::model::id::{InlineForm, TermId};

/// See the module.
#[derive(Default)]
pub struct TermBatch {
    text: String,
    terms: Vec<Held>,
    /// Terms that are not held as texts: triple terms, directional texts, and what is very long.
    whole: Vec<Term>,
    /// Bytes that these were stored in.
    whole_bytes: usize,
    places: Places,
    /// Terms of the dictionary that are still to be read, and their places.
    pub wanted: Vec<(TermId, u32)>,
    /// Those that are predicates.
    pub wanted_predicates: Vec<(TermId, u32)>,
}

/// One term: its texts lie one behind the other.
#[derive(Clone, Copy)]
struct Held {
    start: u32,
    /// Where the first text ends, and the second begins.
    middle: u32,
    end: u32,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Iri,
    Blank,
    Text,
    /// The second text is the language.
    LangText,
    Typed(NamedNodeRef<'static>),
    /// The second text is the datatype.
    TypedOther,
    /// `middle` is its place among the whole ones.
    Whole,
}

impl TermBatch {
    /// Forgets all terms if there are many.
    pub fn trim(&mut self) {
        if self.text.len() + self.whole_bytes > TEXT_BYTES_MAX || self.terms.len() > TERMS_MAX {
            self.clear();
        }
    }

    /// Forgets all terms.
    pub fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(TEXT_BYTES_MAX);
        self.terms.clear();
        self.whole.clear();
        self.whole_bytes = 0;
        self.places.clear();
        self.wanted.clear();
        self.wanted_predicates.clear();
    }

    /// The place of a term. If it is of the dictionary and new, it is noted as wanted. `None` if the number stands for
    /// no term.
    #[inline]
    pub fn place(&mut self, id: TermId, is_predicate: bool) -> Option<u32> {
        let next = self.terms.len() as u32;
        let place = self.places.find_or_add(id, next);
        if place == next {
            self.add(id, is_predicate)?;
        }
        Some(place)
    }

    fn add(&mut self, id: TermId, is_predicate: bool) -> Option<()> {
        if self.terms.capacity() == 0 {
            // Room for what most lookups give.
            self.terms.reserve(TERMS_FIRST);
            self.wanted.reserve(TERMS_FIRST);
            self.text.reserve(TEXT_BYTES_FIRST);
        }
        let start = self.text.len() as u32;
        let mut held = Held { start, middle: start, end: start, form: Form::Whole };
        if id.tag().is_of_dictionary() {
            let wanted = if is_predicate { &mut self.wanted_predicates } else { &mut self.wanted };
            wanted.push((id, self.terms.len() as u32));
        } else {
            let form = id.write_inline(&mut self.text)?;
            held.middle = self.text.len() as u32;
            held.form = match form {
                InlineForm::Blank => Form::Blank,
                InlineForm::Text => Form::Text,
                InlineForm::LangText(language) => {
                    self.text.push_str(language.as_str());
                    Form::LangText
                }
                InlineForm::Typed(datatype) => Form::Typed(datatype),
            };
            held.end = self.text.len() as u32;
        }
        self.terms.push(held);
        Some(())
    }

    /// Adds an IRI, unless it is there. Requires: none is wanted that is not there.
    pub fn know_iri(&mut self, id: TermId, iri: &str) {
        let next = self.terms.len() as u32;
        if iri.len() <= WHOLE_FROM_BYTES && self.places.find_or_add(id, next) == next {
            self.terms.push(Held { start: 0, middle: 0, end: 0, form: Form::Iri });
            self.fill_iri(next, iri);
        }
    }

    /// Fills a wanted place with the stored bytes of its term, which begins with `namespace` if it has one.
    ///
    /// Requires: the bytes are of the kind that the term's number says.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn fill(&mut self, place: u32, stored: &[u8], namespace: &str) -> Result<(), &'static str> {
        let (form, first, rest, second) = match bytes::take_apart(stored)? {
            _ if stored.len() > WHOLE_FROM_BYTES => return self.fill_whole(place, stored, namespace),
            Stored::DirectedText { .. } | Stored::Triple => return self.fill_whole(place, stored, namespace),
            Stored::Iri(text) => (Form::Iri, text, "", ""),
            Stored::IriInNamespace { rest, .. } => (Form::Iri, namespace, rest, ""),
            Stored::Blank(label) => (Form::Blank, label, "", ""),
            Stored::Text(text) => (Form::Text, text, "", ""),
            Stored::LangText { language, value } => (Form::LangText, value, "", language),
            Stored::TypedKnown { datatype, value } => (Form::Typed(datatype), value, "", ""),
            Stored::Typed { datatype, value } => (Form::TypedOther, value, "", datatype),
        };
        let start = self.text.len() as u32;
        self.text.push_str(first);
        self.text.push_str(rest);
        let middle = self.text.len() as u32;
        self.text.push_str(second);
        self.terms[place as usize] = Held { start, middle, end: self.text.len() as u32, form };
        Ok(())
    }

    /// Fills a place that was wanted with an IRI.
    pub fn fill_iri(&mut self, place: u32, iri: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(iri);
        let end = self.text.len() as u32;
        self.terms[place as usize] = Held { start, middle: end, end, form: Form::Iri };
    }

    #[cold]
    fn fill_whole(&mut self, place: u32, stored: &[u8], namespace: &str) -> Result<(), &'static str> {
        let term = match bytes::take_apart(stored)? {
            Stored::IriInNamespace { rest, .. } => NamedNode::new_unchecked([namespace, rest].concat()).into(),
            _ => bytes::decode(stored)?,
        };
        let middle = self.whole.len() as u32;
        self.whole.push(term);
        self.whole_bytes += stored.len();
        self.terms[place as usize] = Held { start: 0, middle, end: 0, form: Form::Whole };
        Ok(())
    }

    /// The term at a place.
    #[inline]
    pub fn term(&self, place: u32) -> TermRef<'_> {
        let held = &self.terms[place as usize];
        let first = || &self.text[held.start as usize..held.middle as usize];
        let second = || &self.text[held.middle as usize..held.end as usize];
        match held.form {
            Form::Iri => NamedNodeRef::new_unchecked(first()).into(),
            Form::Blank => BlankNodeRef::new_unchecked(first()).into(),
            Form::Text => LiteralRef::new_simple_literal(first()).into(),
            Form::LangText => LiteralRef::new_language_tagged_literal_unchecked(first(), second()).into(),
            Form::Typed(datatype) => LiteralRef::new_typed_literal(first(), datatype).into(),
            Form::TypedOther => LiteralRef::new_typed_literal(first(), NamedNodeRef::new_unchecked(second())).into(),
            Form::Whole => self.whole[held.middle as usize].as_ref(),
        }
    }
}

/// Places by the numbers of terms. At least half of the table is free, so most lookups need one probe.
#[derive(Default)]
struct Places {
    /// Number and place. A power of two of them, or none.
    slots: Vec<(u64, u32)>,
    count: usize,
}

impl Places {
    fn clear(&mut self) {
        self.slots.fill(FREE);
        self.count = 0;
    }

    /// The place of a number, which is `next` if it has none yet.
    #[inline]
    fn find_or_add(&mut self, id: TermId, next: u32) -> u32 {
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let bits = id.to_bits();
        let mut at = self.first_slot(bits);
        loop {
            match &mut self.slots[at] {
                (number, place) if *number == bits => return *place,
                free if free.0 == FREE.0 => {
                    *free = (bits, next);
                    self.count += 1;
                    return next;
                }
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    #[inline]
    fn first_slot(&self, bits: u64) -> usize {
        // The upper bits of the product depend on all bits of the number.
        (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (4 * self.slots.len()).max(SLOTS_FIRST);
        let before = std::mem::replace(&mut self.slots, vec![FREE; size]);
        for (bits, place) in before.into_iter().filter(|slot| slot.0 != FREE.0) {
            let mut at = self.first_slot(bits);
            while self.slots[at].0 != FREE.0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = (bits, place);
        }
    }
}

/// A slot that is free: no number has these bits.
const FREE: (u64, u32) = (u64::MAX, 0);
const SLOTS_FIRST: usize = 64;
const TERMS_FIRST: usize = 32;
const TEXT_BYTES_FIRST: usize = 2048;
/// What a batch keeps for the next one.
const TEXT_BYTES_MAX: usize = 256 << 10;
const TERMS_MAX: usize = 4096;
/// A term with more bytes has a text of its own, so that all places of a batch fit into 32 bits.
const WHOLE_FROM_BYTES: usize = 64 << 10;
