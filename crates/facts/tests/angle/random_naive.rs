//! An evaluator that tries every value for every variable.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_facts::{PredicateId, Type, Value};

use crate::random_queries::{Pattern, Query, Statement};
use crate::random_types::predicate_id;

/// The most combinations of values that are tried for a query.
const TRIES_MAX: usize = 1_000;

/// No value that facts have: bytes are of no type here.
const NO_VALUE: Value = Value::Bytes(Vec::new());

/// Tries every value for every variable.
pub struct Naive<'a> {
    /// The keys of facts with their references, by predicate.
    pub facts: &'a BTreeMap<usize, Vec<(Value, Value)>>,
}

impl Naive<'_> {
    /// `None`: there are too many values to try.
    pub fn results(&self, query: &Query) -> Option<BTreeSet<Vec<Value>>> {
        if query.statements.iter().any(|statement| builds_values(statement, query)) {
            return None;
        }
        let mut mentioned = query.head.clone();
        query.statements.iter().for_each(|statement| statement.mentions(true, &mut mentioned));
        let domain = |variable: usize| match mentioned.contains(&variable) {
            // A value that matches nothing, for a variable that some branches leave without one.
            true if !query.head.contains(&variable) => {
                self.domain(query, &query.types[variable]).into_iter().chain([NO_VALUE]).collect()
            }
            true => self.domain(query, &query.types[variable]),
            false => BTreeSet::from([NO_VALUE]),
        };
        let domains: Vec<BTreeSet<Value>> = (0..query.types.len()).map(domain).collect();
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
                results.insert(query.head.iter().map(|&variable| values[variable].clone()).collect());
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
            Statement::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                let holds = condition.iter().all(|statement| self.holds(statement, values));
                (if holds { then } else { otherwise }).iter().all(|statement| self.holds(statement, values))
            }
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
    pub static KEYS: std::cell::RefCell<Vec<Type>> = const { std::cell::RefCell::new(Vec::new()) };
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
        (Type::Sum(fields), Value::Alternative(index, value)) => {
            // An unknown one has no value.
            fields.get(*index).iter().for_each(|field| collect(&field.ty, value, wanted, found));
        }
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
        Statement::Choice(parts) => parts.iter().flatten().for_each(|each| literals_of(each, types, naive, found)),
    }
}

/// Whether a statement gives a variable values that are built from other values of facts: these are in no domain.
fn builds_values(statement: &Statement, query: &Query) -> bool {
    let any = |statements: &[Statement]| statements.iter().any(|statement| builds_values(statement, query));
    match statement {
        Statement::Same(variable, pattern) => {
            let mut mentioned = Vec::new();
            statement.mentions(true, &mut mentioned);
            let is_whole = matches!(pattern, Pattern::Variable(_) | Pattern::Fact(_));
            !query.has_known_values(*variable) && !is_whole && (mentioned.len() > 1 || pattern.has_facts())
        }
        Statement::Facts(..)
        | Statement::Bound(..)
        | Statement::Different(..)
        | Statement::Less(..)
        | Statement::Element(..) => false,
        Statement::Not(statements) => any(statements),
        Statement::Either(left, right) => any(left) || any(right),
        Statement::Choice(parts) => parts.iter().any(|part| any(part)),
    }
}

/// The values that a pattern without variables is written for.
fn written_values(pattern: &Pattern) -> Vec<Value> {
    match pattern {
        Pattern::Literal(value) => vec![value.clone()],
        Pattern::Record(patterns) => {
            patterns.iter().map(written_values).fold(vec![Value::Record(Vec::new())], |records, values| {
                let with = |record: &Value, value: &Value| match record {
                    Value::Record(fields) => Value::Record(fields.iter().chain([value]).cloned().collect()),
                    _ => unreachable!("only records are here"),
                };
                records.iter().flat_map(|record| values.iter().map(move |value| with(record, value))).collect()
            })
        }
        Pattern::Alternative(index, inner) => {
            written_values(inner).into_iter().map(|value| Value::Alternative(*index, Box::new(value))).collect()
        }
        Pattern::Just(inner) => {
            written_values(inner).into_iter().map(|value| Value::Maybe(Some(Box::new(value)))).collect()
        }
        Pattern::Or(left, right) | Pattern::If(_, left, right) => {
            written_values(left).into_iter().chain(written_values(right)).collect()
        }
        _ => Vec::new(),
    }
}

fn literals_in(pattern: &Pattern, ty: &Type, naive: &Naive<'_>, found: &mut Vec<(Type, Value)>) {
    found.extend(written_values(pattern).into_iter().map(|value| (ty.clone(), value)));
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
