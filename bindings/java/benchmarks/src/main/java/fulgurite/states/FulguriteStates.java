package fulgurite.states;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.store.IBaseStore;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.FulguriteStoreBuilder;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;

/** Fulgurite, by the interfaces of GeaFlow's stores. */
final class FulguriteStates implements States {
    private final LocalFiles files = new LocalFiles();

    FulguriteStates() {
        PersistentIOBuilder.STORAGE.set(files);
    }

    @Override
    public long bytesSent() {
        return files.bytesSent;
    }

    private static Configuration configuration(Path directory) {
        return new Configuration(Map.of(
                "geaflow.work.path", directory.resolve("work").toString(),
                "geaflow.file.persistent.root", directory.resolve("root").toString()));
    }

    @SuppressWarnings("unchecked")
    private static <S extends IBaseStore> S open(DataModel model, Path directory) {
        GraphKVEncoderFactory.ENCODER.set(Elements.encoder(Elements.NUMBERS, true));
        Configuration configuration = configuration(directory);
        IBaseStore store = new FulguriteStoreBuilder().getStore(model, configuration);
        store.init(new StoreContext("state")
                .withConfig(configuration)
                .withKeySerializer(new Texts())
                .withDataSchema(new Elements.Schema()));
        return (S) store;
    }

    @Override
    public IKVStatefulStore<String, String> values(Path directory) {
        return open(DataModel.KV, directory);
    }

    /** Values of one shard of many. */
    IKVStatefulStore<String, String> shard(Path directory, int shard) {
        Configuration configuration = configuration(directory);
        @SuppressWarnings("unchecked")
        IKVStatefulStore<String, String> store = (IKVStatefulStore<String, String>)
                new FulguriteStoreBuilder().getStore(DataModel.KV, configuration);
        store.init(new StoreContext("state")
                .withConfig(configuration)
                .withShardId(shard)
                .withKeySerializer(new Texts()));
        return store;
    }

    @Override
    public IKListStore<String, String> lists(Path directory) {
        return open(DataModel.KList, directory);
    }

    @Override
    public IKMapStore<String, String, String> maps(Path directory) {
        return open(DataModel.KMap, directory);
    }

    @Override
    public Graph graph(Path directory) {
        return new StaticGraph(open(DataModel.STATIC_GRAPH, directory));
    }

    @Override
    public Graph versions(Path directory) {
        return new DynamicGraph(open(DataModel.DYNAMIC_GRAPH, directory));
    }

    private static long sum(Iterable<IEdge<Long, String>> edges) {
        long sum = 0;
        for (IEdge<Long, String> edge : edges) {
            sum += 1 + edge.getTargetId();
        }
        return sum;
    }

    private static long sum(OneDegreeGraph<Long, String, String> graph) {
        List<IEdge<Long, String>> edges = new ArrayList<>();
        graph.getEdgeIterator().forEachRemaining(edges::add);
        return sum(edges) + graph.getVertex().getValue().length();
    }

    private static Iterator<Long> sums(CloseableIterator<OneDegreeGraph<Long, String, String>> graphs) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return graphs.hasNext();
            }

            @Override
            public Long next() {
                return sum(graphs.next());
            }
        };
    }

    private static final class StaticGraph implements Graph {
        private final IStaticGraphStore<Long, String, String> store;

        StaticGraph(IStaticGraphStore<Long, String, String> store) {
            this.store = store;
        }

        @Override
        public void add(Node<Long> vertex) {
            store.addVertex(vertex);
        }

        @Override
        public void add(Link<Long> edge) {
            store.addEdge(edge);
        }

        @Override
        public void flush() {
            store.flush();
        }

        @Override
        public Node<Long> vertex(long id) {
            return (Node<Long>) store.getVertex(id, Conditions.none());
        }

        @Override
        public long edges(long id) {
            return sum(store.getEdges(id, Conditions.none()));
        }

        @Override
        public long oneDegree(long id) {
            return sum(store.getOneDegreeGraph(id, Conditions.none()));
        }

        @Override
        public Iterator<Long> scan() {
            return sums(store.getOneDegreeGraphIterator(Conditions.none()));
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private static final class DynamicGraph implements Graph {
        private final IDynamicGraphStore<Long, String, String> store;

        DynamicGraph(IDynamicGraphStore<Long, String, String> store) {
            this.store = store;
        }

        @Override
        public void add(Node<Long> vertex) {
            store.addVertex(VERSION, vertex);
        }

        @Override
        public void add(Link<Long> edge) {
            store.addEdge(VERSION, edge);
        }

        @Override
        public void flush() {
            store.flush();
        }

        @Override
        public Node<Long> vertex(long id) {
            return (Node<Long>) store.getVertex(VERSION, id, Conditions.none());
        }

        @Override
        public long edges(long id) {
            return sum(store.getEdges(VERSION, id, Conditions.none()));
        }

        @Override
        public long oneDegree(long id) {
            return sum(store.getOneDegreeGraph(VERSION, id, Conditions.none()));
        }

        @Override
        public Iterator<Long> scan() {
            return sums(store.getOneDegreeGraphIterator(VERSION, Conditions.none()));
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private static final long VERSION = 7;
}
