//! `facts serve`: serves databases of facts over HTTP until it is interrupted.

use std::io::Write;
use std::path::Path;

use fulgurite_code::LiveIndex;
use fulgurite_facts::FactDatabase;
use fulgurite_server::{FactServer, FactServerOptions, FactSource, ServedFacts};

use super::database::{explain_code, open, refuse_directory};
use crate::arguments::facts_serve::Serve;
use crate::commands::serving::{warn_if_open, with_serving};
use crate::failure::Failure;
use crate::notation::printable;

/// Opens all databases, and serves them.
pub fn run(arguments: &Serve) -> Result<(), Failure> {
    if arguments.files.len() > 1 && !arguments.base.is_empty() {
        let message = "--base is for one stacked database; serve the others by another process";
        return Err(Failure::Message(message.to_owned()));
    }
    let databases = arguments.files.iter().map(|path| {
        refuse_directory(path)?;
        Ok(match arguments.base.is_empty() {
            true => ServedFacts::new(name_of(path), Index(LiveIndex::open(path).map_err(explain_code)?)),
            false => ServedFacts::new(name_of(path), open(path, &arguments.base)?),
        })
    });
    serve(databases.collect::<Result<_, Failure>>()?, arguments)
}

/// A database without a base: an index of code may get incremental databases, or be replaced, while it is served.
struct Index(LiveIndex);

impl FactSource for Index {
    fn database(&self) -> Result<FactDatabase, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.database()?)
    }
}

fn serve(databases: Vec<ServedFacts>, arguments: &Serve) -> Result<(), Failure> {
    let failed = |error: fulgurite_server::Error| Failure::Message(error.to_string());
    let first = arguments.files.first().map(|path| name_of(path)).unwrap_or_default();
    let server = FactServer::bind(databases, &arguments.bind, options(arguments)).map_err(failed)?;
    let (address, mut out) = (server.address(), std::io::stderr().lock());
    let paths: Vec<String> = arguments.files.iter().map(|path| path.display().to_string()).collect();
    let _ = writeln!(out, "serving {} at http://{address}/ (read-only); Ctrl-C stops it", printable(&paths.join(", ")));
    warn_if_open(&mut out, address, "read");
    let _ = writeln!(
        out,
        "try: curl 'http://{address}/predicateStats?repo={}', or open http://{address}/ in a browser",
        percent_encoded(&first)
    );
    drop(out);
    server.run().map_err(failed)?;
    let _ = writeln!(std::io::stderr(), "stopped");
    Ok(())
}

/// A text as the value of a parameter of a URL, which is also safe within quotes of a shell.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn options(arguments: &Serve) -> FactServerOptions {
    let options = FactServerOptions::new()
        .timeout(arguments.timeout)
        .results_max(arguments.results_max as usize)
        .bytes_max((arguments.bytes_max as usize) << 20)
        .memory_bytes_max((arguments.memory_max as usize) << 20)
        .body_bytes_max((arguments.body_max as usize) << 20);
    with_serving!(options, arguments.serving)
}

/// The name of a database for clients: that of its file without the extension.
fn name_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::percent_encoded;

    #[test]
    fn names_are_encoded_for_a_parameter_in_quotes() {
        assert_eq!(percent_encoded("my code&'é-1.2_~"), "my%20code%26%27%C3%A9-1.2_~");
    }
}
