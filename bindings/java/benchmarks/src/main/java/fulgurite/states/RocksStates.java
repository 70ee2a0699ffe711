package fulgurite.states;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.samples.KryoValues;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;

/** RocksDB by rocksdbjni, with the bytes and calls of GeaFlow's store. A list or map is one value. */
final class RocksStates implements States {
    private final LocalFiles files = new LocalFiles();

    @Override
    public long bytesSent() {
        return files.bytesSent;
    }

    @Override
    public IKVStatefulStore<String, String> values(Path directory) {
        return new RocksValues<>(directory, new Texts(), files);
    }

    @Override
    public IKListStore<String, String> lists(Path directory) {
        return new Lists(new RocksValues<>(directory, new KryoValues<>(), files));
    }

    @Override
    public IKMapStore<String, String, String> maps(Path directory) {
        return new Maps(new RocksValues<>(directory, new KryoValues<>(), files));
    }

    @Override
    public Graph graph(Path directory) {
        return new RocksGraph(directory, false);
    }

    @Override
    public Graph versions(Path directory) {
        return new RocksGraph(directory, true);
    }

    private static final class Lists implements IKListStore<String, String> {
        private final RocksValues<String, List<String>> values;

        Lists(RocksValues<String, List<String>> values) {
            this.values = values;
        }

        @Override
        public void init(StoreContext context) {}

        @Override
        public List<String> get(String key) {
            List<String> list = values.get(key);
            return list == null ? new ArrayList<>() : list;
        }

        @Override
        public void add(String key, String... added) {
            List<String> list = get(key);
            list.addAll(Arrays.asList(added));
            values.put(key, list);
        }

        @Override
        public void remove(String key) {
            values.remove(key);
        }

        @Override
        public void flush() {
            values.flush();
        }

        @Override
        public void close() {
            values.close();
        }
    }

    private static final class Maps implements IKMapStore<String, String, String> {
        private final RocksValues<String, Map<String, String>> values;

        Maps(RocksValues<String, Map<String, String>> values) {
            this.values = values;
        }

        @Override
        public void init(StoreContext context) {}

        @Override
        public Map<String, String> get(String key) {
            Map<String, String> map = values.get(key);
            return map == null ? new HashMap<>() : map;
        }

        @Override
        public List<String> get(String key, String... subKeys) {
            return Arrays.stream(subKeys).map(get(key)::get).collect(Collectors.toList());
        }

        @Override
        public void add(String key, String subKey, String value) {
            Map<String, String> map = get(key);
            map.put(subKey, value);
            values.put(key, map);
        }

        @Override
        public void add(String key, Map<String, String> added) {
            Map<String, String> map = get(key);
            map.putAll(added);
            values.put(key, map);
        }

        @Override
        public void remove(String key) {
            values.remove(key);
        }

        @Override
        public void remove(String key, String... subKeys) {
            Map<String, String> map = get(key);
            Arrays.asList(subKeys).forEach(map::remove);
            values.put(key, map);
        }

        @Override
        public void flush() {
            values.flush();
        }

        @Override
        public void close() {
            values.close();
        }
    }
}
