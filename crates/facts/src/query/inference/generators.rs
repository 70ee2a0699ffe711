//! Facts that a query returns and that nothing says more about than their type, as in `_ : a.P`, or that only negations
//! and comparisons mention: these are all facts of the predicate. The query returns a variable by itself, or in tuples,
//! fields and arrays.

use std::collections::HashSet;

use crate::angle::source::Span;
use crate::ids::PredicateId;
use crate::query::checker::Checker;
use crate::query::typed::{CheckedQuery, Node, NodeKind, TypedStatement};
use crate::value::types::Type;

impl Checker<'_> {
    /// Adds a statement `V = a.P _` for each variable of such facts.
    pub fn add_generators(&self, checked: &mut CheckedQuery) {
        let CheckedQuery { query, value, .. } = checked;
        let head = &mut query.head;
        if matches!(head.kind, NodeKind::Wildcard)
            && let Type::Predicate(predicate) = head.ty
        {
            head.kind = self.all_facts(predicate, head.span);
        }
        let mut given = HashSet::new();
        query.statements.iter().for_each(|statement| given_by(statement, &mut given));
        let mut returned = Vec::new();
        let nodes = [Some(&query.head), value.as_ref()].into_iter().flatten();
        nodes.for_each(|node| facts_in(node, &mut returned, &mut given));
        for (index, predicate, span) in returned {
            // It can be returned twice.
            if given.insert(index) {
                let node = |kind| Node { kind, ty: Type::Predicate(predicate), span };
                let (left, right) = (node(NodeKind::Variable(index)), node(self.all_facts(predicate, span)));
                query.statements.push(TypedStatement { left: Some(left), right });
            }
        }
    }

    fn all_facts(&self, predicate: PredicateId, span: Span) -> NodeKind<Type> {
        let value_type = self.schema.predicate(predicate).map_or_else(Type::unit, |found| found.value.clone());
        let any = |ty| Node { kind: NodeKind::Wildcard, ty, span };
        NodeKind::Facts(predicate, Box::new([any(self.key_type(predicate)), any(value_type)]))
    }
}

/// The variables of facts in a value that a query returns, and the variables that its patterns may give a value.
fn facts_in(node: &Node<Type>, found: &mut Vec<(usize, PredicateId, Span)>, given: &mut HashSet<usize>) {
    match (&node.kind, &node.ty) {
        (NodeKind::Variable(index), Type::Predicate(predicate)) => found.push((*index, *predicate, node.span)),
        // The pattern of a fact's key.
        (NodeKind::Promoted(_), Type::Predicate(_)) => given_in(node, given),
        (NodeKind::Array(_) | NodeKind::Tuple(_) | NodeKind::Fields(_) | NodeKind::Promoted(_), _) => {
            node.children().into_iter().for_each(|child| facts_in(child, found, given));
        }
        _ => given_in(node, given),
    }
}

/// The variables that a statement may give a value.
fn given_by(statement: &TypedStatement<Type>, given: &mut HashSet<usize>) {
    match (statement.left.as_ref().map(|left| &left.kind), &statement.right.kind) {
        // `X : type` and `X = _` say no more than the type.
        (None | Some(NodeKind::Wildcard), NodeKind::Variable(_))
        | (Some(NodeKind::Variable(_)), NodeKind::Wildcard) => {}
        _ => statement.left.iter().chain([&statement.right]).for_each(|node| given_in(node, given)),
    }
}

fn given_in(node: &Node<Type>, given: &mut HashSet<usize>) {
    match &node.kind {
        NodeKind::Variable(index) => {
            given.insert(*index);
        }
        NodeKind::Not(_) => {}
        NodeKind::Query(query) => {
            query.statements.iter().for_each(|statement| given_by(statement, given));
            given_in(&query.head, given);
        }
        NodeKind::Primitive(_, arguments) => {
            // Arguments need values.
            let patterns = arguments.iter().filter(|argument| !matches!(argument.kind, NodeKind::Variable(_)));
            patterns.for_each(|argument| given_in(argument, given));
        }
        _ => node.children().into_iter().for_each(|child| given_in(child, given)),
    }
}
