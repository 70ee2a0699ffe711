package org.apache.geaflow.store.api.graph;

import org.apache.geaflow.state.pushdown.inner.IFilterConverter;

/** A store that takes conditions. */
public interface IPushDownStore {
    IFilterConverter getFilterConverter();
}
