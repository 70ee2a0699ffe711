package org.fulgurite.rdf4j;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.query.algebra.StatementPattern;
import org.eclipse.rdf4j.query.algebra.StatementPattern.Scope;
import org.eclipse.rdf4j.query.algebra.Var;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.EvaluationStatistics;
import org.fulgurite.rdf4j.internal.SailErrors;

/** Counts of patterns, for the order of joins. They are exact if an index has the pattern, and estimates otherwise. */
final class StoreStatistics extends EvaluationStatistics {
    private final FulguriteStore store;
    private final StoreView view;
    private final int kinds;

    StoreStatistics(FulguriteStore store, StoreView view, int kinds) {
        this.store = store;
        this.view = view;
        this.kinds = kinds;
    }

    @Override
    protected CardinalityCalculator createCardinalityCalculator() {
        return new CardinalityCalculator() {
            @Override
            public double getCardinality(StatementPattern pattern) {
                if (!view.isTransaction()) {
                    return count(view, pattern);
                }
                // What a transaction counts it has read, and may conflict with; an estimate is no reason for that.
                try (StoreView snapshot = SailErrors.convert(store::snapshot)) {
                    return count(snapshot, pattern);
                }
            }
        };
    }

    private double count(StoreView counted, StatementPattern pattern) {
        Value subject = constant(pattern.getSubjectVar());
        Value predicate = constant(pattern.getPredicateVar());
        Value object = constant(pattern.getObjectVar());
        Value context = constant(pattern.getContextVar());
        if (isNot(subject, Resource.class) || isNot(predicate, IRI.class) || isNot(context, Resource.class)) {
            return 0;
        }
        Resource[] contexts = context == null ? new Resource[0] : new Resource[] {(Resource) context};
        boolean isOfNamed = context == null && pattern.getScope() == Scope.NAMED_CONTEXTS;
        long count = SailErrors.convert(() -> {
            QuadPattern quads =
                    new QuadPattern(counted, (Resource) subject, (IRI) predicate, object, kinds, contexts);
            return isOfNamed ? quads.estimatedCountOfNamed() : quads.estimatedCount();
        });
        return count;
    }

    private static boolean isNot(Value value, Class<?> kind) {
        return value != null && !kind.isInstance(value);
    }

    private static Value constant(Var variable) {
        return variable == null ? null : variable.getValue();
    }
}
