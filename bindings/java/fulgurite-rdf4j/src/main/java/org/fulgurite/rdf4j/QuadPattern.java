package org.fulgurite.rdf4j;

import java.util.function.LongUnaryOperator;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.values.StoredValue;

/** A pattern of statements as ids in one view. */
final class QuadPattern {
    /** Explicit and inferred statements. */
    static final int ALL = 0;

    /** Explicit statements. */
    static final int EXPLICIT = 1;

    /** Inferred statements. */
    static final int INFERRED = 2;

    private static final long[] ALL_GRAPHS = {IdRows.ANY_GRAPH};

    /** Instead of the column by which statements are sorted. */
    private static final int UNORDERED = -1;

    final StoreView view;
    final Resource subjectValue;
    final IRI predicateValue;
    final Value objectValue;

    /** The object of all statements; null if it is not given, or the store may have it in another form. */
    final Value sameObject;

    /** The named graph of all statements; null if it is not given. */
    final Resource sameContext;

    final long subject;
    final long predicate;
    final long object;
    final long[] graphs;
    final Resource[] contexts;
    final int kinds;

    /** Whether the view has all terms of the pattern. */
    final boolean isPossible;

    QuadPattern(StoreView view, Resource subject, IRI predicate, Value object, int kinds, Resource... contexts) {
        this.view = view;
        this.subjectValue = subject;
        this.predicateValue = predicate;
        this.objectValue = object;
        this.sameObject = object != null && isStoredAsGiven(view, object) ? object : null;
        this.sameContext = contexts.length == 1 ? contexts[0] : null;
        this.kinds = kinds;
        this.contexts = contexts;
        this.subject = id(view, subject);
        this.predicate = id(view, predicate);
        this.object = id(view, object);
        this.graphs = contexts.length == 0 ? ALL_GRAPHS : graphs(view, contexts);
        this.isPossible = this.subject != IdRows.UNKNOWN
                && this.predicate != IdRows.UNKNOWN
                && this.object != IdRows.UNKNOWN
                && graphs.length > 0;
        if (view.isTransaction() && (!isPossible || graphs.length < contexts.length)) {
            observe();
        }
    }

    /** Whether the view has a term in the form of this value. It may have a language in another case. */
    private static boolean isStoredAsGiven(StoreView view, Value value) {
        if (value instanceof StoredValue && view.scope().covers(((StoredValue) value).scope())) {
            return true;
        }
        return value.isIRI()
                || value.isBNode()
                || value.isLiteral() && ((Literal) value).getLanguage().isEmpty();
    }

    /** Notes the read, for terms and contexts that the transaction lacks: another transaction may add them. */
    private void observe() {
        if (contexts.length == 0) {
            PatternTerms.inAll(subjectValue, predicateValue, objectValue).observe(view);
        }
        for (Resource context : contexts) {
            PatternTerms.in(context, subjectValue, predicateValue, objectValue).observe(view);
        }
    }

    private static long id(StoreView view, Value value) {
        return value == null ? IdRows.ANY_TERM : view.id(value);
    }

    /** The ids of the contexts that the view has, each once. */
    private static long[] graphs(StoreView view, Resource[] contexts) {
        long[] found = new long[contexts.length];
        int count = 0;
        for (Resource context : contexts) {
            long id = context == null ? IdRows.DEFAULT_GRAPH : view.id(context);
            boolean isNew = context == null || id != IdRows.UNKNOWN;
            for (int index = 0; index < count; index++) {
                isNew &= found[index] != id;
            }
            if (isNew) {
                found[count++] = id;
            }
        }
        return java.util.Arrays.copyOf(found, count);
    }

    /** Reads one graph of the pattern, in any order: see {@link StoreView#open}. */
    long open(int graph, long[] rows) {
        return view.open(subject, predicate, object, graphs[graph], kinds, UNORDERED, rows);
    }

    /** Reads all graphs of the pattern together, in an order: see {@link StoreView#open}. */
    long openSorted(StatementOrder order, long[] rows) {
        return graphs.length == 1
                ? view.open(subject, predicate, object, graphs[0], kinds, order.ordinal(), rows)
                : view.openSorted(subject, predicate, object, graphs, kinds, order.ordinal(), rows);
    }

    /** Returns whether indexes have the statements in this order. */
    boolean supports(StatementOrder order) {
        if (isPossible) {
            for (long graph : graphs) {
                if (!view.sorts(subject, predicate, object, graph, kinds, order.ordinal())) {
                    return false;
                }
            }
        }
        return true;
    }

    long count() {
        return sum(graph -> view.count(subject, predicate, object, graph, kinds));
    }

    /** As {@link #estimatedCount}, of all named graphs instead of those of the pattern. */
    long estimatedCountOfNamed() {
        return isPossible ? view.estimatedCount(subject, predicate, object, IdRows.ANY_NAMED_GRAPH, kinds) : 0;
    }

    /** As {@link #count}, for an order of joins. Requires: the view is a snapshot. */
    long estimatedCount() {
        return sum(graph -> view.estimatedCount(subject, predicate, object, graph, kinds));
    }

    /** The sum of the counts of all graphs. */
    private long sum(LongUnaryOperator countOfGraph) {
        long sum = 0;
        if (isPossible) {
            for (long graph : graphs) {
                sum += countOfGraph.applyAsLong(graph);
            }
        }
        return sum;
    }
}
