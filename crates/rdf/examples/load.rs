//! Loads files of RDF into a new store, and says how fast: `load STORE FILE…`, or `load STORE generate:STATEMENTS` for
//! made-up ones.

use std::fmt::Write as _;
use std::io::{self, Read};

use fulgurite_rdf::{Error, LoadInput, LoadOptions, RdfFormat, Result, Store, StoreOptions};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or_else(usage)?;
    let inputs: Vec<LoadInput> = arguments
        .map(|name| match name.strip_prefix("generate:").map(str::parse) {
            Some(Ok(statements)) => Ok(LoadInput::reader(name, Generated::new(statements), RdfFormat::NTriples)),
            Some(Err(_)) => Err(usage()),
            None => Ok(LoadInput::file(name)),
        })
        .collect::<Result<_>>()?;
    let store = Store::open_or_create(&path, StoreOptions::new())?;
    let options = LoadOptions::new().progress(|progress| {
        let seconds = progress.elapsed.as_secs_f64();
        eprintln!("{:8.1} s  {:>10} statements  {}", seconds, progress.quads, progress.stage);
    });
    let report = store.load(inputs, &options)?;
    let stats = store.database().stats()?;
    let rate = report.read as f64 / report.elapsed.as_secs_f64();
    println!("{} statements, {} new, {} new terms", report.read, report.inserted, report.new_terms);
    println!("{:.2} s, {rate:.0} statements/s", report.elapsed.as_secs_f64());
    let used = stats.tree_bytes + stats.value_bytes;
    let each = report.inserted.max(1) as f64;
    println!(
        "{:.1} bytes of trees, {:.1} bytes of file per statement",
        used as f64 / each,
        stats.file_bytes as f64 / each
    );
    store.close()
}

fn usage() -> Error {
    Error::Invalid { message: "usage: load STORE (FILE | generate:STATEMENTS)…".into() }
}

/// N-Triples: ten statements for each subject, of a few predicates, with IRIs, names, numbers, dates and texts as
/// objects.
struct Generated {
    subjects: u64,
    next: u64,
    text: String,
    given: usize,
}

impl Generated {
    fn new(statements: u64) -> Self {
        Self { subjects: statements / 10, next: 0, text: String::new(), given: 0 }
    }

    fn subject(&mut self) {
        let number = self.next;
        self.next += 1;
        self.text.clear();
        self.given = 0;
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let other = |shift: u32| (mixed >> shift) % self.subjects;
        let base = "http://example.org";
        let xsd = "http://www.w3.org/2001/XMLSchema";
        let (year, month, day) = (1990 + number % 30, 1 + number % 12, 1 + number % 28);
        let objects = [
            ("type", format!("<{base}/class/{}>", mixed % 20)),
            ("name", format!("\"Person number {number}\"")),
            ("mail", format!("\"person{number}@example.org\"")),
            ("age", format!("\"{}\"^^<{xsd}#integer>", number % 90)),
            ("born", format!("\"{year:04}-{month:02}-{day:02}\"^^<{xsd}#date>")),
            ("knows", format!("<{base}/person/{}>", other(3))),
            ("likes", format!("<{base}/person/{}>", other(13))),
            ("worksFor", format!("<{base}/company/{}>", other(23) % 1000)),
            ("city", format!("\"City {}\"@en", other(33) % 5000)),
            ("height", format!("\"{}.{:02}\"^^<{xsd}#decimal>", 1 + number % 2, mixed % 100)),
        ];
        for (predicate, object) in objects {
            let written = writeln!(self.text, "<{base}/person/{number}> <{base}/terms#{predicate}> {object} .");
            written.expect("a string takes everything");
        }
    }
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            if self.next == self.subjects {
                return Ok(0);
            }
            self.subject();
        }
        let rest = &self.text.as_bytes()[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
