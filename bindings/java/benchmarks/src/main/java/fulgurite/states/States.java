package fulgurite.states;

import java.nio.file.Path;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;

/** What keeps the states. Each opens one state in a directory. */
interface States {
    IKVStatefulStore<String, String> values(Path directory);

    IKListStore<String, String> lists(Path directory);

    IKMapStore<String, String, String> maps(Path directory);

    /** A static graph. */
    Graph graph(Path directory);

    /** One version of a dynamic graph. */
    Graph versions(Path directory);

    /** How many bytes were sent to the storage of checkpoints so far. */
    long bytesSent();
}
