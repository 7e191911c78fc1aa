//! The live table: what is under way and for how long, on a terminal.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use kzero_release::event::Event;
use kzero_release::shown::is_harmful;

/// Redraws a second at most.
const RATE: u8 = 10;
/// The most rows; more are counted in the last line.
const ROWS: usize = 12;

/// Rows of what is under way above a line that counts.
pub(super) struct Table {
    bars: MultiProgress,
    total: ProgressBar,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// By what it does, in the order in which it began.
    rows: Vec<Row>,
    /// The last word on an object.
    news: HashMap<String, String>,
    done: usize,
    failed: usize,
}

struct Row {
    what: String,
    begin: Instant,
    bar: Option<ProgressBar>,
}

impl Table {
    /// An empty table.
    pub(super) fn new() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(RATE));
        let total = bars.add(bar());
        Self {
            bars,
            total,
            state: RefCell::default(),
        }
    }

    /// Takes in what happened.
    pub(super) fn take(&self, event: &Event) {
        let mut state = self.state.borrow_mut();
        match event {
            Event::Began { what } => state.rows.push(Row {
                what: what.clone(),
                begin: Instant::now(),
                bar: None,
            }),
            Event::Done { what, .. } => {
                state.done += 1;
                self.drop_row(&mut state, what);
            }
            Event::Failed { what, .. } => {
                state.failed += 1;
                self.drop_row(&mut state, what);
            }
            Event::Progress { object, text } => {
                state.news.insert(object.clone(), text.clone());
            }
            _ => {}
        }
    }

    fn drop_row(&self, state: &mut State, what: &str) {
        let Some(at) = state.rows.iter().position(|row| row.what == what) else {
            return;
        };
        if let Some(bar) = state.rows.remove(at).bar {
            self.bars.remove(&bar);
        }
    }

    /// Draws again as time goes by. Never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn keep(&self) -> Infallible {
        let mut beat = tokio::time::interval(Duration::from_millis(1000 / u64::from(RATE)));
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            self.draw();
        }
    }

    fn draw(&self) {
        let mut state = self.state.borrow_mut();
        let State {
            rows,
            news,
            done,
            failed,
        } = &mut *state;
        for row in rows.iter_mut().take(ROWS) {
            let bar = row
                .bar
                .get_or_insert_with(|| self.bars.insert_before(&self.total, bar()));
            set(bar, line(&row.what, row.begin.elapsed(), news));
        }
        let hidden = rows.len().saturating_sub(ROWS);
        set(&self.total, count(*done, *failed, hidden));
    }

    /// Prints something above the table.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.bars.suspend(print);
    }

    /// Takes the table away.
    pub(super) fn end(&self) {
        // A terminal that is gone needs no cleaning.
        let _ = self.bars.clear();
    }
}

/// Draws a row again if it says something else.
fn set(bar: &ProgressBar, text: String) {
    if bar.message() != text {
        bar.set_message(text);
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}");
    let bar = ProgressBar::no_length();
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// What is under way, for how long, and the last word on its object.
fn line(what: &str, elapsed: Duration, news: &HashMap<String, String>) -> String {
    let seconds = elapsed.as_secs();
    let known = news
        .iter()
        .find(|(object, _)| names(what, object))
        .map(|(_, text)| format!(": {text}"))
        .unwrap_or_default();
    // What the API server says may hold control characters, which a terminal would obey.
    format!("{seconds:>4}s  {what}{known}").replace(is_harmful, "\u{fffd}")
}

/// Whether an operation such as `wait for Deployment shop/web to be ready` names an object, and not one whose name goes on.
fn names(what: &str, object: &str) -> bool {
    what.split_once(object)
        .is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
}

fn count(done: usize, failed: usize, hidden: usize) -> String {
    let mut text = format!("{done} done");
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if hidden > 0 {
        text.push_str(&format!(", {hidden} more under way"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use kzero_release::event::Event;

    use super::{Table, count, line};

    #[test]
    fn a_row_has_time_operation_and_the_last_word() {
        let news = HashMap::from([("Deployment shop/web".to_owned(), "0 of 1\u{1b}".to_owned())]);
        assert_eq!(
            line(
                "wait for Deployment shop/web",
                Duration::from_secs(3),
                &news
            ),
            "   3s  wait for Deployment shop/web: 0 of 1\u{fffd}"
        );
        assert_eq!(count(3, 1, 2), "3 done, 1 failed, 2 more under way");
    }

    #[test]
    fn rows_come_and_go_with_operations() {
        let table = Table::new();
        let began = |what: &str| table.take(&Event::Began { what: what.into() });
        began("a");
        began("b");
        table.take(&Event::Done {
            what: "a".into(),
            elapsed: Duration::ZERO,
        });
        let state = table.state.borrow();
        assert_eq!(state.rows.len(), 1);
        assert_eq!(state.rows[0].what, "b");
        assert_eq!(state.done, 1);
    }
}
