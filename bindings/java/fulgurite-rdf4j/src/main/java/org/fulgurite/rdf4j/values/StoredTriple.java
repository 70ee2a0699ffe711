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
    private final transient ValueGroup group;
    private volatile Triple term;

    StoredTriple(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.group = group;
    }

    StoredTriple(long id, IdScope scope, TermReader terms) {
        this.id = id;
        this.scope = scope;
        this.group = null;
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
        return term != null;
    }

    @Override
    public void read(TermReader terms) {
        term = (Triple) terms.term();
    }

    private Triple term() {
        if (term == null) {
            group.read(this);
        }
        return term;
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
