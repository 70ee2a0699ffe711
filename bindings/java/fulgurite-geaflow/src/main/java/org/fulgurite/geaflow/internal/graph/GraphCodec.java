package org.fulgurite.geaflow.internal.graph;

import java.util.Arrays;
import java.util.function.Supplier;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.graph.encoder.IVertexKVEncoder;
import org.apache.geaflow.state.schema.GraphDataSchema;

/** The bytes of vertices and edges: those of GeaFlow's encoder, with keys as {@link IdKeys} says. */
final class GraphCodec<K, VV, EV> {
    /** Elements with longer fields may not be readable. */
    private static final int FIELD_BYTES_MAX = Short.MAX_VALUE;

    private final IType<K> keyType;
    private final IVertexKVEncoder<K, VV> vertices;
    private final IEdgeKVEncoder<K, EV> edges;
    private final IdKeys ids;
    private final EdgeDecoder<K, EV> edgeDecoder;

    GraphCodec(IGraphKVEncoder<K, VV, EV> encoder, GraphDataSchema schema) {
        keyType = encoder.getKeyType();
        vertices = encoder.getVertexEncoder();
        edges = encoder.getEdgeEncoder();
        ids = IdKeys.of(keyType.getTypeClass());
        edgeDecoder = EdgeDecoder.of(edges, keyType, ids, schema);
    }

    /** How keys begin with ids. */
    IdKeys ids() {
        return ids;
    }

    /** Returns the beginning of all keys of an id, which is the key of its vertex. */
    byte[] beginning(K id) {
        return ids.beginning(keyType.serialize(id));
    }

    /** Returns the length of the beginning of a key. */
    int beginningLength(byte[] key) {
        return ids.end(key);
    }

    K id(byte[] key) {
        return vertices.getVertexID(ids.id(key));
    }

    /** Decodes a vertex of GeaFlow's encoder. */
    IVertex<K, VV> encodedVertex(byte[] key, byte[] value) {
        return vertices.getVertex(key, value);
    }

    /** Decodes an edge of GeaFlow's encoder. */
    IEdge<K, EV> encodedEdge(byte[] key, byte[] value) {
        return edges.getEdge(key, value);
    }

    /** Returns the key of a vertex from the one of GeaFlow's encoder. */
    byte[] vertexKey(byte[] encoded) {
        return ids.beginning(encoded);
    }

    /** Returns the key of an edge from the one of GeaFlow's encoder. */
    byte[] edgeKey(K source, byte[] encoded) {
        return ids.ofEdge(keyType.serialize(source), encoded);
    }

    /** Returns the key and the value of a vertex. */
    Tuple<byte[], byte[]> encode(IVertex<K, VV> vertex) {
        Tuple<byte[], byte[]> encoded = vertices.format(vertex);
        if (encoded.f1.length > FIELD_BYTES_MAX) {
            checkReadable(() -> vertices.format(vertices.getVertex(encoded.f0, encoded.f1)), encoded);
        }
        return Tuple.of(vertexKey(encoded.f0), encoded.f1);
    }

    /** Returns the key and the value of an edge. */
    Tuple<byte[], byte[]> encode(IEdge<K, EV> edge) {
        Tuple<byte[], byte[]> encoded = edges.format(edge);
        if (encoded.f0.length > FIELD_BYTES_MAX) {
            checkReadable(() -> edges.format(edges.getEdge(encoded.f0, encoded.f1)), encoded);
        }
        return Tuple.of(edgeKey(edge.getSrcId(), encoded.f0), encoded.f1);
    }

    /** GeaFlow's encoder keeps lengths in two bytes, so a longer field would be read back wrong. */
    private static void checkReadable(Supplier<Tuple<byte[], byte[]>> again, Tuple<byte[], byte[]> encoded) {
        boolean isSame;
        try {
            Tuple<byte[], byte[]> read = again.get();
            isSame = Arrays.equals(read.f0, encoded.f0) && Arrays.equals(read.f1, encoded.f1);
        } catch (RuntimeException unreadable) {
            isSame = false;
        }
        if (!isSame) {
            throw new GeaflowRuntimeException("an element has a field of more than " + FIELD_BYTES_MAX
                    + " bytes, which its encoder cannot read again; shorten it, or use another encoder "
                    + "(geaflow.state.kv.encoder.class)");
        }
    }

    IVertex<K, VV> vertex(byte[] key, byte[] value) {
        return vertices.getVertex(ids.id(key), value);
    }

    /** Decodes an edge of a source. The key may be changed. */
    IEdge<K, EV> edge(K source, byte[] key, byte[] value) {
        return edgeDecoder.decode(source, key, value);
    }
}
