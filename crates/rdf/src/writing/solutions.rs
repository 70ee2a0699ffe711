//! Solutions in a form of SPARQL results.

use std::io::{self, Write};
use std::sync::Arc;

use oxrdf::Variable;
use sparesults::{QueryResultsFormat, QueryResultsSerializer, QuerySolution, WriterSolutionsSerializer};

use super::{csv, results_xml};
use crate::error::{Error, Result};

/// Writes solutions.
pub enum SolutionsWriter<W: Write> {
    /// XML or CSV.
    Ours {
        is_xml: bool,
        variables: Arc<[Variable]>,
        out: W,
        buffer: String,
    },
    Other(Box<WriterSolutionsSerializer<W>>),
}

impl<W: Write> SolutionsWriter<W> {
    /// Writes what comes before the first solution.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn new(format: QueryResultsFormat, variables: Arc<[Variable]>, out: W) -> Result<Self> {
        let is_xml = format == QueryResultsFormat::Xml;
        if !is_xml && format != QueryResultsFormat::Csv {
            let serializer = QueryResultsSerializer::from_format(format);
            let writer = serializer.serialize_solutions_to_writer(out, variables.to_vec()).map_err(output)?;
            return Ok(Self::Other(Box::new(writer)));
        }
        let mut buffer = String::new();
        match is_xml {
            true => results_xml::push_head(&variables, &mut buffer),
            false => csv::push_head(&variables, &mut buffer),
        }
        let mut out = out;
        out.write_all(buffer.as_bytes()).map_err(output)?;
        Ok(Self::Ours { is_xml, variables, out, buffer })
    }

    /// # Errors
    /// [`Error::Unwritable`], and nothing of the solution is written; [`Error::Output`].
    pub fn write(&mut self, solution: &QuerySolution) -> Result<()> {
        match self {
            Self::Other(writer) => writer.serialize(solution).map_err(output),
            Self::Ours { is_xml, variables, out, buffer } => {
                buffer.clear();
                match is_xml {
                    true => {
                        let bindings = solution.iter().map(|(variable, term)| (variable, term.as_ref()));
                        results_xml::push_solution(bindings, buffer)?;
                    }
                    false => {
                        let terms = variables.iter().map(|variable| solution.get(variable).map(|term| term.as_ref()));
                        csv::push_solution(terms, buffer);
                    }
                }
                out.write_all(buffer.as_bytes()).map_err(output)
            }
        }
    }

    /// Ends the document.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<W> {
        let mut out = match self {
            Self::Other(writer) => writer.finish().map_err(output)?,
            Self::Ours { is_xml, mut out, mut buffer, .. } => {
                if is_xml {
                    buffer.clear();
                    results_xml::push_end(&mut buffer);
                    out.write_all(buffer.as_bytes()).map_err(output)?;
                }
                out
            }
        };
        out.flush().map_err(output)?;
        Ok(out)
    }
}

fn output(source: io::Error) -> Error {
    Error::Output { source }
}
