//! What SCIP says beside definitions, references and descriptions, as [`Details`].

use scip::types;

use crate::model::details::{Details, Diagnostic, DiagnosticTag, Severity, Signature, SymbolRole, Tool};
use crate::model::{Occurrence, Role, Span};
use crate::scip::names::{role, symbol_in, words};
use crate::scip::ranges::spans;

/// The indexer. `None`, if the metadata do not say anything.
pub fn tool(read: types::Metadata) -> Option<Tool> {
    let text_encoding = match read.text_document_encoding.enum_value() {
        Ok(types::TextEncoding::UTF8) => "utf8",
        Ok(types::TextEncoding::UTF16) => "utf16",
        Ok(types::TextEncoding::UnspecifiedTextEncoding) | Err(_) => "",
    };
    let info = read.tool_info.into_option().unwrap_or_default();
    let tool = Tool {
        name: info.name,
        version: info.version,
        arguments: info.arguments,
        project_root: read.project_root,
        text_encoding: text_encoding.to_owned(),
    };
    (tool != Tool::default()).then_some(tool)
}

/// Adds what an occurrence says. Its spans are counted in the columns of the document.
pub fn occurrence(details: &mut Details, read: &types::Occurrence, (span, extent): (Span, Option<Span>), path: &str) {
    let symbol = (!read.symbol.is_empty()).then(|| symbol_in(&read.symbol, path));
    if let (true, Ok(kind)) = (read.syntax_kind.value() != 0, read.syntax_kind.enum_value()) {
        details.highlights.push((span, words(&format!("{kind:?}"))));
    }
    let diagnostics = read.diagnostics.iter().map(|read| diagnostic(read, span, symbol.clone()));
    details.diagnostics.extend(diagnostics);
    let Some(symbol) = symbol else { return };
    let strongest = role(read.symbol_roles);
    for (bit, other, counted) in ROLES {
        if read.symbol_roles & bit as i32 != 0 && counted != Some(strongest) {
            details.roles.push((span, symbol.clone(), other));
        }
    }
    if !read.override_documentation.is_empty() {
        details.documentation.push((span, symbol.clone(), read.override_documentation.clone()));
    }
    if let (Some(extent), true) = (extent, strongest != Role::Definition) {
        details.enclosing.push((span, symbol, extent));
    }
}

fn diagnostic(read: &types::Diagnostic, span: Span, symbol: Option<String>) -> Diagnostic {
    let severity = match read.severity.enum_value() {
        Ok(types::Severity::Error) => Severity::Error,
        Ok(types::Severity::Warning) => Severity::Warning,
        Ok(types::Severity::Information) => Severity::Information,
        Ok(types::Severity::Hint) => Severity::Hint,
        Ok(types::Severity::UnspecifiedSeverity) | Err(_) => Severity::Unspecified,
    };
    let tags = read.tags.iter().filter_map(|tag| match tag.enum_value() {
        Ok(types::DiagnosticTag::Unnecessary) => Some(DiagnosticTag::Unnecessary),
        Ok(types::DiagnosticTag::Deprecated) => Some(DiagnosticTag::Deprecated),
        Ok(types::DiagnosticTag::UnspecifiedDiagnosticTag) | Err(_) => None,
    });
    let (code, message, source) = (read.code.clone(), read.message.clone(), read.source.clone());
    Diagnostic { span, severity, code, message, source, symbol, tags: tags.collect() }
}

/// Adds what the signature of a symbol says beside its text. `language` is that of the file. Occurrences with malformed
/// ranges are passed over: the rest of the index does not depend on them.
pub fn signature(details: &mut Details, read: &types::SymbolInformation, path: &str, language: &str) {
    let Some(signature) = read.signature_documentation.as_ref() else { return };
    let mut occurrences = Vec::with_capacity(signature.occurrences.len());
    for occurrence in &signature.occurrences {
        if let (false, Ok((span, extent))) = (occurrence.symbol.is_empty(), spans(occurrence)) {
            let symbol = symbol_in(&occurrence.symbol, path);
            occurrences.push(Occurrence { span, symbol, role: role(occurrence.symbol_roles), extent });
        }
    }
    let other = signature.language.to_lowercase();
    let language = (!other.is_empty() && other != language).then_some(other);
    if language.is_some() || !occurrences.is_empty() {
        details.signatures.push(Signature { symbol: symbol_in(&read.symbol, path), language, occurrences });
    }
}

/// The bits of roles, and the roles of occurrences that say the same. A definition has no stronger role.
const ROLES: [(types::SymbolRole, SymbolRole, Option<Role>); 6] = [
    (types::SymbolRole::Import, SymbolRole::Import, Some(Role::Import)),
    (types::SymbolRole::WriteAccess, SymbolRole::WriteAccess, Some(Role::Write)),
    (types::SymbolRole::ReadAccess, SymbolRole::ReadAccess, Some(Role::Read)),
    (types::SymbolRole::Generated, SymbolRole::Generated, None),
    (types::SymbolRole::Test, SymbolRole::Test, None),
    (types::SymbolRole::ForwardDefinition, SymbolRole::ForwardDefinition, Some(Role::Declaration)),
];
