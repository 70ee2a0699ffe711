package org.fulgurite.geaflow.internal.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.fulgurite.geaflow.WithJob;
import org.junit.jupiter.api.Test;

/** The numbers of elements, of which a file reserves few at a time here. */
class KeyListStoreTest extends WithJob {
    private static final int NUMBERS_AT_A_TIME = 3;

    @Test
    void elementsAreInOrderAcrossReservationsAndReopenings() {
        KeyListStore<String, String> store = new KeyListStore<>(NUMBERS_AT_A_TIME);
        List<String> added = new ArrayList<>();
        try {
            store.init(context(0));
            for (int element = 0; element < 40; element++) {
                // Reopened with none, one and more of the reserved numbers left, and at once again.
                if (element % 7 == 0) {
                    store.close();
                    store.init(context(0));
                }
                if (element % 14 == 0) {
                    store.init(context(0));
                }
                store.add("list", "element " + element);
                added.add("element " + element);
                assertEquals(added, store.get("list"));
            }
            store.archive(1);
            store.add("list", "lost");
            store.drop();
            store.recovery(1);
            store.add("list", "last");
            added.add("last");
            assertEquals(added, store.get("list"));
        } finally {
            store.close();
        }
    }
}
