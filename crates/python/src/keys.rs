//! Keys and values between Python and bytes, by the types that a table records.

use fulgurite::keys::{Datum, Type};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyString, PyTuple};

use crate::error::{Failure, Result};

/// How one column of a table is converted: by a type, or as bytes.
#[derive(Clone, Debug)]
pub struct Column {
    /// None for bytes.
    kind: Option<Type>,
    is_key: bool,
}

impl Column {
    /// The column with this type, as the table records it. A type of another program, which has no meaning here, counts
    /// as bytes.
    pub fn new(name: &str, is_key: bool) -> Self {
        let kind = name.parse::<Type>().ok().filter(|kind| *kind != Type::Bytes);
        Self { kind, is_key }
    }

    /// The type, if it is not bytes.
    pub fn kind(&self) -> Option<&Type> {
        self.kind.as_ref()
    }

    /// The stored bytes of an object.
    ///
    /// # Errors
    /// `TypeError` and `InvalidError` if it is not of the column's type.
    pub fn encode(&self, object: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
        let Some(kind) = &self.kind else {
            if object.is_instance_of::<PyString>() {
                let text = "the table stores bytes, not str; encode the text, or create the table with a type such \
                            as key=str";
                return Err(PyTypeError::new_err(text).into());
            }
            return bytes_of(object);
        };
        let datum = datum_of(kind, object, if self.is_key { "key" } else { "value" })?;
        Ok(if self.is_key { kind.encode_key(&datum)? } else { kind.encode_value(&datum)? })
    }

    /// The object of stored bytes.
    ///
    /// # Errors
    /// `InvalidError` if the bytes are not of the column's type.
    pub fn decode<'py>(&self, py: Python<'py>, bytes: &[u8]) -> Result<Bound<'py, PyAny>> {
        let Some(kind) = &self.kind else { return Ok(PyBytes::new(py, bytes).into_any()) };
        let datum = if self.is_key { kind.decode_key(bytes)? } else { kind.decode_value(bytes)? };
        Ok(object_of(py, &datum)?)
    }

    /// Checks that [`Column::decode`] can return the bytes.
    ///
    /// # Errors
    /// As [`Column::decode`].
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        let Some(kind) = &self.kind else { return Ok(()) };
        (if self.is_key { kind.decode_key(bytes) } else { kind.decode_value(bytes) }).map(drop).map_err(Failure::from)
    }

    /// The bytes that all keys with a prefix begin with: the first elements of a tuple, or the beginning of a text.
    ///
    /// # Errors
    /// As [`Column::encode`], and if keys of the type have no prefixes.
    pub fn encode_prefix(&self, object: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
        match &self.kind {
            None | Some(Type::String) => self.encode(object),
            Some(Type::Tuple(kinds)) => {
                let elements = object.cast::<PyTuple>().map_err(PyErr::from)?;
                if elements.len() >= kinds.len() {
                    return self.encode(object);
                }
                let mut first = Vec::new();
                for (kind, element) in kinds.iter().zip(elements) {
                    first.push((kind.clone(), datum_of(kind, &element, "prefix")?));
                }
                // Elements are delimited if another one follows: one of a byte, which is then removed.
                let (mut kinds, mut data): (Vec<_>, Vec<_>) = first.into_iter().unzip();
                kinds.push(Type::U8);
                data.push(Datum::Unsigned(0));
                let mut bytes = Type::Tuple(kinds).encode_key(&Datum::Tuple(data))?;
                bytes.pop();
                Ok(bytes)
            }
            Some(kind) => Err(Failure::invalid(format!("keys of type {kind} have no prefixes; use start and stop"))),
        }
    }
}

/// Checks the name of a type.
///
/// # Errors
/// If no type has it.
#[pyfunction]
pub fn check_type(name: &str) -> Result<()> {
    let remedy = "use int, float, str, bytes, bool, a tuple of these, or a name:";
    let parsed: Result<Type, fulgurite::keys::Error> = name.parse();
    parsed.map(drop).map_err(|error| {
        // If the whole name is no type, the message needs no place.
        let fault = error.to_string();
        let fault = fault.strip_suffix(": expected a type at the end").unwrap_or(&fault);
        Failure::invalid(format!("{fault}; {remedy} {}", Type::NAMES))
    })
}

/// The bytes of an object that has some.
///
/// # Errors
/// `TypeError` for one that has none, such as a text.
pub fn bytes_of(object: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(bytes.to_vec());
    }
    if object.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("bytes are needed, not str; encode the text").into());
    }
    Ok(PyBuffer::<u8>::get(object)?.to_vec(object.py())?)
}

/// The name of an object's type.
pub fn type_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

fn mismatch(kind: &Type, object: &Bound<'_, PyAny>, role: &str) -> Failure {
    PyTypeError::new_err(format!("the {role} needs {kind}, not {}", type_of(object))).into()
}

/// The value of an object. `role` is for messages: a key, a value, a prefix, or an element of one.
fn datum_of(kind: &Type, object: &Bound<'_, PyAny>, role: &str) -> Result<Datum> {
    let is_int = || object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    let is_float = || object.is_instance_of::<PyFloat>() || is_int();
    let range = |_| Failure::from(PyOverflowError::new_err(format!("the number is out of the range of {kind}")));
    match kind {
        Type::Bool if object.is_instance_of::<PyBool>() => Ok(Datum::Bool(object.extract()?)),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U128 if is_int() => {
            let number: u128 = object.extract::<u128>().map_err(range)?;
            check_range(kind, number.leading_zeros() < 128 - bits_of(kind))?;
            Ok(Datum::Unsigned(number))
        }
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::I128 if is_int() => {
            let number: i128 = object.extract::<i128>().map_err(range)?;
            let magnitude = if number < 0 { !number } else { number };
            check_range(kind, magnitude.leading_zeros() < 129 - bits_of(kind))?;
            Ok(Datum::Signed(number))
        }
        Type::F32 if is_float() => {
            let number: f64 = object.extract()?;
            // Rounded, as Python's struct module does it.
            let stored = number as f32;
            check_range(kind, number.is_finite() && stored.is_infinite())?;
            Ok(Datum::F32(stored))
        }
        Type::F64 if is_float() => Ok(Datum::F64(object.extract()?)),
        Type::Char if object.is_instance_of::<PyString>() => Ok(Datum::Char(object.extract()?)),
        Type::String if object.is_instance_of::<PyString>() => Ok(Datum::String(object.extract()?)),
        Type::Bytes | Type::ByteArray(_) => Ok(Datum::Bytes(bytes_of(object)?)),
        Type::Option(_) if object.is_none() => Ok(Datum::Option(None)),
        Type::Option(inner) => Ok(Datum::Option(Some(Box::new(datum_of(inner, object, role)?)))),
        Type::Tuple(kinds) => {
            let elements = object.cast::<PyTuple>().map_err(|_| mismatch(kind, object, role))?;
            if elements.len() != kinds.len() {
                let text = format!("the {role} needs {kind}, and the tuple has {} elements", elements.len());
                return Err(PyTypeError::new_err(text).into());
            }
            let data = kinds.iter().zip(elements).map(|(kind, element)| datum_of(kind, &element, role));
            Ok(Datum::Tuple(data.collect::<Result<_>>()?))
        }
        _ => Err(mismatch(kind, object, role)),
    }
}

fn bits_of(kind: &Type) -> u32 {
    8 * kind.fixed_width().and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0)
}

fn check_range(kind: &Type, is_outside: bool) -> Result<()> {
    if is_outside {
        return Err(PyOverflowError::new_err(format!("the number is out of the range of {kind}")).into());
    }
    Ok(())
}

fn object_of<'py>(py: Python<'py>, datum: &Datum) -> PyResult<Bound<'py, PyAny>> {
    Ok(match datum {
        Datum::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Datum::Char(value) => value.into_pyobject(py)?.into_any(),
        Datum::Unsigned(value) => value.into_pyobject(py)?.into_any(),
        Datum::Signed(value) => value.into_pyobject(py)?.into_any(),
        Datum::F32(value) => value.into_pyobject(py)?.into_any(),
        Datum::F64(value) => value.into_pyobject(py)?.into_any(),
        Datum::String(value) => PyString::new(py, value).into_any(),
        Datum::Bytes(value) => PyBytes::new(py, value).into_any(),
        Datum::Option(None) => py.None().into_bound(py),
        Datum::Option(Some(value)) => object_of(py, value)?,
        Datum::Tuple(elements) => {
            let objects = elements.iter().map(|element| object_of(py, element)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, objects)?.into_any()
        }
        _ => py.NotImplemented().into_bound(py),
    })
}
