//! Rendering alone, without a process around it: `cargo bench -p kzero-chart`.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

mod charts;

use charts::SIZES;
use divan::{Bencher, black_box};
use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_chart::{load, manifest};
use kzero_gotmpl::Still;
use serde_json::Map;

fn main() {
    divan::main();
}

fn with_chart(size: usize, run: impl FnOnce(&std::path::Path)) {
    let folder = tempfile::tempdir().unwrap();
    run(&charts::write(folder.path(), SIZES[size]));
}

/// Reading a chart's folder.
#[divan::bench(args = [0, 1, 2])]
fn load(bencher: Bencher<'_, '_>, size: usize) {
    with_chart(size, |path| {
        bencher.bench_local(|| load::dir(black_box(path)).unwrap());
    });
}

/// Dependencies and values.
#[divan::bench(args = [0, 1, 2])]
fn prepare(bencher: Bencher<'_, '_>, size: usize) {
    with_chart(size, |path| {
        let chart = load::dir(path).unwrap();
        bencher.bench_local(|| Prepared::new(black_box(&chart), &Map::new()).unwrap());
    });
}

/// Parsing and executing templates.
#[divan::bench(args = [0, 1, 2])]
fn render(bencher: Bencher<'_, '_>, size: usize) {
    with_chart(size, |path| {
        let chart = load::dir(path).unwrap();
        let prepared = Prepared::new(&chart, &Map::new()).unwrap();
        let release = Release::install("bench", "default");
        let (capabilities, options) = (Capabilities::default(), Options::default());
        let still = Still::new(0, 0);
        bencher.bench_local(|| {
            prepared
                .render(&release, &capabilities, &still, black_box(&options))
                .unwrap()
        });
    });
}

/// Splitting files, reading heads, sorting.
#[divan::bench(args = [0, 1, 2])]
fn sort(bencher: Bencher<'_, '_>, size: usize) {
    with_chart(size, |path| {
        let chart = load::dir(path).unwrap();
        let prepared = Prepared::new(&chart, &Map::new()).unwrap();
        let release = Release::install("bench", "default");
        let (capabilities, options) = (Capabilities::default(), Options::default());
        let still = Still::new(0, 0);
        let rendered = prepared
            .render(&release, &capabilities, &still, &options)
            .unwrap();
        bencher.bench_local(|| manifest::sort(black_box(&rendered.files)).unwrap());
    });
}
