//! The indexes of a store, by `triples.prop`: the order in which each has the four ids of a statement.

use std::path::Path;

use super::properties;
use crate::error::{Error, Result, damaged};

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its letters, such as `spoc`.
    pub name: String,
    /// For each id of a key the place in the statement: subject, predicate, object, context.
    pub places: [usize; 4],
}

/// Reads the indexes of a store whose statements have this version of their format. A store has at least one.
///
/// # Errors
/// [`Error::Read`], [`Error::Damaged`], [`Error::Unsupported`].
pub fn read(path: &Path, known: i32) -> Result<Vec<Index>> {
    let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => damaged(path, "it is missing"),
        std::io::ErrorKind::InvalidData => damaged(path, "it is not text"),
        _ => Error::Read { path: path.to_path_buf(), source },
    })?;
    let properties = properties::parse(&text);
    let value = |name: &str| properties.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match value("version").and_then(|version| version.trim().parse::<i32>().ok()) {
        Some(version) if version == known => {}
        Some(version) => {
            return Err(unsupported(path, format!("it has version {version} of the format of statements")));
        }
        None => return Err(damaged(path, "it has no version of the format")),
    }
    let names = value("triple-indexes").unwrap_or_default();
    let names = names.split([',', ' ', '\t']).filter(|name| !name.is_empty());
    let indexes = names.map(|name| {
        let index = Index::parse(&name.to_ascii_lowercase());
        index.ok_or_else(|| damaged(path, format!("`{name}` is not an index")))
    });
    let indexes = indexes.collect::<Result<Vec<_>>>()?;
    if indexes.is_empty() { Err(damaged(path, "it names no index")) } else { Ok(indexes) }
}

impl Index {
    fn parse(name: &str) -> Option<Self> {
        let places: Vec<usize> = name.chars().map(|letter| "spoc".find(letter)).collect::<Option<_>>()?;
        let places: [usize; 4] = places.try_into().ok()?;
        let is_whole = (0..4).all(|place| places.contains(&place));
        is_whole.then(|| Self { name: name.to_owned(), places })
    }
}

fn unsupported(path: &Path, found: String) -> Error {
    Error::Unsupported { path: path.to_path_buf(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_have_four_different_places() {
        assert_eq!(Index::parse("cspo").map(|index| index.places), Some([3, 0, 1, 2]));
        for name in ["", "spo", "spoo", "spocs", "spox", "spöc"] {
            assert_eq!(Index::parse(name), None, "{name}");
        }
    }
}
