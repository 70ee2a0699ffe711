package fulgurite.queue;

import java.nio.file.Path;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;

/** Queues and events. */
final class Queues {
    private Queues() {}

    /** A queue with the default settings: what is appended is in the page cache, and nothing is synced. */
    static ChronicleQueue open(Path directory) {
        return SingleChronicleQueueBuilder.binary(directory.toString()).build();
    }

    /** The payload of an event. */
    static Bytes<?> payload(int length) {
        Bytes<?> payload = Bytes.allocateDirect(length);
        for (int index = 0; index < length; index++) {
            payload.writeByte((byte) 7);
        }
        return payload;
    }
}
