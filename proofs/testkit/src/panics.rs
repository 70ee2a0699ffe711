//! Catches the panics of code under test and returns their places, without printing each of them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// Runs `work`. If it panics, answers the message and the place instead.
///
/// Whatever `work` changes may be half changed then: let it own what it works on.
///
/// # Errors
/// The panic, in words.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let caught = LAST.with_borrow_mut(|last| {
                if last.depth > 0 {
                    last.text = panic.to_string().replace('\n', " ");
                }
                last.depth > 0
            });
            if !caught {
                before(panic);
            }
        }));
    });
    LAST.with_borrow_mut(|last| last.depth += 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    LAST.with_borrow_mut(|last| last.depth -= 1);
    outcome.map_err(|_| LAST.with_borrow_mut(|last| std::mem::take(&mut last.text)))
}

/// Of this thread: how many `catch` it is in, and the last panic.
#[derive(Debug, Default)]
struct Last {
    depth: u32,
    text: String,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_message_and_place() {
        assert_eq!(catch(|| 7), Ok(7));
        let panic = catch(|| panic!("on purpose")).expect_err("it panics");
        assert!(panic.contains("on purpose") && panic.contains("panics.rs"), "{panic}");
    }
}
