//! `facts serve`: serves databases of facts over HTTP until it is interrupted.

use std::io::Write;
use std::path::Path;

use fulgurite_facts::FactDatabase;
use fulgurite_server::{FactServer, FactServerOptions, ServedFacts};

use super::database::open;
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
    let mut databases: Vec<ServedFacts> = Vec::new();
    let outcome = arguments.files.iter().try_for_each(|path| {
        databases.push(ServedFacts { name: name_of(path), database: open(path, &arguments.base)? });
        Ok(())
    });
    let outcome = outcome.and_then(|()| serve(databases.clone(), arguments));
    for served in databases {
        // Nothing was changed, so an error of closing loses nothing.
        let _ = FactDatabase::close(served.database);
    }
    outcome
}

fn serve(databases: Vec<ServedFacts>, arguments: &Serve) -> Result<(), Failure> {
    let failed = |error: fulgurite_server::Error| Failure::Message(error.to_string());
    let first = databases.first().map(|served| served.name.clone()).unwrap_or_default();
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
