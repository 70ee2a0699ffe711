//! Random types and values, and newer types with the values that older ones make of theirs.

use fulgurite_facts::{Field, PredicateId, Type, Value, decode, encode};

use crate::memory::Memory;

/// Numbers that look random.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

pub const STRINGS: &[&str] = &["", "a", "ab", "b"];

pub fn predicate_id(index: usize) -> PredicateId {
    PredicateId::new(PredicateId::FIRST.get() + index as u64).expect("predicates are numbered from 1024")
}

pub fn random_type(random: &mut Random, predicates: usize, depth: usize) -> Type {
    let inner = |random: &mut Random| random_type(random, predicates, depth - 1);
    match random.below(if depth == 0 { 4 } else { 11 }) {
        0 | 1 => Type::String,
        2 => Type::Nat,
        3 if predicates > 0 => Type::Predicate(predicate_id(random.below(predicates))),
        3 => Type::Bool,
        4 | 5 => {
            let fields = 2 + random.below(2);
            Type::record((0..fields).map(|index| Field::new(&format!("f{index}"), inner(random))).collect::<Vec<_>>())
        }
        6 => Type::sum([Field::new("one", inner(random)), Field::new("two", inner(random))]),
        7 => Type::maybe(inner(random)),
        8 => Type::array(inner(random)),
        9 => Type::set(inner(random)),
        _ => Type::enumeration(["red", "green"]),
    }
}

/// A value, if there are facts for its references.
pub fn random_value(random: &mut Random, ty: &Type, memory: &Memory) -> Option<Value> {
    let many = |random: &mut Random, element: &Type| -> Option<Vec<Value>> {
        (0..random.below(3)).map(|_| random_value(random, element, memory)).collect()
    };
    Some(match ty {
        Type::Byte => Value::Byte(random.below(3) as u8),
        Type::Nat => Value::Nat(random.below(3) as u64),
        Type::String => Value::String(STRINGS[random.below(STRINGS.len())].to_owned()),
        Type::Bool => Value::Bool(random.chance(50)),
        Type::Enum(names) => Value::Enum(random.below(names.len())),
        Type::Array(element) => Value::Array(many(random, element)?),
        Type::Set(element) => Value::Set(many(random, element)?),
        Type::Record(fields) => {
            Value::Record(fields.iter().map(|field| random_value(random, &field.ty, memory)).collect::<Option<_>>()?)
        }
        Type::Sum(fields) => {
            let index = random.below(fields.len());
            Value::Alternative(index, Box::new(random_value(random, &fields[index].ty, memory)?))
        }
        Type::Maybe(_) if random.chance(40) => Value::Maybe(None),
        Type::Maybe(element) => Value::Maybe(Some(Box::new(random_value(random, element, memory)?))),
        Type::Predicate(predicate) => {
            let facts: Vec<usize> =
                (0..memory.facts().len()).filter(|&at| memory.facts()[at].0 == *predicate).collect();
            let at = *facts.get(random.below(facts.len().max(1)))?;
            Value::Fact(fulgurite_facts::FactId::FIRST.plus(at as u64))
        }
    })
}

/// A type that evolves `old`. References are to predicates whose numbers are higher by `offset`.
pub fn newer_type(random: &mut Random, old: &Type, offset: usize) -> Type {
    let fields = |random: &mut Random, old: &[Field]| -> Vec<Field> {
        let mut fields: Vec<Field> =
            old.iter().map(|field| Field::new(&field.name, newer_type(random, &field.ty, offset))).collect();
        let first = random.below(fields.len());
        fields.rotate_left(first);
        fields
    };
    match old {
        Type::Predicate(id) => Type::Predicate(predicate_id(index_of(*id) + offset)),
        Type::Record(old) => {
            let mut fields = fields(random, old);
            let first = old.iter().find(|field| field.name == fields[0].name);
            if random.chance(30) && first.is_some_and(|field| has_default(&field.ty)) {
                fields.remove(0);
            }
            if random.chance(40) {
                let ty = if random.chance(50) { Type::Nat } else { Type::maybe(Type::String) };
                fields.insert(random.below(fields.len() + 1), Field::new("added", ty));
            }
            Type::record(fields)
        }
        Type::Sum(old) => {
            let mut fields = fields(random, old);
            if random.chance(20) {
                fields.pop();
            }
            if random.chance(30) {
                fields.insert(random.below(fields.len() + 1), Field::new("added", Type::Nat));
            }
            Type::sum(fields)
        }
        Type::Enum(_) if random.chance(30) => Type::enumeration(["green", "blue", "red"]),
        Type::Enum(_) if random.chance(30) => Type::enumeration(["green"]),
        Type::Maybe(element) => Type::maybe(newer_type(random, element, offset)),
        Type::Array(element) | Type::Set(element) => {
            let (element, is_array) = (newer_type(random, element, offset), matches!(old, Type::Array(_)));
            if is_array != random.chance(20) { Type::array(element) } else { Type::set(element) }
        }
        other => other.clone(),
    }
}

fn index_of(id: PredicateId) -> usize {
    (id.get() - PredicateId::FIRST.get()) as usize
}

fn has_default(ty: &Type) -> bool {
    match ty {
        Type::Predicate(_) => false,
        Type::Record(fields) => fields.iter().all(|field| has_default(&field.ty)),
        Type::Sum(fields) => has_default(&fields[0].ty),
        _ => true,
    }
}

fn default_of(ty: &Type) -> Value {
    match ty {
        Type::Nat => Value::Nat(0),
        Type::String => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Enum(_) => Value::Enum(0),
        Type::Array(_) => Value::Array(Vec::new()),
        Type::Set(_) => Value::Set(Vec::new()),
        Type::Maybe(_) => Value::Maybe(None),
        Type::Record(fields) => Value::Record(fields.iter().map(|field| default_of(&field.ty)).collect()),
        Type::Sum(fields) => Value::Alternative(0, Box::new(default_of(&fields[0].ty))),
        other => panic!("{other:?} has no default"),
    }
}

/// A type whose last alternatives and enumerators are the unknown ones that conversions give.
pub fn with_unknown(ty: &Type) -> Type {
    let all = |fields: &[Field]| -> Vec<Field> {
        fields.iter().map(|field| Field::new(&field.name, with_unknown(&field.ty))).collect()
    };
    match ty {
        Type::Record(fields) => Type::record(all(fields)),
        Type::Sum(fields) => Type::sum(all(fields).into_iter().chain([Field::new("unknown", Type::unit())])),
        Type::Enum(names) => Type::enumeration(names.iter().map(|name| &**name).chain(["unknown"])),
        Type::Maybe(element) => Type::maybe(with_unknown(element)),
        Type::Array(element) => Type::array(with_unknown(element)),
        Type::Set(element) => Type::set(with_unknown(element)),
        other => other.clone(),
    }
}

/// A value of `new` as one of `old`, or of [`with_unknown`] of it.
pub fn older_value(new: &Type, value: &Value, old: &Type) -> Option<Value> {
    Some(match (new, value, old) {
        (Type::Record(new), Value::Record(values), Type::Record(old)) => {
            let of_field = |field: &Field| match new.iter().position(|other| other.name == field.name) {
                Some(index) => older_value(&new[index].ty, &values[index], &field.ty),
                None => Some(default_of(&field.ty)),
            };
            Value::Record(old.iter().map(of_field).collect::<Option<_>>()?)
        }
        (Type::Sum(new), Value::Alternative(index, value), Type::Sum(old)) => {
            match old.iter().position(|field| field.name == new[*index].name) {
                Some(of) => Value::Alternative(of, Box::new(older_value(&new[*index].ty, value, &old[of].ty)?)),
                None => Value::Alternative(old.len(), Box::new(Value::unit())),
            }
        }
        (Type::Enum(new), Value::Enum(index), Type::Enum(old)) => {
            Value::Enum(old.iter().position(|name| *name == new[*index]).unwrap_or(old.len()))
        }
        (Type::Maybe(new), Value::Maybe(Some(value)), Type::Maybe(old)) => {
            Value::Maybe(Some(Box::new(older_value(new, value, old)?)))
        }
        (Type::Array(new) | Type::Set(new), Value::Array(values) | Value::Set(values), _) => {
            let (Type::Array(old_element) | Type::Set(old_element)) = old else { return None };
            let values: Option<Vec<Value>> = values.iter().map(|value| older_value(new, value, old_element)).collect();
            match old {
                // In the order of their bytes, each once.
                Type::Set(_) => {
                    let old = with_unknown(old);
                    decode(&old, &encode(&old, &Value::Set(values?)).expect("a set")).expect("a set")
                }
                _ => Value::Array(values?),
            }
        }
        (_, value, _) => value.clone(),
    })
}
