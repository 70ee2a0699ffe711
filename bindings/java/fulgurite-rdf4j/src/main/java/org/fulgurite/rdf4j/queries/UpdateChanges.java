package org.fulgurite.rdf4j.queries;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;

/** The changes of one operation of a SPARQL update, in order. */
public final class UpdateChanges {
    /** Makes a change. */
    public interface Change {
        void make(Resource subject, IRI predicate, Value object, Resource... contexts);
    }

    private static final class Entry {
        final boolean isRemoval;
        final Resource subject;
        final IRI predicate;
        final Value object;
        final Resource[] contexts;

        Entry(boolean isRemoval, Resource subject, IRI predicate, Value object, Resource[] contexts) {
            this.isRemoval = isRemoval;
            this.subject = subject;
            this.predicate = predicate;
            this.object = object;
            this.contexts = contexts;
        }
    }

    private final List<Entry> entries = new ArrayList<>();
    private final Set<Statement> removed = new HashSet<>();

    /** Notes a statement that the operation removes. */
    public synchronized void noteRemoval(Statement statement) {
        removed.add(statement);
    }

    /** Returns whether a removal of the statement was noted. */
    public synchronized boolean removes(Statement statement) {
        return removed.contains(statement);
    }

    public synchronized void add(Resource subject, IRI predicate, Value object, Resource... contexts) {
        entries.add(new Entry(false, subject, predicate, object, contexts));
    }

    public synchronized void remove(Resource subject, IRI predicate, Value object, Resource... contexts) {
        entries.add(new Entry(true, subject, predicate, object, contexts));
    }

    /** Makes the removals, then the additions, as SPARQL says. */
    public synchronized void apply(Change remove, Change add) {
        for (Entry entry : entries) {
            if (entry.isRemoval) {
                remove.make(entry.subject, entry.predicate, entry.object, entry.contexts);
            }
        }
        for (Entry entry : entries) {
            if (!entry.isRemoval) {
                add.make(entry.subject, entry.predicate, entry.object, entry.contexts);
            }
        }
        entries.clear();
    }
}
