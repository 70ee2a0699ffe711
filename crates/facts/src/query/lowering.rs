//! Typed queries to steps. Derived predicates are replaced by the queries that derive them.
//!
//! `never`, and what needs facts of a predicate that has none, matches nothing, and is left out: of a union of many
//! derived predicates, only the alternatives that can match are lowered and planned.

mod evolving;
mod narrowing;
pub mod patterns;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::{Source, Span};
use crate::angle::tree::DeriveWhen;
use crate::ids::PredicateId;
use crate::query::steps::{LOOPS_MAX, Step, Term, depth_of};
use crate::query::typed::{CheckedQuery, Node, NodeKind, TypedStatement};
use crate::schema::definition::Schema;
use crate::schema::evolution::Successors;
use crate::value::bytes::{put_string, put_string_prefix};
use crate::value::nat::{nat_bytes, put_nat};
use crate::value::types::Type;

/// The checked derivations of a schema.
pub type Derivations = HashMap<PredicateId, CheckedQuery>;

/// A query as steps.
pub struct Lowered {
    /// The steps.
    pub steps: Vec<Step>,
    /// What the query returns.
    pub head: Term,
    /// The value of a derived fact.
    pub value: Option<Term>,
    /// How many slots there are.
    pub slots: usize,
    /// Whether a part of the query was left out because it matches nothing.
    pub is_partial: bool,
    /// Whether patterns were repeated in branches: see [`patterns`].
    pub is_repeated: bool,
}

/// The most derived predicates that a query may stand for, each time that one is used.
const EXPANSIONS_MAX: usize = 20_000;

/// Lowers a query. `successors` has the predicates that others answer for, and `is_empty` says whether a predicate has
/// no facts. `repeated_max` is how many parts of patterns are repeated in branches.
///
/// # Errors
///
/// If a derived predicate is derived from itself, or too many are used.
pub fn lower(
    schema: &Schema,
    derivations: &Derivations,
    source: &Source,
    query: &CheckedQuery,
    successors: &Successors,
    is_empty: &dyn Fn(PredicateId) -> bool,
    repeated_max: usize,
) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering {
        schema,
        derivations,
        source,
        successors,
        is_empty,
        slots: 0,
        path: Vec::new(),
        place: Span::default(),
        expansions: 0,
        alternatives: 0,
        reserved: 0,
        is_partial: false,
        repeated_left: 0,
    };
    let mut steps = Vec::new();
    let (head, value) = match lowering.query(query, &mut steps) {
        Ok(lowered) => lowered,
        Err(Stop::Never) => {
            let none = || Term::Bytes(Vec::new());
            steps = never_steps();
            (none(), query.value.is_some().then(none))
        }
        Err(Stop::Wrong(diagnostic)) => return Err(*diagnostic),
    };
    // A query that is too deep is refused when it is planned.
    let repeated_max = if depth_of(&steps) <= LOOPS_MAX { repeated_max } else { 0 };
    lowering.repeated_left = repeated_max;
    let steps = lowering.narrowed(steps);
    let is_repeated = lowering.repeated_left < repeated_max;
    Ok(Lowered { steps, head, value, slots: lowering.slots, is_partial: lowering.is_partial, is_repeated })
}

struct Lowering<'a> {
    schema: &'a Schema,
    derivations: &'a Derivations,
    source: &'a Source,
    successors: &'a Successors,
    is_empty: &'a dyn Fn(PredicateId) -> bool,
    slots: usize,
    /// The derived predicates that are being replaced.
    path: Vec<PredicateId>,
    /// The place of the facts that are being lowered, in the text of the query.
    place: Span,
    expansions: usize,
    /// How many alternatives variables of evolved predicates are translated by.
    alternatives: usize,
    /// How many variables are being translated so, one within the other.
    reserved: usize,
    is_partial: bool,
    /// How many parts of patterns may still be repeated in branches.
    repeated_left: usize,
}

/// The slots of a query's variables begin here.
#[derive(Clone, Copy)]
struct Frame {
    first_slot: usize,
}

type Lower<T> = Result<T, Stop>;

/// Why lowering stops.
enum Stop {
    /// What is being lowered matches nothing: it is `never`, or needs facts of a predicate that has none.
    Never,
    /// The query is wrong.
    Wrong(Box<Diagnostic>),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Wrong(Box::new(diagnostic))
    }
}

/// Steps that match nothing.
fn never_steps() -> Vec<Step> {
    vec![Step::Same(Term::Never, Term::Never)]
}

/// `None` for what matches nothing.
fn possible<T>(lowered: Lower<T>) -> Lower<Option<T>> {
    match lowered {
        Ok(lowered) => Ok(Some(lowered)),
        Err(Stop::Never) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Appends the branches that can match to steps: one alone, or several as alternatives.
fn alternatives(mut branches: Vec<Vec<Step>>, span: Span, steps: &mut Vec<Step>) -> Lower<()> {
    match branches.len() {
        0 => Err(Stop::Never),
        1 => {
            steps.append(&mut branches[0]);
            Ok(())
        }
        _ => {
            steps.push(Step::Or(branches, span));
            Ok(())
        }
    }
}

/// Appends an `if` to steps, unless neither of its branches can match.
fn choice(
    condition: Vec<Step>,
    then: Option<Vec<Step>>,
    otherwise: Option<Vec<Step>>,
    span: Span,
    steps: &mut Vec<Step>,
) -> Lower<()> {
    if then.is_none() && otherwise.is_none() {
        return Err(Stop::Never);
    }
    let [then, otherwise] = [then, otherwise].map(|branch| branch.unwrap_or_else(never_steps));
    steps.push(Step::If(Box::new([condition, then, otherwise]), span));
    Ok(())
}

impl Lowering<'_> {
    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// A place in the text of the query: derivations have other texts, and stand where they are used.
    fn place(&self, span: Span) -> Span {
        if self.path.is_empty() { span } else { self.place }
    }

    fn slot_term(&mut self, ty: &Type) -> Term {
        Term::Slot(self.slot(), ty.clone())
    }

    fn query(&mut self, query: &CheckedQuery, steps: &mut Vec<Step>) -> Lower<(Term, Option<Term>)> {
        let frame = Frame { first_slot: self.slots };
        self.slots += query.variables.len();
        self.statements(&query.query.statements, frame, steps)?;
        let head = self.node(&query.query.head, frame, steps)?;
        let value = query.value.as_ref().map(|value| self.node(value, frame, steps)).transpose()?;
        Ok((head, value))
    }

    fn statements(&mut self, statements: &[TypedStatement<Type>], frame: Frame, steps: &mut Vec<Step>) -> Lower<()> {
        for statement in statements {
            match (&statement.left, &statement.right.kind) {
                (None, _) => self.discarded(&statement.right, frame, steps)?,
                (Some(left), NodeKind::Facts(predicate, parts)) => {
                    let id = self.node(left, frame, steps)?;
                    let id = self.id_term(id, &left.ty, steps);
                    self.facts(*predicate, id, parts, frame, statement.right.span, steps)?;
                }
                (Some(left), _) => {
                    let left = self.node(left, frame, steps)?;
                    let right = self.node(&statement.right, frame, steps)?;
                    same(left, right, steps);
                }
            }
        }
        Ok(())
    }

    /// A node whose value does not matter.
    fn discarded(&mut self, node: &Node<Type>, frame: Frame, steps: &mut Vec<Step>) -> Lower<()> {
        match &node.kind {
            NodeKind::Facts(predicate, parts) => {
                let id = Term::Wild(node.ty.clone());
                self.facts(*predicate, id, parts, frame, node.span, steps)
            }
            NodeKind::Query(query) => {
                self.statements(&query.statements, frame, steps)?;
                self.discarded(&query.head, frame, steps)
            }
            NodeKind::Or(branches) => {
                let mut lowered = Vec::with_capacity(branches.len());
                for branch in branches {
                    lowered.extend(possible(self.discarded_branch(branch, frame))?);
                }
                alternatives(lowered, self.place(node.span), steps)
            }
            NodeKind::If(parts) => {
                let mut condition = Vec::new();
                if possible(self.discarded(&parts[0], frame, &mut condition))?.is_none() {
                    return self.discarded(&parts[2], frame, steps);
                }
                let then = possible(self.discarded_branch(&parts[1], frame))?;
                let otherwise = possible(self.discarded_branch(&parts[2], frame))?;
                choice(condition, then, otherwise, self.place(node.span), steps)
            }
            _ => {
                let term = self.node(node, frame, steps)?;
                if matches!(term, Term::Never) {
                    same(Term::Never, Term::Never, steps);
                }
                Ok(())
            }
        }
    }

    fn discarded_branch(&mut self, node: &Node<Type>, frame: Frame) -> Lower<Vec<Step>> {
        let mut steps = Vec::new();
        self.discarded(node, frame, &mut steps)?;
        Ok(steps)
    }

    fn node(&mut self, node: &Node<Type>, frame: Frame, steps: &mut Vec<Step>) -> Lower<Term> {
        Ok(match &node.kind {
            NodeKind::Wildcard => Term::Wild(node.ty.clone()),
            NodeKind::Never => return Err(Stop::Never),
            NodeKind::Nat(nat) if node.ty == Type::Byte => Term::Bytes(vec![*nat as u8]),
            NodeKind::Nat(nat) => Term::Bytes(nat_bytes(*nat)),
            NodeKind::FactId(id) => {
                // There may be no fact with the id, or one of another predicate.
                let id = Term::Bytes(nat_bytes(*id));
                self.key(id.clone(), &node.ty, Term::Wild(self.key_of(&node.ty)), node.span, steps)?;
                id
            }
            NodeKind::String(string) => {
                let mut bytes = Vec::new();
                if node.ty == Type::String {
                    put_string(&mut bytes, string);
                } else {
                    put_nat(&mut bytes, string.len() as u64);
                    bytes.extend_from_slice(string.as_bytes());
                }
                Term::Bytes(bytes)
            }
            NodeKind::StringPrefix(prefix, rest) => {
                let mut bytes = Vec::new();
                put_string_prefix(&mut bytes, prefix);
                Term::Prefix(bytes, Box::new(self.node(rest, frame, steps)?))
            }
            NodeKind::Variable(index) => Term::Slot(frame.first_slot + index, node.ty.clone()),
            NodeKind::Array(nodes) => {
                let terms = self.nodes(nodes, frame, steps)?;
                packed(Term::Array(terms))
            }
            NodeKind::ArrayPrefix(nodes) => {
                let terms = self.nodes(nodes, frame, steps)?;
                let element = match &node.ty {
                    Type::Array(element) => (**element).clone(),
                    _ => Type::unit(),
                };
                Term::ArrayPrefix(terms, element)
            }
            NodeKind::Tuple(nodes) => packed(Term::Record(self.nodes(nodes, frame, steps)?)),
            NodeKind::Fields(fields) => self.fields(&node.ty, fields, frame, steps)?,
            NodeKind::Facts(predicate, parts) => {
                let slot = self.slot_term(&node.ty);
                self.facts(*predicate, slot.clone(), parts, frame, node.span, steps)?;
                slot
            }
            NodeKind::Query(query) => {
                self.statements(&query.statements, frame, steps)?;
                self.node(&query.head, frame, steps)?
            }
            NodeKind::Promoted(inner) => match &node.ty {
                Type::Predicate(predicate) if inner.ty != node.ty => {
                    let slot = self.slot_term(&node.ty);
                    let key = self.node(&of_type(inner, self.key_type(*predicate)), frame, steps)?;
                    let value = Term::Wild(self.value_type(*predicate));
                    self.facts_of(*predicate, slot.clone(), key, value, node.span, steps)?;
                    slot
                }
                ty => self.node(&of_type(inner, ty.clone()), frame, steps)?,
            },
            _ => self.operation(node, frame, steps)?,
        })
    }

    fn nodes(&mut self, nodes: &[Node<Type>], frame: Frame, steps: &mut Vec<Step>) -> Lower<Vec<Term>> {
        nodes.iter().map(|node| self.node(node, frame, steps)).collect()
    }

    fn operation(&mut self, node: &Node<Type>, frame: Frame, steps: &mut Vec<Step>) -> Lower<Term> {
        match &node.kind {
            NodeKind::Or(branches) => {
                let slot = self.slot_term(&node.ty);
                let mut lowered = Vec::new();
                for branch in branches {
                    lowered.extend(possible(self.branch(branch, &slot, frame))?);
                }
                alternatives(lowered, self.place(node.span), steps)?;
                Ok(slot)
            }
            NodeKind::If(parts) => {
                let slot = self.slot_term(&node.ty);
                let mut condition = Vec::new();
                if possible(self.discarded(&parts[0], frame, &mut condition))?.is_none() {
                    steps.append(&mut self.branch(&parts[2], &slot, frame)?);
                    return Ok(slot);
                }
                let then = possible(self.branch(&parts[1], &slot, frame))?;
                let otherwise = possible(self.branch(&parts[2], &slot, frame))?;
                choice(condition, then, otherwise, self.place(node.span), steps)?;
                Ok(slot)
            }
            NodeKind::Not(statements) => {
                let mut inner = Vec::new();
                if possible(self.statements(statements, frame, &mut inner))?.is_some() {
                    steps.push(Step::Not(inner));
                }
                Ok(Term::Bytes(Vec::new()))
            }
            NodeKind::All(inner) => {
                let mut inner_steps = Vec::new();
                let Some(item) = possible(self.node(inner, frame, &mut inner_steps))? else {
                    return Ok(Term::Bytes(nat_bytes(0)));
                };
                let result = self.slot();
                steps.push(Step::All { result, item, steps: inner_steps });
                Ok(Term::Slot(result, node.ty.clone()))
            }
            NodeKind::Elements(inner) => {
                let of = self.node(inner, frame, steps)?;
                let slot = self.slot_term(&node.ty);
                steps.push(Step::Element { item: slot.clone(), of, ty: node.ty.clone() });
                Ok(slot)
            }
            NodeKind::Primitive(primitive, nodes) => {
                let arguments = self.nodes(nodes, frame, steps)?;
                let types = nodes.iter().map(|node| node.ty.clone()).collect();
                let result = match node.ty.is_unit() {
                    true => Term::Bytes(Vec::new()),
                    false => self.slot_term(&node.ty),
                };
                steps.push(Step::Primitive { primitive: *primitive, result: result.clone(), arguments, types });
                Ok(result)
            }
            NodeKind::Field(inner, name) | NodeKind::Alternative(inner, name) => {
                let term = self.node(inner, frame, steps)?;
                let slot = self.slot_term(&node.ty);
                self.selected(term, &inner.ty, name, slot.clone(), node.span, steps)?;
                Ok(slot)
            }
            NodeKind::Key(inner) => {
                let id = self.node(inner, frame, steps)?;
                let slot = self.slot_term(&node.ty);
                self.key(id, &inner.ty, slot.clone(), node.span, steps)?;
                Ok(slot)
            }
            _ => unreachable!("other nodes are lowered elsewhere"),
        }
    }

    /// A branch whose value goes into a slot.
    fn branch(&mut self, node: &Node<Type>, slot: &Term, frame: Frame) -> Lower<Vec<Step>> {
        let mut steps = Vec::new();
        match &node.kind {
            NodeKind::Facts(predicate, parts) => {
                self.facts(*predicate, slot.clone(), parts, frame, node.span, &mut steps)?;
            }
            _ => {
                let term = self.node(node, frame, &mut steps)?;
                same(slot.clone(), term, &mut steps);
            }
        }
        Ok(steps)
    }

    /// Fields of a record, an alternative, an enumerator.
    fn fields(
        &mut self,
        ty: &Type,
        fields: &[(String, Node<Type>)],
        frame: Frame,
        steps: &mut Vec<Step>,
    ) -> Lower<Term> {
        if let Type::Record(types) = ty {
            let mut terms = Vec::with_capacity(types.len());
            for field in types.iter() {
                terms.push(match fields.iter().find(|(name, _)| **name == *field.name) {
                    Some((_, node)) => self.node(node, frame, steps)?,
                    None => Term::Wild(field.ty.clone()),
                });
            }
            return Ok(packed(Term::Record(terms)));
        }
        let Some((name, node)) = fields.first() else { return Ok(Term::Never) };
        let Some((tag, of_alternative)) = alternative(ty, name) else { return Ok(Term::Never) };
        let inner = match node.kind {
            NodeKind::Wildcard => Term::Wild(of_alternative),
            _ => self.node(node, frame, steps)?,
        };
        Ok(packed(Term::Tagged(tag, Box::new(inner))))
    }

    fn value_type(&self, predicate: PredicateId) -> Type {
        self.schema.predicate(predicate).map_or_else(Type::unit, |predicate| predicate.value.clone())
    }

    fn key_type(&self, predicate: PredicateId) -> Type {
        self.schema.predicate(predicate).map_or_else(Type::unit, |predicate| predicate.key.clone())
    }

    /// The type of keys of a fact's type.
    fn key_of(&self, ty: &Type) -> Type {
        match ty {
            Type::Predicate(predicate) => self.key_type(*predicate),
            _ => Type::unit(),
        }
    }

    /// Ids are slots, bytes or anything.
    fn id_term(&mut self, id: Term, ty: &Type, steps: &mut Vec<Step>) -> Term {
        match id {
            Term::Slot(..) | Term::Bytes(_) | Term::Wild(_) => id,
            other => {
                let slot = self.slot_term(ty);
                same(slot.clone(), other, steps);
                slot
            }
        }
    }

    /// A field or an alternative of a term into a slot. A fact stands for its key.
    fn selected(
        &mut self,
        term: Term,
        ty: &Type,
        name: &str,
        into: Term,
        span: Span,
        steps: &mut Vec<Step>,
    ) -> Lower<()> {
        let pattern = |ty: &Type| match ty {
            Type::Record(fields) => {
                let field = |field: &crate::value::types::Field| match *field.name == *name {
                    true => into.clone(),
                    false => Term::Wild(field.ty.clone()),
                };
                Term::Record(fields.iter().map(field).collect())
            }
            _ => match alternative(ty, name) {
                Some((tag, _)) => Term::Tagged(tag, Box::new(into.clone())),
                None => Term::Never,
            },
        };
        match ty {
            Type::Predicate(predicate) => {
                let key_type = self.key_type(*predicate);
                if matches!(key_type, Type::Predicate(_)) {
                    let slot = self.slot_term(&key_type);
                    self.key(term, ty, slot.clone(), span, steps)?;
                    return self.selected(slot, &key_type, name, into, span, steps);
                }
                self.key(term, ty, pattern(&key_type), span, steps)
            }
            _ => {
                same(pattern(ty), term, steps);
                Ok(())
            }
        }
    }

    /// The fact with this id has a key that matches.
    fn key(&mut self, id: Term, ty: &Type, key: Term, span: Span, steps: &mut Vec<Step>) -> Lower<()> {
        let Type::Predicate(predicate) = ty else { unreachable!("only facts have keys") };
        let id = self.id_term(id, ty, steps);
        let value = Term::Wild(self.value_type(*predicate));
        self.facts_of(*predicate, id, key, value, span, steps)
    }

    fn facts(
        &mut self,
        predicate: PredicateId,
        id: Term,
        parts: &[Node<Type>; 2],
        frame: Frame,
        span: Span,
        steps: &mut Vec<Step>,
    ) -> Lower<()> {
        let key = self.node(&parts[0], frame, steps)?;
        let value = self.node(&parts[1], frame, steps)?;
        self.facts_of(predicate, id, key, value, span, steps)
    }

    /// Facts of a predicate or of its successor: stored ones, or the query that derives them.
    fn facts_of(
        &mut self,
        predicate: PredicateId,
        id: Term,
        key: Term,
        value: Term,
        span: Span,
        steps: &mut Vec<Step>,
    ) -> Lower<()> {
        self.place = self.place(span);
        if let Some(&successor) = self.successors.get(&predicate) {
            let key = self.evolve(key, &self.key_type(predicate), &self.key_type(successor), steps)?;
            let value = self.evolve(value, &self.value_type(predicate), &self.value_type(successor), steps)?;
            return self.facts_of(successor, id, key, value, span, steps);
        }
        let derives = self.schema.predicate(predicate).and_then(|predicate| predicate.derivation.as_ref());
        let derives = derives.is_some_and(|derivation| match derivation.when {
            DeriveWhen::OnDemand => true,
            DeriveWhen::Stored => false,
            DeriveWhen::IfEmpty => (self.is_empty)(predicate),
        });
        let (true, Some(query)) = (derives, self.derivations.get(&predicate)) else {
            if (self.is_empty)(predicate) {
                self.is_partial = true;
                return Err(Stop::Never);
            }
            steps.push(Step::Facts { predicate, id, key, value });
            return Ok(());
        };
        self.enter(predicate)?;
        let mut inner = Vec::new();
        let derived = self.query(query, &mut inner);
        self.path.pop();
        let (derived_key, derived_value) = derived?;
        let derived_value = derived_value.unwrap_or(Term::Bytes(Vec::new()));
        same(key.clone(), derived_key.clone(), &mut inner);
        same(value.clone(), derived_value.clone(), &mut inner);
        match id {
            // The fact itself does not matter: its derivation is as good as if it stood in the query.
            Term::Wild(_) => steps.append(&mut inner),
            id => {
                steps.push(Step::Derived { predicate, id, key, value, steps: inner, derived_key, derived_value });
            }
        }
        Ok(())
    }

    fn enter(&mut self, predicate: PredicateId) -> Lower<()> {
        self.expansions += 1;
        if let Some(at) = self.path.iter().position(|other| *other == predicate) {
            let names = self.path[at..].iter().chain([&predicate]).map(|id| self.schema.name_of(*id));
            let cycle = names.collect::<Vec<_>>().join(" → ");
            let message = format!("a predicate is derived from itself: {cycle}");
            return Err(self.source.error(self.place, message, "store one of them: `stored` before its query").into());
        }
        if self.expansions > EXPANSIONS_MAX {
            let message = format!("the query uses derived predicates more than {EXPANSIONS_MAX} times");
            return Err(self.source.error(self.place, message, "store some of them: `stored` before the query").into());
        }
        self.path.push(predicate);
        Ok(())
    }
}

/// A literal of the type that it has been found to have: numbers may be bytes, strings arrays of bytes. Other nodes
/// have their type.
fn of_type(node: &Node<Type>, ty: Type) -> Cow<'_, Node<Type>> {
    match &node.kind {
        NodeKind::Nat(_) | NodeKind::String(_) => Cow::Owned(Node { kind: node.kind.clone(), ty, span: node.span }),
        _ => Cow::Borrowed(node),
    }
}

/// The tag of an alternative, and the type of its value.
fn alternative(ty: &Type, name: &str) -> Option<(u64, Type)> {
    let (index, ty) = match (ty, name) {
        (Type::Sum(alternatives), _) => {
            let index = alternatives.iter().position(|field| *field.name == *name)?;
            (index, alternatives[index].ty.clone())
        }
        (Type::Enum(names), _) => (names.iter().position(|other| **other == *name)?, Type::unit()),
        (Type::Maybe(_), "nothing") | (Type::Bool, "false") => (0, Type::unit()),
        (Type::Bool, "true") => (1, Type::unit()),
        (Type::Maybe(element), "just") => (1, (**element).clone()),
        _ => return None,
    };
    Some((index as u64, ty))
}

/// A term as bytes, if nothing in it is open.
fn packed(term: Term) -> Term {
    match ground_bytes(&term) {
        Some(bytes) => Term::Bytes(bytes),
        None => term,
    }
}

fn ground_bytes(term: &Term) -> Option<Vec<u8>> {
    let joined = |terms: &[Term], mut bytes: Vec<u8>| {
        for term in terms {
            bytes.extend(ground_bytes(term)?);
        }
        Some(bytes)
    };
    match term {
        Term::Bytes(bytes) => Some(bytes.clone()),
        Term::Wild(ty) if ty.is_without_bytes() => Some(Vec::new()),
        Term::Record(terms) => joined(terms, Vec::new()),
        Term::Array(terms) => joined(terms, nat_bytes(terms.len() as u64)),
        Term::Tagged(tag, inner) => joined(std::slice::from_ref(&**inner), nat_bytes(*tag)),
        _ => None,
    }
}

/// Makes two terms the same, part by part where both have parts.
fn same(left: Term, right: Term, steps: &mut Vec<Step>) {
    match (left, right) {
        (Term::Wild(_), Term::Wild(_)) => {}
        // A wildcard matches every value that there is; `never` and parts that match nothing remain.
        (Term::Wild(_), Term::Slot(..) | Term::Bytes(_)) | (Term::Slot(..) | Term::Bytes(_), Term::Wild(_)) => {}
        (Term::Record(left), Term::Record(right)) if left.len() == right.len() => {
            left.into_iter().zip(right).for_each(|(left, right)| same(left, right, steps));
        }
        (Term::Array(left), Term::Array(right)) if left.len() == right.len() => {
            left.into_iter().zip(right).for_each(|(left, right)| same(left, right, steps));
        }
        (Term::Tagged(tag, left), Term::Tagged(other, right)) if tag == other => same(*left, *right, steps),
        (Term::Wild(_), Term::Record(terms)) | (Term::Record(terms), Term::Wild(_)) => {
            terms.into_iter().for_each(|term| {
                if !matches!(term, Term::Slot(..) | Term::Bytes(_) | Term::Wild(_)) {
                    same(Term::Wild(Type::unit()), term, steps);
                }
            });
        }
        (Term::Wild(_), Term::Tagged(_, term) | Term::Prefix(_, term))
        | (Term::Tagged(_, term) | Term::Prefix(_, term), Term::Wild(_)) => {
            same(Term::Wild(Type::unit()), *term, steps);
        }
        (Term::Wild(_), Term::Array(terms) | Term::ArrayPrefix(terms, _))
        | (Term::Array(terms) | Term::ArrayPrefix(terms, _), Term::Wild(_)) => {
            terms.into_iter().for_each(|term| same(Term::Wild(Type::unit()), term, steps));
        }
        (Term::Bytes(left), Term::Bytes(right)) if left == right => {}
        (left, right) => steps.push(Step::Same(left, right)),
    }
}
