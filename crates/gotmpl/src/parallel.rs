//! Independent work on several processors.
//!
//! Duty: do the same for many items at once where that is worth a thread, with results and errors as if it had been
//! done one by one.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Less work than this, in bytes, is done sooner than a thread is started.
const WORTH_A_THREAD: usize = 128 * 1024;

/// More threads than this give little: what is not independent takes longer by then.
const MAX_THREADS: usize = 4;

/// Calls a function for each item, of which `size` tells how many bytes it is to work through, and gives the results in
/// the order of the items. Large work is shared with other threads, which have ended when this returns; how many
/// there are makes no difference to what it gives.
///
/// # Errors
///
/// That of the first item, by order, for which the function fails; others may not have been looked at.
pub fn try_map<T, R, E>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    call: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let bytes = items.iter().map(size).fold(0, usize::saturating_add);
    let threads = threads(bytes).min(items.len());
    if threads < 2 {
        return items.iter().map(call).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || share(items, &next, &call);
    let mut found: Vec<(usize, Result<R, E>)> = thread::scope(|scope| {
        // Where there can be no more threads, this one does it all.
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut found = work();
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

/// How many threads such work is worth.
fn threads(bytes: usize) -> usize {
    let worth = bytes / WORTH_A_THREAD + 1;
    if worth < 2 {
        return 1;
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    worth.min(processors).min(MAX_THREADS)
}

/// Does items, each taken by one thread only, until there is none left or one fails: all before that one are taken.
fn share<T, R, E>(
    items: &[T],
    next: &AtomicUsize,
    call: impl Fn(&T) -> Result<R, E>,
) -> Vec<(usize, Result<R, E>)> {
    let mut done = Vec::new();
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(at) else {
            return done;
        };
        let result = call(item);
        let failed = result.is_err();
        done.push((at, result));
        if failed {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::try_map;

    /// So large that several threads are worth it.
    const SIZE: usize = 1 << 20;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let doubled = try_map(&items, |_| SIZE, |item| Ok::<_, ()>(item * 2));
        assert_eq!(
            doubled,
            Ok(items.iter().map(|item| item * 2).collect::<Vec<_>>())
        );
    }

    #[test]
    fn the_first_error_by_order_is_given_whoever_finds_one() {
        let items: Vec<usize> = (0..1000).collect();
        let failing = |item: &usize| if *item < 700 { Ok(()) } else { Err(*item) };
        assert_eq!(try_map(&items, |_| SIZE, failing), Err(700));
        assert_eq!(try_map(&items, |_| 0, failing), Err(700));
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(try_map(&[], |_: &u8| SIZE, |_| Ok::<u8, ()>(0)), Ok(vec![]));
    }
}
