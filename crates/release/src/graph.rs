//! A directed graph without circles, each edge with its reason.
//!
//! Duty: hold vertices and edges, find a circle and name it, tell what is ready when something is done. What the vertices mean
//! is none of its business.

use std::collections::VecDeque;

/// A vertex, by number in the order of its making.
pub type Vertex = usize;

/// An edge: `to` begins after `from` is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge<R> {
    /// What is first.
    pub from: Vertex,
    /// What is after it.
    pub to: Vertex,
    /// Why.
    pub reason: R,
}

/// Vertices by number, and edges.
#[derive(Debug, Clone)]
pub struct Graph<R> {
    edges: Vec<Edge<R>>,
    /// By vertex, the edges that leave it.
    leaving: Vec<Vec<usize>>,
}

impl<R> Default for Graph<R> {
    fn default() -> Self {
        Self {
            edges: Vec::new(),
            leaving: Vec::new(),
        }
    }
}

impl<R> Graph<R> {
    /// Adds a vertex.
    pub fn add(&mut self) -> Vertex {
        self.leaving.push(Vec::new());
        self.leaving.len() - 1
    }

    /// Adds an edge between vertices that were added; one that was not is passed over.
    pub fn connect(&mut self, from: Vertex, to: Vertex, reason: R) {
        let number = self.edges.len();
        if to >= self.leaving.len() {
            return;
        }
        if let Some(leaving) = self.leaving.get_mut(from) {
            leaving.push(number);
            self.edges.push(Edge { from, to, reason });
        }
    }

    /// How many vertices there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaving.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaving.is_empty()
    }

    /// All edges.
    #[must_use]
    pub fn edges(&self) -> &[Edge<R>] {
        &self.edges
    }

    /// The edges that leave a vertex.
    pub fn leaving(&self, vertex: Vertex) -> impl Iterator<Item = &Edge<R>> {
        self.leaving
            .get(vertex)
            .into_iter()
            .flatten()
            .filter_map(|edge| self.edges.get(*edge))
    }

    /// Whether `to` can be reached from `from`.
    #[must_use]
    pub fn reaches(&self, from: Vertex, to: Vertex) -> bool {
        let mut seen = vec![false; self.len()];
        let mut open = vec![from];
        while let Some(vertex) = open.pop() {
            if vertex == to {
                return true;
            }
            if std::mem::replace(&mut seen[vertex], true) {
                continue;
            }
            open.extend(self.leaving(vertex).map(|edge| edge.to));
        }
        false
    }

    /// Drops edges.
    pub fn retain(&mut self, keep: impl FnMut(&Edge<R>) -> bool) {
        self.edges.retain(keep);
        for leaving in &mut self.leaving {
            leaving.clear();
        }
        for (number, edge) in self.edges.iter().enumerate() {
            if let Some(leaving) = self.leaving.get_mut(edge.from) {
                leaving.push(number);
            }
        }
    }

    /// An order in which every vertex is after all it depends on, or the edges of a circle, each beginning where the one
    /// before ends.
    ///
    /// # Errors
    ///
    /// A circle, the shortest through the first vertex that is on one.
    pub fn order(&self) -> Result<Vec<Vertex>, Vec<&Edge<R>>> {
        let mut progress = Progress::new(self);
        let mut order = Vec::with_capacity(self.len());
        let mut ready: VecDeque<Vertex> = progress.ready().into();
        while let Some(vertex) = ready.pop_front() {
            order.push(vertex);
            ready.extend(progress.done(self, vertex));
        }
        if order.len() == self.len() {
            return Ok(order);
        }
        let stuck = |vertex: &Vertex| {
            progress
                .waiting
                .get(*vertex)
                .is_some_and(|count| *count > 0)
        };
        let circle = (0..self.len())
            .filter(stuck)
            .find_map(|vertex| self.circle(vertex));
        // Vertices that cannot be ordered without a circle among them do not exist.
        Err(circle.unwrap_or_default())
    }

    /// The shortest way from a vertex back to itself.
    fn circle(&self, start: Vertex) -> Option<Vec<&Edge<R>>> {
        let mut came: Vec<Option<usize>> = vec![None; self.len()];
        let mut open = VecDeque::from([start]);
        while let Some(vertex) = open.pop_front() {
            for &number in self.leaving.get(vertex).into_iter().flatten() {
                let edge = self.edges.get(number)?;
                if edge.to == start {
                    let mut way = vec![edge];
                    let mut at = edge.from;
                    while at != start {
                        let before = self.edges.get((*came.get(at)?)?)?;
                        way.push(before);
                        at = before.from;
                    }
                    way.reverse();
                    return Some(way);
                }
                let place = came.get_mut(edge.to)?;
                if place.is_none() {
                    *place = Some(number);
                    open.push_back(edge.to);
                }
            }
        }
        None
    }
}

/// What of a graph is done.
#[derive(Debug, Clone)]
pub struct Progress {
    /// By vertex, how many it still waits for.
    waiting: Vec<usize>,
}

impl Progress {
    /// Nothing is done.
    #[must_use]
    pub fn new<R>(graph: &Graph<R>) -> Self {
        let mut waiting = vec![0; graph.len()];
        for edge in &graph.edges {
            waiting[edge.to] += 1;
        }
        Self { waiting }
    }

    /// The vertices that wait for nothing.
    #[must_use]
    pub fn ready(&self) -> Vec<Vertex> {
        (0..self.waiting.len())
            .filter(|vertex| self.waiting[*vertex] == 0)
            .collect()
    }

    /// Says that a vertex is done; gives those that now wait for nothing more.
    pub fn done<R>(&mut self, graph: &Graph<R>, vertex: Vertex) -> Vec<Vertex> {
        let mut ready = Vec::new();
        for edge in graph.leaving(vertex) {
            if let Some(count) = self.waiting.get_mut(edge.to) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.push(edge.to);
                }
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::{Graph, Progress};

    fn graph(vertices: usize, edges: &[(usize, usize)]) -> Graph<usize> {
        let mut graph = Graph::default();
        for _ in 0..vertices {
            graph.add();
        }
        for (reason, (from, to)) in edges.iter().enumerate() {
            graph.connect(*from, *to, reason);
        }
        graph
    }

    #[test]
    fn a_circle_is_named_edge_by_edge() {
        let circle = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]);
        let found = circle.order().unwrap_err();
        let way: Vec<(usize, usize, usize)> = found
            .iter()
            .map(|edge| (edge.from, edge.to, edge.reason))
            .collect();
        assert_eq!(way, [(1, 2, 1), (2, 3, 2), (3, 1, 3)]);
        assert!(graph(1, &[(0, 0)]).order().is_err());
        assert!(circle.reaches(0, 4) && !circle.reaches(4, 0));
    }

    #[test]
    fn edges_to_nowhere_are_none() {
        let mut graph = graph(1, &[(0, 7), (7, 0)]);
        assert!(graph.edges().is_empty());
        graph.retain(|_| false);
        assert_eq!(graph.order(), Ok(vec![0]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::default() })]

        /// Every edge is respected in every order of completion, and everything is done.
        #[test]
        fn any_interleaving_respects_every_edge(
            edges in proptest::collection::vec((0usize..12, 0usize..12), 0..40),
            choices in proptest::collection::vec(0usize..100, 12),
        ) {
            let forward: Vec<_> = edges.iter().map(|(a, b)| (*a.min(b), *a.max(b))).filter(|(a, b)| a != b).collect();
            let graph = graph(12, &forward);
            let mut progress = Progress::new(&graph);
            let mut ready = progress.ready();
            let mut done = Vec::new();
            for choice in choices {
                prop_assert!(!ready.is_empty());
                let vertex = ready.swap_remove(choice % ready.len());
                done.push(vertex);
                ready.extend(progress.done(&graph, vertex));
            }
            prop_assert_eq!(done.len(), 12);
            for (from, to) in forward {
                let place = |vertex| done.iter().position(|v| *v == vertex);
                prop_assert!(place(from) < place(to));
            }
        }

        /// An order is found exactly when no vertex reaches itself.
        #[test]
        fn an_order_is_found_or_a_real_circle(edges in proptest::collection::vec((0usize..8, 0usize..8), 0..20)) {
            let graph = graph(8, &edges);
            match graph.order() {
                Ok(order) => {
                    for (from, to) in edges {
                        let place = |vertex| order.iter().position(|v| *v == vertex);
                        prop_assert!(place(from) < place(to));
                    }
                }
                Err(circle) => {
                    prop_assert!(!circle.is_empty());
                    for (edge, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
                        prop_assert_eq!(edge.to, next.from);
                    }
                }
            }
        }
    }
}
