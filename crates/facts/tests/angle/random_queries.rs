//! Random queries, and their texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fulgurite_facts::{PredicateId, Type, Value};

use crate::memory::Memory;
use crate::random_types::{Random, STRINGS, random_value};

/// A pattern, of a type that its place gives it.
#[derive(Debug, Clone)]
pub enum Pattern {
    Wild,
    Variable(usize),
    Literal(Value),
    Prefix(&'static str),
    Record(Vec<Pattern>),
    Alternative(usize, Box<Pattern>),
    Just(Box<Pattern>),
    ArrayPrefix(Vec<Pattern>),
    Or(Box<Pattern>, Box<Pattern>),
    /// The fact that a reference is to.
    Fact(Box<Pattern>),
    If(Box<Statement>, Box<Pattern>, Box<Pattern>),
}

#[derive(Debug, Clone)]
pub enum Statement {
    Facts(usize, Pattern),
    /// The facts that a variable has.
    Bound(usize, usize, Pattern),
    Same(usize, Pattern),
    Different(usize, usize),
    Less(usize, usize),
    Element(Pattern, usize),
    Not(Vec<Statement>),
    Either(Vec<Statement>, Vec<Statement>),
    Choice(Box<[Vec<Statement>; 3]>),
}

pub struct Query {
    pub types: Vec<Type>,
    pub statements: Vec<Statement>,
    pub head: Vec<usize>,
    /// The variables that statements outside of all branches give a type and a value, whatever their order.
    given: BTreeSet<usize>,
}

/// Writes patterns and statements at random.
pub struct Writer<'a> {
    pub random: &'a mut Random,
    pub keys: &'a [Type],
    pub memory: &'a Memory,
    pub types: Vec<Type>,
}

impl Writer<'_> {
    fn variable(&mut self, ty: &Type) -> usize {
        let same: Vec<usize> = (0..self.types.len()).filter(|&index| self.types[index] == *ty).collect();
        if !same.is_empty() && (self.types.len() >= 4 || self.random.chance(60)) {
            return same[self.random.below(same.len())];
        }
        self.types.push(ty.clone());
        self.types.len() - 1
    }

    /// `fresh`: whether variables may occur that no other pattern has.
    fn pattern(&mut self, ty: &Type, depth: usize, fresh: bool) -> Pattern {
        let choice = self.random.below(10);
        let may_bind = fresh && (self.types.len() < 4 || self.types.contains(ty));
        if choice < 3 && may_bind {
            return Pattern::Variable(self.variable(ty));
        }
        if choice < 4 || depth == 0 {
            return Pattern::Wild;
        }
        if choice == 4 {
            let (left, right) = (self.pattern(ty, depth - 1, fresh), self.pattern(ty, depth - 1, fresh));
            return Pattern::Or(Box::new(left), Box::new(right));
        }
        if choice == 5 && !matches!(ty, Type::Predicate(_)) {
            return match random_value(self.random, ty, self.memory) {
                Some(value) if is_literal(ty) => Pattern::Literal(value),
                _ => Pattern::Wild,
            };
        }
        self.structured(ty, depth, fresh)
    }

    fn structured(&mut self, ty: &Type, depth: usize, fresh: bool) -> Pattern {
        match ty {
            Type::String => Pattern::Prefix(STRINGS[self.random.below(STRINGS.len())]),
            Type::Record(fields) => {
                Pattern::Record(fields.iter().map(|field| self.pattern(&field.ty, depth - 1, fresh)).collect())
            }
            Type::Sum(fields) => {
                let index = self.random.below(fields.len());
                Pattern::Alternative(index, Box::new(self.pattern(&fields[index].ty, depth - 1, fresh)))
            }
            Type::Maybe(element) => Pattern::Just(Box::new(self.pattern(element, depth - 1, fresh))),
            Type::Array(element) => Pattern::ArrayPrefix(vec![self.pattern(element, depth - 1, fresh)]),
            Type::Predicate(predicate) => {
                let key = self.keys[(predicate.get() - PredicateId::FIRST.get()) as usize].clone();
                Pattern::Fact(Box::new(self.pattern(&key, depth - 1, fresh)))
            }
            _ => Pattern::Wild,
        }
    }

    fn facts(&mut self, predicates: usize, fresh: bool) -> Statement {
        let predicate = self.random.below(predicates);
        let key = self.keys[predicate].clone();
        Statement::Facts(predicate, self.pattern(&key, 3, fresh))
    }

    /// A statement, with branches in each other up to `depth`.
    fn statement(&mut self, predicates: usize, depth: usize) -> Statement {
        let (count, choice) = (self.types.len(), self.random.below(14));
        let of = |types: &[Type], wanted: &dyn Fn(&Type) -> bool| -> Vec<usize> {
            (0..types.len()).filter(|&index| wanted(&types[index])).collect()
        };
        let nats = of(&self.types, &|ty| *ty == Type::Nat);
        let lists = of(&self.types, &|ty| matches!(ty, Type::Array(_) | Type::Set(_)));
        let references = of(&self.types, &|ty| matches!(ty, Type::Predicate(_)));
        match choice {
            0 if count > 0 => {
                let variable = self.random.below(count);
                let ty = self.types[variable].clone();
                let condition = self.facts_of_known(predicates);
                let (then, otherwise) = (self.pattern(&ty, 1, true), self.pattern(&ty, 1, true));
                Statement::Same(variable, Pattern::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
            }
            1 | 2 if count > 0 => {
                let variable = self.random.below(count);
                let ty = self.types[variable].clone();
                Statement::Same(variable, self.pattern(&ty, 2, true))
            }
            3 if count > 0 => {
                let left = self.random.below(count);
                let ty = self.types[left].clone();
                let same = of(&self.types, &|other| *other == ty);
                Statement::Different(left, same[self.random.below(same.len())])
            }
            4 if !nats.is_empty() => {
                Statement::Less(nats[self.random.below(nats.len())], nats[self.random.below(nats.len())])
            }
            5 | 6 if !lists.is_empty() => {
                let list = lists[self.random.below(lists.len())];
                let (Type::Array(element) | Type::Set(element)) = self.types[list].clone() else { unreachable!() };
                Statement::Element(self.pattern(&element, 2, true), list)
            }
            7 if !references.is_empty() => {
                let variable = references[self.random.below(references.len())];
                let Type::Predicate(id) = self.types[variable] else { unreachable!() };
                let predicate = (id.get() - PredicateId::FIRST.get()) as usize;
                let key = self.keys[predicate].clone();
                Statement::Bound(variable, predicate, self.pattern(&key, 2, true))
            }
            8 => Statement::Not(vec![self.facts_of_known(predicates)]),
            9..=11 if depth > 0 => {
                Statement::Either(self.statements(predicates, depth - 1), self.statements(predicates, depth - 1))
            }
            12 if depth > 0 => {
                let condition = vec![self.facts_of_known(predicates)];
                let (then, otherwise) =
                    (self.statements(predicates, depth - 1), self.statements(predicates, depth - 1));
                Statement::Choice(Box::new([condition, then, otherwise]))
            }
            _ => self.facts(predicates, true),
        }
    }

    fn statements(&mut self, predicates: usize, depth: usize) -> Vec<Statement> {
        (0..1 + self.random.below(2)).map(|_| self.statement(predicates, depth)).collect()
    }

    /// Facts whose variables other statements have too.
    fn facts_of_known(&mut self, predicates: usize) -> Statement {
        let known = self.types.len();
        let predicate = self.random.below(predicates);
        let key = self.keys[predicate].clone();
        let pattern = self.pattern(&key, 2, true);
        self.types.truncate(known);
        let mut facts = Statement::Facts(predicate, pattern);
        facts.forget(&|variable| variable >= known);
        facts
    }

    pub fn query(mut self, predicates: usize) -> Query {
        let mut statements = vec![self.facts(predicates, true)];
        for _ in 0..1 + self.random.below(3) {
            statements.push(self.statement(predicates, 2));
        }
        let mut head: Vec<usize> = (0..self.types.len()).collect();
        head.retain(|_| self.random.chance(70));
        let mut scopes = Scopes { types: self.types, given: BTreeSet::new() };
        let statements = scopes.query(statements, &head);
        Query { types: scopes.types, statements, head, given: scopes.given }
    }
}

impl Query {
    /// Whether facts give a variable its values, whatever the order of statements.
    pub fn has_known_values(&self, variable: usize) -> bool {
        self.given.contains(&variable)
    }
}

/// Gives variables the scopes that Angle gives their names: a variable that a branch mentions and nothing outside does
/// is another one in each branch. Conditions and negations keep only variables that have a value outside of them.
struct Scopes {
    types: Vec<Type>,
    /// The variables that statements outside of all branches give a value, whatever the order of statements.
    given: BTreeSet<usize>,
}

/// The variables in scope, by those that were written.
type Scope = BTreeMap<usize, usize>;

impl Scopes {
    fn query(&mut self, mut statements: Vec<Statement>, head: &[usize]) -> Vec<Statement> {
        let mut mentioned: Vec<usize> = head.to_vec();
        statements.iter().for_each(|statement| statement.mentions(false, &mut mentioned));
        let scope: Scope = mentioned.into_iter().map(|variable| (variable, variable)).collect();
        for statement in &statements {
            if let Statement::Facts(_, key) | Statement::Bound(_, _, key) = statement {
                let mut given = Vec::new();
                key.mentions(false, &mut given);
                self.given.extend(given);
            }
        }
        statements.iter_mut().for_each(|statement| self.statement(statement, &scope));
        let mut mentioned: Vec<usize> = head.to_vec();
        statements.iter().for_each(|statement| statement.mentions(true, &mut mentioned));
        let once = |variable: usize| mentioned.iter().filter(|&&other| other == variable).count() == 1;
        statements.iter_mut().for_each(|statement| statement.forget(&once));
        statements
    }

    /// The scope within a branch: what it mentions and the scope outside lacks is its own.
    fn inside(&mut self, scope: &Scope, mentioned: Vec<usize>) -> Scope {
        let mut inside = scope.clone();
        for variable in mentioned {
            inside.entry(variable).or_insert_with(|| {
                self.types.push(self.types[variable].clone());
                self.types.len() - 1
            });
        }
        inside
    }

    fn branch(&mut self, statements: &mut [Statement], scope: &Scope) {
        let mut mentioned = Vec::new();
        statements.iter().for_each(|statement| statement.mentions(false, &mut mentioned));
        let inside = self.inside(scope, mentioned);
        statements.iter_mut().for_each(|statement| self.statement(statement, &inside));
    }

    fn pattern_branch(&mut self, pattern: &mut Pattern, scope: &Scope) {
        let mut mentioned = Vec::new();
        pattern.mentions(false, &mut mentioned);
        let inside = self.inside(scope, mentioned);
        self.pattern(pattern, &inside);
    }

    fn statement(&mut self, statement: &mut Statement, scope: &Scope) {
        match statement {
            Statement::Facts(_, pattern) => self.pattern(pattern, scope),
            Statement::Bound(variable, _, pattern)
            | Statement::Same(variable, pattern)
            | Statement::Element(pattern, variable) => {
                *variable = scope[variable];
                self.pattern(pattern, scope);
            }
            Statement::Different(left, right) | Statement::Less(left, right) => {
                (*left, *right) = (scope[left], scope[right]);
            }
            Statement::Not(statements) => {
                statements.iter_mut().for_each(|statement| statement.forget(&|other| !scope.contains_key(&other)));
                self.branch(statements, scope);
            }
            Statement::Either(left, right) => {
                self.branch(left, scope);
                self.branch(right, scope);
            }
            Statement::Choice(parts) => {
                let [condition, then, otherwise] = &mut **parts;
                condition.iter_mut().for_each(|statement| self.condition(statement, scope));
                self.branch(then, scope);
                self.branch(otherwise, scope);
            }
        }
    }

    fn condition(&mut self, condition: &mut Statement, scope: &Scope) {
        let has_value = |variable| scope.get(&variable).is_some_and(|variable| self.given.contains(variable));
        condition.forget(&|variable| !has_value(variable));
        self.statement(condition, scope);
    }

    fn pattern(&mut self, pattern: &mut Pattern, scope: &Scope) {
        match pattern {
            Pattern::Variable(variable) => *variable = scope[variable],
            Pattern::Or(left, right) => {
                self.pattern_branch(left, scope);
                self.pattern_branch(right, scope);
            }
            Pattern::If(condition, then, otherwise) => {
                self.condition(condition, scope);
                self.pattern_branch(then, scope);
                self.pattern_branch(otherwise, scope);
            }
            other => other.parts().into_iter().for_each(|part| self.pattern(part, scope)),
        }
    }
}

impl Statement {
    /// The variables that it mentions, each time. `branches`: also those within branches.
    pub fn mentions(&self, branches: bool, found: &mut Vec<usize>) {
        let all = |statements: &[Statement], found: &mut Vec<usize>| {
            statements.iter().for_each(|statement| statement.mentions(branches, found));
        };
        match self {
            Statement::Facts(_, pattern) => pattern.mentions(branches, found),
            Statement::Bound(variable, _, pattern)
            | Statement::Same(variable, pattern)
            | Statement::Element(pattern, variable) => {
                found.push(*variable);
                pattern.mentions(branches, found);
            }
            Statement::Different(left, right) | Statement::Less(left, right) => found.extend([*left, *right]),
            Statement::Not(_) | Statement::Either(..) | Statement::Choice(_) if !branches => {}
            Statement::Not(statements) => all(statements, found),
            Statement::Either(left, right) => {
                all(left, found);
                all(right, found);
            }
            Statement::Choice(parts) => parts.iter().for_each(|part| all(part, found)),
        }
    }

    /// Replaces variables in patterns by wildcards.
    fn forget(&mut self, which: &dyn Fn(usize) -> bool) {
        match self {
            Statement::Facts(_, pattern)
            | Statement::Bound(_, _, pattern)
            | Statement::Same(_, pattern)
            | Statement::Element(pattern, _) => pattern.forget(which),
            Statement::Different(..) | Statement::Less(..) => {}
            Statement::Not(statements) => statements.iter_mut().for_each(|statement| statement.forget(which)),
            Statement::Either(left, right) => {
                left.iter_mut().chain(right).for_each(|statement| statement.forget(which));
            }
            Statement::Choice(parts) => parts.iter_mut().flatten().for_each(|statement| statement.forget(which)),
        }
    }
}

impl Pattern {
    /// The patterns within, but for the condition of `if`.
    fn parts(&mut self) -> Vec<&mut Pattern> {
        match self {
            Pattern::Record(patterns) | Pattern::ArrayPrefix(patterns) => patterns.iter_mut().collect(),
            Pattern::Alternative(_, inner) | Pattern::Just(inner) | Pattern::Fact(inner) => vec![inner],
            Pattern::Or(left, right) | Pattern::If(_, left, right) => vec![left, right],
            Pattern::Wild | Pattern::Variable(_) | Pattern::Literal(_) | Pattern::Prefix(_) => Vec::new(),
        }
    }

    /// Whether it has patterns of facts in it.
    pub fn has_facts(&self) -> bool {
        matches!(self, Pattern::Fact(_)) || self.clone().parts().into_iter().any(|part| part.has_facts())
    }

    /// As [`Statement::mentions`].
    fn mentions(&self, branches: bool, found: &mut Vec<usize>) {
        match self {
            Pattern::Variable(variable) => found.push(*variable),
            Pattern::Or(..) | Pattern::If(..) if !branches => {}
            Pattern::If(condition, then, otherwise) => {
                condition.mentions(branches, found);
                then.mentions(branches, found);
                otherwise.mentions(branches, found);
            }
            other => other.clone().parts().into_iter().for_each(|part| part.mentions(branches, found)),
        }
    }

    fn forget(&mut self, which: &dyn Fn(usize) -> bool) {
        match self {
            Pattern::Variable(variable) if which(*variable) => *self = Pattern::Wild,
            Pattern::If(condition, then, otherwise) => {
                condition.forget(which);
                then.forget(which);
                otherwise.forget(which);
            }
            other => other.parts().into_iter().for_each(|part| part.forget(which)),
        }
    }
}

/// Types whose values a query can write.
fn is_literal(ty: &Type) -> bool {
    match ty {
        Type::Predicate(_) | Type::Set(_) => false,
        Type::Array(element) | Type::Maybe(element) => is_literal(element),
        Type::Record(fields) | Type::Sum(fields) => fields.iter().all(|field| is_literal(&field.ty)),
        _ => true,
    }
}

fn write_literal(out: &mut String, ty: &Type, value: &Value) {
    let all = |out: &mut String, parts: Vec<(&Type, &Value)>| {
        for (index, (ty, value)) in parts.into_iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            write_literal(out, ty, value);
        }
    };
    match (ty, value) {
        (_, Value::Nat(nat)) => write!(out, "{nat}").expect("strings grow"),
        (_, Value::String(string)) => write!(out, "{string:?}").expect("strings grow"),
        (_, Value::Bool(bool)) => write!(out, "{bool}").expect("strings grow"),
        (Type::Enum(names), Value::Enum(index)) => out.push_str(&names[*index]),
        (Type::Array(element), Value::Array(values)) => {
            out.push('[');
            all(out, values.iter().map(|value| (&**element, value)).collect());
            out.push(']');
        }
        (Type::Record(fields), Value::Record(values)) => {
            out.push_str("{ ");
            all(out, fields.iter().map(|field| &field.ty).zip(values).collect());
            out.push_str(" }");
        }
        (Type::Sum(fields), Value::Alternative(index, value)) => {
            write!(out, "{{ {} = ", fields[*index].name).expect("strings grow");
            write_literal(out, &fields[*index].ty, value);
            out.push_str(" }");
        }
        (_, Value::Maybe(None)) => out.push_str("nothing"),
        (Type::Maybe(element), Value::Maybe(Some(value))) => {
            out.push_str("{ just = ");
            write_literal(out, element, value);
            out.push_str(" }");
        }
        _ => panic!("{value:?} cannot be written"),
    }
}

/// Queries as texts.
pub struct Text<'a> {
    pub keys: &'a [Type],
    /// How many predicates are stored. Others are of another schema.
    pub stored: usize,
}

impl Text<'_> {
    fn name(&self, predicate: usize) -> String {
        format!("{}.P{predicate}.1", if predicate < self.stored { "r" } else { "d" })
    }

    fn pattern(&self, out: &mut String, ty: &Type, pattern: &Pattern) {
        match (pattern, ty) {
            (Pattern::Wild, _) => out.push('_'),
            (Pattern::Variable(index), _) => write!(out, "V{index}").expect("strings grow"),
            (Pattern::Literal(value), _) => write_literal(out, ty, value),
            (Pattern::Prefix(prefix), _) => write!(out, "{prefix:?}..").expect("strings grow"),
            (Pattern::Record(patterns), Type::Record(fields)) => {
                out.push_str("{ ");
                for (index, (field, pattern)) in fields.iter().zip(patterns).enumerate() {
                    write!(out, "{}{} = ", if index == 0 { "" } else { ", " }, field.name).expect("strings grow");
                    self.pattern(out, &field.ty, pattern);
                }
                out.push_str(" }");
            }
            (Pattern::Alternative(index, inner), Type::Sum(fields)) => {
                write!(out, "{{ {} = ", fields[*index].name).expect("strings grow");
                self.pattern(out, &fields[*index].ty, inner);
                out.push_str(" }");
            }
            (Pattern::Just(inner), Type::Maybe(element)) => {
                out.push_str("{ just = ");
                self.pattern(out, element, inner);
                out.push_str(" }");
            }
            (Pattern::ArrayPrefix(patterns), Type::Array(element)) => {
                out.push('[');
                for pattern in patterns {
                    self.pattern(out, element, pattern);
                    out.push_str(", ");
                }
                out.push_str("..]");
            }
            (Pattern::Or(left, right), _) => {
                out.push('(');
                self.pattern(out, ty, left);
                out.push_str(" | ");
                self.pattern(out, ty, right);
                out.push(')');
            }
            (Pattern::Fact(inner), Type::Predicate(predicate)) => {
                let index = (predicate.get() - PredicateId::FIRST.get()) as usize;
                write!(out, "({} ", self.name(index)).expect("strings grow");
                self.pattern(out, &self.keys[index], inner);
                out.push(')');
            }
            (Pattern::If(condition, then, otherwise), _) => {
                out.push_str("(if (");
                // A condition is of facts, which say the types of their patterns.
                self.statement(out, None, condition);
                out.push_str(") then ");
                self.pattern(out, ty, then);
                out.push_str(" else ");
                self.pattern(out, ty, otherwise);
                out.push(')');
            }
            _ => panic!("{pattern:?} is not a pattern of {ty:?}"),
        }
    }

    fn statement(&self, out: &mut String, query: Option<&Query>, statement: &Statement) {
        match statement {
            Statement::Facts(predicate, key) => {
                write!(out, "{} ", self.name(*predicate)).expect("strings grow");
                self.pattern(out, &self.keys[*predicate], key);
            }
            Statement::Bound(variable, predicate, key) => {
                write!(out, "V{variable} = {} ", self.name(*predicate)).expect("strings grow");
                self.pattern(out, &self.keys[*predicate], key);
            }
            Statement::Same(variable, pattern) => {
                let query = query.expect("a condition is of facts");
                let ty = &query.types[*variable];
                // Some variables have no other type than this statement's.
                let name = |id: PredicateId| self.name((id.get() - PredicateId::FIRST.get()) as usize);
                let ty_text =
                    if query.has_known_values(*variable) { String::new() } else { ty.display(&name).to_string() };
                out.push_str(if ty_text.is_empty() { "" } else { "(" });
                self.pattern(out, ty, pattern);
                out.push_str(&if ty_text.is_empty() { String::new() } else { format!(" : {ty_text})") });
                write!(out, " = V{variable}").expect("strings grow");
            }
            Statement::Different(left, right) => write!(out, "V{left} != V{right}").expect("strings grow"),
            Statement::Less(left, right) => write!(out, "V{left} < V{right}").expect("strings grow"),
            Statement::Element(pattern, list) => {
                let (Type::Array(element) | Type::Set(element)) = &query.expect("a condition is of facts").types[*list]
                else {
                    unreachable!()
                };
                self.pattern(out, element, pattern);
                write!(out, " = V{list}[..]").expect("strings grow");
            }
            Statement::Not(statements) => {
                out.push_str("!(");
                self.statements(out, query, statements);
                out.push(')');
            }
            Statement::Either(left, right) => {
                out.push_str("((");
                self.statements(out, query, left);
                out.push_str(") | (");
                self.statements(out, query, right);
                out.push_str("))");
            }
            Statement::Choice(parts) => {
                for (word, part) in ["if (", ") then (", ") else ("].into_iter().zip(&**parts) {
                    out.push_str(word);
                    self.statements(out, query, part);
                }
                out.push(')');
            }
        }
    }

    fn statements(&self, out: &mut String, query: Option<&Query>, statements: &[Statement]) {
        for (index, statement) in statements.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "; " });
            self.statement(out, query, statement);
        }
    }

    pub fn query(&self, query: &Query) -> String {
        let mut out = String::from("{ ");
        for index in &query.head {
            write!(out, "V{index}, ").expect("strings grow");
        }
        // Two fields at least: a record of one has no tuple.
        out.push_str("0, 0 } where ");
        // The types of variables, which nothing else may give them.
        self.statements(&mut out, Some(query), &query.statements);
        out
    }
}
