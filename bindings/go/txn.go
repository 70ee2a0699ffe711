package fulgurite

/*
#include <fulgurite.h>
*/
import "C"

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// Txn is a read or write transaction.
type Txn struct {
	handle *handle
	// db is kept, because a collected database is closed, and a closed one refuses commits.
	db *DB
	// kept counts the bytes that the library may keep for values.
	kept atomic.Int64
}

func newTxn(db *DB, c *C.fulgurite_txn, err error) (*Txn, error) {
	if err != nil {
		return nil, err
	}
	txn := &Txn{db: db}
	txn.handle = newHandle(txn, uint64(c.id), func(id uint64) {
		C.fulgurite_end(C.fulgurite_txn{id: C.uint64_t(id)})
	})
	return txn, nil
}

// Read begins a read transaction: a snapshot of everything committed so far. End it: the file cannot reuse
// the pages of its snapshot before.
func (db *DB) Read() (*Txn, error) {
	var txn C.fulgurite_txn
	return newTxn(db, &txn, db.do(func(c C.fulgurite_database) C.int { return C.fulgurite_begin_read(c, &txn) }))
}

// ReadDurable is Read, but shows only commits that survive a power cut.
func (db *DB) ReadDurable() (*Txn, error) {
	var txn C.fulgurite_txn
	return newTxn(db, &txn, db.do(func(c C.fulgurite_database) C.int {
		return C.fulgurite_begin_read_durable(c, &txn)
	}))
}

// Write begins a write transaction. Any number of them may run at once. Commit or End it. Write waits while
// an exclusive transaction or a bulk load runs, until the context ends.
func (db *DB) Write(ctx context.Context) (*Txn, error) {
	// A call of the library that waits keeps a thread even after the context has ended, so this one does not wait.
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var txn C.fulgurite_txn
		begun, err := newTxn(db, &txn, db.do(func(c C.fulgurite_database) C.int {
			return C.fulgurite_try_begin_write(c, &txn)
		}))
		if !errors.Is(err, ErrTimeout) {
			return begun, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Exclusive begins an exclusive write transaction: no other transaction commits until it ends, so it never
// conflicts. Until then, the goroutine must not write by another transaction, nor close the database: it would
// wait for itself. Exclusive waits for other exclusive transactions and bulk loads until the context ends.
func (db *DB) Exclusive(ctx context.Context) (*Txn, error) {
	const step = 50 * time.Millisecond
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var txn C.fulgurite_txn
		begun, err := newTxn(db, &txn, db.do(func(c C.fulgurite_database) C.int {
			return C.fulgurite_begin_exclusive(c, C.uint64_t(step.Milliseconds()), &txn)
		}))
		if !errors.Is(err, ErrTimeout) {
			return begun, err
		}
	}
}

// View calls read with a read transaction, and ends it.
func (db *DB) View(read func(*Txn) error) error {
	txn, err := db.Read()
	if err != nil {
		return err
	}
	defer func() { _ = txn.End() }()
	return read(txn)
}

// Update calls change with a write transaction, and commits it. If change returns an error or panics,
// nothing is committed. After a conflict, change is called again in a new transaction, so it should have no
// other effects. After 100 attempts, Update returns the last conflict, for which IsRetryable is true. If the
// context ends first, the error is that of the context.
func (db *DB) Update(ctx context.Context, change func(*Txn) error) error {
	for attempt := 1; ; attempt++ {
		err := db.try(ctx, change)
		if !IsRetryable(err) || attempt == attempts {
			return err
		}
		pause := time.Duration(0)
		if attempt > 4 {
			pause = time.Duration(rand.Int64N(int64(time.Millisecond) << min(attempt-4, 6)))
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// attempts is the number of attempts of Update.
const attempts = 100

func (db *DB) try(ctx context.Context, change func(*Txn) error) error {
	txn, err := db.Write(ctx)
	if err != nil {
		return err
	}
	// After the commit there is nothing to end.
	defer func() { _ = txn.End() }()
	if err := change(txn); err != nil {
		return err
	}
	return txn.Commit()
}

func (txn *Txn) c() C.fulgurite_txn {
	return C.fulgurite_txn{id: C.uint64_t(txn.handle.id)}
}

func (txn *Txn) do(run func(C.fulgurite_txn) C.int) error {
	if txn.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(txn)
	return call(func() C.int { return run(txn.c()) })
}

// with calls the library with the transaction and a table, which are not collected meanwhile.
func (txn *Txn) with(table *Table, run func(C.fulgurite_txn, C.fulgurite_table) C.int) error {
	if table.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(table)
	return txn.do(func(c C.fulgurite_txn) C.int { return run(c, table.c()) })
}

// Commit commits a write transaction with the durability of the options. The transaction ends, whatever the
// error is. The error is ErrConflict if another transaction changed what this one used.
func (txn *Txn) Commit() error {
	return txn.CommitWith(0)
}

// CommitWith is Commit with another durability.
func (txn *Txn) CommitWith(durability Durability) error {
	if txn.isMissing() {
		return ErrClosed
	}
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	err := txn.do(func(c C.fulgurite_txn) C.int {
		return C.fulgurite_commit_with(c, C.uint32_t(durability), nil)
	})
	// A read transaction stays open. A write transaction has ended, whatever the error is.
	if !errors.Is(err, ErrReadOnly) {
		txn.handle.take()
	}
	return err
}

// End ends a transaction; a write transaction drops its changes. The second call, and one after a
// commit, returns ErrClosed.
func (txn *Txn) End() error {
	if txn.isMissing() || !txn.handle.take() {
		return ErrClosed
	}
	txn.handle.cleanup.Stop()
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	return txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_end(c) })
}

// Sequence returns the sequence of the newest commit that the transaction sees.
func (txn *Txn) Sequence() (uint64, error) {
	var sequence C.uint64_t
	err := txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_sequence(c, &sequence) })
	return uint64(sequence), err
}

// Savepoint makes a savepoint for RollbackTo.
func (txn *Txn) Savepoint() (uint32, error) {
	if txn.isMissing() {
		return 0, ErrClosed
	}
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	var savepoint C.uint32_t
	err := txn.do(func(c C.fulgurite_txn) C.int { return C.fulgurite_savepoint(c, &savepoint) })
	return uint32(savepoint), err
}

// RollbackTo undoes all changes after a savepoint. The savepoint can be used again; later ones become
// invalid.
func (txn *Txn) RollbackTo(savepoint uint32) error {
	if txn.isMissing() {
		return ErrClosed
	}
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	return txn.do(func(c C.fulgurite_txn) C.int {
		return C.fulgurite_rollback_to(c, C.uint32_t(savepoint))
	})
}
