package org.fulgurite.geaflow;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.metrics.common.api.Gauge;
import org.apache.geaflow.metrics.common.api.MetricGroup;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A test with the directories of a job, whose stores are closed at its end. */
public abstract class WithJob {
    static final String JOB = "job";
    static final String STATE = "state";

    @TempDir
    protected Path directory;

    protected final Map<String, String> configuration = new HashMap<>();
    final LocalFiles files = new LocalFiles();

    /** Whether graphs have GeaFlow's encoder, and not one of a user. */
    boolean isEncoderOfGeaFlow = true;

    private final List<IStatefulStore> stores = new ArrayList<>();

    @BeforeEach
    protected void setUp() {
        configuration.put("geaflow.job.runtime.name", JOB);
        configuration.put("geaflow.work.path", directory.resolve("work").toString());
        configuration.put("geaflow.file.persistent.root", directory.resolve("root").toString());
        PersistentIOBuilder.STORAGE.set(files);
    }

    @AfterEach
    protected void tearDown() {
        stores.forEach(IStatefulStore::close);
    }

    protected Path local(int shard) {
        return directory.resolve("work").resolve(JOB).resolve(STATE).resolve(Integer.toString(shard));
    }

    Path remote(int shard) {
        return directory.resolve("root").resolve(JOB).resolve(STATE).resolve(Integer.toString(shard));
    }

    protected StoreContext context(int shard) {
        return new StoreContext(STATE)
                .withConfig(new Configuration(new HashMap<>(configuration)))
                .withShardId(shard)
                .withDataSchema(new Elements.Schema())
                .withKeySerializer(new Texts());
    }

    /** A store that is not initialised. */
    IStatefulStore store(DataModel model) {
        IStatefulStore store =
                (IStatefulStore) new FulguriteStoreBuilder().getStore(model, new Configuration(configuration));
        stores.add(store);
        return store;
    }

    private IStatefulStore initialised(DataModel model) {
        IStatefulStore store = store(model);
        store.init(context(0));
        return store;
    }

    @SuppressWarnings("unchecked")
    protected IKVStatefulStore<String, String> values() {
        return (IKVStatefulStore<String, String>) initialised(DataModel.KV);
    }

    @SuppressWarnings("unchecked")
    IKListStore<String, String> lists() {
        return (IKListStore<String, String>) initialised(DataModel.KList);
    }

    @SuppressWarnings("unchecked")
    IKMapStore<String, String, String> maps() {
        return (IKMapStore<String, String, String>) initialised(DataModel.KMap);
    }

    /** A store of a graph whose ids have this type. */
    @SuppressWarnings("unchecked")
    <K> IStaticGraphStore<K, String, String> graph(IType<K> ids) {
        GraphKVEncoderFactory.ENCODER.set(Elements.encoder(ids, isEncoderOfGeaFlow));
        return (IStaticGraphStore<K, String, String>) initialised(DataModel.STATIC_GRAPH);
    }

    /** A store of a graph with versions. */
    @SuppressWarnings("unchecked")
    <K> IDynamicGraphStore<K, String, String> versions(IType<K> ids) {
        GraphKVEncoderFactory.ENCODER.set(Elements.encoder(ids, isEncoderOfGeaFlow));
        return (IDynamicGraphStore<K, String, String>) initialised(DataModel.DYNAMIC_GRAPH);
    }

    /** What is logged while this runs. */
    protected static List<String> logged(Runnable run) {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        Logger logger = (Logger) LoggerFactory.getLogger("org.fulgurite.geaflow");
        logger.addAppender(log);
        logger.setLevel(Level.INFO);
        log.start();
        try {
            run.run();
        } finally {
            logger.setLevel(null);
            logger.detachAppender(log);
        }
        return log.list.stream()
                .filter(event -> event.getLevel().isGreaterOrEqual(Level.INFO))
                .map(event -> event.getLevel() + " " + event.getFormattedMessage())
                .collect(Collectors.toList());
    }

    /** What a state reports to its metric group. */
    static final class Gauges implements MetricGroup {
        final Map<String, Object> values = new TreeMap<>();

        @Override
        public <T> Gauge<T> gauge(String name) {
            return value -> values.put(name, value);
        }

        @Override
        public void remove(String name) {
            values.remove(name);
        }

        /** A gauge of shard 0. */
        long of(String name) {
            return (Long) values.get("fulgurite." + STATE + ".0." + name);
        }
    }

    static long bytes(Path file) {
        try {
            return Files.size(file);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
