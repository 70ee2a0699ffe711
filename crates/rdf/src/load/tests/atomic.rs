//! What loads leave when they fail, panic or are cancelled, and what others see and do meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;

use super::*;
use crate::{CancellationToken, Isolation};

/// Runs `meanwhile` when a load has reached a stage, on the thread that reports it.
fn at_stage(method: LoadMethod, stage: &'static str, meanwhile: impl Fn() + Send + Sync + 'static) -> LoadOptions {
    by(method).progress(move |progress| {
        if progress.stage == stage {
            meanwhile();
        }
    })
}

const STAGES: [&str; 5] = ["parsing", "waiting for writers", "numbering terms", "building terms", "building indexes"];

fn each_method_and_stage() -> impl Iterator<Item = (LoadMethod, &'static str)> {
    METHODS.into_iter().flat_map(|method| STAGES.into_iter().map(move |stage| (method, stage)))
}

/// A quad of its own, with new terms.
fn one(name: &str) -> Quad {
    let name = NamedNode::new_unchecked(format!("http://one/{name}"));
    Quad::new(name.clone(), name, Literal::from(1), oxrdf::GraphName::DefaultGraph)
}

#[test]
fn a_load_that_is_cancelled_at_any_stage_leaves_nothing_and_the_store_goes_on() {
    for (method, stage) in each_method_and_stage() {
        for place in [TestStore::new(), TestStore::with_one()] {
            let before = (place.texts(), place.store.stats().expect("statistics"));
            let token = CancellationToken::new();
            let cancel = token.clone();
            let options = at_stage(method, stage, move || cancel.cancel()).cancellation(token);
            let outcome = place.load_with(&many(20_000), &options);
            assert!(matches!(outcome, Err(Error::Cancelled)), "{method:?} {stage}: {outcome:?}");
            let stats = place.store.stats().expect("statistics");
            assert_eq!((place.texts(), stats), before, "{method:?} {stage}");
            let report = place.load_with(&many(100), &by(method)).expect("it is loaded");
            assert_eq!(place.texts().len(), before.0.len() + report.inserted as usize);
            let place = place.reopen();
            assert_eq!(place.texts().len(), before.0.len() + report.inserted as usize);
        }
    }
}

#[test]
fn a_load_that_panics_at_any_stage_leaves_nothing_and_others_go_on() {
    for (method, stage) in each_method_and_stage() {
        let place = TestStore::with_one();
        let before = (place.texts(), place.store.stats().expect("statistics"));
        let options = at_stage(method, stage, || panic!("planted"));
        let outcome = catch_unwind(AssertUnwindSafe(|| place.load_with(&many(20_000), &options)));
        assert!(outcome.is_err(), "{method:?} {stage}");
        assert_eq!((place.texts(), place.store.stats().expect("statistics")), before, "{method:?} {stage}");
        assert!(place.store.update(|txn| txn.insert(&one("later"))).expect("it is committed"));
        let report = place.load_with(&many(100), &by(method)).expect("it is loaded");
        assert_eq!(place.texts().len(), before.0.len() + 1 + report.inserted as usize);
        assert_eq!(place.others(), [""; 0]);
        let place = place.reopen();
        assert_eq!(place.texts().len(), before.0.len() + 1 + report.inserted as usize);
    }
}

/// Runs `meanwhile` while a load is held at a stage.
fn while_at(
    place: &TestStore,
    method: LoadMethod,
    stage: &'static str,
    meanwhile: impl FnOnce(),
) -> Result<LoadReport> {
    let (reached, wait) = sync_channel::<()>(0);
    let (go_on, gate) = sync_channel::<()>(0);
    let gate = Mutex::new(Some(gate));
    let options = at_stage(method, stage, move || {
        if let Some(gate) = gate.lock().expect("no panic").take() {
            reached.send(()).expect("somebody waits");
            gate.recv().expect("somebody lets it go on");
        }
    });
    std::thread::scope(|scope| {
        let loading = scope.spawn(move || place.load_with(&many(2000), &options));
        wait.recv().expect("the stage is reached");
        meanwhile();
        go_on.send(()).expect("the load goes on");
        loading.join().expect("no panic")
    })
}

#[test]
fn while_a_load_runs_readers_see_what_was_before_and_wait_for_nothing() {
    for (method, stage) in each_method_and_stage() {
        let place = TestStore::with_one();
        let before = place.texts();
        let report = while_at(&place, method, stage, || {
            let second = Store::open(place.path()).expect("a second handle");
            for store in [&place.store, &second] {
                let snapshot = store.snapshot().expect("a snapshot");
                assert_eq!(texts(&snapshot), before, "{method:?} {stage}");
                assert_eq!(snapshot.count(&IdPattern::ALL).expect("they are counted"), 1);
            }
        });
        let report = report.expect("it is loaded");
        assert_eq!(place.texts().len() as u64, 1 + report.inserted);
    }
}

#[test]
fn writers_go_on_while_a_load_parses_and_wait_while_it_builds() {
    for method in METHODS {
        let place = TestStore::with_one();
        for stage in ["parsing", "waiting for writers"] {
            while_at(&place, method, stage, || {
                assert!(place.store.update(|txn| txn.insert(&one(stage))).expect("it is committed"));
            })
            .expect("it is loaded");
        }
        std::thread::scope(|scope| {
            while_at(&place, method, "building terms", || {
                assert!(place.store.database().try_write().expect("it is open").is_none(), "a load runs");
                scope.spawn(|| place.store.update(|txn| txn.insert(&one("waits"))).expect("it is committed"));
            })
            .expect("it is loaded");
        });
        assert_eq!(place.texts().len(), 1 + 3 + lines(&many(2000)).len());
    }
}

#[test]
fn a_second_load_waits_for_the_first_and_says_what_to_do_if_that_takes_too_long() {
    for (method, other) in [(LoadMethod::Trees, LoadMethod::Transaction), (LoadMethod::Transaction, LoadMethod::Trees)]
    {
        let place = TestStore::with_one();
        while_at(&place, method, "building terms", || {
            let options = by(other).wait(Duration::from_millis(20));
            let error = place.load_with(&many(10), &options).expect_err("the first runs still");
            assert!(matches!(error, Error::WriterBusy { .. }), "{error}");
            assert!(error.to_string().contains("try again when it has ended"), "{error}");
            let token = CancellationToken::new();
            let cancel = token.clone();
            let options = at_stage(other, "waiting for writers", move || cancel.cancel()).cancellation(token);
            assert!(matches!(place.load_with(&many(10), &options), Err(Error::Cancelled)));
        })
        .expect("it is loaded");
        std::thread::scope(|scope| {
            while_at(&place, method, "building indexes", || {
                scope.spawn(|| place.load_with("<http://a> <http://b> \"new\" .", &by(other)).expect("it is loaded"));
            })
            .expect("it is loaded");
        });
        assert_eq!(place.texts().len(), 2 + lines(&many(2000)).len());
    }
}

#[test]
fn a_transaction_that_began_before_a_load_and_commits_after_it_is_checked_against_it() {
    for (method, isolation) in METHODS
        .into_iter()
        .flat_map(|method| [Isolation::Serializable, Isolation::Snapshot].map(|isolation| (method, isolation)))
    {
        let place = TestStore::with_one();
        let quad = |name: &str| {
            let name = NamedNode::new_unchecked(name);
            Quad::new(name.clone(), name, Literal::from(1), oxrdf::GraphName::DefaultGraph)
        };
        let mut earlier = place.store.begin_with(isolation).expect("a transaction");
        earlier.insert(&quad("http://example.org/node/1")).expect("it is inserted");
        place.load_with(&many(100), &by(method)).expect("it is loaded");
        let error = earlier.commit().expect_err("a conflict");
        assert!(error.is_retryable(), "{error}");
        assert_eq!(place.texts().len(), 1 + lines(&many(100)).len());
    }
}

#[test]
fn scratch_bytes_that_are_not_those_that_were_kept_are_errors_and_no_panics() {
    // The state of the numbers that choose what is changed; a failure names it.
    let mut outcomes = [0, 0];
    for seed in 0..120_u64 {
        let options = LoadOptions { scratch_damage: Some(seed << 32 | seed), ..LoadOptions::new() };
        let options = options.memory_bytes(1 << 17).threads(1);
        let place = TestStore::new();
        let triples = "_:a <http://a/says> <<( _:b <http://a/p> _:a )>> .\n".repeat(2);
        let text = many(400) + &triples;
        let store = &place.store;
        let load = || store.load(vec![input(&text, RdfFormat::NQuads)], &options);
        let outcome = catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_| panic!("seed {seed}: a panic"));
        match outcome {
            Ok(_) => outcomes[0] += 1,
            Err(Error::Scratch { .. } | Error::Engine(_)) => {
                outcomes[1] += 1;
                assert!(place.texts().is_empty(), "seed {seed}");
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(outcomes[1] > 8, "{outcomes:?}");
}

#[test]
fn of_several_errors_the_first_is_told() {
    let watch = LoadMonitor::new(&LoadOptions::new(), Arc::default());
    watch.fail(Error::Cancelled);
    watch.fail(Error::TooDeep { limit: 1 });
    watch.fail(Error::TooDeep { limit: 2 });
    watch.fail(Error::Cancelled);
    assert!(matches!(watch.cause(), Error::TooDeep { limit: 1 }));
}
