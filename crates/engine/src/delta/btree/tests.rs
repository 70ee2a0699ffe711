//! The steps of a descent with a writer between them: races too narrow for threads to hit.

use super::insert::{Attempts, Entry, Inserted, Last, LeafPlace, Path};
use super::node::LEAF_KEYS;
use super::tree::{Kind, Tree};
use crate::delta::arena::Unit;
use crate::delta::change::Change;
use crate::delta::record::Stored;
use crate::format::ValueAlign;
use crate::ids::Sequence;
use crate::sync::atomic::Ordering;

fn insert(tree: &Tree, number: u32) {
    let key = number.to_be_bytes();
    tree.insert(&Entry { key: &key, hash: 0, at: Sequence(1), change: Change::Delete }, None);
}

#[test]
fn a_descent_does_not_begin_at_a_root_that_was_split() {
    let tree = Tree::new(ValueAlign::One);
    insert(&tree, 0);
    let unit = Unit::new(tree.root.load(Ordering::Acquire)).expect("the tree has a root");
    assert!(tree.root_at(unit).is_some());
    (1..100).for_each(|number| insert(&tree, number));
    assert!(tree.root_at(unit).is_none());
}

#[test]
fn a_descent_begins_again_when_a_child_was_split_before_its_version_was_read() {
    let tree = Tree::new(ValueAlign::One);
    (0..100).for_each(|number| insert(&tree, number * 1000));
    let (root, stamp) = tree.root().flatten().expect("the tree is at rest");
    let Kind::Inner(root) = root.kind() else { panic!("a hundred keys are more than a leaf") };
    let index = tree.route(root, &50_u32.to_be_bytes()).expect("the tree is at rest");
    assert!(tree.child(root, stamp, index).is_some());
    (1..100).for_each(|number| insert(&tree, number));
    assert!(tree.child(root, stamp, index).is_none());
}

#[test]
fn an_insert_goes_on_from_its_approach_or_begins_anew_if_the_parent_has_changed() {
    let tree = Tree::new(ValueAlign::One);
    let insert_from = |number: u32, approach| {
        let key = number.to_be_bytes();
        tree.insert(&Entry { key: &key, hash: 0, at: Sequence(1), change: Change::Delete }, approach)
    };
    let approach_to = |number: u32| tree.approach(&number.to_be_bytes());
    assert!(approach_to(1).is_none(), "an empty tree has nothing to go down");
    (0..200).for_each(|number| insert(&tree, number * 4000));
    let (mut followed, mut outdated) = (0, 0);
    let count = if cfg!(miri) { 200 } else { 2000 };
    for number in 0..count {
        let (near, far) = (number * 400 + 1, (number * 31 % count) * 400 + 2);
        let (Some(first), Some(second)) = (approach_to(near), approach_to(far)) else { continue };
        // The leaf may have been split by the first, and then its parent is another.
        assert!(matches!(insert_from(far, Some(second)), Inserted::Key(_)));
        if tree.path_from(first).is_some() {
            followed += 1
        } else {
            outdated += 1
        }
        assert!(matches!(insert_from(near, Some(first)), Inserted::Key(_)));
        for number in [near, far] {
            let again = insert_from(number, approach_to(number));
            assert!(matches!(again, Inserted::Version(_)), "{number} was inserted");
        }
    }
    assert!(followed > count / 20 && outdated > count / 200, "{followed} followed, {outdated} outdated");
}

#[test]
fn an_approach_that_found_the_place_serves_while_the_leaf_is_unchanged_and_is_made_again_after() {
    let tree = Tree::new(ValueAlign::One);
    // Heads tie among every three keys, and differ from those of others.
    let key = |number: u32| [&(number / 3).to_be_bytes()[..], b"tied", &number.to_be_bytes()].concat();
    let insert_from = |number: u32, at: u64, approach| {
        tree.insert(&Entry { key: &key(number), hash: 0, at: Sequence(at), change: Change::Delete }, approach)
    };
    (0..300).for_each(|number| _ = insert_from(number * 2, 1, None));
    let mut served = 0;
    for number in 0..600 {
        let key_near = key(number);
        let Some(mut approach) = tree.approach(&key_near) else { continue };
        tree.prefetch_record(&mut approach, &key_near);
        let LeafPlace { leaf, stamp, .. } = approach.leaf_place.expect("nobody else writes");
        if number % 5 == 0 {
            // Another commit changes the leaf, and may split it: often by the same key.
            insert_from(number ^ 1, 2, None);
        }
        served += usize::from(tree.leaf(leaf).is_unchanged(stamp));
        let is_new = !tree_has(&tree, &key_near);
        let inserted = insert_from(number, 3, Some(approach));
        assert_eq!(matches!(inserted, Inserted::Key(_)), is_new, "{number}");
        let record = match inserted {
            Inserted::Key(record) | Inserted::Version(record) => tree.record(record),
        };
        assert_eq!((record.key(), record.newest_sequence()), (&*key_near, Sequence(3)));
    }
    assert!(served > 300, "{served} of 600 served");
}

fn tree_has(tree: &Tree, key: &[u8]) -> bool {
    let (leaf, _) = tree.descend_to(key).expect("the tree is not empty");
    leaf.search(key, |record| tree.key(record)).expect("nobody else writes").exact
}

#[test]
fn a_writer_does_not_lock_a_leaf_that_changed_since_its_descent() {
    let tree = Tree::new(ValueAlign::One);
    insert(&tree, 5);
    let (leaf, stamp) = tree.descend_to(&[]).expect("the tree is not empty");
    assert!(leaf.try_lock(leaf.stamp()).is_some());
    assert!(leaf.try_lock(stamp).is_none());
    assert!(!leaf.is_unchanged(stamp));
}

/// The bytes that a read at `at` finds, and the sequence of the newest version.
fn read(tree: &Tree, key: &[u8], at: u64) -> Option<(Vec<u8>, u64)> {
    let (leaf, _) = tree.descend_to(key)?;
    let found = leaf.search(key, |record| tree.key(record)).filter(|found| found.exact)?;
    let record = tree.record(leaf.key(found.position)?);
    let Change::Put(value) = record.change(record.visible(Sequence(at))?) else { panic!("it was put") };
    Some((value.to_vec(), record.newest_sequence().0))
}

/// One attempt with a path that was found before.
fn attempt(tree: &Tree, path: &Path<'_>, entry: &Entry<'_>) -> Option<Inserted> {
    let stored = Stored::new(&tree.arena, entry.change);
    tree.insert_at(path, &mut Attempts::new(entry, stored))
}

fn put<'e>(key: &'e [u8], at: u64, value: &'e [u8]) -> Entry<'e> {
    Entry { key, hash: 0, at: Sequence(at), change: Change::Put(value) }
}

#[test]
fn a_version_is_not_added_where_another_came_in_between() {
    // The other comes later or earlier in sequence than this one, and this one above or below what was there.
    for (this, other) in [(8, 9), (9, 8), (3, 8), (8, 3), (3, 4), (4, 3), (8, 8)] {
        let tree = Tree::new(ValueAlign::One);
        tree.insert(&put(b"key", 5, b"there"), None);
        let path = tree.path_to(b"key").flatten().expect("the tree is at rest");
        tree.insert(&put(b"key", other, b"other"), None);
        assert_eq!(attempt(&tree, &path, &put(b"key", this, b"this")), None);
        // The other may also come after this one saw the leaf unchanged.
        let record = path.leaf.key(0).expect("the leaf has a key");
        let entry = put(b"key", this, b"this");
        let mut attempts = Attempts::new(&entry, Stored::new(&tree.arena, entry.change));
        assert_eq!(tree.add_version(&path, record, &mut attempts), None);
        assert_eq!(read(&tree, b"key", other), Some((b"other".to_vec(), other.max(5))), "nothing was published");
        tree.insert(&put(b"key", this, b"this"), None);
        let newest = this.max(other).max(5);
        assert_eq!(read(&tree, b"key", this), Some((b"this".to_vec(), newest)));
        assert_eq!(read(&tree, b"key", 5), Some((b"there".to_vec(), newest)));
        if this != other {
            assert_eq!(read(&tree, b"key", other), Some((b"other".to_vec(), newest)));
        }
    }
}

#[test]
fn a_key_is_not_added_where_another_thread_added_it_in_between() {
    let tree = Tree::new(ValueAlign::One);
    insert(&tree, 0);
    let path = tree.path_to(b"key").flatten().expect("the tree is at rest");
    assert!(matches!(tree.insert(&put(b"key", 7, b"other"), None), Inserted::Key(_)));
    assert_eq!(attempt(&tree, &path, &put(b"key", 6, b"this")), None);
    assert!(matches!(tree.insert(&put(b"key", 6, b"this"), None), Inserted::Version(_)));
    assert_eq!(read(&tree, b"key", 6), Some((b"this".to_vec(), 7)));
    assert_eq!(read(&tree, b"key", 7), Some((b"other".to_vec(), 7)));
}

#[test]
fn nothing_is_added_to_a_leaf_that_was_split_in_between() {
    let tree = Tree::new(ValueAlign::One);
    (0..40).for_each(|number| insert(&tree, number * 1000));
    let (this, last) = (38_500_u32.to_be_bytes(), 39_000_u32.to_be_bytes());
    let paths = [&this, &last].map(|key| tree.path_to(key).flatten().expect("the tree is at rest"));
    (0..100).for_each(|number| insert(&tree, number * 389 + 1));
    assert_eq!(attempt(&tree, &paths[0], &put(&this, 2, b"this")), None);
    assert_eq!(attempt(&tree, &paths[1], &put(&last, 2, b"last")), None);
    assert_eq!(read(&tree, &this, 9), None);
    tree.insert(&put(&this, 2, b"this"), None);
    assert_eq!(read(&tree, &this, 9), Some((b"this".to_vec(), 2)));
}

#[test]
fn two_threads_that_split_one_leaf_split_it_once() {
    for leaves in [1, 3] {
        let tree = Tree::new(ValueAlign::One);
        // In order, so that leaves are filled.
        (0..LEAF_KEYS as u32 * leaves).for_each(|number| insert(&tree, number * 10));
        let key = 5_u32.to_be_bytes();
        let [this, other] = [0, 1].map(|_| tree.path_to(&key).flatten().expect("the tree is at rest"));
        assert!(this.leaf.is_full());
        let high = this.leaf.high();
        assert_eq!(attempt(&tree, &this, &put(&key, 2, b"this")), None, "the leaf is split first");
        let fence = this.leaf.high();
        assert_ne!(fence, high);
        // Other keys have filled it again.
        (11..).take_while(|_| !this.leaf.is_full()).for_each(|number| insert(&tree, number));
        assert_eq!(attempt(&tree, &other, &put(&key, 2, b"other")), None);
        assert_eq!(this.leaf.high(), fence, "it was split once");
        let (right, _) = tree.leaf_after(this.leaf, this.leaf.stamp()).expect("the tree is at rest");
        assert_eq!(right.high(), high);
        tree.insert(&put(&key, 2, b"this"), None);
        assert_eq!(read(&tree, &key, 9), Some((b"this".to_vec(), 2)));
    }
}

#[test]
fn a_key_that_follows_another_is_inserted_beside_it_while_it_belongs_there() {
    let tree = Tree::new(ValueAlign::One);
    (0..100).for_each(|number| insert(&tree, number * 1000));
    let insert_along = |number: u32, at: u64, last: &mut Option<Last>| {
        let key = number.to_be_bytes();
        tree.insert_along(&Entry { key: &key, hash: 0, at: Sequence(at), change: Change::Delete }, last)
    };
    let mut last = None;
    assert!(matches!(insert_along(500, 2, &mut last), Inserted::Key(_)));
    let first = last.expect("it went down to a leaf");
    assert!(matches!(insert_along(501, 2, &mut last), Inserted::Key(_)));
    assert_eq!(last.map(|last| last.leaf), Some(first.leaf));
    assert!(matches!(insert_along(501, 3, &mut last), Inserted::Version(_)));
    assert_eq!(last.map(|last| last.leaf), Some(first.leaf));
    insert_along(99_500, 2, &mut last);
    assert_ne!(last.map(|last| last.leaf), Some(first.leaf), "the key belongs to another leaf");
    last = Some(first);
    // Until it is full, and then there are more leaves.
    for number in 502..900 {
        assert!(matches!(insert_along(number, 2, &mut last), Inserted::Key(_)), "{number}");
    }
    for number in (0..100_u32).map(|number| number * 1000).chain(500..900).chain([99_500]) {
        assert!(tree_has(&tree, &number.to_be_bytes()), "{number}");
    }
    // What is below the leaf, too.
    last = Some(first);
    insert_along(900, 2, &mut last);
    insert_along(1, 2, &mut last);
    assert!(tree_has(&tree, &1_u32.to_be_bytes()));
    let (leaf, _) = tree.descend_to(&1_u32.to_be_bytes()).expect("the tree is not empty");
    assert_eq!(leaf.search(&1_u32.to_be_bytes(), |record| tree.key(record)).map(|found| found.exact), Some(true));
}

#[test]
fn dense_keys_are_sought_in_the_next_leaf_and_sparse_ones_are_not() {
    let tree = Tree::new(ValueAlign::One);
    // In no order, so that leaves have room.
    let count = 40 * LEAF_KEYS as u32;
    (0..count).for_each(|number| insert(&tree, number * 7919 % count * 1000));
    // Inserts a key, and says whether it was found without a descent.
    let insert_along = |number: u32, last: &mut Option<Last>| {
        let key = number.to_be_bytes();
        let entry = Entry { key: &key, hash: 0, at: Sequence(2), change: Change::Delete };
        let mut attempts = Attempts::new(&entry, Stored::new(&tree.arena, entry.change));
        let beside = last.and_then(|before| tree.insert_beside(before, &mut attempts));
        match beside {
            Some((inserted, now)) => {
                assert!(matches!(inserted, Inserted::Key(_)));
                *last = Some(now);
            }
            None => assert!(matches!(tree.insert_along(&entry, last), Inserted::Key(_))),
        }
        let (leaf, _) = tree.descend_to(&key).expect("the tree is not empty");
        let found = leaf.search(&key, |record| tree.key(record));
        assert_eq!(found.map(|found| found.exact), Some(true), "{number} is where a descent looks for it");
        beside.is_some()
    };
    // A key or two in each leaf, and one in each fifth leaf or so. A full leaf is split by a descent.
    let step = LEAF_KEYS as u32 / 2 * 1000;
    let mut dense = None;
    let beside: Vec<bool> = (0..20).map(|count| insert_along(count * step + 1, &mut dense)).collect();
    assert!(!beside[0] && beside[2..].iter().filter(|&&beside| beside).count() >= 12, "{beside:?}");
    let mut sparse = None;
    assert!((0..6).all(|count| !insert_along(count * 5 * step + 2, &mut sparse)));
}
