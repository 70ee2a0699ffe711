//! Merge functions of the program: the names that it registered, and the calls.
//!
//! Invariants: (1) A panic of a function never unwinds through the engine: the caller may hold locks. It becomes an
//! error. (2) While a function runs, its thread calls nothing of a database that takes a lock of commits or
//! checkpoints: the caller may hold that lock.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};
use crate::sync::Arc;

/// The error of a merge function: any error type, or a text (`"no JSON".into()`).
pub type MergeFailure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a merge function: the new value of the key.
pub type MergeOutcome = std::result::Result<Vec<u8>, MergeFailure>;

/// A registered function; see [`crate::Options::merge_function`].
type Function = dyn Fn(&[u8], Option<&[u8]>, MergeOperands<'_>) -> MergeOutcome + Send + Sync;

/// The operands that one transaction merges into one key, in the order of its calls. There is at least one.
///
/// The iterator is cheap to clone, for functions that pass over the operands twice.
#[derive(Clone)]
pub struct MergeOperands<'a> {
    /// Operands, each with its length (4 bytes, little-endian) before it.
    listed: &'a [u8],
}

impl<'a> MergeOperands<'a> {
    /// The operands of a list that [`list_operand`] made. A list that it did not make has an end where it stops making
    /// sense.
    pub(crate) fn new(listed: &'a [u8]) -> Self {
        Self { listed }
    }
}

impl<'a> Iterator for MergeOperands<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.listed.split_first_chunk()?;
        let (operand, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.listed = rest;
        Some(operand)
    }
}

impl std::iter::FusedIterator for MergeOperands<'_> {}

impl fmt::Debug for MergeOperands<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.clone()).finish()
    }
}

/// A list of one operand. Lists are joined by putting their bytes one after the other.
///
/// # Panics
/// If the operand has 4 GiB or more.
pub fn list_operand(operand: &[u8]) -> Vec<u8> {
    let length = u32::try_from(operand.len()).expect("the length of an operand is checked before");
    let mut listed = Vec::with_capacity(OPERAND_LENGTH_BYTES + operand.len());
    listed.extend_from_slice(&length.to_le_bytes());
    listed.extend_from_slice(operand);
    listed
}

/// The functions that the program registered, by name.
#[derive(Clone, Default)]
pub struct MergeFunctions(BTreeMap<String, Arc<Registered>>);

struct Registered {
    function: Box<Function>,
    /// The type of the function. Two closures made by the same code have the same type.
    type_id: TypeId,
}

impl MergeFunctions {
    /// Registers a function, in place of one that had this name.
    pub fn register<F>(&mut self, name: String, function: F)
    where
        F: Fn(&[u8], Option<&[u8]>, MergeOperands<'_>) -> MergeOutcome + Send + Sync + 'static,
    {
        let registered = Registered { function: Box::new(function), type_id: TypeId::of::<F>() };
        self.0.insert(name, Arc::new(registered));
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether all of the other functions are here, by the same names. Functions count as the same if they are of one
    /// type.
    pub fn include(&self, others: &Self) -> bool {
        others
            .0
            .iter()
            .all(|(name, other)| self.0.get(name).is_some_and(|registered| registered.type_id == other.type_id))
    }

    /// Checks that a table's function is registered.
    ///
    /// # Errors
    /// [`Error::MergeFunctionMissing`].
    pub fn require(&self, table: &str, name: &str) -> Result<()> {
        self.find(table, name).map(|_| ())
    }

    /// Calls the function of a table with the operands of a list.
    ///
    /// # Errors
    /// [`Error::MergeFunctionMissing`]; [`Error::MergeFunction`] if the function returns an error or panics.
    pub fn call(&self, table: &str, name: &str, key: &[u8], before: Option<&[u8]>, listed: &[u8]) -> Result<Vec<u8>> {
        let registered = self.find(table, name)?;
        let running = Running::begin();
        // After a panic, data that the function shares with the program may be half changed. The program decides what
        // to do: its panic hook runs, and the error reports the panic.
        let call = AssertUnwindSafe(|| (registered.function)(key, before, MergeOperands::new(listed)));
        let outcome = catch_unwind(call).unwrap_or_else(|panic| Err(panic_text(&*panic).into()));
        drop(running);
        outcome.map_err(|source| Error::MergeFunction { function: name.to_owned(), source })
    }

    fn find(&self, table: &str, name: &str) -> Result<&Registered> {
        let missing = || Error::MergeFunctionMissing { table: table.to_owned(), function: name.to_owned() };
        self.0.get(name).map(|registered| &**registered).ok_or_else(missing)
    }
}

impl fmt::Debug for MergeFunctions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.names()).finish()
    }
}

thread_local! {
    /// How many merge functions run on this thread: one may read what another transaction merged.
    static RUNNING: Cell<u32> = const { Cell::new(0) };
}

/// A call of a function.
struct Running;

impl Running {
    fn begin() -> Self {
        RUNNING.set(RUNNING.get() + 1);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
    }
}

/// Refuses what a merge function must not do.
///
/// # Errors
/// [`Error::Invalid`] if a merge function runs on this thread.
#[inline]
pub fn check_not_merging() -> Result<()> {
    if RUNNING.get() == 0 { Ok(()) } else { Err(merging()) }
}

#[cold]
fn merging() -> Error {
    let message = "a merge function must not call the database; compute the value from what the function gets".into();
    Error::Invalid { message }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    said.map_or("it panicked".to_owned(), |said| format!("it panicked: {said}"))
}

/// Bytes before each operand of a list.
pub const OPERAND_LENGTH_BYTES: usize = 4;
/// Longest name of a function.
pub const FUNCTION_NAME_BYTES_MAX: usize = 255;

/// Runs the examples of the document as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/merge-operators.md")]
pub struct Document;

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(_: &[u8], before: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
        Ok(operands.fold(before.unwrap_or_default().to_vec(), |value, operand| [&value, operand].concat()))
    }

    fn with(name: &str) -> MergeFunctions {
        let mut functions = MergeFunctions::default();
        functions.register(name.into(), joined);
        functions
    }

    #[test]
    fn operands_are_listed_in_order_and_may_be_empty() {
        let listed = [&b"a"[..], b"", b"bc"].map(list_operand).concat();
        assert_eq!(MergeOperands::new(&listed).collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        assert_eq!(
            MergeOperands::new(&listed[..listed.len() - 1]).count(),
            2,
            "a list that is cut ends before the cut"
        );
        assert_eq!(with("j").call("t", "j", b"k", Some(b"0"), &listed).unwrap(), b"0abc");
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_message_and_the_thread_may_write_again() {
        let mut functions = MergeFunctions::default();
        functions.register("str".into(), |_, _, _| panic!("plain"));
        functions.register("string".into(), |key, _, _| panic!("key {}", key[0]));
        functions.register("any".into(), |_, _, _| std::panic::panic_any(7));
        for (name, said) in [("str", "it panicked: plain"), ("string", "it panicked: key 107"), ("any", "it panicked")]
        {
            let error = functions.call("t", name, b"k", None, &[]).unwrap_err();
            let Error::MergeFunction { function, source } = error else { panic!("{error}") };
            assert_eq!((&*function, &*source.to_string()), (name, said));
            check_not_merging().unwrap();
        }
    }

    #[test]
    fn a_function_that_runs_is_noted_for_its_thread_alone() {
        let mut functions = MergeFunctions::default();
        functions.register("f".into(), |_, _, _| {
            let here = check_not_merging().is_err();
            let elsewhere = std::thread::spawn(|| check_not_merging().is_err()).join().unwrap();
            Ok(vec![u8::from(here), u8::from(elsewhere)])
        });
        assert_eq!(functions.call("t", "f", b"k", None, &[]).unwrap(), [1, 0]);
    }

    #[test]
    fn functions_of_one_type_and_name_are_the_same() {
        let (one, other) = (with("j"), with("k"));
        assert!(one.include(&one) && one.include(&MergeFunctions::default()) && one.include(&with("j")));
        assert!(!one.include(&other) && !MergeFunctions::default().include(&one));
        let mut changed = one.clone();
        changed.register("j".into(), |_, _, _| Ok(Vec::new()));
        assert!(!one.include(&changed));
        assert!(matches!(one.require("t", "k"), Err(Error::MergeFunctionMissing { .. })));
    }
}
