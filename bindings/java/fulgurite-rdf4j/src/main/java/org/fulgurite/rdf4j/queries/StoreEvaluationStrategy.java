package org.fulgurite.rdf4j.queries;

import java.util.List;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.Dataset;
import org.eclipse.rdf4j.query.algebra.ArbitraryLengthPath;
import org.eclipse.rdf4j.query.algebra.Join;
import org.eclipse.rdf4j.query.algebra.QueryModelNode;
import org.eclipse.rdf4j.query.algebra.StatementPattern;
import org.eclipse.rdf4j.query.algebra.StatementPattern.Scope;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.algebra.Var;
import org.eclipse.rdf4j.query.algebra.evaluation.QueryEvaluationStep;
import org.eclipse.rdf4j.query.algebra.evaluation.TripleSource;
import org.eclipse.rdf4j.query.algebra.evaluation.federation.FederatedServiceResolver;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.DefaultEvaluationStrategy;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.EvaluationStatistics;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.QueryEvaluationContext;
import org.eclipse.rdf4j.query.algebra.evaluation.iterator.JoinIterator;

/**
 * RDF4J's evaluation, except that patterns that follow each other in a join are joined by ids, and paths of one predicate
 * with a given end are searched by ids. A join that is to report the sizes of its parts is evaluated by RDF4J.
 */
final class StoreEvaluationStrategy extends DefaultEvaluationStrategy {
    private boolean isTracking;

    StoreEvaluationStrategy(
            TripleSource triples,
            Dataset dataset,
            FederatedServiceResolver resolver,
            long cacheThreshold,
            EvaluationStatistics statistics,
            boolean trackResultSize) {
        super(triples, dataset, resolver, cacheThreshold, statistics, trackResultSize);
        isTracking = trackResultSize;
    }

    @Override
    public void setTrackResultSize(boolean isTracking) {
        super.setTrackResultSize(isTracking);
        this.isTracking = isTracking;
    }

    @Override
    protected QueryEvaluationStep prepare(Join join, QueryEvaluationContext context) {
        if (isTracking || dataset != null || !(tripleSource instanceof JoinSource) || isOrdered(join)) {
            return super.prepare(join, context);
        }
        JoinSource source = (JoinSource) tripleSource;
        JoinParts parts = source.joins() ? JoinParts.of(join) : null;
        if (parts == null) {
            return super.prepare(join, context);
        }
        parts.forgetOrder();
        QueryEvaluationStep joined = null;
        while (parts.hasNext()) {
            List<StatementPattern> patterns = parts.nextPatterns();
            QueryEvaluationStep next = patterns.size() > 1
                    ? new PatternJoin(source, patterns, context)
                    : precompile(patterns.isEmpty() ? parts.next() : patterns.get(0), context);
            joined = joined == null ? next : join(joined, next);
        }
        return joined;
    }

    /** Whether a merge join may need the order of a join's results. */
    private static boolean isOrdered(Join join) {
        QueryModelNode parent = join.getParentNode();
        while (parent instanceof TupleExpr) {
            if (parent instanceof Join && ((Join) parent).isMergeJoin()) {
                return true;
            }
            parent = parent.getParentNode();
        }
        return false;
    }

    private static QueryEvaluationStep join(QueryEvaluationStep left, QueryEvaluationStep right) {
        return bindings -> JoinIterator.getInstance(left, right, bindings);
    }

    @Override
    protected QueryEvaluationStep prepare(ArbitraryLengthPath path, QueryEvaluationContext context) {
        QueryEvaluationStep general = super.prepare(path, context);
        IRI predicate = predicate(path);
        if (predicate == null || dataset != null || !(tripleSource instanceof PathSource)) {
            return general;
        }
        PathSource source = (PathSource) tripleSource;
        Var subject = path.getSubjectVar();
        Var object = path.getObjectVar();
        long minLength = path.getMinLength();
        return bindings -> {
            if (!staysUnbound(subject, bindings) && !staysUnbound(object, bindings)) {
                Value start = value(subject, bindings);
                Value end = value(object, bindings);
                boolean isForward = isNode(start) && (end == null || isNode(end));
                if (isForward || start == null && isNode(end)) {
                    PathReads reads = source.paths(predicate, isForward);
                    if (reads != null) {
                        return isForward
                                ? new PathNodes(
                                        reads, subject.getName(), start, object.getName(), end, minLength, bindings)
                                : new PathNodes(
                                        reads, object.getName(), end, subject.getName(), null, minLength, bindings);
                    }
                }
            }
            return general.evaluate(bindings);
        };
    }

    /** Returns the predicate of a path that has one predicate in all graphs; null for other paths. */
    static IRI predicate(ArbitraryLengthPath path) {
        if (!(path.getPathExpression() instanceof StatementPattern)) {
            return null;
        }
        StatementPattern step = (StatementPattern) path.getPathExpression();
        Value predicate = step.getPredicateVar().getValue();
        boolean isOfAllGraphs = path.getContextVar() == null
                && step.getContextVar() == null
                && path.getScope() == Scope.DEFAULT_CONTEXTS
                && step.getScope() == Scope.DEFAULT_CONTEXTS;
        boolean isOneStep = haveSameName(step.getSubjectVar(), path.getSubjectVar())
                && haveSameName(step.getObjectVar(), path.getObjectVar())
                && !haveSameName(path.getSubjectVar(), path.getObjectVar());
        return isOfAllGraphs && isOneStep && path.getMinLength() <= 1 && predicate instanceof IRI
                ? (IRI) predicate
                : null;
    }

    private static boolean haveSameName(Var left, Var right) {
        return left.getName().equals(right.getName());
    }

    private static boolean isNode(Value value) {
        return value != null && (value.isIRI() || value.isBNode());
    }

    /** The given value of an end; null if it is not given. */
    private static Value value(Var end, BindingSet bindings) {
        return end.hasValue() ? end.getValue() : bindings.getValue(end.getName());
    }

    /** Whether a variable must have no value in a solution. */
    private static boolean staysUnbound(Var variable, BindingSet bindings) {
        String name = variable.getName();
        return bindings.hasBinding(name) && bindings.getValue(name) == null;
    }
}
