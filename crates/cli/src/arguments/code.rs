//! The arguments of the verbs of `fulgurite facts` for indexes of code. Doc comments are the help that users read.

use std::path::{Component, Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use fulgurite_code::INDEXER_NAMES;

use crate::arguments::facts_database::BackendArgument;
use crate::arguments::shared::{OutputFormat, parse_number};

/// Arguments of `facts index`.
#[derive(Args, Debug)]
pub struct Index {
    /// The directory with the sources.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub directory: PathBuf,
    /// The database file. If it exists, only what has changed is written, to FILE-increment.1 and so on.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "code.ful")]
    pub database: PathBuf,
    /// Read this SCIP file, which an indexer wrote for the directory, instead of running indexers. It may be compressed
    /// by gzip. A file that was cut off between two sources reads as a whole one. Repeat the option to read several
    /// files.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scip: Vec<PathBuf>,
    /// Read this SCIP file as --scip does. The indexer ran in SUBDIR, a directory below DIR: the paths in the file
    /// begin there.
    #[arg(long, num_args = 2, value_names = ["SUBDIR", "FILE"], value_hint = ValueHint::AnyPath)]
    pub scip_in: Vec<PathBuf>,
    /// Do not run this indexer, for example because it fails or is missing. Ctags finds the definitions of its
    /// languages.
    #[arg(long, value_name = "INDEXER", conflicts_with_all = ["scip", "scip_in"])]
    #[arg(value_parser = PossibleValuesParser::new(INDEXER_NAMES))]
    pub skip: Vec<String>,
    /// Leave out this file or directory. Its path begins at DIR. Indexers read it, but the index is without it. Repeat
    /// the option to leave out several.
    #[arg(long, value_name = "PATH", value_parser = parse_excluded)]
    pub exclude: Vec<String>,
    /// Write the whole index, not only what has changed.
    #[arg(long)]
    pub whole: bool,
    /// The backend of an index that is written whole. By default, that of the index that is there, or Fulgurite.
    /// Increments always use Fulgurite.
    #[arg(long, value_enum)]
    pub backend: Option<BackendArgument>,
}

impl Index {
    /// Whether it reads SCIP files instead of running indexers.
    pub fn reads_scip(&self) -> bool {
        !self.scip.is_empty() || !self.scip_in.is_empty()
    }

    /// The SCIP files, with the directories in which indexers ran, from the indexed directory on.
    pub fn scip_files(&self) -> Result<Vec<(&Path, String)>, String> {
        let mut files: Vec<(&Path, String)> = self.scip.iter().map(|path| (path.as_path(), String::new())).collect();
        for given in self.scip_in.chunks_exact(2) {
            let root = given[0].to_str().ok_or_else(|| "not in UTF-8".to_owned()).and_then(parse_inner);
            let root = root.and_then(|root| match root.is_empty() {
                true => Err(format!("{DIRECTORY_ITSELF}; read the file with --scip")),
                false => Ok(root),
            });
            let root = root.map_err(|error| format!("--scip-in {}: {error}", given[0].display()))?;
            files.push((&given[1], root));
        }
        Ok(files)
    }
}

/// An index of code.
#[derive(Args, Debug)]
pub struct IndexArgument {
    /// The database file that `facts index` wrote.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
}

/// Arguments of `facts symbols`.
#[derive(Args, Debug)]
pub struct Symbols {
    #[command(flatten)]
    pub index: IndexArgument,
    /// The path of the source file, from the indexed directory on.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Print local variables and parameters too.
    #[arg(long)]
    pub all: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts describe`, `facts definition` and `facts hierarchy`.
#[derive(Args, Debug)]
pub struct OfSymbol {
    #[command(flatten)]
    pub index: IndexArgument,
    /// A place, SOURCE:LINE:COLUMN or SOURCE:LINE; or a symbol or its name, such as Store::open. Columns are bytes,
    /// from 1 on.
    #[arg(value_name = "SYMBOL")]
    pub symbol: String,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts references`.
#[derive(Args, Debug)]
pub struct References {
    #[command(flatten)]
    pub of: OfSymbol,
    /// Print this many at most.
    #[arg(long, value_name = "N", value_parser = parse_number::<usize>)]
    pub limit: Option<usize>,
}

/// Arguments of `facts search`.
#[derive(Args, Debug)]
pub struct Search {
    #[command(flatten)]
    pub index: IndexArgument,
    /// A part of the name, in any case.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Print this many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = parse_number::<usize>)]
    pub limit: usize,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts diagnostics`.
#[derive(Args, Debug)]
pub struct Diagnostics {
    #[command(flatten)]
    pub index: IndexArgument,
    /// The path of a source file, from the indexed directory on. By default, all files.
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts lsp`.
#[derive(Args, Debug)]
pub struct Lsp {
    #[command(flatten)]
    pub index: IndexArgument,
    /// The directory with the sources. By default, the one that the editor opens.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
}

/// As [`parse_inner`], of a path that is not that of the directory itself.
fn parse_excluded(text: &str) -> Result<String, String> {
    let path = parse_inner(text)?;
    if path.is_empty() { Err(DIRECTORY_ITSELF.to_owned()) } else { Ok(path) }
}

/// A path from the indexed directory on, as the index has it. It is empty for the directory itself.
fn parse_inner(text: &str) -> Result<String, String> {
    let mut parts = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.extend(part.to_str()),
            _ => return Err("not a path that begins at the indexed directory and stays in it".to_owned()),
        }
    }
    Ok(parts.join("/"))
}

/// What is wrong with an empty path.
const DIRECTORY_ITSELF: &str = "the indexed directory itself";
