package tests

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/fulgurite/fulgurite/bindings/go"
)

// openedStore opens a store whose appends need not wait for the disk.
func openedStore(t testing.TB, name string) (*DB, *EventStore) {
	t.Helper()
	db, _ := opened(t)
	store, err := db.Events(EventStoreOptions{Name: name, Durability: Log})
	must(t, err)
	return db, store
}

func counted(from, to int) []NewEvent {
	var events []NewEvent
	for n := from; n < to; n++ {
		events = append(events, NewEvent{Type: "counted", Payload: fmt.Append(nil, n), Metadata: []byte("m"), Schema: 2})
	}
	return events
}

func payloads(t testing.TB, events iter.Seq2[Event, error]) []string {
	t.Helper()
	var found []string
	for event, err := range events {
		must(t, err)
		found = append(found, string(event.Payload))
	}
	return found
}

// lastError returns the error of the last pair.
func lastError(events iter.Seq2[Event, error]) error {
	var last error
	for _, err := range events {
		last = err
	}
	return last
}

func TestAppendsExpectVersionsAndAreRecognisedByIDs(t *testing.T) {
	db, store := openedStore(t, "")
	placed := NewEvent{Type: "placed", Payload: []byte("3 apples"), ID: &[16]byte{1}}
	paid := NewEvent{Type: "paid", ID: &[16]byte{2}}
	appended, err := store.Append(background, "order-7", NoStream, placed, paid)
	must(t, err)
	want(t, appended, Appended{Count: 2})
	_, err = store.Append(background, "order-7", 0, NewEvent{Type: "sent"})
	wantError(t, err, ErrWrongVersion)
	again, err := store.Append(background, "order-7", NoStream, placed, paid)
	must(t, err)
	want(t, again, Appended{Count: 2, Repeated: true})
	_, err = store.Append(background, "order-7", AnyVersion, placed, NewEvent{Type: "sent"})
	wantError(t, err, ErrIDReused)
	_, err = store.Append(background, "order-7", AnyVersion, NewEvent{})
	wantError(t, err, ErrInvalid)

	// Several streams: all or nothing.
	sent := StreamAppend{Stream: "order-7", Expected: 7, Events: []NewEvent{{Type: "sent"}}}
	stock := StreamAppend{Stream: "stock", Expected: AnyVersion, Events: counted(0, 3)}
	_, err = store.AppendAll(background, stock, sent)
	wantError(t, err, ErrWrongVersion)
	_, _, err = store.Versions("stock")
	wantError(t, err, ErrStreamNotFound)
	sent.Expected = 1
	all, err := store.AppendAll(background, stock, sent)
	must(t, err)
	want(t, all[1], Appended{Position: 5, Version: 2, Count: 1})
	_, next, err := store.Versions("order-7")
	must(t, err)
	want(t, next, 3)
	_, next, err = store.Positions()
	must(t, err)
	want(t, next, 6)

	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = store.Append(ctx, "order-7", AnyVersion, placed)
	wantError(t, err, context.Canceled)
	must(t, store.Close())
	wantError(t, store.Close(), ErrClosed)
	_, err = db.Events(EventStoreOptions{IDWindow: 7})
	must(t, err)
}

func TestEventsAreReadInBatchesForwardsAndBackwards(t *testing.T) {
	_, store := openedStore(t, "s")
	_, err := store.Append(background, "other", AnyVersion, NewEvent{Type: "first", ID: &[16]byte{7}})
	must(t, err)
	_, err = store.Append(background, "many", NoStream, counted(0, 3000)...)
	must(t, err)
	version := uint64(100)
	for event, err := range store.ReadStream(background, "many", version) {
		must(t, err)
		want(t, event.Version, version)
		want(t, event.Position, version+1)
		want(t, string(event.Payload), fmt.Sprint(version))
		want(t, event.Stream+event.Type+string(event.Metadata), "manycountedm")
		want(t, event.Schema, 2)
		want(t, event.ID == nil && event.Time.Year() > 2000, true)
		version++
	}
	want(t, version, 3000)
	reversed := payloads(t, store.ReadStreamReverse(background, "many", math.MaxUint64))
	want(t, len(reversed), 3000)
	want(t, reversed[0], "2999")
	want(t, reversed[2999], "0")
	for event, err := range store.ReadAll(background, 0) {
		must(t, err)
		want(t, *event.ID, [16]byte{7})
		want(t, event.Payload != nil && len(event.Payload) == 0, true)
		break
	}
	want(t, payloads(t, store.ReadAllReverse(background, 3))[0], "1")
	wantError(t, lastError(store.ReadStream(background, "none", 0)), ErrStreamNotFound)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	var last error
	for _, err := range store.ReadAll(ctx, 0) {
		cancel()
		last = err
	}
	wantError(t, last, context.Canceled)
}

func positions(t testing.TB, events iter.Seq2[Event, error]) string {
	t.Helper()
	found := ""
	for event, err := range events {
		must(t, err)
		found += fmt.Sprint(event.Position)
	}
	return found
}

func TestEventsAreFoundByTypesTagsAndStreams(t *testing.T) {
	_, store := openedStore(t, "s")
	first := NewEvent{Type: "placed", Tags: []string{"order:7", "user:ada"}}
	second := NewEvent{Type: "paid", Tags: []string{"order:7"}}
	_, err := store.AppendAll(background,
		StreamAppend{Stream: "a", Expected: AnyVersion, Events: []NewEvent{first, {Type: "placed"}, second}},
		StreamAppend{Stream: "b", Expected: AnyVersion, Events: []NewEvent{{Type: "sent"}}})
	must(t, err)
	for event, err := range store.ReadAll(background, 0) {
		must(t, err)
		want(t, fmt.Sprint(event.Tags), [...]string{"[order:7 user:ada]", "[]", "[order:7]", "[]"}[event.Position])
	}
	paidOrSent := Query{{Types: []string{"paid", "sent"}}}
	both := append(Query{{Types: []string{"placed"}, Tags: []string{"user:ada", "order:7"}}}, paidOrSent...)
	want(t, positions(t, store.ReadQuery(background, both, 0)), "023")
	want(t, positions(t, store.ReadQuery(background, both, 1)), "23")
	want(t, positions(t, store.ReadQueryReverse(background, both, math.MaxUint64)), "320")
	want(t, positions(t, store.ReadQuery(background, Query{{Streams: []string{"b", "c"}}}, 0)), "3")
	want(t, positions(t, store.ReadQuery(background, nil, 0)), "0123")

	sent := StreamAppend{Stream: "a", Expected: 2, Events: []NewEvent{{Type: "sent", ID: &[16]byte{1}}}}
	_, err = store.AppendIf(background, paidOrSent, 3, sent)
	wantError(t, err, ErrConditionFailed)
	for _, repeated := range []bool{false, true} {
		appended, err := store.AppendIf(background, paidOrSent, 4, sent)
		must(t, err)
		want(t, appended, Appended{Position: 4, Version: 3, Count: 1, Repeated: repeated})
	}
	_, err = store.Append(background, "a", AnyVersion, NewEvent{Type: "sent", Tags: []string{""}})
	wantError(t, err, ErrInvalid)
}

func TestStreamsAreTruncatedLimitedAndDeleted(t *testing.T) {
	_, store := openedStore(t, "s")
	for range 3 {
		_, err := store.AppendAll(background,
			StreamAppend{Stream: "a", Expected: AnyVersion, Events: counted(0, 1)},
			StreamAppend{Stream: "b", Expected: AnyVersion, Events: counted(0, 1)})
		must(t, err)
	}
	_, err := store.StreamMetadata("c")
	wantError(t, err, ErrStreamNotFound)
	limits := StreamMetadata{MaxAge: time.Hour, MaxCount: 1, Custom: []byte("gold")}
	must(t, store.SetStreamMetadata(background, "a", limits))
	found, err := store.StreamMetadata("a")
	must(t, err)
	want(t, fmt.Sprint(found), fmt.Sprint(limits))
	// A short age is not none.
	must(t, store.SetStreamMetadata(background, "c", StreamMetadata{MaxAge: 1}))
	found, err = store.StreamMetadata("c")
	must(t, err)
	want(t, found.MaxAge, time.Microsecond)
	wantError(t, store.SetStreamMetadata(background, "c", StreamMetadata{MaxAge: -1}), ErrInvalid)

	must(t, store.TruncateStream(background, "b", 2))
	wantError(t, store.TruncateStream(background, "b", 4), ErrInvalid)
	report, err := store.ApplyRetention(background, Retention{MaxAge: time.Hour})
	must(t, err)
	want(t, report.First, 0)
	want(t, positions(t, store.ReadAll(background, 0)), "45")

	wantError(t, store.DeleteStream(background, "a", 0), ErrWrongVersion)
	must(t, store.DeleteStream(background, "a", 2))
	wantError(t, lastError(store.ReadStream(background, "a", 0)), ErrStreamNotFound)
	appended, err := store.Append(background, "a", NoStream, counted(0, 1)...)
	must(t, err)
	want(t, appended.Version, 3)
	must(t, store.DeleteStreamForever(background, "a", AnyVersion))
	_, err = store.Append(background, "a", AnyVersion, counted(0, 1)...)
	wantError(t, err, ErrTombstone)
}

func TestAFoldCountsEachEventOnce(t *testing.T) {
	db, store := openedStore(t, "s")
	counts, err := db.Table("counts", TableOptions{Merge: MergeAdd})
	must(t, err)
	_, err = store.Append(background, "a", AnyVersion, counted(0, 2500)...)
	must(t, err)
	failed := errors.New("failed")
	fold := func(fails bool) (uint64, error) {
		return store.Fold(background, "counter", func(txn *Txn, events []Event) error {
			err := txn.Add(counts, []byte("n"), uint64(len(events)))
			if fails {
				err = failed
			}
			return err
		})
	}
	_, err = fold(true)
	wantError(t, err, failed)
	// Of several that run at once, each event counts for one.
	var group sync.WaitGroup
	for range 3 {
		group.Add(1)
		go func() {
			defer group.Done()
			_, err := fold(false)
			if err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	must(t, db.View(func(txn *Txn) error {
		count, err := txn.Counter(counts, []byte("n"))
		must(t, err)
		want(t, count, 2500)
		position, err := txn.ConsumerPosition(store, "counter")
		want(t, position, 2500)
		wantError(t, txn.SetConsumerPosition(store, "counter", 0), ErrReadOnly)
		return err
	}))
	wantError(t, db.Update(background, func(txn *Txn) error {
		return txn.SetConsumerPosition(store, "counter", 2501)
	}), ErrInvalid)
}

func TestAFollowerSeesEveryEventOnceAcrossLoops(t *testing.T) {
	_, store := openedStore(t, "s")
	_, err := store.Follow(1)
	wantError(t, err, ErrInvalid)
	follower, err := store.Follow(0)
	must(t, err)
	var producer sync.WaitGroup
	producer.Add(1)
	go func() {
		defer producer.Done()
		for n := range 300 {
			if _, err := store.Append(background, "a", AnyVersion, counted(n, n+1)...); err != nil {
				t.Error(err)
			}
		}
	}()
	next := uint64(0)
	for next < 300 {
		for event, err := range follower.All(background) {
			must(t, err)
			want(t, event.Position, next)
			want(t, string(event.Payload), fmt.Sprint(next))
			next++
			position, missed, err := follower.Position()
			must(t, err)
			want(t, position >= next && missed == 0, true)
			// The loop is left within batches.
			if next%7 == 0 || next == 300 {
				break
			}
		}
		position, _, err := follower.Position()
		must(t, err)
		want(t, position, next)
	}
	producer.Wait()
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = follower.Next(ctx)
	wantError(t, err, context.DeadlineExceeded)
	ended := make(chan error)
	go func() {
		_, err := follower.Next(background)
		ended <- err
	}()
	must(t, follower.Close())
	wantError(t, <-ended, ErrClosed)
	wantError(t, follower.Close(), ErrClosed)
}

func TestAPanicWithinALoopLosesNoEvents(t *testing.T) {
	_, store := openedStore(t, "s")
	_, err := store.Append(background, "a", AnyVersion, counted(0, 6)...)
	must(t, err)
	follower, err := store.Follow(0)
	must(t, err)
	func() {
		defer func() { want(t, fmt.Sprint(recover()), "planted") }()
		for event := range follower.All(background) {
			if event.Position == 2 {
				panic("planted")
			}
		}
	}()
	followed(t, follower, "345")
}

func followed(t testing.TB, follower *Follower, wanted string) {
	t.Helper()
	found := ""
	for event, err := range follower.All(background) {
		must(t, err)
		if found += fmt.Sprint(event.Position); len(found) == len(wanted) {
			break
		}
	}
	want(t, found, wanted)
}

func TestAFollowerOfAQueryPassesOtherEvents(t *testing.T) {
	_, store := openedStore(t, "s")
	paid := Query{{Types: []string{"paid"}}, {Tags: []string{"order:7"}}}
	_, err := store.FollowQuery(paid, 1)
	wantError(t, err, ErrInvalid)
	follower, err := store.FollowQuery(paid, 0)
	must(t, err)
	_, err = store.Append(background, "a", AnyVersion,
		NewEvent{Type: "placed"}, NewEvent{Type: "paid"}, NewEvent{Type: "sent", Tags: []string{"order:7"}},
		NewEvent{Type: "sent"})
	must(t, err)
	followed(t, follower, "12")
	wantError(t, follower.Acknowledge(2), ErrInvalid)
	must(t, follower.Close())
}

func TestOthersFollowAStoreThatIsServed(t *testing.T) {
	db, store := openedStore(t, "s")
	socket := filepath.Join(t.TempDir(), "s.sock")
	_, err := ConnectFollower(background, socket, nil, 0)
	wantError(t, err, ErrSocket)
	server, err := store.Serve(socket)
	must(t, err)
	_, err = store.Serve(socket)
	wantError(t, err, ErrSocket)
	placed := NewEvent{Type: "placed", Payload: []byte("3 apples"), ID: &[16]byte{7}, Tags: []string{"order:7"}}
	paid := NewEvent{Type: "paid"}
	_, err = store.Append(background, "a", AnyVersion, placed, paid, NewEvent{Type: "placed"}, paid)
	must(t, err)

	follower, err := ConnectFollower(background, socket, nil, 0)
	must(t, err)
	events, err := follower.Next(background)
	must(t, err)
	want(t, events[0].Stream+events[0].Type+string(events[0].Payload)+events[0].Tags[0], "aplaced3 applesorder:7")
	want(t, *events[0].ID, [16]byte{7})
	newest, err := ConnectFollower(background, socket, nil, math.MaxUint64)
	must(t, err)
	ahead, err := ConnectFollower(background, socket, nil, 9)
	must(t, err)
	_, err = ahead.Next(background)
	wantError(t, err, ErrInvalid)
	consumer, err := ConnectConsumer(background, socket, "mailer", Query{{Types: []string{"paid"}}})
	must(t, err)
	followed(t, consumer, "13")
	must(t, consumer.Acknowledge(2))
	wantError(t, consumer.Acknowledge(9), ErrInvalid)
	wantError(t, follower.Acknowledge(1), ErrInvalid)
	must(t, consumer.Close())
	wantError(t, consumer.Acknowledge(3), ErrClosed)
	count, err := server.Followers()
	must(t, err)
	want(t, count >= 2, true)

	// Finish sends all events, and stores what was acknowledged.
	_, err = store.Append(background, "a", AnyVersion, NewEvent{Type: "sent"})
	must(t, err)
	must(t, server.Finish(time.Minute))
	wantError(t, server.Close(), ErrClosed)
	followed(t, newest, "4")
	_, err = newest.Next(background)
	wantError(t, err, ErrSocket)
	must(t, db.View(func(txn *Txn) error {
		position, err := txn.ConsumerPosition(store, "mailer")
		want(t, position, 2)
		return err
	}))
}

func TestAConnectionEndsWithItsContext(t *testing.T) {
	// Nobody answers there.
	socket := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = ConnectConsumer(ctx, socket, "mailer", nil)
	wantError(t, err, context.DeadlineExceeded)
	_, err = ConnectFollower(ctx, socket, nil, 0)
	wantError(t, err, context.DeadlineExceeded)
}

func TestAStoreThatWasNeverOpenedIsClosed(t *testing.T) {
	db, _ := opened(t)
	var store *EventStore
	for _, missing := range []*EventStore{store, {}} {
		wantError(t, missing.Close(), ErrClosed)
		_, err := missing.Append(background, "a", AnyVersion)
		wantError(t, err, ErrClosed)
		wantError(t, lastError(missing.ReadAll(background, 0)), ErrClosed)
		_, err = missing.Fold(background, "c", nil)
		wantError(t, err, ErrClosed)
		_, err = missing.Follow(0)
		wantError(t, err, ErrClosed)
		_, err = missing.Serve("s.sock")
		wantError(t, err, ErrClosed)
		_, err = missing.AppendIf(background, nil, 0, StreamAppend{})
		wantError(t, err, ErrClosed)
		_, err = missing.StreamMetadata("a")
		wantError(t, err, ErrClosed)
		wantError(t, db.View(func(txn *Txn) error {
			_, err := txn.ConsumerPosition(missing, "c")
			return err
		}), ErrClosed)
	}
	var follower *Follower
	for _, missing := range []*Follower{follower, {}} {
		wantError(t, missing.Close(), ErrClosed)
		wantError(t, lastError(missing.All(background)), ErrClosed)
		wantError(t, missing.Acknowledge(0), ErrClosed)
		_, _, err := missing.Position()
		wantError(t, err, ErrClosed)
	}
	for _, missing := range []*Server{nil, {}} {
		wantError(t, missing.Close(), ErrClosed)
		_, err := missing.Followers()
		wantError(t, err, ErrClosed)
	}
	_, err := (*DB)(nil).Events(EventStoreOptions{})
	wantError(t, err, ErrClosed)
}
