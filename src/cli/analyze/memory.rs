//! What memory adds to a plan: sizes that come from it, and what there is to say of it (S-6.9, S-D.16).

use std::cell::RefCell;
use std::time::Duration;

use kzero_cluster::{Budget, Cluster};

use crate::checks::LiveReport;
use crate::event::{Level, SizeSource};
use crate::pipeline::{Plans, Recalled, Step};
use crate::state::memory::Memory;
use crate::state::place::Place;
use crate::state::store::Store;

/// How long the API server may take to say what is remembered.
const ANSWER: Duration = Duration::from_secs(30);

/// What is remembered, and what there is to say of it.
pub(super) async fn remembered(
    place: &Place,
    cluster: &Cluster,
    plans: &Plans,
) -> (Memory, Vec<String>) {
    let notes = RefCell::new(Vec::new());
    let tell = |level: Level, text: String| {
        if level >= Level::Warn {
            notes.borrow_mut().push(text);
        }
    };
    let store = Store::new(place, Ok(cluster.clone()), Box::new(tell));
    let budget = Budget::new("answer limit 30s", ANSWER);
    let memory = match store.read(&budget).await {
        Ok(known) => {
            let parked = plans.down.steps.iter();
            let keys = parked.filter_map(|step| step.action.subject().key());
            notes.borrow_mut().extend(store.bound(&known, keys));
            known.memory().clone()
        }
        Err(error) => {
            notes.borrow_mut().push(error.text);
            Memory::default()
        }
    };
    drop(store);
    (memory, notes.into_inner())
}

/// Where else sizes are remembered, when nothing is remembered here and a step of `up` would need it.
pub(super) async fn elsewhere(
    place: &Place,
    cluster: &Cluster,
    memory: &Memory,
    report: &LiveReport,
) -> Option<String> {
    let mut sources = report.rows.iter().map(|row| row.source);
    if !memory.is_empty() || !sources.any(|source| source == Some(SizeSource::Default)) {
        return None;
    }
    let store = Store::new(place, Ok(cluster.clone()), Box::new(|_, _| {}));
    let budget = Budget::new("answer limit 30s", ANSWER);
    let others = store.others(&budget).await;
    (!others.is_empty()).then(|| store.told_others(&others))
}

/// What memory says of a step: a size, or a flag.
pub(super) fn recalled(step: &Step, report: Option<&LiveReport>) -> Recalled {
    let row = report.and_then(|report| report.row(step));
    match row {
        Some(row) if row.source == Some(SizeSource::Remembered) => {
            match row.wanted.strip_prefix("suspend=") {
                Some(flag) => Recalled {
                    size: None,
                    suspend: Some(flag == "true"),
                },
                None => Recalled {
                    size: Some(format!("{} (remembered)", row.wanted)),
                    suspend: None,
                },
            }
        }
        _ => Recalled::default(),
    }
}
