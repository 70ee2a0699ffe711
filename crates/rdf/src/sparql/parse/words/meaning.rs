//! Rules of SPARQL that are no matter of grammar.

use std::collections::{HashMap, HashSet};

use oxrdf::{Literal, NamedNode};

use super::aggregates::MISPLACED;
use super::scope::bound;
use super::tree::{Id, Tree};
use crate::sparql::parse::tokens::Kind;

/// A rule that is broken.
pub(crate) struct Fault {
    /// The number of the token that breaks it.
    pub token: usize,
    pub message: String,
    /// Whether an IRI is relative, and there is no base.
    pub needs_base: bool,
}

impl Fault {
    fn at(token: usize, message: impl Into<String>) -> Option<Self> {
        Some(Self { token, message: message.into(), needs_base: false })
    }
}

/// The first rule that the text breaks, by the place of the token.
pub(crate) fn fault(tree: &Tree<'_>, has_base: bool) -> Option<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    faults.extend(of_tokens(tree, has_base));
    for id in tree.all() {
        faults.extend(match tree.name(id) {
            "SelectQuery" | "SubSelect" => of_select(tree, id),
            "GroupBody" => of_group(tree, id),
            "Columns" => of_columns(tree, id),
            "Slice" => of_slice(tree, id),
            "InsertData" | "DeleteData" => of_data(tree, id).or_else(|| of_deletion(tree, id)),
            "DeleteWhere" | "DeletePattern" => of_deletion(tree, id),
            "Subject" | "SubjectPath" => of_subject(tree, id),
            "Aggregate" => of_aggregate(tree, id),
            "Update" => of_update(tree, id),
            _ => None,
        });
    }
    faults.extend(of_blank_nodes(tree));
    faults.extend(of_inserted_nodes(tree));
    faults.into_iter().min_by_key(|fault| fault.token)
}

/// IRIs, strings and language tags by themselves.
fn of_tokens(tree: &Tree<'_>, has_base: bool) -> Option<Fault> {
    let mut has_base = has_base;
    for (number, token) in tree.tokens.iter().enumerate() {
        let word = tree.word(number);
        match token.kind {
            Kind::Iri => {
                let declares_base = number > 0 && tree.tokens[number - 1].is_word(tree.text, "BASE");
                let iri = &word[1..word.len() - 1];
                if let Some(message) = fault_of_iri(iri) {
                    return Fault::at(number, message);
                }
                if is_relative(iri) && (declares_base || !has_base) {
                    let message = "this IRI is relative, and there is no `BASE <…>` before it and no other base";
                    return Some(Fault { token: number, message: message.to_owned(), needs_base: true });
                }
                has_base |= declares_base;
            }
            Kind::String => {
                if let Some(message) = fault_of_string(word) {
                    return Fault::at(number, message);
                }
            }
            Kind::Language => {
                if let Some(message) = fault_of_language(word) {
                    return Fault::at(number, message);
                }
            }
            _ => {}
        }
    }
    None
}

fn fault_of_language(token: &str) -> Option<String> {
    let (tag, direction) = match token[1..].split_once("--") {
        Some((tag, direction)) => (tag, Some(direction)),
        None => (&token[1..], None),
    };
    if let Some(direction) = direction.filter(|direction| !matches!(*direction, "ltr" | "rtl")) {
        return Some(format!("`{direction}` is not a direction of a text; write `--ltr` or `--rtl`"));
    }
    let is_tag = Literal::new_language_tagged_literal("", tag).is_ok();
    (!is_tag).then(|| format!("`{tag}` is not a language tag (BCP 47), such as `en` or `en-GB`"))
}

/// What is wrong with an IRI by itself. A relative one may have a base.
fn fault_of_iri(iri: &str) -> Option<String> {
    if iri.contains('\\') {
        return fault_of_escapes(iri, "uU");
    }
    if is_relative(iri) {
        return None;
    }
    NamedNode::new(iri).err().map(|error| format!("this is not an IRI: {error}"))
}

/// Whether an IRI has no scheme. With escapes, it may have one.
fn is_relative(iri: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    !iri.contains('\\') && iri.split_once(':').is_none_or(|(scheme, _)| !is_scheme(scheme))
}

fn fault_of_string(string: &str) -> Option<String> {
    fault_of_escapes(string, "tbnrf\"'\\uU")
}

/// What is wrong with the escapes of a text that may have these.
fn fault_of_escapes(text: &str, allowed: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escaped = rest[at + 1..].chars().next()?;
        if !allowed.contains(escaped) {
            return Some(match allowed {
                "uU" => format!("`\\{escaped}` is not an escape of an IRI; write `%5C` for a backslash"),
                _ => format!(
                    "`\\{escaped}` is not an escape of SPARQL; write `\\\\{escaped}` for a backslash and `{escaped}`"
                ),
            });
        }
        let behind = &rest[at + 1 + escaped.len_utf8()..];
        let length = match escaped {
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let digits: String = behind.chars().take_while(char::is_ascii_hexdigit).take(length).collect();
        if digits.len() < length {
            return Some(format!("`\\{escaped}` has {length} hexadecimal digits"));
        }
        if length > 0 && u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).is_none() {
            return Some(format!("`\\{escaped}{digits}` is not a character of Unicode"));
        }
        rest = &behind[digits.len()..];
    }
    None
}

/// What `SELECT` names.
fn of_select(tree: &Tree<'_>, select: Id) -> Option<Fault> {
    let clause = tree.child(select, "SelectClause")?;
    let within = |id: Id| tree.within(id, &["Group"]);
    let modifiers = tree.child(select, "Modifiers")?;
    let group_by = tree.child(modifiers, "GroupBy");
    let is_aggregated = group_by.is_some()
        || [clause, modifiers].iter().any(|id| within(*id).iter().any(|id| tree.is(*id, "Aggregate")));
    let visible: Vec<&str> = match (is_aggregated, group_by) {
        (true, Some(group_by)) => grouped(tree, group_by),
        (true, None) => Vec::new(),
        (false, _) => {
            let bound = tree.child(select, "WhereClause").map_or_else(Vec::new, |group| bound(tree, group));
            bound.into_iter().map(|(name, _)| name).collect()
        }
    };
    if let Some(star) = tree.child(clause, "Star")
        && is_aggregated
    {
        let message = "`*` cannot stand beside GROUP BY or an aggregate; name the variables";
        return Fault::at(tree.range(star).start, message);
    }
    // With whether the name is of an expression. A variable that is selected again is the same column.
    let mut selected: Vec<(&str, bool)> = Vec::new();
    for item in tree.children(clause).iter().copied().filter(|id| tree.is(*id, "SelectItem")) {
        let expression = tree.child(item, "SelectAs");
        let (name, token) = match expression {
            Some(expression) => {
                if is_aggregated && let Some(fault) = ungrouped(tree, expression, &visible) {
                    return Some(fault);
                }
                let (name, token) = name_of(tree, expression)?;
                if visible.contains(&name) {
                    return Fault::at(token, format!("`?{name}` has a value already; choose another name"));
                }
                (name, token)
            }
            None => {
                let token = tree.range(item).start;
                let name = tree.variable(token)?;
                if is_aggregated && !visible.contains(&name) {
                    return Fault::at(token, not_grouped(name));
                }
                (name, token)
            }
        };
        let is_named = expression.is_some();
        if selected.iter().any(|&(other, was_named)| other == name && (is_named || was_named)) {
            return Fault::at(token, format!("`?{name}` is selected twice"));
        }
        selected.push((name, is_named));
    }
    None
}

fn not_grouped(name: &str) -> String {
    format!("`?{name}` is neither in GROUP BY nor within an aggregate; add it there, or write `(SAMPLE(?{name}) AS …)`")
}

/// The variable after `AS`.
fn name_of<'t>(tree: &Tree<'t>, expression: Id) -> Option<(&'t str, usize)> {
    tree.own(expression).into_iter().find_map(|token| Some((tree.variable(token)?, token)))
}

/// The variables that `GROUP BY` has.
fn grouped<'t>(tree: &Tree<'t>, group_by: Id) -> Vec<&'t str> {
    let mut names = Vec::new();
    for condition in tree.children(group_by) {
        let expression = tree.child(*condition, "GroupAs");
        let named = expression.map_or_else(|| name_of(tree, *condition), |expression| name_of(tree, expression));
        names.extend(named.map(|(name, _)| name));
        // `(?x)` is `?x`.
        let range = tree.range(*condition);
        if named.is_none() && range.len() == 3 {
            names.extend(tree.variable(range.start + 1));
        }
    }
    names
}

/// The first variable of an expression that has no value once the rows are grouped.
fn ungrouped(tree: &Tree<'_>, expression: Id, visible: &[&str]) -> Option<Fault> {
    let name = name_of(tree, expression)?.1;
    for id in tree.within(expression, &["Aggregate", "Group"]) {
        // An error of an operand is no error of these.
        let first = tree.range(id).start;
        let is_call = |word: &str| tree.is(id, "BuiltInCall") && tree.tokens[first].is_word(tree.text, word);
        if is_call("COALESCE") || is_call("BOUND") {
            return None;
        }
        for token in tree.own(id).into_iter().filter(|token| *token != name) {
            match tree.variable(token) {
                Some(name) if !visible.contains(&name) => return Fault::at(token, not_grouped(name)),
                _ => {}
            }
        }
    }
    None
}

/// `BIND` of a variable that the group has bound before.
fn of_group(tree: &Tree<'_>, group: Id) -> Option<Fault> {
    let mut known: Vec<&str> = Vec::new();
    for part in tree.children(group) {
        let bind = tree.child(*part, "Bind");
        if let Some(bind) = bind {
            let (name, token) = name_of(tree, bind)?;
            if known.contains(&name) {
                let message =
                    format!("`?{name}` has a value before this BIND; choose another name, or compare in a FILTER");
                return Fault::at(token, message);
            }
        }
        known.extend(bound(tree, *part).into_iter().map(|(name, _)| name));
    }
    None
}

fn of_columns(tree: &Tree<'_>, columns: Id) -> Option<Fault> {
    let names = tree.child(columns, "ColumnNames")?;
    let mut known: Vec<&str> = Vec::new();
    for token in tree.range(names) {
        let name = tree.variable(token)?;
        if known.contains(&name) {
            return Fault::at(token, format!("`?{name}` is listed twice"));
        }
        known.push(name);
    }
    for row in tree.children(columns).iter().filter(|id| tree.is(**id, "Row")) {
        let values = tree.children(*row).len();
        if values != known.len() {
            let message =
                format!("this row has {values} of {} values; write UNDEF for a variable without a value", known.len());
            return Fault::at(tree.range(*row).start, message);
        }
    }
    None
}

fn of_slice(tree: &Tree<'_>, slice: Id) -> Option<Fault> {
    let too_large =
        |token: &usize| tree.tokens[*token].kind == Kind::Integer && tree.word(*token).parse::<usize>().is_err();
    let token = tree.own(slice).into_iter().find(too_large)?;
    Fault::at(token, format!("the number is too large; the largest is {}", usize::MAX))
}

fn of_data(tree: &Tree<'_>, data: Id) -> Option<Fault> {
    let verb = if tree.is(data, "InsertData") { "INSERT" } else { "DELETE" };
    if let Some(token) = tree.range(data).find(|token| tree.variable(*token).is_some()) {
        let message = format!("{verb} DATA has no variables; use {verb} {{ … }} WHERE {{ … }}");
        return Fault::at(token, message);
    }
    let is_subject = |id: &Id| tree.is(*id, "Subject");
    for subject in tree.within(data, &[]).into_iter().filter(is_subject) {
        let term = tree.child(subject, "Term").filter(|term| tree.child(*term, "Literal").is_some());
        if let Some(term) = term {
            return Fault::at(tree.range(term).start, "a literal cannot be the subject of a triple");
        }
    }
    None
}

/// Blank nodes of what is to be deleted.
fn of_deletion(tree: &Tree<'_>, deletion: Id) -> Option<Fault> {
    if tree.is(deletion, "InsertData") {
        return None;
    }
    let is_blank =
        |token: &usize| tree.tokens[*token].kind == Kind::BlankNode || tree.tokens[*token].is_symbol(tree.text, "[");
    let token = tree.range(deletion).find(is_blank).or_else(|| {
        let lists = tree.within(deletion, &[]).into_iter().filter(|id| tree.is(*id, "List"));
        lists.map(|list| tree.range(list).start).min()
    })?;
    Fault::at(
        token,
        "a blank node label does not name a node of the store, so it cannot be deleted; use a variable and WHERE",
    )
}

/// `[]` and `()` are no triples by themselves.
fn of_subject(tree: &Tree<'_>, subject: Id) -> Option<Fault> {
    let range = tree.range(subject);
    let is_empty = range.len() == 2 && matches!(tree.word(range.start), "[" | "(");
    if is_empty { Fault::at(range.end, "expected a predicate") } else { None }
}

/// Each operation of an update has blank nodes of its own.
fn of_inserted_nodes(tree: &Tree<'_>) -> Option<Fault> {
    let mut labels: HashMap<&str, Id> = HashMap::new();
    for data in tree.all().filter(|id| tree.is(*id, "InsertData")) {
        for token in tree.range(data).filter(|token| tree.tokens[*token].kind == Kind::BlankNode) {
            if *labels.entry(tree.word(token)).or_insert(data) != data {
                let label = tree.word(token);
                return Fault::at(token, format!("`{label}` is in another INSERT DATA already; use another label"));
            }
        }
    }
    None
}

/// Aggregates are computed of the groups of a `SELECT`.
fn of_aggregate(tree: &Tree<'_>, aggregate: Id) -> Option<Fault> {
    let around = tree
        .around(aggregate)
        .find(|id| matches!(tree.name(*id), "SelectAs" | "Having" | "OrderBy" | "GroupBy" | "Group" | "Aggregate"));
    let token = tree.range(aggregate).start;
    match around.map(|id| tree.name(id)) {
        Some("SelectAs" | "Having" | "OrderBy") => None,
        Some("Aggregate") => Fault::at(token, "aggregates cannot be nested; compute the inner one in a subquery"),
        _ => Fault::at(token, MISPLACED),
    }
}

/// An operation is between two `;`.
fn of_update(tree: &Tree<'_>, update: Id) -> Option<Fault> {
    let is_operation = |id: &&Id| tree.is(**id, "Operation");
    let operations: HashSet<usize> =
        tree.children(update).iter().filter(is_operation).map(|id| tree.range(*id).end).collect();
    let token = tree.own(update).into_iter().find(|token| !operations.contains(token))?;
    Fault::at(token, "expected an operation or the end")
}

/// A label stands for one node in one basic graph pattern, and may not be used in another.
fn of_blank_nodes(tree: &Tree<'_>) -> Option<Fault> {
    // Each bracket of a group begins another part; between the outermost ones are no patterns.
    let mut part = vec![0_usize; tree.tokens.len() + 1];
    let mut depth = vec![0_isize; tree.tokens.len() + 1];
    for id in tree.all().filter(|id| tree.is(*id, "Group")) {
        let range = tree.range(id);
        part[range.start] += 1;
        part[range.end] += 1;
        depth[range.start] += 1;
        depth[range.end] -= 1;
    }
    for token in 1..part.len() {
        part[token] += part[token - 1];
        depth[token] += depth[token - 1];
    }
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for token in 0..tree.tokens.len() {
        if tree.tokens[token].is_symbol(tree.text, ";") && depth[token] == 0 {
            labels.clear();
        }
        if tree.tokens[token].kind != Kind::BlankNode || depth[token] == 0 {
            continue;
        }
        let label = tree.word(token);
        if *labels.entry(label).or_insert(part[token]) != part[token] {
            let message = format!("`{label}` is in another group already, where it is another node; use a variable");
            return Fault::at(token, message);
        }
    }
    None
}
