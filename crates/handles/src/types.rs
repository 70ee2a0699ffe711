//! Names of the types of tables, as programs give them.

use fulgurite::keys::Type;

/// Returns the name of a type as typed tables store and compare it. The given one may have spaces. An empty name is
/// that of bytes. `option` is what the program calls the name.
///
/// # Errors
/// The reason, if no type has the name: tools and other languages could not read the table.
pub fn type_name(name: &str, option: &str) -> Result<String, String> {
    if name.is_empty() {
        return Ok(String::new());
    }
    match name.parse::<Type>() {
        Ok(parsed) => Ok(parsed.to_string()),
        Err(error) => Err(format!("{option}: {error}; the types are {}", Type::NAMES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_without_spaces() {
        for (given, stored) in [("", ""), ("bytes", "bytes"), (" ( u32, string ) ", "(u32,string)")] {
            assert_eq!(type_name(given, "key_type"), Ok(stored.to_owned()));
        }
    }

    #[test]
    fn a_name_of_no_type_is_refused_with_the_names_of_types() {
        for name in ["u46", " ", "u32 u32"] {
            let refused = type_name(name, "key_type").unwrap_err();
            assert!(refused.starts_with(&format!("key_type: `{name}` names no type")), "{refused}");
            assert!(refused.ends_with(&format!("; the types are {}", Type::NAMES)), "{refused}");
        }
    }
}
