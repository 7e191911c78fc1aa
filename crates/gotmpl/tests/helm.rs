//! Snippets as real Helm renders them, through functions a host adds: `include`, `tpl` and `required`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use kzero_gotmpl::{
    FuncError, FuncMap, Limits, MissingKey, Param, Still, Str, TemplateSet, Value, from_json,
};
use serde_json::Value as Json;

fn functions() -> FuncMap {
    let mut funcs = FuncMap::sprig();
    funcs.add("include", &[Param::String, Param::Any], None, |cx, args| {
        let name = args[0].as_str().cloned().unwrap_or_default();
        Ok(Value::String(cx.include(&name, &args[1])?))
    });
    funcs.add("tpl", &[Param::String, Param::Any], None, |cx, args| {
        let text = args[0].as_str().cloned().unwrap_or_default();
        let mut set = cx.templates().child();
        set.parse("gotpl", text)?;
        Ok(Value::String(cx.include_from(
            &set,
            &Str::from("gotpl"),
            &args[1],
        )?))
    });
    funcs.add(
        "required",
        &[Param::String, Param::Any],
        None,
        |_, args| match &args[1] {
            Value::Nil => Err(FuncError::new(args[0].as_str().unwrap().to_text())),
            Value::String(text) if text.is_empty() => {
                Err(FuncError::new(args[0].as_str().unwrap().to_text()))
            }
            given => Ok(given.clone()),
        },
    );
    funcs
}

fn render(helpers: &str, template: &str, data: &Value) -> Result<String, String> {
    let mut set = TemplateSet::new("gotpl", functions()).missing_key(MissingKey::Zero);
    let text = format!("{helpers}{{{{ define \"T\" }}}}{template}{{{{ end }}}}");
    let file = "ch/templates/_h.tpl";
    set.parse(file, text)
        .map_err(|error| format!("parse error at ({file}:{}): {}", error.line, error.reason()))?;
    let file = "ch/templates/t.yaml";
    set.parse(file, "out: {{ include \"T\" . }}").unwrap();
    let out = set
        .render(file, data, &Still::new(0, 0), &Limits::default())
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out)
        .unwrap()
        .strip_prefix("out: ")
        .unwrap()
        .to_owned())
}

#[test]
fn snippets_are_rendered_as_helm_renders_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/helm-snippets.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let header: Json = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut count = 0;
    for line in lines {
        let case: Json = serde_json::from_str(line).unwrap();
        let data = Value::map([
            (
                "Values",
                from_json(header["values"].to_string().as_bytes()).unwrap(),
            ),
            ("Release", Value::map([("Name", Value::from("rel"))])),
            ("Chart", Value::map([("Name", Value::from("ch"))])),
        ]);
        let found = render(
            header["helpers"].as_str().unwrap(),
            case["template"].as_str().unwrap(),
            &data,
        );
        let name = &case["name"];
        count += 1;
        match (case["ok"].as_str(), case["err"].as_str()) {
            (Some(wanted), _) => assert_eq!(found.as_deref(), Ok(wanted), "{name}"),
            // Helm cuts the messages of `fail` and `required` down to the words and the outermost place.
            (None, Some(wanted)) => {
                let error = found.unwrap_err();
                match wanted.strip_prefix("execution error at (ch/templates/t.yaml:1:8): ") {
                    Some(words) => assert!(error.ends_with(&format!(": {words}")), "{error}"),
                    None => assert_eq!(error, wanted, "{name}"),
                }
            }
            (None, None) => unreachable!("a case has a result"),
        }
    }
    assert!(count > 30);
}

#[test]
fn what_tpl_defines_stays_inside() {
    let data = Value::Nil;
    let text = "{{ tpl \"{{ define \\\"in\\\" }}I{{ end }}{{ include \\\"in\\\" . }}\" . }}{{ include \"in\" . }}";
    let error = render("", text, &data).unwrap_err();
    assert!(
        error.ends_with("template: no template \"in\" associated with template \"gotpl\""),
        "{error}"
    );
}
