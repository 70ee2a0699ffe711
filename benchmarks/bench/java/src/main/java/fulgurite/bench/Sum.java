package fulgurite.bench;

/** Rows, and the sum of their hashes, which does not depend on their order. */
final class Sum {
    long rows;
    long hash;

    void add(Sum other) {
        rows += other.rows;
        hash += other.hash;
    }

    void same(Sum other, String name) {
        if (rows != other.rows || hash != other.hash) {
            throw new IllegalStateException(name + ": the same questions have other answers than before");
        }
    }

    void print(String name) {
        System.out.println("answer " + name + " " + rows + " " + Long.toUnsignedString(hash));
    }
}
