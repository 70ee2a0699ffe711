package org.fulgurite;

/** Statistics of a database: see {@link Database#stats()}. Sizes are in bytes. */
public final class Stats {
    private final long[] figures;

    Stats(long[] figures) {
        this.figures = figures;
    }

    /**
     * Returns the size of the data file.
     *
     * @return the size in bytes
     */
    public long fileBytes() {
        return figures[0];
    }

    /**
     * Returns the size of the log.
     *
     * @return the size in bytes
     */
    public long logBytes() {
        return figures[1];
    }

    /**
     * Returns the size of free pages in the data file.
     *
     * @return the size in bytes
     */
    public long freeBytes() {
        return figures[2];
    }

    /**
     * Returns the size of pages that only open snapshots use.
     *
     * @return the size in bytes
     */
    public long pinnedBytes() {
        return figures[3];
    }

    /**
     * Returns the memory of commits that no checkpoint has written to the file yet.
     *
     * @return the memory in bytes
     */
    public long deltaBytes() {
        return figures[4];
    }

    /**
     * Returns the sequence of the newest visible commit.
     *
     * @return the sequence
     */
    public long sequence() {
        return figures[5];
    }

    /**
     * Returns the sequence of the newest durable commit.
     *
     * @return the sequence
     */
    public long durableSequence() {
        return figures[6];
    }

    /**
     * Returns the number of tables.
     *
     * @return the number
     */
    public long tables() {
        return figures[7];
    }

    /**
     * Returns the number of pages of the trees of all tables, without pages of long keys and large values.
     *
     * @return the number
     */
    public long treePages() {
        return figures[8];
    }

    /**
     * Returns the depth of the deepest tree: how many levels of branches are above its leaves. Reading a key passes
     * this many branches.
     *
     * @return the number of levels
     */
    public long treeLevels() {
        return figures[9];
    }

    @Override
    public String toString() {
        return "file: " + fileBytes() + " bytes, free: " + freeBytes() + ", pinned: " + pinnedBytes() + ", log: "
                + logBytes() + ", delta: " + deltaBytes() + ", tables: " + tables() + ", sequence: " + sequence()
                + ", durable: " + durableSequence();
    }
}
