//! Where a place of a text is in another state of the text: people edit files that are indexed.
//!
//! Lines that are in both states belong together. Where both states have equally many lines between these, each is the
//! edited form of the line at its place.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::columns::Columns;

/// How a place moves if text is added at it: a start moves behind the new text, an end stays before it.
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

/// Where the lines of one state of a text are in another one. It is found once, for all places.
pub struct Shift {
    from: Lines,
    to: Lines,
    /// Of each line of `from`: the line of `to` that is the same, perhaps edited. If it is gone, the line where it was.
    counterparts: Vec<Result<usize, usize>>,
}

impl Shift {
    /// From the one state to the other.
    pub fn between(from: &Arc<str>, to: &Arc<str>) -> Self {
        let (from, to) = (Lines::of(from), Lines::of(to));
        let counterparts = counterparts(&from.texts(), &to.texts());
        Self { from, to, counterparts }
    }

    /// Where a line and a column are in the other state. Lines and columns begin at 0.
    pub fn place(&self, (line, column): (u32, u32), columns: Columns, edge: Edge) -> Shifted {
        let at = line as usize;
        let Some(text) = self.from.get(at) else {
            // Behind the last line.
            return Shifted::Kept(number(self.to.bounds.len() + (at - self.from.bounds.len())), column);
        };
        let other = match self.counterparts[at] {
            Ok(other) => other,
            Err(near) => return Shifted::Gone(number(near), 0),
        };
        match column_in(text, self.to.get(other).unwrap_or_default(), column, columns, edge) {
            Ok(column) => Shifted::Kept(number(other), column),
            Err(column) => Shifted::Gone(number(other), column),
        }
    }

    /// Where a name at a place is in the other state. `None`, if it is gone, or another name is there.
    pub fn name(&self, place: (u32, u32), columns: Columns) -> Option<(u32, u32)> {
        let Shifted::Kept(line, column) = self.place(place, columns, Edge::Start) else { return None };
        let name = |lines: &Lines, (line, column): (u32, u32)| {
            lines.get(line as usize).map(|text| name_at(text, column, columns).to_owned())
        };
        (name(&self.from, place) == name(&self.to, (line, column))).then_some((line, column))
    }
}

/// A text and where its lines are.
struct Lines {
    text: Arc<str>,
    bounds: Vec<Range<usize>>,
}

impl Lines {
    fn of(text: &Arc<str>) -> Self {
        let mut next = 0;
        let bounds = text.split_inclusive('\n').map(|line| {
            let start = next;
            next += line.len();
            let content = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
            start..start + content.len()
        });
        Self { bounds: bounds.collect(), text: Arc::clone(text) }
    }

    fn get(&self, line: usize) -> Option<&str> {
        self.bounds.get(line).map(|bounds| &self.text[bounds.clone()])
    }

    fn texts(&self) -> Vec<&str> {
        self.bounds.iter().map(|bounds| &self.text[bounds.clone()]).collect()
    }
}

/// Of each line of `from`: the line of `to` that is the same, perhaps edited. If it is gone, the line where it was.
fn counterparts(from: &[&str], to: &[&str]) -> Vec<Result<usize, usize>> {
    let (before, behind) = in_common(from, to);
    let (end, end_other) = (from.len() - behind, to.len() - behind);
    let mut found: Vec<Result<usize, usize>> = (0..before).map(Ok).collect();
    let (mut line, mut other) = (before, before);
    for (anchor, anchor_other) in anchors(&from[before..end], &to[before..end_other]) {
        let (anchor, anchor_other) = (before + anchor, before + anchor_other);
        between_anchors(&from[line..anchor], &to[other..anchor_other], other, &mut found);
        found.push(Ok(anchor_other));
        (line, other) = (anchor + 1, anchor_other + 1);
    }
    between_anchors(&from[line..end], &to[other..end_other], other, &mut found);
    found.extend((end_other..to.len()).map(Ok));
    found
}

/// Appends the counterparts of lines between two anchors. Those of `to` begin at the line `first`.
fn between_anchors(from: &[&str], to: &[&str], first: usize, found: &mut Vec<Result<usize, usize>>) {
    let (before, behind) = in_common(from, to);
    found.extend((0..from.len()).map(|at| {
        if at < before || from.len() == to.len() {
            Ok(first + at)
        } else if at >= from.len() - behind {
            Ok(first + at + to.len() - from.len())
        } else {
            Err(first + before)
        }
    }));
}

/// With how many equal lines both begin, and end.
fn in_common(from: &[&str], to: &[&str]) -> (usize, usize) {
    let before = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let pairs = from[before..].iter().rev().zip(to[before..].iter().rev());
    (before, pairs.take_while(|(a, b)| a == b).count())
}

/// Lines that each text has once, in the order of both: the longest such sequence.
fn anchors(from: &[&str], to: &[&str]) -> Vec<(usize, usize)> {
    let (of_from, of_to) = (single_lines(from), single_lines(to));
    let place = |places: &HashMap<&str, Option<usize>>, line: &str| places.get(line).copied().flatten();
    let pairs = from.iter().filter_map(|line| Some((place(&of_from, line)?, place(&of_to, line)?)));
    longest_rising(&pairs.collect::<Vec<_>>())
}

/// Of each line: where it is, if only once.
fn single_lines<'t>(lines: &[&'t str]) -> HashMap<&'t str, Option<usize>> {
    let mut places = HashMap::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        places.entry(*line).and_modify(|place| *place = None).or_insert(Some(at));
    }
    places
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

/// The name around a place of a line, or that the place is right behind. It is empty between other characters.
fn name_at(line: &str, column: u32, columns: Columns) -> &str {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut counted = 0;
    let mut letters = line.char_indices();
    let at = letters.find_map(|(at, letter)| {
        let is_there = counted >= column as usize;
        counted += columns.width(letter);
        is_there.then_some(at)
    });
    let (before, after) = line.split_at(at.unwrap_or(line.len()));
    let start = before.trim_end_matches(is_of_name).len();
    let end = line.len() - after.trim_start_matches(is_of_name).len();
    &line[start..end]
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "use a;\n\nfn one() {}\n\nfn two() {}\n\nfn three() {}\n";

    fn shift(from: &str, to: &str, place: (u32, u32), columns: Columns, edge: Edge) -> Shifted {
        Shift::between(&from.into(), &to.into()).place(place, columns, edge)
    }

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

    #[test]
    fn names_are_where_the_same_names_are() {
        let name = |to: &str, place| Shift::between(&FROM.into(), &to.into()).name(place, Columns::Utf16);
        let moved = FROM.replace("fn two", "/* é */ fn two");
        // At the first letter, within the name, and right behind it.
        assert_eq!([3, 4, 6].map(|column| name(&moved, (4, column))), [11, 12, 14].map(|column| Some((4, column))));
        for other in ["fn three() {}\r", "fn two_() {}", "fn xtwo() {}", "fn () {}"] {
            let replaced = FROM.replace("fn two() {}", other);
            assert_eq!([3, 6].map(|column| name(&replaced, (4, column))), [None, None], "{other}");
            // The name before it, and that of another line.
            assert_eq!(name(&replaced, (4, 0)), Some((4, 0)), "{other}");
            assert_eq!(name(&replaced, (6, 3)), Some((6, 3)), "{other}");
        }
        assert_eq!(name(FROM, (99, 3)), Some((99, 3)));
    }

    #[test]
    fn lines_end_with_either_line_end() {
        let lines = Lines::of(&"a\r\nb\n\nc\r".into());
        assert_eq!(lines.texts(), "a\r\nb\n\nc\r".lines().collect::<Vec<_>>());
        assert_eq!((lines.get(1), lines.get(4)), (Some("b"), None));
        assert!(Lines::of(&"".into()).texts().is_empty());
    }
}
