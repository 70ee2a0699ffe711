package org.apache.geaflow.store.api.graph;

import org.apache.geaflow.state.graph.StaticGraphTrait;
import org.apache.geaflow.store.IStatefulStore;

/** A store of a graph. */
public interface IStaticGraphStore<K, VV, EV> extends StaticGraphTrait<K, VV, EV>, IStatefulStore, IPushDownStore {}
