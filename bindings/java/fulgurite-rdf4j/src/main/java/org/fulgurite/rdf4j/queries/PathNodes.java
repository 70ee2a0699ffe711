package org.fulgurite.rdf4j.queries;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import org.eclipse.rdf4j.common.iteration.LookAheadIteration;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.algebra.evaluation.QueryBindingSet;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.Interrupts;

/**
 * The solutions of a path of one predicate with a given start: each node that is reached once, by a breadth-first
 * search with one read for each node. If the end is given too, there is one solution if it is reached. The start is
 * reached by no step if the least length is 0, and otherwise by a cycle.
 */
final class PathNodes extends LookAheadIteration<BindingSet> {
    /** So many values are created at once, of a node with many neighbours. */
    private static final int VALUES_MAX = 512;

    private final PathReads reads;
    private final String startName;
    private final Value start;
    private final String endName;

    /** Null if it is not given. */
    private final Value end;

    private final boolean allowsNoStep;
    private final BindingSet bindings;
    private final long startId;

    /** The nodes that were reached, in the order in which they are expanded. */
    private final IdSet reached = new IdSet();

    /** The number of reached nodes that were expanded. */
    private int expanded;

    /** The number of reached nodes that were added to {@link #found}. */
    private int collected;

    private boolean isStartExpanded;
    private boolean isSearched;

    /** Nodes that are not in a solution yet. */
    private final Queue<Value> found = new ArrayDeque<>();

    /** Nodes that may be equal though their ids are not. */
    private final Set<Value> distinct = new HashSet<>();

    /**
     * Begins a search.
     *
     * @param start an IRI or a blank node
     * @param end the same, or null
     * @param minLength 0 or 1
     */
    PathNodes(
            PathReads reads,
            String startName,
            Value start,
            String endName,
            Value end,
            long minLength,
            BindingSet bindings) {
        this.reads = reads;
        this.startName = startName;
        this.start = start;
        this.endName = endName;
        this.end = end;
        this.allowsNoStep = minLength == 0;
        this.bindings = bindings;
        this.startId = reads.id(start);
        if (allowsNoStep) {
            found.add(start);
            if (startId != IdRows.UNKNOWN) {
                reached.add(startId);
                collected = 1;
            }
        }
    }

    @Override
    protected BindingSet getNextElement() {
        if (end != null) {
            return isSearched ? null : search();
        }
        while (true) {
            Value node = found.poll();
            if (node == null) {
                if (collected < reached.size()) {
                    collect();
                } else if (!expand()) {
                    return null;
                }
            } else if (isNew(node)) {
                return solution(node);
            }
        }
    }

    /** Looks for the given end. */
    private BindingSet search() {
        isSearched = true;
        if (allowsNoStep && start.equals(end)) {
            return solution(end);
        }
        long endId = reads.id(end);
        if (endId == IdRows.UNKNOWN) {
            return null;
        }
        while (!reached.contains(endId)) {
            if (!expand()) {
                return null;
            }
        }
        return solution(end);
    }

    /** Reads what is one step after the next node. Returns false if there is no such node. */
    private boolean expand() {
        Interrupts.check(QueryInterruptedException::new);
        if (!isStartExpanded) {
            isStartExpanded = true;
            if (startId == IdRows.UNKNOWN) {
                return false;
            }
            reads.addNext(startId, reached);
            return true;
        }
        if (expanded == reached.size()) {
            return false;
        }
        long node = reached.get(expanded++);
        if (node != startId) {
            reads.addNext(node, reached);
        }
        return true;
    }

    /** Adds the next nodes that were reached. */
    private void collect() {
        int end = Math.min(reached.size(), collected + VALUES_MAX);
        while (collected < end) {
            found.add(reads.value(reached.get(collected++)));
        }
    }

    /** RDF4J compares values, and literals that differ only in the direction of their text are equal. */
    private boolean isNew(Value node) {
        return node.isIRI() || node.isBNode() || distinct.add(node);
    }

    private BindingSet solution(Value node) {
        QueryBindingSet solution = new QueryBindingSet(bindings);
        if (!solution.hasBinding(startName)) {
            solution.addBinding(startName, start);
        }
        if (!solution.hasBinding(endName)) {
            solution.addBinding(endName, node);
        }
        return solution;
    }

    @Override
    protected void handleClose() {
        found.clear();
        distinct.clear();
    }
}
