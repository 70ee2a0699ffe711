package org.fulgurite.geaflow.internal.graph;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Transaction;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.slices.Bytes;
import org.fulgurite.geaflow.internal.slices.Entries;
import org.fulgurite.geaflow.internal.slices.MergedEntries;
import org.fulgurite.geaflow.internal.slices.SliceEntries;
import org.fulgurite.geaflow.internal.slices.Slices;

/** The reads of a graph, in some slices of its tables. */
final class GraphReads<K, VV, EV> {
    private final Shard shard;
    private final GraphCodec<K, VV, EV> codec;
    private final Slices slices;

    GraphReads(Shard shard, GraphCodec<K, VV, EV> codec, Slices slices) {
        this.shard = shard;
        this.codec = codec;
        this.slices = slices;
    }

    /** Returns the vertex of an id, or null if there is none that the condition keeps. */
    IVertex<K, VV> vertex(K id, PushDown<K> pushDown) {
        IGraphFilter filter = pushDown.filter(id);
        byte[] key = codec.beginning(id);
        for (byte[] slice : slices.vertices(filter)) {
            IVertex<K, VV> vertex = kept(key, shard.get(Slices.VERTICES, Bytes.concat(slice, key)), filter);
            if (vertex != null) {
                return vertex;
            }
        }
        return null;
    }

    private IVertex<K, VV> kept(byte[] key, byte[] value, IGraphFilter filter) {
        if (value == null) {
            return null;
        }
        IVertex<K, VV> vertex = codec.vertex(key, value);
        return filter.filterVertex(vertex) ? vertex : null;
    }

    /** Returns the edges of a source. */
    List<IEdge<K, EV>> edges(K source, PushDown<K> pushDown) {
        byte[] beginning = codec.beginning(source);
        IGraphFilter filter = pushDown.filter(source);
        List<byte[]> within = slices.edges(filter);
        IGraphFilter limited = pushDown.limited(filter);
        if (within.size() == 1) {
            byte[] slice = within.get(0);
            return shard.scan(
                    Slices.EDGES,
                    KeyRange.prefix(Bytes.concat(slice, beginning)),
                    cursor -> edges(source, new SliceEntries(cursor, slice), limited));
        }
        return shard.read(transaction ->
                edges(source, entries(transaction, Slices.EDGES, within, beginning), limited));
    }

    private List<IEdge<K, EV>> edges(K source, Entries entries, IGraphFilter limited) {
        List<IEdge<K, EV>> edges = new ArrayList<>();
        while (!limited.dropAllRemaining() && entries.next()) {
            IEdge<K, EV> edge = codec.edge(source, entries.key(), entries.value());
            if (limited.filterEdge(edge)) {
                edges.add(edge);
            }
        }
        return edges;
    }

    /**
     * Returns a vertex with its edges, or null if the condition does not keep them. Edges are read first: if another
     * thread adds a vertex and then its edges, they are not seen without it.
     */
    OneDegreeGraph<K, VV, EV> oneDegreeGraph(K id, PushDown<K> pushDown) {
        List<IEdge<K, EV>> edges = edges(id, pushDown);
        OneDegreeGraph<K, VV, EV> graph = new OneDegreeGraph<>(id, vertex(id, pushDown), iterator(edges));
        return pushDown.filter(id).filterOneDegreeGraph(graph) ? graph : null;
    }

    /** Returns an iterator over a list. */
    static <T> CloseableIterator<T> iterator(List<T> list) {
        Iterator<T> elements = list.iterator();
        return new Iteration<T>() {
            @Override
            T fetch() {
                return elements.hasNext() ? elements.next() : null;
            }
        };
    }

    private Entries entries(Transaction transaction, int table, List<byte[]> within, byte[] prefix) {
        List<Entries> entries = new ArrayList<>(within.size());
        for (byte[] slice : within) {
            KeyRange range = KeyRange.prefix(Bytes.concat(slice, prefix));
            entries.add(new SliceEntries(transaction.scan(shard.table(table), range), slice));
        }
        return MergedEntries.of(entries);
    }

    /** The ids of the vertices that the condition keeps, each of them once. */
    CloseableIterator<K> ids(PushDown<K> pushDown) {
        ReadTransaction snapshot = shard.snapshot();
        IGraphFilter filter = pushDown.filter();
        boolean keepsAll = filter.getFilterType() == FilterType.EMPTY;
        Entries entries = entries(snapshot, Slices.VERTICES, slices.vertices(filter), Bytes.NONE);
        return new Iteration<K>(shard, snapshot) {
            private byte[] last = Bytes.NONE;

            @Override
            K fetch() {
                while (entries.next()) {
                    byte[] key = entries.key();
                    // A vertex may be in several partitions. No key is empty.
                    boolean isNew = Bytes.compareWhole(last, key) != 0;
                    if (isNew && (keepsAll || kept(key, entries.value(), filter) != null)) {
                        last = key;
                        return codec.id(key);
                    }
                }
                return null;
            }
        };
    }

    /** The vertices that the condition keeps. */
    CloseableIterator<IVertex<K, VV>> vertices(PushDown<K> pushDown) {
        ReadTransaction snapshot = shard.snapshot();
        IGraphFilter filter = pushDown.filter();
        Entries entries = entries(snapshot, Slices.VERTICES, slices.vertices(filter), Bytes.NONE);
        return new Iteration<IVertex<K, VV>>(shard, snapshot) {
            @Override
            IVertex<K, VV> fetch() {
                while (entries.next()) {
                    IVertex<K, VV> vertex = kept(entries.key(), entries.value(), filter);
                    if (vertex != null) {
                        return vertex;
                    }
                }
                return null;
            }
        };
    }

    /** The edges that the condition keeps, up to the limit for each source. */
    CloseableIterator<IEdge<K, EV>> edges(PushDown<K> pushDown) {
        ReadTransaction snapshot = shard.snapshot();
        EdgesBySource<K, VV, EV> edges = edgesBySource(snapshot, pushDown);
        return new Iteration<IEdge<K, EV>>(shard, snapshot) {
            @Override
            IEdge<K, EV> fetch() {
                IEdge<K, EV> edge = edges.nextOfSource();
                while (edge == null && edges.nextSource()) {
                    edge = edges.nextOfSource();
                }
                return edge;
            }
        };
    }

    private EdgesBySource<K, VV, EV> edgesBySource(Transaction transaction, PushDown<K> pushDown) {
        Entries entries = entries(transaction, Slices.EDGES, slices.edges(pushDown.filter()), Bytes.NONE);
        return new EdgesBySource<>(entries, codec, pushDown);
    }

    /** All vertices with their edges, as far as the condition keeps them. */
    CloseableIterator<OneDegreeGraph<K, VV, EV>> oneDegreeGraphs(PushDown<K> pushDown) {
        ReadTransaction snapshot = shard.snapshot();
        IGraphFilter filter = pushDown.filter();
        Entries vertices = entries(snapshot, Slices.VERTICES, slices.vertices(filter), Bytes.NONE);
        try {
            return new OneDegreeGraphs<>(shard, snapshot, vertices, edgesBySource(snapshot, pushDown), codec, filter);
        } catch (FulguriteException failed) {
            throw shard.ofJob(failed);
        }
    }

    /** The number of edges of each source that has any that the condition keeps. */
    Map<K, Long> counts(PushDown<K> pushDown) {
        Map<K, Long> counts = new HashMap<>();
        try (ReadTransaction snapshot = shard.snapshot()) {
            EdgesBySource<K, VV, EV> edges = edgesBySource(snapshot, pushDown);
            while (edges.nextSource()) {
                long count = edges.countOfSource();
                if (count > 0) {
                    counts.put(edges.source(), count);
                }
            }
        } catch (FulguriteException failed) {
            throw shard.ofJob(failed);
        }
        return counts;
    }

    /** The number of edges of some sources that the condition keeps. */
    Map<K, Long> counts(List<K> sources, PushDown<K> pushDown) {
        Map<K, Long> counts = new HashMap<>();
        for (K source : sources) {
            counts.put(source, count(source, pushDown));
        }
        return counts;
    }

    private long count(K source, PushDown<K> pushDown) {
        IGraphFilter filter = pushDown.filter(source);
        if (pushDown.hasLimit() || filter.getFilterType() != FilterType.EMPTY) {
            return edges(source, pushDown).size();
        }
        byte[] beginning = codec.beginning(source);
        return shard.read(transaction -> {
            long count = 0;
            for (byte[] slice : slices.edges(filter)) {
                count += transaction.count(shard.table(Slices.EDGES), KeyRange.prefix(Bytes.concat(slice, beginning)));
            }
            return count;
        });
    }

    /** What a read returns for each of some ids, without nulls. */
    <R> CloseableIterator<R> forEach(List<K> ids, BiFunction<K, PushDown<K>, R> read, PushDown<K> pushDown) {
        Iterator<K> rest = ids.iterator();
        return new Iteration<R>() {
            @Override
            R fetch() {
                R found = null;
                while (found == null && rest.hasNext()) {
                    found = read.apply(rest.next(), pushDown);
                }
                return found;
            }
        };
    }

    /** The edges of some sources. */
    CloseableIterator<IEdge<K, EV>> edges(List<K> sources, PushDown<K> pushDown) {
        Iterator<K> rest = sources.iterator();
        return new Iteration<IEdge<K, EV>>() {
            private Iterator<IEdge<K, EV>> edges = new ArrayList<IEdge<K, EV>>().iterator();

            @Override
            IEdge<K, EV> fetch() {
                while (!edges.hasNext() && rest.hasNext()) {
                    edges = GraphReads.this.edges(rest.next(), pushDown).iterator();
                }
                return edges.hasNext() ? edges.next() : null;
            }
        };
    }

    /** What a function makes of each element. */
    static <T, R> CloseableIterator<R> mapped(CloseableIterator<T> elements, Function<T, R> function) {
        return new CloseableIterator<R>() {
            @Override
            public boolean hasNext() {
                return elements.hasNext();
            }

            @Override
            public R next() {
                return function.apply(elements.next());
            }

            @Override
            public void close() {
                elements.close();
            }
        };
    }
}
