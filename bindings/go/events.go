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
	"unsafe"
)

// Expected is the version that the last event of a stream must have for an append to succeed, or one of
// the constants below.
type Expected int64

const (
	// AnyVersion expects nothing: the stream need not exist.
	AnyVersion Expected = C.FULGURITE_ANY_VERSION
	// NoStream expects that the stream does not exist, or was deleted.
	NoStream Expected = C.FULGURITE_NO_STREAM
	// StreamExists expects that the stream exists.
	StreamExists Expected = C.FULGURITE_STREAM_EXISTS
)

func (e Expected) check() error {
	if e < StreamExists {
		return invalid("%d is neither a version nor AnyVersion, NoStream or StreamExists", int64(e))
	}
	return nil
}

// NewEvent is an event to append.
type NewEvent struct {
	// Type is the name of its type: 1 to 255 bytes.
	Type string
	// Payload is what happened, in the program's encoding.
	Payload []byte
	// Metadata is what belongs to the event but not to what happened, such as the user.
	Metadata []byte
	// ID is its id, by which a repeated append is recognised; nil for none.
	ID *[16]byte
	// Schema is the version of the schema of its type.
	Schema uint32
	// Tags are what queries may ask for, such as order:7. Each has 1 to 65,535 bytes.
	Tags []string
}

// StreamAppend has the events to append to one stream.
type StreamAppend struct {
	Stream   string
	Expected Expected
	Events   []NewEvent
}

// QueryItem is a part of a Query. An event matches it if the event has one of the types and all of the
// tags, and is in one of the streams. What is empty matches all.
type QueryItem struct {
	Types, Tags, Streams []string
}

// Query says which events: those that match at least one of its items. An empty query matches every
// event.
type Query []QueryItem

// Appended says where the events of an append are.
type Appended struct {
	// Position and Version are those of the first event.
	Position, Version uint64
	// Count is the number of events.
	Count uint64
	// Repeated says that an earlier append had written the same events, so that this one wrote nothing.
	Repeated bool
}

// Event is an event that was read. Its bytes are copies.
type Event struct {
	// Position is its position in the log of all events: 0, 1, 2, ... in the order of commits.
	Position uint64
	// Version is its version in its stream: 0, 1, 2, ...
	Version uint64
	// Time is when it was appended. It is never before that of the previous event.
	Time time.Time
	// Stream is the name of its stream.
	Stream string
	// NewEvent is what was appended.
	NewEvent
}

// EventStoreOptions are those of Events. The zero value has the defaults.
type EventStoreOptions struct {
	// Name is the name of the store; empty for "events". A database can have several stores.
	Name string
	// Durability is what an append survives when it returns. The default is Disk.
	Durability Durability
	// IDWindow is the number of newest events whose IDs are recognised. The default is 65,536.
	IDWindow uint64
}

// EventStore is a store of events in a database: streams, and one log of all events.
type EventStore struct {
	handle *handle
	// db is kept, because a collected database is closed.
	db *DB
}

// Events opens an event store of the database, and creates it if the database has no store of the name.
// Several openings of a store must have the same options.
func (db *DB) Events(options EventStoreOptions) (*EventStore, error) {
	given := C.fulgurite_event_store_options{
		size:       C.sizeof_fulgurite_event_store_options,
		durability: C.uint32_t(options.Durability),
		id_window:  C.uint64_t(options.IDWindow),
	}
	if options.Name != "" {
		name, err := cText(options.Name)
		if err != nil {
			return nil, err
		}
		defer free(name)
		given.name = name
	}
	var c C.fulgurite_event_store
	err := db.do(func(d C.fulgurite_database) C.int { return C.fulgurite_open_event_store(d, &given, &c) })
	if err != nil {
		return nil, err
	}
	store := &EventStore{db: db}
	store.handle = newHandle(store, uint64(c.id), func(id uint64) {
		C.fulgurite_close_event_store(C.fulgurite_event_store{id: C.uint64_t(id)})
	})
	return store, nil
}

func (s *EventStore) isMissing() bool {
	return s == nil || s.handle == nil
}

func (s *EventStore) c() C.fulgurite_event_store {
	return C.fulgurite_event_store{id: C.uint64_t(s.handle.id)}
}

func (s *EventStore) do(run func(C.fulgurite_event_store) C.int) error {
	if s.isMissing() {
		return ErrClosed
	}
	defer runtime.KeepAlive(s)
	return call(func() C.int { return run(s.c()) })
}

// Close closes the handle; the store and its followers remain. It need not be called. The second call
// returns ErrClosed.
func (s *EventStore) Close() error {
	if s.isMissing() || !s.handle.take() {
		return ErrClosed
	}
	s.handle.cleanup.Stop()
	return s.do(func(c C.fulgurite_event_store) C.int { return C.fulgurite_close_event_store(c) })
}

// Append appends events to a stream, all of them or none. The error is ErrWrongVersion if the stream does
// not have the expected version.
//
// If the events have IDs, and the stream has the same IDs in this order already, nothing is appended, and
// Repeated is true. If the context ends first, its error is returned, and the events may be appended all
// the same: append them again with the same IDs.
func (s *EventStore) Append(
	ctx context.Context, stream string, expected Expected, events ...NewEvent,
) (Appended, error) {
	appended, err := s.AppendAll(ctx, StreamAppend{Stream: stream, Expected: expected, Events: events})
	if err != nil {
		return Appended{}, err
	}
	return appended[0], nil
}

// AppendAll is Append for several streams in one transaction: all events or none.
func (s *EventStore) AppendAll(ctx context.Context, appends ...StreamAppend) ([]Appended, error) {
	for _, a := range appends {
		if err := a.Expected.check(); err != nil {
			return nil, err
		}
	}
	packed := packAppends(appends)
	if err := inBackground(ctx, func() error { return s.append(packed) }); err != nil {
		return nil, err
	}
	appended := make([]Appended, len(packed.found))
	for i, c := range packed.found {
		appended[i] = appendedOf(c)
	}
	return appended, nil
}

// AppendIf is Append, unless an event at the position from or after it matches a query: the error is
// ErrConditionFailed then. From is the first position that the caller had not read when it decided, such
// as the one after the last event of ReadQuery. A repeated append is recognised before the query is tried.
func (s *EventStore) AppendIf(ctx context.Context, unless Query, from uint64, events StreamAppend) (Appended, error) {
	if err := events.Expected.check(); err != nil {
		return Appended{}, err
	}
	packed, query := packAppends([]StreamAppend{events}), packQuery(unless)
	if err := inBackground(ctx, func() error { return s.appendIf(query, from, packed) }); err != nil {
		return Appended{}, err
	}
	return appendedOf(packed.found[0]), nil
}

func appendedOf(c C.fulgurite_appended) Appended {
	return Appended{
		Position: uint64(c.position), Version: uint64(c.version), Count: uint64(c.count), Repeated: bool(c.repeated),
	}
}

// packedParts has copies of byte strings, and of lists of them, in the form that the library reads. There
// is capacity for all, so what was added before does not move.
type packedParts struct {
	bytes  []byte
	slices []C.fulgurite_slice
}

func packParts(bytes, slices int) packedParts {
	return packedParts{bytes: make([]byte, 0, bytes+1), slices: make([]C.fulgurite_slice, 0, slices+1)}
}

// add adds a byte string.
func (p *packedParts) add(part []byte) C.fulgurite_slice {
	if len(part) == 0 {
		return C.fulgurite_slice{}
	}
	at := len(p.bytes)
	p.bytes = append(p.bytes, part...)
	return C.fulgurite_slice{data: (*C.uint8_t)(unsafe.Pointer(&p.bytes[at])), length: size(part)}
}

// addAll adds a list of texts.
func (p *packedParts) addAll(texts []string) (*C.fulgurite_slice, C.size_t) {
	if len(texts) == 0 {
		return nil, 0
	}
	at := len(p.slices)
	for _, text := range texts {
		p.slices = append(p.slices, p.add([]byte(text)))
	}
	return &p.slices[at], C.size_t(len(texts))
}

// pin keeps both where they are: the library gets memory of Go that has pointers to them.
func (p *packedParts) pin(pinner *runtime.Pinner) {
	pinner.Pin(unsafe.SliceData(p.bytes))
	pinner.Pin(unsafe.SliceData(p.slices))
}

func lengthOf(texts []string) int {
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	return total
}

// packedAppends has copies of appends. The caller may change what it has passed when its context has ended.
type packedAppends struct {
	packedParts
	events []C.fulgurite_new_event
	calls  []C.fulgurite_stream_append
	found  []C.fulgurite_appended
}

func packAppends(appends []StreamAppend) *packedAppends {
	bytes, count, tags := 0, 1, 0
	for _, a := range appends {
		bytes += len(a.Stream)
		count += len(a.Events)
		for _, e := range a.Events {
			bytes += len(e.Type) + len(e.Payload) + len(e.Metadata) + len(e.ID) + lengthOf(e.Tags)
			tags += len(e.Tags)
		}
	}
	p := &packedAppends{
		packedParts: packParts(bytes, tags),
		events:      make([]C.fulgurite_new_event, 0, count),
		calls:       make([]C.fulgurite_stream_append, len(appends)),
		found:       make([]C.fulgurite_appended, len(appends)),
	}
	for i, a := range appends {
		first := len(p.events)
		for _, e := range a.Events {
			event := C.fulgurite_new_event{
				kind: p.add([]byte(e.Type)), payload: p.add(e.Payload), metadata: p.add(e.Metadata),
				schema: C.uint32_t(e.Schema),
			}
			if e.ID != nil {
				event.id = p.add(e.ID[:]).data
			}
			event.tags, event.tag_count = p.addAll(e.Tags)
			p.events = append(p.events, event)
		}
		p.calls[i] = C.fulgurite_stream_append{
			stream: p.add([]byte(a.Stream)), expected: C.int64_t(a.Expected), event_count: C.size_t(len(a.Events)),
		}
		if len(a.Events) > 0 {
			p.calls[i].events = &p.events[first]
		}
	}
	return p
}

func (p *packedAppends) pin(pinner *runtime.Pinner) {
	p.packedParts.pin(pinner)
	pinner.Pin(unsafe.SliceData(p.events))
}

// packedQuery has copies of the parts of a query.
type packedQuery struct {
	packedParts
	items []C.fulgurite_query_item
}

func packQuery(query Query) *packedQuery {
	bytes, texts := 0, 0
	for _, item := range query {
		for _, part := range [][]string{item.Types, item.Tags, item.Streams} {
			bytes += lengthOf(part)
			texts += len(part)
		}
	}
	p := &packedQuery{packedParts: packParts(bytes, texts), items: make([]C.fulgurite_query_item, len(query))}
	for i, item := range query {
		c := &p.items[i]
		c.kinds, c.kind_count = p.addAll(item.Types)
		c.tags, c.tag_count = p.addAll(item.Tags)
		c.streams, c.stream_count = p.addAll(item.Streams)
	}
	return p
}

// with calls the library with the items of the query.
func (p *packedQuery) with(run func(items *C.fulgurite_query_item, count C.size_t) C.int) C.int {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	p.pin(&pinner)
	return run(unsafe.SliceData(p.items), C.size_t(len(p.items)))
}

func (s *EventStore) appendIf(query *packedQuery, from uint64, p *packedAppends) error {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	query.pin(&pinner)
	p.pin(&pinner)
	return s.do(func(c C.fulgurite_event_store) C.int {
		items, count := unsafe.SliceData(query.items), C.size_t(len(query.items))
		return C.fulgurite_append_if(c, items, count, C.uint64_t(from), &p.calls[0], &p.found[0])
	})
}

func (s *EventStore) append(p *packedAppends) error {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	p.pin(&pinner)
	return s.do(func(c C.fulgurite_event_store) C.int {
		return C.fulgurite_append_to_streams(
			c, unsafe.SliceData(p.calls), C.size_t(len(p.calls)), unsafe.SliceData(p.found))
	})
}

// Positions returns the first position that the log has, which is not 0 after events were removed, and
// the position that the next event gets.
func (s *EventStore) Positions() (first, next uint64, err error) {
	var start, head C.uint64_t
	err = s.do(func(c C.fulgurite_event_store) C.int { return C.fulgurite_event_positions(c, &start, &head) })
	return uint64(start), uint64(head), err
}

// Versions returns the first version that can be read of a stream, and the version that its next event
// gets. The error is ErrStreamNotFound if there is no such stream, or it was deleted.
func (s *EventStore) Versions(stream string) (first, next uint64, err error) {
	name := []byte(stream)
	var start, head C.uint64_t
	err = s.do(func(c C.fulgurite_event_store) C.int {
		return C.fulgurite_stream_versions(c, pointer(name), size(name), &start, &head)
	})
	return uint64(start), uint64(head), err
}

// ReadStream iterates over the events of a stream from a version on. They are those that there are when
// the loop begins. An error is the last pair; it is ErrStreamNotFound if there is no such stream.
func (s *EventStore) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[Event, error] {
	return s.readStream(ctx, stream, from, false)
}

// ReadStreamReverse is ReadStream over the events before a version, the newest first. math.MaxUint64 is
// after the newest one.
func (s *EventStore) ReadStreamReverse(ctx context.Context, stream string, before uint64) iter.Seq2[Event, error] {
	return s.readStream(ctx, stream, before, true)
}

// ReadAll iterates over all events from a position on, as ReadStream.
func (s *EventStore) ReadAll(ctx context.Context, from uint64) iter.Seq2[Event, error] {
	return s.readAll(ctx, from, false)
}

// ReadAllReverse is ReadAll over the events before a position, the newest first.
func (s *EventStore) ReadAllReverse(ctx context.Context, before uint64) iter.Seq2[Event, error] {
	return s.readAll(ctx, before, true)
}

// ReadQuery iterates over the events that match a query, from a position on, as ReadAll. Indexes find
// them.
func (s *EventStore) ReadQuery(ctx context.Context, query Query, from uint64) iter.Seq2[Event, error] {
	return s.readQuery(ctx, query, from, false)
}

// ReadQueryReverse is ReadQuery over the events before a position, the newest first.
func (s *EventStore) ReadQueryReverse(ctx context.Context, query Query, before uint64) iter.Seq2[Event, error] {
	return s.readQuery(ctx, query, before, true)
}

// opening opens a cursor of a store.
type opening func(C.fulgurite_event_store, *C.fulgurite_event_cursor) C.int

func (s *EventStore) readStream(ctx context.Context, stream string, from uint64, reverse bool) iter.Seq2[Event, error] {
	name := []byte(stream)
	return s.read(ctx, func(c C.fulgurite_event_store, cursor *C.fulgurite_event_cursor) C.int {
		return C.fulgurite_read_stream(c, pointer(name), size(name), C.uint64_t(from), C.bool(reverse), cursor)
	})
}

func (s *EventStore) readAll(ctx context.Context, from uint64, reverse bool) iter.Seq2[Event, error] {
	return s.read(ctx, func(c C.fulgurite_event_store, cursor *C.fulgurite_event_cursor) C.int {
		return C.fulgurite_read_log(c, C.uint64_t(from), C.bool(reverse), cursor)
	})
}

func (s *EventStore) readQuery(ctx context.Context, query Query, from uint64, reverse bool) iter.Seq2[Event, error] {
	packed := packQuery(query)
	return s.read(ctx, func(c C.fulgurite_event_store, cursor *C.fulgurite_event_cursor) C.int {
		return packed.with(func(items *C.fulgurite_query_item, count C.size_t) C.int {
			return C.fulgurite_read_query(c, items, count, C.uint64_t(from), C.bool(reverse), cursor)
		})
	})
}

// read iterates over the events of a cursor. It calls the library once for each batch.
func (s *EventStore) read(ctx context.Context, open opening) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var cursor C.fulgurite_event_cursor
		if err := s.do(func(c C.fulgurite_event_store) C.int { return open(c, &cursor) }); err != nil {
			yield(Event{}, err)
			return
		}
		defer C.fulgurite_close_event_cursor(cursor)
		var batch eventBatch
		for most := batchFirst; ; most = min(2*most, batchMax) {
			if err := ctx.Err(); err != nil {
				yield(Event{}, err)
				return
			}
			events, err := batch.read(most, func(places *C.fulgurite_event, capacity C.size_t, count *C.size_t) C.int {
				return C.fulgurite_read_events(cursor, places, capacity, count)
			})
			if err != nil {
				yield(Event{}, err)
				return
			}
			if len(events) == 0 {
				return
			}
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// eventBatch copies batches of events.
type eventBatch struct {
	places []C.fulgurite_event
	// stream and kind are the names of the last event. The next event often has the same names.
	stream, kind string
}

// read calls the library for up to most events, and copies them.
func (b *eventBatch) read(
	most int, run func(places *C.fulgurite_event, capacity C.size_t, count *C.size_t) C.int,
) ([]Event, error) {
	if len(b.places) < most {
		b.places = make([]C.fulgurite_event, most)
	}
	var count C.size_t
	err := call(func() C.int { return run(unsafe.SliceData(b.places), C.size_t(most), &count) })
	if err != nil {
		return nil, err
	}
	events := make([]Event, count)
	for i := range events {
		c := &b.places[i]
		event := &events[i]
		event.Position, event.Version = uint64(c.position), uint64(c.version)
		event.Time = time.UnixMicro(int64(c.time_us))
		event.Stream, event.Type = named(&b.stream, c.stream), named(&b.kind, c.kind)
		event.Payload, event.Metadata = copied(c.payload), copied(c.metadata)
		event.Schema = uint32(c.schema)
		for _, tag := range unsafe.Slice(c.tags, int(c.tag_count)) {
			event.Tags = append(event.Tags, string(copied(tag)))
		}
		if c.id != nil {
			event.ID = new([16]byte)
			copy(event.ID[:], unsafe.Slice((*byte)(unsafe.Pointer(c.id)), 16))
		}
	}
	// The places point to memory of the library, which is not valid after the next call.
	clear(b.places[:count])
	return events, nil
}

// named returns a name. If it is the same as the last one, it is not copied.
func named(last *string, name C.fulgurite_slice) string {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(name.data)), int(name.length))
	if string(bytes) != *last {
		*last = string(bytes)
	}
	return *last
}
