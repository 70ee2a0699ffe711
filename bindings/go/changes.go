package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"time"
)

// ChangeKind says what a change has done.
type ChangeKind uint32

// Kinds of changes.
const (
	// ChangePut gives the key a value: by a put, or as the result of a merge.
	ChangePut ChangeKind = C.FULGURITE_CHANGE_PUT
	// ChangeSuperseded is a large value that is no longer stored. A later commit of the feed replaced
	// it, deleted the key, dropped the table or reports a bulk load of the table.
	ChangeSuperseded ChangeKind = C.FULGURITE_CHANGE_SUPERSEDED
	// ChangeDelete deletes the key.
	ChangeDelete ChangeKind = C.FULGURITE_CHANGE_DELETE
	// ChangeTableCreated creates the table.
	ChangeTableCreated ChangeKind = C.FULGURITE_CHANGE_TABLE_CREATED
	// ChangeTableDropped drops the table.
	ChangeTableDropped ChangeKind = C.FULGURITE_CHANGE_TABLE_DROPPED
	// ChangeTableRenamed renames the table. Key is the name that it had.
	ChangeTableRenamed ChangeKind = C.FULGURITE_CHANGE_TABLE_RENAMED
	// ChangeBulkLoaded is a bulk load, or a transaction that was too large for memory. It may have
	// changed any keys of the table: read the whole table, and replace your copy.
	ChangeBulkLoaded ChangeKind = C.FULGURITE_CHANGE_BULK_LOADED
)

// NoTableID is the ID of a dropped table that was created before the feed begins.
const NoTableID uint64 = C.FULGURITE_NO_TABLE_ID

// Change is one change of a commit.
type Change struct {
	// Kind says what it has done. Later versions may have more kinds: skip those that you do not know.
	Kind ChangeKind
	// TableID is the number of the table, which renaming does not change, or NoTableID.
	TableID uint64
	// TableName is empty for a table that a later commit of the feed drops.
	TableName string
	// Key is nil if the change is one of a whole table.
	Key []byte
	// Value is the value of a ChangePut, nil for other kinds.
	Value []byte
	// ValueLength is the length of the value, also of a ChangeSuperseded.
	ValueLength uint64
}

// Commit is a commit with all its changes, in the order in which they take effect.
type Commit struct {
	Sequence uint64
	Changes  []Change
}

// Changes is the commits after a given one, in order, up to the newest that was durable when the feed was
// opened. It keeps its part of the log until it is closed. Close it.
type Changes struct {
	handle *handle
	mutex  sync.Mutex
	err    error
}

// Changes opens a feed of the commits after the one with this sequence; 0 is before the first one. The
// database must be open with Options.KeepLogBytes.
//
// Store the sequence of the last commit that you have processed, and continue after it. If the log begins
// later, the error is ErrChangesGone: copy the data from a transaction of ReadDurable, and continue
// after its Sequence. A transaction of Read may show commits that a power cut undoes, and that the feed then
// never reports again.
func (db *DB) Changes(after uint64) (*Changes, error) {
	var feed C.fulgurite_changes
	err := db.do(func(c C.fulgurite_database) C.int {
		return C.fulgurite_open_changes(c, C.uint64_t(after), &feed)
	})
	if err != nil {
		return nil, err
	}
	changes := &Changes{}
	changes.handle = newHandle(changes, uint64(feed.id), func(id uint64) {
		C.fulgurite_close_changes(C.fulgurite_changes{id: C.uint64_t(id)})
	})
	return changes, nil
}

func (c *Changes) do(run func(C.fulgurite_changes) C.int) error {
	defer runtime.KeepAlive(c)
	return call(func() C.int { return run(C.fulgurite_changes{id: C.uint64_t(c.handle.id)}) })
}

// Close releases the log that the feed keeps. The second call returns ErrClosed.
func (c *Changes) Close() error {
	if c.isMissing() || !c.handle.take() {
		return ErrClosed
	}
	c.handle.cleanup.Stop()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.do(func(feed C.fulgurite_changes) C.int { return C.fulgurite_close_changes(feed) })
}

// changesMax is the number of changes that are read with one call.
const changesMax = 256

// Next returns the next commit, or ErrNotFound at the end of the feed.
func (c *Changes) Next() (Commit, error) {
	if c.isMissing() {
		return Commit{}, ErrClosed
	}
	// Another goroutine must not move or close the feed while the changes are copied.
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var sequence C.uint64_t
	var count C.size_t
	err := c.do(func(feed C.fulgurite_changes) C.int { return C.fulgurite_next_commit(feed, &sequence, &count) })
	if err != nil {
		return Commit{}, err
	}
	commit := Commit{Sequence: uint64(sequence), Changes: make([]Change, 0, count)}
	batch := make([]C.fulgurite_change, min(count, changesMax))
	for len(commit.Changes) < int(count) {
		var read C.size_t
		err := c.do(func(feed C.fulgurite_changes) C.int {
			first := C.size_t(len(commit.Changes))
			return C.fulgurite_read_changes(feed, first, &batch[0], C.size_t(len(batch)), &read)
		})
		if err != nil {
			return Commit{}, err
		}
		for _, change := range batch[:read] {
			commit.Changes = append(commit.Changes, Change{
				Kind:        ChangeKind(change.kind),
				TableID:     uint64(change.table_id),
				TableName:   string(copied(change.table_name)),
				Key:         copied(change.key),
				Value:       copied(change.value),
				ValueLength: uint64(change.value_length),
			})
		}
	}
	return commit, nil
}

// All iterates over the commits that follow. Read Err after the loop.
func (c *Changes) All() iter.Seq[Commit] {
	return func(yield func(Commit) bool) {
		c.fail(nil)
		for {
			commit, err := c.Next()
			if err == ErrNotFound {
				return
			}
			if err != nil {
				c.fail(err)
				return
			}
			if !yield(commit) {
				return
			}
		}
	}
}

// Err returns the error that ended the last iteration, if one did.
func (c *Changes) Err() error {
	if c.isMissing() {
		return ErrClosed
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.err
}

func (c *Changes) fail(err error) {
	if c.isMissing() {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.err = err
}

// waitSlice is how long the library waits before the context is checked again.
const waitSlice = 20 * time.Millisecond

// WaitDurable waits for a durable commit after the one with this sequence, and returns the sequence of the
// newest durable commit. Commits that are visible but not durable are made durable. If the context ends
// first, its error is returned. The error is ErrInvalid if after is above the newest commit.
func (db *DB) WaitDurable(ctx context.Context, after uint64) (uint64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return after, err
		}
		var durable C.uint64_t
		err := db.do(func(c C.fulgurite_database) C.int {
			timeout := C.uint64_t(waitSlice.Milliseconds())
			return C.fulgurite_wait_durable(c, C.uint64_t(after), timeout, &durable)
		})
		if err != nil {
			return after, err
		}
		if uint64(durable) > after {
			return uint64(durable), nil
		}
	}
}
