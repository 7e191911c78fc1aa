//! Walks of small plans with an actor that can be steered.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::sync::Notify;

use super::{Actor, Limits, State, run};
use crate::graph::{Graph, Vertex};
use crate::plan::{Operation, Plan, Purpose, Reason, Stage, Task};

/// A plan of these tasks; edges by number.
fn plan(tasks: &[Task], edges: &[(usize, usize)]) -> Plan {
    let mut graph = Graph::default();
    let mut operations = Vec::new();
    for &task in tasks {
        graph.add();
        operations.push(Operation {
            task,
            stage: Stage::Main,
            weight: None,
        });
    }
    for &(from, to) in edges {
        graph.connect(from, to, Reason::Stage);
    }
    Plan {
        purpose: Purpose::Install,
        items: Vec::new(),
        removals: Vec::new(),
        externals: Vec::new(),
        operations,
        graph,
        warnings: Vec::new(),
    }
}

const WRITE: Task = Task::Deploy {
    item: 0,
    again: false,
};
const WAIT: Task = Task::Ready { item: 0 };

/// Ends operations when they are let go, in that order.
#[derive(Default)]
struct Steered {
    begun: RefCell<Vec<Vertex>>,
    gates: RefCell<BTreeMap<Vertex, std::rc::Rc<Notify>>>,
    /// These are held; others end at once.
    held: BTreeSet<Vertex>,
    failing: BTreeSet<Vertex>,
    most: RefCell<(usize, usize)>,
}

impl Steered {
    fn gate(&self, vertex: Vertex) -> std::rc::Rc<Notify> {
        std::rc::Rc::clone(self.gates.borrow_mut().entry(vertex).or_default())
    }

    fn release(&self, vertex: Vertex) {
        self.gate(vertex).notify_one();
    }
}

impl Actor for Steered {
    type Failure = Vertex;

    fn perform<'a>(
        &'a self,
        vertex: Vertex,
        operation: Operation,
    ) -> LocalBoxFuture<'a, Result<(), Vertex>> {
        async move {
            self.begun.borrow_mut().push(vertex);
            if operation.task.writes() {
                let mut most = self.most.borrow_mut();
                most.0 += 1;
                most.1 = most.1.max(most.0);
            }
            if self.held.contains(&vertex) {
                self.gate(vertex).notified().await;
            } else {
                tokio::task::yield_now().await;
            }
            if operation.task.writes() {
                self.most.borrow_mut().0 -= 1;
            }
            if self.failing.contains(&vertex) {
                Err(vertex)
            } else {
                Ok(())
            }
        }
        .boxed_local()
    }
}

#[tokio::test]
async fn what_depends_on_a_failure_never_begins() {
    let plan = plan(
        &[WRITE, WRITE, Task::Barrier, WRITE],
        &[(0, 2), (1, 2), (2, 3)],
    );
    let actor = Steered {
        failing: BTreeSet::from([0]),
        ..Steered::default()
    };
    let outcome = run(&plan, &actor, Limits::default(), pending()).await;
    assert_eq!(outcome.failures, [(0, 0)]);
    assert_eq!(
        outcome.states,
        [State::Failed, State::Done, State::Pending, State::Pending]
    );
    assert!(!outcome.is_done() && !outcome.stopped);
}

#[tokio::test]
async fn l23_slow_waits_keep_no_object_from_being_written() {
    // Thirty waits that never end, and a hundred writes.
    let mut tasks = vec![WAIT; 30];
    tasks.extend([WRITE; 100]);
    let plan = plan(&tasks, &[]);
    let actor = Steered {
        held: (0..30).collect(),
        ..Steered::default()
    };
    let limits = Limits {
        writes: 4,
        waits: 1000,
    };
    let walk = run(&plan, &actor, limits, pending());
    let writes_are_done = async {
        while actor
            .begun
            .borrow()
            .iter()
            .filter(|vertex| **vertex >= 30)
            .count()
            < 100
        {
            tokio::task::yield_now().await;
        }
        (0..30).for_each(|vertex| actor.release(vertex));
    };
    let (outcome, ()) = tokio::join!(walk, writes_are_done);
    assert!(outcome.is_done());
    assert_eq!(actor.most.borrow().1, 4);
}

#[tokio::test]
async fn writes_that_were_sent_are_awaited_after_a_failure_and_waits_are_not() {
    let plan = plan(&[WRITE, WRITE, WAIT], &[]);
    let actor = Steered {
        held: BTreeSet::from([0, 1, 2]),
        failing: BTreeSet::from([0]),
        ..Steered::default()
    };
    let walk = run(&plan, &actor, Limits::default(), pending());
    let steer = async {
        while actor.begun.borrow().len() < 3 {
            tokio::task::yield_now().await;
        }
        actor.release(0);
        tokio::task::yield_now().await;
        actor.release(1);
    };
    let (outcome, ()) = tokio::join!(walk, steer);
    assert_eq!(
        outcome.states,
        [State::Failed, State::Done, State::Canceled]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_gives_writes_five_seconds_and_begins_nothing_new() {
    let plan = plan(&[WRITE, WRITE], &[(0, 1)]);
    let actor = Steered {
        held: BTreeSet::from([0]),
        ..Steered::default()
    };
    let begin = tokio::time::Instant::now();
    let outcome = run(&plan, &actor, Limits::default(), async {}).await;
    assert!(outcome.stopped);
    assert_eq!(outcome.states, [State::Canceled, State::Pending]);
    assert_eq!(begin.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn a_plan_of_barriers_is_done_at_once() {
    let plan = plan(&[Task::Barrier, Task::Barrier], &[(0, 1)]);
    let outcome = run(&plan, &Steered::default(), Limits::default(), pending()).await;
    assert!(outcome.is_done());
    assert!(Steered::default().begun.borrow().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    /// In whatever order operations end, each begins after all it depends on, and a failure leaves what depends on it alone.
    #[test]
    fn every_edge_is_respected(
        edges in proptest::collection::vec((0usize..10, 0usize..10), 0..25),
        waits in proptest::collection::vec(any::<bool>(), 10),
        failing in proptest::option::of(0usize..10),
        writes in 1usize..4,
    ) {
        let forward: Vec<(usize, usize)> = edges.iter().filter(|(a, b)| a < b).copied().collect();
        let tasks: Vec<Task> = waits.iter().map(|wait| if *wait { WAIT } else { WRITE }).collect();
        let plan = plan(&tasks, &forward);
        let actor = Steered { failing: failing.into_iter().collect(), ..Steered::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(run(&plan, &actor, Limits { writes, waits: 3 }, pending()));
        let begun = actor.begun.borrow();
        for (from, to) in &forward {
            if begun.contains(to) {
                prop_assert_eq!(outcome.states[*from], State::Done);
            }
        }
        prop_assert!(actor.most.borrow().1 <= writes);
        prop_assert_eq!(outcome.is_done(), failing.is_none());
        if let Some(vertex) = failing {
            for (_, to) in forward.iter().filter(|(from, _)| *from == vertex) {
                prop_assert!(!begun.contains(to));
            }
        }
    }
}
