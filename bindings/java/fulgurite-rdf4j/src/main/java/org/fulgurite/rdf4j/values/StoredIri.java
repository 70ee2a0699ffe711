package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.base.AbstractIRI;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.util.URIUtil;

/** An IRI of a store. */
final class StoredIri extends AbstractIRI implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /**
     * The text; before it is read, the group that reads it. It need not be volatile: a thread that still sees the group
     * asks it, which takes the group's lock, and a string is safe for every thread that sees it.
     */
    private transient Object text;

    StoredIri(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.text = group;
    }

    StoredIri(long id, IdScope scope, TermReader terms) {
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
        return !(text instanceof ValueGroup);
    }

    @Override
    public void read(TermReader terms) {
        text = terms.iri();
    }

    @Override
    public String stringValue() {
        Object known = text;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = text;
        }
        return (String) known;
    }

    @Override
    public String getNamespace() {
        String iri = stringValue();
        return iri.substring(0, URIUtil.getLocalNameIndex(iri));
    }

    @Override
    public String getLocalName() {
        String iri = stringValue();
        return iri.substring(URIUtil.getLocalNameIndex(iri));
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
        return SimpleValueFactory.getInstance().createIRI(stringValue());
    }
}
