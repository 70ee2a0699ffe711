//! Alternatives of property paths as unions: `?s :p|:q ?o` has the solutions of `?s :p ?o` and those of `?s :q ?o`
//! (SPARQL 1.1, 18.4), so a pair of nodes that both connect has two. The evaluator has one, as it does for paths within
//! `*`, `+` and `?`, where SPARQL has one too.
//!
//! | pattern | becomes |
//! |---|---|
//! | `X (P\|Q) Y` | `{ X P Y } UNION { X Q Y }` |
//! | `X ^P Y` | `Y P X` |
//! | `X (P/Q) Y` | `X P _:m . _:m Q Y` |
//! | `X !(:p\|^:q) Y` | `{ X !:p Y } UNION { Y !:q X }`, as the parser has it |
//!
//! Closures of closures become one closure with the same pairs: `(:p+|:q?)*` becomes `(:p|:q)*`. Otherwise the
//! evaluator would search the inner closures again from each node.
//!
//! A node `_:m` is used again in other alternatives of its union, so a path of thousands has few. Patterns that are
//! joined have different ones.
//!
//! Other paths stay as they are. So do the patterns of `SERVICE`: other endpoints evaluate them.
//! The caller [balances](super::shape) the unions. Called by `text` alone.

use std::cell::{Cell, RefCell};

use oxrdf::BlankNode;
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression as Path};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use spargebra::{GraphUpdateOperation, Query, Update};

use super::shape::{map_children, map_operands, map_pattern_of_query};
use crate::error::{Error, Result};

/// The query with unions in the place of alternatives.
///
/// # Errors
/// [`Error::Invalid`] if the ends of the paths are too long to be repeated for each alternative.
pub(super) fn in_query(query: Query) -> Result<Query> {
    let unions = Unions::default();
    let query = map_pattern_of_query(query, &mut |pattern| unions.pattern(pattern));
    unions.check().map(|()| query)
}

/// The update with unions in the place of alternatives.
///
/// # Errors
/// As [`in_query`].
pub(super) fn in_update(mut update: Update) -> Result<Update> {
    let unions = Unions::default();
    for operation in &mut update.operations {
        if let GraphUpdateOperation::DeleteInsert { pattern, .. } = operation {
            let written = std::mem::replace(&mut **pattern, GraphPattern::Bgp { patterns: Vec::new() });
            **pattern = unions.pattern(written);
        }
    }
    unions.check().map(|()| update)
}

/// Memory for the patterns of alternatives: each has both ends of its path. A text of some kilobytes could fill any
/// memory otherwise.
const ALTERNATIVES_BYTES_MAX: usize = 64 << 20;

#[derive(Default)]
struct Unions {
    /// Memory for patterns of alternatives, about.
    bytes: Cell<usize>,
    /// The nodes between the parts of sequences.
    middles: RefCell<Vec<BlankNode>>,
    /// How many of these are used so far, but for those of other alternatives.
    middles_used: Cell<usize>,
}

impl Unions {
    fn check(&self) -> Result<()> {
        if self.bytes.get() <= ALTERNATIVES_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "the alternatives of paths repeat their ends, which take more than {ALTERNATIVES_BYTES_MAX} bytes; give \
             long terms by VALUES, or split the query"
        );
        Err(Error::Invalid { message })
    }

    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        match pattern {
            GraphPattern::Path { subject, path, object } if has_alternative(&path) => self.path(subject, path, object),
            GraphPattern::Path { subject, path, object } => GraphPattern::Path { subject, path: flat(path), object },
            service @ GraphPattern::Service { .. } => service,
            other => {
                map_children(other, &mut |inner| self.pattern(inner), &mut |expression| self.expression(expression))
            }
        }
    }

    fn expression(&self, expression: Expression) -> Expression {
        map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| self.expression(operand))
    }

    /// The pattern of a path. Goes as deep as brackets are nested.
    fn path(&self, subject: TermPattern, path: Path, object: TermPattern) -> GraphPattern {
        match path {
            Path::NamedNode(predicate) => {
                GraphPattern::Bgp { patterns: vec![TriplePattern { subject, predicate: predicate.into(), object }] }
            }
            Path::Reverse(inner) => self.path(object, *inner, subject),
            path @ Path::Sequence(..) => self.sequence(subject, path, object),
            path @ Path::Alternative(..) => self.union(&subject, path, &object),
            path => GraphPattern::Path { subject, path: flat(path), object },
        }
    }

    fn sequence(&self, subject: TermPattern, path: Path, object: TermPattern) -> GraphPattern {
        let mut parts = chain(path, |path| match path {
            Path::Sequence(left, right) => Ok((*left, *right)),
            other => Err(other),
        });
        let last = parts.pop().expect("a sequence has parts");
        let mut start = subject;
        let mut joined: Option<GraphPattern> = None;
        for part in parts {
            let middle = TermPattern::from(self.middle());
            let pattern = self.path(std::mem::replace(&mut start, middle.clone()), part, middle);
            joined = Some(join(joined, pattern));
        }
        join(joined, self.path(start, last, object))
    }

    fn union(&self, subject: &TermPattern, path: Path, object: &TermPattern) -> GraphPattern {
        let alternatives = chain(path, |path| match path {
            Path::Alternative(left, right) => Ok((*left, *right)),
            other => Err(other),
        });
        let ends_bytes = bytes(subject).saturating_add(bytes(object));
        let used_before = self.middles_used.get();
        let mut used_after = used_before;
        let mut union: Option<GraphPattern> = None;
        for alternative in alternatives {
            self.middles_used.set(used_before);
            self.bytes.set(self.bytes.get().saturating_add(ends_bytes));
            if self.bytes.get() > ALTERNATIVES_BYTES_MAX {
                // The text is refused in the end.
                break;
            }
            let pattern = self.path(subject.clone(), alternative, object.clone());
            used_after = used_after.max(self.middles_used.get());
            union = Some(match union {
                None => pattern,
                Some(left) => GraphPattern::Union { left: left.into(), right: pattern.into() },
            });
        }
        self.middles_used.set(used_after);
        union.unwrap_or_default()
    }

    /// A node that no pattern has which is joined with this one.
    fn middle(&self) -> BlankNode {
        let number = self.middles_used.get();
        self.middles_used.set(number + 1);
        let mut middles = self.middles.borrow_mut();
        if number == middles.len() {
            middles.push(BlankNode::default());
        }
        middles[number].clone()
    }
}

fn join(left: Option<GraphPattern>, right: GraphPattern) -> GraphPattern {
    match left {
        None => right,
        Some(left) => GraphPattern::Join { left: left.into(), right: right.into() },
    }
}

/// The path in which each closure of closures is one closure.
fn flat(path: Path) -> Path {
    match path {
        Path::ZeroOrMore(inner) => Path::ZeroOrMore(steps(*inner).0.into()),
        Path::OneOrMore(inner) => match steps(*inner) {
            (inner, true) => Path::ZeroOrMore(inner.into()),
            (inner, false) => Path::OneOrMore(inner.into()),
        },
        Path::ZeroOrOne(inner) => match flat(*inner) {
            Path::ZeroOrMore(inner) | Path::OneOrMore(inner) => Path::ZeroOrMore(inner),
            Path::ZeroOrOne(inner) => Path::ZeroOrOne(inner),
            inner => Path::ZeroOrOne(inner.into()),
        },
        other => other,
    }
}

/// The steps of a closure, without the closures among them, and whether the closure may have no step.
fn steps(inner: Path) -> (Path, bool) {
    let (mut steps, mut may_be_empty) = (None, false);
    let mut pending = vec![inner];
    while let Some(next) = pending.pop() {
        match next {
            Path::Alternative(left, right) => pending.extend([*right, *left]),
            Path::OneOrMore(inner) => pending.push(*inner),
            Path::ZeroOrMore(inner) | Path::ZeroOrOne(inner) => {
                may_be_empty = true;
                pending.push(*inner);
            }
            step => {
                steps = Some(match steps {
                    None => step,
                    Some(left) => Path::Alternative(Box::new(left), step.into()),
                });
            }
        }
    }
    (steps.expect("a path has a step"), may_be_empty)
}

/// Whether the path has an alternative outside of `*`, `+` and `?`.
fn has_alternative(path: &Path) -> bool {
    let mut pending = vec![path];
    while let Some(path) = pending.pop() {
        match path {
            Path::Alternative(..) => return true,
            Path::Reverse(inner) => pending.push(inner),
            Path::Sequence(left, right) => pending.extend([&**left, &**right]),
            Path::NamedNode(_)
            | Path::NegatedPropertySet(_)
            | Path::ZeroOrMore(_)
            | Path::OneOrMore(_)
            | Path::ZeroOrOne(_) => {}
        }
    }
    false
}

/// The operands of a chain of one operator, in their order. `split` returns the two operands of a path with this
/// operator, and any other path as it is.
fn chain(path: Path, split: impl Fn(Path) -> Result<(Path, Path), Path>) -> Vec<Path> {
    let mut operands = Vec::new();
    let mut pending = vec![path];
    while let Some(next) = pending.pop() {
        match split(next) {
            Ok((left, right)) => pending.extend([right, left]),
            Err(operand) => operands.push(operand),
        }
    }
    operands
}

/// The memory of a term in a pattern, about.
fn bytes(term: &TermPattern) -> usize {
    let text = match term {
        TermPattern::NamedNode(node) => node.as_str().len(),
        TermPattern::BlankNode(_) => 0,
        TermPattern::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        TermPattern::Variable(variable) => variable.as_str().len(),
        TermPattern::Triple(triple) => {
            let predicate = match &triple.predicate {
                NamedNodePattern::NamedNode(node) => node.as_str().len(),
                NamedNodePattern::Variable(variable) => variable.as_str().len(),
            };
            bytes(&triple.subject) + predicate + bytes(&triple.object)
        }
    };
    text + size_of::<TermPattern>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query, parse_update};

    const PREFIXES: &str = "PREFIX : <http://e/> ";

    fn pattern(path: &str) -> String {
        let text = format!("{PREFIXES} SELECT * {{ :x {path} ?y }}");
        let query = parse_query(&text, &Prologue::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Query::Select { pattern, .. } = query else { panic!("{query}") };
        pattern.to_string()
    }

    #[test]
    fn alternatives_outside_of_closures_are_unions() {
        for (path, unions) in [
            (":p|:q", 1),
            (":p|:q|:r", 2),
            ("^(:p|:q)", 1),
            (":p/(:q|:r)", 1),
            ("(:p/(:q|:r))|:s", 2),
            ("!(:p|^:q)", 1),
            (":p*|:q+", 1),
            ("!(:p|:q)", 0),
            ("(:p|:q)*", 0),
            ("(:p|:q)+/:r", 0),
            ("((:p|:q)/:r)?", 0),
        ] {
            let pattern = pattern(path);
            assert_eq!(pattern.matches("UNION").count(), unions, "{path}: {pattern}");
        }
    }

    #[test]
    fn closures_of_closures_are_one() {
        for (path, one) in [
            ("(:p+)+", ":p+"),
            ("((:p+)*)+", ":p*"),
            ("((:p?)+)?", ":p*"),
            ("(:p+)?", ":p*"),
            ("((:p?)?)?", ":p?"),
            ("(:p+|:q)+", "(:p|:q)+"),
            ("((:p+|:q?)+|^:r)+", "(:p|:q|^:r)*"),
            ("(:p+)+|(:q*)?", ":p+|:q*"),
        ] {
            assert_eq!(pattern(path), pattern(one), "{path}");
        }
        for (path, other) in [("(:p/:q+)+", "(:p/:q)+"), ("(:p*|:q)?", "(:p|:q)*")] {
            assert_ne!(pattern(path), pattern(other), "{path}");
        }
    }

    #[test]
    fn a_path_of_thousands_of_alternatives_is_a_shallow_union() {
        let path = vec![":p"; 5_000].join("|");
        assert_eq!(pattern(&path).matches("UNION").count(), 4_999);
    }

    /// Each node is a column of the evaluator's rows. Thousands of columns took many seconds to plan.
    #[test]
    fn alternatives_share_the_nodes_within_them_and_joined_patterns_do_not() {
        let nodes = |path: &str| {
            let pattern = pattern(path);
            let is_between = |character: char| !character.is_ascii_alphanumeric() && !"_:".contains(character);
            let labels = pattern.split(is_between).filter(|word| word.starts_with("_:"));
            labels.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(nodes(&vec![":p/:q"; 1_000].join("|")), 1);
        assert_eq!(nodes("(:p/:q)|:r|(:p/:q/:r)"), 2);
        assert_eq!(nodes("((:p/:q)|:r)/((:p/:q)|:r)"), 3);
        assert_eq!(nodes("((:p/:q)|:r) ?z . ?z (:p/:q)|:r"), 2);
    }

    /// Without optimisation, it was a stack overflow.
    #[test]
    fn a_sequence_of_thousands_of_steps_within_an_alternative_is_too_deep() {
        let text = format!("{PREFIXES} SELECT * {{ :x ({})|:r ?y }}", vec![":p"; 12_000].join("/"));
        let error = parse_query(&text, &Prologue::default()).expect_err("as many joins");
        assert!(matches!(error, Error::QueryTooDeep { .. }), "{error}");
    }

    #[test]
    fn long_ends_are_not_repeated_beyond_a_bound() {
        let (literal, path) = ("x".repeat(100_000), vec![":p"; 1_000].join("|"));
        let text = format!("{PREFIXES} SELECT * {{ ?x {path} '{literal}' }}");
        let error = parse_query(&text, &Prologue::default()).expect_err("100 MB");
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        let text = format!("{PREFIXES} DELETE {{ ?x :p ?x }} WHERE {{ ?x {path} '{literal}' }}");
        let error = parse_update(&text, &Prologue::default()).expect_err("100 MB");
        assert!(error.to_string().contains("VALUES"), "{error}");
        let text = format!("{PREFIXES} SELECT * {{ VALUES ?y {{ '{literal}' }} ?x {path} ?y }}");
        parse_query(&text, &Prologue::default()).expect("the term is there once");
    }

    #[test]
    fn endpoints_are_sent_the_alternatives_themselves() {
        let text = "SELECT * { SERVICE <x:e> { ?x <x:p>|<x:q> ?y } }";
        let query = parse_query(text, &Prologue::default()).expect("a query").to_string();
        assert!(!query.contains("UNION"), "{query}");
    }
}
