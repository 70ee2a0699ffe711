package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Triple;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.base.AbstractTriple;

/** A triple term of a store. */
final class StoredTriple extends AbstractTriple implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /** The term; before it is read, the group that reads it. */
    private transient volatile Object term;

    StoredTriple(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.term = group;
    }

    StoredTriple(long id, IdScope scope, TermReader terms) {
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
        term = (Triple) terms.term();
    }

    private Triple term() {
        Object known = term;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = term;
        }
        return (Triple) known;
    }

    @Override
    public Resource getSubject() {
        return term().getSubject();
    }

    @Override
    public IRI getPredicate() {
        return term().getPredicate();
    }

    @Override
    public Value getObject() {
        return term().getObject();
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
