// Package fulgurite is an embedded, transactional key-value store in one memory-mapped file.
//
// A database has named, sorted tables of keys and values. Read transactions are snapshots that block no
// writer; write transactions run concurrently and are serializable. An EventStore keeps streams of events
// in a database.
//
//	db, err := fulgurite.Open("people.ful", fulgurite.Options{Create: true})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	people, err := db.Table("people", fulgurite.TableOptions{})
//	if err != nil {
//		return err
//	}
//	err = db.Update(ctx, func(txn *fulgurite.Txn) error {
//		return txn.PutMany(people, entries)
//	})
//	if err != nil {
//		return err
//	}
//	return db.View(func(txn *fulgurite.Txn) error {
//		scan := txn.Scan(people, fulgurite.Range{})
//		for key, value := range scan.All() { ... }
//		return scan.Err()
//	})
//
// A call into the library costs tens of nanoseconds more than a call of Go. For more than a few entries,
// use GetMany, PutMany and Scan: each calls the library once for a batch.
//
// Keys and values are copied between Go and the library. All handles are safe to use from any
// goroutine. Methods of a closed or nil handle return ErrClosed. The garbage collector closes handles that
// are still open; the changes of a write transaction are dropped.
//
// The package needs cgo and the C library: docs/guide/go.md says how to build both.
package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Durability says what a commit survives when it returns.
type Durability uint32

// Durabilities. The zero value is the default: that of the options, and for these, Disk.
const (
	// Memory survives nothing: a crash of the process can lose the newest commits.
	Memory Durability = 1
	// Log survives a crash of the process.
	Log Durability = 2
	// Disk survives a power cut.
	Disk Durability = 3
)

// Isolation says what is checked when a write transaction commits.
type Isolation uint32

// Isolations. The zero value is the default: that of the options, and for these, Serializable.
const (
	// Serializable checks all that the transaction has read and written.
	Serializable Isolation = 1
	// Snapshot checks what it has written.
	Snapshot Isolation = 2
)

// Options of Open. The zero value opens a database that exists.
type Options struct {
	// Create creates the database if it does not exist.
	Create bool
	// ReadOnly opens it for reading only. If another process writes, reads show its newest checkpoint.
	ReadOnly bool
	// Image requires an image (WriteImage), and opens it for reading only.
	Image bool
	// NoMap does not map the file into memory, so that errors of the disk are errors and not signals (SIGBUS).
	NoMap bool
	// NoBackground runs no checkpoints in the background: a checkpoint runs in Checkpoint, or in a commit that
	// finds DeltaBytes used up.
	NoBackground bool
	// Durability of commits.
	Durability Durability
	// Isolation of write transactions.
	Isolation Isolation
	// PageSizeBytes is the size of a page of a new database: 8192 or 16384, the default.
	PageSizeBytes uint32
	// CacheBytes is the size of the page cache, which is used without a map and for large images. The default is
	// 64 MiB.
	CacheBytes uint64
	// DeltaBytes is the memory for commits before a checkpoint writes them to the file, at most 8 GiB. The default
	// is a 64th of the memory of the machine or control group, at least 64 MiB and at most 384 MiB.
	DeltaBytes uint64
	// WriteSetBytes is the memory for the changes of one transaction; above it they are spilled to the file. The
	// default is half of DeltaBytes, at least 64 MiB and at most 192 MiB.
	WriteSetBytes uint64
	// MaxSizeBytes is the largest size of the file. Zero sets no limit.
	MaxSizeBytes uint64
	// KeepLogBytes is how much of the log is kept for Changes beyond what recovery needs. Set it at every opening
	// for writing: zero keeps none, and removes what an earlier opening kept.
	KeepLogBytes uint64
	// WaitForLock is how long Open waits for another process that has the database open for writing, before it
	// returns ErrLocked. It is rounded down to milliseconds.
	WaitForLock time.Duration
	// CheckpointInterval is at what age of its oldest commit that is not in the file a background checkpoint runs,
	// so that other processes see the commit. It is rounded up to milliseconds. Zero sets no limit.
	CheckpointInterval time.Duration
	// MergeFunctions are functions by the names that tables store (TableOptions.MergeFunction). A database that is
	// open in this process keeps those of its first opening; a new name is an error.
	MergeFunctions map[string]MergeFunction
}

// DB is an open database.
type DB struct {
	handle *handle
}

// Open opens a database. Close it. A process may open a database several times, with the same options; the
// last Close closes it. The error is ErrDatabaseNotFound if there is none and Create is false, and ErrLocked if
// another process has it open for writing.
func Open(path string, options Options) (*DB, error) {
	text, err := cText(path)
	if err != nil {
		return nil, err
	}
	defer free(text)
	if options.Create && (options.ReadOnly || options.Image) {
		return nil, invalid("a database cannot be created read-only; leave out Create, or ReadOnly and Image")
	}
	functions, err := newMergeFunctions(options.MergeFunctions)
	if err != nil {
		return nil, err
	}
	defer functions.free()
	given := C.fulgurite_options{
		size:             C.sizeof_fulgurite_options,
		create:           C.bool(options.Create),
		read_only:        C.bool(options.ReadOnly),
		image:            C.bool(options.Image),
		no_map:           C.bool(options.NoMap),
		no_background:    C.bool(options.NoBackground),
		durability:       C.uint32_t(options.Durability),
		isolation:        C.uint32_t(options.Isolation),
		page_size_bytes:  C.uint32_t(options.PageSizeBytes),
		cache_bytes:      C.uint64_t(options.CacheBytes),
		delta_bytes:      C.uint64_t(options.DeltaBytes),
		write_set_bytes:  C.uint64_t(options.WriteSetBytes),
		max_size_bytes:   C.uint64_t(options.MaxSizeBytes),
		keep_log_bytes:   C.uint64_t(options.KeepLogBytes),
		wait_for_lock_ms: C.uint64_t(max(options.WaitForLock.Milliseconds(), 0)),

		checkpoint_interval_ms: C.uint64_t(max((options.CheckpointInterval + time.Millisecond - 1).Milliseconds(), 0)),

		merge_functions:      functions.pass(),
		merge_function_count: functions.count(),
	}
	var database C.fulgurite_database
	if err := call(func() C.int { return C.fulgurite_open(text, &given, &database) }); err != nil {
		return nil, err
	}
	db := &DB{}
	db.handle = newHandle(db, uint64(database.id), func(id uint64) {
		C.fulgurite_close(C.fulgurite_database{id: C.uint64_t(id)})
	})
	return db, nil
}

// Version returns the version of the library.
func Version() string {
	return C.GoString(C.fulgurite_version())
}

func (db *DB) c() C.fulgurite_database {
	return C.fulgurite_database{id: C.uint64_t(db.handle.id)}
}

// do calls the library with the database, which is not collected meanwhile.
func (db *DB) do(run func(C.fulgurite_database) C.int) error {
	if db.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(db)
	return call(func() C.int { return run(db.c()) })
}

// Close merges all commits into the file, and closes the database. It waits for an exclusive transaction
// to end. Other open transactions can still read, but no longer commit. The second call returns ErrClosed.
func (db *DB) Close() error {
	if db.isMissing() || !db.handle.take() {
		return ErrClosed
	}
	db.handle.cleanup.Stop()
	return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_close(c) })
}

// Sync makes all commits so far survive a power cut.
func (db *DB) Sync(ctx context.Context) error {
	return inBackground(ctx, func() error {
		return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_sync(c, nil) })
	})
}

// Checkpoint merges all commits so far into the file, and frees the log.
func (db *DB) Checkpoint(ctx context.Context) error {
	return inBackground(ctx, func() error {
		return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_checkpoint(c) })
	})
}

// Compact removes unused space from the file. Readers and writers continue meanwhile.
func (db *DB) Compact(ctx context.Context) error {
	return inBackground(ctx, func() error {
		return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_compact(c, nil) })
	})
}

// Backup copies the newest committed state to a new file. There must be no file at the path.
func (db *DB) Backup(ctx context.Context, path string) error {
	return inBackground(ctx, func() error {
		text, err := cText(path)
		if err != nil {
			return err
		}
		defer free(text)
		return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_backup(c, text) })
	})
}

// WriteImage copies the newest committed state to a new compressed file. Level is that of Zstandard, from 1
// to 22; 0 is the default, 8. There must be no file at the path.
func (db *DB) WriteImage(ctx context.Context, path string, level int) error {
	return inBackground(ctx, func() error {
		text, err := cText(path)
		if err != nil {
			return err
		}
		defer free(text)
		return db.do(func(c C.fulgurite_database) C.int {
			return C.fulgurite_write_image(c, text, C.int32_t(level))
		})
	})
}

// Check checks every page of the newest checkpoint. Commits after it are not checked. The error is ErrCorrupt
// if there is damage.
func (db *DB) Check(ctx context.Context) error {
	return inBackground(ctx, func() error {
		return db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_check(c, nil) })
	})
}

// Stats has sizes of a database's files, in bytes, and sequences of commits. PinnedBytes is the size of pages
// that only open snapshots use, DeltaBytes the memory of commits that are not in the file yet.
type Stats struct {
	FileBytes, LogBytes, FreeBytes, PinnedBytes, DeltaBytes uint64
	Sequence, DurableSequence                               uint64
	Tables                                                  uint64
}

// Stats returns statistics.
func (db *DB) Stats() (Stats, error) {
	var c C.fulgurite_stats
	err := db.do(func(d C.fulgurite_database) C.int {
		return C.fulgurite_get_stats(d, C.sizeof_fulgurite_stats, &c)
	})
	return Stats{
		FileBytes: uint64(c.file_bytes), LogBytes: uint64(c.log_bytes), FreeBytes: uint64(c.free_bytes),
		PinnedBytes: uint64(c.pinned_bytes), DeltaBytes: uint64(c.delta_bytes), Sequence: uint64(c.sequence),
		DurableSequence: uint64(c.durable_sequence), Tables: uint64(c.tables),
	}, err
}

// inBackground waits for work until the context ends. The work itself cannot be stopped: it continues,
// and its result is dropped.
func inBackground(ctx context.Context, work func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return work()
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
