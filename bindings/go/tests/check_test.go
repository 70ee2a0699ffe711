// Package tests has tests that use only what programs can use.
package tests

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

var background = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want[T comparable](t testing.TB, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Fatalf("got %v, want %v", got, wanted)
	}
}

func wantError(t testing.TB, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Fatalf("got %v, want %v", err, wanted)
	}
}

func opened(t testing.TB) (*DB, *Table) {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "a.ful"), Options{Create: true})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	table, err := db.Table("t", TableOptions{})
	must(t, err)
	return db, table
}

func numbered(from, to int) []Entry {
	var entries []Entry
	for n := from; n < to; n++ {
		text := []byte(fmt.Sprintf("%06d", n))
		entries = append(entries, Entry{Key: text, Value: append([]byte("v"), text...)})
	}
	return entries
}
