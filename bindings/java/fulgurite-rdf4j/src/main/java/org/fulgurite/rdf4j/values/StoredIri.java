package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.base.AbstractIRI;

/** An IRI of a store. */
final class StoredIri extends AbstractIRI implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient ValueGroup group;
    private volatile IRI term;

    StoredIri(long id, ValueGroup group) {
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
    public Value known() {
        return term;
    }

    @Override
    public void resolved(Value read) {
        term = (IRI) read;
    }

    private IRI term() {
        IRI known = term;
        return known != null ? known : (IRI) group.resolve(this);
    }

    @Override
    public String stringValue() {
        return term().stringValue();
    }

    @Override
    public String getNamespace() {
        return term().getNamespace();
    }

    @Override
    public String getLocalName() {
        return term().getLocalName();
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
