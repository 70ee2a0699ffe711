package org.fulgurite.options;

/** What a commit survives after {@code commit} has returned. */
public enum Durability {
    /** Nothing: the log is written later, and a crash of the process can lose the newest commits. */
    MEMORY,
    /** The commit is in the page cache of the operating system: it survives a crash of the process. */
    LOG,
    /** The commit is on the disk: it survives a power cut. */
    DISK
}
