package org.fulgurite.geaflow.internal.graph;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.config.keys.StateConfigKeys;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.IStatePushDown;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.fulgurite.Cursor;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.slices.Bytes;
import org.fulgurite.geaflow.internal.slices.Slices;
import org.fulgurite.geaflow.internal.slices.WholeSlice;

/**
 * A graph for each version. Reads of a version see what was added in this version and nothing of earlier ones.
 *
 * @param <K> the type of ids
 * @param <VV> the type of values of vertices
 * @param <EV> the type of values of edges
 */
@SuppressWarnings("rawtypes")
public final class DynamicGraphStore<K, VV, EV> extends GraphStore<K, VV, EV>
        implements IDynamicGraphStore<K, VV, EV> {
    /** The versions of each vertex: keys of an id and a version, without values. */
    private static final int VERSIONS = 2;

    /** Creates a store, which must be initialised. */
    public DynamicGraphStore() {
        super("vertices", "edges", "versions");
    }

    /** The bytes of a version: newer ones come first. */
    private static byte[] bytes(long version) {
        return ByteBuffer.allocate(Long.BYTES).putLong(Long.MAX_VALUE - version).array();
    }

    private GraphReads<K, VV, EV> reads(long version) {
        return reads(shard(), new WholeSlice(bytes(version)));
    }

    @Override
    public void addEdge(long version, IEdge<K, EV> edge) {
        Tuple<byte[], byte[]> encoded = codec().encode(edge);
        shard().put(Slices.EDGES, Bytes.concat(bytes(version), encoded.f0), encoded.f1);
    }

    @Override
    public void addVertex(long version, IVertex<K, VV> vertex) {
        byte[] slice = bytes(version);
        Tuple<byte[], byte[]> encoded = codec().encode(vertex);
        shard().putAll(entries(slice, encoded.f0, encoded.f1));
    }

    /** A vertex, and its version in the index. */
    private static List<ShardEntry> entries(byte[] slice, byte[] key, byte[] value) {
        return Arrays.asList(
                new ShardEntry(Slices.VERTICES, Bytes.concat(slice, key), value),
                new ShardEntry(VERSIONS, Bytes.concat(key, slice), Bytes.NONE));
    }

    @Override
    public IVertex<K, VV> getVertex(long version, K id, IStatePushDown pushDown) {
        return reads(version).vertex(id, pushDown(pushDown));
    }

    @Override
    public List<IEdge<K, EV>> getEdges(long version, K id, IStatePushDown pushDown) {
        return reads(version).edges(id, pushDown(pushDown));
    }

    @Override
    public OneDegreeGraph<K, VV, EV> getOneDegreeGraph(long version, K id, IStatePushDown pushDown) {
        return reads(version).oneDegreeGraph(id, pushDown(pushDown));
    }

    /** Returns the ids of the vertices of all versions, each of them once. */
    @Override
    public CloseableIterator<K> vertexIDIterator() {
        Shard shard = shard();
        ReadTransaction snapshot = shard.snapshot();
        Cursor cursor = snapshot.scan(shard.table(VERSIONS), KeyRange.all());
        return new Iteration<K>(shard, snapshot) {
            private byte[] last = Bytes.NONE;

            @Override
            K fetch() {
                while (cursor.next()) {
                    byte[] key = cursor.key();
                    int length = codec().beginningLength(key);
                    if (last.length != length || !Bytes.isSame(last, key, length)) {
                        last = Arrays.copyOf(key, length);
                        return codec().id(last);
                    }
                }
                return null;
            }
        };
    }

    @Override
    public CloseableIterator<K> vertexIDIterator(long version, IStatePushDown pushDown) {
        return reads(version).ids(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IVertex<K, VV>> getVertexIterator(long version, IStatePushDown pushDown) {
        return reads(version).vertices(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IVertex<K, VV>> getVertexIterator(long version, List<K> ids, IStatePushDown pushDown) {
        GraphReads<K, VV, EV> reads = reads(version);
        return reads.forEach(ids, reads::vertex, pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IEdge<K, EV>> getEdgeIterator(long version, IStatePushDown pushDown) {
        return reads(version).edges(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IEdge<K, EV>> getEdgeIterator(long version, List<K> ids, IStatePushDown pushDown) {
        return reads(version).edges(ids, pushDown(pushDown));
    }

    @Override
    public CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(
            long version, IStatePushDown pushDown) {
        return reads(version).oneDegreeGraphs(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(
            long version, List<K> ids, IStatePushDown pushDown) {
        GraphReads<K, VV, EV> reads = reads(version);
        return reads.forEach(ids, reads::oneDegreeGraph, pushDown(pushDown));
    }

    /** Returns the versions of a vertex, the newest first. */
    @Override
    public List<Long> getAllVersions(K id, DataType dataType) {
        return versions(id, dataType, Integer.MAX_VALUE);
    }

    /** Returns the newest version of a vertex, or -1. */
    @Override
    public long getLatestVersion(K id, DataType dataType) {
        List<Long> newest = versions(id, dataType, 1);
        return newest.isEmpty() ? -1 : newest.get(0);
    }

    private List<Long> versions(K id, DataType dataType, int countMax) {
        checkOfVertices(dataType);
        Shard shard = shard();
        byte[] beginning = codec().beginning(id);
        return shard.read(transaction -> {
            List<Long> versions = new ArrayList<>();
            try (Cursor cursor = transaction.scan(shard.table(VERSIONS), KeyRange.prefix(beginning))) {
                while (versions.size() < countMax && cursor.next()) {
                    versions.add(Long.MAX_VALUE - cursor.keyBuffer().getLong(beginning.length));
                }
            }
            return versions;
        });
    }

    /** Only vertices have an index of versions. */
    private static void checkOfVertices(DataType dataType) {
        if (dataType != DataType.V && dataType != DataType.V_TOPO) {
            throw new GeaflowRuntimeException("versions are of vertices (V, V_TOPO), not of " + dataType);
        }
    }

    @Override
    public Map<Long, IVertex<K, VV>> getAllVersionData(K id, IStatePushDown pushDown, DataType dataType) {
        return getVersionData(id, getAllVersions(id, dataType), pushDown, dataType);
    }

    @Override
    public Map<Long, IVertex<K, VV>> getVersionData(
            K id, Collection<Long> versions, IStatePushDown pushDown, DataType dataType) {
        checkOfVertices(dataType);
        PushDown<K> conditions = pushDown(pushDown);
        Map<Long, IVertex<K, VV>> vertices = new HashMap<>();
        for (long version : versions) {
            IVertex<K, VV> vertex = reads(version).vertex(id, conditions);
            if (vertex != null) {
                vertices.put(version, vertex);
            }
        }
        return vertices;
    }

    /** Keys of vertices and edges begin with the version and the delimiter; vertices make the index again. */
    @Override
    protected List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value) {
        if (family.equals("v_index")) {
            return Collections.emptyList();
        }
        byte[] slice = Arrays.copyOf(key, Long.BYTES);
        byte[] encoded = Arrays.copyOfRange(key, Long.BYTES + StateConfigKeys.DELIMITER.length, key.length);
        if (family.equals("e")) {
            byte[] own = codec().edgeKey(codec().encodedEdge(encoded, value).getSrcId(), encoded);
            return Collections.singletonList(new ShardEntry(Slices.EDGES, Bytes.concat(slice, own), value));
        }
        return entries(slice, codec().vertexKey(encoded), value);
    }
}
