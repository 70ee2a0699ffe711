//! Arguments and results: byte arrays, texts and numbers.

use std::cell::RefCell;
use std::ops::{Bound, Deref};

use jni::Env;
use jni::objects::{JByteArray, JLongArray, JString};
use jni::sys::{jint, jlong};

use crate::error::{Failure, Result};

thread_local! {
    /// Buffers of earlier calls of this thread, to save allocations.
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The longest array that every virtual machine can allocate, if there is memory for it.
pub const ARRAY_BYTES_MAX: usize = i32::MAX as usize - 16;

/// Larger buffers are freed after their call. A batch of a thousand changes fits into a kept buffer: the first use of
/// new memory costs more than a copy.
const KEPT_BYTES: usize = 256 << 10;

/// The bytes of an array, copied.
#[derive(Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// Copies an array.
    ///
    /// # Errors
    /// [`Failure::Java`] if it is null.
    pub fn of(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Self> {
        let length = array.len(env)?;
        Self::copied(env, array, length)
    }

    /// Copies the first bytes of an array.
    ///
    /// # Errors
    /// [`Failure::Java`] if it is null, [`Failure::Invalid`] if it is shorter.
    pub fn of_first(env: &Env<'_>, array: &JByteArray<'_>, length: jint) -> Result<Self> {
        let available = array.len(env)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= available).ok_or_else(|| {
            Failure::Invalid(format!("{length} bytes of an array that has {available} were requested"))
        })?;
        Self::copied(env, array, length)
    }

    fn copied(env: &Env<'_>, array: &JByteArray<'_>, length: usize) -> Result<Self> {
        let mut bytes = Self(BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default());
        // The array replaces what an earlier call has left.
        bytes.0.resize(length, 0);
        array.get_region(env, 0, bytemuck::cast_slice_mut(&mut bytes.0))?;
        Ok(bytes)
    }

    /// The bytes, for a caller that keeps them. A large buffer is given away, because the thread would not keep it. A
    /// small one is copied, so that the thread can use it again, and nobody keeps more memory than the bytes need.
    pub fn into_boxed(mut self) -> Box<[u8]> {
        if self.0.capacity() <= KEPT_BYTES {
            return Box::from(&self.0[..]);
        }
        std::mem::take(&mut self.0).into_boxed_slice()
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if (1..=KEPT_BYTES).contains(&self.0.capacity()) {
            let buffer = std::mem::take(&mut self.0);
            BUFFERS.with_borrow_mut(|buffers| buffers.push(buffer));
        }
    }
}

/// The error of a result with more bytes than an array can have.
pub fn too_long(bytes: usize) -> Failure {
    Failure::Invalid(format!(
        "the result has {bytes} bytes, more than an array of Java can have; read fewer values in a call"
    ))
}

/// A new array with these bytes.
///
/// # Errors
/// [`Failure::Invalid`] if there are too many for an array; [`Failure::Java`] without memory for it.
pub fn array<'l>(env: &mut Env<'l>, bytes: &[u8]) -> Result<JByteArray<'l>> {
    if bytes.len() > ARRAY_BYTES_MAX {
        return Err(too_long(bytes.len()));
    }
    Ok(env.byte_array_from_slice(bytes)?)
}

/// Copies bytes to the beginning of an array.
///
/// # Errors
/// [`Failure::Java`] if the array is shorter.
pub fn fill(env: &Env<'_>, array: &JByteArray<'_>, bytes: &[u8]) -> Result<()> {
    Ok(array.set_region(env, 0, bytemuck::cast_slice(bytes))?)
}

/// A new array with these numbers.
///
/// # Errors
/// [`Failure::Java`] without memory for it.
pub fn longs<'l>(env: &mut Env<'l>, numbers: &[u64]) -> Result<JLongArray<'l>> {
    let array = JLongArray::new(env, numbers.len())?;
    array.set_region(env, 0, bytemuck::cast_slice(numbers))?;
    Ok(array)
}

/// The numbers of an array.
///
/// # Errors
/// [`Failure::Java`] if it is null.
pub fn numbers(env: &Env<'_>, array: &JLongArray<'_>) -> Result<Vec<jlong>> {
    let mut numbers = vec![0; array.len(env)?];
    array.get_region(env, 0, &mut numbers)?;
    Ok(numbers)
}

/// A text.
///
/// # Errors
/// [`Failure::Java`] if it is null.
pub fn text(env: &Env<'_>, string: &JString<'_>) -> Result<String> {
    Ok(string.try_to_string(env)?)
}

/// A bound of a range of keys: absent, inclusive or exclusive, in Java's order.
///
/// # Errors
/// [`Failure::Invalid`] for another kind; [`Failure::Java`] if the key is null.
pub fn bound(env: &Env<'_>, kind: jint, key: &JByteArray<'_>) -> Result<Bound<Bytes>> {
    match kind {
        0 => Ok(Bound::Unbounded),
        1 => Ok(Bound::Included(Bytes::of(env, key)?)),
        2 => Ok(Bound::Excluded(Bytes::of(env, key)?)),
        _ => Err(Failure::Invalid(format!("{kind} is not a kind of bound"))),
    }
}

/// The bounds of a range of keys, borrowed.
pub fn bounds<'b>(low: &'b Bound<Bytes>, high: &'b Bound<Bytes>) -> (Bound<&'b [u8]>, Bound<&'b [u8]>) {
    (low.as_ref().map(Deref::deref), high.as_ref().map(Deref::deref))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The capacities of the buffers that this thread keeps.
    fn kept() -> Vec<usize> {
        BUFFERS.with_borrow(|buffers| buffers.iter().map(Vec::capacity).collect())
    }

    #[test]
    fn bytes_that_a_caller_keeps_take_no_buffer_from_the_thread_and_leave_none_without_memory() {
        for length in [0, 1, KEPT_BYTES, KEPT_BYTES + 1] {
            let bytes = Bytes(vec![7; length]);
            let before = kept().len();
            assert_eq!(bytes.into_boxed(), vec![7; length].into_boxed_slice());
            assert_eq!(kept().len() - before, usize::from((1..=KEPT_BYTES).contains(&length)), "{length}");
        }
        assert!(kept().iter().all(|capacity| (1..=KEPT_BYTES).contains(capacity)));
    }
}
