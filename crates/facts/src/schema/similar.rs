//! "Did you mean": the nearest of the names that exist.

/// A hint with the name nearest to `wanted`, or `otherwise` if none is near.
pub fn did_you_mean<'a>(wanted: &str, names: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    // Two letters may be wrong, and in a long name a third of them. What is before the dot is often the same.
    let letters = wanted.rsplit('.').next().unwrap_or(wanted).chars().count();
    let limit = if letters < 3 { 1 } else { 2.max(letters / 3) };
    let nearest = names.map(|name| (distance(wanted, name), name)).filter(|(distance, _)| *distance <= limit).min();
    match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => otherwise.to_owned(),
    }
}

/// How many letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, distance};

    #[test]
    fn the_nearest_name_is_proposed_if_one_is_near() {
        assert_eq!((distance("", "abc"), distance("kitten", "sitting"), distance("a", "a")), (3, 3, 0));
        let names = ["cxx1.Name", "cxx1.Names", "src.File"];
        assert_eq!(did_you_mean("cxx1.Nane", names.into_iter(), "-"), "did you mean `cxx1.Name`?");
        assert_eq!(did_you_mean("prim.nope", ["prim.size"].into_iter(), "-"), "-");
        assert_eq!(did_you_mean("prim.sise", ["prim.size"].into_iter(), "-"), "did you mean `prim.size`?");
        assert_eq!(did_you_mean("python.Module", names.into_iter(), "-"), "-");
    }
}
