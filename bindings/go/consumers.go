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

// Follower returns every event of a store once, in order, as soon as it has the store's durability.
type Follower struct {
	handle *handle
	store  *EventStore
	// batch and rest are used while handle.reading is held.
	batch eventBatch
	// rest has the events that a loop has read and not consumed.
	rest []Event
}

// Follow follows the store from a position on. It sees what this process appends. The error is ErrInvalid
// if the position is above that of the next event.
func (s *EventStore) Follow(from uint64) (*Follower, error) {
	var c C.fulgurite_follower
	err := s.do(func(store C.fulgurite_event_store) C.int {
		return C.fulgurite_follow_events(store, C.uint64_t(from), &c)
	})
	if err != nil {
		return nil, err
	}
	follower := &Follower{store: s}
	follower.handle = newHandle(follower, uint64(c.id), func(id uint64) {
		C.fulgurite_close_follower(C.fulgurite_follower{id: C.uint64_t(id)})
	})
	return follower, nil
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
// last pair, such as that of the context. If the loop is left, the next call continues with the event
// after it.
func (f *Follower) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			events, err := f.Next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for i, event := range events {
				if !yield(event, nil) {
					f.keep(events[i+1:])
					return
				}
			}
		}
	}
}

// keep keeps events for the next call.
func (f *Follower) keep(events []Event) {
	f.handle.reading.Lock()
	defer f.handle.reading.Unlock()
	f.rest = append(events, f.rest...)
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
