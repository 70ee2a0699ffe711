//! Where a place of a text is in another state of the text: people edit files that are indexed.
//!
//! Lines that are in both states stay together. Between them, as many lines in the one state as in the other are the
//! same lines, which were edited.

use std::collections::HashMap;
use std::ops::Range;

use crate::columns::Columns;

/// What a place is, if text was added there: the new text is before a start, and behind an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The beginning of a range, or a position.
    Start,
    /// The end of a range.
    End,
}

/// A place in the other state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shifted {
    /// The same text is there.
    Kept(u32, u32),
    /// The text is gone: where it was.
    Gone(u32, u32),
}

/// Where a line and a column of `from` are in `to`. Lines and columns begin at 0.
pub fn shift(from: &str, to: &str, (line, column): (u32, u32), columns: Columns, edge: Edge) -> Shifted {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.lines().collect(), to.lines().collect());
    let at = line as usize;
    let Some(text) = from.get(at) else {
        // Behind the last line.
        return Shifted::Kept(number(to.len() + (at - from.len())), column);
    };
    let other = match counterpart(&from, &to, at) {
        Ok(other) => other,
        Err(near) => return Shifted::Gone(number(near), 0),
    };
    match column_in(text, to[other], column, columns, edge) {
        Ok(column) => Shifted::Kept(number(other), column),
        Err(column) => Shifted::Gone(number(other), column),
    }
}

/// The line of `to` that is the line `at` of `from`, perhaps edited. If it is gone, the line where it was.
fn counterpart(from: &[&str], to: &[&str], at: usize) -> Result<usize, usize> {
    let (mut of_from, mut of_to) = match trimmed(from, to, at) {
        Trimmed::Found(other) => return Ok(other),
        Trimmed::Between(of_from, of_to) => (of_from, of_to),
    };
    let (first, first_other) = (of_from.start, of_to.start);
    for (line, other) in anchors(&from[of_from.clone()], &to[of_to.clone()]) {
        let (line, other) = (first + line, first_other + other);
        if line == at {
            return Ok(other);
        }
        if line > at {
            (of_from.end, of_to.end) = (line, other);
            break;
        }
        (of_from.start, of_to.start) = (line + 1, other + 1);
    }
    let (start, start_other) = (of_from.start, of_to.start);
    match trimmed(&from[of_from], &to[of_to], at - start) {
        Trimmed::Found(other) => Ok(start_other + other),
        Trimmed::Between(lines, others) if lines.len() == others.len() => {
            Ok(start_other + others.start + (at - start - lines.start))
        }
        Trimmed::Between(_, others) => Err(start_other + others.start),
    }
}

enum Trimmed {
    /// The line is among those with which both texts begin or end: its place in the other text.
    Found(usize),
    /// The lines in between, of both texts.
    Between(Range<usize>, Range<usize>),
}

fn trimmed(from: &[&str], to: &[&str], at: usize) -> Trimmed {
    let before = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    if at < before {
        return Trimmed::Found(at);
    }
    let pairs = from[before..].iter().rev().zip(to[before..].iter().rev());
    let behind = pairs.take_while(|(a, b)| a == b).count();
    if at >= from.len() - behind {
        return Trimmed::Found(at + to.len() - from.len());
    }
    Trimmed::Between(before..from.len() - behind, before..to.len() - behind)
}

/// Lines that each text has once, in the order of both: the longest such sequence.
fn anchors(from: &[&str], to: &[&str]) -> Vec<(usize, usize)> {
    // Of each line: where it is, if only once.
    let places = |lines: &[&str]| {
        let mut places: HashMap<String, Option<usize>> = HashMap::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            places.entry((*line).to_owned()).and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    };
    let (of_from, of_to) = (places(from), places(to));
    let place = |places: &HashMap<String, Option<usize>>, line: &str| places.get(line).copied().flatten();
    let pairs = from.iter().filter_map(|line| Some((place(&of_from, line)?, place(&of_to, line)?)));
    longest_rising(&pairs.collect::<Vec<_>>())
}

/// The longest sequence of pairs whose second numbers rise. Requires: their first numbers rise.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair with which a sequence of each length ends lowest, and of each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, (_, other)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *other);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut rising = Vec::new();
    let mut next = ends.last().copied();
    while let Some(index) = next {
        rising.push(pairs[index]);
        next = before[index];
    }
    rising.reverse();
    rising
}

/// The column of an edited line. If it is within what was edited, the column where that begins.
fn column_in(from: &str, to: &str, column: u32, columns: Columns, edge: Edge) -> Result<u32, u32> {
    let before = from.chars().zip(to.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    let pairs = from[before..].chars().rev().zip(to[before..].chars().rev());
    let behind = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    let width = |text: &str| text.chars().map(|character| columns.width(character)).sum::<usize>();
    let (begin, end) = (width(&from[..before]), width(&from[..from.len() - behind]));
    let end_other = width(&to[..to.len() - behind]);
    let at = column as usize;
    match (at <= begin, at >= end) {
        (true, true) if edge == Edge::End => Ok(column),
        (_, true) => Ok(number(at - end + end_other)),
        (true, false) => Ok(column),
        (false, false) => Err(number(begin)),
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "use a;\n\nfn one() {}\n\nfn two() {}\n\nfn three() {}\n";

    fn line(to: &str, line: u32) -> Shifted {
        shift(FROM, to, (line, 3), Columns::Utf16, Edge::Start)
    }

    #[test]
    fn lines_move_with_lines_that_are_added_and_removed_before_them() {
        let to = "use a;\nuse b;\n\nfn one() {}\n\n\n\nfn three() {}\nfn four() {}\n";
        let expected =
            [Shifted::Kept(0, 3), Shifted::Kept(2, 3), Shifted::Kept(3, 3), Shifted::Kept(4, 3), Shifted::Gone(5, 0)];
        assert_eq!([0, 1, 2, 3, 4].map(|at| line(to, at)), expected);
        assert_eq!(line(to, 6), Shifted::Kept(7, 3));
        assert_eq!(line(FROM, 6), Shifted::Kept(6, 3));
        // Behind the last line.
        assert_eq!(line(to, 7), Shifted::Kept(9, 3));
        assert_eq!(line("", 2), Shifted::Gone(0, 0));
        assert_eq!(shift("", FROM, (0, 0), Columns::Utf8, Edge::Start), Shifted::Kept(7, 0));
    }

    #[test]
    fn a_block_that_is_moved_is_gone_and_the_lines_around_it_stay() {
        let from = "a\nb\nc\nd\ne\nf\n";
        let to = "c\nd\ne\nf\na\nb\n";
        let found = [0, 2, 5].map(|at| shift(from, to, (at, 0), Columns::Utf8, Edge::Start));
        assert_eq!(found, [Shifted::Gone(0, 0), Shifted::Kept(0, 0), Shifted::Kept(3, 0)]);
    }

    #[test]
    fn columns_of_an_edited_line_move_with_its_changes() {
        let to = FROM.replace("fn two() {}", "pub fn twö() {}");
        let at = |column, edge| shift(FROM, &to, (4, column), Columns::Utf16, edge);
        // What is edited begins at the first letter, and ends with the name.
        assert_eq!(at(9, Edge::Start), Shifted::Kept(4, 13));
        assert_eq!(at(0, Edge::End), Shifted::Kept(4, 0));
        assert_eq!(at(3, Edge::Start), Shifted::Gone(4, 0));
        let back = |column, columns| shift(&to, FROM, (4, column), columns, Edge::Start);
        assert_eq!(back(13, Columns::Utf16), Shifted::Kept(4, 9));
        assert_eq!(back(14, Columns::Utf8), Shifted::Kept(4, 9));
        let grown = FROM.replace("two()", "two(x: i32)");
        // Text is added before a start, and behind an end.
        let cases = [(3, Edge::Start, 3), (7, Edge::End, 7), (7, Edge::Start, 13), (8, Edge::End, 14)];
        for (column, edge, expected) in cases {
            assert_eq!(shift(FROM, &grown, (4, column), Columns::Utf8, edge), Shifted::Kept(4, expected), "{column}");
        }
    }
}
