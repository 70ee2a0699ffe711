package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.apache.geaflow.store.IStatefulStore;

/** A test of random operations, with checkpoints and recoveries among them. */
abstract class WithRandomJob extends WithJob {
    final Random random = new Random(20261127);
    private long checkpoint;

    /** Sometimes archives, closes, drops and recovers the store, in some order. Returns whether it was replaced. */
    boolean isReplaced(IStatefulStore store) {
        switch (random.nextInt(200)) {
            case 0:
                store.archive(++checkpoint);
                return false;
            case 1:
                store.flush();
                return false;
            case 2:
                store.compact();
                return false;
            case 3:
                store.archive(++checkpoint);
                if (random.nextBoolean()) {
                    store.close();
                }
                store.drop();
                return true;
            default:
                return false;
        }
    }

    <S extends IStatefulStore> S recovered(S store) {
        assertEquals(checkpoint, store.recoveryLatest());
        return store;
    }
}
