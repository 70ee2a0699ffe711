//! The types of a store in memory: names by number, and numbers by name.

use std::collections::HashMap;
use std::sync::Arc;

use fulgurite::Read;

use crate::error::Result;
use crate::event::EventType;
use crate::ids::TypeId;
use crate::layout::keys::parse_type_name;
use crate::layout::tables::Tables;

/// The types of a store. Numbers are dense.
#[derive(Clone, Debug, Default)]
pub struct Types {
    list: Vec<EventType>,
    by_name: HashMap<Arc<str>, Vec<(u32, TypeId)>>,
}

impl Types {
    /// All types in the table.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn load(txn: &impl Read, tables: &Tables) -> Result<Self> {
        let mut types = Self::default();
        for entry in txn.range(&tables.types, ..)? {
            let (key, value) = entry?;
            let named = parse_type_name(&value).filter(|_| *key == (types.list.len() as u64).to_be_bytes());
            let (name, schema) =
                named.ok_or_else(|| tables.damaged(&tables.types, "a type is missing or malformed"))?;
            types.add(name, schema);
        }
        Ok(types)
    }

    /// Adds a type that is not there. Returns its number.
    pub fn add(&mut self, name: &str, schema: u32) -> TypeId {
        let id = TypeId(self.list.len() as u32);
        let name: Arc<str> = name.into();
        self.by_name.entry(Arc::clone(&name)).or_default().push((schema, id));
        self.list.push(EventType { name, schema });
        id
    }

    /// Removes the newest types, so that `count` remain.
    pub fn truncate(&mut self, count: usize) {
        for removed in self.list.drain(count.min(self.list.len())..) {
            if let Some(numbers) = self.by_name.get_mut(&removed.name) {
                numbers.retain(|(schema, _)| *schema != removed.schema);
                if numbers.is_empty() {
                    self.by_name.remove(&removed.name);
                }
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The number of a type.
    pub fn find(&self, name: &str, schema: u32) -> Option<TypeId> {
        self.by_name.get(name)?.iter().find(|(known, _)| *known == schema).map(|(_, id)| *id)
    }

    /// The numbers of a type's schema versions.
    pub fn of_name(&self, name: &str) -> impl Iterator<Item = TypeId> + '_ {
        self.by_name.get(name).into_iter().flatten().map(|(_, id)| *id)
    }

    /// The type with a number.
    pub fn get(&self, id: TypeId) -> Option<&EventType> {
        self.list.get(id.0 as usize)
    }

    /// All types in the order of their numbers.
    pub fn all(&self) -> &[EventType] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose transactions failed kept the names of all types that they had added.
    #[test]
    fn nothing_is_left_of_types_that_are_removed() {
        let mut types = Types::default();
        let first = types.add("a", 0);
        for (name, schema) in [("a", 1), ("b", 0), ("b", 1)] {
            types.add(name, schema);
        }
        types.truncate(1);
        assert_eq!((types.len(), types.find("a", 0), types.find("a", 1)), (1, Some(first), None));
        assert_eq!(types.by_name.len(), 1);
    }
}
