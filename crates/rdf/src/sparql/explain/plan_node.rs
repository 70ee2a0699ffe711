//! [`PlanNode`]: an operator of an explanation.

use std::fmt;

/// One operator of a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanNode {
    /// The operator, with its variables and terms. A variable that the text does not name is `[]`.
    pub name: String,
    /// The rows that the planner expects after it, for triple patterns and paths.
    pub estimated_rows: Option<f64>,
    /// The rows that it returned in total, if the query was evaluated.
    pub rows: Option<u64>,
    /// The input operators.
    pub children: Vec<PlanNode>,
}

impl PlanNode {
    /// Writes the operator and its inputs, one a line, each below the one that it is an input of.
    pub(crate) fn write(&self, out: &mut fmt::Formatter<'_>, level: usize) -> fmt::Result {
        write!(out, "{:1$}{2}", "", 2 * level, self.name)?;
        if let Some(estimated) = self.estimated_rows {
            write!(out, "  estimated {}", rounded(estimated))?;
        }
        if let Some(rows) = self.rows {
            write!(out, "  actual {rows}")?;
        }
        writeln!(out)?;
        self.children.iter().try_for_each(|child| child.write(out, level + 1))
    }

    /// Returns the operators of the plan, each before its children.
    pub fn nodes(&self) -> Vec<&PlanNode> {
        let mut nodes = vec![self];
        for child in &self.children {
            nodes.extend(child.nodes());
        }
        nodes
    }
}

impl PlanNode {
    /// As of a query that was not evaluated.
    pub(crate) fn without_rows(self) -> Self {
        let children = self.children.into_iter().map(Self::without_rows).collect();
        Self { rows: None, children, ..self }
    }
}

fn rounded(rows: f64) -> String {
    if rows < 10.0 { format!("{rows:.1}") } else { format!("{rows:.0}") }
}
