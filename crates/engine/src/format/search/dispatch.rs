//! The choice of page search at run time. The checksum of pages follows the same choice.

use crate::error::{Error, Result};
use crate::format::search::isa::{Isa, supported};
use crate::format::search::primitives::{Lookup, WithSearch};
use crate::sync::atomic::{AtomicU8, Ordering};

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::format::search::neon;
#[cfg(test)]
use crate::format::search::portable;
#[cfg(not(target_arch = "x86_64"))]
use crate::format::search::portable::Portable as Baseline;
#[cfg(target_arch = "x86_64")]
use crate::format::search::sse2::Sse2 as Baseline;
#[cfg(target_arch = "x86_64")]
use crate::format::search::{avx2, avx512};

/// Name of the variable that forces a choice.
const VARIABLE: &str = "FULGURITE_SEARCH";
/// The choice's number, 0 before it is made. Relaxed: every thread that chooses, chooses the same.
static SELECTED: AtomicU8 = AtomicU8::new(0);

/// The instruction set in use: the one that `FULGURITE_SEARCH` names, else the best supported one. Chosen at the
/// first call.
///
/// # Errors
/// If the variable names no instruction set, or one that this machine lacks.
pub fn selected() -> Result<Isa> {
    if let Some(isa) = Isa::from_number(SELECTED.load(Ordering::Relaxed)) {
        return Ok(isa);
    }
    let isa = match std::env::var_os(VARIABLE) {
        None => supported().next().unwrap_or(Isa::Portable),
        Some(name) => forced(&name.to_string_lossy())?,
    };
    SELECTED.store(isa as u8, Ordering::Relaxed);
    Ok(isa)
}

/// The instruction set of this name, if this machine has it.
pub fn forced(name: &str) -> Result<Isa> {
    let isa = Isa::ALL.into_iter().find(|isa| isa.name() == name);
    if let Some(isa) = isa.filter(|isa| isa.is_supported()) {
        return Ok(isa);
    }
    let fault = if isa.is_some() { "is not supported by this machine" } else { "names no instruction set" };
    let names: Vec<_> = supported().map(Isa::name).collect();
    let message = format!("{VARIABLE}={name} {fault}; unset it, or set it to one of: {}", names.join(", "));
    Err(Error::Invalid { message })
}

/// Runs `work` with the instruction set in use; portably if `FULGURITE_SEARCH` is wrong, which [`selected`] reports.
#[inline(always)]
pub fn with_search<W: WithSearch>(work: W) -> W::Output {
    let isa = Isa::from_number(SELECTED.load(Ordering::Relaxed)).unwrap_or_else(select_now);
    // SAFETY: `selected` stores only what is supported, and `select_now` returns nothing else.
    unsafe { enter(isa, work) }
}

/// Runs a lookup as [`with_search`] runs work. The choice is inlined into the caller: another call would save
/// registers that the search saves again.
#[inline(always)]
pub fn look_up<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    let selected = SELECTED.load(Ordering::Relaxed);
    #[cfg(target_arch = "x86_64")]
    if selected == Isa::Avx512 as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { avx512::look_up::<L, P, T>(pages, tree, key) };
    }
    #[cfg(target_arch = "x86_64")]
    if selected == Isa::Avx2 as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { avx2::look_up::<L, P, T>(pages, tree, key) };
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    if selected == Isa::Neon as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { neon::look_up::<L, P, T>(pages, tree, key) };
    }
    if selected == Isa::Portable as u8 {
        return look_up_with_baseline::<L, P, T>(pages, tree, key);
    }
    look_up_first::<L, P, T>(pages, tree, key)
}

/// The first lookup of a process, before any opening has chosen.
#[cold]
#[inline(never)]
fn look_up_first<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    match select_now() {
        Isa::Portable => look_up_with_baseline::<L, P, T>(pages, tree, key),
        _ => look_up::<L, P, T>(pages, tree, key),
    }
}

/// A function of its own, as the searches with other instructions are.
#[inline(never)]
fn look_up_with_baseline<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    L::run::<Baseline>(pages, tree, key)
}

#[cold]
fn select_now() -> Isa {
    selected().unwrap_or(Isa::Portable)
}

/// Runs `work` with plain loops, which no vectors are part of. For tests, where nothing else would run them.
#[cfg(test)]
pub fn with_loops<W: WithSearch>(work: W) -> W::Output {
    work.run::<portable::Portable>()
}

/// Runs `work` with a given instruction set; `None` if this machine lacks it. For tests and comparisons.
#[cfg(test)]
pub fn with_isa<W: WithSearch>(isa: Isa, work: W) -> Option<W::Output> {
    // SAFETY: called only if `isa` is supported.
    isa.is_supported().then(|| unsafe { enter(isa, work) })
}

/// # Safety
/// `isa` is supported by this machine.
#[inline(always)]
unsafe fn enter<W: WithSearch>(isa: Isa, work: W) -> W::Output {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: AVX-512 and its companions are supported by this function's contract.
        Isa::Avx512 => unsafe { avx512::run(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: AVX2 and its companions are supported by this function's contract.
        Isa::Avx2 => unsafe { avx2::run(work) },
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        // SAFETY: NEON is supported by this function's contract.
        Isa::Neon => unsafe { neon::run(work) },
        _ => work.run::<Baseline>(),
    }
}
