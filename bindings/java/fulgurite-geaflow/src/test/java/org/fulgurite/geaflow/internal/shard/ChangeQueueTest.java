package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import org.fulgurite.geaflow.internal.shard.ChangeQueue.Added;
import org.junit.jupiter.api.Test;

/** Buffers of two changes each. */
class ChangeQueueTest {
    private static byte[] key(int number) {
        return new byte[] {(byte) number};
    }

    private static Added add(ChangeQueue queue, int number) {
        return queue.add(Collections.singletonList(new ShardEntry(0, key(number), new byte[3])));
    }

    @Test
    void fullBuffersAreTakenInTheirOrderAndThereAreAsManyAsWereAllowed() {
        ChangeQueue queue = new ChangeQueue(1, 2, 2);
        assertEquals(Added.BUFFERED, add(queue, 1));
        assertNull(queue.takeFull());
        assertEquals(Added.FILLED, add(queue, 2));
        assertEquals(Added.BUFFERED, add(queue, 3));
        // The second buffer is full too, and there is no room for a third.
        assertEquals(Added.BUFFERED, add(queue, 4));
        assertFalse(queue.hasRoom());
        assertEquals(Added.NO_ROOM, add(queue, 5));
        Changes first = queue.takeFull();
        assertTrue(first.mayHave(0, key(1)) && first.mayHave(0, key(2)) && !first.mayHave(0, key(3)));
        assertEquals(Added.FILLED, add(queue, 5), "the second buffer waits from now on");
        assertTrue(queue.mayHave(0, key(3)) && queue.mayHave(0, key(5)) && !queue.mayHave(0, key(1)));
        List<Changes> rest = queue.takeAll();
        assertEquals(2, rest.size());
        assertTrue(rest.get(0).mayHave(0, key(4)) && rest.get(1).mayHave(0, key(5)));
        assertFalse(queue.hasFull());
    }

    @Test
    void oneBufferIsAppliedByTheCallThatFindsNoRoom() {
        ChangeQueue queue = new ChangeQueue(1, 1, 2);
        assertEquals(Added.BUFFERED, add(queue, 1));
        assertEquals(Added.BUFFERED, add(queue, 2));
        assertEquals(Added.NO_ROOM, add(queue, 3));
        Changes full = queue.takeFull();
        assertTrue(full.isFull());
        queue.recycle(full);
        assertEquals(Added.BUFFERED, add(queue, 3));
        assertFalse(queue.mayHave(0, key(1)), "the buffer is used again");
    }

    @Test
    void buffersHaveBoundedBytesHoweverManyThereMayBe() {
        ChangeQueue queue = new ChangeQueue(1, 1_000_000, 1_000);
        long bytes = fill(queue);
        // The last full buffer may go beyond, and the one that is being filled comes in addition.
        long bytesMax = ChangeQueue.FULL_BYTES_MAX + 4 * Changes.FULL_BYTES;
        assertTrue(bytes >= ChangeQueue.FULL_BYTES_MAX && bytes <= bytesMax, bytes + " bytes");
        assertFalse(queue.hasRoom());
        queue.takeFull();
        assertTrue(queue.hasRoom());
        queue.takeAll();
        assertEquals(bytes, fill(queue));
        queue.discard();
        assertEquals(bytes, fill(queue));
    }

    /** Adds changes while there is room, and returns about the memory that they need. */
    private static long fill(ChangeQueue queue) {
        ShardEntry change = new ShardEntry(0, key(1), new byte[4_000]);
        long bytes = 0;
        while (queue.add(Collections.singletonList(change)) != Added.NO_ROOM) {
            bytes += change.bytes() + ShardEntry.OVERHEAD_BYTES;
            assertTrue(bytes < 2 * ChangeQueue.FULL_BYTES_MAX, "there is room for " + bytes + " bytes");
        }
        return bytes;
    }

    @Test
    void changesThatAreAddedDuringACommitAreNotCommitted() {
        ChangeQueue queue = new ChangeQueue(1, 3, 2);
        assertFalse(queue.hasChanges());
        add(queue, 1);
        queue.takeAll();
        add(queue, 2);
        queue.committed();
        assertTrue(queue.hasChanges());
        queue.takeAll();
        queue.committed();
        assertFalse(queue.hasChanges());
    }

    @Test
    void aPausedQueueTakesNoChangesUntilATransactionIsBegun() {
        ChangeQueue queue = new ChangeQueue(1, 3, 2);
        queue.begun();
        for (int number = 1; number <= 3; number++) {
            add(queue, number);
        }
        List<Changes> taken = queue.takeAllAndPause();
        assertEquals(2, taken.size());
        assertTrue(taken.get(0).mayHave(0, key(1)) && taken.get(1).mayHave(0, key(3)));
        assertEquals(Added.PAUSED, add(queue, 4));
        assertFalse(queue.hasBuffered());
        queue.committed();
        assertFalse(queue.hasChanges());
        assertEquals(Added.PAUSED, add(queue, 4));
        queue.begun();
        assertTrue(queue.hasChanges());
        assertEquals(Added.BUFFERED, add(queue, 4));
    }

    @Test
    void aSealedQueueTakesNoChanges() {
        ChangeQueue queue = new ChangeQueue(1, 3, 2);
        add(queue, 1);
        queue.seal();
        assertEquals(Added.SEALED, add(queue, 2));
        assertEquals(1, queue.takeAll().size());
        queue.begun();
        assertEquals(Added.SEALED, add(queue, 2));
    }
}
