//! Many threads record one history.

use std::sync::Mutex;

use super::*;

/// A counter in a list and a register, behind one lock, from four threads.
#[test]
fn threads_that_take_turns_record_a_strictly_serializable_history() {
    let clock = Clock::default();
    let content = Mutex::new(Content::default());
    let run = |process: u32| {
        let mut recorder = Recorder::new(&clock, Process(process));
        for number in 0..100 {
            let mine = u64::from(process) * 1000 + number;
            let mut running = recorder.begin();
            let mut content = content.lock().expect("nobody panicked");
            let snapshot = content.lists.get(&Key(1)).map_or(0, Vec::len) as u64;
            running.set_snapshot(Sequence(snapshot));
            running.add(Operation::ReadList {
                key: Key(1),
                elements: content.lists.get(&Key(1)).cloned().unwrap_or_default(),
            });
            running.add(Operation::Read { key: Key(2), value: content.registers.get(&Key(2)).copied() });
            running.add(Operation::Append { key: Key(1), element: Value(mine) });
            running.add(Operation::Write { key: Key(2), value: Value(mine) });
            content.lists.entry(Key(1)).or_default().push(Value(mine));
            content.registers.insert(Key(2), Value(mine));
            drop(content);
            running.set_durability(Durability::Memory);
            running.end(Outcome::Committed, Some(Sequence(snapshot + 1)));
        }
        recorder.finish()
    };
    let transactions = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|process| scope.spawn(move || run(process))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it ran")).collect::<Vec<_>>()
    });
    let end = content.into_inner().expect("nobody panicked");
    let mut history = History { initial: Content::default(), transactions, end: End::Closed(end) };
    let options = Options { sessions: true, ..Options::new(Level::StrictSerializable) };
    let report = check(&history, &options).expect("it follows the rules");
    assert!(report.is_sound(), "{report}");
    assert_eq!(report.transactions, 400);
    // The same history with one answer falsified.
    let falsified = history.transactions[150].operations.first_mut().expect("it has four");
    let Operation::ReadList { elements, .. } = falsified else { panic!("the first one is a read: {falsified}") };
    if elements.pop().is_none() {
        elements.push(Value(0));
    }
    assert!(!check(&history, &options).expect("it follows the rules").is_sound());
}
