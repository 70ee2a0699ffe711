//! Programs in the guides, which run as tests.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::bindings::library::failed;
use crate::command::Failure;
use crate::launch::judge;
use crate::workspace::{shown, target};

/// All blocks of code in a language, one after the other.
///
/// # Errors
/// If the document cannot be read or has no such block.
pub fn program(root: &Path, document: &str, language: &str) -> Result<String, Failure> {
    let code = blocks(&read(root, document)?, language);
    if code.is_empty() {
        return Err(Failure::Failed(format!("{document}: no block of {language}")));
    }
    Ok(code)
}

/// The commands by which a document builds its program in a language, for a shell in any directory.
///
/// # Errors
/// If the document cannot be read or has no such command.
pub fn script(root: &Path, document: &str, language: &str) -> Result<String, Failure> {
    let commands = commands(&read(root, document)?, language);
    if commands.is_empty() {
        return Err(Failure::Failed(format!("{document}: no command before the first block of {language}")));
    }
    let (target, root) = (target(root), root.display().to_string());
    Ok(commands.replace("$PWD/target", &target.to_string_lossy()).replace("/path/to/fulgurite", &root))
}

/// Runs a command, and returns what it prints to standard output. If it fails, that is printed.
///
/// # Errors
/// If it cannot be run, or fails.
pub fn run(mut command: Command) -> Result<String, Failure> {
    let shown = shown(&command);
    eprintln!("$ {shown}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::Failed(format!("`{shown}` cannot start: {error}")))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprint!("{printed}");
    }
    judge(&shown, output.status)?;
    Ok(printed)
}

/// Compares what the program of a document has printed with what the document says that it prints: the block of text
/// after a line that ends with `program prints:`.
///
/// # Errors
/// If they differ, the document has no such block, or it cannot be read.
pub fn compare(root: &Path, document: &str, printed: &str) -> Result<(), Failure> {
    let reason = match output(&read(root, document)?) {
        Some(output) if output == printed => return Ok(()),
        Some(_) => format!("{document} does not have what its program prints:\n{printed}"),
        None => format!("{document}: no block of text after `program prints:`"),
    };
    Err(Failure::Failed(reason))
}

fn output(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("program prints:\n\n```text\n")?;
    let end = if after.starts_with("```\n") { 0 } else { after.find("\n```\n")? + 1 };
    Some(&after[..end])
}

fn read(root: &Path, document: &str) -> Result<String, Failure> {
    let path = root.join(document);
    std::fs::read_to_string(&path).map_err(|error| failed(&path, error))
}

/// The commands before the first block of a language. The step that runs them has done what those of cargo do.
fn commands(text: &str, language: &str) -> String {
    let before = text.split(&format!("```{language}\n")).next().unwrap_or_default();
    let commands = before.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.filter(|command| !command.starts_with("cargo ")).map(|command| format!("{command}\n")).collect()
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

    #[test]
    fn the_output_of_a_program_is_the_block_after_the_line_that_announces_it() {
        let text = "```text\nother\n```\nThe program prints:\n\n```text\na\n\nb\n```\n\n```text\nc\n```\n";
        assert_eq!(output(text), Some("a\n\nb\n"));
        assert_eq!(output("The program prints:\n\n```text\n```\n"), Some(""));
        assert_eq!(output("The program prints:\n\n```console\n$ a\n```\n"), None);
    }

    #[test]
    fn the_commands_before_the_first_block_of_a_language_build_its_program() {
        let text = "```console\n$ cargo build\n$ cc a.c\nprinted\n```\n```c\nint a;\n```\n```console\n$ rm a\n```\n";
        assert_eq!(commands(text, "c"), "cc a.c\n");
    }
}
