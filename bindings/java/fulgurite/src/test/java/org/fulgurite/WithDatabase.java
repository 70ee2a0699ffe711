package org.fulgurite;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test with a new database and a table. */
abstract class WithDatabase {
    @TempDir
    Path directory;

    Database database;
    Table table;

    @BeforeEach
    void open() {
        database = Database.create(directory.resolve("a.ful"));
        table = database.createTable("t");
    }

    @AfterEach
    void close() {
        database.close();
    }
}
