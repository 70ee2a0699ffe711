package org.fulgurite.rdf4j;

import java.time.Duration;
import java.util.function.Supplier;
import org.eclipse.rdf4j.collection.factory.api.CollectionFactory;
import org.eclipse.rdf4j.collection.factory.impl.DefaultCollectionFactory;
import org.eclipse.rdf4j.collection.factory.mapdb.MapDb3CollectionFactory;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.transaction.QueryEvaluationMode;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.Dataset;
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.algebra.QueryRoot;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.algebra.evaluation.EvaluationStrategy;
import org.eclipse.rdf4j.query.algebra.helpers.QueryModelTreeToGenericPlanNode;
import org.eclipse.rdf4j.query.explanation.Explanation;
import org.eclipse.rdf4j.query.explanation.ExplanationImpl;
import org.eclipse.rdf4j.query.impl.EmptyBindingSet;
import org.eclipse.rdf4j.sail.SailException;

/** Queries, by RDF4J's own evaluation. */
final class QueryEvaluation {
    private final FulguriteStore store;

    QueryEvaluation(FulguriteStore store) {
        this.store = store;
    }

    CloseableIteration<? extends BindingSet> evaluate(
            StoreView view,
            TupleExpr query,
            Dataset dataset,
            BindingSet bindings,
            int kinds,
            QueryEvaluationMode mode) {
        EvaluationStrategy strategy = strategy(view, dataset, kinds);
        if (mode != null) {
            strategy.setQueryEvaluationMode(mode);
        }
        TupleExpr optimized = optimize(strategy, view, query, bindings, kinds);
        return evaluate(strategy, optimized);
    }

    private static CloseableIteration<? extends BindingSet> evaluate(EvaluationStrategy strategy, TupleExpr optimized) {
        try {
            return strategy.precompile(optimized).evaluate(EmptyBindingSet.getInstance());
        } catch (QueryEvaluationException error) {
            throw new SailException(error);
        }
    }

    private EvaluationStrategy strategy(StoreView view, Dataset dataset, int kinds) {
        ViewTripleSource triples = new ViewTripleSource(view, kinds);
        EvaluationStrategy strategy = store.getEvaluationStrategyFactory()
                .createEvaluationStrategy(dataset, triples, new StoreStatistics(store, view, kinds));
        strategy.setCollectionFactory(collections());
        strategy.setQueryEvaluationMode(store.getDefaultQueryEvaluationMode());
        if (store.isTrackResultSize()) {
            strategy.setTrackResultSize(true);
        }
        return strategy;
    }

    /** What keeps the rows that a query sorts or groups: memory, and above the threshold of the store a file. */
    Supplier<CollectionFactory> collections() {
        long threshold = store.getIterationCacheSyncThreshold();
        if (threshold <= 0) {
            return DefaultCollectionFactory::new;
        }
        return () -> {
            try {
                return new MapDb3CollectionFactory(threshold);
            } catch (NoClassDefFoundError missing) {
                throw new SailException(
                        "iterationCacheSyncThreshold is " + threshold + ", which needs a jar that is missing; add "
                                + "org.eclipse.rdf4j:rdf4j-collection-factory-mapdb3 to the class path, or set it to 0",
                        missing);
            }
        };
    }

    private TupleExpr optimize(
            EvaluationStrategy strategy, StoreView view, TupleExpr query, BindingSet bindings, int kinds) {
        TupleExpr copy = query.clone();
        if (!(copy instanceof QueryRoot)) {
            // Optimisers replace nodes, so each needs a parent.
            copy = new QueryRoot(copy);
        }
        try {
            return strategy.optimize(copy, new StoreStatistics(store, view, kinds), bindings);
        } catch (QueryEvaluationException error) {
            throw new SailException(error);
        }
    }

    Explanation explain(
            Explanation.Level level,
            StoreView view,
            TupleExpr query,
            Dataset dataset,
            BindingSet bindings,
            int kinds,
            int timeoutSeconds) {
        EvaluationStrategy strategy = strategy(view, dataset, kinds);
        boolean hasTimedOut = false;
        TupleExpr explained = query.clone();
        if (level != Explanation.Level.Unoptimized) {
            boolean isEvaluated = level != Explanation.Level.Optimized;
            strategy.setTrackResultSize(isEvaluated);
            strategy.setTrackTime(level == Explanation.Level.Timed);
            explained = optimize(strategy, view, query, bindings, kinds);
            hasTimedOut = isEvaluated && !evaluateAll(strategy, explained, timeoutSeconds);
        }
        QueryModelTreeToGenericPlanNode converter = new QueryModelTreeToGenericPlanNode(explained);
        explained.visit(converter);
        return new ExplanationImpl(converter.getGenericPlanNode(), hasTimedOut);
    }

    /** Evaluates a query and drops its results. Returns false if it did not end in time. */
    private static boolean evaluateAll(EvaluationStrategy strategy, TupleExpr query, int timeoutSeconds) {
        long deadline = System.nanoTime() + Duration.ofSeconds(timeoutSeconds).toNanos();
        try (CloseableIteration<? extends BindingSet> results = evaluate(strategy, query)) {
            while (results.hasNext()) {
                results.next();
                if (System.nanoTime() - deadline > 0) {
                    return false;
                }
            }
        }
        return true;
    }
}
