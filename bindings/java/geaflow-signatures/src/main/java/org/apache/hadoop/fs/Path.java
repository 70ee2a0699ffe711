package org.apache.hadoop.fs;

/** A path of Hadoop's. */
public class Path {
    private final String path;

    public Path(String path) {
        this.path = path;
    }

    public Path(Path parent, String child) {
        this(parent.path + "/" + child);
    }

    @Override
    public String toString() {
        return path;
    }
}
