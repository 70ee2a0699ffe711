//! [`Similar`]: names that are like one that does not exist.

/// Finds the names that are most like one that does not exist: names are added one after the other, and only the
/// nearest are kept. The time for each is bounded, because `WANTED_MAX` bounds the length of names that are compared.
pub struct Similar {
    wanted: Vec<char>,
    /// What follows the last slash.
    wanted_last: String,
    /// So many letters may differ.
    limit: usize,
    /// The nearest first, at most [`NAMES_MAX`].
    nearest: Vec<(usize, String)>,
    /// Memory for each name in turn.
    name: Vec<char>,
    row: Vec<usize>,
}

impl Similar {
    /// Begins. `None`, if `wanted` is empty, or too long to be a misspelt name.
    pub fn to(wanted: &str) -> Option<Self> {
        let letters: Vec<char> = wanted.chars().take(WANTED_MAX + 1).collect();
        (1..=WANTED_MAX).contains(&letters.len()).then(|| Self {
            // With two of three letters replaced, most short names would be near.
            limit: if letters.len() <= 3 { 1 } else { 2.max(letters.len() / 3) },
            wanted: letters,
            wanted_last: last(wanted).to_owned(),
            nearest: Vec::new(),
            name: Vec::new(),
            row: Vec::new(),
        })
    }

    /// Adds a name that exists.
    pub fn add(&mut self, name: &str) {
        let distance = match self.distance(name) {
            Some(distance) => distance,
            // The same file in another directory is near, too.
            None if self.wanted_last.len() > 1 && last(name) == self.wanted_last => self.limit + 1,
            None => return,
        };
        let place = self.nearest.partition_point(|(other, near)| (*other, near.as_str()) < (distance, name));
        let is_known = self.nearest.get(place).is_some_and(|(_, near)| near == name);
        if place < NAMES_MAX && !is_known {
            self.nearest.insert(place, (distance, name.to_owned()));
            self.nearest.truncate(NAMES_MAX);
        }
    }

    /// The nearest names, the nearest first: at most three.
    pub fn names(self) -> Vec<String> {
        self.nearest.into_iter().map(|(_, name)| name).collect()
    }

    /// How many letters to insert, remove or replace. `None`, if more than the limit.
    fn distance(&mut self, name: &str) -> Option<usize> {
        let (limit, row) = (self.limit, &mut self.row);
        if name.chars().count().abs_diff(self.wanted.len()) > limit {
            return None;
        }
        self.name.clear();
        self.name.extend(name.chars());
        row.clear();
        row.extend(0..=self.name.len());
        for (index, letter) in self.wanted.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], index + 1);
            let mut least = row[0];
            for (column, other) in self.name.iter().enumerate() {
                let replaced = diagonal + usize::from(letter != other);
                diagonal = row[column + 1];
                row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
                least = least.min(row[column + 1]);
            }
            // No later row has less.
            if least > limit {
                return None;
            }
        }
        Some(row[self.name.len()]).filter(|distance| *distance <= limit)
    }
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

const NAMES_MAX: usize = 3;
/// No name that a person types has more characters.
const WANTED_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(wanted: &str, names: &[&str]) -> Vec<String> {
        let Some(mut similar) = Similar::to(wanted) else { return Vec::new() };
        names.iter().for_each(|name| similar.add(name));
        similar.names()
    }

    #[test]
    fn near_names_and_files_elsewhere_are_proposed() {
        let names = ["src/main.rs", "src/mein.rs", "other/deep/below/main.rs", "z"];
        let found = similar("src/maim.rs", &names);
        assert_eq!(found, ["src/main.rs", "src/mein.rs"]);
        assert_eq!(similar("main.rs", &names), ["other/deep/below/main.rs", "src/main.rs"]);
        assert!(similar("xyz/abc/def", &names).is_empty());
    }

    #[test]
    fn the_three_nearest_names_are_proposed_once_each() {
        let names = ["abcxx", "abcd", "abcde", "abcx", "abcde", "abxxe", "abcd"];
        assert_eq!(similar("abcdf", &names), ["abcd", "abcde", "abcx"]);
        assert!(similar("", &["abc", "a"]).is_empty());
        assert_eq!(similar("put", &["at", "get", "puts", "pt"]), ["pt", "puts"]);
    }

    #[test]
    fn nothing_is_proposed_for_a_text_that_is_too_long_for_a_name() {
        let longest = "é".repeat(WANTED_MAX);
        assert_eq!(similar(&longest, &[&longest[2..]]), [&longest[2..]]);
        let longer = "é".repeat(WANTED_MAX + 1);
        assert!(similar(&longer, &[longest.as_str()]).is_empty());
    }
}
