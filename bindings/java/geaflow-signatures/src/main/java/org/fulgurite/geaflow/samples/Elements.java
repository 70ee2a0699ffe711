package org.fulgurite.geaflow.samples;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.model.graph.IGraphElementWithLabelField;
import org.apache.geaflow.model.graph.IGraphElementWithTimeField;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.graph.encoder.DefaultBytesEncoder;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.graph.encoder.EdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.graph.encoder.IVertexKVEncoder;
import org.apache.geaflow.state.schema.GraphDataSchema;

/** Vertices and edges with labels and times, and their bytes in the form of GeaFlow's encoder. */
public final class Elements {
    public static final List<EdgeAtom> ORDER = Collections.unmodifiableList(Arrays.asList(
            EdgeAtom.SRC_ID, EdgeAtom.DIRECTION, EdgeAtom.LABEL, EdgeAtom.TIME, EdgeAtom.DST_ID));

    public static final IType<String> TEXTS = new Texts();
    public static final IType<Long> NUMBERS = new Numbers();

    /** What follows each part of the key of an edge. */
    public static final byte[] DELIMITER = {1, 8};

    private Elements() {}

    /** An encoder for ids of a type: a user's own, or GeaFlow's. Both make the same bytes. */
    public static <K> IGraphKVEncoder<K, String, String> encoder(IType<K> ids, boolean isOfGeaFlow) {
        return new Encoder<>(ids, isOfGeaFlow);
    }

    /** The schema of these elements, as GeaFlow's encoder uses it. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    public static final class Schema extends GraphDataSchema {
        public Schema() {
            super(ORDER);
        }

        @Override
        public Supplier<IEdge> getEdgeConsFun() {
            return () -> new Link<>(null, null, EdgeDirection.OUT, "", 0, "");
        }

        @Override
        public Function<byte[], Object> getEdgePropertyDeFun() {
            return bytes -> text(bytes);
        }

        @Override
        public void set(IEdge edge, EdgeAtom part, Object value) {
            if (part == EdgeAtom.LABEL) {
                ((Link) edge).label = (String) value;
            } else {
                ((Link) edge).time = (Long) value;
            }
        }
    }

    /** A vertex. */
    public static final class Node<K> implements IVertex<K, String>, IGraphElementWithLabelField, IGraphElementWithTimeField {
        private static final long serialVersionUID = 1L;

        private final transient K id;
        private final String label;
        private final long time;
        private String value;

        public Node(K id, String label, long time, String value) {
            this.id = id;
            this.label = label;
            this.time = time;
            this.value = value;
        }

        @Override
        public K getId() {
            return id;
        }

        @Override
        public IVertex<K, String> withValue(String newValue) {
            value = newValue;
            return this;
        }

        @Override
        public String getValue() {
            return value;
        }

        @Override
        public String getLabel() {
            return label;
        }

        @Override
        public long getTime() {
            return time;
        }

        @Override
        public String toString() {
            return id + " " + label + " " + time + " " + value;
        }
    }

    /** An edge. */
    public static final class Link<K> implements IEdge<K, String>, IGraphElementWithLabelField, IGraphElementWithTimeField {
        private static final long serialVersionUID = 1L;

        private transient K source;
        private transient K target;
        private EdgeDirection direction;
        private String label;
        private long time;
        private String value;

        public Link(K source, K target, EdgeDirection direction, String label, long time, String value) {
            this.source = source;
            this.target = target;
            this.direction = direction;
            this.label = label;
            this.time = time;
            this.value = value;
        }

        @Override
        public K getSrcId() {
            return source;
        }

        @Override
        public void setSrcId(K id) {
            source = id;
        }

        @Override
        public K getTargetId() {
            return target;
        }

        @Override
        public void setTargetId(K id) {
            target = id;
        }

        @Override
        public void setDirect(EdgeDirection newDirection) {
            direction = newDirection;
        }

        @Override
        public IEdge<K, String> withValue(String newValue) {
            value = newValue;
            return this;
        }

        @Override
        public EdgeDirection getDirect() {
            return direction;
        }

        @Override
        public String getValue() {
            return value;
        }

        @Override
        public String getLabel() {
            return label;
        }

        @Override
        public long getTime() {
            return time;
        }

        @Override
        public String toString() {
            return source + " " + direction + " " + target + " " + label + " " + time + " " + value;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    private static long number(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getLong();
    }

    private static final class Texts implements IType<String> {
        private static final long serialVersionUID = 1L;

        @Override
        public Class<String> getTypeClass() {
            return String.class;
        }

        @Override
        public byte[] serialize(String value) {
            return bytes(value);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return text(bytes);
        }
    }

    private static final class Numbers implements IType<Long> {
        private static final long serialVersionUID = 1L;

        @Override
        public Class<Long> getTypeClass() {
            return Long.class;
        }

        @Override
        public byte[] serialize(Long value) {
            return bytes(value.longValue());
        }

        @Override
        public Long deserialize(byte[] bytes) {
            return number(bytes);
        }
    }

    private static final class Encoder<K> implements IGraphKVEncoder<K, String, String> {
        private final IType<K> ids;
        private final boolean isOfGeaFlow;

        Encoder(IType<K> ids, boolean isOfGeaFlow) {
            this.ids = ids;
            this.isOfGeaFlow = isOfGeaFlow;
        }

        @Override
        public IType<K> getKeyType() {
            return ids;
        }

        @Override
        public IVertexKVEncoder<K, String> getVertexEncoder() {
            return new VertexEncoder<>(ids);
        }

        @Override
        public IEdgeKVEncoder<K, String> getEdgeEncoder() {
            IEdgeKVEncoder<K, String> own = new EdgeEncoder<>(ids);
            return isOfGeaFlow ? new EdgeKVEncoder<>(own, new DefaultBytesEncoder()) : own;
        }
    }

    private static final class VertexEncoder<K> implements IVertexKVEncoder<K, String> {
        private final IType<K> ids;

        VertexEncoder(IType<K> ids) {
            this.ids = ids;
        }

        @Override
        public Tuple<byte[], byte[]> format(IVertex<K, String> vertex) {
            Node<K> node = (Node<K>) vertex;
            return Tuple.of(
                    ids.serialize(node.id),
                    joined(Arrays.asList(bytes(node.label), bytes(node.time), bytes(node.value)), new byte[0]));
        }

        @Override
        public IVertex<K, String> getVertex(byte[] key, byte[] value) {
            List<byte[]> parts = split(value, new byte[0]);
            return new Node<>(ids.deserialize(key), text(parts.get(0)), number(parts.get(1)), text(parts.get(2)));
        }

        @Override
        public K getVertexID(byte[] key) {
            return ids.deserialize(key);
        }
    }

    private static final class EdgeEncoder<K> implements IEdgeKVEncoder<K, String> {
        private final IType<K> ids;

        EdgeEncoder(IType<K> ids) {
            this.ids = ids;
        }

        @Override
        public byte[] getScanBytes(K key) {
            byte[] id = ids.serialize(key);
            return ByteBuffer.allocate(id.length + DELIMITER.length).put(id).put(DELIMITER).array();
        }

        @Override
        public Tuple<byte[], byte[]> format(IEdge<K, String> edge) {
            Link<K> link = (Link<K>) edge;
            byte[] direction = {(byte) (link.direction == EdgeDirection.IN ? 0 : 1)};
            List<byte[]> parts = Arrays.asList(
                    ids.serialize(link.source),
                    direction,
                    bytes(link.label),
                    bytes(link.time),
                    ids.serialize(link.target));
            return Tuple.of(joined(parts, DELIMITER), bytes(link.value));
        }

        @Override
        public IEdge<K, String> getEdge(byte[] key, byte[] value) {
            List<byte[]> parts = split(key, DELIMITER);
            return new Link<>(
                    ids.deserialize(parts.get(0)),
                    ids.deserialize(parts.get(4)),
                    parts.get(1)[0] == 0 ? EdgeDirection.IN : EdgeDirection.OUT,
                    text(parts.get(2)),
                    number(parts.get(3)),
                    text(value));
        }
    }

    /** Parts, each with a delimiter after it; then their lengths, and how many there are. */
    private static byte[] joined(List<byte[]> parts, byte[] delimiter) {
        int length = 1;
        for (byte[] part : parts) {
            length += part.length + delimiter.length + Short.BYTES;
        }
        ByteBuffer joined = ByteBuffer.allocate(length);
        parts.forEach(part -> joined.put(part).put(delimiter));
        parts.forEach(part -> joined.putShort((short) part.length));
        return joined.put((byte) parts.size()).array();
    }

    private static List<byte[]> split(byte[] joined, byte[] delimiter) {
        int count = joined[joined.length - 1];
        ByteBuffer lengths = ByteBuffer.wrap(joined, joined.length - 1 - count * Short.BYTES, count * Short.BYTES);
        List<byte[]> parts = new ArrayList<>();
        int at = 0;
        for (int part = 0; part < count; part++) {
            int length = lengths.getShort();
            parts.add(Arrays.copyOfRange(joined, at, at + length));
            at += length + delimiter.length;
        }
        return parts;
    }
}
