//! Terms, compiled: matchers over bytes, and expressions that write bytes.

use std::collections::HashSet;

use crate::error::Result;
use crate::query::steps::Term;
use crate::value::bytes::Cursor;
use crate::value::nat::nat_bytes;
use crate::value::types::Type;

/// A value as pieces, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Expression {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Bytes(Vec<u8>),
    Slot(usize),
}

impl Expression {
    /// The expression of a term. Requires: its slots have values.
    pub fn of(term: &Term) -> Expression {
        let mut expression = Expression::default();
        expression.push(term);
        expression
    }

    /// Whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Bytes(bytes.to_vec())),
        }
    }

    fn push(&mut self, term: &Term) {
        match term {
            Term::Bytes(bytes) => self.push_bytes(bytes),
            Term::Slot(slot, _) => self.pieces.push(Piece::Slot(*slot)),
            Term::Prefix(prefix, rest) => {
                self.push_bytes(prefix);
                self.push(rest);
            }
            Term::Array(terms) => {
                self.push_bytes(&nat_bytes(terms.len() as u64));
                terms.iter().for_each(|term| self.push(term));
            }
            Term::Record(terms) => terms.iter().for_each(|term| self.push(term)),
            Term::Tagged(tag, inner) => {
                self.push_bytes(&nat_bytes(*tag));
                self.push(inner);
            }
            Term::Wild(ty) => assert!(ty.is_without_bytes(), "an expression has no wildcards"),
            Term::Never | Term::ArrayPrefix(..) => unreachable!("an expression has a value"),
        }
    }

    /// How many bytes the value has.
    pub fn length(&self, slots: &[Vec<u8>]) -> usize {
        let of_piece = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Slot(slot) => slots[*slot].len(),
        };
        self.pieces.iter().map(of_piece).fold(0, usize::saturating_add)
    }

    /// Appends the value.
    pub fn write(&self, slots: &[Vec<u8>], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Slot(slot) => out.extend_from_slice(&slots[*slot]),
            }
        }
    }
}

/// The ground beginning of a term, and a term for what follows it.
pub fn ground_prefix(term: &Term, has_value: &dyn Fn(usize) -> bool) -> (Expression, Term) {
    let mut prefix = Expression::default();
    let rest = take_prefix(term, has_value, &mut prefix);
    (prefix, rest.unwrap_or(Term::Record(Vec::new())))
}

/// Moves the ground beginning of a term into `prefix`, and returns the rest of the term, if there is one.
fn take_prefix(term: &Term, has_value: &dyn Fn(usize) -> bool, prefix: &mut Expression) -> Option<Term> {
    if term.is_ground(has_value) {
        prefix.push(term);
        return None;
    }
    let join = |terms: &[Term], prefix: &mut Expression| {
        for (index, term) in terms.iter().enumerate() {
            if let Some(rest) = take_prefix(term, has_value, prefix) {
                let rest = std::iter::once(rest).chain(terms[index + 1..].iter().cloned()).collect();
                return Some(Term::Record(rest));
            }
        }
        None
    };
    match term {
        Term::Prefix(bytes, rest) => {
            prefix.push_bytes(bytes);
            take_prefix(rest, has_value, prefix)
        }
        Term::Record(terms) => join(terms, prefix),
        Term::Array(terms) => {
            prefix.push_bytes(&nat_bytes(terms.len() as u64));
            join(terms, prefix)
        }
        Term::Tagged(tag, inner) => {
            prefix.push_bytes(&nat_bytes(*tag));
            take_prefix(inner, has_value, prefix)
        }
        other => Some(other.clone()),
    }
}

/// A pattern over bytes.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// A value of a type.
    Skip(Type),
    /// Whatever follows, to the end.
    Rest,
    /// Nothing.
    Never,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A value of a type, which a slot then has.
    Bind(usize, Type),
    /// Whatever follows, to the end, which a slot then has.
    BindRest(usize),
    /// The value of a slot.
    Slot(usize),
    /// An array that begins so. Its other elements, of the type, are skipped; without a type, all that follows is.
    ArrayPrefix(Vec<Matcher>, Option<Type>),
    /// One after the other.
    Sequence(Vec<Matcher>),
}

impl Matcher {
    /// The matcher of a term. Slots that are not in `bound` get values, and are in it from then
    /// on. The value is all that is matched: nothing follows it.
    pub fn of(term: &Term, bound: &mut HashSet<usize>) -> Matcher {
        Compiler { bound }.matcher(term, Following::End)
    }

    /// Whether it matches everything and gives no slot a value.
    pub fn is_rest(&self) -> bool {
        matches!(self, Matcher::Rest)
    }

    /// Matches the bytes of a value, and gives values to slots.
    ///
    /// # Errors
    ///
    /// If the bytes are no value of their type.
    pub fn matches(&self, cursor: &mut Cursor<'_>, slots: &mut [Vec<u8>]) -> Result<bool> {
        match self {
            Matcher::Skip(ty) => cursor.skip(ty)?,
            Matcher::Rest => cursor.advance(cursor.rest().len()),
            Matcher::Never => return Ok(false),
            Matcher::Bytes(bytes) => {
                if !cursor.rest().starts_with(bytes) {
                    return Ok(false);
                }
                cursor.advance(bytes.len());
            }
            Matcher::Bind(slot, ty) => {
                let start = cursor.offset();
                cursor.skip(ty)?;
                set(&mut slots[*slot], cursor.since(start));
            }
            Matcher::BindRest(slot) => {
                set(&mut slots[*slot], cursor.rest());
                cursor.advance(cursor.rest().len());
            }
            Matcher::Slot(slot) => {
                if !cursor.rest().starts_with(&slots[*slot]) {
                    return Ok(false);
                }
                cursor.advance(slots[*slot].len());
            }
            Matcher::ArrayPrefix(matchers, element) => {
                let length = cursor.nat()?;
                if length < matchers.len() as u64 {
                    return Ok(false);
                }
                for matcher in matchers {
                    if !matcher.matches(cursor, slots)? {
                        return Ok(false);
                    }
                }
                match element {
                    None => cursor.advance(cursor.rest().len()),
                    // Elements without bytes have nothing to skip.
                    Some(element) if element.is_without_bytes() => {}
                    Some(element) => {
                        for _ in matchers.len() as u64..length {
                            cursor.skip(element)?;
                        }
                    }
                }
            }
            Matcher::Sequence(matchers) => {
                for matcher in matchers {
                    if !matcher.matches(cursor, slots)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

fn set(slot: &mut Vec<u8>, bytes: &[u8]) {
    slot.clear();
    slot.extend_from_slice(bytes);
}

struct Compiler<'a> {
    bound: &'a mut HashSet<usize>,
}

/// What follows a value in the bytes that are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Following {
    /// Nothing.
    End,
    /// What does not matter.
    Ignored,
    /// What is matched too.
    Matched,
}

impl Compiler<'_> {
    fn matcher(&mut self, term: &Term, following: Following) -> Matcher {
        match term {
            Term::Wild(_) if following != Following::Matched => Matcher::Rest,
            Term::Wild(ty) => Matcher::Skip(ty.clone()),
            Term::Never => Matcher::Never,
            Term::Bytes(bytes) => Matcher::Bytes(bytes.clone()),
            Term::Slot(slot, _) if self.bound.contains(slot) => Matcher::Slot(*slot),
            Term::Slot(slot, ty) => {
                self.bound.insert(*slot);
                if following == Following::End { Matcher::BindRest(*slot) } else { Matcher::Bind(*slot, ty.clone()) }
            }
            Term::Prefix(bytes, rest) => {
                let rest = self.matcher(rest, following);
                Matcher::Sequence(vec![Matcher::Bytes(bytes.clone()), rest])
            }
            Term::Array(terms) => {
                let mut sequence = vec![Matcher::Bytes(nat_bytes(terms.len() as u64))];
                self.sequence(terms, following, &mut sequence);
                Matcher::Sequence(sequence)
            }
            Term::ArrayPrefix(terms, element) => {
                let mut matchers = Vec::new();
                self.sequence(terms, Following::Matched, &mut matchers);
                let element = (following == Following::Matched).then(|| element.clone());
                Matcher::ArrayPrefix(matchers, element)
            }
            Term::Record(terms) => {
                let mut sequence = Vec::new();
                self.sequence(terms, following, &mut sequence);
                Matcher::Sequence(sequence)
            }
            Term::Tagged(tag, inner) => {
                let inner = self.matcher(inner, following);
                Matcher::Sequence(vec![Matcher::Bytes(nat_bytes(*tag)), inner])
            }
        }
    }

    fn sequence(&mut self, terms: &[Term], following: Following, into: &mut Vec<Matcher>) {
        for (index, term) in terms.iter().enumerate() {
            let after = &terms[index + 1..];
            let following_this = match following {
                _ if after.is_empty() => following,
                Following::End | Following::Ignored if after.iter().all(|term| matches!(term, Term::Wild(_))) => {
                    Following::Ignored
                }
                _ => Following::Matched,
            };
            let matcher = self.matcher(term, following_this);
            let is_rest = matcher.is_rest();
            into.push(matcher);
            if is_rest {
                break;
            }
        }
    }
}
