//! What does not change about a table while it exists, and the handle by which users name it.

use crate::error::{Error, Result};
use crate::format::{LeafForm, MergeOperator, MergeRule, Merging, Overflowed, TableDescriptor, ValueAlign};
use crate::ids::TableId;
use crate::merge_functions::MergeFunctions;
use crate::options::VALUE_BYTES_MAX;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, outside_locks};

/// What does not change about a table while it exists.
#[derive(Debug)]
pub struct TableInfo {
    /// Distinguishes the table from all others of this process, whatever its name. Its number would not: the number
    /// of a table whose creation was rolled back is assigned again.
    pub identity: u64,
    /// The table's number.
    pub id: TableId,
    /// The table's name.
    pub name: Arc<str>,
    /// Options and types; the root in it is not kept up to date.
    pub descriptor: TableDescriptor,
}

impl TableInfo {
    /// A table that was not known before.
    pub fn new(name: Arc<str>, descriptor: TableDescriptor) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: it orders nothing.
        let identity = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { identity, id: descriptor.id, name, descriptor }
    }

    /// The same table by another name.
    pub fn renamed(&self, name: &str) -> Self {
        Self { identity: self.identity, id: self.id, name: name.into(), descriptor: self.descriptor.clone() }
    }

    /// Whether both are the same table, perhaps by different names.
    #[inline(always)]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.identity == other.identity
    }

    /// Alignment of values.
    pub fn align(&self) -> ValueAlign {
        ValueAlign::from_bytes(usize::from(self.descriptor.value_align))
            .expect("descriptors are checked when they are made")
    }

    /// In which form the leaves of its tree are built.
    pub fn form(&self) -> LeafForm {
        if self.descriptor.packed { LeafForm::Packed } else { LeafForm::Tagged(self.align()) }
    }

    /// How values are merged, if the table has an operator of the engine.
    #[inline]
    pub fn merge_rule(&self) -> Option<MergeRule> {
        self.merge_operator().map(|operator| {
            let rule = MergeRule::of(operator, &self.descriptor.value_type);
            rule.expect("descriptors are checked when they are made")
        })
    }

    /// The table's merge operator, if it has one of the engine.
    #[inline]
    pub fn merge_operator(&self) -> Option<MergeOperator> {
        self.descriptor.merge.as_ref().and_then(Merging::operator)
    }

    /// The name of the function of the program that merges values, if one does.
    #[inline]
    pub fn merge_function(&self) -> Option<&str> {
        self.descriptor.merge.as_ref().and_then(Merging::function)
    }

    /// Checks that a value may have this length.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table's merge operator takes numbers of another width.
    #[inline]
    pub fn check_width(&self, length_bytes: usize) -> Result<()> {
        match self.merge_rule() {
            Some(rule) if !rule.takes(length_bytes) => Err(self.misfit(rule, length_bytes)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn misfit(&self, rule: MergeRule, length_bytes: usize) -> Error {
        let (name, width) = (&self.name, rule.width_bytes().unwrap_or_default());
        let form = if self.descriptor.value_type.is_empty() { "big-endian" } else { &*self.descriptor.value_type };
        let message = format!("table `{name}` merges numbers of {width} bytes ({form}), not of {length_bytes}");
        Error::Invalid { message }
    }

    /// What `before`, the value of `key`, becomes by a merge. The operand of a function is a list of operands.
    ///
    /// # Errors
    /// [`Error::Unmergeable`] if the value would be too long, if what is stored is none of the table's numbers, or if
    /// the function fails. [`Error::MergeFunctionMissing`].
    ///
    /// # Panics
    /// If the table has neither operator nor function, or the operand does not fit it.
    pub fn merged(
        &self,
        functions: &MergeFunctions,
        key: &[u8],
        before: Option<&[u8]>,
        operand: &[u8],
    ) -> Result<Vec<u8>> {
        if let Some(function) = self.merge_function() {
            return self.merged_by(functions, function, key, before, operand);
        }
        let rule = self.merge_rule().expect("a merge was taken for a table that has an operator");
        let Some(before) = before else { return Ok(operand.to_vec()) };
        if !rule.takes(before.len()) {
            return Err(self.unmergeable(key, Error::Decode { message: self.misfit(rule, before.len()).to_string() }));
        }
        let length_bytes = rule.length_bytes(before.len(), operand.len());
        if length_bytes > VALUE_BYTES_MAX {
            let (length_bytes, limit_bytes) = (length_bytes as u64, VALUE_BYTES_MAX as u64);
            return Err(self.unmergeable(key, Error::ValueTooLong { length_bytes, limit_bytes }));
        }
        let mut value = Vec::with_capacity(length_bytes);
        value.extend_from_slice(before);
        match rule.apply(&mut value, operand) {
            Ok(()) => Ok(value),
            Err(Overflowed) => Err(self.overflow(key)),
        }
    }

    fn merged_by(
        &self,
        functions: &MergeFunctions,
        function: &str,
        key: &[u8],
        before: Option<&[u8]>,
        operands: &[u8],
    ) -> Result<Vec<u8>> {
        let called = outside_locks(|| functions.call(&self.name, function, key, before, operands));
        let value = called.map_err(|error| match error {
            failed @ Error::MergeFunction { .. } => self.unmergeable(key, failed),
            error => error,
        })?;
        let (length_bytes, limit_bytes) = (value.len() as u64, VALUE_BYTES_MAX as u64);
        if length_bytes > limit_bytes {
            return Err(self.unmergeable(key, Error::ValueTooLong { length_bytes, limit_bytes }));
        }
        Ok(value)
    }

    /// The error of a sum that the table's numbers cannot hold.
    #[cold]
    pub fn overflow(&self, key: &[u8]) -> Error {
        self.unmergeable(key, Error::Overflow)
    }

    #[cold]
    fn unmergeable(&self, key: &[u8], source: Error) -> Error {
        Error::Unmergeable { table: self.name.to_string(), key: key.to_vec(), source: Box::new(source) }
    }
}

/// A table of an open database: cheap to clone, good for every transaction of that database.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) info: Arc<TableInfo>,
    pub(crate) instance: u64,
}

impl Table {
    /// The table's name, as it was when this handle was opened:
    /// [`WriteTxn::rename_table`](crate::WriteTxn::rename_table) does not change it.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The table's number, which no other table of the database gets, not even after this one was dropped.
    pub fn id(&self) -> TableId {
        self.info.id
    }

    /// Name of the key encoding, empty for plain bytes.
    pub fn key_type(&self) -> &str {
        &self.info.descriptor.key_type
    }

    /// Name of the value encoding, empty for plain bytes.
    pub fn value_type(&self) -> &str {
        &self.info.descriptor.value_type
    }

    /// Whether this is a multimap.
    pub fn is_multimap(&self) -> bool {
        self.info.descriptor.multimap
    }

    /// Whether it was created with [`crate::TableOptions::packed`].
    pub fn is_packed(&self) -> bool {
        self.info.descriptor.packed
    }

    /// Whether it was created with [`crate::TableOptions::counted`].
    pub fn is_counted(&self) -> bool {
        self.info.descriptor.counted
    }

    /// The operator that it was created with, if any; see [`crate::TableOptions::merge`].
    pub fn merge_operator(&self) -> Option<MergeOperator> {
        self.info.merge_operator()
    }

    /// The name of the function that merges its values, if it was created with one; see
    /// [`crate::TableOptions::merge_function`].
    pub fn merge_function(&self) -> Option<&str> {
        self.info.merge_function()
    }

    /// Alignment of values in bytes.
    pub fn value_align(&self) -> u8 {
        self.info.descriptor.value_align
    }

    /// Kind and types, for messages.
    pub(crate) fn type_text(&self) -> String {
        let name = |name: &str| if name.is_empty() { "bytes" } else { name }.to_owned();
        let kind = if self.is_multimap() { "multimap " } else { "" };
        format!("{kind}{} → {}", name(self.key_type()), name(self.value_type()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_none_of_a_tables_numbers_is_told_with_its_key_and_what_to_do() {
        let descriptor = TableDescriptor {
            id: TableId(1),
            multimap: false,
            counted: false,
            packed: false,
            value_align: 1,
            merge: Some(Merging::Operator(MergeOperator::Add)),
            key_type: String::new(),
            value_type: String::new(),
            root: None,
            ranges: Vec::new(),
        };
        let counts = TableInfo::new("counts".into(), descriptor);
        let (one, none) = (1_u64.to_be_bytes(), MergeFunctions::default());
        assert_eq!(counts.merged(&none, b"k", Some(&one), &one).expect("it is a number"), 2_u64.to_be_bytes());
        for before in [&b""[..], b"short", b"longer than 8"] {
            let error = counts.merged(&none, b"home\xff", Some(before), &one).expect_err("it is not a number");
            let text = error.to_string();
            assert!(matches!(&error, Error::Unmergeable { source, .. } if matches!(**source, Error::Decode { .. })));
            assert!(text.contains(r#"key "home\xff" of table `counts`"#) && text.contains("delete the key"), "{text}");
            assert!(text.contains(&format!("numbers of 8 bytes (big-endian), not of {}", before.len())), "{text}");
        }
    }
}
