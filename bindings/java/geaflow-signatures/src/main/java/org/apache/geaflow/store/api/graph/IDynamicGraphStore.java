package org.apache.geaflow.store.api.graph;

import org.apache.geaflow.state.graph.DynamicGraphTrait;
import org.apache.geaflow.store.IStatefulStore;

/** A store of a graph with versions. */
public interface IDynamicGraphStore<K, VV, EV> extends DynamicGraphTrait<K, VV, EV>, IStatefulStore, IPushDownStore {}
