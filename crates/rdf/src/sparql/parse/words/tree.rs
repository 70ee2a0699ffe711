//! The tree of a text that fits the grammar.

use super::grammar::Grammar;
use super::predict::Node;
use crate::sparql::parse::tokens::Token;

/// A node, by its number. The root is 0; nodes come before those within them.
pub(crate) type Id = usize;

pub(crate) struct Tree<'t> {
    pub text: &'t str,
    pub tokens: &'t [Token],
    grammar: &'t Grammar,
    nodes: &'t [Node],
    children: Vec<Vec<Id>>,
}

impl<'t> Tree<'t> {
    pub(crate) fn new(grammar: &'t Grammar, text: &'t str, tokens: &'t [Token], nodes: &'t [Node]) -> Self {
        let mut children = vec![Vec::new(); nodes.len()];
        for (id, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent].push(id);
            }
        }
        Self { text, tokens, grammar, nodes, children }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Id> {
        0..self.nodes.len()
    }

    pub(crate) fn name(&self, id: Id) -> &'static str {
        self.grammar.rules[self.nodes[id].rule].0
    }

    pub(crate) fn is(&self, id: Id, name: &str) -> bool {
        self.name(id) == name
    }

    pub(crate) fn children(&self, id: Id) -> &[Id] {
        &self.children[id]
    }

    /// The child with this name, if there is one.
    pub(crate) fn child(&self, id: Id, name: &str) -> Option<Id> {
        self.children[id].iter().copied().find(|child| self.is(*child, name))
    }

    /// The nodes that the node is within, the innermost first.
    pub(crate) fn around(&self, id: Id) -> impl Iterator<Item = Id> {
        std::iter::successors(self.nodes[id].parent, |parent| self.nodes[*parent].parent)
    }

    /// The numbers of the node's tokens.
    pub(crate) fn range(&self, id: Id) -> std::ops::Range<usize> {
        self.nodes[id].from..self.nodes[id].to
    }

    /// The numbers of the tokens that are the node's own, and not those of a node within it.
    pub(crate) fn own(&self, id: Id) -> Vec<usize> {
        let mut own = Vec::new();
        let mut at = self.nodes[id].from;
        for child in &self.children[id] {
            own.extend(at..self.nodes[*child].from);
            at = self.nodes[*child].to;
        }
        own.extend(at..self.nodes[id].to);
        own
    }

    pub(crate) fn word(&self, token: usize) -> &'t str {
        self.tokens[token].text(self.text)
    }

    /// The name of a variable; `None` for another token.
    pub(crate) fn variable(&self, token: usize) -> Option<&'t str> {
        self.tokens[token].variable(self.text)
    }

    /// The nodes within a node, itself first, but for those within nodes of these names.
    pub(crate) fn within(&self, id: Id, but: &[&str]) -> Vec<Id> {
        let mut found = Vec::new();
        let mut pending = vec![id];
        while let Some(next) = pending.pop() {
            if next != id && but.contains(&self.name(next)) {
                continue;
            }
            found.push(next);
            pending.extend(self.children(next).iter().rev());
        }
        found
    }
}
