//! The type checker: what it keeps, its entrances, variables and their scopes.

use std::collections::{HashMap, HashSet};

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::{Source, Span};
use crate::angle::tree::{Pattern, PatternKind, Query};
use crate::cancellation::Deadline;
use crate::query::typed::{CheckedQuery, Node, NodeKind, TypedQuery};
use crate::query::types::{Built, Mismatch, Shape, Ty, Unknowns};
use crate::schema::definition::{Predicate, Schema};
use crate::schema::scopes::Scope;
use crate::value::types::Type;

/// Checks the types of a query.
///
/// # Errors
///
/// The first part of it that has no type, another type than it should, or an unknown name; and variables that are
/// mentioned once or bound nowhere. An error after `deadline` may be any.
pub fn check_query(
    schema: &Schema,
    source: &Source,
    query: &Query,
    deadline: &Deadline,
) -> Result<CheckedQuery, Diagnostic> {
    let mut checker = Checker::new(schema, source, schema.query_scope(), Mode::Query, deadline);
    checker.visible = names_of_query(query);
    let typed = checker.infer_query(query, Use::Binds)?;
    checker.finish(typed, None)
}

/// Checks the types of the query that derives a predicate.
///
/// # Errors
///
/// As [`check_query`], and if the query returns something else than facts of the predicate.
pub fn check_derivation(
    schema: &Schema,
    predicate: &Predicate,
    deadline: &Deadline,
) -> Result<Option<CheckedQuery>, Diagnostic> {
    let Some(derivation) = &predicate.derivation else { return Ok(None) };
    let (source, query) = (&derivation.source, &*derivation.query);
    let mut checker = Checker::new(schema, source, &derivation.scope, Mode::Derivation, deadline);
    checker.visible = names_of_query(query);
    let (head, statements) = checker.head_of(query)?;
    let key_type = Ty::Known(predicate.key.clone());
    let (head_node, value) = match head {
        Head::Pattern(Pattern { kind: PatternKind::KeyValue(key, value), .. }) => {
            let key = checker.check(key, &key_type, Use::Binds)?;
            (key, Some(checker.check(value, &Ty::Known(predicate.value.clone()), Use::Binds)?))
        }
        _ if !predicate.value.is_unit() => {
            let message = format!("{} has a value, which its derivation does not return", predicate.full_name());
            return Err(source.error(query.span, message, "write `key -> value where …`"));
        }
        Head::Pattern(pattern) => (checker.check(pattern, &key_type, Use::Binds)?, None),
        Head::LastStatement(pattern) => (checker.last_statement(pattern, Some(&key_type))?, None),
    };
    let statements = statements.iter().map(|statement| checker.statement(statement)).collect::<Result<_, _>>()?;
    checker.finish(TypedQuery { head: head_node, statements }, value).map(Some)
}

/// Where the value of a query is from.
pub(super) enum Head<'q> {
    /// A pattern.
    Pattern(&'q Pattern),
    /// The last statement, which is not among the statements.
    LastStatement(&'q Pattern),
}

/// Whether a query asks or derives. Only the former may name facts by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Query,
    Derivation,
}

/// Whether a place gives variables their values, or only uses them, as arguments of primitives do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Binds,
    Uses,
}

pub(super) struct Variable {
    name: String,
    ty: Ty,
    span: Span,
    mentions: usize,
}

/// A type that has to be known before another one is.
pub(super) struct Awaited {
    /// The type.
    pub of: Ty,
    /// What of it is wanted.
    pub what: Part,
    /// Where it is wanted.
    pub span: Span,
}

/// What is wanted of a type.
pub(super) enum Part {
    /// `.name` or `.name?`, of a fact's key if it is a fact.
    Named { name: String, shape: Shape, ty: Ty },
    /// `.*`
    Key(Ty),
    /// `$1024`, whose type has to be a predicate.
    Fact(u64),
}

/// A value that may have to become a fact.
pub(super) struct Promotion {
    pub from: Ty,
    pub to: Ty,
    pub span: Span,
    /// Another type than `from` that the value may have.
    pub or: Option<Type>,
}

pub(super) struct Checker<'a> {
    pub schema: &'a Schema,
    pub source: &'a Source,
    pub names: &'a Scope,
    pub mode: Mode,
    pub unknowns: Unknowns,
    pub promotions: Vec<Promotion>,
    pub awaited: Vec<Awaited>,
    /// Types that do not matter.
    pub ignored_types: Vec<Ty>,
    variables: Vec<Variable>,
    /// Variables in scope, by name.
    scope: HashMap<String, usize>,
    /// Names that the enclosing patterns mention: only these leave a branch of `|`, `if` or `!`.
    visible: HashSet<String>,
    used: HashSet<String>,
    bound: HashSet<String>,
}

impl<'a> Checker<'a> {
    fn new(schema: &'a Schema, source: &'a Source, names: &'a Scope, mode: Mode, deadline: &Deadline) -> Checker<'a> {
        Checker {
            schema,
            source,
            names,
            mode,
            unknowns: Unknowns::new(deadline.clone()),
            promotions: Vec::new(),
            awaited: Vec::new(),
            ignored_types: Vec::new(),
            variables: Vec::new(),
            scope: HashMap::new(),
            visible: HashSet::new(),
            used: HashSet::new(),
            bound: HashSet::new(),
        }
    }

    /// An error at a span.
    pub fn error(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        self.source.error(span, message, hint)
    }

    /// Counts a part of the query that is checked.
    ///
    /// # Errors
    ///
    /// If the time is up.
    pub fn step(&self, span: Span) -> Result<(), Diagnostic> {
        if self.unknowns.deadline.tick() { Err(self.late(span)) } else { Ok(()) }
    }

    fn late(&self, span: Span) -> Diagnostic {
        self.error(span, "the time to check the query is up", "ask for less in one query")
    }

    /// A type for a message.
    pub fn text(&self, ty: &Ty) -> String {
        if let Ty::Unknown(_) = self.unknowns.shallow(ty) {
            return "a type that is not known".to_owned();
        }
        let mut parts = PARTS_IN_MESSAGE;
        self.text_of_parts(ty, &mut parts)
    }

    fn text_of_parts(&self, ty: &Ty, parts: &mut usize) -> String {
        let Some(left) = parts.checked_sub(1) else { return "…".to_owned() };
        *parts = left;
        match self.unknowns.shallow(ty) {
            Ty::Unknown(_) => "_".to_owned(),
            Ty::Known(ty) => self.schema.short_type_text(&ty),
            Ty::Array(element) => format!("[{}]", self.text_of_parts(&element, parts)),
            Ty::Set(element) => format!("set {}", self.text_of_parts(&element, parts)),
            Ty::Maybe(element) => format!("maybe {}", self.text_of_parts(&element, parts)),
            Ty::Tuple(fields) => {
                let mut texts: Vec<String> = Vec::new();
                for ty in &fields {
                    texts.push(self.text_of_parts(ty, parts));
                    if *parts == 0 {
                        break;
                    }
                }
                format!("{{ {} }}", texts.join(", "))
            }
        }
    }

    /// Makes two types the same, or says that the one at `span` is not as expected.
    pub fn unify(&mut self, expected: &Ty, found: &Ty, span: Span) -> Result<(), Diagnostic> {
        self.unknowns.unify(expected, found).map_err(|mismatch| self.mismatch(mismatch, expected, found, span))
    }

    pub fn mismatch(&self, mismatch: Mismatch, expected: &Ty, found: &Ty, span: Span) -> Diagnostic {
        let (wanted, given) = (self.text(expected), self.text(found));
        let hint = match self.unknowns.shallow(found) {
            Ty::Known(Type::Predicate(_)) => "`.*` is the key of a fact",
            _ => "write another pattern, or a type after `:`",
        };
        match mismatch.0 {
            // A pattern with a field where the type is known already.
            Some(reason) if wanted == given => self.error(span, format!("{reason} in {wanted}"), hint.to_owned()),
            reason => {
                let message = format!("expected {wanted}, found {given}");
                self.error(span, message, reason.unwrap_or_else(|| hint.to_owned()))
            }
        }
    }

    /// A variable at a place.
    pub fn variable(&mut self, name: &str, span: Span, place: Use) -> (usize, Ty) {
        match place {
            Use::Binds => self.bound.insert(name.to_owned()),
            Use::Uses => self.used.insert(name.to_owned()),
        };
        if let Some(&index) = self.scope.get(name) {
            self.variables[index].mentions += 1;
            return (index, self.variables[index].ty.clone());
        }
        let ty = self.unknowns.fresh();
        let index = self.add_variable(name, ty.clone(), span, 1);
        self.scope.insert(name.to_owned(), index);
        (index, ty)
    }

    /// A variable without a name, which is not in scope.
    pub fn hidden_variable(&mut self, ty: Ty, span: Span) -> usize {
        self.add_variable("", ty, span, 2)
    }

    fn add_variable(&mut self, name: &str, ty: Ty, span: Span, mentions: usize) -> usize {
        self.variables.push(Variable { name: name.to_owned(), ty, span, mentions });
        self.variables.len() - 1
    }

    /// Checks the branches of `|` or `if`. A variable is bound if all branches bind it; what the enclosing patterns do
    /// not mention is local to a branch.
    pub fn branches<T>(
        &mut self,
        branches: &[Vec<&Pattern>],
        mut check: impl FnMut(&mut Self, usize) -> Result<T, Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let (used, bound) = (std::mem::take(&mut self.used), std::mem::take(&mut self.bound));
        let mut checked = Vec::new();
        let (mut used_in_any, mut bound_in_all) = (HashSet::new(), None);
        for (index, patterns) in branches.iter().enumerate() {
            // A branch costs as much as there are variables.
            if self.unknowns.deadline.is_reached() {
                return Err(self.late(patterns.first().map_or(Span::default(), |pattern| pattern.span)));
            }
            let visible = self.visible.clone();
            patterns.iter().for_each(|pattern| names_of_pattern(pattern, &mut self.visible));
            checked.push(check(self, index)?);
            let (mut used, mut bound) = (std::mem::take(&mut self.used), std::mem::take(&mut self.bound));
            self.check_bound(used.iter().filter(|name| !visible.contains(*name) && !bound.contains(*name)))?;
            used.retain(|name| visible.contains(name));
            bound.retain(|name| visible.contains(name));
            used_in_any.extend(used);
            bound_in_all = Some(match bound_in_all {
                None => bound,
                Some(others) => bound.intersection(&others).cloned().collect(),
            });
            self.scope.retain(|name, _| visible.contains(name));
            self.visible = visible;
        }
        self.used = used;
        self.used.extend(used_in_any);
        self.bound = bound;
        self.bound.extend(bound_in_all.unwrap_or_default());
        Ok(checked)
    }

    /// Checks the inside of `!`, which binds nothing outside.
    pub fn negated<T>(
        &mut self,
        pattern: &Pattern,
        check: impl FnOnce(&mut Self) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let (bound, used, visible) = (self.bound.clone(), self.used.clone(), self.visible.clone());
        names_of_pattern(pattern, &mut self.visible);
        let checked = check(self)?;
        let mut inside = std::mem::replace(&mut self.used, used);
        let bound_inside = std::mem::replace(&mut self.bound, bound);
        self.check_bound(inside.iter().filter(|name| !visible.contains(*name) && !bound_inside.contains(*name)))?;
        // What the enclosing patterns mention too has to be bound by them.
        inside.extend(bound_inside);
        self.used.extend(inside.into_iter().filter(|name| visible.contains(name)));
        self.scope.retain(|name, _| visible.contains(name));
        self.visible = visible;
        Ok(checked)
    }

    fn check_bound<'n>(&self, unbound: impl Iterator<Item = &'n String>) -> Result<(), Diagnostic> {
        let Some(name) = unbound.min() else { return Ok(()) };
        let mut variables = self.variables.iter().rev().filter(|variable| variable.name == *name);
        let span = variables.next().map_or(Span::default(), |variable| variable.span);
        let hint = match variables.next() {
            Some(_) => format!(
                "each branch of `|`, `if` and `!` has a {name} of its own, unless something outside of branches \
                 mentions it, such as the statement `{name} = {name}`"
            ),
            None => "match it with something: arguments of primitives, the array before `[..]`, and what is in `!` or \
                     in one side of `|` give it no value"
                .to_owned(),
        };
        Err(self.error(span, format!("the variable {name} has no value"), hint))
    }

    fn finish(mut self, query: TypedQuery<Ty>, value: Option<Node<Ty>>) -> Result<CheckedQuery, Diagnostic> {
        if let Some(variable) = self.variables.iter().find(|variable| variable.mentions == 1) {
            let message = format!("the variable {} is mentioned only once", variable.name);
            return Err(self.error(variable.span, message, "write `_` for anything"));
        }
        let (used, bound) = (std::mem::take(&mut self.used), std::mem::take(&mut self.bound));
        self.check_bound(used.difference(&bound))?;
        self.find_types()?;
        for ty in std::mem::take(&mut self.ignored_types) {
            if matches!(self.unknowns.shallow(&ty), Ty::Unknown(_)) {
                // Any type will do; if this one does not, the error is about the pattern itself.
                let _ = self.unknowns.unify(&ty, &Ty::Known(Type::unit()));
            }
        }
        let mut built = Built::default();
        let mut change = |ty: Ty, span: Span| match self.unknowns.known(&ty, &mut built) {
            Ok(Some(known)) => Ok(known),
            Ok(None) => {
                let hint = "write its type: `(pattern : type)`";
                Err(self.error(span, "the type of this cannot be found out", hint))
            }
            Err(mismatch) => {
                let hint = "return parts of it";
                Err(self.error(span, mismatch.0.unwrap_or_default(), hint))
            }
        };
        let query = query.map(&mut change)?;
        let value = value.map(|value| value.map(&mut change)).transpose()?;
        let mut variables = Vec::new();
        for variable in &self.variables {
            variables.push((variable.name.clone(), change(variable.ty.clone(), variable.span)?));
        }
        let mut checked = CheckedQuery { query, value, variables };
        self.add_generators(&mut checked);
        Ok(checked)
    }

    /// A node whose value may have to become a fact.
    pub fn promoted(&mut self, node: Node<Ty>) -> Node<Ty> {
        let to = self.unknowns.fresh();
        let span = node.span;
        let or = match &node.kind {
            NodeKind::Nat(nat) if u8::try_from(*nat).is_ok() => Some(Type::Byte),
            NodeKind::String(_) => Some(Type::array(Type::Byte)),
            _ => None,
        };
        self.promotions.push(Promotion { from: node.ty.clone(), to: to.clone(), span, or });
        Node { kind: NodeKind::Promoted(Box::new(node)), ty: to, span }
    }
}

/// How many parts of a type a message shows.
const PARTS_IN_MESSAGE: usize = 50;

/// The variables that a query mentions, but for those only in `|`, `if` and `!`.
fn names_of_query(query: &Query) -> HashSet<String> {
    let mut names = HashSet::new();
    add_names_of_query(query, &mut names);
    names
}

fn add_names_of_query(query: &Query, names: &mut HashSet<String>) {
    query.head.iter().for_each(|head| names_of_pattern(head, names));
    for statement in &query.statements {
        statement.left.iter().for_each(|left| names_of_pattern(left, names));
        names_of_pattern(&statement.right, names);
    }
}

fn names_of_pattern(pattern: &Pattern, names: &mut HashSet<String>) {
    match &pattern.kind {
        PatternKind::Variable(name) => {
            names.insert(name.clone());
        }
        PatternKind::Or(_) | PatternKind::If(_) | PatternKind::Not(_) => {}
        PatternKind::Query(query) => add_names_of_query(query, names),
        _ => pattern.children().into_iter().for_each(|child| names_of_pattern(child, names)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::angle::parser::parse_query;
    use crate::cancellation::CancellationToken;

    #[test]
    fn checking_a_large_query_ends_at_its_deadline() {
        let schema = Schema::parse("a", "schema a.1 { predicate P : nat }").unwrap();
        let check = |text: &str, deadline: &Deadline| {
            let source = Source::new("query", text).unwrap();
            let query = parse_query(&source).unwrap();
            check_query(&schema, &source, &query, deadline).map(drop).map_err(|error| error.message)
        };
        let late = Deadline::new(Some(Instant::now()), CancellationToken::new());
        let cancelled = Deadline::default();
        cancelled.cancellation.cancel();
        let statements = vec!["a.P 1"; 2_000].join("; ");
        let elements = format!("X where X = [{}]; a.P 1", vec!["1"; 2_000].join(", "));
        for text in [format!("1 where {statements}"), elements, "a.P (1 | 2)".to_owned()] {
            check(&text, &Deadline::default()).expect("it is right");
            for deadline in [&late, &cancelled] {
                let refused = check(&text, deadline).expect_err("there is no time");
                assert!(refused.contains("is up"), "{refused}");
            }
        }
    }
}
