//! Follows the grammar token by token, and stops at the first token that it cannot go on with.

use super::grammar::{Expression, Grammar, Part, Rule, Terminal};
use crate::sparql::parse::tokens::{Kind, Token};

/// What a rule takes of the text: a node of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub rule: Rule,
    pub parent: Option<usize>,
    /// Its tokens, by their numbers.
    pub from: usize,
    pub to: usize,
}

/// A text as the grammar has taken it, to its end or to the first token that does not fit.
pub(crate) struct Prediction {
    /// The rules that were applied, each before those within it.
    pub nodes: Vec<Node>,
    /// Where it has stopped, unless at the end of a text that fits.
    pub stop: Option<Stop>,
}

/// The first token that does not fit.
pub(crate) struct Stop {
    /// Its number; that behind the last if the text ends too early.
    pub token: usize,
    /// What could be there instead, as users call it.
    pub expected: Vec<String>,
    /// Keywords that could be there.
    pub words: Vec<&'static str>,
    /// The rules that are open, the outermost first.
    pub open: Vec<Rule>,
}

/// What could have been where the next token is, and was passed over, with the rule that has it.
struct Passed {
    part: Part,
    rule: Rule,
}

/// What is still to be done.
enum Task {
    Part(Part),
    /// The rule of the innermost node ends.
    End,
}

/// Follows the grammar from `start`.
pub(crate) fn predict(grammar: &Grammar, start: Rule, text: &str, tokens: &[Token]) -> Prediction {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (.., body) = grammar.rules[start];
    let mut tasks = vec![Task::End, Task::Part(body)];
    nodes.push(Node { rule: start, parent: None, from: 0, to: tokens.len() });
    open.push(0);
    let mut passed: Vec<Passed> = Vec::new();
    let mut at = 0;
    while let Some(task) = tasks.pop() {
        let part = match task {
            Task::End => {
                if let Some(node) = open.pop() {
                    nodes[node].to = at;
                }
                continue;
            }
            Task::Part(part) => part,
        };
        let next = tokens.get(at).and_then(|token| grammar.number(text, token));
        let may_begin = |part: Part| grammar.may_begin(part, next);
        let rule = open.last().map_or(start, |node| nodes[*node].rule);
        match &grammar.parts[part] {
            Expression::Terminal(wanted) if Some(*wanted) == next => {
                at += 1;
                passed.clear();
            }
            Expression::Rule(rule) if may_begin(part) || grammar.may_be_empty(part) => {
                let (.., body) = grammar.rules[*rule];
                nodes.push(Node { rule: *rule, parent: open.last().copied(), from: at, to: at });
                open.push(nodes.len() - 1);
                tasks.extend([Task::End, Task::Part(body)]);
            }
            Expression::Sequence(parts) if may_begin(part) || grammar.may_be_empty(part) => {
                tasks.extend(parts.iter().rev().map(|part| Task::Part(*part)));
            }
            Expression::Choice(parts) if may_begin(part) || grammar.may_be_empty(part) => {
                let chosen = parts.iter().find(|part| may_begin(**part));
                let chosen = chosen.or_else(|| parts.iter().find(|part| grammar.may_be_empty(**part)));
                let others = parts.iter().filter(|part| Some(*part) != chosen);
                passed.extend(others.map(|part| Passed { part: *part, rule }));
                tasks.extend(chosen.map(|part| Task::Part(*part)));
            }
            Expression::Many(inner) if may_begin(*inner) => tasks.extend([Task::Part(part), Task::Part(*inner)]),
            Expression::Optional(inner) if may_begin(*inner) => tasks.push(Task::Part(*inner)),
            Expression::Many(inner) | Expression::Optional(inner) => passed.push(Passed { part: *inner, rule }),
            _ => {
                passed.push(Passed { part, rule });
                return stopped(grammar, nodes, &open, at, &passed);
            }
        }
    }
    if at < tokens.len() {
        let mut prediction = stopped(grammar, nodes, &open, at, &passed);
        if let Some(stop) = &mut prediction.stop {
            stop.expected.push("the end".to_owned());
        }
        return prediction;
    }
    Prediction { nodes, stop: None }
}

fn stopped(grammar: &Grammar, mut nodes: Vec<Node>, open: &[usize], at: usize, passed: &[Passed]) -> Prediction {
    let (mut expected, mut words) = (Vec::new(), Vec::new());
    for Passed { part, rule } in passed {
        match grammar.rules[*rule] {
            // All its alternatives have one name.
            (_, Some(label), body) if grammar.may_be_empty(body) => add(label, &mut expected),
            _ => describe(grammar, *part, &mut expected),
        }
        words.extend(grammar.words_that_begin(*part));
    }
    for node in open {
        nodes[*node].to = at;
    }
    let open = open.iter().map(|node| nodes[*node].rule).collect();
    Prediction { nodes, stop: Some(Stop { token: at, expected, words, open }) }
}

/// Adds what users call the beginnings of a part.
fn describe(grammar: &Grammar, part: Part, expected: &mut Vec<String>) {
    match &grammar.parts[part] {
        Expression::Terminal(number) => add(&named(grammar.terminal(*number)), expected),
        Expression::Rule(rule) => match grammar.rules[*rule] {
            (_, Some(label), _) => add(label, expected),
            (.., body) => describe(grammar, body, expected),
        },
        Expression::Sequence(parts) => {
            for part in parts {
                describe(grammar, *part, expected);
                if !grammar.may_be_empty(*part) {
                    break;
                }
            }
        }
        Expression::Choice(parts) => parts.iter().for_each(|part| describe(grammar, *part, expected)),
        Expression::Many(inner) | Expression::Optional(inner) => describe(grammar, *inner, expected),
    }
}

fn add(name: &str, expected: &mut Vec<String>) {
    if !name.is_empty() && !expected.iter().any(|known| known == name) {
        expected.push(name.to_owned());
    }
}

fn named(terminal: Terminal) -> String {
    match terminal {
        Terminal::Word(word) => word.to_owned(),
        Terminal::Symbol(symbol) => format!("`{symbol}`"),
        Terminal::Prefix => "a prefix with its `:`".to_owned(),
        Terminal::Kind(kind) => String::from(match kind {
            Kind::Variable => "a variable",
            Kind::Iri => "an IRI in `<` and `>`",
            Kind::PrefixedName => "a prefixed name",
            Kind::BlankNode => "a blank node",
            Kind::String => "a string",
            Kind::Language => "a language tag",
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Word | Kind::Symbol | Kind::UnclosedString | Kind::Stray => "a word",
        }),
    }
}
