package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.base.AbstractBNode;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/** A blank node of a store. */
final class StoredBlankNode extends AbstractBNode implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /** The label; before it is read, the group that reads it. Not volatile, for the reasons of {@link StoredIri}. */
    private transient Object label;

    StoredBlankNode(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.label = group;
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
        return !(label instanceof ValueGroup);
    }

    @Override
    public void read(TermReader terms) {
        label = terms.blankNode();
    }

    @Override
    public String getID() {
        Object known = label;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = label;
        }
        return (String) known;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || StoredValue.haveSameId(this, other)
                || !StoredValue.areDifferent(this, other) && super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return SimpleValueFactory.getInstance().createBNode(getID());
    }
}
