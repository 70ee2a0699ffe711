//! Small worlds of every shape.

use std::sync::atomic::AtomicU64;

use super::judge::judge;
use super::shapes::{Place, Shape};
use super::world::World;

#[test]
fn a_small_world_of_every_shape_has_no_anomaly() {
    for (seed, shape) in (11..).zip(Shape::ALL) {
        let pulse = AtomicU64::new(0);
        let mut world = World::new(shape, seed).unwrap_or_else(|broken| panic!("{broken:?}"));
        let mut committed = 0;
        for _ in 0..2 {
            let segment =
                world.segment(150, &pulse).unwrap_or_else(|broken| panic!("{} {seed}: {broken:?}", shape.name));
            if let Err((_, text)) = judge(&segment, shape) {
                panic!("{} {seed}: {text}", shape.name);
            }
            committed += segment.tally.committed;
        }
        let most = if shape.place == Place::Crashing { 20 } else { 100 };
        assert!(committed > most, "{} {seed}: {committed}", shape.name);
    }
}

#[test]
fn shapes_have_names_of_their_own_and_are_found_by_them() {
    for (number, shape) in Shape::ALL.iter().enumerate() {
        assert!(Shape::ALL[..number].iter().all(|other| other.name != shape.name), "{}", shape.name);
        assert_eq!(Shape::named(shape.name).unwrap().name, shape.name);
    }
    assert!(Shape::named("nothing").is_none());
}
