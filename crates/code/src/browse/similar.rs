//! Names that are like one that does not exist.

/// The names that are most like `wanted`, the nearest first: at most three.
pub fn similar<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let limit = 2.max(wanted.chars().count() / 3);
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let wanted_last = last(wanted);
    let near = |name: &'n str| {
        let distance = distance(wanted, name, limit);
        // The same file in another directory is near, too.
        let is_elsewhere = wanted_last.len() > 1 && last(name) == wanted_last;
        distance.or(is_elsewhere.then_some(limit + 1)).map(|distance| (distance, name))
    };
    let mut nearest: Vec<(usize, &str)> = names.filter_map(near).collect();
    nearest.sort_unstable();
    nearest.dedup();
    nearest.into_iter().take(NAMES_MAX).map(|(_, name)| name.to_owned()).collect()
}

/// How many letters to insert, remove or replace. `None`, if more than `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, letter) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    Some(row[b.len()]).filter(|distance| *distance <= limit)
}

const NAMES_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_and_files_elsewhere_are_proposed() {
        let names = ["src/main.rs", "src/mein.rs", "other/deep/below/main.rs", "z"];
        let found = similar("src/maim.rs", names.into_iter());
        assert_eq!(found, ["src/main.rs", "src/mein.rs"]);
        assert_eq!(similar("main.rs", names.into_iter()), ["other/deep/below/main.rs", "src/main.rs"]);
        assert!(similar("xyz/abc/def", names.into_iter()).is_empty());
    }
}
