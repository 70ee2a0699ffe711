package org.apache.geaflow.model.graph.edge;

import java.io.Serializable;

/** An edge. */
public interface IEdge<K, EV> extends Serializable {
    K getSrcId();

    void setSrcId(K id);

    K getTargetId();

    void setTargetId(K id);

    EdgeDirection getDirect();

    void setDirect(EdgeDirection direction);

    EV getValue();

    IEdge<K, EV> withValue(EV value);
}
