//! Random changes of a store and of its model: what every call of a transaction does, loads, checkpoints, closing and
//! opening.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, Options};
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use fulgurite_rdf::oxrdfio::RdfFormat;
use fulgurite_rdf::{
    IdPattern, LoadInput, LoadOptions, Order, Quads, Result, Store, StoreOptions, SweepOptions, Transaction,
};
use fulgurite_testkit::{CrashDisk, Random};

use crate::contents::Contents;

/// Where the store lies on its disk: in a directory that no machine has, lest a load keep its scratch file there.
pub const PATH: &str = "fulgurite-quads-on-no-disk/a.ful";

/// Marks of a recording: a commit may be there from `BEGUN` on, must survive the process from `LOGGED` on, and a power
/// cut from `DURABLE` on.
pub const BEGUN: &str = "begun";
pub const LOGGED: &str = "logged";
pub const DURABLE: &str = "durable";

/// Opens the store that is on a disk, with nothing going on in the background.
///
/// # Errors
/// The store's.
pub fn open(disk: &CrashDisk) -> Result<Store> {
    Store::open_with(engine(disk), Path::new(PATH), StoreOptions::new())
}

fn engine(disk: &CrashDisk) -> Options {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Database::options().background(false).disk(disk).delta_bytes(DELTA_BYTES)
}

/// A store that is changed, its disk, and what it held after each commit.
pub struct Session {
    disk: CrashDisk,
    store: Option<Store>,
    random: Random,
    /// What the store held after each commit; the first is the empty store.
    states: Vec<Contents>,
}

impl Session {
    /// A session with an empty store, every third time with few orders.
    ///
    /// # Errors
    /// The store's.
    pub fn new(seed: u64) -> Result<Self> {
        let options = StoreOptions::new();
        let few = || FEW_ORDERS.iter().filter_map(|name| Order::parse(name));
        Self::with(seed, if seed.is_multiple_of(3) { options.orders(few()) } else { options })
    }

    /// A session with an empty store of the usual orders: what one index does not say, another does.
    ///
    /// # Errors
    /// The store's.
    pub fn with_all_orders(seed: u64) -> Result<Self> {
        Self::with(seed, StoreOptions::new())
    }

    fn with(seed: u64, options: StoreOptions) -> Result<Self> {
        let disk = CrashDisk::new();
        let store = Store::open_with(engine(&disk).create(true), Path::new(PATH), options.hash_seed(seed))?;
        store.database().sync()?;
        let random = Random::for_part(seed, &[1]);
        let session = Self { disk, store: Some(store), random, states: vec![Contents::default()] };
        session.disk.mark(BEGUN, 0);
        session.mark_durable();
        Ok(session)
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open but within `reopen`")
    }

    /// The orders of the store.
    pub fn orders(&self) -> Vec<Order> {
        self.store().orders().to_vec()
    }

    /// The disk, and what the store held after each commit.
    pub fn into_parts(self) -> (CrashDisk, Vec<Contents>) {
        (self.disk, self.states)
    }

    /// Makes the steps of a session. Half of them begin with a load of an empty store.
    ///
    /// # Errors
    /// The store's.
    pub fn run(&mut self) -> Result<()> {
        if self.random.chance(1, 2) {
            self.load()?;
        }
        for _ in 0..STEPS {
            match self.random.below(20) {
                0 => {
                    self.store().database().checkpoint()?;
                    self.mark_durable();
                }
                1 => self.reopen()?,
                2 | 3 => self.load()?,
                4 => self.abort()?,
                6 => self.sweep()?,
                5 => {
                    self.store().database().sync()?;
                    self.mark_durable();
                }
                _ => self.commit()?,
            }
        }
        Ok(())
    }

    fn newest(&self) -> &Contents {
        self.states.last().expect("there is the empty one at least")
    }

    fn begun(&mut self, contents: Contents) {
        self.states.push(contents);
        self.disk.mark(BEGUN, self.states.len() as u64 - 1);
    }

    fn mark_durable(&self) {
        self.disk.mark(DURABLE, self.states.len() as u64 - 1);
    }

    fn commit(&mut self) -> Result<()> {
        let mut contents = self.newest().clone();
        let mut txn = self.store().begin()?;
        for _ in 0..=self.random.below(6) {
            change(&mut self.random, &mut txn, &mut contents)?;
        }
        if self.random.chance(1, 4) {
            let (savepoint, before) = (txn.savepoint(), contents.clone());
            change(&mut self.random, &mut txn, &mut contents)?;
            txn.rollback_to(savepoint)?;
            contents = before;
        }
        // No two states are equal.
        let stamp = stamp(self.states.len());
        txn.insert(&stamp)?;
        contents.insert(&stamp);
        let durability = match self.random.below(4) {
            0 => Durability::Memory,
            1 | 2 => Durability::Log,
            _ => Durability::Disk,
        };
        self.begun(contents);
        txn.commit_with(durability)?;
        match durability {
            Durability::Disk => self.mark_durable(),
            Durability::Log => self.disk.mark(LOGGED, self.states.len() as u64 - 1),
            _ => {}
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        let mut contents = self.newest().clone();
        let mut txn = self.store().begin()?;
        change(&mut self.random, &mut txn, &mut contents)
    }

    /// Loads a document of N-Quads, and now and then one that breaks off in an error and leaves nothing.
    fn load(&mut self) -> Result<()> {
        let mut contents = self.newest().clone();
        let stamp = stamp(self.states.len());
        contents.insert(&stamp);
        let mut document = format!("{stamp} .\n");
        for _ in 0..self.random.below(60) {
            // Labels of blank nodes are of the document: the store gives them others.
            let quad = loop {
                let quad = quad(&mut self.random);
                if !quad.to_string().contains("_:") {
                    break quad;
                }
            };
            contents.insert(&quad);
            document += &format!("{quad} .\n");
        }
        let fails = self.random.chance(1, 5);
        if fails {
            document += "<http://example.org/broken> <";
        }
        let input = LoadInput::reader("document", std::io::Cursor::new(document), RdfFormat::NQuads);
        if !fails {
            self.begun(contents);
        }
        match self.store().load(vec![input], &LoadOptions::new().threads(1)) {
            Ok(_) => self.mark_durable(),
            Err(fulgurite_rdf::Error::Syntax { .. }) if fails => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes unused terms away, which changes nothing that a user can see.
    fn sweep(&mut self) -> Result<()> {
        self.store().sweep(&SweepOptions::new())?;
        self.mark_durable();
        Ok(())
    }

    fn reopen(&mut self) -> Result<()> {
        self.store.take().expect("it is open").close()?;
        self.mark_durable();
        self.store = Some(open(&self.disk)?);
        Ok(())
    }
}

/// The quad that says which state this is.
fn stamp(state: usize) -> Quad {
    let name = NamedNode::new_unchecked("http://example.org/state");
    Quad::new(name.clone(), name, Literal::from(state as i64), GraphName::DefaultGraph)
}

/// One call of a transaction, and the same to the model.
fn change(random: &mut Random, txn: &mut Transaction, contents: &mut Contents) -> Result<()> {
    match random.below(20) {
        0 => {
            let node = subject(random);
            let term = Term::from(node);
            if let Some(id) = txn.view().id(term.as_ref())? {
                txn.remove_matching(&IdPattern { subject: Some(id), ..IdPattern::ALL })?;
            }
            contents.remove_subject(&term);
        }
        1 => {
            let graph = graph(random);
            txn.clear_graph(graph.as_ref())?;
            contents.clear_graph(&graph);
        }
        2 => {
            let graph = named_graph(random);
            txn.drop_graph(graph.as_ref())?;
            contents.drop_graph(&graph);
        }
        3 => {
            let graph = named_graph(random);
            txn.create_graph(graph.as_ref())?;
            contents.create_graph(&graph);
        }
        4 if random.chance(1, 6) => {
            txn.clear()?;
            contents.clear();
        }
        5 => {
            let prefix = format!("p{}", random.below(4));
            let iri = format!("http://example.org/{}/", random.below(100));
            txn.set_namespace(&prefix, &iri)?;
            contents.set_namespace(&prefix, &iri);
        }
        6 => {
            let prefix = format!("p{}", random.below(4));
            txn.remove_namespace(&prefix)?;
            contents.remove_namespace(&prefix);
        }
        7..=9 => {
            for _ in 0..random.below(10) {
                let quad = quad(random);
                txn.remove(&quad)?;
                contents.remove(&quad);
            }
        }
        16..20 => change_inferred(random, txn, contents)?,
        _ => {
            for _ in 0..random.below(30) {
                let quad = quad(random);
                txn.insert(&quad)?;
                contents.insert(&quad);
            }
        }
    }
    Ok(())
}

/// One call that changes what is inferred, and the same to the model.
fn change_inferred(random: &mut Random, txn: &mut Transaction, contents: &mut Contents) -> Result<()> {
    match random.below(8) {
        0 => {
            txn.clear_inferred(&IdPattern::ALL)?;
            contents.clear_inferred();
        }
        1 | 2 => {
            for _ in 0..random.below(10) {
                let quad = quad(random);
                txn.remove_inferred(&quad)?;
                contents.remove_inferred(&quad);
            }
        }
        _ => {
            for _ in 0..random.below(20) {
                let quad = quad(random);
                txn.insert_inferred(&quad)?;
                contents.insert_inferred(&quad);
            }
        }
    }
    Ok(())
}

fn subject(random: &mut Random) -> NamedOrBlankNode {
    match random.below(8) {
        0 => BlankNode::new_unchecked(format!("b{}", random.below(4))).into(),
        number => NamedNode::new_unchecked(format!("http://example.org/subject/{}", number * random.below(3))).into(),
    }
}

fn graph(random: &mut Random) -> GraphName {
    match random.below(6) {
        0..3 => GraphName::DefaultGraph,
        3 => BlankNode::new_unchecked("graph").into(),
        number => NamedNode::new_unchecked(format!("http://example.org/graph/{number}")).into(),
    }
}

fn named_graph(random: &mut Random) -> GraphName {
    loop {
        match graph(random) {
            GraphName::DefaultGraph => {}
            graph => return graph,
        }
    }
}

fn predicate(random: &mut Random) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/terms#{}", random.below(5)))
}

fn object(random: &mut Random) -> Term {
    match random.below(8) {
        0 => Literal::from(random.below(40) as i64).into(),
        1 => Literal::new_simple_literal(format!("{}", random.below(10))).into(),
        2 => Literal::new_simple_literal("a longer text ".repeat(1 + random.index(30))).into(),
        3 => Literal::new_language_tagged_literal_unchecked(format!("texte {}", random.below(5)), "fr").into(),
        // So long that its leaf does not hold it.
        4 if random.chance(1, 4) => Literal::new_simple_literal("x".repeat(6_000 + random.index(3_000))).into(),
        5 => Triple::new(subject(random), predicate(random), Literal::from(random.below(3) as i64)).into(),
        _ => subject(random).into(),
    }
}

fn quad(random: &mut Random) -> Quad {
    Quad::new(subject(random), predicate(random), object(random), graph(random))
}

/// A store that answers some patterns by going over more.
const FEW_ORDERS: [&str; 3] = ["spo", "pos", "gspo"];
/// Of a session.
const STEPS: usize = 60;
/// Small, so that there are runs above the trees.
const DELTA_BYTES: u64 = 1 << 20;
