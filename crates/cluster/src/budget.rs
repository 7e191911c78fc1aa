//! Time limits that nest. A [`Budget`] is the only way to a timeout in this crate: it knows when
//! time is up and which setting said so, so that an error can name it (S-3.9).

use std::{future::Future, sync::Arc, time::Duration};

use tokio::time::Instant;

/// How much time a piece of work may still take, and the name of the limit that ends it.
///
/// Budgets nest: a child ends at the earlier of its own end and its parent's, and carries the
/// label of whichever is earlier. Cloning shares the end, it does not start a new period.
#[derive(Clone, Debug)]
pub struct Budget {
    end: Option<Instant>,
    label: Arc<str>,
}

/// A budget ran out. Displays as the label of the limit, such as `run.timeout 25m0s`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{label}")]
pub struct Expired {
    /// The limit that ran out, with its length, as given to [`Budget::new`] or [`Budget::child`].
    pub label: Arc<str>,
}

impl Budget {
    /// A budget that never ends. Its label is `no limit`.
    pub fn unlimited() -> Self {
        Self {
            end: None,
            label: Arc::from("no limit"),
        }
    }

    /// A budget of the given length that starts now. `label` names the setting and its length.
    pub fn new(label: impl Into<Arc<str>>, length: Duration) -> Self {
        Self::unlimited().child(label, length)
    }

    /// The earlier of this budget's end and `length` from now, with the label of the earlier one.
    #[must_use]
    pub fn child(&self, label: impl Into<Arc<str>>, length: Duration) -> Self {
        // A length beyond what the clock can express never ends on its own.
        let own = Instant::now().checked_add(length);
        match (self.end, own) {
            (Some(parent), Some(own)) if parent <= own => self.clone(),
            (Some(_), None) | (None, None) => self.clone(),
            (_, Some(own)) => Self {
                end: Some(own),
                label: label.into(),
            },
        }
    }

    /// The time that is left; `None` when there is no limit, zero when it has run out.
    pub fn remaining(&self) -> Option<Duration> {
        self.end
            .map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// The label of the limit that will end this budget.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the time has run out.
    pub fn expired(&self) -> bool {
        self.remaining() == Some(Duration::ZERO)
    }

    /// The error that says this budget ran out.
    pub fn expiry(&self) -> Expired {
        Expired {
            label: Arc::clone(&self.label),
        }
    }

    /// Runs `future` until it is done or the time is up.
    ///
    /// # Errors
    ///
    /// [`Expired`] when the time ran out first; `future` is then dropped. A budget that had run
    /// out before polls the future once, so work that is ready at once still succeeds.
    ///
    /// # Cancel safety
    ///
    /// As safe as `future` itself.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that bounds time"
    )]
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Expired> {
        match self.end {
            None => Ok(future.await),
            Some(end) => tokio::time::timeout_at(end, future)
                .await
                .map_err(|_| self.expiry()),
        }
    }

    /// Waits for `length`, or less when the budget ends earlier.
    ///
    /// # Errors
    ///
    /// [`Expired`] when the budget ended first.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn sleep(&self, length: Duration) -> Result<(), Expired> {
        self.run(tokio::time::sleep(length)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_limit_wins_and_gives_its_name() {
        let run = Budget::new("run.timeout 10s", seconds(10));
        let step = run.child("step timeout 3s", seconds(3));
        let longer = run.child("step timeout 1m0s", seconds(60));
        assert_eq!(step.label(), "step timeout 3s");
        assert_eq!(longer.label(), "run.timeout 10s");
        assert_eq!(longer.remaining(), Some(seconds(10)));
        let expired = step.run(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(expired.to_string(), "step timeout 3s");
        assert!(step.expired());
        assert!(!run.expired());
        assert_eq!(run.remaining(), Some(seconds(7)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_does_not_outlive_a_parent_that_started_earlier() {
        let run = Budget::new("run.timeout 10s", seconds(10));
        tokio::time::advance(seconds(9)).await;
        let step = run.child("step timeout 5s", seconds(5));
        assert_eq!(step.remaining(), Some(seconds(1)));
        assert_eq!(
            step.sleep(seconds(2)).await.unwrap_err().to_string(),
            "run.timeout 10s"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_length_beyond_the_clock_is_no_limit() {
        let budget = Budget::new("huge", Duration::MAX);
        assert_eq!(budget.remaining(), None);
        assert!(!budget.expired());
        assert_eq!(budget.run(async { 7 }).await, Ok(7));
    }
}
