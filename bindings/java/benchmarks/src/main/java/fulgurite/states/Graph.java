package fulgurite.states;

import java.util.Iterator;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;

/** A graph with ids that are numbers, in one version. Reads see what was added before the last flush. */
interface Graph extends AutoCloseable {
    void add(Node<Long> vertex);

    void add(Link<Long> edge);

    /** Ends a load. */
    void flush();

    Node<Long> vertex(long id);

    /** The edges of a vertex: how many there are, and the sum of their targets. */
    long edges(long id);

    /** The same, and the vertex. */
    long oneDegree(long id);

    /** The same for all vertices, in one scan. */
    Iterator<Long> scan();

    @Override
    void close();
}
