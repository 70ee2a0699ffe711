package tests

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

func openedWithLog(t testing.TB) (*DB, *Table) {
	t.Helper()
	options := Options{Create: true, KeepLogBytes: 64 << 20, CheckpointInterval: time.Minute}
	db, err := Open(filepath.Join(t.TempDir(), "a.ful"), options)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	table, err := db.Table("t", TableOptions{})
	must(t, err)
	return db, table
}

func put(t testing.TB, db *DB, table *Table, entries ...Entry) {
	t.Helper()
	must(t, db.Update(background, func(txn *Txn) error { return txn.PutMany(table, entries) }))
}

func TestTheChangeFeedHasEveryCommitWholeAndInOrder(t *testing.T) {
	db, table := openedWithLog(t)
	put(t, db, table, Entry{Key: []byte("ann"), Value: []byte("admin")})
	put(t, db, table, numbered(0, 1000)...)
	must(t, db.Update(background, func(txn *Txn) error {
		_, err := txn.Delete(table, []byte("ann"))
		return err
	}))
	durable, err := db.WaitDurable(background, 0)
	must(t, err)
	want(t, durable, 4)

	feed, err := db.Changes(0)
	must(t, err)
	var commits []Commit
	for commit := range feed.All() {
		commits = append(commits, commit)
	}
	must(t, feed.Err())
	want(t, len(commits), 4)
	want(t, commits[0].Changes[0].Kind, ChangeTableCreated)
	want(t, commits[0].Changes[0].Key == nil, true)
	want(t, string(commits[1].Changes[0].Key), "ann")
	want(t, string(commits[1].Changes[0].Value), "admin")
	want(t, commits[1].Changes[0].TableName, "t")
	want(t, len(commits[2].Changes), 1000)
	for i, change := range commits[2].Changes {
		want(t, string(change.Key), fmt.Sprintf("%06d", i))
		want(t, change.ValueLength, uint64(7))
	}
	want(t, commits[3].Changes[0].Kind, ChangeDelete)
	_, err = feed.Next()
	wantError(t, err, ErrNotFound)
	must(t, feed.Close())
	wantError(t, feed.Close(), ErrClosed)
	_, err = feed.Next()
	wantError(t, err, ErrClosed)

	feed, err = db.Changes(3)
	must(t, err)
	for commit := range feed.All() {
		want(t, commit.Sequence, 4)
		break
	}
	must(t, feed.Close())
	_, err = db.Changes(1000)
	wantError(t, err, ErrInvalid)
}

func TestWaitingForACommitEndsWithTheContext(t *testing.T) {
	db, table := openedWithLog(t)
	seen, err := db.WaitDurable(background, 0)
	must(t, err)
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = db.WaitDurable(ctx, seen)
	wantError(t, err, context.DeadlineExceeded)
	for _, beyond := range []uint64{seen + 1, math.MaxUint64} {
		_, err = db.WaitDurable(background, beyond)
		wantError(t, err, ErrInvalid)
	}
	done := make(chan uint64)
	go func() {
		next, _ := db.WaitDurable(background, seen)
		done <- next
	}()
	put(t, db, table, Entry{Key: []byte("a"), Value: []byte("1")})
	want(t, <-done, seen+1)
}

func TestAFeedThatIsClosedMeanwhileReturnsWholeCommits(t *testing.T) {
	db, table := openedWithLog(t)
	for n := range 50 {
		put(t, db, table, numbered(n*10, n*10+600)...)
	}
	must(t, db.Sync(background))
	for range 20 {
		feed, err := db.Changes(1)
		must(t, err)
		var group sync.WaitGroup
		var read atomic.Int64
		var once sync.Once
		first := make(chan struct{})
		for range 3 {
			group.Add(1)
			go func() {
				defer group.Done()
				// Also without a commit, so that the test ends.
				defer once.Do(func() { close(first) })
				for {
					commit, err := feed.Next()
					if err != nil {
						return
					}
					if len(commit.Changes) != 600 {
						t.Errorf("%d changes", len(commit.Changes))
					}
					read.Add(1)
					once.Do(func() { close(first) })
				}
			}()
		}
		<-first
		must(t, feed.Close())
		group.Wait()
		want(t, read.Load() > 0, true)
	}
}

func TestWhatWasNeverOpenedIsClosed(t *testing.T) {
	opened, openedTable := openedWithLog(t)
	reading, err := opened.Read()
	must(t, err)
	defer func() { must(t, reading.End()) }()
	entries := func(yield func([]byte, []byte) bool) { yield([]byte("k"), nil) }
	key := []byte("k")

	var db *DB
	for _, missing := range []*DB{db, {}} {
		wantError(t, missing.Close(), ErrClosed)
		wantError(t, missing.Sync(background), ErrClosed)
		wantError(t, missing.View(func(*Txn) error { return nil }), ErrClosed)
		wantError(t, missing.Update(background, func(*Txn) error { return nil }), ErrClosed)
		wantError(t, missing.DropTable(openedTable), ErrClosed)
		_, err := missing.Table("t", TableOptions{})
		wantError(t, err, ErrClosed)
		_, err = missing.Tables()
		wantError(t, err, ErrClosed)
		_, err = missing.Changes(0)
		wantError(t, err, ErrClosed)
		_, err = missing.BulkLoad(background, openedTable, entries)
		wantError(t, err, ErrClosed)
	}

	var table *Table
	for _, missing := range []*Table{table, {}} {
		wantError(t, missing.Close(), ErrClosed)
		wantError(t, opened.DropTable(missing), ErrClosed)
		_, err := opened.BulkLoad(background, missing, entries)
		wantError(t, err, ErrClosed)
		_, err = reading.Get(missing, key)
		wantError(t, err, ErrClosed)
		write := func(txn *Txn) error { return txn.Put(missing, key, nil) }
		wantError(t, opened.Update(background, write), ErrClosed)
	}

	var txn *Txn
	for _, missing := range []*Txn{txn, {}} {
		_, err := missing.Get(openedTable, key)
		wantError(t, err, ErrClosed)
		_, err = missing.GetMany(openedTable, nil)
		wantError(t, err, ErrClosed)
		_, err = missing.Sequence()
		wantError(t, err, ErrClosed)
		_, err = missing.Savepoint()
		wantError(t, err, ErrClosed)
		scan := missing.Scan(openedTable, Range{})
		for range scan.All() {
			t.Fatal("an entry of no transaction")
		}
		wantError(t, scan.Err(), ErrClosed)
		wantError(t, missing.RollbackTo(0), ErrClosed)
		wantError(t, missing.Put(openedTable, key, nil), ErrClosed)
		wantError(t, missing.Commit(), ErrClosed)
		wantError(t, missing.End(), ErrClosed)
	}

	var changes *Changes
	for _, missing := range []*Changes{changes, {}} {
		_, err := missing.Next()
		wantError(t, err, ErrClosed)
		for range missing.All() {
			t.Fatal("a commit of no feed")
		}
		wantError(t, missing.Err(), ErrClosed)
		wantError(t, missing.Close(), ErrClosed)
	}
}
