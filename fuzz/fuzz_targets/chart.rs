//! A chart with a child: values of both, templates, a values file.

#![no_main]

use arbitrary::Arbitrary;
use kzero_chart::load::{File, files};
use kzero_chart::render::{Capabilities, Options, Prepared, Release};
use kzero_chart::{manifest, values, yaml};
use kzero_gotmpl::{Limits, Still};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    chart: &'a str,
    values: &'a str,
    child_values: &'a str,
    template: &'a [u8],
    helper: &'a [u8],
    given: &'a str,
    set: &'a str,
}

fn file(name: &str, data: &[u8]) -> File {
    File {
        name: name.to_owned(),
        data: data.to_vec().into(),
    }
}

fuzz_target!(|input: Input<'_>| {
    let head = format!("apiVersion: v2\nname: ch\nversion: 1.0.0\n{}", input.chart);
    let child = b"apiVersion: v2\nname: sub\nversion: 1.0.0\n";
    let Ok(chart) = files(vec![
        file("Chart.yaml", head.as_bytes()),
        file("values.yaml", input.values.as_bytes()),
        file("templates/a.yaml", input.template),
        file("templates/_h.tpl", input.helper),
        file("f.txt", input.helper),
        file("charts/sub/Chart.yaml", child),
        file("charts/sub/values.yaml", input.child_values.as_bytes()),
        file("charts/sub/templates/a.yaml", input.template),
    ]) else {
        return;
    };
    let mut given = match yaml::decode(input.given) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let _ = values::set::set(&mut given, input.set);
    let Ok(prepared) = Prepared::new(&chart, &given) else {
        return;
    };
    let options = Options {
        limits: Limits {
            depth: 100,
            steps: 100_000,
            memory: 16 << 20,
        },
        ..Options::default()
    };
    let release = Release::install("rel", "space");
    let capabilities = Capabilities::default();
    if let Ok(rendered) = prepared.render(&release, &capabilities, &Still::new(0, 0), &options) {
        let _ = manifest::sort(&rendered.files);
    }
});
