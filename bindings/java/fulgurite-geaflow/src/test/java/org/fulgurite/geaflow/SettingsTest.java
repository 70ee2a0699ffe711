package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.geaflow.samples.Elements;
import org.junit.jupiter.api.Test;

class SettingsTest extends WithJob {
    private static final Pattern PERCENT = Pattern.compile("^.* uses ([0-9]+) % of .*$", Pattern.DOTALL);

    private void refused(String key, String value, String message) {
        configuration.put(key, value);
        GeaflowRuntimeException thrown = assertThrows(GeaflowRuntimeException.class, this::values);
        configuration.remove(key);
        assertEquals(key + " is \"" + value + "\": " + message, thrown.getMessage());
    }

    @Test
    void valuesThatAreNotAllowedAreErrorsWithTheirKey() {
        for (String prefix : new String[] {"geaflow.store.fulgurite.", "geaflow.store.lmdb."}) {
            refused(prefix + "map.size", "many", "it must be a number of bytes");
            refused(prefix + "map.size", "0", "it must be a positive number of bytes");
            refused(prefix + "map.size", "100", "it must be at least 262144 bytes");
            refused(prefix + "map.size.warning.threshold", "80", "it must be a number above 0 and up to 1");
            refused(prefix + "sync.mode", "sometimes", "it must be SYNC, META_SYNC or NO_SYNC");
            refused(prefix + "memory.size", "1000", "it must be at least 65536 bytes");
            // This state has no partitions.
            refused(prefix + "graph.store.partition.type", "labels", "it must be none, label or dt");
            refused(
                    prefix + "graph.store.dt.start",
                    "2025-01-01",
                    "it must be a number in the unit of the times, not a date");
            refused(
                    prefix + "graph.store.dt.cycle", "0", "it must be a number in the unit of the times, at least 1");
            for (String level : new String[] {"-1", "23", "on"}) {
                refused(prefix + "checkpoint.compression", level, "it must be a level from 1 to 22, or 0 for none");
            }
        }
        for (String setting : new String[] {"number", "size"}) {
            String key = "geaflow.state.write.buffer." + setting;
            refused(key, "0", "it must be a number from 1 to 2147483647");
            refused(key, "few", "it must be a number from 1 to 2147483647");
        }
        for (String key : new String[] {"geaflow.batch.number.per.checkpoint", "geaflow.state.archived.version.num"}) {
            refused(key, "x", "it must be a number, at least 0");
            refused(key, "-3", "it must be a number, at least 0");
        }
        refused("geaflow.state.write.async.enable", "maybe", "it must be true or false");
        configuration.put("geaflow.store.filter.codegen.enable", "maybe");
        GeaflowRuntimeException codegen =
                assertThrows(GeaflowRuntimeException.class, () -> graph(Elements.TEXTS));
        assertEquals(
                "geaflow.store.filter.codegen.enable is \"maybe\": it must be true or false", codegen.getMessage());
        configuration.remove("geaflow.store.filter.codegen.enable");
        StoreContext without = context(0).withKeySerializer(null);
        GeaflowRuntimeException thrown =
                assertThrows(GeaflowRuntimeException.class, () -> store(DataModel.KMap).init(without));
        assertEquals("the state state needs an IKMapSerializer as its key serializer, and has none", thrown.getMessage());
    }

    @Test
    void smallQuotasAndTheLeastMemoryAreAccepted() {
        configuration.put("geaflow.store.fulgurite.map.size", "500000");
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        IKVStatefulStore<String, String> store = values();
        store.put("key", "value");
        store.archive(1);
        assertEquals("value", store.get("key"));
    }

    @Test
    void theLeastQuotaHasRoomForAShardOfEveryModel() {
        configuration.put("geaflow.store.fulgurite.map.size", "262144");
        GraphKVEncoderFactory.ENCODER.set(Elements.encoder(Elements.TEXTS, true));
        long id = 0;
        for (DataModel model : DataModel.values()) {
            IStatefulStore store = store(model);
            store.init(context(0));
            store.compact();
            store.archive(++id);
            store.archive(++id);
            store.close();
            store.init(context(0));
            store.drop();
        }
    }

    @Test
    void aWorkPathThatIsAFileIsNamedWithTheReason() throws IOException {
        Path file = Files.createFile(directory.resolve("a file"));
        configuration.put("geaflow.work.path", file.toString());
        UncheckedIOException refused = assertThrows(UncheckedIOException.class, this::values);
        String message = refused.getMessage();
        assertTrue(message.contains(file.resolve(JOB).toAbsolutePath().toString()), message);
        assertTrue(message.contains(refused.getCause().toString()), message);
        assertTrue(message.endsWith("; check geaflow.work.path"), message);
    }

    @Test
    void everySyncModeIsAccepted() {
        for (String mode : new String[] {"SYNC", "meta_sync", "NO_SYNC"}) {
            configuration.put("geaflow.store.lmdb.sync.mode", mode);
            IKVStatefulStore<String, String> store = values();
            store.put("mode", mode);
            store.close();
            store.init(context(0));
            assertEquals(mode, store.get("mode"));
            store.drop();
        }
    }

    private static StorageFullException fill(IKVStatefulStore<String, String> store) {
        return assertThrows(StorageFullException.class, () -> {
            for (int number = 0; ; number++) {
                store.put("key " + number, "a value of some length, which fills the file after a while " + number);
            }
        });
    }

    @Test
    void theQuotaIsLoggedAsItFillsAndThenAnError() {
        configuration.put("geaflow.store.fulgurite.map.size", Long.toString(8 << 20));
        configuration.put("geaflow.store.fulgurite.max.readers", "126");
        configuration.put("geaflow.state.write.async.enable", "false");
        List<IKVStatefulStore<String, String>> opened = new ArrayList<>();
        List<StorageFullException> refused = new ArrayList<>();
        List<String> events = logged(() -> {
            opened.add(values());
            refused.add(fill(opened.get(0)));
        });
        IKVStatefulStore<String, String> store = opened.get(0);
        StorageFullException full = refused.get(0);
        assertTrue(full.getMessage().contains(Long.toString(8 << 20)), full.getMessage());
        assertTrue(full.getMessage().contains("geaflow.store.fulgurite.map.size"), full.getMessage());
        assertFalse(full.getMessage().contains("reopen"), full.getMessage());
        assertTrue(events.contains("INFO geaflow.store.fulgurite.max.readers has no use in Fulgurite: it is ignored"));
        String quota = "its quota of " + (8 << 20) + " bytes (geaflow.store.fulgurite.map.size)";
        for (Level level : new Level[] {Level.WARN, Level.ERROR}) {
            assertTrue(
                    events.stream().anyMatch(event -> event.startsWith(level.toString()) && event.contains(quota)),
                    () -> level + ": " + events);
        }
        List<String> beyond = events.stream()
                .filter(event -> event.contains(quota))
                .filter(event -> Integer.parseInt(PERCENT.matcher(event).replaceFirst("$1")) > 100)
                .collect(Collectors.toList());
        assertEquals(Collections.emptyList(), beyond, "a file cannot be larger than its quota");
        // Nothing that was written before is lost.
        assertEquals("a value of some length, which fills the file after a while 7", store.get("key 7"));
        store.drop();
        store.init(context(0));
        store.put("a", "after the quota was passed");
        store.archive(1);
    }

    @Test
    void theQuotaIsComparedWhenAShardIsOpenedAndAtEachFlushThatCommits() {
        configuration.put("geaflow.store.fulgurite.map.size", "1048576");
        configuration.put("geaflow.store.fulgurite.map.size.warning.threshold", "0.01");
        List<IKVStatefulStore<String, String>> opened = new ArrayList<>();
        assertEquals(1, quotaWarnings(() -> opened.add(values())));
        IKVStatefulStore<String, String> store = opened.get(0);
        store.put("a", new String(new char[40_000]));
        assertEquals(1, quotaWarnings(store::flush));
        assertEquals(0, quotaWarnings(store::flush));
    }

    private static long quotaWarnings(Runnable run) {
        return logged(run).stream()
                .filter(event -> event.startsWith("WARN") && event.contains("its quota of 1048576 bytes"))
                .count();
    }

    @Test
    void aKeyThatIsNotKnownIsNamedWithTheNearestOne() {
        configuration.put("geaflow.store.fulgurite.mapsize", "100000000");
        assertTrue(logged(this::values).contains("WARN geaflow.store.fulgurite.mapsize is not a key of this store: "
                + "it is ignored; the nearest key is geaflow.store.fulgurite.map.size"));
    }

    @Test
    void partitionsThatReadsCannotUseAreLogged() {
        String warning = "WARN reads go to all partitions, as conditions are compiled: set "
                + "geaflow.store.filter.codegen.enable to false to use them";
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "label");
        assertTrue(logged(() -> graph(Elements.TEXTS).close()).contains(warning));
        configuration.put("geaflow.store.filter.codegen.enable", "false");
        assertFalse(logged(() -> graph(Elements.TEXTS).close()).contains(warning));
    }

    /** Each state is archived at its own level, and recovered at every level. */
    @Test
    void checkpointsAreCompressedUnlessTheLevelIsZero() throws IOException {
        String value = new String(new char[100_000]).replace('\0', 'x');
        String[] levels = {null, "9", "0"};
        for (int id = 1; id <= levels.length; id++) {
            if (levels[id - 1] != null) {
                configuration.put("geaflow.store.fulgurite.checkpoint.compression", levels[id - 1]);
            }
            IKVStatefulStore<String, String> store = values();
            store.put("key " + id, value);
            store.archive(id);
            store.drop();
            List<Path> sent;
            try (Stream<Path> files = Files.list(remote(0).resolve("data"))) {
                String beginning = "segment-" + id + "-";
                sent = files.filter(file -> file.getFileName().toString().startsWith(beginning))
                        .collect(Collectors.toList());
            }
            assertEquals(1, sent.size(), sent.toString());
            assertEquals(id < 3, sent.get(0).toString().endsWith(".zst"), sent.toString());
            assertEquals(id < 3, Files.size(sent.get(0)) < 5_000, sent.toString());
            for (int recovered = 1; recovered <= id; recovered++) {
                store.recovery(recovered);
                assertEquals(value, store.get("key " + recovered));
                store.drop();
            }
            store.close();
        }
    }

    @Test
    void aLargeCheckpointThatIsWholeAgainIsLogged() {
        // What is sent decides, and these values would take next to nothing.
        configuration.put("geaflow.store.fulgurite.checkpoint.compression", "0");
        IKVStatefulStore<String, String> store = values();
        String value = new String(new char[500_000]);
        for (int id = 1; id <= 2; id++) {
            for (int key = 0; key < 3; key++) {
                store.put("key " + key, value + id);
            }
            long checkpoint = id;
            long warnings = logged(() -> store.archive(checkpoint)).stream()
                    .filter(event -> event.startsWith("WARN") && event.contains("is whole again"))
                    .count();
            assertEquals(id - 1, warnings);
        }
    }

    private static double usedOfQuota(Gauges group) {
        return (group.of("fileBytes") - group.of("freeBytes")) / 100_000_000.0;
    }

    @Test
    void sizesAreMetricsUntilTheStoreIsClosed() {
        Gauges group = new Gauges();
        Map<String, Object> gauges = group.values;
        configuration.put("geaflow.store.fulgurite.map.size", "100000000");
        IKVStatefulStore<String, String> store = values();
        store.init(context(0).withMetricGroup(group));
        assertEquals(
                "[fulgurite.state.0.entries, fulgurite.state.0.fileBytes, fulgurite.state.0.freeBytes, "
                        + "fulgurite.state.0.logBytes, fulgurite.state.0.memoryBytes, "
                        + "fulgurite.state.0.snapshotBytes, fulgurite.state.0.treeLevels, "
                        + "fulgurite.state.0.treePages, fulgurite.state.0.utilisation]",
                gauges.keySet().toString());
        assertEquals(0L, gauges.get("fulgurite.state.0.entries"));
        double empty = (Double) gauges.get("fulgurite.state.0.utilisation");
        for (int number = 0; number < 1_000; number++) {
            store.put("key " + number, "value");
        }
        store.archive(1);
        assertEquals(1_000L, gauges.get("fulgurite.state.0.entries"));
        // What is only in memory uses nothing of the quota, which is one of the file.
        assertTrue(group.of("memoryBytes") > 0);
        assertEquals(usedOfQuota(group), (Double) gauges.get("fulgurite.state.0.utilisation"), 1e-12);
        for (int number = 0; number < 20_000; number++) {
            store.put("another key " + number, "value");
        }
        store.compact();
        store.archive(2);
        assertTrue((Double) gauges.get("fulgurite.state.0.utilisation") > empty);
        // A root above several leaves.
        assertTrue(group.of("treeLevels") > 0 && group.of("treePages") > 2);
        assertEquals(usedOfQuota(group), (Double) gauges.get("fulgurite.state.0.utilisation"), 1e-12);
        store.close();
        assertEquals(Collections.emptyMap(), gauges);
    }
}
