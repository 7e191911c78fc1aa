//! The live table: what is under way and for how long, on a terminal.
//!
//! Everything is drawn in beats, a tenth of a second apart: events only note what changed. A frame takes the place of the one
//! before, line by line; nothing else on the screen is touched.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kzero_release::event::Event;
use kzero_release::shown::{is_harmful, plain_lines};

/// Redraws a second at most.
const RATE: u8 = 10;
/// The most rows; more are counted in the last line.
const ROWS: usize = 12;

/// Rows of what is under way above a line that counts.
pub(super) struct Table {
    bar: ProgressBar,
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
    /// Lines that go above the table.
    said: Vec<String>,
    /// What the table shows.
    shown: String,
}

struct Row {
    what: String,
    begin: Instant,
}

impl Table {
    /// An empty table on standard error.
    pub(super) fn new() -> Self {
        Self::on(ProgressDrawTarget::stderr_with_hz(RATE))
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        let bar = match ProgressStyle::with_template("{msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        Self {
            bar,
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
            }),
            Event::Done { what, .. } => {
                state.done += 1;
                state.drop_row(what);
            }
            Event::Failed { what, .. } => {
                state.failed += 1;
                state.drop_row(what);
            }
            Event::Progress { object, text } => {
                state.news.insert(object.clone(), text.clone());
            }
            _ => {}
        }
    }

    /// Has a line stand above the table, from the next beat on.
    pub(super) fn say(&self, line: &str) {
        let line = plain_lines(line).into_owned();
        self.state.borrow_mut().said.push(line);
    }

    /// Draws again as time goes by. Never ends.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub(super) async fn keep(&self) -> Infallible {
        let mut beat = tokio::time::interval(Duration::from_millis(1000 / u64::from(RATE)));
        // Beats that were missed are not made up for.
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            self.draw(width());
        }
    }

    /// Draws one frame, if there is anything new: lines above the table, or the table.
    fn draw(&self, width: Option<u16>) {
        let mut state = self.state.borrow_mut();
        if !state.said.is_empty() {
            let lines = std::mem::take(&mut state.said).join("\n");
            self.bar.println(lines);
            return;
        }
        let frame = state.frame(width.map_or(usize::MAX, usize::from));
        if state.shown != frame {
            self.bar.set_message(frame.clone());
            state.shown = frame;
        }
    }

    /// Prints something else; the table makes room for it.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the table away; gives the lines that had no beat any more.
    pub(super) fn end(&self) -> Vec<String> {
        self.bar.finish_and_clear();
        std::mem::take(&mut self.state.borrow_mut().said)
    }
}

/// Columns of the terminal on standard error.
fn width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

impl State {
    fn drop_row(&mut self, what: &str) {
        if let Some(at) = self.rows.iter().position(|row| row.what == what) {
            self.rows.remove(at);
        }
    }

    /// The lines of the table.
    fn frame(&self, width: usize) -> String {
        let rows = self.rows.iter().take(ROWS);
        let rows = rows.map(|row| line(&row.what, row.begin.elapsed(), &self.news));
        let hidden = self.rows.len().saturating_sub(ROWS);
        let count = count(self.done, self.failed, hidden);
        let lines: Vec<String> = rows
            .chain([count])
            .map(|line| line.chars().take(width).collect())
            .collect();
        lines.join("\n")
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

    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::{Table, count, line};

    /// A terminal that counts frames and notes what is written.
    #[derive(Debug, Default, Clone)]
    struct Screen {
        frames: Arc<AtomicUsize>,
        text: Arc<std::sync::Mutex<String>>,
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.text.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            self.frames.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    // S-14.52
    #[test]
    fn a_beat_draws_one_frame_however_much_happens() {
        let screen = Screen::default();
        let table = Table::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        let frames = || screen.frames.load(Ordering::SeqCst);
        for round in 1..=5 {
            let before = frames();
            for number in 0..100 {
                let what = format!("create ConfigMap shop/m{round}-{number}");
                table.take(&Event::Began { what: what.clone() });
                table.say(&format!("line {round}-{number}\u{1b}[2J"));
                if number % 2 == 0 {
                    let elapsed = Duration::ZERO;
                    table.take(&Event::Done { what, elapsed });
                }
            }
            assert_eq!(frames(), before, "events alone draw nothing");
            table.draw(Some(80));
            assert_eq!(frames(), before + 1, "lines and table are one frame");
            table.draw(Some(80));
            assert_eq!(frames(), before + 2);
            // Nothing new, nothing drawn, unless a second has passed.
            let shown = table.state.borrow().shown.clone();
            table.draw(Some(80));
            let is_same = shown == table.state.borrow().shown;
            assert_eq!(frames(), before + 2 + usize::from(!is_same));
        }
        let text = screen.text.lock().unwrap().clone();
        assert!(text.contains("line 5-99\\u{1b}[2J"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        table.say("late");
        assert_eq!(table.end(), ["late"]);
    }

    #[test]
    fn lines_are_cut_to_the_width_of_the_terminal() {
        let table = Table::on(ProgressDrawTarget::hidden());
        let what = "wait for ".repeat(20);
        table.take(&Event::Began { what });
        let frame = table.state.borrow().frame(20);
        assert!(
            frame.lines().all(|line| line.chars().count() <= 20),
            "{frame}"
        );
        assert_eq!(frame.lines().count(), 2);
    }

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
