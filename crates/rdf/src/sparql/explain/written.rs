//! Names of a plan's operators with the expressions that the text has, in place of those that the planner makes of
//! them.
//!
//! The evaluator names its operators in text alone. A name is read into its calls; those that `plan` and `xpath` add
//! are undone, from the inside out:
//!
//! | in the evaluator's name | here |
//! |---|---|
//! | `IF(sameTerm(?v, < text>), ?v, ?v)` | `?v` |
//! | `COALESCE((?v > 1), < greater>(…, 1))` | `(?v > 1)` |
//! | `< in, any>(?v, COALESCE(?w, < failed>), 1)` | `(?v IN (?w, 1))` |
//! | `COUNT(IF(isLITERAL(LCASE(?v)), < counted>, < counted>))` | `COUNT(LCASE(?v))` |
//! | `< sum>(?v)`, `<pattern 0>(?v)` | `SUM(?v)`, `REGEX(?v, "^a")` |
//! | `Extend(e -> ?·argument0)`, then `?·argument0` | `e` |
//!
//! Called by `explain` alone.

use std::collections::HashMap;

use crate::sparql::evaluation::evaluation_term::Form;
use crate::sparql::expressions::aggregates;
use crate::sparql::expressions::functions::{FAILED, Operation};
use crate::sparql::expressions::ill_typed::Typed;
use crate::sparql::expressions::xpath;

/// What names of a plan stand for.
#[derive(Default)]
pub(crate) struct Written {
    /// Variables that no text has, without their question marks, and what they are bound to.
    defined: HashMap<String, String>,
    patterns: Vec<xpath::WrittenCall>,
}

/// Begins the names of variables that no text has.
const HIDDEN: &str = "·";

impl Written {
    pub(crate) fn new(patterns: Vec<xpath::WrittenCall>) -> Self {
        Self { defined: HashMap::new(), patterns }
    }

    /// Notes what an operator binds variables to which no text has. Returns whether it does nothing else.
    pub(crate) fn define(&mut self, name: &str) -> bool {
        if let Some((expression, variable)) = extension(name)
            && variable.starts_with(HIDDEN)
        {
            let expression = self.expression(expression);
            let is_key = variable.strip_prefix(HIDDEN).is_some_and(|name| name.starts_with("key"));
            // An operator keeps the evaluator from taking the variable itself.
            let expression = if is_key { expression.trim_start_matches('+').to_owned() } else { expression };
            self.defined.insert(variable.to_owned(), expression);
            return true;
        }
        // Of a variable with the graph's name, whether it has the graph's value.
        if name.starts_with("Filter((!BOUND(?·own") || name.starts_with("Filter((sameTerm(?·own") {
            return true;
        }
        for part in arguments_of(name, "Aggregate").unwrap_or_default() {
            if let Some((aggregate, variable)) = part.rsplit_once(" -> ?")
                && is_made_up(variable)
            {
                let aggregate = self.expression(aggregate);
                self.defined.insert(variable.to_owned(), aggregate);
            }
        }
        false
    }

    /// The operator's name, as the text has its expressions.
    pub(crate) fn name(&self, name: &str) -> String {
        for operator in ["Project", "Aggregate"] {
            if let Some(parts) = arguments_of(name, operator) {
                let is_shown =
                    |part: &&str| !part.strip_prefix('?').is_some_and(|variable| variable.starts_with(HIDDEN));
                let parts = parts.into_iter().filter(is_shown).map(|part| match part.rsplit_once(" -> ?") {
                    Some((aggregate, variable)) if is_made_up(variable) => self.expression(aggregate),
                    _ => self.expression(part),
                });
                return format!("{operator}({})", parts.collect::<Vec<_>>().join(", "));
            }
        }
        self.expression(name)
    }

    fn expression(&self, text: &str) -> String {
        let mut reader = Reader { rest: text, written: self };
        let mut out = reader.sequence().text;
        while let Some(character) = reader.rest.chars().next() {
            // A comma or a bracket that closes nothing: at the top, both are text.
            out.push(character);
            reader.rest = &reader.rest[character.len_utf8()..];
            out.push_str(&reader.sequence().text);
        }
        out
    }

    /// What a variable stands for, with its question mark.
    fn variable(&self, name: &str) -> String {
        if let Some(expression) = self.defined.get(name) {
            return expression.clone();
        }
        match name.strip_prefix(HIDDEN) {
            // A variable of a text under another name has its own behind that.
            Some(hidden) => hidden.split_once(HIDDEN).map_or("[]".to_owned(), |(_, own)| format!("?{own}")),
            None => format!("?{name}"),
        }
    }
}

/// The expression and the variable of `Extend(expression -> ?variable)`.
fn extension(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("Extend(")?.strip_suffix(')')?.rsplit_once(" -> ?")
}

/// Whether the parser has made the name up, for an aggregate.
fn is_made_up(variable: &str) -> bool {
    variable.len() > 20 && variable.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The arguments of an operator, as they are.
fn arguments_of<'n>(name: &'n str, operator: &str) -> Option<Vec<&'n str>> {
    let text = name.strip_prefix(operator)?.strip_prefix('(')?.strip_suffix(')')?;
    let nothing = Written::default();
    let mut reader = Reader { rest: text, written: &nothing };
    let mut parts = Vec::new();
    loop {
        let before = reader.rest;
        reader.sequence();
        parts.push(&before[..before.len() - reader.rest.len()]);
        match reader.rest.strip_prefix(", ") {
            Some(rest) => reader.rest = rest,
            None => return reader.rest.is_empty().then_some(parts),
        }
    }
}

/// A part of a name.
struct Value {
    text: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Plain,
    /// A variable in a form, or the question for that.
    InForm(Form),
    /// A name of a form.
    Form(Form),
    /// A call of ours that stands behind the evaluator's own operator.
    Fallback,
    /// What a node is made of by `BNODE`.
    Label,
}

impl Value {
    fn plain(text: String) -> Self {
        Self { text, kind: Kind::Plain }
    }
}

struct Reader<'t, 'w> {
    rest: &'t str,
    written: &'w Written,
}

impl<'t> Reader<'t, '_> {
    /// All up to a comma or a bracket that closes.
    fn sequence(&mut self) -> Value {
        let (mut out, mut parts, mut kind) = (String::new(), 0, Kind::Plain);
        while !self.rest.is_empty() && !self.rest.starts_with(")") && !self.rest.starts_with(", ") {
            let part = self.part();
            if part.kind == Kind::InForm(Form::IsNumber) && out.ends_with("!!") {
                out.truncate(out.len() - 2);
                out.push_str(&format!("isNUMERIC({})", part.text));
            } else {
                out.push_str(&part.text);
            }
            parts += 1;
            kind = part.kind;
        }
        Value { text: out, kind: if parts == 1 { kind } else { Kind::Plain } }
    }

    fn part(&mut self) -> Value {
        let rest = self.rest;
        let length = match rest.as_bytes()[0] {
            b'"' => string_bytes(rest),
            b'<' => iri_bytes(rest),
            b'?' => 1 + word_bytes(&rest[1..]),
            _ => word_bytes(rest),
        };
        if length == 0 || rest.starts_with('(') {
            return self.symbol();
        }
        let word = self.take(length);
        if self.rest.starts_with('(') && !word.starts_with(['?', '"']) {
            let arguments = self.arguments();
            return self.call(word, arguments);
        }
        let name = name_in(word);
        match (word.strip_prefix('?'), name) {
            (Some(""), _) => Value::plain("?".to_owned()),
            (Some(variable), _) => Value::plain(self.written.variable(variable)),
            (_, Some(name)) if name.starts_with(' ') => match Form::named(name) {
                Some(form) => Value { text: String::new(), kind: Kind::Form(form) },
                None => Value::plain(aggregates::text_of_name(name).unwrap_or_else(|| word.to_owned())),
            },
            _ => Value::plain(word.to_owned()),
        }
    }

    /// An opening bracket with what is in it, or any other character.
    fn symbol(&mut self) -> Value {
        if self.rest.starts_with('(') {
            let arguments = self.arguments();
            return Value::plain(format!("({})", joined(&arguments)));
        }
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        Value::plain(self.take(length).to_owned())
    }

    /// What is in the brackets that open here.
    fn arguments(&mut self) -> Vec<Value> {
        let mut arguments = Vec::new();
        self.take(1);
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            arguments.push(self.sequence());
            if self.rest.starts_with(", ") {
                self.take(2);
            }
        }
        if !self.rest.is_empty() {
            self.take(1);
        }
        arguments
    }

    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn call(&self, name: &str, mut arguments: Vec<Value>) -> Value {
        let last = arguments.last().map(|last| last.kind.clone());
        match (name, &mut *arguments) {
            (
                "sameTerm",
                [Value { kind: Kind::Form(form), .. }, value] | [value, Value { kind: Kind::Form(form), .. }],
            ) => {
                return Value { text: std::mem::take(&mut value.text), kind: Kind::Form(*form) };
            }
            ("IF", [Value { kind: Kind::Form(form), text }, ..]) => {
                return match form {
                    Form::Candidate | Form::Reached => Value::plain(format!("mayBeInResult({text})")),
                    _ => Value { text: std::mem::take(text), kind: Kind::InForm(*form) },
                };
            }
            ("IF", [is_literal, counted, _]) if name_in(&counted.text) == Some(aggregates::COUNTED) => {
                return Value::plain(counted_argument(&is_literal.text).to_owned());
            }
            // Texts ask for none of these forms, and have what is evaluated otherwise.
            (
                "IF",
                [
                    Value {
                        kind: Kind::InForm(Form::MustBeNumber | Form::MustBeOrdered | Form::IsTime | Form::IsNan),
                        ..
                    },
                    _,
                    otherwise,
                ],
            ) => {
                return Value { text: std::mem::take(&mut otherwise.text), kind: otherwise.kind.clone() };
            }
            ("COALESCE", [own, ours]) if last == Some(Kind::Fallback) || is_reordered(&own.text, &ours.text) => {
                return Value { text: std::mem::take(&mut own.text), kind: own.kind.clone() };
            }
            // What an item of a list is if it fails.
            ("COALESCE", [item, failed]) if name_in(&failed.text) == Some(FAILED) => {
                return Value::plain(std::mem::take(&mut item.text));
            }
            // Of texts: calls that are written have a name of ours.
            ("STRDT", [label, _]) => return Value { text: std::mem::take(&mut label.text), kind: Kind::Label },
            ("CONCAT" | "MD5", [.., label]) if label.kind == Kind::Label => {
                return Value { text: std::mem::take(&mut label.text), kind: Kind::Label };
            }
            ("REGEX", [_, pattern]) => {
                let known = |call: &&xpath::WrittenCall| call.name == pattern.text;
                if let Some(call) = self.written.patterns.iter().find(known) {
                    pattern.text = call.arguments.clone();
                }
            }
            _ => {}
        }
        let Some(inner) = name_in(name) else {
            return Value::plain(format!("{name}({})", joined(&arguments)));
        };
        if let Some((text, is_fallback)) = Operation::written(inner, &texts(&arguments)) {
            return Value { text, kind: if is_fallback { Kind::Fallback } else { Kind::Plain } };
        }
        if let Some(call) = self.written.patterns.iter().find(|call| call.name == inner) {
            let separator = if call.arguments.is_empty() { "" } else { ", " };
            return Value::plain(format!("{}({}{separator}{})", call.function, joined(&arguments), call.arguments));
        }
        let name = match aggregates::written(inner) {
            Some(aggregate) => aggregate,
            None if Typed::is_name(inner) => "STRDT",
            None => name,
        };
        Value::plain(format!("{name}({})", joined(&arguments)))
    }
}

/// What is between angle brackets.
fn name_in(word: &str) -> Option<&str> {
    word.strip_prefix('<')?.strip_suffix('>')
}

/// What `COUNT` counts, of the condition that fails where that fails.
fn counted_argument(is_literal: &str) -> &str {
    is_literal.strip_prefix("isLITERAL(").and_then(|text| text.strip_suffix(')')).unwrap_or(is_literal)
}

fn texts(arguments: &[Value]) -> Vec<&str> {
    arguments.iter().map(|argument| &*argument.text).collect()
}

fn joined(arguments: &[Value]) -> String {
    texts(arguments).join(", ")
}

/// Whether two expressions differ in the order of their parts at most: the optimizer orders the operands of its own
/// operators.
fn is_reordered(left: &str, right: &str) -> bool {
    let sorted = |text: &str| {
        let mut bytes: Vec<u8> = text.bytes().collect();
        bytes.sort_unstable();
        bytes
    };
    left.len() == right.len() && sorted(left) == sorted(right)
}

/// Bytes of the literal that the text begins with.
fn string_bytes(text: &str) -> usize {
    let mut is_escaped = false;
    let closing = text.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    let Some(closing) = closing else { return text.len() };
    let behind = &text[closing + 2..];
    let of_type = match behind.as_bytes() {
        [b'^', b'^', b'<', ..] => 2 + iri_bytes(&behind[2..]),
        [b'@', ..] => {
            behind[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-').map_or(behind.len(), |end| end + 1)
        }
        _ => 0,
    };
    closing + 2 + of_type
}

/// Bytes of the IRI, or of the name of ours, that the text begins with. None for an operator.
fn iri_bytes(text: &str) -> usize {
    if text.starts_with("< term <<(") {
        return text.find(")>>>").map_or(0, |end| end + ")>>>".len());
    }
    let is_ours = text.starts_with("<pattern ") || text[1..].starts_with(' ') && text[2..].starts_with(is_name_of_ours);
    let end = text.find('>').filter(|end| is_ours || !text[1..*end].contains([' ', '"', '<', '{', '}']));
    end.map_or(0, |end| end + 1)
}

/// Operands behind the operator `<` begin with capitals, signs or brackets, but for `sameTerm`, which has one soon.
fn is_name_of_ours(first: char) -> bool {
    first.is_ascii_lowercase()
}

fn word_bytes(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '·').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_iris_and_operators_that_look_like_names_and_brackets_stay_as_they_are() {
        let written = Written::default();
        for name in [
            "Filter((?a < ?b))",
            "Filter((?a < sameTerm(?b, ?c)))",
            "Filter((\"a)( < less>, \\\" ?x\"@en-GB < \"?·key0\"^^<http://e/t(1)>))",
            "QuadPattern(?s <http://e/?a,(b)> \"(\" ?g)",
            "Path(?x ((<http://e/p> | ^<http://e/q>))? ?y)",
            "StaticBindings((?a, ?b), ((<http://e/a>, UNDEF), (\"1\", 2)))",
            "IF(?v, 1, COALESCE(?v, 2))",
            "COUNT(IF(isLITERAL(?v), 1, 1))",
            "",
            "), ",
        ] {
            assert_eq!(written.name(name), name);
        }
    }

    #[test]
    fn names_that_no_text_has_are_left_out_or_stand_for_what_the_text_has() {
        let mut written = Written::default();
        assert!(written.define("Extend(+IF(sameTerm(?v, < sort by form 0>), ?v, ?v) -> ?·key0)"));
        assert!(written.define("Extend(?g -> ?·graph0)"));
        assert!(!written.define("Extend(?a -> ?b)"));
        assert_eq!(written.name("Sort(ASC(?·key0))"), "Sort(ASC(?v))");
        assert_eq!(written.name("QuadPattern(?s ?·p ?·own0·g ?·graph0)"), "QuadPattern(?s [] ?g ?g)");
        assert_eq!(written.name("Project(?·graph0, ?a)"), "Project(?a)");
        let counted = "Aggregate(COUNT(IF(isLITERAL(UCASE(?v)), < counted>, < counted>)))";
        assert_eq!(written.name(counted), "Aggregate(COUNT(UCASE(?v)))");
    }
}
