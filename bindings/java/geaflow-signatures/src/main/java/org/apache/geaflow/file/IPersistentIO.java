package org.apache.geaflow.file;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** A storage of files. */
public interface IPersistentIO {
    List<String> listFileName(Path path) throws IOException;

    boolean exists(Path path) throws IOException;

    boolean delete(Path path, boolean recursive) throws IOException;

    void copyFromLocalFile(Path local, Path remote) throws IOException;

    void copyToLocalFile(Path remote, Path local) throws IOException;

    long getFileSize(Path path) throws IOException;
}
