//! [`Values`]: terms by their ids.
//!
//! The id of a value leads to its place in another file, where its length stands before it. The first byte of a value
//! is its kind:
//!
//! | kind | value | bytes after the kind |
//! |---|---|---|
//! | 1 | IRI | the id of its namespace, then the local name |
//! | 2 | blank node | its label |
//! | 3 | literal | the id of its datatype or -1, the length of its language tag in one byte, the tag, the label |
//!
//! The namespace of an IRI is a value of its own, which is only its text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, Term};

use super::file::StoreFile;
use crate::error::{Error, Result, damaged};

/// The values of a store.
#[derive(Debug)]
pub struct Values {
    places: StoreFile,
    data: StoreFile,
    /// Namespaces and datatypes, which many values share.
    shared: RefCell<HashMap<(Shared, u64), Rc<str>>>,
}

/// What other values need of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shared {
    Namespace,
    Datatype,
}

impl Values {
    /// Opens both files.
    ///
    /// # Errors
    /// As [`StoreFile::open`].
    pub fn open(directory: &Path) -> Result<Self> {
        let places = StoreFile::open(&directory.join("values.id"), &[*b"nif"])?;
        let data = StoreFile::open(&directory.join("values.dat"), &[*b"ndf"])?;
        Ok(Self { places, data, shared: RefCell::default() })
    }

    /// The files.
    pub fn files(&self) -> [&StoreFile; 2] {
        [&self.places, &self.data]
    }

    /// The term of an id.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Damaged`] if there is no such value, or it is not a term.
    pub fn term(&self, id: u64) -> Result<Term> {
        let bytes = self.bytes(id)?;
        match bytes.split_first() {
            Some((&IRI, rest)) => self.iri(id, rest).map(|iri| NamedNode::new_unchecked(iri).into()),
            Some((&BLANK, rest)) => Ok(BlankNode::new_unchecked(self.text(id, rest)?).into()),
            Some((&LITERAL, rest)) => self.literal(id, rest).map(Term::from),
            _ => Err(self.offence(id, "it is a namespace where a statement needs a term")),
        }
    }

    /// The bytes of a value.
    fn bytes(&self, id: u64) -> Result<Vec<u8>> {
        // The first place is the file's own.
        let end = id.checked_add(1).and_then(|next| next.checked_mul(PLACE_BYTES));
        if id == 0 || end.is_none_or(|end| end > self.places.length_bytes()) {
            return Err(damaged(self.places.path(), format!("the value {id}: it is missing")));
        }
        let place = u64::from_be_bytes(self.places.array(id * PLACE_BYTES)?);
        if place >= self.data.length_bytes() {
            // Either file may be the damaged one.
            let offence = format!("the value {id}: values.id has it at byte {place}, where the file has ended");
            return Err(damaged(self.data.path(), offence));
        }
        let length = i32::from_be_bytes(self.data.array(place)?);
        let length = usize::try_from(length).map_err(|_| self.offence(id, "its length is negative"))?;
        let begin = place.checked_add(4).ok_or_else(|| self.offence(id, TOO_SHORT))?;
        self.data.read(begin, length)
    }

    /// The text of an IRI, by what follows its kind.
    fn iri(&self, id: u64, bytes: &[u8]) -> Result<String> {
        let (namespace, name) = bytes.split_first_chunk::<4>().ok_or_else(|| self.offence(id, TOO_SHORT))?;
        let namespace = u64::from(u32::from_be_bytes(*namespace));
        let namespace = self.shared(Shared::Namespace, namespace, |bytes| match bytes.first() {
            Some(&(IRI | BLANK | LITERAL)) => Err(self.offence(id, "its namespace is a value of another kind")),
            _ => self.text(namespace, bytes).map(str::to_owned),
        })?;
        Ok([&*namespace, self.text(id, name)?].concat())
    }

    fn literal(&self, id: u64, bytes: &[u8]) -> Result<Literal> {
        let too_short = || self.offence(id, TOO_SHORT);
        let (datatype, rest) = bytes.split_first_chunk::<4>().ok_or_else(too_short)?;
        let (&length, rest) = rest.split_first().ok_or_else(too_short)?;
        let (language, label) = rest.split_at_checked(usize::from(length)).ok_or_else(too_short)?;
        let label = self.text(id, label)?;
        if !language.is_empty() {
            // As FulguriteStore keeps them.
            let language = self.text(id, language)?.to_ascii_lowercase();
            return Ok(Literal::new_language_tagged_literal_unchecked(label, language));
        }
        if *datatype == NO_DATATYPE {
            return Ok(Literal::new_simple_literal(label));
        }
        let datatype = u64::from(u32::from_be_bytes(*datatype));
        let datatype = self.shared(Shared::Datatype, datatype, |bytes| match bytes.split_first() {
            Some((&IRI, rest)) => self.iri(datatype, rest),
            _ => Err(self.offence(id, "its datatype is not an IRI")),
        })?;
        Ok(Literal::new_typed_literal(label, NamedNode::new_unchecked(&*datatype)))
    }

    /// A text that other values need, of the value of an id.
    fn shared(&self, what: Shared, id: u64, read: impl FnOnce(&[u8]) -> Result<String>) -> Result<Rc<str>> {
        if let Some(text) = self.shared.borrow().get(&(what, id)) {
            return Ok(Rc::clone(text));
        }
        let text: Rc<str> = read(&self.bytes(id)?)?.into();
        let mut shared = self.shared.borrow_mut();
        if shared.len() >= SHARED_MAX {
            shared.clear();
        }
        shared.insert((what, id), Rc::clone(&text));
        Ok(text)
    }

    fn text<'b>(&self, id: u64, bytes: &'b [u8]) -> Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| self.offence(id, "it is not UTF-8"))
    }

    fn offence(&self, id: u64, offence: &str) -> Error {
        damaged(self.data.path(), format!("the value {id}: {offence}"))
    }
}

const IRI: u8 = 1;
const BLANK: u8 = 2;
const LITERAL: u8 = 3;
/// Of literals that Sesame wrote.
const NO_DATATYPE: [u8; 4] = [0xff; 4];
const PLACE_BYTES: u64 = 8;
const TOO_SHORT: &str = "it ends too early";
/// Texts that are kept.
const SHARED_MAX: usize = 1 << 16;
