//! Whether facts of a newer predicate can be read as those of an older one.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::cancellation::Deadline;
use crate::ids::PredicateId;
use crate::schema::definition::Schema;
use crate::value::types::{Field, Type};

/// Checks the predicate that evolved from `old`, if one did. The error is a message.
pub fn check_evolution(schema: &Schema, old: PredicateId, deadline: &Deadline) -> Result<(), String> {
    let Some(new) = schema.evolved(old) else { return Ok(()) };
    let (Some(older), Some(newer)) = (schema.predicate(old), schema.predicate(new)) else { return Ok(()) };
    let (from, to) = (older.full_name(), newer.full_name());
    for (part, old, new) in [("key", &older.key, &newer.key), ("value", &older.value, &newer.value)] {
        Compatibility { schema, deadline }
            .types(old, new, part)
            .map_err(|message| format!("{to} cannot evolve {from}: {message}"))?;
    }
    Ok(())
}

/// The schemas that evolve themselves, by way of others. `newer` has the schema that evolved from each.
pub fn on_cycles(newer: &HashMap<usize, usize>) -> HashSet<usize> {
    let (mut walks, mut found) = (HashMap::new(), HashSet::new());
    for start in newer.keys() {
        let mut at = *start;
        // Each schema is passed once: a walk ends where an earlier one has been.
        while let Entry::Vacant(place) = walks.entry(at) {
            place.insert(*start);
            let Some(next) = newer.get(&at) else { break };
            at = *next;
        }
        // Or where it has been itself, unless the chain ends there.
        while walks.get(&at) == Some(start)
            && let Some(next) = newer.get(&at)
            && found.insert(at)
        {
            at = *next;
        }
    }
    found
}

/// Checks that a predicate does not evolve from itself, by way of others. The error is a message.
pub fn check_no_cycle(schema: &Schema, old: PredicateId) -> Result<(), String> {
    let (mut at, mut steps) = (old, 0);
    while let Some(next) = schema.evolved(at) {
        steps += 1;
        if next == old || steps > schema.predicates().len() {
            let (old, at) = (schema.name_of(old), schema.name_of(at));
            return Err(format!("{old} evolves itself, by way of {at}"));
        }
        at = next;
    }
    Ok(())
}

/// Compares types until a deadline.
struct Compatibility<'a> {
    schema: &'a Schema,
    deadline: &'a Deadline,
}

impl Compatibility<'_> {
    /// Checks two types. `path` is where they are.
    fn types(&self, old: &Type, new: &Type, path: &str) -> Result<(), String> {
        if self.deadline.tick() {
            return Err("the time to compare them is up".to_owned());
        }
        let schema = self.schema;
        match (old, new) {
            (Type::Record(old), Type::Record(new)) => {
                for field in lacking(old, new).chain(lacking(new, old)) {
                    if !has_default(&field.ty) {
                        let ty = schema.short_type_text(&field.ty);
                        return Err(format!(
                            "{path}.{}, of type {ty}, is in one of them only and has no default",
                            field.name
                        ));
                    }
                }
                self.fields(old, new, path)
            }
            (Type::Sum(old), Type::Sum(new)) => self.fields(old, new, path),
            (Type::Enum(_), Type::Enum(_)) => Ok(()),
            (Type::Maybe(old), Type::Maybe(new)) => self.types(old, new, path),
            // A list may become a set, and a set a list.
            (Type::Array(old) | Type::Set(old), Type::Array(new) | Type::Set(new)) => {
                self.types(old, new, &format!("{path}[]"))
            }
            (Type::Predicate(old), Type::Predicate(new)) if old == new || schema.evolved(*old) == Some(*new) => Ok(()),
            (old, new) if old == new => Ok(()),
            (old, new) => {
                let (old, new) = (schema.short_type_text(old), schema.short_type_text(new));
                Err(format!("{path} was {old} and is {new}"))
            }
        }
    }

    fn fields(&self, old: &[Field], new: &[Field], path: &str) -> Result<(), String> {
        for field in old {
            if let Some(other) = new.iter().find(|other| other.name == field.name) {
                self.types(&field.ty, &other.ty, &format!("{path}.{}", field.name))?;
            }
        }
        Ok(())
    }
}

/// The fields of `these` whose names are not in `others`.
fn lacking<'a>(these: &'a [Field], others: &'a [Field]) -> impl Iterator<Item = &'a Field> {
    these.iter().filter(|field| !others.iter().any(|other| other.name == field.name))
}

/// Whether a value can be made up: not if it has to refer to a fact.
pub fn has_default(ty: &Type) -> bool {
    match ty {
        Type::Predicate(_) => false,
        Type::Record(fields) => fields.iter().all(|field| has_default(&field.ty)),
        Type::Sum(alternatives) => alternatives.first().is_some_and(|field| has_default(&field.ty)),
        Type::Enum(names) => !names.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::angle::source::Source;
    use crate::cancellation::CancellationToken;

    #[test]
    fn reading_a_schema_ends_at_its_deadline() {
        let fields: Vec<String> = (0..500).map(|number| format!("f{number} : nat")).collect();
        let fields = fields.join(", ");
        let text = format!(
            "schema a.1 {{ predicate P : {{ {fields} }} }} schema a.2 {{ predicate P : {{ {fields} }} }}
            schema a.2 evolves a.1"
        );
        let sources = [Source::new("a", &text).unwrap()];
        let schema = Schema::load(&sources, &Deadline::default()).unwrap();
        let late = || Deadline::new(Some(Instant::now()), CancellationToken::new());
        assert!(Schema::load(&sources, &late()).unwrap_err().message.contains("the time"));
        let refused = check_evolution(&schema, schema.find("a.P.1").unwrap().id, &late()).unwrap_err();
        assert!(refused.contains("the time to compare"), "{refused}");
    }
}
