package tests

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

// longest keeps the longest text.
func longest(key, value []byte, operands [][]byte) ([]byte, error) {
	switch string(key) {
	case "fail":
		return nil, errors.New("no text is \x00 long \xff enough")
	case "panic":
		panic("out of cheese")
	case "exit":
		runtime.Goexit()
	}
	for _, operand := range operands {
		if value == nil || len(operand) > len(value) {
			value = operand
		}
	}
	return value, nil
}

func mergeInto(db *DB, table *Table, key string, operands ...string) error {
	return db.Update(background, func(txn *Txn) error {
		for _, operand := range operands {
			if err := txn.Merge(table, []byte(key), []byte(operand)); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestMergeFunctionsComputeValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.ful")
	options := Options{Create: true, MergeFunctions: map[string]MergeFunction{"longest": longest}}
	db, err := Open(path, options)
	must(t, err)
	table, err := db.Table("texts", TableOptions{MergeFunction: "longest"})
	must(t, err)
	must(t, mergeInto(db, table, "k", "ab", "abcd", ""))
	must(t, mergeInto(db, table, "k", "abc"))
	must(t, mergeInto(db, table, "empty", ""))
	must(t, db.View(func(txn *Txn) error {
		value, err := txn.Get(table, []byte("k"))
		want(t, string(value), "abcd")
		must(t, err)
		value, err = txn.Get(table, []byte("empty"))
		want(t, len(value), 0)
		return err
	}))
	texts := map[string]string{"fail": `no text is \0 long ? enough`, "panic": "it panicked: out of cheese"}
	texts["exit"] = "it ended its goroutine"
	for key, text := range texts {
		err := mergeInto(db, table, key, "x")
		wantError(t, err, ErrUnmergeable)
		want(t, strings.Contains(err.Error(), text), true)
		// The thread is not in a merge function any more.
		must(t, mergeInto(db, table, "k", "a"))
	}
	must(t, db.Close())

	// Without the function all but merging works.
	db, err = Open(path, Options{})
	must(t, err)
	table, err = db.OpenTable("texts")
	must(t, err)
	must(t, db.Update(background, func(txn *Txn) error { return txn.Put(table, []byte("k"), []byte("v")) }))
	wantError(t, mergeInto(db, table, "k", "x"), ErrMergeFunctionMissing)
	must(t, db.Close())
}

func TestMergeFunctionsCannotUseTheDatabase(t *testing.T) {
	var db *DB
	var seen error
	careless := func(_, _ []byte, operands [][]byte) ([]byte, error) {
		seen = db.View(func(*Txn) error { return nil })
		return bytes.Join(operands, nil), nil
	}
	options := Options{Create: true, MergeFunctions: map[string]MergeFunction{"careless": careless}}
	db, err := Open(filepath.Join(t.TempDir(), "m.ful"), options)
	must(t, err)
	table, err := db.Table("texts", TableOptions{MergeFunction: "careless"})
	must(t, err)
	must(t, mergeInto(db, table, "k", "a", "b"))
	wantError(t, seen, ErrInvalid)
	must(t, db.Close())
}

func TestMergeFunctionsAreReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.ful")
	released := make(chan int, 3)
	function := func(number int) MergeFunction {
		watched := new(int)
		runtime.AddCleanup(watched, func(number int) { released <- number }, number)
		return func(_, _ []byte, operands [][]byte) ([]byte, error) {
			*watched++
			return operands[0], nil
		}
	}
	open := func(path string, number int) (*DB, error) {
		return Open(path, Options{Create: true, MergeFunctions: map[string]MergeFunction{"f": function(number)}})
	}
	next := func() int {
		for {
			runtime.GC()
			select {
			case number := <-released:
				return number
			default:
				runtime.Gosched()
			}
		}
	}
	db, err := open(path, 1)
	must(t, err)
	// The database keeps the function that it has.
	again, err := open(path, 2)
	must(t, err)
	want(t, next(), 2)
	_, err = open(filepath.Join(path, "none"), 3)
	want(t, err != nil, true)
	want(t, next(), 3)
	must(t, again.Close())
	must(t, db.Close())
	want(t, next(), 1)
}

// watchedFunction returns a merge function, and a channel that is closed when the function is collected.
func watchedFunction() (MergeFunction, <-chan struct{}) {
	collected := make(chan struct{})
	watched := new(int)
	runtime.AddCleanup(watched, func(collected chan struct{}) { close(collected) }, collected)
	return func(_, _ []byte, operands [][]byte) ([]byte, error) {
		*watched++
		return operands[0], nil
	}, collected
}

func waitUntilCollected(collected <-chan struct{}) {
	for {
		runtime.GC()
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
}

func TestMergeFunctionsCannotOpenADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.ful")
	var seen error
	var collected <-chan struct{}
	opening := func(_, _ []byte, operands [][]byte) ([]byte, error) {
		var inner MergeFunction
		inner, collected = watchedFunction()
		_, seen = Open(path, Options{MergeFunctions: map[string]MergeFunction{"inner": inner}})
		return operands[0], nil
	}
	db, err := Open(path, Options{Create: true, MergeFunctions: map[string]MergeFunction{"opening": opening}})
	must(t, err)
	table, err := db.Table("texts", TableOptions{MergeFunction: "opening"})
	must(t, err)
	must(t, mergeInto(db, table, "k", "a"))
	wantError(t, seen, ErrInvalid)
	want(t, strings.Contains(seen.Error(), "a merge function cannot call this"), true)
	waitUntilCollected(collected)
	must(t, db.Close())
}

func TestMergeFunctionsOfARefusedOpeningAreReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.ful")
	function := func() (map[string]MergeFunction, <-chan struct{}) {
		function, collected := watchedFunction()
		return map[string]MergeFunction{"f": function}, collected
	}
	refused := map[string]func(Options) error{
		"a path with a byte 0": func(options Options) error { _, err := Open("a\x00b", options); return err },
		"no database":          func(options Options) error { _, err := Open(path, options); return err },
		"a nil function": func(options Options) error {
			options.MergeFunctions["g"] = nil
			_, err := Open(path, options)
			return err
		},
		"an empty name": func(options Options) error {
			options.Create = true
			options.MergeFunctions[""] = options.MergeFunctions["f"]
			_, err := Open(path, options)
			return err
		},
		"a durability that does not exist": func(options Options) error {
			options.Durability = 9
			_, err := Open(path, options)
			return err
		},
	}
	for name, open := range refused {
		functions, collected := function()
		if err := open(Options{MergeFunctions: functions}); err == nil {
			t.Fatalf("%s: it was opened", name)
		}
		waitUntilCollected(collected)
	}
}

func TestWrongMergeFunctionsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.ful")
	for _, name := range []string{"nil", "zero\x00"} {
		functions := map[string]MergeFunction{name: nil, "f": longest}
		if name != "nil" {
			functions[name] = longest
		}
		_, err := Open(path, Options{Create: true, MergeFunctions: functions})
		wantError(t, err, ErrInvalid)
	}
	db, err := Open(path, Options{Create: true})
	must(t, err)
	_, err = db.Table("t", TableOptions{Merge: MergeXor, MergeFunction: "f"})
	wantError(t, err, ErrInvalid)
	must(t, db.Close())
}
