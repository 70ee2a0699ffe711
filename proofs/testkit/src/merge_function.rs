//! Merge functions of the proofs: two that do what operators of the engine do, so that every proof that knows these
//! can judge them, and one that no operator does.

use fulgurite::{MergeOperands, MergeOutcome, Options};

/// The name of a function that does what the operator `Append` does.
pub const JOINED: &str = "joined";
/// The name of a function that does what the operator `Add` does to plain values.
pub const ADDED: &str = "added";
/// The name of the function of [`bounded`].
pub const BOUNDED: &str = "a bounded list";

/// Options that register all of them.
pub fn with_functions(options: Options) -> Options {
    options
        .merge_function(JOINED, |_, value, operands| Ok(joined(value, operands)))
        .merge_function(ADDED, added)
        .merge_function(BOUNDED, |_, value, operands| Ok(bounded(value, operands)))
}

/// The last [`BOUNDED_BYTES`] of the value and the operands, one after the other.
pub fn bounded<'a>(value: Option<&'a [u8]>, operands: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let all = joined(value, operands);
    all[all.len().saturating_sub(BOUNDED_BYTES)..].to_vec()
}

fn joined<'a>(value: Option<&'a [u8]>, operands: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    value.into_iter().chain(operands).flatten().copied().collect()
}

fn added(_: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
    let mut sum = 0_u64;
    for number in value.into_iter().chain(operands) {
        sum = sum.wrapping_add(u64::from_be_bytes(number.try_into()?));
    }
    Ok(sum.to_be_bytes().to_vec())
}

/// So long is a bounded list at most: longer than most operands, and shorter than some values that are put.
const BOUNDED_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_list_is_the_same_however_its_operands_are_grouped() {
        let operands: Vec<Vec<u8>> = (0..30_u8).map(|number| vec![number; usize::from(number % 7)]).collect();
        let together = bounded(Some(b"before"), operands.iter().map(|operand| &operand[..]));
        let one_by_one =
            operands.iter().fold(b"before".to_vec(), |value, operand| bounded(Some(&value), [&operand[..]]));
        assert_eq!((together.len(), together), (BOUNDED_BYTES, one_by_one));
    }
}
