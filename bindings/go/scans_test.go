package fulgurite

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// Values of an image are in memory of the library. It does not keep all that a long scan has read.
func TestScansReleaseWhatTheyHaveRead(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	directory, value := t.TempDir(), bytes.Repeat([]byte("v"), 100_000)
	db, err := Open(filepath.Join(directory, "a.ful"), Options{Create: true})
	must(err)
	table, err := db.Table("t", TableOptions{})
	must(err)
	must(db.Update(t.Context(), func(txn *Txn) error {
		for n := range 200 {
			must(txn.Put(table, fmt.Appendf(nil, "%06d", n), value))
		}
		return nil
	}))
	path := filepath.Join(directory, "i.ful")
	must(db.WriteImage(t.Context(), path, 1))
	must(db.Close())
	image, err := Open(path, Options{Image: true, NoMap: true})
	must(err)
	table, err = image.OpenTable("t")
	must(err)
	must(image.View(func(txn *Txn) error {
		for range 3 {
			scan := txn.Scan(table, Range{})
			for _, read := range scan.All() {
				if len(read) != len(value) {
					t.Fatalf("a value has %d bytes", len(read))
				}
			}
			must(scan.Err())
		}
		if kept := txn.kept.Load(); kept >= keptMax {
			t.Errorf("the library keeps %d bytes", kept)
		}
		return nil
	}))
	must(image.Close())
}
