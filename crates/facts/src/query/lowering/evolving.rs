//! Patterns for facts of an older predicate as patterns for facts of its successor.
//!
//! Patterns are translated part by part, so that the known beginning of a key stays known and is searched by prefix.
//! What has no pattern over the newer type is matched after a conversion: see [`crate::value::conversion`].

use crate::query::lowering::{Lower, Lowering, Stop, alternative, packed, possible, same};
use crate::query::primitives::Primitive;
use crate::query::steps::{Step, Term};
use crate::value::bytes::Cursor;
use crate::value::conversion::{has_same_bytes, put_default};
use crate::value::error::ValueError;
use crate::value::nat::nat_bytes;
use crate::value::types::{Field, Type};

/// A variable of a sum is translated by alternatives if there are at most so many: each is planned.
const ALTERNATIVES_MAX: usize = 16;
/// As [`ALTERNATIVES_MAX`], with those of the sums within.
const NESTED_ALTERNATIVES_MAX: usize = 256;
/// As [`NESTED_ALTERNATIVES_MAX`], of all variables of a query.
const QUERY_ALTERNATIVES_MAX: usize = 4_096;

impl Lowering<'_> {
    /// The term over `new` whose values match `term` after their conversion to `old`.
    pub(super) fn evolve(&mut self, term: Term, old: &Type, new: &Type, steps: &mut Vec<Step>) -> Lower<Term> {
        if has_same_bytes(old, new) {
            return Ok(term);
        }
        match (term, old, new) {
            (Term::Wild(_), ..) => Ok(Term::Wild(new.clone())),
            (Term::Never, ..) => Ok(Term::Never),
            (Term::Bytes(bytes), ..) => match parts(&bytes, old) {
                Ok(Some(term)) => self.evolve(term, old, new, steps),
                _ => Ok(self.converted(Term::Bytes(bytes), old, new, steps)),
            },
            (Term::Record(terms), Type::Record(old), Type::Record(new)) => self.evolve_record(terms, old, new, steps),
            (Term::Slot(slot, ty), Type::Record(old), Type::Record(new)) => {
                let terms: Vec<Term> = old.iter().map(|field| self.part(&field.ty)).collect();
                steps.push(Step::Same(Term::Slot(slot, ty), Term::Record(terms.clone())));
                self.evolve_record(terms, old, new, steps)
            }
            (Term::Tagged(tag, inner), ..) => {
                let names = alternative_at(old, tag).and_then(|(name, ty)| Some((ty, alternative(new, &name)?)));
                // The newer type has no such alternative.
                let Some((old, (tag, new))) = names else { return Err(self.never()) };
                let inner = self.evolve(*inner, &old, &new, steps)?;
                Ok(packed(Term::Tagged(tag, Box::new(inner))))
            }
            (term @ Term::Slot(..), ..)
                if has_alternatives(old) && is_complete(old, new) && self.reserve_alternatives(old, new) =>
            {
                self.evolve_choice(&term, old, new, steps)
            }
            (Term::Array(terms), Type::Array(old), Type::Array(new)) => {
                Ok(packed(Term::Array(self.evolve_all(terms, old, new, steps)?)))
            }
            (Term::ArrayPrefix(terms, _), Type::Array(old), Type::Array(new)) => {
                Ok(Term::ArrayPrefix(self.evolve_all(terms, old, new, steps)?, (**new).clone()))
            }
            (term, ..) => Ok(self.converted(term, old, new, steps)),
        }
    }

    fn evolve_all(&mut self, terms: Vec<Term>, old: &Type, new: &Type, steps: &mut Vec<Step>) -> Lower<Vec<Term>> {
        terms.into_iter().map(|term| self.evolve(term, old, new, steps)).collect()
    }

    fn evolve_record(
        &mut self,
        mut terms: Vec<Term>,
        old: &[Field],
        new: &[Field],
        steps: &mut Vec<Step>,
    ) -> Lower<Term> {
        let mut evolved = Vec::with_capacity(new.len());
        for field in new {
            evolved.push(match old.iter().position(|other| other.name == field.name) {
                Some(index) => {
                    let term = std::mem::replace(&mut terms[index], Term::Wild(old[index].ty.clone()));
                    self.evolve(term, &old[index].ty, &field.ty, steps)?
                }
                None => Term::Wild(field.ty.clone()),
            });
        }
        for (term, field) in terms.into_iter().zip(old) {
            if !new.iter().any(|other| other.name == field.name) {
                let mut default = Vec::new();
                put_default(&mut default, &field.ty);
                same(term, Term::Bytes(default), steps);
            }
        }
        Ok(packed(Term::Record(evolved)))
    }

    /// Counts the alternatives that a variable is translated by, if they are not too many. Others are converted.
    fn reserve_alternatives(&mut self, old: &Type, new: &Type) -> bool {
        // Those of a sum within another are reserved with it.
        if self.reserved > 0 {
            return true;
        }
        let count = nested_alternatives(old, new);
        let reserves = count <= NESTED_ALTERNATIVES_MAX && self.alternatives + count <= QUERY_ALTERNATIVES_MAX;
        self.alternatives += if reserves { count } else { 0 };
        reserves
    }

    /// A variable of a sum, an enumeration or `maybe`: one alternative of the newer type after the other.
    fn evolve_choice(&mut self, variable: &Term, old: &Type, new: &Type, steps: &mut Vec<Step>) -> Lower<Term> {
        self.reserved += 1;
        let evolved = self.evolve_alternatives(variable, old, new, steps);
        self.reserved -= 1;
        evolved
    }

    fn evolve_alternatives(&mut self, variable: &Term, old: &Type, new: &Type, steps: &mut Vec<Step>) -> Lower<Term> {
        let evolved = self.slot_term(new);
        let unknown = Term::Bytes(nat_bytes(alternatives_of(old)));
        let mut branches = Vec::new();
        for tag in 0..=alternatives_of(new) {
            let name = alternative_at(new, tag);
            let known = name.and_then(|(name, new)| Some((alternative(old, &name)?, new)));
            let mut branch = Vec::new();
            let Some(((old_tag, old), new)) = known else {
                if matches!(new, Type::Maybe(_)) {
                    continue;
                }
                // What the older type lacks has no bytes behind its tag; nor has what the newer type does not know.
                branch.push(Step::Same(variable.clone(), unknown.clone()));
                branch.push(Step::Same(evolved.clone(), Term::Bytes(nat_bytes(tag))));
                branches.push(branch);
                continue;
            };
            let part = self.part(&old);
            let Some(inner) = possible(self.evolve(part.clone(), &old, &new, &mut branch))? else { continue };
            branch.push(Step::Same(variable.clone(), packed(Term::Tagged(old_tag, Box::new(part)))));
            branch.push(Step::Same(evolved.clone(), packed(Term::Tagged(tag, Box::new(inner)))));
            branches.push(branch);
        }
        steps.push(Step::Or(branches, self.place));
        Ok(evolved)
    }

    /// A new variable of the newer type, whose conversion is matched with the term.
    fn converted(&mut self, term: Term, old: &Type, new: &Type, steps: &mut Vec<Step>) -> Term {
        let slot = self.slot_term(new);
        steps.push(Step::Primitive {
            primitive: Primitive::Convert,
            result: term,
            arguments: vec![slot.clone()],
            types: vec![new.clone(), old.clone()],
        });
        slot
    }

    /// A new variable for a part of a value.
    fn part(&mut self, ty: &Type) -> Term {
        if ty.is_without_bytes() { Term::Bytes(Vec::new()) } else { self.slot_term(ty) }
    }

    /// What is lowered matches nothing, because of what facts there are.
    fn never(&mut self) -> Stop {
        self.is_partial = true;
        Stop::Never
    }
}

/// The parts that a value has by its type, or `None`.
fn parts(bytes: &[u8], ty: &Type) -> Result<Option<Term>, ValueError> {
    let mut cursor = Cursor::new(bytes);
    let part = |cursor: &mut Cursor<'_>, ty: &Type| {
        let start = cursor.offset();
        cursor.skip(ty)?;
        Ok(Term::Bytes(cursor.since(start).to_vec()))
    };
    Ok(Some(match ty {
        Type::Record(fields) => {
            let terms: Result<_, ValueError> = fields.iter().map(|field| part(&mut cursor, &field.ty)).collect();
            Term::Record(terms?)
        }
        Type::Array(element) => {
            let count = cursor.nat()?;
            let terms: Result<_, ValueError> = (0..count).map(|_| part(&mut cursor, element)).collect();
            Term::Array(terms?)
        }
        ty if has_alternatives(ty) => {
            let tag = cursor.nat()?;
            Term::Tagged(tag, Box::new(Term::Bytes(cursor.rest().to_vec())))
        }
        _ => return Ok(None),
    }))
}

fn has_alternatives(ty: &Type) -> bool {
    matches!(ty, Type::Sum(_) | Type::Enum(_) | Type::Maybe(_))
}

/// How many alternatives a sum, an enumeration or `maybe` has.
fn alternatives_of(ty: &Type) -> u64 {
    match ty {
        Type::Sum(alternatives) => alternatives.len() as u64,
        Type::Enum(names) => names.len() as u64,
        _ => 2,
    }
}

/// How many alternatives a variable is translated by, with those of the sums within. More than the most are not
/// counted.
fn nested_alternatives(old: &Type, new: &Type) -> usize {
    if has_same_bytes(old, new) {
        return 0;
    }
    let within = |pairs: &mut dyn Iterator<Item = (Type, Type)>| {
        let mut count = 0;
        for (old, new) in pairs {
            count += nested_alternatives(&old, &new);
            if count > NESTED_ALTERNATIVES_MAX {
                break;
            }
        }
        count
    };
    match (old, new) {
        (Type::Record(old), Type::Record(new)) => within(&mut new.iter().filter_map(|field| {
            let other = old.iter().find(|other| other.name == field.name)?;
            Some((other.ty.clone(), field.ty.clone()))
        })),
        _ if has_alternatives(new) => {
            let named = (0..alternatives_of(new)).filter_map(|tag| alternative_at(new, tag));
            let mut pairs = named.filter_map(|(name, new)| Some((alternative(old, &name)?.1, new)));
            usize::try_from(alternatives_of(new)).unwrap_or(usize::MAX).saturating_add(within(&mut pairs))
        }
        _ => 0,
    }
}

/// The name of an alternative, and the type of its value.
fn alternative_at(ty: &Type, tag: u64) -> Option<(String, Type)> {
    let index = usize::try_from(tag).ok()?;
    match ty {
        Type::Sum(alternatives) => alternatives.get(index).map(|field| (field.name.to_string(), field.ty.clone())),
        Type::Enum(names) => names.get(index).map(|name| (name.to_string(), Type::unit())),
        Type::Maybe(element) => match index {
            0 => Some(("nothing".to_owned(), Type::unit())),
            1 => Some(("just".to_owned(), (**element).clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a value of `old` says all of the value of `new` that it is converted from, save for unknown alternatives.
/// What evolves from such a variable has a value if the variable has.
fn is_complete(old: &Type, new: &Type) -> bool {
    match (old, new) {
        _ if has_same_bytes(old, new) => true,
        (Type::Record(old), Type::Record(new)) => new
            .iter()
            .all(|field| old.iter().any(|other| other.name == field.name && is_complete(&other.ty, &field.ty))),
        (Type::Array(_) | Type::Set(_), _) => false,
        _ => {
            let count = alternatives_of(new);
            count <= ALTERNATIVES_MAX as u64
                && (0..count).filter_map(|tag| alternative_at(new, tag)).all(|(name, new)| {
                    alternative(old, &name).map_or_else(|| new.is_without_bytes(), |(_, old)| is_complete(&old, &new))
                })
        }
    }
}
