//! What a crash may leave.

use super::AnomalyKind::*;
use super::*;

fn kinds(sketch: &Sketch) -> Vec<AnomalyKind> {
    assert_eq!(sketch.kinds_at(Level::SnapshotIsolation), sketch.kinds_at(Level::StrictSerializable));
    sketch.kinds()
}

/// Three commits, one after the other. Each appends to a list and writes a register.
fn three(levels: [Durability; 3]) -> Sketch {
    (0..3).fold(Sketch::default(), |sketch, number| {
        sketch
            .committed(&[append(1, number), write(number, number + 50)])
            .numbered(number, number + 1)
            .at(number * 10, number * 10 + 5)
            .durable(levels[number as usize])
    })
}

/// What is there after so many of them.
fn after(count: u64) -> Content {
    let elements: Vec<u64> = (0..count).collect();
    let registers: Vec<(u64, u64)> = (0..count).map(|number| (number, number + 50)).collect();
    if count == 0 { Content::default() } else { content(&[(1, &elements)], &registers) }
}

#[test]
fn a_crash_may_take_what_was_not_to_survive_it() {
    use Durability::{Disk, Log, Memory};
    for count in 0..=3 {
        assert_eq!(kinds(&three([Memory; 3]).crashed(after(count), Log)), []);
        assert_eq!(kinds(&three([Log; 3]).crashed(after(count), Disk)), []);
        assert_eq!(kinds(&three([Memory, Log, Memory]).crashed(after(count), Disk)), []);
        let expected = if count < 2 { vec![LostDurable] } else { vec![] };
        assert_eq!(kinds(&three([Memory, Disk, Log]).crashed(after(count), Disk)), expected);
        assert_eq!(kinds(&three([Memory, Log, Memory]).crashed(after(count), Log)), expected);
    }
}

#[test]
fn a_crash_must_not_take_what_was_synced() {
    for (synced, expected) in [(20, vec![LostDurable]), (15, vec![]), (16, vec![LostDurable])] {
        let mut sketch = three([Durability::Memory; 3]).crashed(after(1), Durability::Disk);
        let End::Crashed { synced: moment, .. } = &mut sketch.history.end else { unreachable!("it was crashed") };
        *moment = Some(Tick(synced));
        assert_eq!(kinds(&sketch), expected, "{synced}");
    }
}

#[test]
fn a_part_of_a_commit_must_not_survive() {
    let half = content(&[(1, &[0, 1])], &[(0, 50)]);
    assert_eq!(kinds(&three([Durability::Memory; 3]).crashed(half, Durability::Disk)), [FracturedCommit]);
}

#[test]
fn what_survives_must_be_a_prefix() {
    // The second commit is gone, and the third one is there: seen by sequences, by real time, and by dependencies.
    let sketch = |dependent: bool| {
        let third = if dependent { vec![read(2, 20), write(3, 30)] } else { vec![write(3, 30)] };
        Sketch::default()
            .committed(&[write(1, 10)])
            .committed(&[write(2, 20)])
            .committed(&third)
            .crashed(content(&[], &[(1, 10), (3, 30)]), Durability::Log)
    };
    let memory = |mut sketch: Sketch| {
        for transaction in &mut sketch.history.transactions {
            transaction.durability = Durability::Memory;
        }
        sketch
    };
    assert_eq!(kinds(&memory(sketch(false))), []);
    assert_eq!(kinds(&memory(sketch(true))), [NonPrefix]);
    let mut timed = memory(sketch(false));
    timed.history.transactions[1].end = Tick(10);
    timed.history.transactions[2].begin = Tick(11);
    assert_eq!(kinds(&timed), [NonPrefix]);
    timed.history.transactions[2].begin = Tick(10);
    assert_eq!(kinds(&timed), []);
    let mut numbered = memory(sketch(false));
    for (number, transaction) in (1..).zip(&mut numbered.history.transactions) {
        transaction.sequence = Some(Sequence(number));
    }
    assert_eq!(kinds(&numbered), [NonPrefix]);
}

#[test]
fn a_dependency_through_one_that_left_no_trace_counts() {
    // T1 depends on T0, which is lost, and was itself replaced by T2, which survived.
    let sketch = Sketch::default()
        .register(2, 2)
        .committed(&[write(1, 10)])
        .durable(Durability::Memory)
        .committed(&[read(1, 10), read(2, 2), write(2, 20)])
        .durable(Durability::Memory)
        .committed(&[read(2, 20), write(2, 21)])
        .durable(Durability::Memory)
        .crashed(content(&[], &[(2, 21)]), Durability::Log);
    assert_eq!(kinds(&sketch), [NonPrefix]);
}

#[test]
fn commits_in_doubt_may_survive_or_not_but_whole() {
    let sketch = three([Durability::Disk; 3]).add(Outcome::Indeterminate, &[append(1, 3), write(3, 53)]).at(40, 50);
    assert_eq!(kinds(&sketch.clone().crashed(after(3), Durability::Disk)), []);
    assert_eq!(kinds(&sketch.clone().crashed(after(4), Durability::Disk)), []);
    let mut half = after(4);
    half.registers.remove(&Key(3));
    assert_eq!(kinds(&sketch.clone().crashed(half, Durability::Disk)), [FracturedCommit]);
    let mut hole = after(4);
    hole.registers.remove(&Key(2));
    hole.lists.insert(Key(1), values(&[0, 1, 3]));
    let found = kinds(&sketch.crashed(hole, Durability::Disk));
    assert!(found.contains(&LostDurable) && found.contains(&NonPrefix), "{found:?}");
}

#[test]
fn what_was_read_before_the_crash_and_then_lost_is_legal_only_if_its_readers_are_lost_too() {
    let sketch = Sketch::default()
        .committed(&[append(1, 10)])
        .durable(Durability::Memory)
        .committed(&[read_list(1, &[10])])
        .committed(&[read_list(1, &[10]), append(2, 20)])
        .durable(Durability::Memory);
    assert_eq!(kinds(&sketch.clone().crashed(Content::default(), Durability::Disk)), []);
    assert_eq!(kinds(&sketch.crashed(content(&[(2, &[20])], &[]), Durability::Disk)), [NonPrefix]);
}
