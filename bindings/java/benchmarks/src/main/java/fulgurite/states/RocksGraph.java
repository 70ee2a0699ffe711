package fulgurite.states;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.graph.encoder.IVertexKVEncoder;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;

/** A graph in RocksDB: families of vertices and edges, with the version before their keys in a dynamic graph. */
final class RocksGraph implements Graph {
    private static final int VERTICES = 0;
    private static final int EDGES = 1;
    private static final int INDEX = 2;
    private static final int BATCH = 1000;
    private static final long VERSION = 7;

    private final IGraphKVEncoder<Long, String, String> encoder = Elements.encoder(Elements.NUMBERS, true);
    private final IVertexKVEncoder<Long, String> vertices = encoder.getVertexEncoder();
    private final IEdgeKVEncoder<Long, String> edges = encoder.getEdgeEncoder();
    private final RocksClient client;

    /** Before each key; empty in a static graph. */
    private final byte[] version;

    private final List<Node<Long>> newVertices = new ArrayList<>();
    private final List<Link<Long>> newEdges = new ArrayList<>();

    RocksGraph(Path directory, boolean isDynamic) {
        version = isDynamic ? joined(number(Long.MAX_VALUE - VERSION), Elements.DELIMITER) : new byte[0];
        client = new RocksClient(directory.resolve("rocksdb"), "default", "e", "v_index");
    }

    private static byte[] number(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    @Override
    public void add(Node<Long> vertex) {
        newVertices.add(vertex);
        writeIfMany();
    }

    @Override
    public void add(Link<Long> edge) {
        newEdges.add(edge);
        writeIfMany();
    }

    private void writeIfMany() {
        if (newVertices.size() + newEdges.size() >= BATCH) {
            write();
        }
    }

    private void write() {
        client.write((batch, families) -> {
            for (Node<Long> vertex : newVertices) {
                Tuple<byte[], byte[]> record = vertices.format(vertex);
                batch.put(families.get(VERTICES), joined(version, record.f0), record.f1);
                if (version.length > 0) {
                    byte[] key = joined(joined(record.f0, Elements.DELIMITER), number(VERSION));
                    batch.put(families.get(INDEX), key, new byte[0]);
                }
            }
            for (Link<Long> edge : newEdges) {
                Tuple<byte[], byte[]> record = edges.format(edge);
                batch.put(families.get(EDGES), joined(version, record.f0), record.f1);
            }
        });
        newVertices.clear();
        newEdges.clear();
    }

    @Override
    public void flush() {
        write();
        client.flush();
    }

    private byte[] withoutVersion(byte[] key) {
        return version.length == 0 ? key : Arrays.copyOfRange(key, version.length, key.length);
    }

    @Override
    public Node<Long> vertex(long id) {
        byte[] key = encoder.getKeyType().serialize(id);
        byte[] value = client.get(VERTICES, joined(version, key));
        return value == null ? null : (Node<Long>) vertices.getVertex(key, value);
    }

    private List<Link<Long>> links(long id) {
        List<Link<Long>> links = new ArrayList<>();
        try (RocksClient.Entries entries = client.entries(EDGES, joined(version, edges.getScanBytes(id)))) {
            while (entries.next()) {
                links.add((Link<Long>) edges.getEdge(withoutVersion(entries.key), entries.value));
            }
        }
        return links;
    }

    private static long sum(List<Link<Long>> links) {
        long sum = 0;
        for (Link<Long> link : links) {
            sum += 1 + link.getTargetId();
        }
        return sum;
    }

    @Override
    public long edges(long id) {
        return sum(links(id));
    }

    @Override
    public long oneDegree(long id) {
        return vertex(id).getValue().length() + sum(links(id));
    }

    /** Merges a scan of the vertices with one of the edges. Every vertex of the benchmark has edges. */
    @Override
    public Iterator<Long> scan() {
        RocksClient.Entries nodes = client.entries(VERTICES, version);
        RocksClient.Entries links = client.entries(EDGES, version);
        return new Iterator<>() {
            private Node<Long> node = nextNode();
            private Link<Long> link = nextLink();

            private Node<Long> nextNode() {
                return nodes.next() ? (Node<Long>) vertices.getVertex(withoutVersion(nodes.key), nodes.value) : null;
            }

            private Link<Long> nextLink() {
                return links.next() ? (Link<Long>) edges.getEdge(withoutVersion(links.key), links.value) : null;
            }

            @Override
            public boolean hasNext() {
                if (node == null) {
                    nodes.close();
                    links.close();
                }
                return node != null;
            }

            @Override
            public Long next() {
                List<Link<Long>> own = new ArrayList<>();
                while (link != null && link.getSrcId().equals(node.getId())) {
                    own.add(link);
                    link = nextLink();
                }
                long sum = node.getValue().length() + sum(own);
                node = nextNode();
                return sum;
            }
        };
    }

    @Override
    public void close() {
        client.close();
    }
}
