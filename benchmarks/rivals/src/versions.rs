//! Versions of the engines that are crates, as the workspace's lock file has them.

/// The lock file that this program was built with.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// The version of `package` in the lock file, `unknown` if it has none.
#[cfg_attr(not(any(feature = "bf-tree", feature = "fjall", feature = "redb")), allow(dead_code))]
pub(crate) fn locked(package: &str) -> String {
    let name = format!("name = \"{package}\"");
    let mut lines = LOCK.lines().skip_while(|line| *line != name);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = ")).map(|text| text.trim_matches('"'));
    version.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_and_a_stranger_has_none() {
        assert!(locked("heed").starts_with("0.2"), "{}", locked("heed"));
        assert_eq!(locked("no such package"), "unknown");
    }
}
