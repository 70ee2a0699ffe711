//! Kinds of symbols as the protocol numbers them.

use lsp_types::SymbolKind;

/// The kind of the protocol that is nearest to a kind of an indexer.
pub fn kind(kind: &str) -> SymbolKind {
    match kind {
        "file" => SymbolKind::FILE,
        "module" | "crate" => SymbolKind::MODULE,
        "namespace" => SymbolKind::NAMESPACE,
        "package" | "package object" | "library" => SymbolKind::PACKAGE,
        "class" | "type class" | "singleton class" => SymbolKind::CLASS,
        "method"
        | "abstract method"
        | "static method"
        | "trait method"
        | "protocol method"
        | "method alias"
        | "type class method"
        | "pure virtual method"
        | "singleton method"
        | "method specification" => SymbolKind::METHOD,
        "property" | "static property" | "getter" | "setter" | "accessor" => SymbolKind::PROPERTY,
        "field" | "static field" | "static data member" | "member" => SymbolKind::FIELD,
        "constructor" => SymbolKind::CONSTRUCTOR,
        "enum" | "enumeration" => SymbolKind::ENUM,
        "interface" | "trait" | "protocol" | "mixin" => SymbolKind::INTERFACE,
        "function" | "func" | "macro" | "subroutine" => SymbolKind::FUNCTION,
        "constant" | "const" => SymbolKind::CONSTANT,
        "string" => SymbolKind::STRING,
        "number" => SymbolKind::NUMBER,
        "boolean" => SymbolKind::BOOLEAN,
        "array" => SymbolKind::ARRAY,
        "object" => SymbolKind::OBJECT,
        "key" => SymbolKind::KEY,
        "null" => SymbolKind::NULL,
        "enum member" | "enumerator" => SymbolKind::ENUM_MEMBER,
        "struct" | "union" | "type" | "type alias" | "typedef" => SymbolKind::STRUCT,
        "event" | "static event" => SymbolKind::EVENT,
        "operator" => SymbolKind::OPERATOR,
        "type parameter" => SymbolKind::TYPE_PARAMETER,
        _ => SymbolKind::VARIABLE,
    }
}
