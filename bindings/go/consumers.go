package fulgurite

/*
#include <stdlib.h>
#include <fulgurite.h>
*/
import "C"

import (
	"context"
	"iter"
	"runtime"
	"time"
)

// ConsumerPosition returns the position of a consumer: the first that it has not processed, or 0 if it has
// stored none. If another transaction stores the position meanwhile, Commit returns ErrConflict.
func (txn *Txn) ConsumerPosition(store *EventStore, consumer string) (uint64, error) {
	if store.isMissing() {
		return 0, ErrClosed
	}
	name, err := cText(consumer)
	if err != nil {
		return 0, err
	}
	defer free(name)
	defer runtime.KeepAlive(store)
	var position C.uint64_t
	err = txn.do(func(c C.fulgurite_txn) C.int {
		return C.fulgurite_get_consumer_position(c, store.c(), name, &position)
	})
	return uint64(position), err
}

// SetConsumerPosition stores the position of a consumer: the first that it has not processed. It is
// committed together with the other changes of the transaction.
func (txn *Txn) SetConsumerPosition(store *EventStore, consumer string, position uint64) error {
	if txn.isMissing() || store.isMissing() {
		return ErrClosed
	}
	name, err := cText(consumer)
	if err != nil {
		return err
	}
	defer free(name)
	defer runtime.KeepAlive(store)
	txn.handle.reading.Lock()
	defer txn.handle.reading.Unlock()
	return txn.do(func(c C.fulgurite_txn) C.int {
		return C.fulgurite_set_consumer_position(c, store.c(), name, C.uint64_t(position))
	})
}

// Fold calls fold with all events that a consumer has not processed, in batches, and stores the
// consumer's position in the same transaction. If fold makes its changes in this transaction, each event
// counts exactly once, also if the process is killed. Fold returns the number of events.
//
// After a conflict, fold is called again with the events of the batch, as by Update. So it should have no
// other effects.
func (s *EventStore) Fold(ctx context.Context, consumer string, fold func(*Txn, []Event) error) (uint64, error) {
	if s.isMissing() {
		return 0, ErrClosed
	}
	total := uint64(0)
	for {
		count := 0
		err := s.db.Update(ctx, func(txn *Txn) error {
			count = 0
			position, err := txn.ConsumerPosition(s, consumer)
			if err != nil {
				return err
			}
			events, err := s.some(ctx, position)
			if err != nil || len(events) == 0 {
				return err
			}
			if err := fold(txn, events); err != nil {
				return err
			}
			count = len(events)
			return txn.SetConsumerPosition(s, consumer, events[count-1].Position+1)
		})
		if err != nil || count == 0 {
			return total, err
		}
		total += uint64(count)
	}
}

// foldMax is the most events that a transaction of Fold has. They are those of the first seven batches
// of a cursor, so that all copied events are used.
const foldMax = batchFirst * (1<<7 - 1)

// some returns the next events from a position on.
func (s *EventStore) some(ctx context.Context, from uint64) ([]Event, error) {
	var events []Event
	for event, err := range s.ReadAll(ctx, from) {
		if err != nil {
			return nil, err
		}
		if events = append(events, event); len(events) == foldMax {
			break
		}
	}
	return events, nil
}

// Follower returns every event of a store once, in order, as soon as it has the store's durability; with a
// query, every event that matches.
type Follower struct {
	handle *handle
	// store is kept, because a collected database is closed. It is nil if another process has the store.
	store *EventStore
	// batch and rest are used while handle.reading is held.
	batch eventBatch
	// rest has the events that a loop has read and not consumed.
	rest []Event
}

// Follow follows the store from a position on. It sees what this process appends. The error is ErrInvalid
// if the position is above that of the next event.
func (s *EventStore) Follow(from uint64) (*Follower, error) {
	return s.FollowQuery(nil, from)
}

// FollowQuery is Follow for the events that match a query. The follower reads the other events too, and
// passes them.
func (s *EventStore) FollowQuery(query Query, from uint64) (*Follower, error) {
	if s.isMissing() {
		return nil, ErrClosed
	}
	defer runtime.KeepAlive(s)
	packed := packQuery(query)
	return newFollower(s, func(c *C.fulgurite_follower) C.int {
		return packed.with(func(items *C.fulgurite_query_item, count C.size_t) C.int {
			return C.fulgurite_follow_query(s.c(), items, count, C.uint64_t(from), c)
		})
	})
}

// ConnectFollower follows the store that another process serves at a Unix socket (EventStore.Serve, or
// `fulgurite events append --serve`), from a position on. math.MaxUint64 is the position of the next event.
// The other process sends only events that match the query; nil matches every event. The error is ErrSocket
// if no process serves there.
//
// Next and All return ErrInvalid if the position is above that of the next event: it is another store, or a
// power cut has lost events. They return ErrSocket if the other process ends: connect again at Position.
// Both processes must have the same version of the library.
func ConnectFollower(ctx context.Context, socket string, query Query, from uint64) (*Follower, error) {
	return connect(ctx, socket, "", query, func(to remote, c *C.fulgurite_follower) C.int {
		return C.fulgurite_connect_follower(to.socket, to.items, to.count, C.uint64_t(from), c)
	})
}

// ConnectConsumer is ConnectFollower as a consumer: from the position on that the other store has for this
// name, or from the first event. Acknowledge raises this position, so the consumer receives each event at
// least once. The error is ErrInvalid if another connection has the name. Do not use the name of a view.
func ConnectConsumer(ctx context.Context, socket, consumer string, query Query) (*Follower, error) {
	return connect(ctx, socket, consumer, query, func(to remote, c *C.fulgurite_follower) C.int {
		return C.fulgurite_connect_consumer(to.socket, to.consumer, to.items, to.count, c)
	})
}

// newFollower makes a follower of what a function opens.
func newFollower(store *EventStore, open func(*C.fulgurite_follower) C.int) (*Follower, error) {
	var c C.fulgurite_follower
	if err := call(func() C.int { return open(&c) }); err != nil {
		return nil, err
	}
	follower := &Follower{store: store}
	follower.handle = newHandle(follower, uint64(c.id), func(id uint64) {
		C.fulgurite_close_follower(C.fulgurite_follower{id: C.uint64_t(id)})
	})
	return follower, nil
}

// remote is what a follower of another process connects to, as C has it.
type remote struct {
	socket, consumer *C.char
	items            *C.fulgurite_query_item
	count            C.size_t
}

// connect opens a follower of another process on a goroutine. If the context ends first, the follower is closed
// when it has connected: the name of a consumer is free again then.
func connect(
	ctx context.Context, socket, consumer string, query Query, open func(remote, *C.fulgurite_follower) C.int,
) (*Follower, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type opened struct {
		follower *Follower
		err      error
	}
	packed := packQuery(query)
	done := make(chan opened, 1)
	go func() {
		follower, err := openRemote(socket, consumer, packed, open)
		done <- opened{follower, err}
	}()
	select {
	case result := <-done:
		return result.follower, result.err
	case <-ctx.Done():
		go func() { _ = (<-done).follower.Close() }()
		return nil, ctx.Err()
	}
}

func openRemote(
	socket, consumer string, packed *packedQuery, open func(remote, *C.fulgurite_follower) C.int,
) (*Follower, error) {
	path, err := cText(socket)
	if err != nil {
		return nil, err
	}
	defer free(path)
	name, err := cText(consumer)
	if err != nil {
		return nil, err
	}
	defer free(name)
	return newFollower(nil, func(c *C.fulgurite_follower) C.int {
		return packed.with(func(items *C.fulgurite_query_item, count C.size_t) C.int {
			return open(remote{path, name, items, count}, c)
		})
	})
}

func (f *Follower) isMissing() bool {
	return f == nil || f.handle == nil
}

func (f *Follower) c() C.fulgurite_follower {
	return C.fulgurite_follower{id: C.uint64_t(f.handle.id)}
}

// Close ends the follower. Calls that wait return ErrClosed soon. The second call returns ErrClosed.
func (f *Follower) Close() error {
	if f.isMissing() || !f.handle.take() {
		return ErrClosed
	}
	f.handle.cleanup.Stop()
	defer runtime.KeepAlive(f)
	f.handle.reading.Lock()
	defer f.handle.reading.Unlock()
	f.rest = nil
	return call(func() C.int { return C.fulgurite_close_follower(f.c()) })
}

// Next returns the next events, at least one. It waits for them until the context ends, and returns the
// error of the context then.
func (f *Follower) Next(ctx context.Context) ([]Event, error) {
	if f.isMissing() {
		return nil, ErrClosed
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		events, err := f.poll()
		if len(events) > 0 || err != nil {
			return events, err
		}
	}
}

// poll returns the next events. If there are none, it waits briefly.
func (f *Follower) poll() ([]Event, error) {
	defer runtime.KeepAlive(f)
	f.handle.reading.Lock()
	defer f.handle.reading.Unlock()
	if f.handle.closed.Load() {
		return nil, ErrClosed
	}
	if rest := f.rest; len(rest) > 0 {
		f.rest = nil
		return rest, nil
	}
	return f.batch.read(batchMax, func(places *C.fulgurite_event, capacity C.size_t, count *C.size_t) C.int {
		return C.fulgurite_poll_events(f.c(), C.uint64_t(waitSlice.Milliseconds()), places, capacity, count)
	})
}

// All iterates over the next events, and waits for further ones until the context ends. An error is the
// last pair, such as that of the context. If the loop is left, also by a panic, the next call continues after
// the last event that the loop has received.
func (f *Follower) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			events, err := f.Next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !f.pass(events, yield) {
				return
			}
		}
	}
}

// pass passes events to a loop, and reports whether the loop continues. If the loop is left, also by a panic, the
// events that it has not received are kept for the next call.
func (f *Follower) pass(events []Event, yield func(Event, error) bool) bool {
	passed := 0
	defer func() {
		if passed < len(events) {
			f.handle.reading.Lock()
			defer f.handle.reading.Unlock()
			f.rest = append(events[passed:], f.rest...)
		}
	}()
	for _, event := range events {
		passed++
		if !yield(event, nil) {
			return false
		}
	}
	return true
}

// Position returns the position of the next event, to continue there later, and how many positions were
// skipped because their events had been removed from the log. Within a loop over All, the next event is the
// one after those that the loop has read ahead.
func (f *Follower) Position() (next, missed uint64, err error) {
	if f.isMissing() {
		return 0, 0, ErrClosed
	}
	defer runtime.KeepAlive(f)
	f.handle.reading.Lock()
	defer f.handle.reading.Unlock()
	var position, skipped C.uint64_t
	err = call(func() C.int { return C.fulgurite_follower_position(f.c(), &position, &skipped) })
	if len(f.rest) > 0 {
		return f.rest[0].Position, uint64(skipped), err
	}
	return uint64(position), uint64(skipped), err
}

// Acknowledge says that a consumer (ConnectConsumer) has processed all events before a position, such as the
// one after the last event of a loop. The other process stores the position, and the consumer begins there
// when it connects again. A position that is not above those before changes nothing.
//
// It returns before the position is stored: if one of the processes ends then, the consumer may receive
// these events again.
func (f *Follower) Acknowledge(position uint64) error {
	if f.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(f)
	f.handle.reading.Lock()
	defer f.handle.reading.Unlock()
	if f.handle.closed.Load() {
		return ErrClosed
	}
	if f.store != nil {
		return invalid("only a follower of ConnectConsumer can acknowledge; to store the position of a consumer of " +
			"this process, use SetConsumerPosition")
	}
	return call(func() C.int { return C.fulgurite_acknowledge_events(f.c(), C.uint64_t(position)) })
}

// Server serves the events of a store to followers in other processes, until it is closed.
type Server struct {
	handle *handle
	// store is kept, because a collected database is closed.
	store *EventStore
}

// Serve serves the events of the store at a Unix socket. Other processes follow by ConnectFollower, or in
// other languages. The socket's file is created, and removed by Close. An empty file beside it, whose name
// ends in .lock, stays. The error is ErrSocket if the path has a file that is not a socket, or another process
// serves there.
//
// Every process that may open the socket's file can read all events, and raise the positions of all
// consumers. Close the server before the database.
func (s *EventStore) Serve(socket string) (*Server, error) {
	path, err := cText(socket)
	if err != nil {
		return nil, err
	}
	defer free(path)
	var c C.fulgurite_event_server
	err = s.do(func(store C.fulgurite_event_store) C.int { return C.fulgurite_serve_events(store, path, &c) })
	if err != nil {
		return nil, err
	}
	server := &Server{store: s}
	server.handle = newHandle(server, uint64(c.id), func(id uint64) {
		C.fulgurite_close_event_server(C.fulgurite_event_server{id: C.uint64_t(id)}, 0)
	})
	return server, nil
}

func (s *Server) isMissing() bool {
	return s == nil || s.handle == nil
}

func (s *Server) c() C.fulgurite_event_server {
	return C.fulgurite_event_server{id: C.uint64_t(s.handle.id)}
}

// Followers returns how many followers are connected.
func (s *Server) Followers() (int, error) {
	if s.isMissing() {
		return 0, ErrClosed
	}
	defer runtime.KeepAlive(s)
	var count C.size_t
	err := call(func() C.int { return C.fulgurite_server_followers(s.c(), &count) })
	return int(count), err
}

// Close ends the server at once. Followers may lack the last events. The second call returns ErrClosed.
func (s *Server) Close() error {
	return s.Finish(0)
}

// Finish is Close, but first sends all events that there are to the followers that are connected, for the
// given time at most.
func (s *Server) Finish(wait time.Duration) error {
	if s.isMissing() || !s.handle.take() {
		return ErrClosed
	}
	s.handle.cleanup.Stop()
	defer runtime.KeepAlive(s)
	timeout := C.uint64_t(max(wait.Milliseconds(), 0))
	return call(func() C.int { return C.fulgurite_close_event_server(s.c(), timeout) })
}
