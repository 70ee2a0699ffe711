package org.fulgurite.rdf4j;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.iteration.CloseableIteratorIteration;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Triple;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.algebra.evaluation.RDFStarTripleSource;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.Interrupts;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.queries.IdSet;
import org.fulgurite.rdf4j.queries.JoinSource;
import org.fulgurite.rdf4j.queries.PathReads;
import org.fulgurite.rdf4j.queries.PathSource;
import org.fulgurite.rdf4j.values.StoredTriple;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.TermSource;
import org.fulgurite.rdf4j.values.ValueCache;
import org.fulgurite.rdf4j.values.ValueGroup;

/** What RDF4J's evaluation reads: the statements of one view. */
final class ViewTripleSource implements RDFStarTripleSource, PathSource, JoinSource {
    /** The first byte of an id is the kind of its term. Kinds above this are literals. */
    private static final int TRIPLE = 4;

    private static final int SUBJECT = 0;
    private static final int OBJECT = 2;

    private final StoreView view;
    private final int kinds;

    ViewTripleSource(StoreView view, int kinds) {
        this.view = view;
        this.kinds = kinds;
    }

    @Override
    public CloseableIteration<? extends Statement> getStatements(
            Resource subject, IRI predicate, Value object, Resource... contexts) {
        return getStatements(null, subject, predicate, object, contexts);
    }

    @Override
    public CloseableIteration<? extends Statement> getStatements(
            StatementOrder order, Resource subject, IRI predicate, Value object, Resource... contexts) {
        try {
            return statements(pattern(subject, predicate, object, contexts), order);
        } catch (SailException error) {
            throw new QueryEvaluationException(error);
        }
    }

    /** RDF4J does not evaluate what depends on an empty iteration, so the first rows are fetched at once. */
    private CloseableIteration<? extends Statement> statements(QuadPattern pattern, StatementOrder order) {
        StatementIteration statements = new StatementIteration(pattern, order, QueryInterruptedException::new);
        // A transaction notes what it reads, and reads in an order may sort all rows: these wait until they are needed.
        boolean isFetched = order == null && !view.isTransaction();
        boolean isEmpty = !pattern.isPossible || isFetched && !statements.hasNext();
        return isEmpty ? EMPTY_ITERATION : statements;
    }

    /** Returns a result of the store. Its errors are those of an evaluation. */
    private static <T> T evaluated(Supplier<T> read) {
        try {
            return SailErrors.convert(read::get);
        } catch (SailException error) {
            throw new QueryEvaluationException(error);
        }
    }

    private QuadPattern pattern(Resource subject, IRI predicate, Value object, Resource... contexts) {
        return SailErrors.convert(() -> new QuadPattern(view, subject, predicate, object, kinds, contexts));
    }

    @Override
    public Set<StatementOrder> getSupportedOrders(
            Resource subject, IRI predicate, Value object, Resource... contexts) {
        Set<StatementOrder> orders = EnumSet.noneOf(StatementOrder.class);
        if (view.isSerializable()) {
            // A merge join reads whole ranges, and conflicts with every change in them.
            return orders;
        }
        // The dataset decides which graphs are read. An index that sorts the statements of all graphs also sorts those
        // of some.
        boolean isOfUnknownGraphs = isOfUnknownGraphs(contexts);
        QuadPattern pattern = isOfUnknownGraphs
                ? pattern(subject, predicate, object)
                : pattern(subject, predicate, object, contexts);
        for (StatementOrder order : StatementOrder.values()) {
            if (isOfUnknownGraphs && order == StatementOrder.C) {
                // The variable of the graph is unbound in the default graph, and RDF4J cannot merge unbound values.
                continue;
            }
            if (SailErrors.convert(() -> pattern.supports(order))) {
                orders.add(order);
            }
        }
        return orders;
    }

    /** Whether RDF4J asks for the orders of a pattern whose graph is a variable, or is the default graph by its IRI. */
    private static boolean isOfUnknownGraphs(Resource... contexts) {
        for (Resource context : contexts) {
            if (context == null || RDF4J.NIL.equals(context) || SESAME.NIL.equals(context)) {
                return true;
            }
        }
        return false;
    }

    /** The order of the indexes, which is that of the ids as unsigned numbers. */
    @Override
    public Comparator<Value> getComparator() {
        return (left, right) -> SailErrors.convert(() -> Long.compareUnsigned(view.id(left), view.id(right)));
    }

    @Override
    public CloseableIteration<? extends Triple> getRdfStarTriples(Resource subject, IRI predicate, Value object) {
        Set<Triple> found = new LinkedHashSet<>();
        if (!collectGiven(subject, predicate, object, found)
                && !(collectAt(SUBJECT, subject, predicate, object, found)
                        && collectAt(OBJECT, subject, predicate, object, found))) {
            collectFromAll(subject, predicate, object, found);
        }
        List<Triple> triples = new ArrayList<>(found);
        return new CloseableIteratorIteration<>(triples.iterator());
    }

    /** Looks up the only triple term that matches. Returns false if no statement has it, or others may match. */
    private boolean collectGiven(Resource subject, IRI predicate, Value object, Set<Triple> found) {
        if (subject == null || predicate == null || object == null || StoredTriple.isTriple(subject)) {
            return false;
        }
        Triple triple = getValueFactory().createTriple(subject, predicate, object);
        boolean isUsed = hasStatements(triple, null) || hasStatements(null, triple);
        if (isUsed) {
            found.add(triple);
        }
        return isUsed;
    }

    private boolean hasStatements(Resource subject, Value object) {
        try (CloseableIteration<? extends Statement> statements = getStatements(subject, null, object)) {
            return statements.hasNext();
        }
    }

    /** Reads the triple terms at a position of statements. Returns false if no index has them together. */
    private boolean collectAt(int position, Resource subject, IRI predicate, Value object, Set<Triple> found) {
        long[] ids = triples(position, (long) TRIPLE << 56);
        boolean hasMore = ids != null && ids.length > 0;
        while (hasMore) {
            ValueGroup read = ValueGroup.whole(view);
            List<Value> values = new ArrayList<>();
            for (long id : ids) {
                values.add(read.add(id));
            }
            values.forEach(value -> collect(value, subject, predicate, object, found));
            hasMore = ids.length == StoreView.TRIPLES_MAX;
            if (hasMore) {
                ids = triples(position, ids[ids.length - 1] + 1);
            }
        }
        return ids != null;
    }

    private long[] triples(int position, long first) {
        return evaluated(() -> view.triples(position, kinds, first));
    }

    private void collectFromAll(Resource subject, IRI predicate, Value object, Set<Triple> found) {
        try (CloseableIteration<? extends Statement> statements = getStatements(null, null, null)) {
            while (statements.hasNext()) {
                Statement statement = statements.next();
                collect(statement.getSubject(), subject, predicate, object, found);
                collect(statement.getObject(), subject, predicate, object, found);
            }
        }
    }

    private static void collect(Value value, Resource subject, IRI predicate, Value object, Set<Triple> found) {
        if (!StoredTriple.isTriple(value)) {
            return;
        }
        Triple triple = (Triple) value;
        if ((subject == null || subject.equals(triple.getSubject()))
                && (predicate == null || predicate.equals(triple.getPredicate()))
                && (object == null || object.equals(triple.getObject()))) {
            found.add(triple);
        }
        collect(triple.getSubject(), subject, predicate, object, found);
        collect(triple.getObject(), subject, predicate, object, found);
    }

    @Override
    public boolean joins() {
        // A transaction notes each pattern that it reads.
        return !view.isTransaction();
    }

    @Override
    public long id(Value value) {
        return evaluated(() -> view.id(value));
    }

    @Override
    public TermSource terms() {
        return view;
    }

    @Override
    public long join(long[] patterns, long[] rows) {
        return evaluated(() -> view.join(patterns, kinds, rows));
    }

    @Override
    public boolean next(long join, long[] rows) {
        return evaluated(() -> NativeQuads.nextJoined(join, rows));
    }

    @Override
    public void close(long join) {
        view.close(join);
    }

    @Override
    public PathReads paths(IRI predicate, boolean isForward) {
        return view.isTransaction() ? null : new ViewPaths(predicate, isForward);
    }

    private final class ViewPaths implements PathReads {
        private final long predicate;
        private final boolean isForward;
        private final long[] first = new long[4 * IdRows.FIRST_ROWS + 1];

        /** Rows after the first ones; null before there are any. */
        private long[] rows;

        /** The values that were created last. */
        private ValueGroup group;

        ViewPaths(IRI predicate, boolean isForward) {
            this.predicate = id(predicate);
            this.isForward = isForward;
        }

        @Override
        public long id(Value node) {
            return evaluated(() -> view.id(node));
        }

        @Override
        public void addNext(long node, IdSet nodes) {
            boolean isLiteral = node >>> 56 > TRIPLE;
            if (predicate != IdRows.UNKNOWN && !(isForward && isLiteral)) {
                evaluated(() -> {
                    read(node, nodes);
                    return null;
                });
            }
        }

        private void read(long node, IdSet nodes) {
            long subject = isForward ? node : IdRows.ANY_TERM;
            long object = isForward ? IdRows.ANY_TERM : node;
            long iterator = view.open(subject, predicate, object, IdRows.ANY_GRAPH, kinds, -1, first);
            add(first, (int) first[first.length - 1], nodes);
            if (iterator == 0) {
                return;
            }
            try {
                rows = rows == null ? new long[4 * IdRows.ROWS_MAX + 1] : rows;
                boolean hasMore = true;
                while (hasMore) {
                    Interrupts.check(QueryInterruptedException::new);
                    hasMore = NativeQuads.next(iterator, rows);
                    add(rows, (int) rows[rows.length - 1], nodes);
                }
            } finally {
                view.close(iterator);
            }
        }

        private void add(long[] rows, int count, IdSet nodes) {
            for (int at = isForward ? 2 : 0; at < 4 * count; at += 4) {
                nodes.add(rows[at]);
            }
        }

        @Override
        public Value value(long node) {
            ValueCache cache = view.cache();
            StoredValue known = cache == null ? null : cache.get(node);
            if (known != null) {
                return known;
            }
            if (group == null || group.isFull()) {
                group = new ValueGroup(view, group);
            }
            return group.add(node);
        }
    }

    @Override
    public ValueFactory getValueFactory() {
        return SimpleValueFactory.getInstance();
    }
}
