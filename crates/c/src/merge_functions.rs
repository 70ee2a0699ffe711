//! Merge functions of the program.
//!
//! While one runs, its thread may only set the result: the caller of the function may hold locks of the transaction.
#![allow(unsafe_code)] // Functions of C, calls of the program's functions, and bytes of it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};

use fulgurite::{MergeOperands, MergeOutcome, Options};

use crate::arguments::{array, fulgurite_slice, text};
use crate::code::{Callback, Code, Failure, Result, calling_back, guarded_in_callbacks, is_merging};

/// Computes the new value of a key, passes it to fulgurite_set_merge_result, and returns
/// FULGURITE_OK; or returns another number to fail, such as that of fulgurite_set_merge_error.
///
/// `value` is the value that the key has; its `data` is NULL if the key has none. `operands` are
/// those that one transaction merges into the key, in the order of its calls, at least one. The bytes
/// are valid until the function returns. The result must depend on the arguments only: the function
/// may be called several times for one merge, and by several threads at once. Other commits may wait
/// for it. It must return (no longjmp, no exception of C++). Within it, all other functions of this
/// library that return a code fail with FULGURITE_INVALID.
pub type fulgurite_merge_callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        key: fulgurite_slice,
        value: fulgurite_slice,
        operands: *const fulgurite_slice,
        operand_count: usize,
    ) -> c_int,
>;

/// Releases the context of a merge function. It must return. Within it, functions of this library
/// that return a code fail with FULGURITE_INVALID.
pub type fulgurite_release_callback = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// A merge function of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_merge_function {
    /// The name by which tables refer to it: 1 to 255 bytes.
    pub name: *const c_char,
    /// The function.
    pub merge: fulgurite_merge_callback,
    /// Passed to the function.
    pub context: *mut c_void,
    /// Called once with the context, after the last call of the function: when the database is closed
    /// and its last transaction has ended, or when fulgurite_open fails for another reason than the
    /// size of the options. May be NULL.
    pub release: fulgurite_release_callback,
}

thread_local! {
    /// What the running function has set: the new value, or why there is none.
    static OUTCOME: RefCell<Option<Result<Vec<u8>, String>>> = const { RefCell::new(None) };
}

/// The context of a function.
struct Context {
    pointer: *mut c_void,
    release: fulgurite_release_callback,
}

// SAFETY: only the program's functions use the pointer, and it promises that any thread may call them.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // A lock of the library may be held here, so the function cannot call it.
            calling_back(Callback::Release, || {
                // SAFETY: the promise of the program; this is the last call with the context.
                unsafe { release(self.pointer) }
            });
        }
    }
}

/// A function with its context.
struct Function {
    merge: unsafe extern "C" fn(*mut c_void, fulgurite_slice, fulgurite_slice, *const fulgurite_slice, usize) -> c_int,
    context: Context,
}

impl Function {
    fn call(&self, key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
        let operands: Vec<_> = operands.map(fulgurite_slice::of).collect();
        let (key, value) = (fulgurite_slice::of(key), value.map_or(fulgurite_slice::NONE, fulgurite_slice::of));
        OUTCOME.set(None);
        let code = calling_back(Callback::Merge, || {
            // SAFETY: the promise of the program; the slices are valid until the call returns.
            unsafe { (self.merge)(self.context.pointer, key, value, operands.as_ptr(), operands.len()) }
        });
        match (code, OUTCOME.take()) {
            (0, Some(Ok(value))) => Ok(value),
            (0, None) => Err("it set no result; call fulgurite_set_merge_result before it returns".into()),
            (_, Some(Err(message))) => Err(message.into()),
            (code, _) => Err(format!("it returned {code}").into()),
        }
    }
}

/// Registers the functions of an array.
///
/// # Safety
/// `given` points to `count` functions, which do what their types say. Their names end with a byte 0.
///
/// # Errors
/// If one of them has no name or no function.
pub unsafe fn register(mut options: Options, given: *const fulgurite_merge_function, count: usize) -> Result<Options> {
    // SAFETY: the caller's promise.
    let functions = unsafe { array(given, count, "merge_functions") }?;
    let with_context = |given: &fulgurite_merge_function| {
        (given.name, given.merge, Context { pointer: given.context, release: given.release })
    };
    // All of them first: each context is released, also if another function is not valid.
    let functions: Vec<_> = functions.iter().map(with_context).collect();
    let mut names = HashSet::new();
    for (name, merge, context) in functions {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "the name of a merge function") }?;
        if !names.insert(name) {
            return Err(Failure::invalid(format!(
                "merge_functions has `{name}` twice; give each function its own name"
            )));
        }
        let merge = merge.ok_or_else(|| Failure::invalid(format!("the merge function `{name}` is NULL")))?;
        let function = Function { merge, context };
        options = options
            .merge_function(name, move |key, value, operands: MergeOperands<'_>| function.call(key, value, operands));
    }
    Ok(options)
}

fn set(outcome: Result<Vec<u8>, String>) -> Result<()> {
    if !is_merging() {
        return Err(Failure::invalid("no merge function runs on this thread; call this in a merge function"));
    }
    OUTCOME.set(Some(outcome));
    Ok(())
}

/// Sets the new value of the key, in a merge function. The bytes are copied.
///
/// # Safety
/// `value` points to `length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_set_merge_result(value: *const u8, length: usize) -> c_int {
    guarded_in_callbacks(|| {
        // SAFETY: the promise of the caller.
        let value = unsafe { array(value, length, "value") }?;
        set(Ok(value.to_vec()))
    })
}

/// Sets why there is no new value, in a merge function, and returns FULGURITE_UNMERGEABLE for the
/// function to return. The call that needs the value, such as fulgurite_get or fulgurite_commit,
/// fails with this code, and its message has the text.
///
/// # Safety
/// `message` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_set_merge_error(message: *const c_char) -> c_int {
    guarded_in_callbacks(|| {
        // SAFETY: the promise of the caller.
        let message = unsafe { text(message, "message") }?;
        set(Err(message.to_owned()))?;
        Err(Failure::new(Code::FULGURITE_UNMERGEABLE, message))
    })
}
