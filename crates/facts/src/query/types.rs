//! Types that are not yet known, and their unification.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::cancellation::Deadline;
use crate::value::types::{Field, Type};

/// A type with unknown parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Ty {
    /// Unknown: see [`Unknowns`].
    Unknown(usize),
    /// Known.
    Known(Type),
    /// An array whose elements may be unknown.
    Array(Box<Ty>),
    /// A set whose elements may be unknown.
    Set(Box<Ty>),
    /// A value or `nothing`.
    Maybe(Box<Ty>),
    /// A record by position: fields that a tuple leaves without names.
    Tuple(Vec<Ty>),
}

/// What is known of an unknown type.
#[derive(Debug, Clone)]
enum State {
    /// Nothing.
    Free,
    /// It is this one.
    Is(Ty),
    /// It has these fields or alternatives.
    Has(Vec<(String, Ty)>, Shape),
    /// It is an array or a set of these.
    ElementsOf(Ty),
}

/// Whether a type with fields is a record or a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Either: `{ a = 1 }` may be both.
    Either,
    /// A record.
    Record,
    /// A sum.
    Sum,
}

/// The unknown types of a query.
#[derive(Debug, Default)]
pub struct Unknowns {
    states: Vec<State>,
    /// How many parts of types were walked.
    walked: Cell<usize>,
    /// How many types are being made the same, each in the one before.
    depth: usize,
    pub deadline: Deadline,
}

/// The most parts of a type, and how deep it may be nested, as in schemas: see [`crate::schema::typing`].
const PARTS_MAX: usize = 200_000;
const DEPTH_MAX: usize = 150;
/// The most parts of types that are walked for one query. Types share parts, and each is walked where it is mentioned.
const WALKED_MAX: usize = 20_000_000;

/// Two types that are not the same; how they differ, if it is about a name.
#[derive(Debug)]
pub struct Mismatch(pub Option<String>);

type Same = Result<(), Mismatch>;

/// A type that became known, with the numbers that are bounded.
#[derive(Debug, Clone)]
struct Sized {
    ty: Type,
    parts: usize,
    depth: usize,
}

/// The types of unknowns that became known, so that what is mentioned often is built once.
#[derive(Debug, Default)]
pub struct Built(HashMap<usize, Option<Sized>>);

fn too_large() -> Mismatch {
    let message = format!("the type is too large: types have at most {PARTS_MAX} parts, and {DEPTH_MAX} in each other");
    Mismatch(Some(message))
}

impl Unknowns {
    /// No types yet.
    pub fn new(deadline: Deadline) -> Unknowns {
        Unknowns { deadline, ..Unknowns::default() }
    }

    /// Counts a part that is walked.
    fn walk(&self) -> Same {
        self.walked.set(self.walked.get() + 1);
        // The caller knows that its time is up.
        if self.walked.get() > WALKED_MAX || self.deadline.tick() { Err(too_large()) } else { Ok(()) }
    }

    /// A type that is not known at all.
    pub fn fresh(&mut self) -> Ty {
        self.push(State::Free)
    }

    /// A type with fields or alternatives.
    pub fn with_fields(&mut self, fields: Vec<(String, Ty)>, shape: Shape) -> Ty {
        self.push(State::Has(fields, shape))
    }

    /// An array or a set of elements.
    pub fn elements_of(&mut self, element: Ty) -> Ty {
        self.push(State::ElementsOf(element))
    }

    fn push(&mut self, state: State) -> Ty {
        self.states.push(state);
        Ty::Unknown(self.states.len() - 1)
    }

    /// A type as far as its outside is known.
    pub fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Unknown(index) = ty {
            match &self.states[*index] {
                State::Is(known) => ty = known,
                _ => break,
            }
        }
        match ty {
            Ty::Known(Type::Array(element)) => Ty::Array(Box::new(Ty::Known((**element).clone()))),
            Ty::Known(Type::Set(element)) => Ty::Set(Box::new(Ty::Known((**element).clone()))),
            Ty::Known(Type::Maybe(element)) => Ty::Maybe(Box::new(Ty::Known((**element).clone()))),
            ty => ty.clone(),
        }
    }

    /// Checks that a type which a query writes is not too large.
    pub fn check_size(&self, ty: &Type) -> Same {
        self.count_parts(ty, 1, &mut 0)
    }

    fn count_parts(&self, ty: &Type, level: usize, parts: &mut usize) -> Same {
        self.walk()?;
        *parts += 1;
        if *parts > PARTS_MAX || level > DEPTH_MAX {
            return Err(too_large());
        }
        match ty {
            Type::Array(element) | Type::Set(element) | Type::Maybe(element) => {
                self.count_parts(element, level + 1, parts)
            }
            Type::Record(fields) | Type::Sum(fields) => {
                fields.iter().try_for_each(|field| self.count_parts(&field.ty, level + 1, parts))
            }
            _ => Ok(()),
        }
    }

    /// The type, if all of it is known.
    ///
    /// # Errors
    ///
    /// If it is too large.
    pub fn known(&self, ty: &Ty, built: &mut Built) -> Result<Option<Type>, Mismatch> {
        if let Ty::Known(ty) = ty {
            return Ok(Some(ty.clone()));
        }
        Ok(self.sized(ty, 0, built)?.map(|sized| sized.ty))
    }

    fn sized(&self, ty: &Ty, level: usize, built: &mut Built) -> Result<Option<Sized>, Mismatch> {
        if level > DEPTH_MAX {
            return Err(too_large());
        }
        if let Ty::Unknown(index) = ty
            && let Some(sized) = built.0.get(index)
        {
            return Ok(sized.clone());
        }
        self.walk()?;
        let level = level + 1;
        let sized = match self.shallow(ty) {
            Ty::Unknown(index) => match &self.states[index] {
                // It may be a set as well: arrays are more common.
                State::ElementsOf(element) => self.sized(element, level, built)?.map(|of| of.within(Type::array)),
                State::Has(fields, Shape::Record) => {
                    let fields = fields.iter().map(|(name, ty)| (Arc::from(name.as_str()), ty));
                    self.sized_record(fields, level, built)?
                }
                _ => None,
            },
            Ty::Known(ty) => {
                let (mut parts, mut depth) = (0, 0);
                measure(&ty, 1, &mut parts, &mut depth);
                Some(Sized { ty, parts, depth })
            }
            Ty::Array(element) => self.sized(&element, level, built)?.map(|of| of.within(Type::array)),
            Ty::Set(element) => self.sized(&element, level, built)?.map(|of| of.within(Type::set)),
            Ty::Maybe(element) => self.sized(&element, level, built)?.map(|of| of.within(Type::maybe)),
            Ty::Tuple(fields) => {
                let fields = fields.iter().enumerate();
                let fields = fields.map(|(index, ty)| (Arc::from(format!("tuplefield{index}")), ty));
                self.sized_record(fields, level, built)?
            }
        };
        if sized.as_ref().is_some_and(|sized| sized.parts > PARTS_MAX || sized.depth > DEPTH_MAX) {
            return Err(too_large());
        }
        if let Ty::Unknown(index) = ty {
            built.0.insert(*index, sized.clone());
        }
        Ok(sized)
    }

    fn sized_record<'t>(
        &self,
        fields: impl Iterator<Item = (Arc<str>, &'t Ty)>,
        level: usize,
        built: &mut Built,
    ) -> Result<Option<Sized>, Mismatch> {
        let (mut of_record, mut parts, mut depth) = (Vec::new(), 0_usize, 0);
        for (name, ty) in fields {
            let Some(sized) = self.sized(ty, level, built)? else { return Ok(None) };
            parts += sized.parts;
            depth = depth.max(sized.depth);
            if parts > PARTS_MAX {
                return Err(too_large());
            }
            of_record.push(Field { name, ty: sized.ty });
        }
        Ok(Some(Sized { ty: Type::record(of_record), parts: parts + 1, depth: depth + 1 }))
    }

    /// Checks that a type does not have this unknown one in it.
    fn check_apart(&self, index: usize, ty: &Ty) -> Same {
        match self.occurs(index, ty, 0)? {
            true => Err(Mismatch(Some("the type would contain itself".to_owned()))),
            false => Ok(()),
        }
    }

    /// Whether a type has this unknown one in it.
    ///
    /// # Errors
    ///
    /// If the type is too large.
    fn occurs(&self, index: usize, ty: &Ty, level: usize) -> Result<bool, Mismatch> {
        if level > DEPTH_MAX {
            return Err(too_large());
        }
        self.walk()?;
        let any = |types: &mut dyn Iterator<Item = &Ty>| {
            for ty in types {
                if self.occurs(index, ty, level + 1)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        match self.shallow(ty) {
            Ty::Unknown(other) if other == index => Ok(true),
            Ty::Unknown(other) => match &self.states[other] {
                State::Has(fields, _) => any(&mut fields.iter().map(|(_, ty)| ty)),
                State::ElementsOf(element) => any(&mut std::iter::once(element)),
                _ => Ok(false),
            },
            Ty::Known(_) => Ok(false),
            Ty::Array(element) | Ty::Set(element) | Ty::Maybe(element) => any(&mut std::iter::once(&*element)),
            Ty::Tuple(fields) => any(&mut fields.iter()),
        }
    }

    /// Makes two types the same.
    pub fn unify(&mut self, a: &Ty, b: &Ty) -> Same {
        self.walk()?;
        if self.depth > DEPTH_MAX {
            return Err(too_large());
        }
        self.depth += 1;
        let same = self.unify_within(a, b);
        self.depth -= 1;
        same
    }

    fn unify_within(&mut self, a: &Ty, b: &Ty) -> Same {
        let (a, b) = (self.shallow(a), self.shallow(b));
        match (&a, &b) {
            (Ty::Unknown(a), Ty::Unknown(b)) if a == b => Ok(()),
            (Ty::Unknown(index), other) | (other, Ty::Unknown(index)) => self.bind(*index, other),
            (Ty::Known(a), Ty::Known(b)) if a == b => Ok(()),
            (Ty::Array(a), Ty::Array(b)) | (Ty::Set(a), Ty::Set(b)) | (Ty::Maybe(a), Ty::Maybe(b)) => self.unify(a, b),
            (Ty::Tuple(a), Ty::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b).try_for_each(|(a, b)| self.unify(a, b))
            }
            (Ty::Tuple(tuple), Ty::Known(Type::Record(fields)))
            | (Ty::Known(Type::Record(fields)), Ty::Tuple(tuple))
                if tuple.len() == fields.len() =>
            {
                let fields: Vec<Ty> = fields.iter().map(|field| Ty::Known(field.ty.clone())).collect();
                tuple.iter().zip(&fields).try_for_each(|(a, b)| self.unify(a, b))
            }
            // Records whose fields have other names are the same to a tuple, which has none.
            (Ty::Known(Type::Record(a)), Ty::Known(Type::Record(b)))
                if a.len() == b.len() && (is_tuple(a) || is_tuple(b)) =>
            {
                let pairs: Vec<(Ty, Ty)> =
                    a.iter().zip(b.iter()).map(|(a, b)| (Ty::Known(a.ty.clone()), Ty::Known(b.ty.clone()))).collect();
                pairs.iter().try_for_each(|(a, b)| self.unify(a, b))
            }
            _ => Err(Mismatch(None)),
        }
    }

    fn bind(&mut self, index: usize, ty: &Ty) -> Same {
        self.check_apart(index, ty)?;
        let state = std::mem::replace(&mut self.states[index], State::Is(ty.clone()));
        match state {
            State::Free | State::Is(_) => Ok(()),
            State::ElementsOf(element) => match self.shallow(ty) {
                Ty::Array(other) | Ty::Set(other) => self.unify(&element, &other),
                Ty::Unknown(other) => match self.states[other].clone() {
                    State::Free => {
                        self.states[other] = State::ElementsOf(element);
                        Ok(())
                    }
                    State::ElementsOf(others) => self.unify(&element, &others),
                    _ => Err(Mismatch(None)),
                },
                _ => Err(Mismatch(Some("only arrays and sets have elements".to_owned()))),
            },
            State::Has(fields, shape) => self.has(ty, fields, shape),
        }
    }

    /// Makes a type have fields or alternatives.
    pub fn has(&mut self, ty: &Ty, fields: Vec<(String, Ty)>, shape: Shape) -> Same {
        if let Ty::Unknown(index) = self.shallow(ty) {
            return self.merge(index, fields, shape);
        }
        for (name, of_field) in &fields {
            let found = self.field(ty, name, shape).ok_or_else(|| Mismatch(Some(no_field(name, shape))))?;
            if let Some(found) = found {
                self.unify(of_field, &found)?;
            }
        }
        match self.shallow(ty) {
            Ty::Known(Type::Record(_)) | Ty::Tuple(_) => Ok(()),
            _ if fields.len() == 1 => Ok(()),
            _ => Err(Mismatch(Some("a sum has one alternative at a time".to_owned()))),
        }
    }

    fn merge(&mut self, index: usize, fields: Vec<(String, Ty)>, shape: Shape) -> Same {
        for (_, ty) in &fields {
            self.check_apart(index, ty)?;
        }
        match self.states[index].clone() {
            State::Has(mut known, other) => {
                let shape = match (shape, other) {
                    (Shape::Either, shape) | (shape, Shape::Either) => shape,
                    (a, b) if a == b => a,
                    _ => return Err(Mismatch(Some("a record is not a sum".to_owned()))),
                };
                for (name, ty) in fields {
                    match known.iter().find(|(other, _)| *other == name).cloned() {
                        Some((_, other)) => self.unify(&ty, &other)?,
                        None => known.push((name, ty)),
                    }
                }
                self.states[index] = State::Has(known, shape);
                Ok(())
            }
            State::Free => {
                self.states[index] = State::Has(fields, shape);
                Ok(())
            }
            _ => Err(Mismatch(None)),
        }
    }

    /// The type of a field or an alternative of a type; `Some(None)` for one of any type.
    fn field(&self, ty: &Ty, name: &str, shape: Shape) -> Option<Option<Ty>> {
        let of = |fields: &[Field]| {
            fields.iter().find(|field| *field.name == *name).map(|field| Some(Ty::Known(field.ty.clone())))
        };
        match (self.shallow(ty), shape) {
            (Ty::Known(Type::Record(fields)), Shape::Record | Shape::Either) => of(&fields),
            (Ty::Known(Type::Sum(fields)), Shape::Sum | Shape::Either) => of(&fields),
            (Ty::Maybe(element), Shape::Sum | Shape::Either) => match name {
                "just" => Some(Some(*element)),
                "nothing" => Some(Some(Ty::Known(Type::unit()))),
                _ => None,
            },
            (Ty::Known(Type::Enum(names)), Shape::Sum | Shape::Either) => {
                names.iter().any(|other| **other == *name).then_some(Some(Ty::Known(Type::unit())))
            }
            (Ty::Known(Type::Bool), Shape::Sum | Shape::Either) => {
                matches!(name, "true" | "false").then_some(Some(Ty::Known(Type::unit())))
            }
            _ => None,
        }
    }
}

impl Sized {
    /// A type of such elements.
    fn within(self, outside: fn(Type) -> Type) -> Sized {
        Sized { ty: outside(self.ty), parts: self.parts + 1, depth: self.depth + 1 }
    }
}

/// The parts and the depth of a type, as far as they are bounded.
fn measure(ty: &Type, level: usize, parts: &mut usize, depth: &mut usize) {
    *parts += 1;
    *depth = level.max(*depth);
    if *parts > PARTS_MAX {
        return;
    }
    match ty {
        Type::Array(element) | Type::Set(element) | Type::Maybe(element) => measure(element, level + 1, parts, depth),
        Type::Record(fields) | Type::Sum(fields) => {
            fields.iter().for_each(|field| measure(&field.ty, level + 1, parts, depth));
        }
        _ => {}
    }
}

fn is_tuple(fields: &[Field]) -> bool {
    fields.iter().all(|field| field.name.starts_with("tuplefield"))
}

fn no_field(name: &str, shape: Shape) -> String {
    match shape {
        Shape::Record => format!("there is no field `{name}`"),
        Shape::Sum => format!("there is no alternative `{name}`"),
        Shape::Either => format!("there is no field or alternative `{name}`"),
    }
}
