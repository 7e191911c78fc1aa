//! A text as a template with some data: no panic, and an end within bounds.

#![no_main]

use kzero_gotmpl::{FuncMap, Limits, MissingKey, Still, TemplateSet, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let mut set = TemplateSet::new("root", FuncMap::sprig()).missing_key(MissingKey::Zero);
    if set.parse("t", text.to_vec()).is_err() {
        return;
    }
    let data = Value::map([
        ("a", Value::from("text")),
        ("n", Value::Float(1.5)),
        ("l", Value::list(vec![Value::Int(1), Value::Nil, Value::from("x")])),
        ("m", Value::map([("k", Value::Int64(7))])),
    ]);
    let limits = Limits {
        depth: 100,
        steps: 100_000,
        memory: 16 << 20,
    };
    let _ = set.render("t", &data, &Still::new(0, 0), &limits);
});
