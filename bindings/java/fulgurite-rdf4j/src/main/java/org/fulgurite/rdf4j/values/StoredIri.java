package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.base.AbstractIRI;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.util.URIUtil;

/** An IRI of a store. */
final class StoredIri extends AbstractIRI implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;
    private final transient ValueGroup group;
    private volatile String text;

    StoredIri(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.group = group;
    }

    StoredIri(long id, IdScope scope, TermReader terms) {
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
        return text != null;
    }

    @Override
    public void read(TermReader terms) {
        text = terms.iri();
    }

    @Override
    public String stringValue() {
        if (text == null) {
            group.read(this);
        }
        return text;
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
        return this == other || StoredValues.haveSameId(this, other) || super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return SimpleValueFactory.getInstance().createIRI(stringValue());
    }
}
