//! The terms of ids, each passed on from where it is stored.
//!
//! Only IRIs with a numbered namespace and terms that are in their ids are copied, into one text that the next term
//! replaces. Terms of the dictionary are read side by side, so that the waits for memory overlap.

use oxrdf::{BlankNodeRef, LiteralRef, NamedNodeRef, TermRef};

use crate::dictionary::bytes::{self, Stored};
use crate::dictionary::{checked, damaged_term};
use crate::error::Result;
use crate::model::id::{IdKey, InlineForm, TermId};
use crate::quads::view::{FEW_TERMS, TERMS_AT_ONCE, View};
use crate::tables::Reads;

/// Calls `each` with the terms of these ids, in their order. If it fails, `each` may have received some of the terms.
///
/// # Errors
/// As [`Quads::term`](crate::Quads::term).
pub fn for_each_term<R: Reads>(view: &View<'_, R>, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
    let mut passing = Passing { view, text: String::new(), each };
    ids.chunks(TERMS_AT_ONCE).try_for_each(|group| match group {
        [id] => passing.pass_one(*id),
        _ if group.len() <= FEW_TERMS => passing.pass_group::<FEW_TERMS>(group),
        _ => passing.pass_group::<TERMS_AT_ONCE>(group),
    })
}

/// What passes terms on.
struct Passing<'p, R> {
    view: &'p View<'p, R>,
    /// The last term that was put together.
    text: String,
    each: &'p mut dyn FnMut(TermRef<'_>),
}

impl<R: Reads> Passing<'_, R> {
    fn pass_one(&mut self, id: TermId) -> Result<()> {
        if !id.tag().is_of_dictionary() {
            return self.pass_inline(id);
        }
        let view = self.view;
        let stored = view.reads.get(&view.tables.terms, id.key().as_bytes())?;
        self.pass_stored(id, stored.as_deref())
    }

    /// Requires: at most `MOST` ids.
    fn pass_group<const MOST: usize>(&mut self, ids: &[TermId]) -> Result<()> {
        let mut keys = [IdKey::default(); MOST];
        let mut count = 0;
        for id in ids.iter().filter(|id| id.tag().is_of_dictionary()) {
            keys[count] = id.key();
            count += 1;
        }
        let (mut rest, mut outcome) = (ids.iter(), Ok(()));
        let view = self.view;
        view.reads.get_many_with(&view.tables.terms, &keys[..count], |stored| {
            if outcome.is_ok() {
                outcome = self.pass_up_to(&mut rest, stored.as_deref());
            }
        })?;
        outcome?;
        rest.try_for_each(|id| self.pass_inline(*id))
    }

    /// Passes terms on, up to the first one of the dictionary, whose bytes these are.
    #[inline]
    fn pass_up_to(&mut self, ids: &mut std::slice::Iter<'_, TermId>, stored: Option<&[u8]>) -> Result<()> {
        for &id in ids {
            if id.tag().is_of_dictionary() {
                return self.pass_stored(id, stored);
            }
            self.pass_inline(id)?;
        }
        Ok(())
    }

    fn pass_inline(&mut self, id: TermId) -> Result<()> {
        self.text.clear();
        let form = id.write_inline(&mut self.text).ok_or_else(|| self.view.shared.misplaced_term(id))?;
        let text = self.text.as_str();
        (self.each)(match &form {
            InlineForm::Blank => BlankNodeRef::new_unchecked(text).into(),
            InlineForm::Text => LiteralRef::new_simple_literal(text).into(),
            InlineForm::LangText(language) => {
                LiteralRef::new_language_tagged_literal_unchecked(text, language.as_str()).into()
            }
            InlineForm::Typed(datatype) => LiteralRef::new_typed_literal(text, *datatype).into(),
        });
        Ok(())
    }

    #[inline]
    fn pass_stored(&mut self, id: TermId, stored: Option<&[u8]>) -> Result<()> {
        let View { reads, tables, shared } = *self.view;
        let path = shared.path();
        let wrong = |offence: &str| damaged_term(path, id, offence);
        let stored = checked(path, id, stored)?;
        let term: TermRef<'_> = match bytes::take_apart(stored).map_err(wrong)? {
            Stored::Iri(text) => NamedNodeRef::new_unchecked(text).into(),
            Stored::IriInNamespace { number, rest } => {
                self.text.clear();
                self.text.push_str(&shared.iri_namespaces.text(reads, tables, path, number)?);
                self.text.push_str(rest);
                NamedNodeRef::new_unchecked(&self.text).into()
            }
            Stored::Blank(label) => BlankNodeRef::new_unchecked(label).into(),
            Stored::Text(text) => LiteralRef::new_simple_literal(text).into(),
            Stored::LangText { language, value } => {
                LiteralRef::new_language_tagged_literal_unchecked(value, language).into()
            }
            Stored::TypedKnown { datatype, value } => LiteralRef::new_typed_literal(value, datatype).into(),
            Stored::Typed { datatype, value } => {
                LiteralRef::new_typed_literal(value, NamedNodeRef::new_unchecked(datatype)).into()
            }
            Stored::DirectedText { .. } | Stored::Triple => {
                (self.each)(bytes::decode(stored).map_err(wrong)?.as_ref());
                return Ok(());
            }
        };
        (self.each)(term);
        Ok(())
    }
}
