//! `facts shell`: queries, one line after the other.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use fulgurite_facts::{Expansion, FactDatabase, FactReader, Page, QueryLimits};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::database::reading;
use super::derived;
use crate::arguments::facts_files::Shell;
use crate::failure::Failure;
use crate::output::{counted, standard_output};
use crate::progress::time;

/// Answers lines until they end: edited ones at a terminal, or those of standard input.
pub fn run(arguments: &Shell) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        let bytes_max = arguments.bytes_max.map(|limit| (limit as usize) << 20);
        let mut session = Session::new(database, database.reader()?, bytes_max);
        if !io::stdin().is_terminal() {
            for line in io::stdin().lock().lines() {
                let line = line.map_err(|error| Failure::Message(format!("standard input: {error}")))?;
                if session.line(&line)? == Next::Quit {
                    break;
                }
            }
            return session.outcome();
        }
        let _ = writeln!(io::stderr(), "Write a query, or :help.");
        let failed = |error: ReadlineError| Failure::Message(format!("the terminal: {error}"));
        let mut editor = DefaultEditor::new().map_err(failed)?;
        loop {
            match editor.readline("facts> ") {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    if session.line(&line)? == Next::Quit {
                        return Ok(());
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
    })
}

/// Whether the shell goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Line,
    Quit,
}

struct Session<'d> {
    database: &'d FactDatabase,
    reader: FactReader,
    limit: usize,
    bytes_max: Option<usize>,
    time_max: Option<Duration>,
    profile: bool,
    expand: bool,
    /// The last query, and where it goes on.
    more: Option<(String, Vec<u8>)>,
    mistakes: u64,
}

impl<'d> Session<'d> {
    fn new(database: &'d FactDatabase, reader: FactReader, bytes_max: Option<usize>) -> Self {
        let (limit, time_max, profile, expand) = (RESULTS_PER_PAGE, None, false, false);
        Self { database, reader, limit, bytes_max, time_max, profile, expand, more: None, mistakes: 0 }
    }

    /// Does what a line says. Mistakes are printed, and the next line is read.
    fn line(&mut self, line: &str) -> Result<Next, Failure> {
        let line = line.trim();
        let done = match line.split_once(' ').map_or((line, ""), |(verb, rest)| (verb, rest.trim())) {
            ("", _) => Ok(()),
            (":quit" | ":q", _) => return Ok(Next::Quit),
            (":help" | ":h", _) => print(HELP),
            (":schema", name) => self.schema(name),
            (":stats", _) => self.stats(),
            (":more", _) => self.more(),
            (":limit", number) => self.set_limit(number),
            (":bytes", number) => self.set_bytes(number),
            (":timeout", seconds) => self.set_timeout(seconds),
            (":profile", word) => set(&mut self.profile, word),
            (":expand", word) => set(&mut self.expand, word),
            (verb, _) if verb.starts_with(':') => Err(Failure::Message(format!("unknown command {verb}; see :help"))),
            _ => self.ask(line, None),
        };
        match done {
            Err(output @ Failure::Output(_)) => Err(output),
            Err(failure) => {
                self.mistakes += 1;
                let _ = writeln!(io::stderr(), "{failure}");
                Ok(Next::Line)
            }
            Ok(()) => Ok(Next::Line),
        }
    }

    /// A script with mistakes has failed.
    fn outcome(&self) -> Result<(), Failure> {
        match self.mistakes {
            0 => Ok(()),
            count => Err(Failure::Message(format!("{} failed", counted(count, "line", "lines")))),
        }
    }

    fn ask(&mut self, query: &str, continuation: Option<&[u8]>) -> Result<(), Failure> {
        let begun = Instant::now();
        let (results_max, bytes_max, time_max) = (Some(self.limit), self.bytes_max, self.time_max);
        let limits = QueryLimits { results_max, bytes_max, time_max, ..QueryLimits::default() };
        let page = match continuation {
            None => self.reader.query(query, &limits)?,
            Some(continuation) => self.reader.continue_query(query, &limits, continuation)?,
        };
        let expansion = if self.expand { Expansion::RECURSIVE } else { Expansion::FLAT };
        let results = self.reader.print(&page, expansion)?;
        let mut text = String::new();
        for result in &results {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{result}");
        }
        print(&text)?;
        let more = match (&page.continuation, page.timed_out) {
            (None, _) => "",
            (Some(_), false) => "; :more for the next",
            (Some(_), true) => "; time is up, :more to go on",
        };
        let count = counted(results.len() as u64, "result", "results");
        let _ = writeln!(io::stderr(), "{count} in {}{more}", time(begun.elapsed()));
        self.print_profile(&page);
        self.more = page.continuation.clone().map(|continuation| (query.to_owned(), continuation));
        derived::report(self.database, &self.reader, &page)
    }

    fn print_profile(&self, page: &Page) {
        for (predicate, count) in page.searched.iter().filter(|_| self.profile) {
            let (name, facts) = (self.database.schema().name_of(*predicate), counted(*count, "fact", "facts"));
            let _ = writeln!(io::stderr(), "{name}: {facts} searched");
        }
    }

    fn more(&mut self) -> Result<(), Failure> {
        match self.more.take() {
            Some((query, continuation)) => self.ask(&query, Some(&continuation)),
            None => Err(Failure::Message("there are no more results; write a query first".into())),
        }
    }

    fn schema(&self, name: &str) -> Result<(), Failure> {
        let schema = self.database.schema();
        let mut text = String::new();
        for predicate in schema.predicates().iter().filter(|predicate| predicate.name.contains(name)) {
            let (key, value) = (schema.type_text(&predicate.key), schema.type_text(&predicate.value));
            let value = if predicate.value.is_unit() { String::new() } else { format!(" -> {value}") };
            let _ = writeln!(text, "{} : {key}{value}", predicate.full_name());
        }
        match text.is_empty() {
            true => Err(Failure::Message(format!("no predicate has {name} in its name"))),
            false => print(&text),
        }
    }

    fn stats(&self) -> Result<(), Failure> {
        let mut text = String::new();
        for (predicate, statistics) in self.reader.snapshot().statistics()? {
            let facts = counted(statistics.count, "fact", "facts");
            let _ = writeln!(text, "{}: {facts}", self.database.schema().name_of(predicate));
        }
        print(&text)
    }

    fn set_limit(&mut self, number: &str) -> Result<(), Failure> {
        let parsed = number.parse().ok().filter(|limit| *limit > 0);
        self.limit = parsed.ok_or_else(|| Failure::Message(":limit takes a number, 1 or more".into()))?;
        Ok(())
    }

    fn set_bytes(&mut self, number: &str) -> Result<(), Failure> {
        self.bytes_max = match number {
            "off" => None,
            number => {
                let parsed = number.parse::<usize>().ok().filter(|limit| (1..=BYTES_MAX_MIB).contains(limit));
                let wrong = || Failure::Message(":bytes takes MiB, from 1 to 1048576, or off".into());
                Some(parsed.ok_or_else(wrong)? << 20)
            }
        };
        Ok(())
    }

    fn set_timeout(&mut self, seconds: &str) -> Result<(), Failure> {
        self.time_max = match seconds {
            "off" => None,
            seconds => {
                let parsed = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let parsed = parsed.filter(|time| *time >= TIMEOUT_MIN);
                Some(parsed.ok_or_else(|| Failure::Message(":timeout takes seconds, 0.01 or more, or off".into()))?)
            }
        };
        Ok(())
    }
}

fn set(setting: &mut bool, word: &str) -> Result<(), Failure> {
    *setting = match word {
        "on" => true,
        "off" => false,
        _ => return Err(Failure::Message(":profile and :expand take on or off".into())),
    };
    Ok(())
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = standard_output();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// As `--timeout` of `facts query`: in less time, a page may not get on.
const TIMEOUT_MIN: Duration = Duration::from_millis(10);
/// The most that `--bytes-max` allows.
const BYTES_MAX_MIB: usize = 1 << 20;
/// So many results a page has at first.
const RESULTS_PER_PAGE: usize = 100;

const HELP: &str = "\
A line is a query in Angle, or one of:
:schema [NAME]    the predicates, or those with NAME in their names
:stats            how many facts each predicate has
:more             the next page of the last query
:limit N          results on a page; at first 100
:bytes N|off      end a page with the result that brings its keys and values to N MiB
:timeout S|off    end a page after S seconds
:profile on|off   how many facts of each predicate a query searches
:expand on|off    the facts that results refer to
:quit             end
";
