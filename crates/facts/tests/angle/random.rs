//! Random schemas, databases and queries: the results of plans are those of an evaluator that tries every value for
//! every variable.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use fulgurite_facts::{
    Compiler, Error, FactSink, Field, PredicateId, QueryLimits, Schema, Type, Value, decode, encode,
};

use crate::memory::Memory;
use crate::random_types::{Random, STRINGS, newer_type, older_value, predicate_id, random_type, random_value};

/// A pattern, of a type that its place gives it.
#[derive(Debug, Clone)]
enum Pattern {
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
enum Statement {
    Facts(usize, Pattern),
    /// The facts that a variable has.
    Bound(usize, usize, Pattern),
    Same(usize, Pattern),
    Different(usize, usize),
    Less(usize, usize),
    Element(Pattern, usize),
    Not(Vec<Statement>),
    Either(Vec<Statement>, Vec<Statement>),
}

struct Query {
    types: Vec<Type>,
    statements: Vec<Statement>,
    head: Vec<usize>,
}

/// A random schema: stored predicates, and the last one derived.
struct World {
    keys: Vec<Type>,
    /// How many predicates are stored.
    stored: usize,
    derived: Option<Query>,
}

/// Writes patterns and statements at random.
struct Writer<'a> {
    random: &'a mut Random,
    keys: &'a [Type],
    memory: &'a Memory,
    types: Vec<Type>,
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
            let (left, right) = (self.pattern(ty, depth - 1, false), self.pattern(ty, depth - 1, false));
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

    fn statement(&mut self, predicates: usize) -> Statement {
        let (count, choice) = (self.types.len(), self.random.below(12));
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
                let condition = self.facts(predicates, false);
                let (then, otherwise) = (self.pattern(&ty, 1, false), self.pattern(&ty, 1, false));
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
            9 => {
                let (left, right) = (self.facts_of_known(predicates), self.facts_of_known(predicates));
                Statement::Either(vec![left], vec![right])
            }
            _ => self.facts(predicates, true),
        }
    }

    /// Facts whose variables other statements have too.
    fn facts_of_known(&mut self, predicates: usize) -> Statement {
        let known = self.types.len();
        let predicate = self.random.below(predicates);
        let key = self.keys[predicate].clone();
        let pattern = self.pattern(&key, 2, true);
        self.types.truncate(known);
        Statement::Facts(predicate, without_variables_from(pattern, known))
    }

    fn query(mut self, predicates: usize) -> Query {
        let mut statements = vec![self.facts(predicates, true)];
        for _ in 0..1 + self.random.below(3) {
            statements.push(self.statement(predicates));
        }
        let head = (0..self.types.len()).collect();
        Query { types: self.types, statements, head }
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

fn without_variables_from(pattern: Pattern, known: usize) -> Pattern {
    let boxed = |inner: Box<Pattern>| Box::new(without_variables_from(*inner, known));
    match pattern {
        Pattern::Variable(index) if index >= known => Pattern::Wild,
        Pattern::Record(patterns) => {
            Pattern::Record(patterns.into_iter().map(|pattern| without_variables_from(pattern, known)).collect())
        }
        Pattern::ArrayPrefix(patterns) => {
            Pattern::ArrayPrefix(patterns.into_iter().map(|pattern| without_variables_from(pattern, known)).collect())
        }
        Pattern::Alternative(index, inner) => Pattern::Alternative(index, boxed(inner)),
        Pattern::Just(inner) => Pattern::Just(boxed(inner)),
        Pattern::Fact(inner) => Pattern::Fact(boxed(inner)),
        Pattern::Or(left, right) => Pattern::Or(boxed(left), boxed(right)),
        other => other,
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
struct Text<'a> {
    keys: &'a [Type],
    /// How many predicates are stored. Others are of another schema.
    stored: usize,
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
                self.statement(out, &[], condition);
                out.push_str(") then ");
                self.pattern(out, ty, then);
                out.push_str(" else ");
                self.pattern(out, ty, otherwise);
                out.push(')');
            }
            _ => panic!("{pattern:?} is no pattern of {ty:?}"),
        }
    }

    fn statement(&self, out: &mut String, types: &[Type], statement: &Statement) {
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
                self.pattern(out, &types[*variable], pattern);
                write!(out, " = V{variable}").expect("strings grow");
            }
            Statement::Different(left, right) => write!(out, "V{left} != V{right}").expect("strings grow"),
            Statement::Less(left, right) => write!(out, "V{left} < V{right}").expect("strings grow"),
            Statement::Element(pattern, list) => {
                let (Type::Array(element) | Type::Set(element)) = &types[*list] else { unreachable!() };
                self.pattern(out, element, pattern);
                write!(out, " = V{list}[..]").expect("strings grow");
            }
            Statement::Not(statements) => {
                out.push_str("!(");
                self.statements(out, types, statements);
                out.push(')');
            }
            Statement::Either(left, right) => {
                out.push_str("((");
                self.statements(out, types, left);
                out.push_str(") | (");
                self.statements(out, types, right);
                out.push_str("))");
            }
        }
    }

    fn statements(&self, out: &mut String, types: &[Type], statements: &[Statement]) {
        for (index, statement) in statements.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "; " });
            self.statement(out, types, statement);
        }
    }

    fn query(&self, query: &Query) -> String {
        let mut out = String::from("{ ");
        for index in &query.head {
            write!(out, "V{index}, ").expect("strings grow");
        }
        // Two fields at least: a record of one has no tuple.
        out.push_str("0, 0 } where ");
        // The types of variables, which nothing else may give them.
        self.statements(&mut out, &query.types, &query.statements);
        out
    }
}

/// The most combinations of values that are tried for a query.
const TRIES_MAX: usize = 300;

/// Tries every value for every variable.
struct Naive<'a> {
    /// The keys of facts with their references, by predicate.
    facts: &'a BTreeMap<usize, Vec<(Value, Value)>>,
}

impl Naive<'_> {
    /// `None`: there are too many values to try.
    fn results(&self, query: &Query) -> Option<BTreeSet<Vec<Value>>> {
        let domains: Vec<BTreeSet<Value>> = query.types.iter().map(|ty| self.domain(query, ty)).collect();
        let tries = domains.iter().try_fold(1_usize, |tries, domain| tries.checked_mul(domain.len()))?;
        if tries > TRIES_MAX {
            return None;
        }
        let mut results = BTreeSet::new();
        self.assign(query, &domains, &mut Vec::new(), &mut results);
        Some(results)
    }

    fn assign(
        &self,
        query: &Query,
        domains: &[BTreeSet<Value>],
        values: &mut Vec<Value>,
        results: &mut BTreeSet<Vec<Value>>,
    ) {
        if values.len() == domains.len() {
            if query.statements.iter().all(|statement| self.holds(statement, values)) {
                results.insert(values.clone());
            }
            return;
        }
        for value in &domains[values.len()] {
            values.push(value.clone());
            self.assign(query, domains, values, results);
            values.pop();
        }
    }

    /// All values of a type in facts and in the literals of a query.
    fn domain(&self, query: &Query, wanted: &Type) -> BTreeSet<Value> {
        let mut domain = BTreeSet::new();
        for (predicate, facts) in self.facts {
            for (id, key) in facts {
                collect(&Type::Predicate(predicate_id(*predicate)), id, wanted, &mut domain);
                collect(&self.key_type(*predicate), key, wanted, &mut domain);
            }
        }
        let mut literals = Vec::new();
        query.statements.iter().for_each(|statement| literals_of(statement, &query.types, self, &mut literals));
        literals.iter().for_each(|(ty, value)| collect(ty, value, wanted, &mut domain));
        domain
    }

    fn key_type(&self, predicate: usize) -> Type {
        KEYS.with_borrow(|keys| keys[predicate].clone())
    }

    fn holds(&self, statement: &Statement, values: &[Value]) -> bool {
        match statement {
            Statement::Facts(predicate, key) => {
                self.facts[predicate].iter().any(|(_, of_fact)| self.matches(key, of_fact, values))
            }
            Statement::Bound(variable, predicate, key) => self.facts[predicate]
                .iter()
                .any(|(id, of_fact)| *id == values[*variable] && self.matches(key, of_fact, values)),
            Statement::Same(variable, pattern) => self.matches(pattern, &values[*variable], values),
            Statement::Different(left, right) => values[*left] != values[*right],
            Statement::Less(left, right) => values[*left] < values[*right],
            Statement::Element(pattern, list) => match &values[*list] {
                Value::Array(elements) | Value::Set(elements) => {
                    elements.iter().any(|element| self.matches(pattern, element, values))
                }
                _ => false,
            },
            Statement::Not(statements) => !statements.iter().all(|statement| self.holds(statement, values)),
            Statement::Either(left, right) => {
                left.iter().all(|statement| self.holds(statement, values))
                    || right.iter().all(|statement| self.holds(statement, values))
            }
        }
    }

    fn matches(&self, pattern: &Pattern, value: &Value, values: &[Value]) -> bool {
        match (pattern, value) {
            (Pattern::Wild, _) => true,
            (Pattern::Variable(index), _) => values[*index] == *value,
            (Pattern::Literal(literal), _) => literal == value,
            (Pattern::Prefix(prefix), Value::String(string)) => string.starts_with(prefix),
            (Pattern::Record(patterns), Value::Record(fields)) => {
                patterns.iter().zip(fields).all(|(pattern, value)| self.matches(pattern, value, values))
            }
            (Pattern::Alternative(index, inner), Value::Alternative(of, value)) => {
                index == of && self.matches(inner, value, values)
            }
            (Pattern::Just(inner), Value::Maybe(Some(value))) => self.matches(inner, value, values),
            (Pattern::ArrayPrefix(patterns), Value::Array(elements)) => {
                elements.len() >= patterns.len()
                    && patterns.iter().zip(elements).all(|(pattern, value)| self.matches(pattern, value, values))
            }
            (Pattern::Or(left, right), _) => self.matches(left, value, values) || self.matches(right, value, values),
            (Pattern::Fact(inner), Value::Fact(_)) => {
                self.facts.values().flatten().any(|(id, key)| id == value && self.matches(inner, key, values))
            }
            (Pattern::If(condition, then, otherwise), _) => {
                let branch = if self.holds(condition, values) { then } else { otherwise };
                self.matches(branch, value, values)
            }
            _ => false,
        }
    }
}

thread_local! {
    /// The types of keys of the world that is tried.
    static KEYS: std::cell::RefCell<Vec<Type>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// The parts of a value that are of a type.
fn collect(ty: &Type, value: &Value, wanted: &Type, found: &mut BTreeSet<Value>) {
    if ty == wanted {
        found.insert(value.clone());
    }
    match (ty, value) {
        (Type::Array(element) | Type::Set(element), Value::Array(values) | Value::Set(values)) => {
            values.iter().for_each(|value| collect(element, value, wanted, found));
        }
        (Type::Record(fields), Value::Record(values)) => {
            fields.iter().zip(values).for_each(|(field, value)| collect(&field.ty, value, wanted, found));
        }
        (Type::Sum(fields), Value::Alternative(index, value)) => collect(&fields[*index].ty, value, wanted, found),
        (Type::Maybe(element), Value::Maybe(Some(value))) => collect(element, value, wanted, found),
        _ => {}
    }
}

fn literals_of(statement: &Statement, types: &[Type], naive: &Naive<'_>, found: &mut Vec<(Type, Value)>) {
    match statement {
        Statement::Facts(predicate, key) | Statement::Bound(_, predicate, key) => {
            literals_in(key, &naive.key_type(*predicate), naive, found);
        }
        Statement::Same(variable, pattern) => literals_in(pattern, &types[*variable], naive, found),
        Statement::Element(pattern, list) => {
            let (Type::Array(element) | Type::Set(element)) = &types[*list] else { unreachable!() };
            literals_in(pattern, element, naive, found);
        }
        Statement::Different(..) | Statement::Less(..) => {}
        Statement::Not(statements) => statements.iter().for_each(|each| literals_of(each, types, naive, found)),
        Statement::Either(left, right) => {
            left.iter().chain(right).for_each(|each| literals_of(each, types, naive, found));
        }
    }
}

fn literals_in(pattern: &Pattern, ty: &Type, naive: &Naive<'_>, found: &mut Vec<(Type, Value)>) {
    match (pattern, ty) {
        (Pattern::Literal(value), _) => found.push((ty.clone(), value.clone())),
        (Pattern::Record(patterns), Type::Record(fields)) => {
            patterns.iter().zip(fields.iter()).for_each(|(each, field)| literals_in(each, &field.ty, naive, found));
        }
        (Pattern::Alternative(index, inner), Type::Sum(fields)) => literals_in(inner, &fields[*index].ty, naive, found),
        (Pattern::Just(inner), Type::Maybe(element)) => literals_in(inner, element, naive, found),
        (Pattern::ArrayPrefix(patterns), Type::Array(element)) => {
            patterns.iter().for_each(|each| literals_in(each, element, naive, found));
        }
        (Pattern::Or(left, right), _) | (Pattern::If(_, left, right), _) => {
            literals_in(left, ty, naive, found);
            literals_in(right, ty, naive, found);
        }
        (Pattern::Fact(inner), Type::Predicate(predicate)) => {
            let index = (predicate.get() - PredicateId::FIRST.get()) as usize;
            literals_in(inner, &naive.key_type(index), naive, found);
        }
        _ => {}
    }
}

/// Random facts of the newer predicates, whose keys are of the types `new_keys`, and whose numbers begin at `first`.
fn filled(random: &mut Random, keys: &[Type], new_keys: &[Type], first: usize) -> Memory {
    let mut memory = Memory::default();
    for (index, new) in new_keys.iter().enumerate() {
        for _ in 0..2 + random.below(4) {
            let value = random_value(random, new, &memory);
            if let Some(value) = value.filter(|value| older_value(new, value, &keys[index]).is_some()) {
                let key = encode(new, &value).expect("the value is of the type");
                memory.define(predicate_id(first + index), &key, &[]).expect("a fact without a value");
            }
        }
    }
    memory
}

/// The decoded facts of a database as facts of the older predicates, by predicate. See [`filled`].
fn decoded(memory: &Memory, keys: &[Type], new_keys: &[Type], first: usize) -> BTreeMap<usize, Vec<(Value, Value)>> {
    let mut facts: BTreeMap<usize, Vec<(Value, Value)>> = (0..keys.len()).map(|index| (index, Vec::new())).collect();
    for (at, (predicate, key, _)) in memory.facts().iter().enumerate() {
        let index = (predicate.get() - PredicateId::FIRST.get()) as usize - first;
        let id = Value::Fact(fulgurite_facts::FactId::FIRST.plus(at as u64));
        let key = decode(&new_keys[index], key).expect("stored keys decode");
        let key = older_value(&new_keys[index], &key, &keys[index]).expect("others were not defined");
        facts.get_mut(&index).expect("all predicates are there").push((id, key));
    }
    facts
}

/// The text of a schema with predicates of these keys. The first predicate has the number `first`.
fn schema_text(name: &str, keys: &[Type], first: usize) -> String {
    let name_of = |id: PredicateId| format!("P{}", (id.get() - PredicateId::FIRST.get()) as usize - first);
    let mut schema = format!("schema {name} {{\n");
    for (index, key) in keys.iter().enumerate() {
        writeln!(schema, "predicate P{index} : {}", key.display(&name_of)).expect("strings grow");
    }
    schema + "}\n"
}

/// Tries one world. Returns how many queries compiled, and how many of them had results.
fn try_world(seed: u64, evolves: bool) -> (usize, usize) {
    let mut random = Random(seed | 1);
    let mut world = World { keys: Vec::new(), stored: 0, derived: None };
    for predicates in 0..2 + random.below(2) {
        let ty = random_type(&mut random, predicates, 2);
        world.keys.push(ty);
    }
    let stored = world.keys.len();
    world.stored = stored;
    // Facts are of the newest predicates, and queries for the oldest.
    let (mut schema, mut new_keys, mut first) = (schema_text("r.1", &world.keys, 0), world.keys.clone(), 0);
    if evolves {
        first = stored;
        new_keys = world.keys.iter().map(|key| newer_type(&mut random, key, stored)).collect();
        schema = format!("{schema}{}schema r.2 evolves r.1\n", schema_text("r.2", &new_keys, first));
    }
    let memory = filled(&mut random, &world.keys, &new_keys, first);
    let mut facts = decoded(&memory, &world.keys, &new_keys, first);
    let writer = Writer { random: &mut random, keys: &world.keys, memory: &memory, types: Vec::new() };
    let definition = writer.query(stored);
    KEYS.set(world.keys.clone());
    let name = |id: PredicateId| format!("r.P{}.1", id.get() - PredicateId::FIRST.get());
    let head: Vec<Field> = definition
        .head
        .iter()
        .map(|&index| Field::new(&format!("v{index}"), definition.types[index].clone()))
        .chain([Field::new("x", Type::Nat), Field::new("y", Type::Nat)])
        .collect();
    let derived_key = Type::record(head);
    let with_derived = format!(
        "{schema}schema d.1 {{\nimport r.1\npredicate P{stored} : {}\n  {}\n}}",
        derived_key.display(&name),
        Text { keys: &world.keys, stored }.query(&definition)
    );
    let parsed = Schema::parse("random", &with_derived).unwrap_or_else(|error| panic!("{error}\n{with_derived}"));
    let of_derived = Naive { facts: &facts }.results(&definition);
    let (compiler, text) = match (Compiler::new(Arc::new(parsed)), of_derived) {
        (Ok(compiler), Some(results)) => {
            let keys = results.into_iter().map(|mut values| {
                values.extend([Value::Nat(0), Value::Nat(0)]);
                (Value::unit(), Value::Record(values))
            });
            facts.insert(stored, keys.collect());
            world.keys.push(derived_key);
            KEYS.set(world.keys.clone());
            world.derived = Some(definition);
            (compiler, with_derived)
        }
        _ => {
            let parsed = Schema::parse("random", &schema).unwrap_or_else(|error| panic!("{error}\n{schema}"));
            (Compiler::new(Arc::new(parsed)).expect("nothing is derived"), schema)
        }
    };
    let mut counts = (0, 0);
    for _ in 0..12 {
        let predicates = stored + usize::from(world.derived.is_some());
        let writer = Writer { random: &mut random, keys: &world.keys, memory: &memory, types: Vec::new() };
        let query = writer.query(predicates);
        let (compiled, found) = try_query(seed, &world, &facts, &compiler, &memory, &query, &text);
        counts.0 += usize::from(compiled);
        counts.1 += usize::from(found);
    }
    counts
}

#[allow(clippy::too_many_arguments)]
fn try_query(
    seed: u64,
    world: &World,
    facts: &BTreeMap<usize, Vec<(Value, Value)>>,
    compiler: &Compiler,
    memory: &Memory,
    query: &Query,
    schema: &str,
) -> (bool, bool) {
    let Some(expected) = (Naive { facts }).results(query) else { return (false, false) };
    let text = Text { keys: &world.keys, stored: world.stored }.query(query);
    let compiled = match compiler.query(&text, memory) {
        Ok(compiled) => compiled,
        // Variables that nothing gives a value or a type, and derivations that need such.
        Err(Error::Angle(error)) => {
            let allowed =
                ["has no value", "only once", "no value to begin with", "cannot be found out", "not complete"];
            assert!(allowed.iter().any(|part| error.message.contains(part)), "seed {seed}: {text}\n{error}\n{schema}");
            return (false, false);
        }
        Err(error) => panic!("seed {seed}: {text}: {error}"),
    };
    // Products of several predicates have too many matches for a test.
    let limits = QueryLimits { time_max: Some(Duration::from_millis(100)), ..QueryLimits::default() };
    let page = match compiled.run(memory, &limits) {
        Ok(page) if page.timed_out => return (false, false),
        Err(Error::QueryTime) => return (false, false),
        Ok(page) => page,
        Err(error) => panic!("seed {seed}: {text}: {error}"),
    };
    let found: BTreeSet<Vec<u8>> = page.results.iter().map(|result| result.bytes.clone()).collect();
    assert_eq!(found.len(), page.results.len(), "seed {seed}: {text} has a result twice");
    let head = Type::record(
        query.types.iter().chain([&Type::Nat, &Type::Nat]).map(|ty| Field::new("", ty.clone())).collect::<Vec<_>>(),
    );
    let found: BTreeSet<Vec<Value>> = found
        .iter()
        .map(|bytes| match decode(&head, bytes).unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}")) {
            Value::Record(mut values) => {
                values.truncate(query.types.len());
                values
            }
            _ => unreachable!("the head is a record"),
        })
        .collect();
    let repeat = format!("repeat with FACTS_RANDOM_SEED={seed}");
    assert_eq!(found, expected, "{repeat}\n{text}\n{schema}\nfacts {facts:?}");
    let mut paged = BTreeSet::new();
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let mut next = compiled.run(memory, &limits).expect("it ran before");
    loop {
        paged.extend(next.results.iter().map(|result| result.bytes.clone()));
        let Some(continuation) = next.continuation.take() else { break };
        next = compiled.continue_from(memory, &limits, &continuation).expect("the continuation is its own");
    }
    assert_eq!(paged.len(), found.len(), "{repeat}: pages of {text}\n{schema}");
    (true, !found.is_empty())
}

#[test]
fn random_queries_have_the_results_of_trying_every_value() {
    try_worlds(false);
}

#[test]
fn random_queries_for_older_predicates_have_the_results_of_trying_every_converted_value() {
    try_worlds(true);
}

fn try_worlds(evolve: bool) {
    let (first, worlds) = match std::env::var("FACTS_RANDOM_SEED") {
        Ok(seed) => (seed.parse().expect("FACTS_RANDOM_SEED is a number"), 1),
        Err(_) => (1, 100),
    };
    let (mut compiled, mut found) = (0, 0);
    for world in 0..worlds {
        let seed = if worlds == 1 { first } else { 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(world + first) };
        let counts = try_world(seed, evolve);
        compiled += counts.0;
        found += counts.1;
    }
    if worlds > 1 {
        assert!(compiled > 300 && found > 100, "only {compiled} queries compiled, {found} of them with results");
    }
}
