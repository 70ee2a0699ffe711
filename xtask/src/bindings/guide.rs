//! Programs in the guides, which run as tests.

use std::path::Path;

use crate::bindings::library::failed;
use crate::command::Failure;

/// All blocks of code in a language, one after the other.
///
/// # Errors
/// If the document cannot be read or has no such block.
pub fn program(root: &Path, document: &str, language: &str) -> Result<String, Failure> {
    let path = root.join(document);
    let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
    let code = blocks(&text, language);
    if code.is_empty() {
        return Err(Failure::Failed(format!("{document}: no block of {language}")));
    }
    Ok(code)
}

/// The blocks of a document. Lines of others are empty, so that messages have the numbers of lines of the document.
fn blocks(text: &str, language: &str) -> String {
    let (mut code, mut is_inside, mut is_any) = (String::new(), false, false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_inside = !is_inside && line.trim_start_matches('`') == language;
            is_any |= is_inside;
            code.push('\n');
        } else {
            code.push_str(if is_inside { line } else { "" });
            code.push('\n');
        }
    }
    if is_any { code } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_language_stay_on_their_lines() {
        let text = "A.\n```c\nint a;\n```\n```console\n$ cc\n```\n```c\nint b;\n```\n";
        assert_eq!(blocks(text, "c"), "\n\nint a;\n\n\n\n\n\nint b;\n\n");
        assert_eq!(blocks(text, "go"), "");
    }
}
