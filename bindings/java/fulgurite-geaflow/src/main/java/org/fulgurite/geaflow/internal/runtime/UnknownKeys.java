package org.fulgurite.geaflow.internal.runtime;

import java.util.Collection;
import java.util.Comparator;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warns of keys of the configuration that have the prefix of this store and are not known. */
public final class UnknownKeys {
    private static final Logger LOGGER = LoggerFactory.getLogger(UnknownKeys.class);

    /** A process has many shards with the same configuration. */
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private UnknownKeys() {}

    /**
     * Warns of keys that are not known, once in a process.
     *
     * @param given all keys of the configuration
     * @param prefix the beginning of the keys of this store
     * @param known the known keys, without the prefix
     */
    public static void warn(Collection<String> given, String prefix, List<String> known) {
        try {
            for (String key : given) {
                if (key.startsWith(prefix) && !known.contains(key.substring(prefix.length())) && WARNED.add(key)) {
                    LOGGER.warn(
                            "{} is not a key of this store: it is ignored; the nearest key is {}",
                            key,
                            prefix + nearest(key.substring(prefix.length()), known));
                }
            }
        } catch (ConcurrentModificationException changed) {
            LOGGER.debug("the keys are not checked, as another thread changes the configuration", changed);
        }
    }

    /** Returns the known key that needs the fewest changes of letters. */
    private static String nearest(String key, List<String> known) {
        return known.stream()
                .min(Comparator.comparingInt(candidate -> distance(key, candidate)))
                .orElse("");
    }

    /** The edit distance: the number of letters to insert, delete or replace to turn one text into the other. */
    private static int distance(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int at = 0; at <= to.length(); at++) {
            row[at] = at;
        }
        for (int letter = 1; letter <= from.length(); letter++) {
            int diagonal = row[0];
            row[0] = letter;
            for (int at = 1; at <= to.length(); at++) {
                int replaced = diagonal + (from.charAt(letter - 1) == to.charAt(at - 1) ? 0 : 1);
                diagonal = row[at];
                row[at] = Math.min(replaced, 1 + Math.min(row[at], row[at - 1]));
            }
        }
        return row[to.length()];
    }
}
