//! [`Values`]: terms by their ids.
//!
//! The key of a value is the byte 4 and its id. The lowest two bits of an id are the kind of the value, which is also
//! the first byte of the value:
//!
//! | kind | value | bytes after the kind |
//! |---|---|---|
//! | 0 | IRI | the id of its namespace, then the local name |
//! | 1 | literal | the id of its datatype, the length of its language tag in one byte, the tag, the label |
//! | 2 | blank node | its label |
//! | 3 | namespace of IRIs | its text |
//!
//! Other keys lead from values, or their hashes if they are long, to ids. They are not needed here. Neither are the
//! tables of ids that are free.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, Term};

use super::pages::{PageFile, Tree};
use super::varint;
use crate::error::{Error, Result, damaged};

/// The values of a store.
#[derive(Debug)]
pub struct Values {
    file: PageFile,
    tree: Tree,
    /// Namespaces and datatypes, which many values share.
    shared: RefCell<HashMap<u64, Rc<str>>>,
}

impl Values {
    /// Opens the file of values.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Damaged`], [`Error::Unsupported`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = PageFile::open(path)?;
        let tree = file.main()?;
        Ok(Self { file, tree, shared: RefCell::default() })
    }

    /// The file.
    pub fn file(&self) -> &PageFile {
        &self.file
    }

    /// The term of an id.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Damaged`] if there is no such value, or it is not a term.
    pub fn term(&self, id: u64) -> Result<Term> {
        let bytes = self.bytes(id)?;
        match id & KIND_BITS {
            IRI => self.iri(id, &bytes).map(|iri| NamedNode::new_unchecked(iri).into()),
            LITERAL => self.literal(id, &bytes).map(Term::from),
            BLANK => Ok(BlankNode::new_unchecked(self.text(id, &bytes)?).into()),
            _ => Err(self.offence(id, "it is a namespace where a statement needs a term")),
        }
    }

    /// The bytes of a value after its kind.
    fn bytes(&self, id: u64) -> Result<Vec<u8>> {
        let mut key = vec![ID_KEY];
        varint::push(&mut key, id);
        let found = self.file.get(&self.tree, &key)?;
        let mut bytes = found.ok_or_else(|| self.offence(id, "it is missing"))?;
        if bytes.first().copied().map(u64::from) != Some(id & KIND_BITS) {
            return Err(self.offence(id, "it is of another kind than its id"));
        }
        bytes.remove(0);
        Ok(bytes)
    }

    fn iri(&self, id: u64, mut bytes: &[u8]) -> Result<String> {
        let namespace = varint::take(&mut bytes).ok_or_else(|| self.offence(id, TOO_SHORT))?;
        if namespace & KIND_BITS != NAMESPACE {
            return Err(self.offence(id, "its namespace is a value of another kind"));
        }
        let namespace = self.shared(namespace, |bytes| self.text(namespace, bytes).map(str::to_owned))?;
        Ok([&*namespace, self.text(id, bytes)?].concat())
    }

    fn literal(&self, id: u64, mut bytes: &[u8]) -> Result<Literal> {
        let datatype = varint::take(&mut bytes).ok_or_else(|| self.offence(id, TOO_SHORT))?;
        let (&length, bytes) = bytes.split_first().ok_or_else(|| self.offence(id, TOO_SHORT))?;
        let (language, label) =
            bytes.split_at_checked(usize::from(length)).ok_or_else(|| self.offence(id, TOO_SHORT))?;
        let label = self.text(id, label)?;
        if !language.is_empty() {
            // As FulguriteStore keeps them.
            let language = self.text(id, language)?.to_ascii_lowercase();
            return Ok(Literal::new_language_tagged_literal_unchecked(label, language));
        }
        if datatype & KIND_BITS != IRI {
            return Err(self.offence(id, "its datatype is not an IRI"));
        }
        let datatype = self.shared(datatype, |bytes| self.iri(datatype, bytes))?;
        Ok(Literal::new_typed_literal(label, NamedNode::new_unchecked(&*datatype)))
    }

    /// A text that other values need, of the value of an id.
    fn shared(&self, id: u64, read: impl FnOnce(&[u8]) -> Result<String>) -> Result<Rc<str>> {
        if let Some(text) = self.shared.borrow().get(&id) {
            return Ok(Rc::clone(text));
        }
        let text: Rc<str> = read(&self.bytes(id)?)?.into();
        let mut shared = self.shared.borrow_mut();
        if shared.len() >= SHARED_MAX {
            shared.clear();
        }
        shared.insert(id, Rc::clone(&text));
        Ok(text)
    }

    fn text<'b>(&self, id: u64, bytes: &'b [u8]) -> Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| self.offence(id, "it is not UTF-8"))
    }

    fn offence(&self, id: u64, offence: &str) -> Error {
        damaged(self.file.path(), format!("the value {id}: {offence}"))
    }
}

const ID_KEY: u8 = 4;
const KIND_BITS: u64 = 3;
const IRI: u64 = 0;
const LITERAL: u64 = 1;
const BLANK: u64 = 2;
const NAMESPACE: u64 = 3;
const TOO_SHORT: &str = "it ends too early";
/// Texts that are kept.
const SHARED_MAX: usize = 1 << 16;
