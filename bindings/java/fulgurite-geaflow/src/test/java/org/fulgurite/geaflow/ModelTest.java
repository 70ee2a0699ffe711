package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.junit.jupiter.api.Test;

/** Random operations on key states, with checkpoints and recoveries among them, beside maps of Java. */
class ModelTest extends WithRandomJob {
    private static final int OPERATIONS = 6_000;

    /** Keys that contain each other, zero bytes, and long ones. */
    private static final List<String> KEYS = keys();

    private static List<String> keys() {
        char[] letters = new char[3_000];
        Arrays.fill(letters, 'k');
        String longKey = new String(letters);
        return Arrays.asList("", "\0", "\0\0", "\0\u00FF", "a", "a\0", "a\0b", "ab", "b", longKey, longKey + "\0", "\u00FF");
    }

    private String key() {
        return KEYS.get(random.nextInt(KEYS.size()));
    }

    /** A value, most of them short, some empty, some larger than a page. */
    private String value() {
        int length = random.nextInt(20) == 0 ? random.nextInt(40_000) : random.nextInt(12);
        char[] letters = new char[length];
        Arrays.fill(letters, (char) ('a' + random.nextInt(26)));
        return new String(letters);
    }

    @Test
    void valuesAreAsInAMapIfWritesAreSynchronous() {
        configuration.put("geaflow.state.write.async.enable", "false");
        valuesAreAsInAMap();
    }

    @Test
    void valuesAreAsInAMapIfAFewChangesFillABuffer() {
        configuration.put("geaflow.state.write.buffer.size", "3");
        valuesAreAsInAMap();
    }

    @Test
    void valuesAreAsInAMap() {
        IKVStatefulStore<String, String> store = values();
        Map<String, String> model = new HashMap<>();
        for (int step = 0; step < OPERATIONS; step++) {
            String key = key();
            if (random.nextInt(4) == 0) {
                store.remove(key);
                model.remove(key);
            } else {
                String value = value();
                store.put(key, value);
                model.put(key, value);
            }
            if (isReplaced(store)) {
                store = recovered(values());
            }
            String other = key();
            assertEquals(model.get(other), store.get(other));
        }
    }

    @Test
    void listsAreAsInAMapOfLists() {
        IKListStore<String, String> store = lists();
        Map<String, List<String>> model = new HashMap<>();
        for (int step = 0; step < OPERATIONS; step++) {
            String key = key();
            if (random.nextInt(8) == 0) {
                store.remove(key);
                model.remove(key);
            } else {
                String[] values = random.ints(random.nextInt(4)).mapToObj(any -> value()).toArray(String[]::new);
                store.add(key, values);
                model.computeIfAbsent(key, absent -> new ArrayList<>()).addAll(Arrays.asList(values));
            }
            if (isReplaced((IStatefulStore) store)) {
                store = lists();
                recovered((IStatefulStore) store);
            }
            String other = key();
            assertEquals(model.getOrDefault(other, Collections.emptyList()), store.get(other));
        }
    }

    /** Numbers of elements are reserved in the file: a reopened or recovered store must not use them again. */
    @Test
    void elementsFollowThoseOfBeforeTheStoreWasOpened() {
        IKListStore<String, String> store = lists();
        IStatefulStore life = (IStatefulStore) store;
        store.add("a", "first", "second");
        life.archive(1);
        store.add("a", "third");
        life.close();
        life.init(context(0));
        store.add("a", "fourth");
        assertEquals(Arrays.asList("first", "second", "third", "fourth"), store.get("a"));
        life.drop();
        life.recovery(1);
        store.add("a", "another third");
        assertEquals(Arrays.asList("first", "second", "another third"), store.get("a"));
    }

    @Test
    void mapsAreAsInAMapOfMaps() {
        IKMapStore<String, String, String> store = maps();
        Map<String, Map<String, String>> model = new HashMap<>();
        for (int step = 0; step < OPERATIONS; step++) {
            String key = key();
            Map<String, String> expected = model.computeIfAbsent(key, absent -> new HashMap<>());
            switch (random.nextInt(8)) {
                case 0:
                    store.remove(key);
                    expected.clear();
                    break;
                case 1:
                    String[] removed = {key(), key()};
                    store.remove(key, removed);
                    expected.keySet().removeAll(Arrays.asList(removed));
                    break;
                case 2:
                    Map<String, String> added = new HashMap<>();
                    added.put(key(), value());
                    added.put(key(), value());
                    store.add(key, added);
                    expected.putAll(added);
                    break;
                default:
                    String subKey = key();
                    String value = value();
                    store.add(key, subKey, value);
                    expected.put(subKey, value);
            }
            if (isReplaced((IStatefulStore) store)) {
                store = maps();
                recovered((IStatefulStore) store);
            }
            String other = key();
            Map<String, String> whole = model.getOrDefault(other, Collections.emptyMap());
            assertEquals(whole, store.get(other));
            String first = key();
            String second = key();
            assertEquals(Arrays.asList(whole.get(first), whole.get(second)), store.get(other, first, second));
        }
        assertNull(store.get("no such map", "a").get(0));
    }
}
