// What a call costs from Go, beside bbolt and Pebble.
//
//	go run . [-records N] [-rounds N]
//
// All engines have the same small records, which fit memory, and their commits survive the process, not a power cut.
// Writes include the work that merges them into the file. The engines take turns, and the first one rotates. Times are
// those of the processor, of all threads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble"
	fulgurite "github.com/fulgurite/fulgurite/bindings/go"
	"go.etcd.io/bbolt"
)

const batch = 1000

// engine is one of those that are measured. Reads return the bytes of all values.
type engine interface {
	put(entries []fulgurite.Entry) error
	putMany(entries []fulgurite.Entry) error
	settle() error
	get(keys [][]byte) (int, error)
	getMany(keys [][]byte) (int, error)
	scan() (int, error)
	close() error
}

type ours struct {
	db    *fulgurite.DB
	table *fulgurite.Table
}

func openOurs(directory string) (engine, error) {
	path := filepath.Join(directory, "a.ful")
	db, err := fulgurite.Open(path, fulgurite.Options{Create: true, Durability: fulgurite.Log})
	if err != nil {
		return nil, err
	}
	table, err := db.Table("t", fulgurite.TableOptions{})
	return &ours{db, table}, err
}

func (e *ours) put(entries []fulgurite.Entry) error {
	return e.db.Update(context.Background(), func(txn *fulgurite.Txn) error {
		for _, entry := range entries {
			if err := txn.Put(e.table, entry.Key, entry.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *ours) putMany(entries []fulgurite.Entry) error {
	return e.db.Update(context.Background(), func(txn *fulgurite.Txn) error {
		for part := range slices.Chunk(entries, batch) {
			if err := txn.PutMany(e.table, part); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *ours) settle() error { return e.db.Checkpoint(context.Background()) }

func (e *ours) get(keys [][]byte) (bytes int, err error) {
	err = e.db.View(func(txn *fulgurite.Txn) error {
		for _, key := range keys {
			value, err := txn.Get(e.table, key)
			if err != nil {
				return err
			}
			bytes += len(value)
		}
		return nil
	})
	return bytes, err
}

func (e *ours) getMany(keys [][]byte) (bytes int, err error) {
	err = e.db.View(func(txn *fulgurite.Txn) error {
		for part := range slices.Chunk(keys, batch) {
			values, err := txn.GetMany(e.table, part)
			if err != nil {
				return err
			}
			for _, value := range values {
				bytes += len(value)
			}
		}
		return nil
	})
	return bytes, err
}

func (e *ours) scan() (bytes int, err error) {
	err = e.db.View(func(txn *fulgurite.Txn) error {
		scan := txn.Scan(e.table, fulgurite.Range{})
		for _, value := range scan.All() {
			bytes += len(value)
		}
		return scan.Err()
	})
	return bytes, err
}

func (e *ours) close() error { return e.db.Close() }

// bolt has no calls for many keys: single calls stand for them. Values are copied, as programs must that keep them.
type bolt struct{ db *bbolt.DB }

var bucket = []byte("t")

func openBolt(directory string) (engine, error) {
	db, err := bbolt.Open(filepath.Join(directory, "a.bolt"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	return &bolt{db}, db.Update(func(txn *bbolt.Tx) error {
		_, err := txn.CreateBucket(bucket)
		return err
	})
}

func (e *bolt) put(entries []fulgurite.Entry) error {
	return e.db.Update(func(txn *bbolt.Tx) error {
		table := txn.Bucket(bucket)
		for _, entry := range entries {
			if err := table.Put(entry.Key, entry.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *bolt) putMany(entries []fulgurite.Entry) error { return e.put(entries) }
func (e *bolt) settle() error                           { return nil }

func (e *bolt) get(keys [][]byte) (bytes int, err error) {
	err = e.db.View(func(txn *bbolt.Tx) error {
		table := txn.Bucket(bucket)
		for _, key := range keys {
			bytes += len(slices.Clone(table.Get(key)))
		}
		return nil
	})
	return bytes, err
}

func (e *bolt) getMany(keys [][]byte) (int, error) { return e.get(keys) }

func (e *bolt) scan() (bytes int, err error) {
	err = e.db.View(func(txn *bbolt.Tx) error {
		cursor := txn.Bucket(bucket).Cursor()
		for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
			bytes += len(slices.Clone(value))
		}
		return nil
	})
	return bytes, err
}

func (e *bolt) close() error { return e.db.Close() }

type stone struct{ db *pebble.DB }

func openStone(directory string) (engine, error) {
	db, err := pebble.Open(filepath.Join(directory, "pebble"), &pebble.Options{Logger: silent{}})
	return &stone{db}, err
}

// silent drops what Pebble logs.
type silent struct{}

func (silent) Infof(string, ...any)               {}
func (silent) Errorf(format string, given ...any) { log.Printf(format, given...) }
func (silent) Fatalf(format string, given ...any) { log.Fatalf(format, given...) }

func (e *stone) put(entries []fulgurite.Entry) error {
	for _, entry := range entries {
		if err := e.db.Set(entry.Key, entry.Value, pebble.NoSync); err != nil {
			return err
		}
	}
	return nil
}

func (e *stone) putMany(entries []fulgurite.Entry) error {
	for part := range slices.Chunk(entries, batch) {
		write := e.db.NewBatch()
		for _, entry := range part {
			if err := write.Set(entry.Key, entry.Value, nil); err != nil {
				return err
			}
		}
		if err := write.Commit(pebble.NoSync); err != nil {
			return err
		}
	}
	return nil
}

func (e *stone) settle() error { return e.db.Flush() }

func (e *stone) get(keys [][]byte) (bytes int, err error) {
	for _, key := range keys {
		value, closer, err := e.db.Get(key)
		if err != nil {
			return 0, err
		}
		bytes += len(slices.Clone(value))
		if err := closer.Close(); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

func (e *stone) getMany(keys [][]byte) (int, error) { return e.get(keys) }

func (e *stone) scan() (bytes int, err error) {
	iterator, err := e.db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	for valid := iterator.First(); valid; valid = iterator.Next() {
		bytes += len(slices.Clone(iterator.Value()))
	}
	return bytes, iterator.Close()
}

func (e *stone) close() error { return e.db.Close() }

var engines = []struct {
	name string
	open func(directory string) (engine, error)
}{{"fulgurite", openOurs}, {"bbolt", openBolt}, {"pebble", openStone}}

var operations = []string{"put", "put_many", "get", "get_many", "scan"}

// processor returns the time of the processor that this process has used.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func measured(run func() error) time.Duration {
	begun := processor()
	if err := run(); err != nil {
		log.Fatal(err)
	}
	return processor() - begun
}

func read(bytes int, run func() (int, error)) func() error {
	return func() error {
		found, err := run()
		if err == nil && found != bytes {
			return fmt.Errorf("%d bytes of values were read, not %d", found, bytes)
		}
		return err
	}
}

func round(e engine, entries []fulgurite.Entry, keys [][]byte) [5]time.Duration {
	half, bytes := len(entries)/2, 0
	for _, entry := range entries {
		bytes += len(entry.Value)
	}
	var took [5]time.Duration
	// Each way of writing writes a half.
	took[0] = 2 * measured(func() error { return errors.Join(e.put(entries[:half]), e.settle()) })
	took[1] = 2 * measured(func() error { return errors.Join(e.putMany(entries[half:]), e.settle()) })
	took[2] = measured(read(bytes, func() (int, error) { return e.get(keys) }))
	took[3] = measured(read(bytes, func() (int, error) { return e.getMany(keys) }))
	took[4] = measured(read(bytes, e.scan))
	return took
}

func main() {
	records := flag.Int("records", 100_000, "records")
	rounds := flag.Int("rounds", 7, "rounds")
	flag.Parse()
	chance := rand.New(rand.NewSource(1))
	entries := make([]fulgurite.Entry, *records)
	keys := make([][]byte, *records)
	for i := range entries {
		value := make([]byte, 100)
		chance.Read(value)
		entries[i] = fulgurite.Entry{Key: fmt.Appendf(nil, "%016x", chance.Uint64()), Value: value}
		keys[i] = entries[i].Key
	}
	chance.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	took := make([][5][]time.Duration, len(engines))
	for n := range *rounds {
		for turn := range engines {
			which := (n + turn) % len(engines)
			directory, err := os.MkdirTemp("", "crossing")
			if err != nil {
				log.Fatal(err)
			}
			opened, err := engines[which].open(directory)
			if err != nil {
				log.Fatal(err)
			}
			for i, time := range round(opened, entries, keys) {
				took[which][i] = append(took[which][i], time)
			}
			if err := opened.close(); err != nil {
				log.Fatal(err)
			}
			os.RemoveAll(directory)
		}
	}
	report(took, *records, *rounds)
}

func report(took [][5][]time.Duration, records, rounds int) {
	fmt.Printf("%d records of 16 and 100 bytes, ns of processor time for each, median of %d\n", records, rounds)
	fmt.Printf("%-10s %10s %16s %16s\n", "", engines[0].name, engines[1].name, engines[2].name)
	for i, operation := range operations {
		fmt.Printf("%-10s", operation)
		var first float64
		for which := range engines {
			slices.Sort(took[which][i])
			ns := float64(took[which][i][rounds/2]) / float64(records)
			if which == 0 {
				first = ns
				fmt.Printf(" %10.0f", ns)
			} else {
				fmt.Printf(" %8.0f (%.2f×)", ns, ns/first)
			}
		}
		fmt.Println()
	}
}
