//! Rules on words: links, names, paths, plain language, width of lines.

pub mod errors;
pub mod links;
pub mod machine_paths;
pub mod named_paths;
pub mod plain_words;
pub mod width;
pub mod words;
