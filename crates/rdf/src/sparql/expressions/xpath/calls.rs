//! Calls of `REGEX` and `REPLACE` in the algebra, for the evaluator.
//!
//! | call | evaluated as |
//! |---|---|
//! | `REGEX` with a constant pattern that the crate `regex` matches alone | the evaluator's own `REGEX`, with the pattern as it is written for that crate |
//! | `REGEX` and `REPLACE` with constants otherwise | a function of one argument, which has the compiled pattern |
//! | the others | a function that keeps the patterns that it has compiled |
//!
//! Functions have names that are no IRIs, so no text can call them.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Literal, NamedNode, Term};
use spareval::QueryEvaluator;
use spargebra::Query;
use spargebra::algebra::{Expression, Function, GraphPattern};

use super::backtrack::Exhausted;
use super::engine::{CallError, Pattern, native};
use super::replacement::Replacement;
use crate::error::Error;
use crate::sparql::evaluation::interrupt;
use crate::sparql::parse::shape::{map_children, map_operands, map_pattern_of_query};

/// Compiled patterns that a function keeps.
const PATTERNS_MAX: usize = 32;

type Evaluate = Box<dyn Fn(&[Term]) -> Option<Term> + Send + Sync>;

/// The functions that a pattern calls after [`with_functions`].
#[derive(Default)]
pub(crate) struct Functions {
    functions: RefCell<Vec<(NamedNode, Evaluate)>>,
    written: RefCell<Vec<WrittenCall>>,
}

/// A call as the text has it.
#[derive(Clone, Debug)]
pub(crate) struct WrittenCall {
    /// The name of the function, or the evaluator's own pattern, that stands for it.
    pub name: String,
    /// `REGEX` or `REPLACE`.
    pub function: &'static str,
    /// The arguments that are constant, behind those that are not.
    pub arguments: String,
}

/// The pattern with the calls in their evaluated form.
pub(crate) fn with_functions(pattern: GraphPattern) -> (GraphPattern, Functions) {
    let functions = Functions::default();
    (functions.pattern(pattern), functions)
}

/// As [`with_functions`], of the pattern of a query.
pub(crate) fn with_functions_of_query(query: Query) -> (Query, Functions) {
    let functions = Functions::default();
    (map_pattern_of_query(query, &mut |pattern| functions.pattern(pattern)), functions)
}

impl Functions {
    /// The evaluator with these functions.
    pub(crate) fn register(self, evaluator: QueryEvaluator) -> QueryEvaluator {
        let functions = self.functions.into_inner().into_iter();
        functions.fold(evaluator, |evaluator, (name, evaluate)| evaluator.with_custom_function(name, evaluate))
    }

    /// The calls as the text has them.
    pub(crate) fn written(&self) -> Vec<WrittenCall> {
        self.written.borrow().clone()
    }

    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        map_children(pattern, &mut |inner| self.pattern(inner), &mut |expression| self.expression(expression))
    }

    fn expression(&self, expression: Expression) -> Expression {
        let mapped =
            map_operands(expression, &mut |inner| self.pattern(inner), &mut |operand| self.expression(operand));
        match mapped {
            Expression::FunctionCall(Function::Regex, arguments) => self.regex(arguments),
            Expression::FunctionCall(Function::Replace, arguments) => self.replace(arguments),
            other => other,
        }
    }

    fn regex(&self, mut arguments: Vec<Expression>) -> Expression {
        if let Some([pattern, flags]) = constants(&[arguments.get(1), arguments.get(2)]) {
            if let Some(native) = native(pattern, flags) {
                let constant = arguments.split_off(1);
                let native = Literal::from(native);
                self.note(native.to_string(), "REGEX", &constant);
                arguments.push(native.into());
                return Expression::FunctionCall(Function::Regex, arguments);
            }
            if let Ok(pattern) = Pattern::new(pattern, flags) {
                let constant = arguments.split_off(1);
                let evaluate = move |arguments: &[Term]| matches(&pattern, arguments.first()?);
                return self.call("REGEX", Box::new(evaluate), arguments, &constant);
            }
        }
        let patterns = Patterns::default();
        let evaluate = move |arguments: &[Term]| {
            let pattern = patterns.get(simple(arguments.get(1)?)?, flags(arguments.get(2))?)?;
            matches(&pattern, arguments.first()?)
        };
        self.call("REGEX", Box::new(evaluate), arguments, &[])
    }

    fn replace(&self, mut arguments: Vec<Expression>) -> Expression {
        let constant = constants(&[arguments.get(1), arguments.get(2), arguments.get(3)]);
        if let Some([pattern, replacement, flags]) = constant
            && let Ok(pattern) = Pattern::new(pattern, flags)
            && let Ok(replacement) = pattern.replacement(replacement)
        {
            let constant = arguments.split_off(1);
            let evaluate = move |arguments: &[Term]| replaced(&pattern, arguments.first()?, &replacement);
            return self.call("REPLACE", Box::new(evaluate), arguments, &constant);
        }
        let patterns = Patterns::default();
        let evaluate = move |arguments: &[Term]| {
            let pattern = patterns.get(simple(arguments.get(1)?)?, flags(arguments.get(3))?)?;
            let replacement = pattern.replacement(simple(arguments.get(2)?)?).ok()?;
            replaced(&pattern, arguments.first()?, &replacement)
        };
        self.call("REPLACE", Box::new(evaluate), arguments, &[])
    }

    fn call(
        &self,
        function: &'static str,
        evaluate: Evaluate,
        arguments: Vec<Expression>,
        constant: &[Expression],
    ) -> Expression {
        let mut functions = self.functions.borrow_mut();
        let name = NamedNode::new_unchecked(format!("pattern {}", functions.len()));
        self.note(name.as_str().to_owned(), function, constant);
        functions.push((name.clone(), evaluate));
        Expression::FunctionCall(Function::Custom(name), arguments)
    }

    fn note(&self, name: String, function: &'static str, constant: &[Expression]) {
        let arguments = constant.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        self.written.borrow_mut().push(WrittenCall { name, function, arguments });
    }
}

/// The strings, if all that there are, are constant. What is not there is empty: flags.
fn constants<'e, const N: usize>(arguments: &[Option<&'e Expression>; N]) -> Option<[&'e str; N]> {
    let mut strings = [""; N];
    for (string, argument) in strings.iter_mut().zip(arguments) {
        *string = match argument {
            None => "",
            Some(Expression::Literal(literal)) if literal.datatype() == xsd::STRING => literal.value(),
            Some(_) => return None,
        };
    }
    Some(strings)
}

/// The patterns that a function has compiled, the last used first.
#[derive(Default)]
struct Patterns(Mutex<Vec<Kept>>);

struct Kept {
    pattern: String,
    flags: String,
    compiled: Option<Arc<Pattern>>,
}

impl Patterns {
    /// `None` if it is not a pattern: that is kept, too.
    fn get(&self, pattern: &str, flags: &str) -> Option<Arc<Pattern>> {
        // What is compiled within panics nowhere, and is whole at any time.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.iter().position(|kept| kept.pattern == pattern && kept.flags == flags) {
            Some(0) => {}
            Some(place) => kept[..=place].rotate_right(1),
            None => {
                let compiled = Pattern::new(pattern, flags).ok().map(Arc::new);
                kept.truncate(PATTERNS_MAX - 1);
                kept.insert(0, Kept { pattern: pattern.to_owned(), flags: flags.to_owned(), compiled });
            }
        }
        kept[0].compiled.clone()
    }
}

/// The value of a string without a language.
fn simple(term: &Term) -> Option<&str> {
    match term {
        Term::Literal(literal) if literal.datatype() == xsd::STRING => Some(literal.value()),
        _ => None,
    }
}

/// The flags, which need not be there.
fn flags(term: Option<&Term>) -> Option<&str> {
    term.map_or(Some(""), simple)
}

/// A string, with a language or without.
fn string(term: &Term) -> Option<&Literal> {
    match term {
        Term::Literal(literal)
            if [xsd::STRING, rdf::LANG_STRING, rdf::DIR_LANG_STRING].contains(&literal.datatype()) =>
        {
            Some(literal)
        }
        _ => None,
    }
}

fn matches(pattern: &Pattern, text: &Term) -> Option<Term> {
    match pattern.is_match(string(text)?.value()) {
        Ok(is_match) => Some(Literal::from(is_match).into()),
        Err(exhausted) => give_up(exhausted),
    }
}

/// The result has the language of the text.
fn replaced(pattern: &Pattern, text: &Term, replacement: &Replacement) -> Option<Term> {
    let text = string(text)?;
    let replaced = match pattern.replaced(text.value(), replacement) {
        Ok(None) => return Some(text.clone().into()),
        Ok(Some(replaced)) => replaced,
        Err(CallError::Exhausted(exhausted)) => return give_up(exhausted),
        Err(_) => return None,
    };
    Some(Term::from(match (text.language(), text.direction()) {
        (None, _) => Literal::new_simple_literal(replaced),
        (Some(language), None) => Literal::new_language_tagged_literal_unchecked(replaced, language),
        (Some(language), Some(direction)) => {
            Literal::new_directional_language_tagged_literal_unchecked(replaced, language, direction)
        }
    }))
}

/// Ends the evaluation: SPARQL would take an error of the expression for false.
fn give_up(exhausted: Exhausted) -> Option<Term> {
    interrupt::fail(Error::PatternExhausted { steps: exhausted.steps });
    None
}
