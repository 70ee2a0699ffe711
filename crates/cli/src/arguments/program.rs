//! The program and its verbs.

use std::io::{ErrorKind, Write};

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "events")]
use crate::arguments::events;
#[cfg(feature = "facts")]
use crate::arguments::facts;
#[cfg(feature = "rdf")]
use crate::arguments::rdf;
use crate::arguments::verbs::{
    Backup, Changes, Check, Compact, Completions, Count, Del, Export, Get, Image, Import, Man, Put, Restore, Scan,
    Stats, Tables,
};

/// Read, change, load and check Fulgurite databases.
///
/// Data goes to standard output, messages and progress to standard error. Verbs that read change no file. put, import,
/// events append, rdf load, rdf update and rdf serve create a missing database or table only with --create.
///
/// Exit codes: 0 done, 1 failed, 2 arguments that cannot be parsed, 3 damaged or not a database, 4 locked by another
/// process, 5 internal error.
#[derive(Debug, Parser)]
#[command(name = "fulgurite", version, max_term_width = 100)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub struct Arguments {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Arguments {
    /// The arguments of this process. If they cannot be parsed, it prints why, and ends the process.
    pub fn of_process() -> Self {
        let parsed = with_negative_values(Self::command())
            .try_get_matches()
            .and_then(|matches| Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::command())));
        parsed.unwrap_or_else(|refused| {
            let printed = refused.print().and_then(|()| std::io::stdout().flush());
            // If the help is cut off, the command has failed, unless the reader of the output ended early.
            let is_cut_off = printed.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe);
            std::process::exit(if is_cut_off && !refused.use_stderr() { 1 } else { refused.exit_code() })
        })
    }
}

/// The command line with options that take negative numbers. Most refuse them, but as values: otherwise a number would
/// be taken for an unknown option, with the advice to write `--` before it.
fn with_negative_values(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.is_positional() {
        false if argument.get_action().takes_values() => argument.allow_negative_numbers(true),
        _ => argument,
    });
    command.mut_subcommands(with_negative_values)
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the tables, their types and sizes.
    Tables(Tables),
    /// Print the values of keys, one per line.
    Get(Get),
    /// Set the value of a key.
    Put(Put),
    /// Delete keys, or all keys that begin with a prefix.
    Del(Del),
    /// Print entries in key order.
    Scan(Scan),
    /// Count entries.
    Count(Count),
    /// Load entries from an NDJSON, CSV, TSV or binary file.
    Import(Import),
    /// Write entries to an NDJSON, CSV, TSV or binary file.
    Export(Export),
    /// Print what the bytes of the file are used for.
    Stats(Stats),
    /// Print the changes of each commit, in order.
    Changes(Changes),
    /// Verify every page, key and checksum.
    Check(Check),
    /// Remove unused space from the file.
    ///
    /// A few pages stay free for later changes.
    Compact(Compact),
    /// Copy a database to a new file. Another process may write to the database meanwhile.
    ///
    /// The copy is one compact file without a log. If another process has the database open for writing, the copy is of
    /// that process's newest checkpoint.
    Backup(Backup),
    /// Write a compressed image of a database. Another process may write to the database meanwhile.
    ///
    /// All verbs that read open an image in place, as they open a database. As with a backup, the image is of the
    /// newest checkpoint if another process has the database open for writing. With --squashfs, the image is a file
    /// system that Linux mounts, with the database in it.
    Image(Image),
    /// Make a database of an image, to change it.
    Restore(Restore),
    /// Append, read and follow events.
    #[cfg(feature = "events")]
    Events(events::Events),
    /// Create, write and query databases of facts about code.
    #[cfg(feature = "facts")]
    Facts(facts::Facts),
    /// Load, query, update and serve RDF stores.
    #[cfg(feature = "rdf")]
    Rdf(rdf::Rdf),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write the manual pages to a directory.
    Man(Man),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn negative_numbers_are_keys_and_values() {
        let arguments = Arguments::try_parse_from(["fulgurite", "put", "a.ful", "t", "-7", "-1.5"]).unwrap();
        let Verb::Put(put) = arguments.verb else { panic!("put was given") };
        assert_eq!((put.key_text.as_str(), put.value_text.as_str()), ("-7", "-1.5"));
    }

    #[test]
    fn negative_numbers_are_values_of_options_and_refused_as_such() {
        with_negative_values(Arguments::command()).debug_assert();
        let given = ["scan", "a.ful", "t", "--limit", "-1"];
        let arguments = std::iter::once("fulgurite").chain(given);
        let error = with_negative_values(Arguments::command()).try_get_matches_from(arguments).unwrap_err().to_string();
        assert!(error.contains("invalid value '-1' for '--limit <"), "{error}");
        assert!(!error.contains("-- -1"), "{error}");
    }

    #[test]
    fn deleting_a_prefix_needs_yes() {
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "--prefix", "x"]).is_err());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "--prefix", "x", "--yes"]).is_ok());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "x"]).is_ok());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t"]).is_err());
    }
}
