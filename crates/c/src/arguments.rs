//! Arguments and results: bytes, texts, paths, and places for results.
#![allow(unsafe_code)] // Reads of the caller's memory.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::code::{Failure, Result};

/// Bytes of a database or of the caller. `data` is NULL if there is no value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_slice {
    /// The first byte.
    pub data: *const u8,
    /// The number of bytes.
    pub length: usize,
}

impl fulgurite_slice {
    /// No value.
    pub const NONE: Self = Self { data: std::ptr::null(), length: 0 };

    /// These bytes. Empty bytes of Rust have no address, but a dangling pointer, which runtimes such as Go's do not
    /// allow in variables; they get the address of a static byte.
    pub fn of(bytes: &[u8]) -> Self {
        static NOTHING: u8 = 0;
        if bytes.is_empty() {
            return Self { data: &raw const NOTHING, length: 0 };
        }
        Self { data: bytes.as_ptr(), length: bytes.len() }
    }
}

/// Writes a result that the caller must take.
///
/// # Errors
/// If the place is NULL. Call it with [`check_out`] before there is something that would be lost.
pub fn set<T>(place: Option<&mut MaybeUninit<T>>, result: T) -> Result<()> {
    place.ok_or_else(|| Failure::invalid("the place for the result is NULL"))?.write(result);
    Ok(())
}

/// Writes a result that the caller may leave.
pub fn set_if_wanted<T>(place: Option<&mut MaybeUninit<T>>, result: T) {
    if let Some(place) = place {
        place.write(result);
    }
}

/// Checks that there is a place for a result.
///
/// # Errors
/// If there is none.
pub fn check_out<T>(place: &Option<&mut MaybeUninit<T>>) -> Result<()> {
    if place.is_none() { Err(Failure::invalid("the place for the result is NULL")) } else { Ok(()) }
}

/// The elements of an array of the caller.
///
/// # Safety
/// `data` points to `length` elements, which do not change while the result is used, or is NULL.
///
/// # Errors
/// If it is NULL and has elements.
pub unsafe fn array<'a, T>(data: *const T, length: usize, name: &str) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::invalid(format!("{name} is NULL, and its length is {length}")));
    }
    if !data.is_aligned() || length.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::invalid(format!("{name} is not an array of {length} elements")));
    }
    // SAFETY: not null, aligned, not longer than memory can be; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// Places for results, in an array of the caller.
///
/// # Safety
/// `data` points to `length` elements, which nobody else uses while the result is used, or is NULL.
///
/// # Errors
/// If it is NULL and has elements.
pub unsafe fn places<'a, T>(data: *mut T, length: usize, name: &str) -> Result<&'a mut [MaybeUninit<T>]> {
    if length == 0 {
        return Ok(&mut []);
    }
    if data.is_null() || !data.is_aligned() || length > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::invalid(format!("{name} is not an array of {length} elements")));
    }
    // SAFETY: not null, aligned, not longer than memory can be; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), length) })
}

/// The bytes of a slice of the caller.
///
/// # Safety
/// As [`array`].
///
/// # Errors
/// As [`array`].
pub unsafe fn bytes<'a>(slice: &fulgurite_slice, name: &str) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { array(slice.data, slice.length, name) }
}

/// The text of a slice of the caller.
///
/// # Safety
/// As [`array`].
///
/// # Errors
/// As [`array`], and if it is not UTF-8.
pub unsafe fn text_of<'a>(slice: &fulgurite_slice, name: &str) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes(slice, name) }?;
    std::str::from_utf8(bytes).map_err(|error| Failure::invalid(format!("{name} is not UTF-8: {error}")))
}

/// A text of C.
///
/// # Safety
/// `text` ends with a byte 0 and does not change while the result is used, or is NULL.
///
/// # Errors
/// If it is NULL or not UTF-8.
pub unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Failure::invalid(format!("{name} is NULL")));
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| Failure::invalid(format!("{name} is not UTF-8: {error}")))
}

/// A path: any bytes on Unix, UTF-8 elsewhere.
///
/// # Safety
/// As [`text`].
///
/// # Errors
/// As [`text`].
pub unsafe fn path(given: *const c_char) -> Result<PathBuf> {
    #[cfg(unix)]
    if !given.is_null() {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: not null; the rest is the caller's promise.
        let bytes = unsafe { CStr::from_ptr(given) }.to_bytes();
        return Ok(Path::new(std::ffi::OsStr::from_bytes(bytes)).to_path_buf());
    }
    // SAFETY: the caller's promise.
    unsafe { text(given, "the path") }.map(|text| Path::new(text).to_path_buf())
}

/// A lower bound and an upper bound.
pub type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A lower bound (included) and an upper bound (excluded) of keys, each unbounded if NULL.
///
/// # Safety
/// As [`array`].
///
/// # Errors
/// As [`array`], but NULL is allowed.
pub unsafe fn bounds<'a>(low: *const u8, low_length: usize, high: *const u8, high_length: usize) -> Result<Bounds<'a>> {
    // SAFETY: the caller's promise.
    let low = if low.is_null() { Bound::Unbounded } else { Bound::Included(unsafe { array(low, low_length, "low") }?) };
    if high.is_null() {
        return Ok((low, Bound::Unbounded));
    }
    // SAFETY: the caller's promise.
    Ok((low, Bound::Excluded(unsafe { array(high, high_length, "high") }?)))
}

/// Parts of bytes, one after the other.
///
/// # Errors
/// If an end is before another one, or after the last byte.
pub fn parts<'a>(bytes: &'a [u8], ends: &[usize], name: &str) -> Result<Vec<&'a [u8]>> {
    let mut start = 0;
    ends.iter()
        .map(|&end| {
            let part = bytes.get(start..end).ok_or_else(|| {
                Failure::invalid(format!("{name}: an end is {end}, after {start}, of {} bytes", bytes.len()))
            });
            start = end;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_overlap_or_leave_the_bytes_are_refused() {
        assert_eq!(parts(b"abc", &[1, 1, 3], "keys").unwrap(), [&b"a"[..], b"", b"bc"]);
        assert!(parts(b"abc", &[2, 1], "keys").is_err());
        assert!(parts(b"abc", &[4], "keys").is_err());
    }

    #[test]
    fn empty_bytes_are_at_an_address() {
        for empty in [&[][..], &Vec::new()] {
            let slice = fulgurite_slice::of(empty);
            assert!(slice.data.addr() >= 4096 && slice.length == 0);
        }
    }

    #[test]
    fn null_without_length_is_empty_and_with_length_an_error() {
        // SAFETY: null is allowed.
        assert!(unsafe { array::<u8>(std::ptr::null(), 0, "key") }.unwrap().is_empty());
        // SAFETY: null is allowed.
        assert!(unsafe { array::<u8>(std::ptr::null(), 1, "key") }.is_err());
    }
}
