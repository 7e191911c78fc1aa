//! Walks a plan: what is ready begins, up to two limits, until all is done or something fails.
//!
//! Writes and waits have limits of their own, so that thirty slow waits keep no object from being written. The first failure
//! ends all waits and lets nothing new begin; writes that were sent are awaited, since their effect would be unknown
//! otherwise.

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use kzero_cluster::Budget;

use crate::graph::{Progress, Vertex};
use crate::plan::{Operation, Plan, Task};

/// How long writes that were sent may take once the run is to stop (S-D.8).
const GRACE: Duration = Duration::from_secs(5);

/// How much may be under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Writes.
    pub writes: usize,
    /// Waits.
    pub waits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            writes: crate::live::CONCURRENCY,
            waits: 1024,
        }
    }
}

/// Does what a plan says.
pub trait Actor {
    /// Why an operation failed.
    type Failure;

    /// Does one operation; never called for barriers.
    fn perform<'a>(
        &'a self,
        vertex: Vertex,
        operation: Operation,
    ) -> LocalBoxFuture<'a, Result<(), Self::Failure>>;
}

/// How far an operation came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It did not begin.
    Pending,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It had begun when another one failed or the run was stopped; a write may or may not have taken effect.
    Canceled,
}

/// What came of a plan.
#[derive(Debug)]
pub struct Outcome<F> {
    /// By vertex.
    pub states: Vec<State>,
    /// What failed, in the order of failing. Writes that were under way at the first failure may have failed as well.
    pub failures: Vec<(Vertex, F)>,
    /// Whether it was stopped from outside.
    pub stopped: bool,
}

impl<F> Outcome<F> {
    /// Whether all was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.states.iter().all(|state| *state == State::Done)
    }
}

/// Walks a plan until it is done, something fails, or `stop` ends.
///
/// # Cancel safety
///
/// Not cancel-safe: when dropped, writes that were sent may or may not have taken effect. End it by `stop`.
pub async fn run<A: Actor>(
    plan: &Plan,
    actor: &A,
    limits: Limits,
    stop: impl Future<Output = ()>,
) -> Outcome<A::Failure> {
    let mut walk = Walk {
        plan,
        actor,
        limits,
        progress: Progress::new(&plan.graph),
        states: vec![State::Pending; plan.operations.len()],
        writes: VecDeque::new(),
        waits: VecDeque::new(),
        writing: FuturesUnordered::new(),
        waiting: FuturesUnordered::new(),
        failures: Vec::new(),
    };
    let ready = walk.progress.ready();
    walk.begin(ready);
    tokio::pin!(stop);
    let mut stopped = false;
    while walk.failures.is_empty() && !walk.is_idle() {
        tokio::select! {
            biased;
            Some((vertex, result)) = walk.writing.next() => walk.finish(vertex, result),
            Some((vertex, result)) = walk.waiting.next() => walk.finish(vertex, result),
            () = &mut stop => {
                stopped = true;
                break;
            }
        }
    }
    walk.drain(stopped).await;
    Outcome {
        states: walk.states,
        failures: walk.failures,
        stopped,
    }
}

type Ended<F> = (Vertex, Result<(), F>);

struct Walk<'a, A: Actor> {
    plan: &'a Plan,
    actor: &'a A,
    limits: Limits,
    progress: Progress,
    states: Vec<State>,
    /// Ready to begin.
    writes: VecDeque<Vertex>,
    waits: VecDeque<Vertex>,
    /// Under way.
    writing: FuturesUnordered<LocalBoxFuture<'a, Ended<A::Failure>>>,
    waiting: FuturesUnordered<LocalBoxFuture<'a, Ended<A::Failure>>>,
    failures: Vec<(Vertex, A::Failure)>,
}

impl<'a, A: Actor> Walk<'a, A> {
    fn is_idle(&self) -> bool {
        self.writing.is_empty() && self.waiting.is_empty()
    }

    /// Takes vertices that wait for nothing; barriers are done at once.
    fn begin(&mut self, ready: Vec<Vertex>) {
        let mut open: VecDeque<Vertex> = ready.into();
        while let Some(vertex) = open.pop_front() {
            let Some(operation) = self.plan.operations.get(vertex) else {
                continue;
            };
            match operation.task {
                Task::Barrier => {
                    self.set(vertex, State::Done);
                    open.extend(self.progress.done(&self.plan.graph, vertex));
                }
                task if task.writes() => self.writes.push_back(vertex),
                _ => self.waits.push_back(vertex),
            }
        }
        while self.writing.len() < self.limits.writes.max(1) {
            let Some(vertex) = self.writes.pop_front() else {
                break;
            };
            let started = self.start(vertex);
            self.writing.extend(started);
        }
        while self.waiting.len() < self.limits.waits.max(1) {
            let Some(vertex) = self.waits.pop_front() else {
                break;
            };
            let started = self.start(vertex);
            self.waiting.extend(started);
        }
    }

    fn start(&mut self, vertex: Vertex) -> Option<LocalBoxFuture<'a, Ended<A::Failure>>> {
        let operation = *self.plan.operations.get(vertex)?;
        self.set(vertex, State::Canceled);
        let actor = self.actor;
        Some(Box::pin(async move {
            (vertex, actor.perform(vertex, operation).await)
        }))
    }

    fn finish(&mut self, vertex: Vertex, result: Result<(), A::Failure>) {
        match result {
            Ok(()) => {
                self.set(vertex, State::Done);
                let ready = self.progress.done(&self.plan.graph, vertex);
                self.begin(ready);
            }
            Err(failure) => self.fail(vertex, failure),
        }
    }

    fn fail(&mut self, vertex: Vertex, failure: A::Failure) {
        self.set(vertex, State::Failed);
        self.failures.push((vertex, failure));
    }

    fn set(&mut self, vertex: Vertex, state: State) {
        if let Some(place) = self.states.get_mut(vertex) {
            *place = state;
        }
    }

    /// Awaits the writes that were sent; lets nothing new begin.
    async fn drain(&mut self, stopped: bool) {
        self.waiting.clear();
        let grace = if stopped {
            Budget::new("grace of a stop 5s", GRACE)
        } else {
            Budget::unlimited()
        };
        while !self.writing.is_empty() {
            match grace.run(self.writing.next()).await {
                Ok(Some((vertex, Ok(())))) => self.set(vertex, State::Done),
                Ok(Some((vertex, Err(failure)))) => self.fail(vertex, failure),
                Ok(None) | Err(_) => break,
            }
        }
        self.writing.clear();
    }
}

#[cfg(test)]
mod tests;
