//! The variables that a part of a text binds: SPARQL 1.1, 18.2.1.

use super::tree::{Id, Tree};

/// The names of variables that a node binds, with the numbers of their tokens.
pub(crate) fn bound<'t>(tree: &Tree<'t>, id: Id) -> Vec<(&'t str, usize)> {
    let mut found = Vec::new();
    let mut pending = vec![id];
    while let Some(next) = pending.pop() {
        match tree.name(next) {
            "Filter" | "Minus" | "Expression" => continue,
            "SubSelect" => {
                found.extend(selected(tree, next));
                continue;
            }
            _ => {}
        }
        found.extend(tree.own(next).into_iter().filter_map(|token| Some((tree.variable(token)?, token))));
        pending.extend(tree.children(next).iter().rev());
    }
    found
}

/// The variables that a `SELECT` has.
fn selected<'t>(tree: &Tree<'t>, select: Id) -> Vec<(&'t str, usize)> {
    let Some(clause) = tree.child(select, "SelectClause") else { return Vec::new() };
    if tree.child(clause, "Star").is_some() {
        return tree.child(select, "WhereClause").map_or_else(Vec::new, |group| bound(tree, group));
    }
    bound(tree, clause)
}
