package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.BNode;
import org.eclipse.rdf4j.model.base.AbstractBNode;

/** A blank node of a store. */
final class StoredBlankNode extends AbstractBNode implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient ValueGroup group;
    private volatile BNode term;

    StoredBlankNode(long id, ValueGroup group) {
        this.id = id;
        this.group = group;
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public TermSource source() {
        return group == null ? null : group.source();
    }

    @Override
    public boolean isRead() {
        return term != null;
    }

    @Override
    public void read(TermReader terms) {
        term = (BNode) terms.term();
    }

    private BNode term() {
        if (term == null) {
            group.read(this);
        }
        return term;
    }

    @Override
    public String getID() {
        return term().getID();
    }

    @Override
    public boolean equals(Object other) {
        return this == other || StoredValues.haveSameId(this, other) || super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return term();
    }
}
