package org.fulgurite.geaflow.internal.graph;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.geaflow.common.config.keys.StateConfigKeys;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.graph.encoder.DefaultBytesEncoder;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.graph.encoder.EdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.EdgeKVEncoderWithoutValue;
import org.apache.geaflow.state.graph.encoder.IBytesEncoder;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.schema.GraphDataSchema;

/** Decodes edges. */
interface EdgeDecoder<K, EV> {
    /**
     * Decodes an edge.
     *
     * @param source the source
     * @param key the key of the table, which may be changed
     * @param value the value
     */
    IEdge<K, EV> decode(K source, byte[] key, byte[] value);

    /** The decoder of an encoder. GeaFlow's own encoder has one that skips the source and copies less. */
    static <K, EV> EdgeDecoder<K, EV> of(
            IEdgeKVEncoder<K, EV> encoder, IType<K> keyType, IdKeys ids, GraphDataSchema schema) {
        return isOfGeaFlow(encoder)
                ? new OfGeaFlow<>(keyType, ids, schema)
                : (source, key, value) -> encoder.getEdge(ids.encodedEdge(key), value);
    }

    /** Whether an encoder is GeaFlow's, and its bytes too: a user can give it another encoder of bytes. */
    static boolean isOfGeaFlow(IEdgeKVEncoder<?, ?> encoder) {
        Class<?> type = encoder.getClass();
        if (type != EdgeKVEncoder.class && type != EdgeKVEncoderWithoutValue.class) {
            return false;
        }
        IBytesEncoder bytes = ((EdgeKVEncoderWithoutValue<?, ?>) encoder).getBytesEncoder();
        return bytes.getClass() == DefaultBytesEncoder.class;
    }

    /**
     * Edges of GeaFlow's encoder: the parts of the key, each with two bytes after it; then two bytes for the length of
     * each part, and a byte.
     */
    final class OfGeaFlow<K, EV> implements EdgeDecoder<K, EV> {
        private final IType<K> keyType;
        private final IdKeys ids;
        private final GraphDataSchema schema;
        private final EdgeAtom[] parts;
        private final boolean hasValue;

        OfGeaFlow(IType<K> keyType, IdKeys ids, GraphDataSchema schema) {
            this.keyType = keyType;
            this.ids = ids;
            this.schema = schema;
            List<EdgeAtom> order = schema.getEdgeAtoms();
            parts = order.toArray(new EdgeAtom[0]);
            hasValue = !schema.isEmptyEdgeProperty();
        }

        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        public IEdge<K, EV> decode(K source, byte[] key, byte[] value) {
            IEdge edge = schema.getEdgeConsFun().get();
            edge.setSrcId(source);
            int lengths = key.length - 1 - parts.length * Short.BYTES;
            int at = ids.endOfSource(key);
            for (int part = 1; part < parts.length; part++) {
                int lengthAt = lengths + part * Short.BYTES;
                int length = (short) (key[lengthAt] << 8 | key[lengthAt + 1] & 0xFF);
                set(edge, parts[part], key, at, length);
                at += length + StateConfigKeys.DELIMITER.length;
            }
            return hasValue ? edge.withValue(schema.getEdgePropertyDeFun().apply(value)) : edge;
        }

        private void set(IEdge<K, EV> edge, EdgeAtom part, byte[] key, int at, int length) {
            switch (part) {
                case DST_ID:
                    edge.setTargetId(keyType.deserialize(Arrays.copyOfRange(key, at, at + length)));
                    break;
                case DIRECTION:
                    edge.setDirect(key[at] == 0 ? EdgeDirection.IN : EdgeDirection.OUT);
                    break;
                case TIME:
                case DESC_TIME:
                    part.setValue(edge, ByteBuffer.wrap(key).getLong(at), schema);
                    break;
                case LABEL:
                    // The default charset, as the encoder does.
                    part.setValue(edge, new String(key, at, length), schema);
                    break;
                default:
                    throw new IllegalStateException("the key of an edge has the part " + part + " twice");
            }
        }
    }
}
