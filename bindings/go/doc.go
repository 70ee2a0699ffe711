// Package fulgurite is an embedded, transactional key-value store in one memory-mapped file.
//
// A database has named, sorted tables of keys and values. Read transactions are snapshots that
// block nobody; write transactions run concurrently and are serializable.
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
// A call into the library costs tens of nanoseconds more than a call of Go. So the calls for many
// entries, GetMany, PutMany and Scan, are the normal way: each crosses once for a batch.
//
// Keys and values are copied between Go and the library. All handles are safe to use from any
// goroutine; a closed handle returns ErrClosed, and so does a nil one. A handle that is collected
// without having been closed is closed then; the changes of a write transaction are dropped.
//
// The package needs cgo and the C library: docs/guide/go.md says how to build both.
package fulgurite
