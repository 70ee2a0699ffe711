//! Types of patterns: found out from the inside, or checked against an expected one.

mod awaited;
mod generators;

use std::collections::HashSet;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::Span;
use crate::angle::tree::{Name, Pattern, PatternKind, Query, Statement};
use crate::ids::PredicateId;
use crate::query::checker::{Awaited, Checker, Head, Mode, Part, Use};
use crate::query::primitives::{PRIMITIVES, Primitive};
use crate::query::typed::{Node, NodeKind, TypedQuery, TypedStatement};
use crate::query::types::{Mismatch, Shape, Ty};
use crate::schema::scopes::Entry;
use crate::schema::similar::did_you_mean;
use crate::schema::typing::type_in_scope;
use crate::value::types::Type;

type Checked = Result<Node<Ty>, Diagnostic>;

fn known(ty: Type) -> Ty {
    Ty::Known(ty)
}

fn unit() -> Ty {
    Ty::Known(Type::unit())
}

impl Checker<'_> {
    /// A query's head and its statements without the one that is the head.
    pub fn head_of<'q>(&self, query: &'q Query) -> Result<(Head<'q>, &'q [Statement]), Diagnostic> {
        if let Some(head) = &query.head {
            return Ok((Head::Pattern(head), &query.statements));
        }
        let (last, before) = query.statements.split_last().expect("the parser reads at least one statement");
        match &last.left {
            None => Ok((Head::LastStatement(&last.right), before)),
            Some(left) if matches!(left.kind, PatternKind::Variable(_)) => Ok((Head::Pattern(left), &query.statements)),
            Some(left) => {
                let hint = "write `head where statements`, or end with a pattern alone";
                Err(self.error(left.span, "the query returns nothing", hint))
            }
        }
    }

    /// The last statement as the head: an expression, perhaps of an expected type.
    pub fn last_statement(&mut self, pattern: &Pattern, expected: Option<&Ty>) -> Checked {
        match expected {
            Some(ty) => self.check(pattern, ty, Use::Binds),
            None => self.infer(pattern, Use::Binds),
        }
    }

    pub fn infer_query(&mut self, query: &Query, place: Use) -> Result<TypedQuery<Ty>, Diagnostic> {
        self.query(query, None, place)
    }

    fn query(&mut self, query: &Query, expected: Option<&Ty>, place: Use) -> Result<TypedQuery<Ty>, Diagnostic> {
        let (head, before) = self.head_of(query)?;
        match head {
            Head::LastStatement(pattern) => {
                let mut statements: Vec<_> =
                    before.iter().map(|statement| self.statement(statement)).collect::<Result<_, _>>()?;
                let last = self.last_statement(pattern, expected)?;
                // The statement comes before the head, which is its value.
                let index = self.hidden_variable(last.ty.clone(), last.span);
                let (ty, span) = (last.ty.clone(), last.span);
                let variable = |ty| Node { kind: NodeKind::Variable(index), ty, span };
                statements.push(TypedStatement { left: Some(variable(ty.clone())), right: last });
                Ok(TypedQuery { head: variable(ty), statements })
            }
            Head::Pattern(head) => {
                // An expected type helps the statements; without one, the statements give the head its type.
                let early = expected.map(|ty| self.check(head, ty, place)).transpose()?;
                let statements = before.iter().map(|statement| self.statement(statement)).collect::<Result<_, _>>()?;
                let head = match early {
                    Some(head) => head,
                    None => self.infer(head, place)?,
                };
                Ok(TypedQuery { head, statements })
            }
        }
    }

    pub fn statement(&mut self, statement: &Statement) -> Result<TypedStatement<Ty>, Diagnostic> {
        let typed = match &statement.left {
            None => TypedStatement { left: None, right: self.ignored(&statement.right)? },
            Some(left) => {
                let right = self.infer(&statement.right, Use::Binds)?;
                let left = self.check(left, &right.ty.clone(), Use::Binds)?;
                TypedStatement { left: Some(left), right }
            }
        };
        self.find_awaited()?;
        Ok(typed)
    }

    /// A pattern whose value does not matter: branches may have values of several types, or none.
    fn ignored(&mut self, pattern: &Pattern) -> Checked {
        let span = pattern.span;
        let empty = || Node { kind: NodeKind::Fields(Vec::new()), ty: unit(), span };
        match &pattern.kind {
            PatternKind::Or(alternatives) => {
                let branches: Vec<Vec<&Pattern>> = alternatives.iter().map(|branch| vec![branch]).collect();
                let nodes = self.branches(&branches, |checker, index| checker.ignored(&alternatives[index]))?;
                Ok(Node { kind: NodeKind::Or(nodes), ty: unit(), span })
            }
            PatternKind::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.if_then_else([condition, then, otherwise], span, |checker, branch| checker.ignored(branch), unit())
            }
            PatternKind::Not(_) => self.infer(pattern, Use::Binds),
            PatternKind::Query(query) if query.head.is_none() => {
                let statements =
                    query.statements.iter().map(|statement| self.statement(statement)).collect::<Result<_, _>>()?;
                let query = TypedQuery { head: empty(), statements };
                Ok(Node { kind: NodeKind::Query(Box::new(query)), ty: unit(), span })
            }
            _ => {
                let right = self.infer(pattern, Use::Binds)?;
                self.ignored_types.push(right.ty.clone());
                let query = TypedQuery { head: empty(), statements: vec![TypedStatement { left: None, right }] };
                Ok(Node { kind: NodeKind::Query(Box::new(query)), ty: unit(), span })
            }
        }
    }

    /// `if`: the condition and the first branch share a scope.
    fn if_then_else(
        &mut self,
        parts: [&Pattern; 3],
        span: Span,
        mut branch: impl FnMut(&mut Self, &Pattern) -> Checked,
        ty: Ty,
    ) -> Checked {
        let [condition, then, otherwise] = parts;
        let mut checked_condition = None;
        let nodes = self.branches(&[vec![condition, then], vec![otherwise]], |checker, index| {
            if index == 1 {
                return branch(checker, otherwise);
            }
            checked_condition = Some(checker.ignored(condition)?);
            branch(checker, then)
        })?;
        let mut nodes = nodes.into_iter();
        let (Some(condition), Some(then), Some(otherwise)) = (checked_condition, nodes.next(), nodes.next()) else {
            unreachable!("there are two branches");
        };
        Ok(Node { kind: NodeKind::If(Box::new([condition, then, otherwise])), ty, span })
    }

    /// The type of a pattern, from what is in it.
    pub fn infer(&mut self, pattern: &Pattern, place: Use) -> Checked {
        let span = pattern.span;
        self.step(span)?;
        let node = |kind, ty| Node { kind, ty, span };
        match &pattern.kind {
            PatternKind::Nat(nat) => Ok(self.promoted(node(NodeKind::Nat(*nat), known(Type::Nat)))),
            PatternKind::String(string) => {
                Ok(self.promoted(node(NodeKind::String(string.clone()), known(Type::String))))
            }
            PatternKind::StringPrefix(_) => {
                let prefix = self.check(pattern, &known(Type::String), place)?;
                Ok(self.promoted(prefix))
            }
            PatternKind::Tuple(patterns) => {
                let nodes: Vec<_> =
                    patterns.iter().map(|pattern| self.infer(pattern, place)).collect::<Result<_, _>>()?;
                let ty = Ty::Tuple(nodes.iter().map(|node| node.ty.clone()).collect());
                Ok(self.promoted(node(NodeKind::Tuple(nodes), ty)))
            }
            PatternKind::Array(elements) => {
                let (nodes, ty) = self.infer_elements(elements, place)?;
                Ok(self.promoted(node(NodeKind::Array(nodes), ty)))
            }
            PatternKind::ArrayPrefix(elements) => {
                let (nodes, ty) = self.infer_elements(elements, place)?;
                Ok(self.promoted(node(NodeKind::ArrayPrefix(nodes), ty)))
            }
            PatternKind::Struct(fields) => self.infer_struct(fields, span, place),
            PatternKind::Enumerator(name) => {
                if matches!(name.as_str(), "true" | "false") {
                    let wildcard = node(NodeKind::Wildcard, unit());
                    let fields = NodeKind::Fields(vec![(name.clone(), wildcard)]);
                    return Ok(self.promoted(node(fields, known(Type::Bool))));
                }
                let of_field = self.unknowns.fresh();
                let wildcard = node(NodeKind::Wildcard, of_field.clone());
                let ty = self.unknowns.with_fields(vec![(name.clone(), of_field)], Shape::Sum);
                Ok(self.promoted(node(NodeKind::Fields(vec![(name.clone(), wildcard)]), ty)))
            }
            PatternKind::Wildcard => Ok(node(NodeKind::Wildcard, self.unknowns.fresh())),
            PatternKind::Never => Ok(node(NodeKind::Never, self.unknowns.fresh())),
            PatternKind::Variable(name) => {
                self.check_variable_name(name, span)?;
                let (index, ty) = self.variable(name, span, place);
                Ok(node(NodeKind::Variable(index), ty))
            }
            PatternKind::FactId(predicate, id) => self.fact_id(predicate.as_ref(), *id, span),
            PatternKind::Signature(inner, ty) => {
                let (ty, of_type) = (type_in_scope(self.source, self.names, ty)?, ty.span);
                self.unknowns.check_size(&ty).map_err(|Mismatch(message)| {
                    self.error(of_type, message.unwrap_or_default(), "write a smaller type")
                })?;
                self.check(inner, &known(ty), place)
            }
            PatternKind::KeyValue(..) => {
                let hint = "`key -> value` follows the name of a predicate, or is the head of a derivation";
                Err(self.error(span, "a key with a value cannot be here", hint))
            }
            PatternKind::Query(query) => {
                let query = self.infer_query(query, place)?;
                let ty = query.head.ty.clone();
                Ok(node(NodeKind::Query(Box::new(query)), ty))
            }
            _ => self.infer_operation(pattern, place),
        }
    }

    /// The elements of an array, and its type. The first element says what the others must be.
    fn infer_elements(&mut self, elements: &[Pattern], place: Use) -> Result<(Vec<Node<Ty>>, Ty), Diagnostic> {
        let Some((first, others)) = elements.split_first() else {
            return Ok((Vec::new(), Ty::Array(Box::new(self.unknowns.fresh()))));
        };
        let first = self.infer(first, place)?;
        let ty = first.ty.clone();
        let mut nodes = vec![first];
        for element in others {
            nodes.push(self.check(element, &ty, place)?);
        }
        Ok((nodes, Ty::Array(Box::new(ty))))
    }

    fn infer_operation(&mut self, pattern: &Pattern, place: Use) -> Checked {
        let span = pattern.span;
        let node = |kind, ty| Node { kind, ty, span };
        match &pattern.kind {
            PatternKind::Apply(function, arguments) => self.apply(function, arguments, span, place),
            PatternKind::Binary(operator, sides) => self.primitive((*operator).into(), &[&sides[0], &sides[1]], span),
            PatternKind::Or(alternatives) => {
                let branches: Vec<Vec<&Pattern>> = alternatives.iter().map(|branch| vec![branch]).collect();
                let ty = self.unknowns.fresh();
                let nodes = self.branches(&branches, |checker, index| {
                    let ty = ty.clone();
                    checker.infer_as(&alternatives[index], &ty, index == 0, place)
                })?;
                Ok(node(NodeKind::Or(nodes), ty))
            }
            PatternKind::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let ty = self.unknowns.fresh();
                let mut first = true;
                let branch_type = ty.clone();
                let branch = |checker: &mut Self, branch: &Pattern| {
                    let first = std::mem::take(&mut first);
                    checker.infer_as(branch, &branch_type, first, place)
                };
                self.if_then_else([condition, then, otherwise], span, branch, ty)
            }
            PatternKind::Not(inner) => {
                let statements = self.negated(inner, |checker| match &inner.kind {
                    PatternKind::Query(query) if query.head.is_none() => {
                        query.statements.iter().map(|statement| checker.statement(statement)).collect()
                    }
                    _ => Ok(vec![TypedStatement { left: None, right: checker.ignored(inner)? }]),
                })?;
                Ok(node(NodeKind::Not(statements), unit()))
            }
            PatternKind::All(inner) => {
                let inner = self.infer(inner, place)?;
                let ty = Ty::Set(Box::new(inner.ty.clone()));
                Ok(node(NodeKind::All(Box::new(inner)), ty))
            }
            PatternKind::Elements(inner) => {
                let inner = self.infer(inner, Use::Uses)?;
                let element = self.unknowns.fresh();
                let container = self.unknowns.elements_of(element.clone());
                self.unify(&container, &inner.ty, inner.span)?;
                Ok(node(NodeKind::Elements(Box::new(inner)), element))
            }
            PatternKind::Field(inner, name) => self.select(inner, name, Shape::Record, span, place),
            PatternKind::Alternative(inner, name) => self.select(inner, name, Shape::Sum, span, place),
            PatternKind::Key(inner) => {
                let inner = self.infer(inner, place)?;
                let ty = self.unknowns.fresh();
                self.part(Awaited { of: inner.ty.clone(), what: Part::Key(ty.clone()), span: inner.span })?;
                Ok(node(NodeKind::Key(Box::new(inner)), ty))
            }
            _ => unreachable!("other patterns are inferred elsewhere"),
        }
    }

    /// Infers the first of several branches, and checks the others against its type.
    fn infer_as(&mut self, pattern: &Pattern, ty: &Ty, first: bool, place: Use) -> Checked {
        if !first {
            return self.check(pattern, ty, place);
        }
        let node = self.infer(pattern, place)?;
        self.unify(ty, &node.ty, node.span)?;
        Ok(node)
    }

    fn infer_struct(&mut self, fields: &[(Name, Pattern)], span: Span, place: Use) -> Checked {
        if fields.is_empty() {
            let node = Node { kind: NodeKind::Fields(Vec::new()), ty: unit(), span };
            return Ok(self.promoted(node));
        }
        let (mut nodes, mut names) = (Vec::new(), HashSet::new());
        for (name, pattern) in fields {
            if !names.insert(&name.text) {
                return Err(self.occurs_twice(name));
            }
            nodes.push((name.text.clone(), self.infer(pattern, place)?));
        }
        let ty = if fields.len() == 1 && fields[0].0.text == "just" {
            Ty::Maybe(Box::new(nodes[0].1.ty.clone()))
        } else {
            let types = nodes.iter().map(|(name, node)| (name.clone(), node.ty.clone())).collect();
            let shape = if fields.len() == 1 { Shape::Either } else { Shape::Record };
            self.unknowns.with_fields(types, shape)
        };
        Ok(self.promoted(Node { kind: NodeKind::Fields(nodes), ty, span }))
    }

    fn check_variable_name(&self, name: &str, span: Span) -> Result<(), Diagnostic> {
        if !name.contains('.') {
            return Ok(());
        }
        let message = format!("{name} stands without a pattern");
        let hint = match self.names.find(name) {
            Some(Entry::Predicate(_)) => format!("write `{name} _` for all its facts"),
            _ => did_you_mean(name, self.names.names(), "a variable is a word with an upper-case beginning"),
        };
        Err(self.error(span, message, hint))
    }

    fn fact_id(&mut self, predicate: Option<&Name>, id: u64, span: Span) -> Checked {
        if self.mode == Mode::Derivation {
            let hint = "ids differ between databases; match the fact's key";
            return Err(self.error(span, "a derivation cannot name a fact by its id", hint));
        }
        let ty = match predicate {
            Some(name) => known(Type::Predicate(self.predicate(&name.text, name.span)?)),
            None => {
                let ty = self.unknowns.fresh();
                self.awaited.push(Awaited { of: ty.clone(), what: Part::Fact(id), span });
                ty
            }
        };
        Ok(Node { kind: NodeKind::FactId(id), ty, span })
    }

    fn predicate(&self, name: &str, span: Span) -> Result<PredicateId, Diagnostic> {
        match self.names.find(name) {
            Some(Entry::Predicate(id)) => Ok(id),
            Some(Entry::Type(_)) => {
                let hint = "only predicates have facts; a type follows `:`";
                Err(self.error(span, format!("{name} is a type, not a predicate"), hint))
            }
            None => {
                let hint = did_you_mean(name, self.names.names(), "the schema has no such name");
                Err(self.error(span, format!("there is no predicate {name}"), hint))
            }
        }
    }

    pub fn key_type(&self, id: PredicateId) -> Type {
        self.schema.predicate(id).map_or_else(Type::unit, |predicate| predicate.key.clone())
    }

    fn apply(&mut self, function: &Pattern, arguments: &[Pattern], span: Span, place: Use) -> Checked {
        match &function.kind {
            PatternKind::StringPrefix(prefix) if arguments.len() == 1 => {
                let rest = self.check(&arguments[0], &known(Type::String), place)?;
                let kind = NodeKind::StringPrefix(prefix.clone(), Box::new(rest));
                Ok(self.promoted(Node { kind, ty: known(Type::String), span }))
            }
            PatternKind::Variable(name) | PatternKind::Enumerator(name) => {
                if name.starts_with("prim.") {
                    let Some((_, primitive)) = PRIMITIVES.iter().find(|(known, _)| known == name) else {
                        let names = PRIMITIVES.iter().map(|(name, _)| *name);
                        let hint = did_you_mean(name, names, "the reference of Angle lists the primitives");
                        return Err(self.error(function.span, format!("there is no primitive {name}"), hint));
                    };
                    let arguments: Vec<&Pattern> = arguments.iter().collect();
                    return self.primitive(*primitive, &arguments, span);
                }
                if let Some(ty) = self.named_type(function) {
                    let argument = self.only_argument(name, arguments)?;
                    return self.check(argument, &known(ty), place);
                }
                let predicate = self.predicate(name, function.span)?;
                let argument = self.only_argument(name, arguments)?;
                self.facts(predicate, argument, span)
            }
            _ => {
                let hint = "predicates and primitives have arguments; separate statements by `;`";
                Err(self.error(arguments[0].span, "this is not an argument", hint))
            }
        }
    }

    /// The pattern of a predicate or a type.
    fn only_argument<'p>(&self, name: &str, arguments: &'p [Pattern]) -> Result<&'p Pattern, Diagnostic> {
        match arguments {
            [argument] => Ok(argument),
            _ => {
                let message = format!("{name} has one pattern, not {}", arguments.len());
                Err(self.error(arguments[1].span, message, "separate statements by `;`, fields by `,`"))
            }
        }
    }

    fn facts(&mut self, id: PredicateId, argument: &Pattern, span: Span) -> Checked {
        let predicate = self.schema.predicate(id).expect("names resolve to predicates of the schema");
        let (key_type, value_type) = (known(predicate.key.clone()), known(predicate.value.clone()));
        let (key, value) = match &argument.kind {
            PatternKind::KeyValue(key, value) => {
                (self.check(key, &key_type, Use::Binds)?, self.check(value, &value_type, Use::Binds)?)
            }
            _ => {
                let value = Node { kind: NodeKind::Wildcard, ty: value_type, span: argument.span };
                (self.check(argument, &key_type, Use::Binds)?, value)
            }
        };
        Ok(Node { kind: NodeKind::Facts(id, Box::new([key, value])), ty: known(Type::Predicate(id)), span })
    }

    fn primitive(&mut self, primitive: Primitive, arguments: &[&Pattern], span: Span) -> Checked {
        if arguments.len() != primitive.arity() {
            let message = format!("expected {} arguments, found {}", primitive.arity(), arguments.len());
            return Err(self.error(span, message, "put an argument of several words into parentheses"));
        }
        let (types, result) = self.primitive_type(primitive);
        let nodes = arguments.iter().zip(&types).map(|(pattern, ty)| self.check(pattern, ty, Use::Uses));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Ok(Node { kind: NodeKind::Primitive(primitive, nodes), ty: result, span })
    }

    fn primitive_type(&mut self, primitive: Primitive) -> (Vec<Ty>, Ty) {
        let array = |ty: Ty| Ty::Array(Box::new(ty));
        let nat = || known(Type::Nat);
        let string = || known(Type::String);
        let (a, b) = (self.unknowns.fresh(), self.unknowns.fresh());
        match primitive {
            Primitive::ToLower | Primitive::Reverse => (vec![string()], string()),
            Primitive::Length => (vec![array(a)], nat()),
            Primitive::Size => (vec![Ty::Set(Box::new(a))], nat()),
            Primitive::Zip => (vec![array(a.clone()), array(b.clone())], array(Ty::Tuple(vec![a, b]))),
            Primitive::Concat => (vec![array(a.clone()), array(a.clone())], array(a)),
            Primitive::RelToAbsByteSpans => {
                let spans = array(Ty::Tuple(vec![nat(), nat()]));
                (vec![spans.clone()], spans)
            }
            Primitive::UnpackByteSpans => {
                let groups = array(Ty::Tuple(vec![nat(), array(nat())]));
                (vec![groups], array(Ty::Tuple(vec![nat(), nat()])))
            }
            Primitive::AddNat => (vec![nat(), nat()], nat()),
            Primitive::NotEqual => (vec![a.clone(), a], unit()),
            _ => (vec![nat(), nat()], unit()),
        }
    }

    /// `a.field` and `a.alternative?`, of a fact's key if `a` is a fact.
    fn select(&mut self, inner: &Pattern, name: &Name, shape: Shape, span: Span, place: Use) -> Checked {
        let inner = self.infer(inner, place)?;
        let field = self.unknowns.fresh();
        let what = Part::Named { name: name.text.clone(), shape, ty: field.clone() };
        self.part(Awaited { of: inner.ty.clone(), what, span: name.span })?;
        let inner = Box::new(inner);
        let kind = match shape {
            Shape::Sum => NodeKind::Alternative(inner, name.text.clone()),
            _ => NodeKind::Field(inner, name.text.clone()),
        };
        Ok(Node { kind, ty: field, span })
    }

    /// A pattern that has to be of a type.
    pub fn check(&mut self, pattern: &Pattern, expected: &Ty, place: Use) -> Checked {
        let span = pattern.span;
        self.step(span)?;
        let ty = self.unknowns.shallow(expected);
        let node = |kind| Ok(Node { kind, ty: ty.clone(), span });
        match (&ty, &pattern.kind) {
            (_, PatternKind::Wildcard) => node(NodeKind::Wildcard),
            (_, PatternKind::Never) => node(NodeKind::Never),
            (Ty::Known(Type::Byte), PatternKind::Nat(nat)) => match u8::try_from(*nat) {
                Ok(_) => node(NodeKind::Nat(*nat)),
                Err(_) => Err(self.error(span, format!("{nat} is not a byte"), "bytes are below 256")),
            },
            (Ty::Known(Type::Nat), PatternKind::Nat(nat)) => node(NodeKind::Nat(*nat)),
            (Ty::Known(Type::String), PatternKind::String(string)) => node(NodeKind::String(string.clone())),
            (Ty::Array(element), PatternKind::String(string)) if **element == Ty::Known(Type::Byte) => {
                node(NodeKind::String(string.clone()))
            }
            (Ty::Known(Type::String), PatternKind::StringPrefix(prefix)) => {
                let rest = Node { kind: NodeKind::Wildcard, ty: ty.clone(), span };
                node(NodeKind::StringPrefix(prefix.clone(), Box::new(rest)))
            }
            (Ty::Array(element), PatternKind::Array(patterns)) => {
                let element = &**element;
                node(NodeKind::Array(self.check_all(patterns, element, place)?))
            }
            (Ty::Array(element), PatternKind::ArrayPrefix(patterns)) => {
                let element = &**element;
                node(NodeKind::ArrayPrefix(self.check_all(patterns, element, place)?))
            }
            (Ty::Known(Type::Record(fields)), PatternKind::Tuple(patterns)) if fields.len() == patterns.len() => {
                let nodes = patterns.iter().zip(fields.iter());
                let nodes = nodes.map(|(pattern, field)| self.check(pattern, &known(field.ty.clone()), place));
                node(NodeKind::Tuple(nodes.collect::<Result<_, _>>()?))
            }
            (Ty::Known(Type::Record(_) | Type::Sum(_)) | Ty::Maybe(_), PatternKind::Struct(fields)) => {
                self.check_struct(fields, &ty, span, place)
            }
            (Ty::Known(Type::Sum(_) | Type::Enum(_) | Type::Bool) | Ty::Maybe(_), PatternKind::Enumerator(name)) => {
                self.check_enumerator(name, &ty, span)
            }
            // Older schemas have enumerators with upper-case beginnings.
            (Ty::Known(Type::Enum(names)), PatternKind::Variable(name))
                if names.iter().any(|known| **known == **name) =>
            {
                self.check_enumerator(name, &ty, span)
            }
            (Ty::Known(Type::Predicate(_)), PatternKind::FactId(None, id)) if self.mode == Mode::Query => {
                node(NodeKind::FactId(*id))
            }
            (ty, PatternKind::FactId(None, id)) if self.mode == Mode::Query && !matches!(ty, Ty::Unknown(_)) => {
                Err(self.no_predicate(*id, span))
            }
            _ => self.check_operation(pattern, &ty, place),
        }
    }

    fn check_operation(&mut self, pattern: &Pattern, ty: &Ty, place: Use) -> Checked {
        let span = pattern.span;
        let node = |kind| Ok(Node { kind, ty: ty.clone(), span });
        match (ty, &pattern.kind) {
            (_, PatternKind::Or(alternatives)) => {
                let branches: Vec<Vec<&Pattern>> = alternatives.iter().map(|branch| vec![branch]).collect();
                node(NodeKind::Or(
                    self.branches(&branches, |checker, index| checker.check(&alternatives[index], ty, place))?,
                ))
            }
            (_, PatternKind::If(parts)) => {
                let [condition, then, otherwise] = &**parts;
                let branch = |checker: &mut Self, branch: &Pattern| checker.check(branch, ty, place);
                self.if_then_else([condition, then, otherwise], span, branch, ty.clone())
            }
            (_, PatternKind::Query(query)) => node(NodeKind::Query(Box::new(self.query(query, Some(ty), place)?))),
            (Ty::Set(element), PatternKind::All(inner)) => {
                let inner = self.check(inner, element, place)?;
                node(NodeKind::All(Box::new(inner)))
            }
            // What is not a fact is the pattern of a key.
            (Ty::Known(Type::Predicate(id)), kind) if is_key(kind) => {
                let predicate = *id;
                match kind {
                    PatternKind::Apply(function, _) if self.named_type(function).is_some() => {
                        self.check_signature(pattern, ty, place)
                    }
                    PatternKind::Apply(function, _) if self.is_predicate(function) => {
                        self.check_inferred(pattern, ty, place)
                    }
                    PatternKind::Signature(..) => self.check_signature(pattern, ty, place),
                    _ => self.facts(predicate, pattern, span),
                }
            }
            _ => self.check_inferred(pattern, ty, place),
        }
    }

    fn is_predicate(&self, function: &Pattern) -> bool {
        match &function.kind {
            PatternKind::Variable(name) | PatternKind::Enumerator(name) => !name.starts_with("prim."),
            _ => false,
        }
    }

    /// The type that stands before a pattern: `type a` is as `a : type`.
    fn named_type(&self, function: &Pattern) -> Option<Type> {
        match &function.kind {
            PatternKind::Variable(name) | PatternKind::Enumerator(name) => match self.names.find(name)? {
                Entry::Type(_) => self.names.type_of(name),
                Entry::Predicate(_) => None,
            },
            _ => None,
        }
    }

    fn check_inferred(&mut self, pattern: &Pattern, ty: &Ty, place: Use) -> Checked {
        let node = self.infer(pattern, place)?;
        self.unify(ty, &node.ty, node.span)?;
        Ok(node)
    }

    /// `a : type`, or `type a`, where a fact is expected: the type is the predicate, or that of its keys.
    fn check_signature(&mut self, pattern: &Pattern, ty: &Ty, place: Use) -> Checked {
        let node = self.infer(pattern, place)?;
        if self.unknowns.shallow(&node.ty) == *ty {
            return Ok(node);
        }
        let node = self.promoted(node);
        self.unify(ty, &node.ty, node.span)?;
        Ok(node)
    }

    fn check_all(&mut self, patterns: &[Pattern], ty: &Ty, place: Use) -> Result<Vec<Node<Ty>>, Diagnostic> {
        patterns.iter().map(|pattern| self.check(pattern, ty, place)).collect()
    }

    fn check_struct(&mut self, fields: &[(Name, Pattern)], ty: &Ty, span: Span, place: Use) -> Checked {
        let mut nodes: Vec<(String, Node<Ty>)> = Vec::new();
        for (name, pattern) in fields {
            if nodes.iter().any(|(other, _)| *other == name.text) {
                return Err(self.occurs_twice(name));
            }
            let of_field = self.unknowns.fresh();
            let wanted = vec![(name.text.clone(), of_field.clone())];
            if self.unknowns.has(ty, wanted, Shape::Either).is_err() {
                return Err(self.no_field(&name.text, name.span, ty));
            }
            nodes.push((name.text.clone(), self.check(pattern, &of_field, place)?));
        }
        if !matches!(ty, Ty::Known(Type::Record(_))) && nodes.len() != 1 {
            let message = format!("expected one alternative of {}", self.text(ty));
            return Err(self.error(span, message, "write `{ alternative = pattern }`"));
        }
        Ok(Node { kind: NodeKind::Fields(nodes), ty: ty.clone(), span })
    }

    fn check_enumerator(&mut self, name: &str, ty: &Ty, span: Span) -> Checked {
        let of_field = self.unknowns.fresh();
        if self.unknowns.has(ty, vec![(name.to_owned(), of_field.clone())], Shape::Sum).is_err() {
            return Err(self.no_field(name, span, ty));
        }
        let wildcard = Node { kind: NodeKind::Wildcard, ty: of_field, span };
        Ok(Node { kind: NodeKind::Fields(vec![(name.to_owned(), wildcard)]), ty: ty.clone(), span })
    }

    fn occurs_twice(&self, name: &Name) -> Diagnostic {
        self.error(name.span, format!("`{}` occurs twice", name.text), "drop one of them")
    }

    fn no_field(&self, name: &str, span: Span, ty: &Ty) -> Diagnostic {
        let names: Vec<&str> = match ty {
            Ty::Known(Type::Record(fields) | Type::Sum(fields)) => fields.iter().map(|field| &*field.name).collect(),
            Ty::Known(Type::Enum(names)) => names.iter().map(|name| &**name).collect(),
            Ty::Known(Type::Bool) => vec!["true", "false"],
            _ => vec!["just", "nothing"],
        };
        let hint = did_you_mean(name, names.iter().copied(), &format!("there are: {}", names.join(", ")));
        self.error(span, format!("{} has no `{name}`", self.text(ty)), hint)
    }
}

/// Whether a pattern where a fact is expected is one of the fact's key: not what can be a fact itself.
fn is_key(kind: &PatternKind) -> bool {
    !matches!(
        kind,
        PatternKind::Variable(_)
            | PatternKind::Field(..)
            | PatternKind::Alternative(..)
            | PatternKind::Key(_)
            | PatternKind::FactId(..)
            | PatternKind::Elements(_)
            | PatternKind::Not(_)
    )
}
