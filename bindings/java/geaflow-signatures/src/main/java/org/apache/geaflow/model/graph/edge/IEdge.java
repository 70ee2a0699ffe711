package org.apache.geaflow.model.graph.edge;

import java.io.Serializable;

/** An edge. */
public interface IEdge<K, EV> extends Serializable {
    K getSrcId();

    K getTargetId();

    EdgeDirection getDirect();

    EV getValue();
}
