//! Suggestions for misspelled words.

/// The word that is nearest, if it is near enough: a third of its letters may be others, missing, too many or in the
/// wrong order.
pub(crate) fn nearest<'w>(written: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let written: Vec<char> = written.chars().flat_map(char::to_uppercase).take(LETTERS_MAX).collect();
    let near = |word: &'w str| {
        let letters: Vec<char> = word.chars().flat_map(char::to_uppercase).take(LETTERS_MAX).collect();
        let changes = distance(&written, &letters);
        (changes > 0 && 3 * changes <= letters.len().max(written.len())).then_some((changes, word))
    };
    words.filter_map(near).min_by_key(|(changes, _)| *changes).map(|(_, word)| word)
}

/// Longer words are compared by their beginnings.
const LETTERS_MAX: usize = 24;

/// Letters to change, add, take away or swap with their neighbours to make the one word of the other.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for row in 0..=left.len() {
        for column in 0..=right.len() {
            if row == 0 || column == 0 {
                rows[row][column] = row + column;
                continue;
            }
            let differs = usize::from(left[row - 1] != right[column - 1]);
            let mut least =
                (rows[row - 1][column - 1] + differs).min(1 + rows[row - 1][column].min(rows[row][column - 1]));
            let is_swapped =
                row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1];
            if is_swapped {
                least = least.min(rows[row - 2][column - 2] + 1);
            }
            rows[row][column] = least;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_slip_is_found_and_another_word_is_not() {
        let words = || ["SELECT", "WHERE", "OPTIONAL", "FILTER", "LIMIT", "AS", "BY"].into_iter();
        for (written, meant) in [("SELCT", "SELECT"), ("wehre", "WHERE"), ("OPTINAL", "OPTIONAL"), ("filtre", "FILTER")]
        {
            assert_eq!(nearest(written, words()), Some(meant));
        }
        for written in ["name", "x", "SELECT", "ORDER", "if"] {
            assert_eq!(nearest(written, words()), None, "{written}");
        }
    }
}
