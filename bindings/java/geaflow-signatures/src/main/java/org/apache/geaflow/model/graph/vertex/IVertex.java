package org.apache.geaflow.model.graph.vertex;

import java.io.Serializable;

/** A vertex. */
public interface IVertex<K, VV> extends Serializable {
    K getId();

    VV getValue();

    IVertex<K, VV> withValue(VV value);
}
