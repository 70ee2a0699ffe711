package org.fulgurite.rdf4j.queries;

import java.util.ArrayList;
import java.util.List;
import org.eclipse.rdf4j.query.algebra.Join;
import org.eclipse.rdf4j.query.algebra.Service;
import org.eclipse.rdf4j.query.algebra.StatementPattern;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.algebra.helpers.TupleExprs;

/**
 * What a tree of joins joins, in its order, for one pass. Patterns that follow each other are taken together, for a
 * {@link PatternJoin}.
 */
final class JoinParts {
    private final Join join;
    private final List<TupleExpr> parts = new ArrayList<>();
    private int at;

    private JoinParts(Join join) {
        this.join = join;
    }

    /**
     * Returns the parts of a join. Returns null if a part has to be evaluated without the values of the parts before it,
     * or for all of them at once, or if no patterns follow each other.
     */
    static JoinParts of(Join join) {
        JoinParts parts = new JoinParts(join);
        return parts.collect(join.getLeftArg()) && parts.collect(join.getRightArg()) && parts.havePatternsInSuccession()
                ? parts
                : null;
    }

    private boolean collect(TupleExpr part) {
        if (part instanceof Service || TupleExprs.isVariableScopeChange(part) || TupleExprs.containsSubquery(part)) {
            return false;
        }
        if (part instanceof Join) {
            Join inner = (Join) part;
            return collect(inner.getLeftArg()) && collect(inner.getRightArg());
        }
        return parts.add(part);
    }

    private boolean havePatternsInSuccession() {
        for (int index = 1; index < parts.size(); index++) {
            if (isJoined(parts.get(index - 1)) && isJoined(parts.get(index))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isJoined(TupleExpr part) {
        return part instanceof StatementPattern && PatternJoin.joins((StatementPattern) part);
    }

    /** Notes that the joins of these parts are no merge joins: the order of the parts' results is not kept. */
    void forgetOrder() {
        forgetOrder(join);
    }

    private static void forgetOrder(TupleExpr part) {
        if (part instanceof Join) {
            Join inner = (Join) part;
            inner.setMergeJoin(false);
            forgetOrder(inner.getLeftArg());
            forgetOrder(inner.getRightArg());
        }
    }

    boolean hasNext() {
        return at < parts.size();
    }

    /** Takes the patterns up to the next other part. There are none if the next part is another one. */
    List<StatementPattern> nextPatterns() {
        List<StatementPattern> patterns = new ArrayList<>();
        while (hasNext() && isJoined(parts.get(at))) {
            patterns.add((StatementPattern) parts.get(at++));
        }
        return patterns;
    }

    /** Takes the next part. */
    TupleExpr next() {
        return parts.get(at++);
    }
}
