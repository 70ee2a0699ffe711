//! Tables.

use fulgurite::{MergeOperator, TableOptions};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::keys::Column;

/// A table, without a transaction.
#[pyclass(frozen, module = "fulgurite._native")]
#[derive(Debug)]
pub struct Table {
    /// The engine's table.
    pub table: fulgurite::Table,
    /// How keys are converted.
    pub keys: Column,
    /// How values are converted.
    pub values: Column,
}

impl Table {
    /// A table of the engine.
    pub fn new(table: fulgurite::Table) -> Self {
        let (keys, values) = (Column::new(table.key_type(), true), Column::new(table.value_type(), false));
        Self { table, keys, values }
    }
}

#[pymethods]
impl Table {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    /// The type of the keys, empty for bytes.
    #[getter]
    fn key_type(&self) -> &str {
        self.table.key_type()
    }

    /// The type of the values, empty for bytes.
    #[getter]
    fn value_type(&self) -> &str {
        self.table.value_type()
    }

    /// The merge operator.
    #[getter]
    fn merge_operator(&self) -> Option<String> {
        self.table.merge_operator().map(|operator| operator.to_string())
    }

    /// The name of the merge function.
    #[getter]
    fn merge_function(&self) -> Option<&str> {
        self.table.merge_function()
    }

    /// The key of stored bytes.
    fn decode_key<'py>(&self, py: Python<'py>, stored: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.keys.decode(py, stored)
    }

    /// The value of stored bytes.
    fn decode_value<'py>(&self, py: Python<'py>, stored: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.values.decode(py, stored)
    }

    fn __repr__(&self) -> String {
        format!("<fulgurite._native.Table {:?}>", self.table.name())
    }
}

/// How the values of a new table are merged: an operator, and the name of a function.
pub type Merge<'m> = (Option<&'m str>, Option<&'m str>);

/// Options of a new table.
///
/// # Errors
/// If the merge operator is not known, or there is a function too.
pub fn options(key: &str, value: &str, counted: bool, packed: bool, merge: Merge<'_>) -> Result<TableOptions> {
    let options = TableOptions::new().key_type(key).value_type(value).counted(counted).packed(packed);
    let merge = match merge {
        (Some(_), Some(_)) => return Err(Failure::invalid("a table has merge or merge_function, not both")),
        (None, Some(function)) => return Ok(options.merge_function(function)),
        (merge, None) => merge,
    };
    let Some(name) = merge else { return Ok(options) };
    let operator = MergeOperator::ALL.into_iter().find(|operator| operator.to_string() == name);
    let operator = operator.ok_or_else(|| {
        let known: Vec<String> = MergeOperator::ALL.iter().map(ToString::to_string).collect();
        Failure::invalid(format!("there is no merge operator {name}; use one of {}", known.join(", ")))
    })?;
    Ok(options.merge(operator))
}
