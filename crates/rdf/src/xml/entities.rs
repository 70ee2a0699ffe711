//! What references stand for: characters, and the internal entities that a document declares.
//!
//! (1) An entity that stands for itself, however indirectly, is an error. (2) What references come to is bounded by
//! what was read. (3) No entity is read from elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use super::characters::is_character;
use super::cursor::{Cursor, Match};
use super::decoding::illegal;
use super::error::Problem;
use super::limits::{DECLARED_BYTES_MAX, EXPANDED_BYTES_MIN, EXPANDED_BYTES_PER_BYTE};

/// A general or parameter entity.
#[derive(Clone, Debug)]
pub enum Entity {
    /// With its replacement text.
    Internal(Arc<str>),
    External,
    Unparsed,
}

/// The general entities of a document.
#[derive(Debug, Default)]
pub struct Entities {
    declared: HashMap<String, Entity>,
}

impl Entities {
    /// Of several declarations the first is binding.
    pub fn declare(&mut self, name: &str, entity: Entity) {
        self.declared.entry(name.to_owned()).or_insert(entity);
    }

    /// The replacement text of an entity that a document refers to.
    ///
    /// # Errors
    /// If there is none that may be read.
    pub fn text(&self, name: &str) -> Result<Arc<str>, String> {
        match self.declared.get(name) {
            Some(Entity::Internal(text)) => Ok(Arc::clone(text)),
            Some(Entity::External) => Err(format!(
                "the entity `{name}` is in another file, which is not read; write what it stands for in its place"
            )),
            Some(Entity::Unparsed) => Err(format!("the entity `{name}` is not parsed, and must not be referred to")),
            None => Err(format!("the entity `{name}` is not declared in this document")),
        }
    }
}

/// What references and default values have come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    expanded_bytes: u64,
    declared_bytes: usize,
    /// Bytes of the document so far.
    pub read_bytes: u64,
}

impl Budget {
    /// # Errors
    /// If all of it is more than a document of this length may have.
    pub fn expand(&mut self, bytes: usize, offset: usize) -> Result<(), Problem> {
        self.expanded_bytes += bytes as u64;
        if self.expanded_bytes <= EXPANDED_BYTES_MIN + EXPANDED_BYTES_PER_BYTE * self.read_bytes {
            return Ok(());
        }
        let message = format!(
            "the entities and default attributes of the document take too much memory where they are put in place (more than {} MiB \
             and {EXPANDED_BYTES_PER_BYTE} bytes for each of the document before); write what they stand for",
            EXPANDED_BYTES_MIN >> 20
        );
        Err(Problem::too_large(offset, message))
    }

    /// # Errors
    /// If all that was declared is more than any document may have.
    pub fn declare(&mut self, bytes: usize, offset: usize) -> Result<(), Problem> {
        self.declared_bytes += bytes;
        if self.declared_bytes <= DECLARED_BYTES_MAX {
            return Ok(());
        }
        let message = format!("the document type declares more than {} MiB", DECLARED_BYTES_MAX >> 20);
        Err(Problem::too_large(offset, message))
    }
}

/// What stands between `&` and `;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'t> {
    Character(char),
    Entity(&'t str),
}

impl<'t> Reference<'t> {
    /// Takes a reference, whose `&` is next. Those to the five entities that need no declaration are characters.
    pub fn take(cursor: &mut Cursor<'t>) -> Match<Self> {
        let begin = *cursor;
        cursor.advance(1);
        if cursor.take("#")? {
            return take_character(begin, cursor).map(Self::Character);
        }
        let name = cursor.plain_name("the name of an entity, or `&amp;` for `&` itself,")?;
        cursor.expect(";", "a reference to an entity")?;
        Ok(match name {
            "amp" => Self::Character('&'),
            "lt" => Self::Character('<'),
            "gt" => Self::Character('>'),
            "apos" => Self::Character('\''),
            "quot" => Self::Character('"'),
            name => Self::Entity(name),
        })
    }
}

fn take_character(begin: Cursor<'_>, cursor: &mut Cursor<'_>) -> Match<char> {
    let radix = if cursor.take("x")? { 16 } else { 10 };
    let mut number: u32 = 0;
    let mut digits = 0;
    while let Some(digit) = char::from(cursor.peek()?).to_digit(radix) {
        number = number.saturating_mul(radix).saturating_add(digit);
        digits += 1;
        cursor.advance(1);
    }
    if digits == 0 || !cursor.take(";")? {
        return Err(begin.problem("a reference to a character is `&#`, a number and `;`"));
    }
    match char::from_u32(number) {
        Some(character) if is_character(character) => Ok(character),
        Some(character) => Err(begin.problem(illegal(character))),
        None => Err(begin.problem("a reference to a number that is not a character")),
    }
}

/// How entities are put in place in values.
pub struct Expansion<'e> {
    pub entities: &'e Entities,
    pub budget: &'e mut Budget,
}

impl Expansion<'_> {
    /// Appends the value of an attribute, normalized as `CDATA` (XML 1.0, 3.3.3). `offset` is where the value stands.
    pub fn normalize(&mut self, value: &str, offset: usize, out: &mut String) -> Result<(), Problem> {
        let mut open = Vec::new();
        self.normalize_within(value, offset, &mut open, out)
    }

    fn normalize_within(
        &mut self,
        value: &str,
        offset: usize,
        open: &mut Vec<String>,
        out: &mut String,
    ) -> Result<(), Problem> {
        let is_within_entity = !open.is_empty();
        let place = |at: usize| if is_within_entity { offset } else { offset + at };
        let mut rest = value;
        while let Some(length) = rest.bytes().position(|byte| matches!(byte, b'&' | b'<' | b'\t' | b'\n' | b'\r')) {
            out.push_str(&rest[..length]);
            let at = value.len() - rest.len() + length;
            rest = &rest[length..];
            match rest.as_bytes()[0] {
                b'&' => {
                    let mut cursor = Cursor::new(rest);
                    let reference = Reference::take(&mut cursor).map_err(|stop| match stop {
                        super::cursor::Stop::More => Problem::new(place(at), "a reference ends with `;`"),
                        super::cursor::Stop::Problem(problem) => Problem { offset: place(at), ..problem },
                    })?;
                    match reference {
                        Reference::Character(character) => out.push(character),
                        Reference::Entity(name) => self.expand(name, place(at), open, out)?,
                    }
                    rest = cursor.rest();
                }
                b'<' => return Err(Problem::new(place(at), "`<` in the value of an attribute; write `&lt;`")),
                _ => {
                    out.push(' ');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
        Ok(())
    }

    fn expand(&mut self, name: &str, offset: usize, open: &mut Vec<String>, out: &mut String) -> Result<(), Problem> {
        if open.iter().any(|open| open == name) || open.len() >= ENTITIES_WITHIN_MAX {
            return Err(recursion(name, offset));
        }
        let text = self.entities.text(name).map_err(|message| Problem::new(offset, message))?;
        self.budget.expand(text.len() + 1, offset)?;
        open.push(name.to_owned());
        self.normalize_within(&text, offset, open, out)?;
        open.pop();
        Ok(())
    }
}

/// An entity that stands for itself.
pub fn recursion(name: &str, offset: usize) -> Problem {
    let message =
        format!("the entity `{name}` stands for itself, or more than {ENTITIES_WITHIN_MAX} are within each other");
    Problem::new(offset, message)
}

/// Entities within each other. Documents have one or two.
pub const ENTITIES_WITHIN_MAX: usize = 32;
