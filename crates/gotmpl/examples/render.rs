//! Renders a template with JSON data: `cargo run -p kzero-gotmpl --example render -- TEMPLATE [DATA.json]`.
//!
//! The template gets sprig's functions and, as an example of a function that calls back, `include`.

use std::error::Error;
use std::io::Write as _;

use kzero_gotmpl::{FuncMap, Limits, MissingKey, Param, Still, TemplateSet, Value, from_json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let file = args.next().ok_or("usage: render TEMPLATE [DATA.json]")?;
    let text = std::fs::read(&file)?;
    let data = match args.next() {
        Some(data) => from_json(&std::fs::read(data)?)?,
        None => Value::Nil,
    };

    let mut funcs = FuncMap::sprig();
    funcs.add(
        "include",
        &[Param::String, Param::Any],
        None,
        |cx, args| match args {
            [Value::String(name), data] => Ok(Value::String(cx.include(name, data)?)),
            _ => Ok(Value::Nil),
        },
    );

    let name = file.to_string_lossy().into_owned();
    let mut set = TemplateSet::new("example", funcs).missing_key(MissingKey::Zero);
    set.parse(&name, text)?;
    // A clock that stands still and a fixed seed: the same text in every run.
    let ambient = Still::new(1_700_000_000, 7);
    let out = set.render(&name, &data, &ambient, &Limits::default())?;
    std::io::stdout().write_all(&out)?;
    Ok(())
}
