package org.apache.geaflow.state.pushdown.limit;

import java.io.Serializable;

/** The largest number of edges of each source. */
public interface IEdgeLimit extends Serializable {
    long inEdgeLimit();

    long outEdgeLimit();
}
