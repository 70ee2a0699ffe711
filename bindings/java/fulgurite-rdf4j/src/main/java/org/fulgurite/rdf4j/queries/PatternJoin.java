package org.fulgurite.rdf4j.queries;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.iteration.EmptyIteration;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.MutableBindingSet;
import org.eclipse.rdf4j.query.algebra.StatementPattern;
import org.eclipse.rdf4j.query.algebra.StatementPattern.Scope;
import org.eclipse.rdf4j.query.algebra.Var;
import org.eclipse.rdf4j.query.algebra.evaluation.QueryEvaluationStep;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.QueryEvaluationContext;
import org.fulgurite.rdf4j.internal.IdRows;

/** Joins statement patterns by the ids of their terms, in their order. Only the values of solutions are created. */
final class PatternJoin implements QueryEvaluationStep {
    private static final int COLUMNS = 4;
    private static final int SUBJECT = 0;
    private static final int PREDICATE = 1;
    private static final int CONTEXT = 3;

    private final JoinSource source;
    private final QueryEvaluationContext context;

    /** Four of each pattern. The last one is null if the pattern matches all graphs. */
    private final List<Var> positions = new ArrayList<>();

    /** The names of the variables without a value, each once. */
    private final List<String> names = new ArrayList<>();

    /** What adds the value of each of them to a solution. */
    private final List<BiConsumer<Value, MutableBindingSet>> setters = new ArrayList<>();

    /** Variables that have a value for the whole query. */
    private final List<Var> assigned = new ArrayList<>();

    PatternJoin(JoinSource source, List<StatementPattern> patterns, QueryEvaluationContext context) {
        this.source = source;
        this.context = context;
        for (StatementPattern pattern : patterns) {
            positions.addAll(positions(pattern));
        }
        for (Var position : positions) {
            if (position == null || position.isConstant()) {
                continue;
            }
            if (position.hasValue()) {
                assigned.add(position);
            } else if (!names.contains(position.getName())) {
                names.add(position.getName());
                setters.add(context.addBinding(position.getName()));
            }
        }
    }

    private static List<Var> positions(StatementPattern pattern) {
        List<Var> positions = new ArrayList<>();
        positions.add(pattern.getSubjectVar());
        positions.add(pattern.getPredicateVar());
        positions.add(pattern.getObjectVar());
        positions.add(pattern.getContextVar());
        return positions;
    }

    /**
     * Returns whether a pattern can be joined by ids. A variable whose value has a language cannot: solutions have the
     * language in the case of the store.
     */
    static boolean joins(StatementPattern pattern) {
        for (Var position : positions(pattern)) {
            if (position != null
                    && !position.isConstant()
                    && position.getValue() instanceof Literal
                    && ((Literal) position.getValue()).getLanguage().isPresent()) {
                return false;
            }
        }
        // With the scope of named graphs and no graph, it would match all of them.
        return (pattern.getScope() == Scope.DEFAULT_CONTEXTS) == (pattern.getContextVar() == null);
    }

    @Override
    public CloseableIteration<BindingSet> evaluate(BindingSet bindings) {
        int[] columns = new int[names.size()];
        List<BiConsumer<Value, MutableBindingSet>> free = new ArrayList<>(columns.length);
        for (int index = 0; index < columns.length; index++) {
            columns[index] = -1;
            if (!bindings.hasBinding(names.get(index))) {
                columns[index] = free.size();
                free.add(setters.get(index));
            }
        }
        long[] patterns = new long[positions.size()];
        for (int at = 0; at < patterns.length; at++) {
            patterns[at] = number(at, columns, bindings);
            if (patterns[at] == IdRows.UNKNOWN && positions.get(at) != null) {
                return new EmptyIteration<>();
            }
        }
        return new JoinIteration(source, patterns, free, context, withAssigned(bindings));
    }

    /** The number of a position: see {@link JoinSource#join}. */
    private long number(int at, int[] columns, BindingSet bindings) {
        Var position = positions.get(at);
        if (position == null) {
            return IdRows.ANY_GRAPH;
        }
        Value value = position.getValue();
        if (value == null) {
            int column = columns[names.indexOf(position.getName())];
            if (column >= 0) {
                return IdRows.VARIABLE - column;
            }
            // A binding without a value stands for a variable that has to stay unbound.
            value = bindings.getValue(position.getName());
        }
        int kind = at % COLUMNS;
        if (value == null || !canBe(value, kind)) {
            return IdRows.UNKNOWN;
        }
        if (kind == CONTEXT && (RDF4J.NIL.equals(value) || SESAME.NIL.equals(value))) {
            return IdRows.DEFAULT_GRAPH;
        }
        return source.id(value);
    }

    private BindingSet withAssigned(BindingSet bindings) {
        if (assigned.isEmpty()) {
            return bindings;
        }
        MutableBindingSet all = context.createBindingSet(bindings);
        for (Var variable : assigned) {
            if (!all.hasBinding(variable.getName())) {
                all.addBinding(variable.getName(), variable.getValue());
            }
        }
        return all;
    }

    /** Returns whether a value can be at a position of a statement. */
    private static boolean canBe(Value value, int position) {
        switch (position) {
            case SUBJECT:
            case CONTEXT:
                return value.isResource();
            case PREDICATE:
                return value instanceof IRI;
            default:
                return true;
        }
    }
}
