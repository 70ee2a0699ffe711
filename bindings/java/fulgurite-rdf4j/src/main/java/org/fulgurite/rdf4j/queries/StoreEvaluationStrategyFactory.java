package org.fulgurite.rdf4j.queries;

import org.eclipse.rdf4j.query.Dataset;
import org.eclipse.rdf4j.query.algebra.evaluation.EvaluationStrategy;
import org.eclipse.rdf4j.query.algebra.evaluation.TripleSource;
import org.eclipse.rdf4j.query.algebra.evaluation.federation.FederatedServiceResolver;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.DefaultEvaluationStrategyFactory;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.EvaluationStatistics;

/** Creates {@link StoreEvaluationStrategy}, the default evaluation of a store. */
public final class StoreEvaluationStrategyFactory extends DefaultEvaluationStrategyFactory {
    public StoreEvaluationStrategyFactory(FederatedServiceResolver resolver) {
        super(resolver);
    }

    @Override
    public EvaluationStrategy createEvaluationStrategy(
            Dataset dataset, TripleSource triples, EvaluationStatistics statistics) {
        EvaluationStrategy strategy = new StoreEvaluationStrategy(
                triples,
                dataset,
                getFederatedServiceResolver(),
                getQuerySolutionCacheThreshold(),
                statistics,
                isTrackResultSize());
        getOptimizerPipeline().ifPresent(strategy::setOptimizerPipeline);
        return strategy;
    }
}
