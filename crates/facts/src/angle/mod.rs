//! The syntax of Angle: tokens, trees, and the parser.

pub mod diagnostic;
pub mod escapes;
pub mod lexer;
pub mod parser;
pub mod parser_pattern;
pub mod parser_schema;
pub mod parser_type;
pub mod source;
pub mod token;
pub mod tree;
