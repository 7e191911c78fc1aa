//! Renders a chart with its own values and prints the manifests, as `helm template` would:
//! `cargo run -p kzero-chart --example render -- path/to/chart`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_chart::{load, manifest};
use kzero_gotmpl::Still;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.ok_or("which chart? give its folder or archive")?;
    let chart = load::path_to_render(&path)?;
    let prepared = Prepared::new(&chart, &serde_json::Map::new())?;
    let release = Release::install("example", "default");
    // A clock that stands still and keys that repeat: a program for people passes its own ambient.
    let ambient = Still::new(0, 0);
    let options = Options::default();
    let mut rendered = prepared.render(&release, &Capabilities::default(), &ambient, &options)?;
    let notes = manifest::take_notes(&mut rendered, &chart.metadata.name, false);
    let found = manifest::sort(&rendered.files)?;
    let mut out = std::io::stdout().lock();
    for manifest in &found.manifests {
        writeln!(
            out,
            "---\n# Source: {}\n{}",
            manifest.path, manifest.content
        )?;
    }
    writeln!(std::io::stderr().lock(), "{notes}")?;
    Ok(())
}
