//! The order in which predicates are derived into a database: by strata, each after those that it uses.
//!
//! (1) A stratum is a strongly connected component of the predicates and what their derivations use. Derivations on
//! demand are part of the graph: what they use, their readers use. (2) A stratum is complete before one that uses it is
//! derived. (3) So what is within `!`, `all` or the condition of `if` must be of an earlier stratum: facts that are
//! added later could make false what was derived. [`Strata::order`] refuses a schema in which it is not.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::Span;
use crate::angle::tree::DeriveWhen;
use crate::ids::PredicateId;
use crate::query::lowering::Derivations;
use crate::query::typed::{CheckedQuery, Node, NodeKind, TypedQuery, TypedStatement};
use crate::schema::definition::Schema;
use crate::value::types::Type;

/// Predicates that are derived from each other, or one alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stratum {
    /// Those that are derived into the database, in the order of their ids.
    pub predicates: Vec<PredicateId>,
    /// Whether they are derived from themselves: their derivations are repeated until there are no new facts.
    pub is_recursive: bool,
    /// Whether facts that are added can make false what was derived: they use something whole, or what they use does.
    pub can_lose_facts: bool,
}

/// What the derivations of a schema use.
#[derive(Debug)]
pub(crate) struct Strata {
    /// By the index of the predicate: see [`Use`].
    uses: Vec<Vec<Use>>,
    indices: HashMap<PredicateId, usize>,
    /// By the index of the predicate: whether it is derived into the database, and when.
    stored: Vec<Option<DeriveWhen>>,
}

/// A predicate that a derivation uses.
#[derive(Debug, Clone, Copy)]
struct Use {
    /// The index of the predicate.
    of: usize,
    /// Whether it must be complete before.
    whole: bool,
    /// Where, in the text of the derivation.
    span: Span,
}

impl Strata {
    /// What derivations use.
    pub fn of(schema: &Schema, derivations: &Derivations) -> Strata {
        let indices: HashMap<PredicateId, usize> =
            schema.predicates().iter().enumerate().map(|(index, predicate)| (predicate.id, index)).collect();
        let uses = schema.predicates().iter().map(|predicate| match derivations.get(&predicate.id) {
            None => Vec::new(),
            Some(query) => uses_of(query, &indices, schema),
        });
        let uses = uses.collect();
        let stored = schema.predicates().iter().map(|predicate| {
            let when = predicate.derivation.as_ref().map(|derivation| derivation.when);
            when.filter(|when| *when != DeriveWhen::OnDemand)
        });
        Strata { uses, stored: stored.collect(), indices }
    }

    /// The predicates that are derived into the database among those that a query reads, also by way of derivations on
    /// demand, in the order of their ids. Those with `default` are derived there on request only, and on demand before.
    pub fn stored_of(&self, schema: &Schema, query: &CheckedQuery) -> Vec<PredicateId> {
        if self.stored.iter().all(Option::is_none) {
            return Vec::new();
        }
        let uses = uses_of(query, &self.indices, schema);
        let goes_on = |index: usize| self.stored[index] != Some(DeriveWhen::Stored);
        let mut reached = self.reached(uses.iter().map(|used| used.of), goes_on);
        reached.retain(|index| self.stored[*index].is_some());
        ids_of(schema, reached)
    }

    /// The predicates that a predicate is derived from, also by way of others, in the order of their ids, without those
    /// that are derived from it too. Facts of derived ones can be written as well.
    pub fn inputs(&self, schema: &Schema, predicate: PredicateId) -> Vec<PredicateId> {
        let Some(index) = self.indices.get(&predicate) else { return Vec::new() };
        let mut components = self.components(&[*index]);
        // That of the predicate is after all that it uses.
        components.pop();
        ids_of(schema, components.concat())
    }

    /// The indices of what can be reached: `from`, and what the derivations of those use that `goes_on` says.
    fn reached(&self, from: impl Iterator<Item = usize>, goes_on: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut is_reached = vec![false; self.uses.len()];
        let (mut left, mut reached): (Vec<usize>, Vec<usize>) = (from.collect(), Vec::new());
        while let Some(index) = left.pop() {
            if std::mem::replace(&mut is_reached[index], true) {
                continue;
            }
            reached.push(index);
            if goes_on(index) {
                left.extend(self.uses[index].iter().map(|used| used.of));
            }
        }
        reached
    }

    /// The strata of predicates and of what they use, each after those that it uses. `wanted` are derived into the
    /// database, whatever the schema says about them.
    ///
    /// # Errors
    /// If a predicate uses itself, by way of others perhaps, where it has to be complete.
    pub fn order(&self, schema: &Schema, wanted: &[PredicateId]) -> Result<Vec<Stratum>, Diagnostic> {
        let predicates = schema.predicates();
        let wanted: HashSet<PredicateId> = wanted.iter().copied().collect();
        let roots: Vec<usize> = (0..predicates.len()).filter(|index| wanted.contains(&predicates[*index].id)).collect();
        let is_stored = |index: usize| {
            let derivation = predicates[index].derivation.as_ref();
            derivation.is_some_and(|derivation| derivation.when == DeriveWhen::Stored)
                || wanted.contains(&predicates[index].id)
        };
        let mut strata = Vec::new();
        let mut losing: HashSet<usize> = HashSet::new();
        for component in self.components(&roots) {
            let mut uses = component.iter().flat_map(|index| &self.uses[*index]);
            let can_lose_facts = uses.any(|used| used.whole || losing.contains(&used.of));
            if can_lose_facts {
                losing.extend(&component);
            }
            let mut stored: Vec<usize> = component.iter().copied().filter(|index| is_stored(*index)).collect();
            if stored.is_empty() {
                continue;
            }
            let component: HashSet<usize> = component.into_iter().collect();
            let within = |index: usize| self.uses[index].iter().filter(|used| component.contains(&used.of));
            let whole = |index: &usize| Some((*index, within(*index).find(|used| used.whole)?));
            if let Some((index, used)) = component.iter().filter_map(whole).min_by_key(|(index, _)| *index) {
                return Err(self.cycle(schema, index, used, &component));
            }
            let is_recursive = component.iter().any(|index| within(*index).next().is_some());
            stored.sort_unstable();
            let predicates = stored.into_iter().map(|index| predicates[index].id).collect();
            strata.push(Stratum { predicates, is_recursive, can_lose_facts });
        }
        Ok(strata)
    }

    /// The strongly connected components of what can be reached from `roots`, each after those that it uses: by
    /// Tarjan's algorithm, without recursion.
    fn components(&self, roots: &[usize]) -> Vec<Vec<usize>> {
        const NONE: usize = usize::MAX;
        let count = self.uses.len();
        // The order in which predicates were reached, and the first one that each leads back to.
        let (mut reached, mut first) = (vec![NONE; count], vec![NONE; count]);
        let mut is_open = vec![false; count];
        let (mut open, mut next, mut components) = (Vec::new(), 0, Vec::new());
        for &root in roots {
            let mut path = if reached[root] == NONE { vec![(root, 0)] } else { Vec::new() };
            while let Some((index, position)) = path.pop() {
                if position == 0 {
                    (reached[index], first[index], is_open[index]) = (next, next, true);
                    next += 1;
                    open.push(index);
                }
                let used = self.uses[index].get(position).map(|used| used.of);
                match used {
                    Some(used) if reached[used] == NONE => path.extend([(index, position + 1), (used, 0)]),
                    Some(used) => {
                        if is_open[used] {
                            first[index] = first[index].min(reached[used]);
                        }
                        path.push((index, position + 1));
                    }
                    None => {
                        if let Some((user, _)) = path.last() {
                            first[*user] = first[*user].min(first[index]);
                        }
                        if first[index] == reached[index] {
                            let start = open.iter().rposition(|other| *other == index).expect("it is open");
                            let component = open.split_off(start);
                            component.iter().for_each(|closed| is_open[*closed] = false);
                            components.push(component);
                        }
                    }
                }
            }
        }
        components
    }

    /// The error of a predicate that uses another one of its component where this has to be complete.
    fn cycle(&self, schema: &Schema, from: usize, used: &Use, component: &HashSet<usize>) -> Diagnostic {
        // The shortest way back.
        let mut before = HashMap::from([(used.of, used.of)]);
        let mut next = VecDeque::from([used.of]);
        while let Some(index) = next.pop_front() {
            for other in self.uses[index].iter().map(|used| used.of).filter(|other| component.contains(other)) {
                if let Entry::Vacant(entry) = before.entry(other) {
                    entry.insert(index);
                    next.push_back(other);
                }
            }
        }
        let mut path = vec![from];
        while path[path.len() - 1] != used.of {
            path.push(before[&path[path.len() - 1]]);
        }
        path.push(from);
        path.reverse();
        let name = |index: &usize| schema.predicates()[*index].full_name();
        let names = path.iter().map(name).collect::<Vec<_>>().join(" → ");
        let message = format!("a derivation uses itself within `!`, `all` or the condition of `if`: {names}");
        let hint = "what is within these has to be complete before; derive it without this predicate";
        let derivation = schema.predicates()[from].derivation.as_ref().expect("only a derivation uses predicates");
        derivation.source.error(used.span, message, hint)
    }
}

/// What a query uses.
fn uses_of(query: &CheckedQuery, indices: &HashMap<PredicateId, usize>, schema: &Schema) -> Vec<Use> {
    let mut found = Found { indices, schema, uses: Vec::new() };
    found.query(&query.query, false);
    query.value.iter().for_each(|value| found.node(value, false));
    found.uses
}

/// The ids of predicates, in order.
fn ids_of(schema: &Schema, indices: Vec<usize>) -> Vec<PredicateId> {
    let mut ids: Vec<PredicateId> = indices.into_iter().map(|index| schema.predicates()[index].id).collect();
    ids.sort_unstable();
    ids
}

/// Finds what a query uses.
struct Found<'a> {
    indices: &'a HashMap<PredicateId, usize>,
    schema: &'a Schema,
    uses: Vec<Use>,
}

impl Found<'_> {
    fn predicate(&mut self, predicate: PredicateId, whole: bool, span: Span) {
        // A newer predicate may answer for this one. Cycles of evolving predicates were refused before.
        let chain = std::iter::successors(Some(predicate), |last| self.schema.evolved(*last));
        for of in chain.take(self.indices.len()).filter_map(|predicate| self.indices.get(&predicate)) {
            self.uses.push(Use { of: *of, whole, span });
        }
    }

    fn query(&mut self, query: &TypedQuery<Type>, whole: bool) {
        self.statements(&query.statements, whole);
        self.node(&query.head, whole);
    }

    fn statements(&mut self, statements: &[TypedStatement<Type>], whole: bool) {
        for statement in statements {
            statement.left.iter().chain([&statement.right]).for_each(|node| self.node(node, whole));
        }
    }

    fn nodes(&mut self, nodes: &[Node<Type>], whole: bool) {
        nodes.iter().for_each(|node| self.node(node, whole));
    }

    fn node(&mut self, node: &Node<Type>, whole: bool) {
        match &node.kind {
            NodeKind::Facts(predicate, parts) => {
                self.predicate(*predicate, whole, node.span);
                self.nodes(&**parts, whole);
            }
            NodeKind::Promoted(inner) => {
                if let Type::Predicate(predicate) = &node.ty
                    && inner.ty != node.ty
                {
                    self.predicate(*predicate, whole, node.span);
                }
                self.node(inner, whole);
            }
            NodeKind::Not(statements) => self.statements(statements, true),
            NodeKind::All(inner) => self.node(inner, true),
            NodeKind::If(parts) => {
                self.node(&parts[0], true);
                self.nodes(&parts[1..], whole);
            }
            NodeKind::Query(query) => self.query(query, whole),
            // Fields and keys of a fact are read by its id: the fact was found elsewhere.
            _ => node.children().into_iter().for_each(|child| self.node(child, whole)),
        }
    }
}
