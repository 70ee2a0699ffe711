package fulgurite.states;

import fulgurite.states.Workload.Bar;
import fulgurite.states.Workload.Session;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.apache.geaflow.store.IBaseStore;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;

/** Values, lists and maps of random keys. Nothing is flushed between a write and a read. */
final class KeyWorkloads {
    private static final int SEED = 7;
    private static final int ELEMENTS = 20;

    private KeyWorkloads() {}

    /** The workloads, with at most so many keys. */
    static List<Workload> all(int keysMax, int operations) {
        List<Workload> all = new ArrayList<>();
        for (int keys : new int[] {10_000, 100_000, 1_000_000}) {
            if (keys <= keysMax) {
                all.addAll(values(keys, operations));
            }
        }
        int lists = Math.min(10_000, keysMax);
        Workload.Opening additions = (states, directory) -> new Lists(states.lists(directory), lists, operations / 4) {
            @Override
            long operate() {
                store.add(key(), "element-" + next++);
                return 0;
            }
        };
        String added = "an element more in one of " + lists + " lists";
        all.add(new Workload("list_add", added, Workload.Renewed.of(operations / 4, additions)));
        all.add(new Workload("list_get", "a list of " + ELEMENTS + " elements", (states, directory) ->
                new Lists(states.lists(directory), lists, operations / 4) {
                    @Override
                    long operate() {
                        return store.get(key()).size();
                    }
                }));
        all.add(new Workload("map_put", "an entry of one of " + lists + " maps", (states, directory) ->
                new Maps(states.maps(directory), lists, operations / 4) {
                    @Override
                    long operate() {
                        store.add(key(), subKey(), "value-" + next++);
                        return 0;
                    }
                }));
        all.add(new Workload("map_get_entry", "an entry of a map of " + ELEMENTS, (states, directory) ->
                new Maps(states.maps(directory), lists, operations / 4) {
                    @Override
                    long operate() {
                        return store.get(key(), subKey()).get(0).length();
                    }
                }));
        all.add(new Workload("map_get", "a map of " + ELEMENTS + " entries", (states, directory) ->
                new Maps(states.maps(directory), lists, operations / 4) {
                    @Override
                    long operate() {
                        return store.get(key()).size();
                    }
                }));
        return all;
    }

    private static List<Workload> values(int keys, int operations) {
        List<Workload> all = new ArrayList<>();
        all.add(values("kv_put", "a new value", keys, operations, values -> {
            values.put(values.key());
            return 0L;
        }).bar(Bar.ratio(0.3)));
        all.add(values("kv_get", "a value", keys, operations, values -> (long) values.get(values.key()).length())
                .bar(Bar.ratio(0.35)));
        all.add(values("kv_update", "a value is read, and then another put", keys, operations, values -> {
            String key = values.key();
            long length = values.get(key).length();
            values.put(key);
            return length;
        }));
        all.add(values("kv_mixed", "70 % reads and 30 % writes", keys, operations, values -> {
            String key = values.key();
            if (values.random.nextInt(10) < 7) {
                return (long) values.get(key).length();
            }
            values.put(key);
            return 0L;
        }));
        if (keys == 10_000) {
            all.get(0).report("LMDB 10.42 µs, RocksDB 8.7 µs (random)");
            all.get(1).report("LMDB 1.98 µs, RocksDB 2.6 µs (random)");
            all.get(3).report("LMDB 2.9 µs, RocksDB 3.2 µs");
        } else if (keys == 100_000) {
            all.get(0).report("LMDB 2.46 µs (rising)");
            all.get(1).report("LMDB 12.39 µs (random)");
        }
        return all;
    }

    private static Workload values(
            String name, String about, int keys, int operations, Function<Values, Long> operate) {
        return new Workload(name + "_" + keys, about + ", " + keys + " keys", (states, directory) ->
                new Values(states.values(directory), keys, operations, operate));
    }

    /** Random keys and their operations. */
    private abstract static class Keys<S extends IBaseStore> extends Session {
        final S store;
        final int keys;
        final SplittableRandom random = new SplittableRandom(SEED);
        long next;

        Keys(S store, int keys, int operations) {
            super(operations);
            this.store = store;
            this.keys = keys;
        }

        String key() {
            return "key-" + random.nextInt(keys);
        }

        String subKey() {
            return "entry-" + random.nextInt(ELEMENTS);
        }

        abstract long operate();

        @Override
        long run() {
            long sum = 0;
            for (int operation = 0; operation < operations; operation++) {
                sum += operate();
            }
            return sum;
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private static final class Values extends Keys<IKVStatefulStore<String, String>> {
        private final Function<Values, Long> operate;

        Values(IKVStatefulStore<String, String> store, int keys, int operations, Function<Values, Long> operate) {
            super(store, keys, operations);
            this.operate = operate;
            for (int key = 0; key < keys; key++) {
                put("key-" + key);
            }
        }

        void put(String key) {
            store.put(key, "value-" + next++);
        }

        String get(String key) {
            return store.get(key);
        }

        @Override
        long operate() {
            return operate.apply(this);
        }
    }

    private abstract static class Lists extends Keys<IKListStore<String, String>> {
        Lists(IKListStore<String, String> store, int keys, int operations) {
            super(store, keys, operations);
            for (int element = 0; element < ELEMENTS; element++) {
                for (int key = 0; key < keys; key++) {
                    store.add("key-" + key, "element-" + element);
                }
            }
        }
    }

    private abstract static class Maps extends Keys<IKMapStore<String, String, String>> {
        Maps(IKMapStore<String, String, String> store, int keys, int operations) {
            super(store, keys, operations);
            for (int entry = 0; entry < ELEMENTS; entry++) {
                for (int key = 0; key < keys; key++) {
                    store.add("key-" + key, "entry-" + entry, "value-" + key);
                }
            }
        }
    }
}
