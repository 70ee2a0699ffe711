//! What has to wait for types: parts of values, facts without a predicate, and values that may become facts.
//!
//! Statements can be in any order, so that a later one may say what `X` is in `X.field`. What needs a type that is not
//! known yet is kept, and tried again after each statement, and at the end until nothing more becomes known.

use std::collections::HashSet;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::Span;
use crate::query::checker::{Awaited, Checker, Part};
use crate::query::types::{Shape, Ty};
use crate::value::types::Type;

impl Checker<'_> {
    /// A part of a type: found now, or when the type is known.
    pub fn part(&mut self, awaited: Awaited) -> Result<(), Diagnostic> {
        match self.unknowns.shallow(&awaited.of) {
            Ty::Unknown(_) => {
                self.awaited.push(awaited);
                Ok(())
            }
            ty => self.find_part(ty, &awaited),
        }
    }

    /// Finds the parts of types that have become known. Returns whether there were any.
    pub fn find_awaited(&mut self) -> Result<bool, Diagnostic> {
        let mut found_any = false;
        loop {
            let before = self.awaited.len();
            for awaited in std::mem::take(&mut self.awaited) {
                self.step(awaited.span)?;
                self.part(awaited)?;
            }
            if self.awaited.len() == before {
                return Ok(found_any);
            }
            found_any = true;
        }
    }

    fn find_part(&mut self, ty: Ty, awaited: &Awaited) -> Result<(), Diagnostic> {
        match &awaited.what {
            Part::Named { name, shape, ty: field } => self.find_named(ty, name, *shape, field, awaited.span),
            Part::Key(key) => match ty {
                Ty::Known(Type::Predicate(id)) => {
                    let found = Ty::Known(self.key_type(id));
                    self.unify(key, &found, awaited.span)
                }
                ty => {
                    let message = format!("expected a fact before `.*`, found {}", self.text(&ty));
                    Err(self.error(awaited.span, message, "write the predicate: `(X : predicate).*`"))
                }
            },
            Part::Fact(_) if matches!(ty, Ty::Known(Type::Predicate(_))) => Ok(()),
            Part::Fact(id) => Err(self.no_predicate(*id, awaited.span)),
        }
    }

    pub fn no_predicate(&self, id: u64, span: Span) -> Diagnostic {
        let hint = format!("write `$predicate {id}`, or `(${id} : predicate)`");
        self.error(span, "the predicate of this fact cannot be found out", hint)
    }

    fn find_named(&mut self, mut ty: Ty, name: &str, shape: Shape, field: &Ty, span: Span) -> Result<(), Diagnostic> {
        // The keys of a predicate can be its own facts.
        let mut passed = HashSet::new();
        while let Ty::Known(Type::Predicate(id)) = ty
            && passed.insert(id)
        {
            ty = self.unknowns.shallow(&Ty::Known(self.key_type(id)));
        }
        let fields = vec![(name.to_owned(), field.clone())];
        let Err(mismatch) = self.unknowns.has(&ty, fields, shape) else { return Ok(()) };
        let other = match (&ty, shape) {
            (Ty::Known(Type::Record(_)), Shape::Sum) => Some(format!("it is a record: write `.{name}`")),
            (Ty::Known(Type::Sum(_)) | Ty::Maybe(_), Shape::Record) => Some(format!("it is a sum: write `.{name}?`")),
            _ => mismatch.0,
        };
        let message = format!("`{name}` cannot be selected from {}", self.text(&ty));
        Err(self.error(span, message, other.unwrap_or_default()))
    }

    /// Finds the types that wait for others, and decides which values become facts, as far as types are known. Then
    /// types with parts are records or sums, and the other values do not become facts.
    pub fn find_types(&mut self) -> Result<(), Diagnostic> {
        loop {
            if self.find_awaited()? || self.promote_known()? {
                continue;
            }
            // One at a time: what it settles may settle others.
            let named = |awaited: &Awaited| matches!(awaited.what, Part::Named { .. });
            if let Some(at) = self.awaited.iter().position(named) {
                let awaited = self.awaited.remove(at);
                let ty = self.unknowns.shallow(&awaited.of);
                self.find_part(ty, &awaited)?;
            } else if !self.promotions.is_empty() {
                let first = self.promotions.remove(0);
                self.unify(&first.to, &first.from, first.span)?;
            } else {
                // No statement determines this type: looking for its part reports the error.
                let Some(awaited) = self.awaited.pop() else { return Ok(()) };
                let ty = self.unknowns.shallow(&awaited.of);
                self.find_part(ty, &awaited)?;
            }
        }
    }

    /// Decides which values become facts where it is known whether facts are expected. Returns whether there were any.
    fn promote_known(&mut self) -> Result<bool, Diagnostic> {
        let promotions = std::mem::take(&mut self.promotions);
        let (before, mut waiting) = (promotions.len(), Vec::new());
        for promotion in promotions {
            self.step(promotion.span)?;
            let to = self.unknowns.shallow(&promotion.to);
            let from = self.unknowns.shallow(&promotion.from);
            let wanted = match (&to, &from) {
                (Ty::Known(Type::Predicate(to)), Ty::Known(Type::Predicate(from))) if to == from => continue,
                (Ty::Known(Type::Predicate(id)), _) => Ty::Known(self.key_type(*id)),
                (Ty::Unknown(_), _) => {
                    waiting.push(promotion);
                    continue;
                }
                _ => to,
            };
            let or = promotion.or.map(|or| self.unknowns.shallow(&Ty::Known(or)));
            if or != Some(self.unknowns.shallow(&wanted)) {
                self.unify(&wanted, &promotion.from, promotion.span)?;
            }
        }
        self.promotions = waiting;
        Ok(self.promotions.len() < before)
    }
}
