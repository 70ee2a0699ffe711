package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.BNode;
import org.eclipse.rdf4j.model.base.AbstractBNode;

/** A blank node of a store. */
final class StoredBlankNode extends AbstractBNode implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /** The term; before it is read, the group that reads it. */
    private transient volatile Object term;

    StoredBlankNode(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.term = group;
    }

    StoredBlankNode(long id, IdScope scope, TermReader terms) {
        this.id = id;
        this.scope = scope;
        read(terms);
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public IdScope scope() {
        return scope;
    }

    @Override
    public boolean isRead() {
        return !(term instanceof ValueGroup);
    }

    @Override
    public void read(TermReader terms) {
        term = (BNode) terms.term();
    }

    private BNode term() {
        Object known = term;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = term;
        }
        return (BNode) known;
    }

    @Override
    public String getID() {
        return term().getID();
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || StoredValues.haveSameId(this, other)
                || !StoredValues.areDifferent(this, other) && super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return term();
    }
}
