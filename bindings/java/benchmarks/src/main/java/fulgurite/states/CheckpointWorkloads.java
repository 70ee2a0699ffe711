package fulgurite.states;

import fulgurite.states.Workload.Bar;
import fulgurite.states.Workload.Session;
import java.util.ArrayList;
import java.util.List;
import org.apache.geaflow.store.api.key.IKVStatefulStore;

/** Archives and recoveries of values, with a storage that is a directory. */
final class CheckpointWorkloads {
    private static final int VALUE_CHARS = 100;
    private static final double CREATE_MS_MOST = 5;
    private static final double RECOVER_MS_MOST = 5;

    private CheckpointWorkloads() {}

    static List<Workload> all(int large) {
        List<Workload> all = new ArrayList<>();
        all.add(new Workload("checkpoint_create_1000", "an archive of 1000 records, all of them new", (states, directory) ->
                new Archived(states.values(directory), 1000, 10) {
                    @Override
                    long run() {
                        for (int archive = 0; archive < operations; archive++) {
                            putAll(1);
                            store.archive(++id);
                        }
                        return 0;
                    }
                }).bar(Bar.milliseconds(CREATE_MS_MOST)).report("LMDB 235 ms, RocksDB 300 to 400 ms"));
        all.add(new Workload("checkpoint_recover_1000", "a recovery of 1000 records", (states, directory) ->
                new Archived(states.values(directory), 1000, 10) {
                    @Override
                    void prepare() {
                        for (int archive = 0; archive < operations; archive++) {
                            store.archive(++id);
                        }
                    }

                    @Override
                    long run() {
                        for (long recovered = id - operations + 1; recovered <= id; recovered++) {
                            store.recovery(recovered);
                        }
                        return store.get("key-999").length();
                    }
                }).bar(Bar.milliseconds(RECOVER_MS_MOST)).report("LMDB 56 ms"));
        String part = "an archive after 1 % of " + large + " records have changed";
        all.add(new Workload("checkpoint_changes_" + large, part, (states, directory) ->
                new Archived(states.values(directory), large, 1) {
                    @Override
                    void prepare() {
                        putAll(100);
                    }

                    @Override
                    long run() {
                        store.archive(++id);
                        return 0;
                    }
                }));
        return all;
    }

    /** Values that were archived once. */
    private abstract static class Archived extends Session {
        final IKVStatefulStore<String, String> store;
        final int records;
        long id;
        private long next;

        Archived(IKVStatefulStore<String, String> store, int records, int operations) {
            super(operations);
            this.store = store;
            this.records = records;
            putAll(1);
            store.archive(++id);
        }

        /** Puts new values for one of so many keys. */
        void putAll(int every) {
            for (int key = 0; key < records; key += every) {
                String value = "value-" + next++;
                store.put("key-" + key, value + "-".repeat(VALUE_CHARS - value.length()));
            }
        }

        @Override
        public void close() {
            store.close();
        }
    }
}
