package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.graph.encoder.EdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.graph.encoder.IVertexKVEncoder;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.Database;
import org.fulgurite.Table;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.fulgurite.geaflow.samples.KryoValues;
import org.fulgurite.geaflow.samples.Texts;
import org.junit.jupiter.api.Test;

/** Encoders and types of ids of a user. */
class EncodersTest extends WithJob {
    private static <K> Link<K> link(K source, K target) {
        return new Link<>(source, target, EdgeDirection.OUT, "label", 7, "value");
    }

    /** What follows the source in the key of an edge, backwards. Sources have one byte here. */
    private static final class Backwards implements IEdgeKVEncoder<String, String> {
        private static final int BEGINNING = 1 + Elements.DELIMITER.length;

        private final IEdgeKVEncoder<String, String> forwards;

        Backwards(IEdgeKVEncoder<String, String> forwards) {
            this.forwards = forwards;
        }

        private static byte[] turned(byte[] key) {
            byte[] turned = Arrays.copyOf(key, key.length);
            for (int at = BEGINNING; at < key.length; at++) {
                turned[at] = key[key.length - 1 - (at - BEGINNING)];
            }
            return turned;
        }

        @Override
        public byte[] getScanBytes(String source) {
            return forwards.getScanBytes(source);
        }

        @Override
        public Tuple<byte[], byte[]> format(IEdge<String, String> edge) {
            Tuple<byte[], byte[]> formatted = forwards.format(edge);
            return Tuple.of(turned(formatted.f0), formatted.f1);
        }

        @Override
        public IEdge<String, String> getEdge(byte[] key, byte[] value) {
            return forwards.getEdge(turned(key), value);
        }
    }

    /** A user's encoder of a graph made GeaFlow's encoder of edges with an encoder of bytes of its own. */
    @Test
    void edgesOfGeaFlowsEncoderWithOtherBytesAreReadByIt() {
        IGraphKVEncoder<String, String, String> own = Elements.encoder(Elements.TEXTS, false);
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.drop();
        GraphKVEncoderFactory.ENCODER.set(new IGraphKVEncoder<String, String, String>() {
            @Override
            public IType<String> getKeyType() {
                return own.getKeyType();
            }

            @Override
            public IVertexKVEncoder<String, String> getVertexEncoder() {
                return own.getVertexEncoder();
            }

            @Override
            public IEdgeKVEncoder<String, String> getEdgeEncoder() {
                return new EdgeKVEncoder<>(new Backwards(own.getEdgeEncoder()), () -> (byte) 2);
            }
        });
        store.init(context(0));
        store.addEdge(link("a", "b"));
        assertEquals(
                "[" + link("a", "b") + "]", store.getEdges("a", Conditions.none()).toString());
        assertEquals(
                link("a", "b").toString(),
                store.getEdgeIterator(Conditions.none()).next().toString());
    }

    private static void refused(Runnable open, String... parts) {
        String message = assertThrows(GeaflowRuntimeException.class, open::run).getMessage();
        for (String part : parts) {
            assertTrue(message.contains(part), message);
        }
    }

    @Test
    void aGraphThatOtherEncodersHaveWrittenIsRefusedUnlessTheirClassesAreNotChecked() {
        graph(Elements.TEXTS).close();
        isEncoderOfGeaFlow = false;
        refused(() -> graph(Elements.TEXTS), EdgeKVEncoder.class.getName(), "Elements$EdgeEncoder", "classes.check");
        configuration.put("geaflow.store.fulgurite.classes.check", "false");
        graph(Elements.TEXTS).close();
        configuration.remove("geaflow.store.fulgurite.classes.check");
        graph(Elements.TEXTS).close();
        isEncoderOfGeaFlow = true;
        refused(() -> graph(Elements.TEXTS), EdgeKVEncoder.class.getName(), "Elements$EdgeEncoder");
    }

    @Test
    void valuesOfAnotherSerializerAreRefusedAndAnEarlierFileGetsItsName() {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "kept");
        store.close();
        try (Database database = Database.options().open(local(0).resolve("state.ful"))) {
            Table layouts = database.openOrCreateTable("layout");
            byte[] earlier = "values".getBytes(StandardCharsets.UTF_8);
            database.write(transaction -> transaction.put(layouts, new byte[0], earlier));
        }
        store.init(context(0));
        assertEquals("kept", store.get("a"));
        store.close();
        StoreContext other = context(0).withKeySerializer(new KryoValues<String>());
        refused(() -> store.init(other), Texts.class.getName(), KryoValues.class.getName());
        store.init(context(0));
        assertEquals("kept", store.get("a"));
    }

    /** Numbers in as few bytes as they need, although their class says eight. */
    private static final class ShortNumbers implements IType<Long> {
        private static final long serialVersionUID = 1L;

        @Override
        public Class<Long> getTypeClass() {
            return Long.class;
        }

        @Override
        public byte[] serialize(Long number) {
            return ByteBuffer.allocate(Short.BYTES).putShort(number.shortValue()).array();
        }

        @Override
        public Long deserialize(byte[] bytes) {
            return (long) ByteBuffer.wrap(bytes).getShort();
        }
    }

    @Test
    void idsWithOtherLengthsThanTheirTypeHasAreRefused() {
        IStaticGraphStore<Long, String, String> store = graph(new ShortNumbers());
        Runnable[] calls = {
            () -> store.addVertex(new Node<>(1L, "label", 0, "")),
            () -> store.addEdge(link(1L, 2L)),
            () -> store.getEdges(1L, Conditions.none())
        };
        for (Runnable call : calls) {
            String refused = assertThrows(GeaflowRuntimeException.class, call::run).getMessage();
            assertTrue(refused.contains("ids of the type java.lang.Long must have 8 bytes"), refused);
        }
    }
}
