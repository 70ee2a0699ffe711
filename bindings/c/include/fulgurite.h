/* Fulgurite: an embedded, transactional key-value store in one memory-mapped file.
 *
 * Written by cbindgen from crates/c. bindings/c/README.md says how to link it, docs/guide/c.md how
 * to use it.
 *
 * Every function but those that only return a text or number returns a code: FULGURITE_OK, or a
 * negative number. After a negative code other than FULGURITE_NOT_FOUND and FULGURITE_KEY_EXISTS,
 * fulgurite_error_message() returns the reason, for the calling thread.
 *
 * Handles are numbers, not addresses. A handle that is 0, closed or of another kind is an error.
 * Any thread may use any handle, also several threads the same one. A write transaction and its
 * cursors run one call after the other.
 */

#ifndef FULGURITE_H
#define FULGURITE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The version of this interface. Programs that were compiled with another one must not use the library.
#define FULGURITE_ABI_VERSION 4

// The id of a dropped table that was created before the feed begins.
#define FULGURITE_NO_TABLE_ID UINT64_MAX

// An expected version: the stream may have any, and need not exist.
#define FULGURITE_ANY_VERSION -1

// An expected version: the stream does not exist, or was deleted.
#define FULGURITE_NO_STREAM -2

// An expected version: the stream exists.
#define FULGURITE_STREAM_EXISTS -3

// What a function returns. The numbers never change.
typedef enum fulgurite_code {
  // The call succeeded.
  FULGURITE_OK = 0,
  // The key has no value, there is no such entry, or no such table after this one. There is no message.
  FULGURITE_NOT_FOUND = -1,
  // The key has a value already. There is no message.
  FULGURITE_KEY_EXISTS = -2,
  // The object of the handle is closed, or the handle was never valid.
  FULGURITE_CLOSED = -3,
  // An argument is not valid.
  FULGURITE_INVALID = -4,
  // Another transaction has changed what this one used. Begin it again.
  FULGURITE_CONFLICT = -5,
  // Too much was committed since the transaction began. Begin it again.
  FULGURITE_TRANSACTION_TOO_OLD = -6,
  // A wait has ended without success.
  FULGURITE_TIMEOUT = -7,
  // A system call failed.
  FULGURITE_IO = -8,
  // The disk or the user's disk quota is full.
  FULGURITE_DISK_FULL = -9,
  // The database would exceed its largest size.
  FULGURITE_QUOTA_EXCEEDED = -10,
  // There is no database at this path.
  FULGURITE_DATABASE_NOT_FOUND = -11,
  // The directory of the path does not exist.
  FULGURITE_DIRECTORY_NOT_FOUND = -12,
  // The log of a missing database is at this path.
  FULGURITE_LOG_WITHOUT_DATABASE = -13,
  // There is a file at the path of the backup or image.
  FULGURITE_FILE_EXISTS = -14,
  // The file is not a database, or not an image.
  FULGURITE_NOT_A_DATABASE = -15,
  // A newer version has written the file.
  FULGURITE_UNSUPPORTED_FORMAT = -16,
  // The file is damaged.
  FULGURITE_CORRUPT = -17,
  // Another process, or this one under another name, has the database open for writing. Or a
  // closed handle of this process still has an open transaction.
  FULGURITE_LOCKED = -18,
  // A file of the database was moved while it was open.
  FULGURITE_MOVED = -19,
  // A parent process opened the database. Open it again in this process.
  FULGURITE_FORKED = -20,
  // A segment of the log is missing.
  FULGURITE_LOG_MISSING = -21,
  // This process has the database open with other options.
  FULGURITE_ALREADY_OPEN = -22,
  // The database or transaction is read-only.
  FULGURITE_READ_ONLY = -23,
  // An earlier sync failed. Open the database again.
  FULGURITE_POISONED = -24,
  // It is unknown whether the commit survives. Open the database again.
  FULGURITE_INDETERMINATE = -25,
  // The operation was stopped.
  FULGURITE_STOPPED = -26,
  // No table has this name.
  FULGURITE_TABLE_NOT_FOUND = -27,
  // A table has this name already.
  FULGURITE_TABLE_EXISTS = -28,
  // The table has other options.
  FULGURITE_TABLE_MISMATCH = -29,
  // The key is too long.
  FULGURITE_KEY_TOO_LONG = -30,
  // The value is too long.
  FULGURITE_VALUE_TOO_LONG = -31,
  // A merge failed, such as by an error of its function or a sum out of range.
  FULGURITE_UNMERGEABLE = -32,
  // The keys of a sorted load do not ascend.
  FULGURITE_OUT_OF_ORDER = -33,
  // The callback that returns entries has failed.
  FULGURITE_INPUT = -34,
  // A bug in Fulgurite.
  FULGURITE_INTERNAL = -35,
  // Another error; the message has the reason.
  FULGURITE_OTHER = -36,
  // The log begins after the commit that a change feed was to continue after.
  FULGURITE_CHANGES_GONE = -37,
  // A sum is out of range. Merges report this as FULGURITE_UNMERGEABLE.
  FULGURITE_OVERFLOW = -38,
  // The merge function of the table was not registered when the database was opened.
  FULGURITE_MERGE_FUNCTION_MISSING = -39,
  // The stream does not have the expected version. Read it again, then decide again.
  FULGURITE_WRONG_VERSION = -40,
  // Some events of an append have ids that the stream has already, but not all of them in this order.
  FULGURITE_ID_REUSED = -41,
  // There is no such stream, or it was deleted.
  FULGURITE_STREAM_NOT_FOUND = -42,
  // The stream was deleted for ever: nothing can be appended to it.
  FULGURITE_TOMBSTONE = -43,
  // An event matches the query of an append. Read again, then decide again.
  FULGURITE_CONDITION_FAILED = -44,
  // The socket of an event store failed: no process serves there, or it has ended, or the path is not free.
  FULGURITE_SOCKET = -45,
} fulgurite_code;

// What a commit survives when it returns.
typedef enum fulgurite_durability {
  // That of the database's options; for these, FULGURITE_DURABILITY_DISK.
  FULGURITE_DURABILITY_DEFAULT = 0,
  // Nothing: a crash of the process can lose the newest commits.
  FULGURITE_DURABILITY_MEMORY = 1,
  // A crash of the process.
  FULGURITE_DURABILITY_LOG = 2,
  // A power cut.
  FULGURITE_DURABILITY_DISK = 3,
} fulgurite_durability;

// What is checked when a write transaction commits.
typedef enum fulgurite_isolation {
  // That of the database's options; for these, FULGURITE_ISOLATION_SERIALIZABLE.
  FULGURITE_ISOLATION_DEFAULT = 0,
  // All that it has read and written.
  FULGURITE_ISOLATION_SERIALIZABLE = 1,
  // What it has written.
  FULGURITE_ISOLATION_SNAPSHOT = 2,
} fulgurite_isolation;

// How fulgurite_merge changes a value.
typedef enum fulgurite_merge_operator {
  // The table has none.
  FULGURITE_MERGE_NONE = 0,
  // The sum, which wraps around. Values are unsigned big-endian integers of 8 bytes, or of the table's
  // value type.
  FULGURITE_MERGE_ADD = 1,
  // The greater of both.
  FULGURITE_MERGE_MAX = 2,
  // The value followed by the operand.
  FULGURITE_MERGE_APPEND = 3,
  // The sum, or the nearest number in range.
  FULGURITE_MERGE_ADD_SATURATING = 4,
  // The sum. If it is out of range, the merge fails (FULGURITE_UNMERGEABLE).
  FULGURITE_MERGE_ADD_CHECKED = 5,
  // The lesser of both.
  FULGURITE_MERGE_MIN = 6,
  // The bits that are set in both.
  FULGURITE_MERGE_AND = 7,
  // The bits that are set in at least one.
  FULGURITE_MERGE_OR = 8,
  // The bits that are set in exactly one.
  FULGURITE_MERGE_XOR = 9,
} fulgurite_merge_operator;

// What a change has done.
typedef enum fulgurite_change_kind {
  // The key has this value: from a put, or as the result of a merge.
  FULGURITE_CHANGE_PUT = 1,
  // The key got a large value, of `value_length` bytes, that is no longer stored. A later commit of
  // the feed replaced it, deleted the key, dropped the table or reports a bulk load of the table.
  FULGURITE_CHANGE_SUPERSEDED = 2,
  // The key was deleted.
  FULGURITE_CHANGE_DELETE = 3,
  // The table was created.
  FULGURITE_CHANGE_TABLE_CREATED = 4,
  // The table was dropped.
  FULGURITE_CHANGE_TABLE_DROPPED = 5,
  // The table was renamed. `key` is the name that it had.
  FULGURITE_CHANGE_TABLE_RENAMED = 6,
  // A bulk load, or a transaction that was too large for memory, may have changed any keys of the
  // table. Read the whole table from a new transaction, and replace your copy.
  FULGURITE_CHANGE_BULK_LOADED = 7,
} fulgurite_change_kind;

// Bytes of a database or of the caller. `data` is NULL if there is no value.
typedef struct fulgurite_slice {
  // The first byte.
  const uint8_t *data;
  // The number of bytes.
  size_t length;
} fulgurite_slice;

// Computes the new value of a key, passes it to fulgurite_set_merge_result, and returns
// FULGURITE_OK; or returns another number to fail, such as that of fulgurite_set_merge_error.
//
// `value` is the value that the key has; its `data` is NULL if the key has none. `operands` are
// those that one transaction merges into the key, in the order of its calls, at least one. The bytes
// are valid until the function returns. The result must depend on the arguments only: the function
// may be called several times for one merge, and by several threads at once. Other commits may wait
// for it. It must return (no longjmp, no exception of C++). Within it, all other functions of this
// library that return a code fail with FULGURITE_INVALID.
typedef int (*fulgurite_merge_callback)(void *context,
                                        struct fulgurite_slice key,
                                        struct fulgurite_slice value,
                                        const struct fulgurite_slice *operands,
                                        size_t operand_count);

// Releases the context of a merge function. It must return. Within it, functions of this library
// that return a code fail with FULGURITE_INVALID.
typedef void (*fulgurite_release_callback)(void *context);

// A merge function of the program.
typedef struct fulgurite_merge_function {
  // The name by which tables refer to it: 1 to 255 bytes.
  const char *name;
  // The function.
  fulgurite_merge_callback merge;
  // Passed to the function.
  void *context;
  // Called once with the context, after the last call of the function: when the database is closed
  // and its last transaction has ended, or when fulgurite_open fails for another reason than the
  // size of the options. May be NULL.
  fulgurite_release_callback release;
} fulgurite_merge_function;

// Options of fulgurite_open. Set `size`, and leave what you do not need 0:
//
//     fulgurite_options options = {.size = sizeof options, .create = true};
typedef struct fulgurite_options {
  // sizeof(fulgurite_options)
  size_t size;
  // Creates the database if it does not exist.
  bool create;
  // Opens it for reading only.
  bool read_only;
  // The file must be an image (fulgurite_write_image), which is opened for reading only.
  bool image;
  // Does not map the file into memory, so that errors of the disk are codes and not signals (SIGBUS).
  bool no_map;
  // Does not request huge pages.
  bool no_huge_pages;
  // Runs no checkpoints in the background: a checkpoint runs in fulgurite_checkpoint, or in a commit
  // that finds delta_bytes used up.
  bool no_background;
  // A value of fulgurite_durability.
  uint32_t durability;
  // A value of fulgurite_isolation.
  uint32_t isolation;
  // The size of a page of a new database: 8192 or 16384 bytes. Default: 16384.
  uint32_t page_size_bytes;
  // The size of the page cache, which is used without a map and for large images. Default: 64 MiB.
  uint64_t cache_bytes;
  // The memory for commits before a checkpoint writes them to the file, 64 KiB to 8 GiB. Default: a
  // 64th of the memory of the machine or control group, at least 64 MiB and at most 384 MiB.
  uint64_t delta_bytes;
  // The memory for the changes of one transaction; above it they are spilled to the file. Default:
  // half of delta_bytes, at least 64 MiB and at most 192 MiB.
  uint64_t write_set_bytes;
  // The largest size of the file. 0 sets no limit.
  uint64_t max_size_bytes;
  // How many bytes of log are kept for change feeds, beyond what recovery needs. Set it at every
  // opening for writing: 0 keeps none, and removes what an earlier opening kept.
  uint64_t keep_log_bytes;
  // How long opening waits for another process that has the database open for writing, before it
  // returns FULGURITE_LOCKED.
  uint64_t wait_for_lock_ms;
  // At what age of its oldest commit that is not in the file a background checkpoint runs, so that
  // other processes see the commit. 0 sets no limit.
  uint64_t checkpoint_interval_ms;
  // Merge functions, by the names that tables store. fulgurite_open copies the array and the names.
  const struct fulgurite_merge_function *merge_functions;
  // The number of merge functions.
  size_t merge_function_count;
} fulgurite_options;

// An open database. 0 is none.
typedef struct fulgurite_database {
  // Do not use it.
  uint64_t id;
} fulgurite_database;

// Options of a new table. Set `size`, and leave what you do not need 0.
typedef struct fulgurite_table_options {
  // sizeof(fulgurite_table_options)
  size_t size;
  // Keeps exact counts of ranges fast while changes wait for a checkpoint. Checkpoints take longer.
  bool counted;
  // Stores only the part of a key that differs from the key before it. Gets and scans are slower.
  bool packed;
  // The alignment of values: 1, 4, 8 or 16 bytes. Default: 1. Not with `packed`.
  uint8_t value_align;
  // A value of fulgurite_merge_operator.
  uint32_t merge;
  // The name of a merge function of fulgurite_options, in place of an operator. NULL for none.
  const char *merge_function;
  // The type of the keys, such as "(u32,string)", for tools and other languages. NULL for bytes. The
  // name must be that of a type. Keys are not checked against it.
  const char *key_type;
  // The type of the values, as `key_type`. NULL for bytes.
  const char *value_type;
} fulgurite_table_options;

// A table. 0 is none.
typedef struct fulgurite_table {
  // Do not use it.
  uint64_t id;
} fulgurite_table;

// A read or write transaction. 0 is none.
typedef struct fulgurite_txn {
  // Do not use it.
  uint64_t id;
} fulgurite_txn;

// A cursor over the entries of a table. 0 is none.
typedef struct fulgurite_cursor {
  // Do not use it.
  uint64_t id;
} fulgurite_cursor;

// Returns the next entry of a bulk load: sets `key` and `value`, whose bytes must be valid until
// the next call, and returns 1; or returns 0 after the last entry, or a negative number to fail. It
// must return (no longjmp, no exception of C++). In a sorted load it must not change, checkpoint or
// close the database: such a call would wait for the load for ever.
typedef int (*fulgurite_entry_source)(void *context,
                                      struct fulgurite_slice *key,
                                      struct fulgurite_slice *value);

// How many keys a bulk load has inserted and replaced.
typedef struct fulgurite_load_summary {
  // Keys that had no value before.
  uint64_t inserted;
  // Keys whose value was replaced.
  uint64_t replaced;
} fulgurite_load_summary;

// A change feed. 0 is none.
typedef struct fulgurite_changes {
  // Do not use it.
  uint64_t id;
} fulgurite_changes;

// One change of a commit.
typedef struct fulgurite_change {
  // A fulgurite_change_kind. Later versions may have more: skip those that you do not know.
  uint32_t kind;
  // The number of the table, which renaming does not change, or FULGURITE_NO_TABLE_ID.
  uint64_t table_id;
  // The name of the table. No value for a table that a later commit of the feed drops.
  struct fulgurite_slice table_name;
  // The key. No value if the change is one of a whole table.
  struct fulgurite_slice key;
  // The value of a FULGURITE_CHANGE_PUT. No value for other changes.
  struct fulgurite_slice value;
  // The length of the value.
  uint64_t value_length;
} fulgurite_change;

// The result of fulgurite_check.
typedef struct fulgurite_check_report {
  // Tables that were checked.
  uint64_t tables;
  // Entries that were read.
  uint64_t entries;
  // Pages that were read.
  uint64_t pages;
  // Damages that were found.
  uint64_t damages;
} fulgurite_check_report;

// Sizes of a database's files, in bytes, and sequences of commits.
typedef struct fulgurite_stats {
  // The data file.
  uint64_t file_bytes;
  // All segments of the log.
  uint64_t log_bytes;
  // Free pages of the data file.
  uint64_t free_bytes;
  // Pages that only open snapshots need.
  uint64_t pinned_bytes;
  // The memory of commits that are not in the file yet.
  uint64_t delta_bytes;
  // The sequence of the newest visible commit.
  uint64_t sequence;
  // The sequence of the newest commit that is known to survive a power cut.
  uint64_t durable_sequence;
  // The number of tables.
  uint64_t tables;
} fulgurite_stats;

// Options of fulgurite_open_event_store. Set `size`, and leave what you do not need 0.
typedef struct fulgurite_event_store_options {
  // sizeof(fulgurite_event_store_options)
  size_t size;
  // The name of the store, with which the names of its tables begin. NULL for "events".
  const char *name;
  // What an append survives when it returns, and when followers see its events: a value of
  // fulgurite_durability. The default is FULGURITE_DURABILITY_DISK.
  uint32_t durability;
  // Within how many of the newest events an event id is recognised. The default is 65,536.
  uint64_t id_window;
} fulgurite_event_store_options;

// An open event store. 0 is none.
typedef struct fulgurite_event_store {
  // Do not use it.
  uint64_t id;
} fulgurite_event_store;

// An event to append. Leave what you do not need 0.
typedef struct fulgurite_new_event {
  // The name of its type: 1 to 255 bytes of UTF-8.
  struct fulgurite_slice kind;
  // What happened, in the program's encoding.
  struct fulgurite_slice payload;
  // What belongs to the event but not to what happened, such as the user.
  struct fulgurite_slice metadata;
  // The 16 bytes of its id, such as those of a UUID. NULL for none.
  const uint8_t *id;
  // The version of the schema of its type.
  uint32_t schema;
  // What queries may ask for, such as "order:7". Each has 1 to 65,535 bytes of UTF-8.
  const struct fulgurite_slice *tags;
  // The number of tags.
  size_t tag_count;
} fulgurite_new_event;

// Where appended events are.
typedef struct fulgurite_appended {
  // The position of the first one.
  uint64_t position;
  // The version of the first one.
  uint64_t version;
  // How many there are.
  uint64_t count;
  // Whether an earlier append had written the same events, so that this one wrote nothing.
  bool repeated;
} fulgurite_appended;

// The events to append to one stream.
typedef struct fulgurite_stream_append {
  // The name of the stream: 1 to 1,024 bytes.
  struct fulgurite_slice stream;
  // The version that the last event of the stream must have, or FULGURITE_ANY_VERSION,
  // FULGURITE_NO_STREAM or FULGURITE_STREAM_EXISTS.
  int64_t expected;
  // The events.
  const struct fulgurite_new_event *events;
  // The number of events.
  size_t event_count;
} fulgurite_stream_append;

// A part of a query. An event matches it if the event has one of the types and all of the tags, and is
// in one of the streams. What has no names matches all: leave it 0.
typedef struct fulgurite_query_item {
  // The names of types.
  const struct fulgurite_slice *kinds;
  // The number of types.
  size_t kind_count;
  // Tags.
  const struct fulgurite_slice *tags;
  // The number of tags.
  size_t tag_count;
  // The names of streams.
  const struct fulgurite_slice *streams;
  // The number of streams.
  size_t stream_count;
} fulgurite_query_item;

// The limits of a stream, which fulgurite_apply_retention applies, and bytes that the program stores
// with it. Leave what you do not need 0.
typedef struct fulgurite_stream_metadata {
  // Keep events of this age at most, in microseconds. 0 for any age.
  uint64_t max_age_us;
  // Keep this many events at most: the newest. 0 for any number.
  uint64_t max_count;
  // What the program wants to store.
  struct fulgurite_slice custom;
} fulgurite_stream_metadata;

// What fulgurite_apply_retention keeps of the log. Set `size`, and leave what you do not need 0.
typedef struct fulgurite_retention {
  // sizeof(fulgurite_retention)
  size_t size;
  // Keep events of this age at most, in microseconds. 0 for any age.
  uint64_t max_age_us;
  // Keep this many events at most: the newest. 0 for any number.
  uint64_t max_count;
  // Keep about this many bytes of events at most: the newest. 0 for any number.
  uint64_t max_bytes;
} fulgurite_retention;

// What fulgurite_apply_retention has removed.
typedef struct fulgurite_retention_report {
  // The first position that the log keeps.
  uint64_t first;
  // Chunks of events that were removed whole.
  uint64_t chunks_removed;
  // Chunks from which some events were removed.
  uint64_t chunks_rewritten;
} fulgurite_retention_report;

// A cursor over events. 0 is none.
typedef struct fulgurite_event_cursor {
  // Do not use it.
  uint64_t id;
} fulgurite_event_cursor;

// An event that was read.
typedef struct fulgurite_event {
  // Its position in the log of all events: 0, 1, 2, ... in the order of commits.
  uint64_t position;
  // Its version in its stream: 0, 1, 2, ...
  uint64_t version;
  // When it was appended, in microseconds since 1970. Never less than that of the event before.
  uint64_t time_us;
  // The name of its stream.
  struct fulgurite_slice stream;
  // The name of its type.
  struct fulgurite_slice kind;
  // What happened. It begins at an address that is a multiple of 8.
  struct fulgurite_slice payload;
  // The metadata.
  struct fulgurite_slice metadata;
  // The 16 bytes of its id. NULL if it has none.
  const uint8_t *id;
  // The version of the schema of its type.
  uint32_t schema;
  // Its tags, in the order in which they were given. NULL if it has none.
  const struct fulgurite_slice *tags;
  // The number of tags.
  size_t tag_count;
} fulgurite_event;

// A follower of an event store. 0 is none.
typedef struct fulgurite_follower {
  // Do not use it.
  uint64_t id;
} fulgurite_follower;

// A server for followers in other processes. 0 is none.
typedef struct fulgurite_event_server {
  // Do not use it.
  uint64_t id;
} fulgurite_event_server;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the message of the last error of the calling thread, as UTF-8. It is valid until the
// next error of this thread. Empty if there was no error.
const char *fulgurite_error_message(void);

// Returns the name of a code, such as "CONFLICT". Never NULL.
const char *fulgurite_code_name(int code);

// Whether a transaction that failed with this code may succeed if it is begun again.
bool fulgurite_is_retryable(int code);

// Sets the new value of the key, in a merge function. The bytes are copied.
//
// # Safety
// `value` points to `length` bytes.
int fulgurite_set_merge_result(const uint8_t *value, size_t length);

// Sets why there is no new value, in a merge function, and returns FULGURITE_UNMERGEABLE for the
// function to return. The call that needs the value, such as fulgurite_get or fulgurite_commit,
// fails with this code, and its message has the text.
//
// # Safety
// `message` ends with a byte 0.
int fulgurite_set_merge_error(const char *message);

// Returns FULGURITE_ABI_VERSION as the library was compiled.
uint32_t fulgurite_abi_version(void);

// Returns the version of the library, such as "0.1.0".
const char *fulgurite_version(void);

// Opens a database. `options` may be NULL: then the database must exist.
//
// A process may open a database several times, with the same options. The last fulgurite_close
// closes it. Merge functions are those of the first opening; a later opening with a new name fails
// with FULGURITE_ALREADY_OPEN. A merge function cannot open a database (FULGURITE_INVALID).
//
// # Safety
// `path` ends with a byte 0. Texts of `options` do, too. Its merge functions do what their types say.
int fulgurite_open(const char *path,
                   const struct fulgurite_options *options,
                   struct fulgurite_database *database);

// Closes a database: merges all commits into the file, and removes the log except for what
// `keep_log_bytes` keeps. If that fails, it returns the error.
//
// Transactions that are open remain so: they can still read, but no longer commit. Until the last
// of them has ended, opening the database again returns FULGURITE_LOCKED. The call waits for an
// exclusive transaction to end. Closing a database twice returns FULGURITE_CLOSED.
int fulgurite_close(struct fulgurite_database database);

// Creates a table in a transaction of its own. `options` may be NULL. FULGURITE_TABLE_EXISTS if a
// table has the name.
//
// # Safety
// `name` and the texts of `options` end with a byte 0.
int fulgurite_create_table(struct fulgurite_database database,
                           const char *name,
                           const struct fulgurite_table_options *options,
                           struct fulgurite_table *table);

// Opens a table, and creates it if it does not exist. FULGURITE_TABLE_MISMATCH if an existing table
// has other options.
//
// # Safety
// `name` and the texts of `options` end with a byte 0.
int fulgurite_open_or_create_table(struct fulgurite_database database,
                                   const char *name,
                                   const struct fulgurite_table_options *options,
                                   struct fulgurite_table *table);

// Opens a table, whatever its options. FULGURITE_TABLE_NOT_FOUND if no table has the name.
//
// # Safety
// `name` ends with a byte 0.
int fulgurite_open_table(struct fulgurite_database database,
                         const char *name,
                         struct fulgurite_table *table);

// Closes the handle of a table. The table and its entries remain. fulgurite_close does not close
// handles of tables.
int fulgurite_close_table(struct fulgurite_table table);

// Removes a table and its entries, in a transaction of its own. Close the handle afterwards.
int fulgurite_drop_table(struct fulgurite_database database, struct fulgurite_table table);

// Renames a table, in a transaction of its own. The handle stays valid. FULGURITE_TABLE_EXISTS if
// another table has the name.
//
// # Safety
// `name` ends with a byte 0.
int fulgurite_rename_table(struct fulgurite_database database,
                           struct fulgurite_table table,
                           const char *name);

// Returns the name of the first table after `after`, in the order of names. An `after` of length 0
// returns the first table. FULGURITE_NOT_FOUND after the last table. The name is not followed by a
// byte 0. It is valid as long as a value of fulgurite_get that is not in the mapped file.
//
// # Safety
// `after` points to as many bytes as it has.
int fulgurite_next_table(struct fulgurite_txn txn,
                         struct fulgurite_slice after,
                         struct fulgurite_slice *name);

// Begins a read transaction: a snapshot of everything committed so far. It blocks no writer. End it
// (fulgurite_end): the file cannot reuse the pages of its snapshot before.
int fulgurite_begin_read(struct fulgurite_database database, struct fulgurite_txn *txn);

// As fulgurite_begin_read, but shows only commits that survive a power cut.
int fulgurite_begin_read_durable(struct fulgurite_database database, struct fulgurite_txn *txn);

// Begins a write transaction. Any number of them may run at once, on any threads. If another one
// has committed a conflicting change, the commit returns FULGURITE_CONFLICT. End it with
// fulgurite_commit or fulgurite_end. The call waits while an exclusive transaction or a bulk load
// runs.
int fulgurite_begin_write(struct fulgurite_database database, struct fulgurite_txn *txn);

// As fulgurite_begin_write, with a value of fulgurite_isolation.
int fulgurite_begin_write_with(struct fulgurite_database database,
                               uint32_t isolation,
                               struct fulgurite_txn *txn);

// As fulgurite_begin_write, but returns FULGURITE_TIMEOUT instead of waiting for an exclusive transaction
// or a bulk load.
int fulgurite_try_begin_write(struct fulgurite_database database,
                              struct fulgurite_txn *txn);

// Begins an exclusive write transaction: no other transaction commits until it ends, so it never
// conflicts. FULGURITE_TIMEOUT if another exclusive transaction or a bulk load has not ended in time.
// Until it ends, the thread must not write by another transaction, nor close the database: such a
// call would wait for ever.
int fulgurite_begin_exclusive(struct fulgurite_database database,
                              uint64_t timeout_ms,
                              struct fulgurite_txn *txn);

// Commits a write transaction, with the durability of the database's options. Returns the sequence
// of the commit if `sequence` is not NULL. The transaction ends, whatever the code is. A handle of
// another object, such as a read transaction (FULGURITE_READ_ONLY), stays open.
int fulgurite_commit(struct fulgurite_txn txn, uint64_t *sequence);

// As fulgurite_commit, with a value of fulgurite_durability. With another number nothing is committed,
// and the transaction ends.
int fulgurite_commit_with(struct fulgurite_txn txn,
                          uint32_t durability,
                          uint64_t *sequence);

// Ends a transaction: a read transaction, or a write transaction whose changes are dropped. Ending
// a transaction twice returns FULGURITE_CLOSED.
int fulgurite_end(struct fulgurite_txn txn);

// Returns the sequence of the newest commit that a transaction sees.
int fulgurite_sequence(struct fulgurite_txn txn, uint64_t *sequence);

// Makes a savepoint of a write transaction, and returns its number. It is not a change: returned bytes
// stay valid.
int fulgurite_savepoint(struct fulgurite_txn txn,
                        uint32_t *savepoint);

// Undoes all changes after a savepoint. The savepoint can be used again; later ones become invalid.
// This is a change: returned bytes are not valid after it.
int fulgurite_rollback_to(struct fulgurite_txn txn, uint32_t savepoint);

// Returns the value of a key, or FULGURITE_NOT_FOUND.
//
// The value is not copied: it is in the mapped file, or in memory of the transaction. In a read
// transaction it is valid until the transaction ends. Values that are not in the mapped file (of
// compressed images, databases opened with no_map, results of merges) are kept until then, too, or
// until fulgurite_release_values. In a write transaction, a value is valid until the next change by
// this transaction, or its end.
//
// # Safety
// `key` points to `key_length` bytes.
int fulgurite_get(struct fulgurite_txn txn,
                  struct fulgurite_table table,
                  const uint8_t *key,
                  size_t key_length,
                  struct fulgurite_slice *value);

// Returns the values of many keys, which is several times faster than single gets. A key without a
// value gets a slice whose `data` is NULL. Values are valid as those of fulgurite_get.
//
// # Safety
// `keys` points to `count` slices, which point to as many bytes as they have, and `values` to
// `count` places.
int fulgurite_get_many(struct fulgurite_txn txn,
                       struct fulgurite_table table,
                       const struct fulgurite_slice *keys,
                       size_t count,
                       struct fulgurite_slice *values);

// As fulgurite_get_many, with keys one after the other: key i ends before `keys[key_ends[i]]`.
//
// # Safety
// `keys` points to `keys_length` bytes, `key_ends` to `count` numbers, and `values` to `count`
// places.
int fulgurite_get_packed(struct fulgurite_txn txn,
                         struct fulgurite_table table,
                         const uint8_t *keys,
                         size_t keys_length,
                         const size_t *key_ends,
                         size_t count,
                         struct fulgurite_slice *values);

// Returns the first entries whose keys are at least `low` and less than `high`, or with `backwards` the
// last ones: up to `capacity` of them, and their number. A number below `capacity` says that there are
// no more. A bound that is NULL does not bound. Keys and values are valid as values of fulgurite_get.
//
// To continue, call it again with the last key and a byte 0 as `low`, or backwards with the last key as
// `high`. It reads nothing outside the bounds, so that changes there are no conflicts.
//
// # Safety
// `low` and `high` point to as many bytes as their lengths say, or are NULL. `keys` and `values` point
// to `capacity` places each.
int fulgurite_read_range(struct fulgurite_txn txn,
                         struct fulgurite_table table,
                         const uint8_t *low,
                         size_t low_length,
                         const uint8_t *high,
                         size_t high_length,
                         bool backwards,
                         struct fulgurite_slice *keys,
                         struct fulgurite_slice *values,
                         size_t capacity,
                         size_t *count);

// Counts the entries whose keys are at least `low` and less than `high`. A bound that is NULL does
// not bound.
//
// # Safety
// `low` and `high` point to as many bytes as their lengths say, or are NULL.
int fulgurite_count(struct fulgurite_txn txn,
                    struct fulgurite_table table,
                    const uint8_t *low,
                    size_t low_length,
                    const uint8_t *high,
                    size_t high_length,
                    uint64_t *count);

// Returns the counter of a key in a table with FULGURITE_MERGE_ADD and no value type; 0 if the key
// has no value. FULGURITE_INVALID if the value does not have 8 bytes.
//
// # Safety
// `key` points to `key_length` bytes.
int fulgurite_get_counter(struct fulgurite_txn txn,
                          struct fulgurite_table table,
                          const uint8_t *key,
                          size_t key_length,
                          uint64_t *value);

// Frees the values that a read transaction keeps in memory because they are not in the mapped file
// (fulgurite_get). Values that it has returned so far are not valid after it.
int fulgurite_release_values(struct fulgurite_txn txn);

// Stores a value under a key, and replaces an existing value. Keys have at most 64 MiB, values less
// than 4 GiB.
//
// # Safety
// `key` and `value` point to as many bytes as their lengths say.
int fulgurite_put(struct fulgurite_txn txn,
                  struct fulgurite_table table,
                  const uint8_t *key,
                  size_t key_length,
                  const uint8_t *value,
                  size_t value_length);

// Stores a value under a key that has none. FULGURITE_KEY_EXISTS if the key has a value, which
// remains.
//
// # Safety
// `key` and `value` point to as many bytes as their lengths say.
int fulgurite_insert(struct fulgurite_txn txn,
                     struct fulgurite_table table,
                     const uint8_t *key,
                     size_t key_length,
                     const uint8_t *value,
                     size_t value_length);

// Stores many values, in any order of keys: all of them, or none if it returns an error.
//
// # Safety
// `keys` and `values` point to `count` slices, which point to as many bytes as they have.
int fulgurite_put_many(struct fulgurite_txn txn,
                       struct fulgurite_table table,
                       const struct fulgurite_slice *keys,
                       const struct fulgurite_slice *values,
                       size_t count);

// As fulgurite_put_many, with keys and values one after the other: key i ends before
// `keys[key_ends[i]]`, value i before `values[value_ends[i]]`.
//
// # Safety
// `keys` and `values` point to as many bytes as their lengths say, and the ends to `count` numbers.
int fulgurite_put_packed(struct fulgurite_txn txn,
                         struct fulgurite_table table,
                         const uint8_t *keys,
                         size_t keys_length,
                         const size_t *key_ends,
                         const uint8_t *values,
                         size_t values_length,
                         const size_t *value_ends,
                         size_t count);

// Removes a key and its value. FULGURITE_NOT_FOUND if the key has none.
//
// # Safety
// `key` points to `key_length` bytes.
int fulgurite_delete(struct fulgurite_txn txn,
                     struct fulgurite_table table,
                     const uint8_t *key,
                     size_t key_length);

// Removes the entries whose keys are at least `low` and less than `high`. A bound that is NULL does
// not bound. Returns their number if `deleted` is not NULL.
//
// # Safety
// `low` and `high` point to as many bytes as their lengths say, or are NULL.
int fulgurite_delete_range(struct fulgurite_txn txn,
                           struct fulgurite_table table,
                           const uint8_t *low,
                           size_t low_length,
                           const uint8_t *high,
                           size_t high_length,
                           uint64_t *deleted);

// Merges an operand into the value of a key, by the table's merge operator or function. The commit
// computes the new value, and returns FULGURITE_UNMERGEABLE if that fails. Transactions that merge
// into the same keys do not conflict.
//
// FULGURITE_INVALID if the table has no operator, or the operand is not of its type.
// FULGURITE_MERGE_FUNCTION_MISSING if the table's function is not registered.
//
// # Safety
// `key` and `operand` point to as many bytes as their lengths say.
int fulgurite_merge(struct fulgurite_txn txn,
                    struct fulgurite_table table,
                    const uint8_t *key,
                    size_t key_length,
                    const uint8_t *operand,
                    size_t operand_length);

// Adds to the counter of a key, in a table with FULGURITE_MERGE_ADD and no value type. Sums are
// modulo 2^64, so adding UINT64_MAX subtracts 1.
//
// # Safety
// `key` points to `key_length` bytes.
int fulgurite_add(struct fulgurite_txn txn,
                  struct fulgurite_table table,
                  const uint8_t *key,
                  size_t key_length,
                  uint64_t amount);

// Opens a cursor before the first entry of a table.
//
// A cursor of a read transaction keeps the snapshot until it is closed, even if the transaction has
// ended. A cursor of a write transaction sees its changes, also later ones; after the transaction
// has ended, it returns FULGURITE_CLOSED.
int fulgurite_open_cursor(struct fulgurite_txn txn,
                          struct fulgurite_table table,
                          struct fulgurite_cursor *cursor);

// Closes a cursor. Closing it twice returns FULGURITE_CLOSED.
int fulgurite_close_cursor(struct fulgurite_cursor cursor);

// Moves to the first entry whose key is at least `key`. FULGURITE_NOT_FOUND if there is none.
//
// `found` and `value` get the entry, where they are not NULL. Both are valid until the cursor moves
// or is closed, and in a write transaction until its next change or end.
//
// # Safety
// `key` points to `key_length` bytes.
int fulgurite_seek(struct fulgurite_cursor cursor,
                   const uint8_t *key,
                   size_t key_length,
                   struct fulgurite_slice *found,
                   struct fulgurite_slice *value);

// Moves to the first entry, as fulgurite_seek.
int fulgurite_first(struct fulgurite_cursor cursor,
                    struct fulgurite_slice *key,
                    struct fulgurite_slice *value);

// Moves to the last entry, as fulgurite_seek.
int fulgurite_last(struct fulgurite_cursor cursor,
                   struct fulgurite_slice *key,
                   struct fulgurite_slice *value);

// Moves to the next entry, as fulgurite_seek. At the last entry it moves after it, and returns
// FULGURITE_NOT_FOUND.
int fulgurite_next(struct fulgurite_cursor cursor,
                   struct fulgurite_slice *key,
                   struct fulgurite_slice *value);

// Moves to the previous entry, as fulgurite_seek. At the first entry it moves before it, and returns
// FULGURITE_NOT_FOUND.
int fulgurite_previous(struct fulgurite_cursor cursor,
                       struct fulgurite_slice *key,
                       struct fulgurite_slice *value);

// Moves over up to `capacity` entries, forwards or backwards, and returns them and their number. A
// number below `capacity` says that there are no more. All are valid until the cursor moves again.
//
// # Safety
// `keys` and `values` point to `capacity` places each.
int fulgurite_read_entries(struct fulgurite_cursor cursor,
                           bool backwards,
                           struct fulgurite_slice *keys,
                           struct fulgurite_slice *values,
                           size_t capacity,
                           size_t *count);

// Loads entries into a table, all of them or none. It is several times faster than transactions,
// takes constant memory, and is durable when it returns. Commits wait meanwhile.
//
// If `is_sorted`, keys must ascend strictly: FULGURITE_OUT_OF_ORDER if they do not. Without it,
// entries are sorted first, in at most 256 MiB of memory and in temporary files beside the
// database, and the last entry of a key counts. FULGURITE_INPUT if the source fails.
//
// `summary` may be NULL. `context` is passed to the source.
//
// # Safety
// The source does what its type says.
int fulgurite_bulk_load(struct fulgurite_database database,
                        struct fulgurite_table table,
                        bool is_sorted,
                        fulgurite_entry_source source,
                        void *context,
                        struct fulgurite_load_summary *summary);

// Opens a feed of the commits after `after`, in order, up to the newest durable one. 0 is before the
// first commit. The database must be opened with `keep_log_bytes`.
//
// Store the sequence of the last commit that you have processed, and continue after it. If the log
// begins later, the result is FULGURITE_CHANGES_GONE: copy the data from a transaction of
// fulgurite_begin_read_durable, and continue after its fulgurite_sequence. A transaction of
// fulgurite_begin_read may show commits that a power cut undoes, and that the feed then never reports
// again. A feed keeps its part of the log until it is closed.
int fulgurite_open_changes(struct fulgurite_database database,
                           uint64_t after,
                           struct fulgurite_changes *feed);

// Closes a feed. Closing it twice returns FULGURITE_CLOSED.
int fulgurite_close_changes(struct fulgurite_changes feed);

// Moves to the next commit, and returns its sequence and the number of its changes.
// FULGURITE_NOT_FOUND at the end of the feed.
int fulgurite_next_commit(struct fulgurite_changes feed, uint64_t *sequence, size_t *count);

// Returns changes of the current commit, from the one with the index `first` on, in the order in
// which they take effect, and their number: at most `capacity`. All are valid until the feed moves to
// another commit or is closed.
//
// # Safety
// `changes` points to `capacity` places.
int fulgurite_read_changes(struct fulgurite_changes feed,
                           size_t first,
                           struct fulgurite_change *changes,
                           size_t capacity,
                           size_t *count);

// Waits at most `timeout_ms` for a durable commit after `after`, and returns the sequence of the
// newest durable commit, which is `after` if none followed. Commits that are visible but not durable
// are made durable. FULGURITE_INVALID if `after` is above the newest commit.
int fulgurite_wait_durable(struct fulgurite_database database,
                           uint64_t after,
                           uint64_t timeout_ms,
                           uint64_t *durable);

// Makes all commits so far survive a power cut. Returns the sequence of the newest durable commit
// if `sequence` is not NULL.
int fulgurite_sync(struct fulgurite_database database, uint64_t *sequence);

// Merges all commits so far into the file, and frees the log. Others may read and write meanwhile.
int fulgurite_checkpoint(struct fulgurite_database database);

// Removes unused space from the file. Returns the number of bytes by which the file shrank if
// `freed_bytes` is not NULL. Others may read and write meanwhile. Pages of open snapshots stay.
int fulgurite_compact(struct fulgurite_database database, uint64_t *freed_bytes);

// Copies the newest committed state to a new file. Others may read and write meanwhile.
// FULGURITE_FILE_EXISTS if there is a file at the path.
//
// # Safety
// `path` ends with a byte 0.
int fulgurite_backup(struct fulgurite_database database, const char *path);

// Copies the newest committed state to a new compressed file, which fulgurite_open opens with
// `image`. `level` is that of Zstandard, from 1 to 22; 0 is the default, 8.
// FULGURITE_FILE_EXISTS if there is a file at the path.
//
// # Safety
// `path` ends with a byte 0.
int fulgurite_write_image(struct fulgurite_database database, const char *path, int32_t level);

// Checks every page of the newest checkpoint. Commits after it are not checked. If there is damage,
// the call returns FULGURITE_CORRUPT with the first damage as its message, and sets the report, too.
int fulgurite_check(struct fulgurite_database database,
                    struct fulgurite_check_report *report);

// Returns sizes and numbers. `size` is sizeof(fulgurite_stats).
int fulgurite_get_stats(struct fulgurite_database database,
                        size_t size,
                        struct fulgurite_stats *stats);

// Opens an event store of a database. Creates it if the database has no store of the name and is
// open for writing. `options` may be NULL. A database can have several stores.
//
// A process may open a store several times, with the same options. Closing the database closes no
// stores: their calls then return FULGURITE_CLOSED.
//
// # Safety
// The name of `options` ends with a byte 0.
int fulgurite_open_event_store(struct fulgurite_database database,
                               const struct fulgurite_event_store_options *options,
                               struct fulgurite_event_store *store);

// Closes the handle of a store. Its cursors and followers stay open. Closing it twice returns
// FULGURITE_CLOSED.
int fulgurite_close_event_store(struct fulgurite_event_store store);

// Returns the first position that the log has, which is not 0 after events were removed, and the
// position that the next event gets. Both places may be NULL.
int fulgurite_event_positions(struct fulgurite_event_store store, uint64_t *first, uint64_t *next);

// Returns the first version that can be read of a stream, and the version that its next event gets.
// Both places may be NULL. FULGURITE_STREAM_NOT_FOUND if there is no such stream, or it was deleted.
//
// # Safety
// `stream` points to `stream_length` bytes.
int fulgurite_stream_versions(struct fulgurite_event_store store,
                              const uint8_t *stream,
                              size_t stream_length,
                              uint64_t *first,
                              uint64_t *next);

// Appends events to a stream, if its version is as expected: all of them or none.
// FULGURITE_WRONG_VERSION if it is another one. When it returns, they have the store's durability.
// `appended` may be NULL.
//
// If events have ids, and the stream has the same ids in this order already, nothing is appended, and
// `repeated` is true: an append of unknown outcome can be tried again. FULGURITE_ID_REUSED if it has
// only some of the ids. They are recognised within the newest events of the store (`id_window`).
//
// Appends of several threads share flushes of the disk.
//
// # Safety
// `stream` points to `stream_length` bytes, and `events` to `event_count` events. Their slices point
// to as many bytes as they have, their ids to 16 bytes, and their tags to as many slices as they have.
int fulgurite_append_events(struct fulgurite_event_store store,
                            const uint8_t *stream,
                            size_t stream_length,
                            int64_t expected,
                            const struct fulgurite_new_event *events,
                            size_t event_count,
                            struct fulgurite_appended *appended);

// Appends events to several streams in one transaction, in this order: all of them or none. A stream
// may be there several times. `appended` has a place for each stream, or is NULL.
//
// # Safety
// `appends` points to `count` appends, whose events are as those of fulgurite_append_events.
// `appended` points to `count` places, or is NULL.
int fulgurite_append_to_streams(struct fulgurite_event_store store,
                                const struct fulgurite_stream_append *appends,
                                size_t count,
                                struct fulgurite_appended *appended);

// Appends events to a stream as fulgurite_append_events, unless an event at the position `from` or
// after it matches a query: FULGURITE_CONDITION_FAILED then. `from` is the first position that the
// program had not read when it decided, such as the one after the last event of
// fulgurite_read_query. An event matches the query if it matches one of the items; without items,
// every event does.
//
// A repeated append (`repeated`) is recognised before the query is tried, so an append of unknown
// outcome can be tried again. `appended` may be NULL.
//
// # Safety
// `items` points to `item_count` items, and `append` to an append whose events are as those of
// fulgurite_append_events. Slices and arrays are as long as they say.
int fulgurite_append_if(struct fulgurite_event_store store,
                        const struct fulgurite_query_item *items,
                        size_t item_count,
                        uint64_t from,
                        const struct fulgurite_stream_append *append,
                        struct fulgurite_appended *appended);

// Truncates a stream: events with lower versions than `before` are no longer read from it. They stay in
// the log until fulgurite_apply_retention. Versions continue as before. FULGURITE_STREAM_NOT_FOUND if
// there is no such stream, FULGURITE_INVALID if `before` is above the version of its next event.
//
// # Safety
// `stream` points to `stream_length` bytes.
int fulgurite_truncate_stream(struct fulgurite_event_store store,
                              const uint8_t *stream,
                              size_t stream_length,
                              uint64_t before);

// Deletes a stream, if its version is as `expected` (fulgurite_append_events): it can no longer be read,
// and fulgurite_apply_retention removes its events from the log. The next append opens it again, with
// the version after its last one; with `forever`, it returns FULGURITE_TOMBSTONE instead.
//
// # Safety
// `stream` points to `stream_length` bytes.
int fulgurite_delete_stream(struct fulgurite_event_store store,
                            const uint8_t *stream,
                            size_t stream_length,
                            int64_t expected,
                            bool forever);

// Replaces the limits of a stream and what the program stores with it. Creates the stream if there was
// none. A deleted stream stays deleted, and has the limits when it is opened again.
//
// # Safety
// `stream` points to `stream_length` bytes, and `custom` to as many bytes as it has.
int fulgurite_set_stream_metadata(struct fulgurite_event_store store,
                                  const uint8_t *stream,
                                  size_t stream_length,
                                  const struct fulgurite_stream_metadata *metadata);

// Returns the limits of a stream and what the program stores with it, also of a deleted stream.
// `custom` is valid until the next call of this function by the same thread.
// FULGURITE_STREAM_NOT_FOUND if there never was such a stream. A limit of 0 that a program in another
// language has set is returned as none.
//
// # Safety
// `stream` points to `stream_length` bytes.
int fulgurite_get_stream_metadata(struct fulgurite_event_store store,
                                  const uint8_t *stream,
                                  size_t stream_length,
                                  struct fulgurite_stream_metadata *metadata);

// Removes events from the log: those beyond the limits of `retention`, which may be NULL for none,
// those beyond the limits of their streams, and those of truncated and deleted streams. Positions and
// versions of other events do not change. Limits of the log apply to whole chunks of up to 8,000 bytes,
// and the newest chunk stays. Appends and reads continue meanwhile. `report` may be NULL.
//
// The space is free for new events; fulgurite_compact shrinks the file.
int fulgurite_apply_retention(struct fulgurite_event_store store,
                              const struct fulgurite_retention *retention,
                              struct fulgurite_retention_report *report);

// Opens a cursor over the events of a stream from a version on; or with `backwards` over those before
// that version, the newest first, where UINT64_MAX is after the newest. FULGURITE_STREAM_NOT_FOUND if
// there is no such stream, or it was deleted.
//
// A cursor shows what was appended before it was opened, and keeps this snapshot until it is closed.
//
// # Safety
// `stream` points to `stream_length` bytes.
int fulgurite_read_stream(struct fulgurite_event_store store,
                          const uint8_t *stream,
                          size_t stream_length,
                          uint64_t from,
                          bool backwards,
                          struct fulgurite_event_cursor *cursor);

// As fulgurite_read_stream, over all events, from or before a position.
int fulgurite_read_log(struct fulgurite_event_store store,
                       uint64_t from,
                       bool backwards,
                       struct fulgurite_event_cursor *cursor);

// As fulgurite_read_log, over the events that match a query: at least one of its items. Without items,
// every event matches. Indexes find the events.
//
// # Safety
// `items` points to `item_count` items, whose arrays and slices are as long as they say.
int fulgurite_read_query(struct fulgurite_event_store store,
                         const struct fulgurite_query_item *items,
                         size_t item_count,
                         uint64_t from,
                         bool backwards,
                         struct fulgurite_event_cursor *cursor);

// Moves to the next event, and returns it. FULGURITE_NOT_FOUND after the last one. Its bytes are valid
// until the cursor moves again or is closed.
int fulgurite_next_event(struct fulgurite_event_cursor cursor,
                         struct fulgurite_event *event);

// Moves over up to `capacity` events, and returns them and their number, which may be less. 0 says that
// there are no more. The bytes of all are valid until the cursor moves again or is closed.
//
// # Safety
// `events` points to `capacity` places.
int fulgurite_read_events(struct fulgurite_event_cursor cursor,
                          struct fulgurite_event *events,
                          size_t capacity,
                          size_t *count);

// Closes a cursor. Closing it twice returns FULGURITE_CLOSED.
int fulgurite_close_event_cursor(struct fulgurite_event_cursor cursor);

// Follows a store from a position on. A follower returns every event once, in order, as soon as it has
// the store's durability. FULGURITE_INVALID if the position is above that of the next event.
//
// It follows what this process appends; fulgurite_connect_follower follows another process. A follower
// keeps no snapshot, and may stay open for ever.
int fulgurite_follow_events(struct fulgurite_event_store store,
                            uint64_t from,
                            struct fulgurite_follower *follower);

// As fulgurite_follow_events, but the follower returns only events that match a query: at least one of
// its items. Without items, every event matches. The follower reads the other events too, and passes
// them.
//
// # Safety
// `items` points to `item_count` items, whose arrays and slices are as long as they say.
int fulgurite_follow_query(struct fulgurite_event_store store,
                           const struct fulgurite_query_item *items,
                           size_t item_count,
                           uint64_t from,
                           struct fulgurite_follower *follower);

// Follows the store that another process serves at a Unix socket (fulgurite_serve_events, or
// `fulgurite events append --serve`), from a position on. UINT64_MAX is the position of the next event.
// The other process sends only events that match a query; without items, every event matches. The names
// in a query have at most 64 KiB. FULGURITE_SOCKET if no process serves there.
//
// If the position is above that of the next event, fulgurite_poll_events returns FULGURITE_INVALID: it
// is another store, or a power cut has lost events. If the other process ends, it returns
// FULGURITE_SOCKET: connect again at fulgurite_follower_position. Both processes must have the same
// version of the library.
//
// # Safety
// `socket` ends with a byte 0. `items` points to `item_count` items, whose arrays and slices are as
// long as they say.
int fulgurite_connect_follower(const char *socket,
                               const struct fulgurite_query_item *items,
                               size_t item_count,
                               uint64_t from,
                               struct fulgurite_follower *follower);

// As fulgurite_connect_follower, as a consumer: from the position on that the other store has for this
// name, or from the first event. fulgurite_acknowledge_events raises this position, so the consumer
// receives each event at least once. The name has 1 to 1,024 bytes.
//
// FULGURITE_INVALID if another connection has the name: the call waits two seconds for the name.
// FULGURITE_SOCKET if the other process sends no position for a minute, or can only read its store. Do
// not use the name of a view.
//
// # Safety
// As fulgurite_connect_follower. `consumer` ends with a byte 0.
int fulgurite_connect_consumer(const char *socket,
                               const char *consumer,
                               const struct fulgurite_query_item *items,
                               size_t item_count,
                               struct fulgurite_follower *follower);

// Says that a consumer (fulgurite_connect_consumer) has processed all events before a position. The
// other process stores the position, and the consumer begins there when it connects again. A position
// that is not above those before changes nothing. FULGURITE_INVALID if the position is above
// fulgurite_follower_position, or the follower is no consumer.
//
// It returns before the position is stored: if one of the processes ends then, the consumer may receive
// these events again. It waits for a running fulgurite_poll_events.
int fulgurite_acknowledge_events(struct fulgurite_follower follower,
                                 uint64_t position);

// Returns the next events, up to `capacity`, and their number. If there are none, it waits at most
// `timeout_ms` for some; 0 says that none came. The bytes of all are valid until the next call with
// this follower, or until it is closed.
//
// With a query, 0 can also say that the call has only passed events that do not match. Call it again
// then: fulgurite_follower_position has risen.
//
// A follower of another process returns FULGURITE_SOCKET when that process has ended, or no longer
// serves, or stops in the middle of an event for a minute.
//
// Closing the follower waits for a running call. If the database is closed meanwhile, the call returns
// FULGURITE_CLOSED within a second.
//
// # Safety
// `events` points to `capacity` places.
int fulgurite_poll_events(struct fulgurite_follower follower,
                          uint64_t timeout_ms,
                          struct fulgurite_event *events,
                          size_t capacity,
                          size_t *count);

// Returns the position of the next event that a follower returns, and how many positions it has skipped
// because their events had been removed from the log. Both places may be NULL. It waits for a running
// fulgurite_poll_events.
int fulgurite_follower_position(struct fulgurite_follower follower,
                                uint64_t *position,
                                uint64_t *missed);

// Closes a follower. Closing it twice returns FULGURITE_CLOSED.
int fulgurite_close_follower(struct fulgurite_follower follower);

// Serves the events of a store at a Unix socket, until the server is closed. Other processes follow by
// fulgurite_connect_follower, or in other languages. The socket's file is created, and removed by
// fulgurite_close_event_server; an empty file beside it, whose name ends in `.lock`, stays.
// FULGURITE_SOCKET if the path has a file that is not a socket, or another process serves there.
//
// Every process that may open the socket's file can read all events, and raise the positions of all
// consumers. Close the server before the database.
//
// # Safety
// `socket` ends with a byte 0.
int fulgurite_serve_events(struct fulgurite_event_store store,
                           const char *socket,
                           struct fulgurite_event_server *server);

// Returns how many followers are connected to a server.
int fulgurite_server_followers(struct fulgurite_event_server server, size_t *count);

// Closes a server: it sends all events that there are to the followers that are connected, for
// `timeout_ms` at most, then ends the connections. With 0 it ends them at once, and followers may lack
// the last events. It waits for at most two seconds more until acknowledged positions are stored.
// Closing it twice returns FULGURITE_CLOSED.
int fulgurite_close_event_server(struct fulgurite_event_server server,
                                 uint64_t timeout_ms);

// Returns the position of a consumer: the first that it has not processed, or 0 if it has stored none.
// Views of other languages are consumers too.
//
// In a write transaction it counts as read: if another transaction stores the position meanwhile, the
// commit returns FULGURITE_CONFLICT.
//
// # Safety
// `consumer` ends with a byte 0.
int fulgurite_get_consumer_position(struct fulgurite_txn txn,
                                    struct fulgurite_event_store store,
                                    const char *consumer,
                                    uint64_t *position);

// Stores the position of a consumer: the first that it has not processed. It is committed together with
// the other changes of the transaction, so each event counts exactly once, also if the process is
// killed. FULGURITE_INVALID if the position is above that of the next event.
//
// # Safety
// `consumer` ends with a byte 0.
int fulgurite_set_consumer_position(struct fulgurite_txn txn,
                                    struct fulgurite_event_store store,
                                    const char *consumer,
                                    uint64_t position);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FULGURITE_H */
