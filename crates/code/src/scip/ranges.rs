//! Ranges of SCIP as spans.

use scip::types;
use scip::types::occurrence::{Typed_enclosing_range, Typed_range};

use crate::model::Span;

/// What is wrong with a part of an index, in words.
pub type Wrong = String;

/// The range of an occurrence, and that of the definition around it.
///
/// # Errors
/// What is wrong with a range.
pub fn spans(read: &types::Occurrence) -> Result<(Span, Option<Span>), Wrong> {
    let single = |range: &types::SingleLineRange| vec![range.line, range.start_character, range.end_character];
    let multi = |range: &types::MultiLineRange| {
        vec![range.start_line, range.start_character, range.end_line, range.end_character]
    };
    let range = match &read.typed_range {
        Some(Typed_range::SingleLineRange(range)) => single(range),
        Some(Typed_range::MultiLineRange(range)) => multi(range),
        _ => read.range.clone(),
    };
    let enclosing = match &read.typed_enclosing_range {
        Some(Typed_enclosing_range::SingleLineEnclosingRange(range)) => single(range),
        Some(Typed_enclosing_range::MultiLineEnclosingRange(range)) => multi(range),
        _ => read.enclosing_range.clone(),
    };
    let extent = if enclosing.is_empty() { None } else { Some(span(&enclosing)?) };
    Ok((span(&range)?, extent))
}

fn span(range: &[i32]) -> Result<Span, Wrong> {
    let numbers: Option<Vec<u32>> = range.iter().map(|number| u32::try_from(*number).ok()).collect();
    let span = match numbers.as_deref() {
        Some(&[line, column, end_column]) => Span { line, column, end_line: line, end_column },
        Some(&[line, column, end_line, end_column]) => Span { line, column, end_line, end_column },
        _ => return Err(format!("the range {range:?} has not three or four natural numbers")),
    };
    match (span.line, span.column) <= (span.end_line, span.end_column) {
        true => Ok(span),
        false => Err(format!("the range {range:?} ends before it begins")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_three_or_four_numbers_in_order() {
        assert_eq!(span(&[1, 2, 3]), Ok(Span { line: 1, column: 2, end_line: 1, end_column: 3 }));
        assert_eq!(span(&[1, 2, 3, 0]), Ok(Span { line: 1, column: 2, end_line: 3, end_column: 0 }));
        for wrong in [&[][..], &[1], &[1, 2], &[1, 3, 2], &[2, 0, 1, 9], &[0, -1, 4], &[1, 2, 3, 4, 5]] {
            assert!(span(wrong).is_err(), "{wrong:?}");
        }
    }
}
