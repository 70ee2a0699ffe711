package org.fulgurite.rdf4j;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
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
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.algebra.evaluation.RDFStarTripleSource;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.rdf4j.internal.SailErrors;

/** What RDF4J's evaluation reads: the statements of one view. */
final class ViewTripleSource implements RDFStarTripleSource {
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
            return new StatementIteration(pattern(subject, predicate, object, contexts), order);
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
        QuadPattern pattern = pattern(subject, predicate, object, contexts);
        for (StatementOrder order : StatementOrder.values()) {
            if (SailErrors.convert(() -> pattern.supports(order))) {
                orders.add(order);
            }
        }
        return orders;
    }

    /** The order of the indexes, which is that of the ids as unsigned numbers. */
    @Override
    public Comparator<Value> getComparator() {
        return (left, right) -> SailErrors.convert(() -> Long.compareUnsigned(view.id(left), view.id(right)));
    }

    @Override
    public CloseableIteration<? extends Triple> getRdfStarTriples(Resource subject, IRI predicate, Value object) {
        // Triple terms have no index of their own: those that statements use are found among subjects and objects.
        Set<Triple> found = new LinkedHashSet<>();
        try (CloseableIteration<? extends Statement> statements = getStatements(null, null, null)) {
            while (statements.hasNext()) {
                Statement statement = statements.next();
                collect(statement.getSubject(), subject, predicate, object, found);
                collect(statement.getObject(), subject, predicate, object, found);
            }
        }
        List<Triple> triples = new ArrayList<>(found);
        return new CloseableIteratorIteration<>(triples.iterator());
    }

    private static void collect(Value value, Resource subject, IRI predicate, Value object, Set<Triple> found) {
        if (!value.isTriple()) {
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
    public ValueFactory getValueFactory() {
        return SimpleValueFactory.getInstance();
    }
}
