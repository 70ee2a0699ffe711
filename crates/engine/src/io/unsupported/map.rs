//! Takes the place of maps of files on platforms that Fulgurite does not support yet.

use std::io;
use std::ptr::NonNull;

use crate::io::Fill;
use crate::io::huge_pages::HugePages;
use crate::sync::Arc;

/// A window onto a file: there is none on this platform.
#[derive(Debug)]
pub enum Map {}

impl Map {
    /// A window of memory that is filled where it is first read: there is none on this platform.
    pub(in crate::io) fn filled_by(_source: Arc<dyn Fill>) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Whether bytes of the window may be read only after [`Map::ensure`].
    pub fn is_filled_on_demand(&self) -> bool {
        match *self {}
    }

    /// Fills these bytes of the window.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn ensure(&self, _offset: u64, _length: usize) -> io::Result<()> {
        match *self {}
    }

    /// The window's length.
    pub fn window_bytes(&self) -> u64 {
        match *self {}
    }

    /// The bytes of the file at `offset`.
    ///
    /// # Safety
    /// None is needed: no such value exists.
    #[allow(unsafe_code)] // The signature is that of the platforms that have maps; the body does nothing.
    pub unsafe fn slice(&self, _offset: u64, _length: usize) -> Option<&[u8]> {
        match *self {}
    }

    /// Where the window begins.
    pub fn base(&self) -> NonNull<u8> {
        match *self {}
    }

    /// Reads a part of the file into the page cache.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn populate(&self, _offset: u64, _length: u64) -> io::Result<()> {
        match *self {}
    }

    /// Says that reads will jump about.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_random(&self) -> io::Result<()> {
        match *self {}
    }

    /// Asks for huge pages.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_huge_pages(&self) -> io::Result<()> {
        match *self {}
    }

    /// Asks for no huge pages.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_small_pages(&self) -> io::Result<()> {
        match *self {}
    }

    /// How much of the window is in memory.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn huge_pages(&self) -> io::Result<HugePages> {
        match *self {}
    }
}

/// Address space that all windows of this process have reserved together: none on this platform.
pub fn reserved_bytes() -> u64 {
    0
}

/// Sets how much address space all windows of this process may reserve together: without effect on this platform.
pub fn set_reserved_bytes_max(_bytes: u64) {}
