//! Templates that mean harm end with an error, soon, without much memory and without a panic.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use kzero_gotmpl::{ErrorKind, FuncMap, Limits, MissingKey, Param, Still, TemplateSet, Value};
use proptest::prelude::*;

fn set() -> TemplateSet {
    let mut funcs = FuncMap::sprig();
    funcs.add("include", &[Param::String, Param::Any], None, |cx, args| {
        let name = args[0].as_str().cloned().unwrap_or_default();
        Ok(Value::String(cx.include(&name, &args[1])?))
    });
    TemplateSet::new("root", funcs).missing_key(MissingKey::Zero)
}

/// Bounds small enough for unoptimised code; the ratio of work to bounds is what is tested.
fn limits() -> Limits {
    Limits {
        depth: 1000,
        steps: 300_000,
        memory: 16 << 20,
    }
}

fn render(text: &str) -> Result<Vec<u8>, Box<kzero_gotmpl::TemplateError>> {
    let mut set = set();
    set.parse("t", text)?;
    set.render(
        "t",
        &Value::map([("m", Value::map([("a", Value::Int(1))]))]),
        &Still::new(0, 0),
        &limits(),
    )
}

#[track_caller]
fn is_bounded(text: &str) {
    let error = render(text).unwrap_err();
    assert_eq!(error.root().kind, ErrorKind::Limit, "{text}: {error}");
    assert_eq!(error.kind, ErrorKind::Limit, "{text}: {error}");
}

#[test]
fn texts_that_are_read_again_and_again_are_counted() {
    for call in [
        "upper $s",
        "print $s 1",
        "toDate `2006` $s",
        "eq $s $s",
        "ext $s",
    ] {
        is_bounded(&format!(
            "{{{{ $s := repeat 100000 `a` }}}}{{{{ range 100 }}}}{{{{ $_ := {call} }}}}{{{{ end }}}}"
        ));
    }
}

#[test]
fn templates_without_end_reach_a_bound() {
    for text in [
        "{{ define \"x\" }}{{ template \"x\" }}{{ end }}{{ template \"x\" }}",
        "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}",
        "{{ range 9223372036854775807 }}{{ end }}",
        "{{ range 100000000 }}x{{ end }}",
        "{{ until 9223372036854775807 | len }}",
        "{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}",
        "{{ untilStep -9223372036854775807 9223372036854775807 1 }}",
        "{{ seq 1 1000000000 }}",
        "{{ repeat 2000000000 \"x\" }}",
        "{{ repeat 20000 (repeat 20000 \"x\") }}",
        "{{ indent 1000000000 \"x\\ny\" }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = print $s $s }}{{ end }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = printf \"%s%s\" $s $s }}{{ end }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = cat $s $s }}{{ end }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = replace \"x\" \"xx\" $s }}{{ end }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = regexReplaceAll \"x\" $s \"xx\" }}{{ end }}",
        "{{ $s := \"\\\"\" }}{{ range until 64 }}{{ $s = quote $s }}{{ end }}",
        "{{ $s := \"x\" }}{{ range until 64 }}{{ $s = join $s (list $s $s) }}{{ end }}",
        "{{ $s := \"a\" }}{{ range until 64 }}{{ $s = b64enc (print $s $s) }}{{ end }}",
        "{{ $l := list 1 }}{{ range until 64 }}{{ $l = concat $l $l }}{{ end }}",
        "{{ $l := list 1 }}{{ range until 64 }}{{ $l = list $l $l }}{{ end }}{{ $l }}",
        "{{ $l := list 1 }}{{ range until 64 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}",
        "{{ $l := list 1 }}{{ range until 64 }}{{ $l = list $l $l }}{{ end }}{{ deepCopy $l | len }}",
        "{{ $a := list 1 }}{{ $b := list 1 }}{{ range until 64 }}{{ $a = list $a $a }}{{ $b = list $b $b }}{{ end }}{{ deepEqual $a $b }}",
        "{{ $l := list }}{{ range until 100000 }}{{ $l = append $l . }}{{ end }}",
        "{{ $d := dict }}{{ range $i, $_ := until 20000 }}{{ $_ := set $d (toString $i) (repeat 1000 \"x\") }}{{ end }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ toJson $d | len }}{{ mustToJson $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ deepCopy $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ printf \"%s %d\" $d $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ quote $d }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ $e := dict }}{{ $_ := set $e \"a\" $e }}{{ deepEqual $d $e }}",
        "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ $e := dict }}{{ $_ := set $e \"a\" $e }}{{ merge $d $e }}",
        "{{ range until 2000 }}{{ $_ := genPrivateKey \"rsa\" }}{{ end }}",
        "{{ randAlpha 100000000 }}",
        "{{ randBytes 100000000 }}",
        "{{ $s := \"1e300\" }}{{ $p := mulf $s }}{{ range until 100000 }}{{ $p = mulf $s $s $s $s $s $s $s $s }}{{ end }}",
        "{{ printf \"%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d\" 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 }}",
    ] {
        is_bounded(text);
    }
}

#[test]
fn deep_texts_are_refused_or_fit() {
    for (open, inner, close) in [
        ("{{ if 1 }}", "x", "{{ end }}"),
        ("{{ with 1 }}", "x", "{{ end }}"),
        ("{{ if 0 }}{{ else if 1 }}", "x", "{{ end }}"),
    ] {
        let text = format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(render(&text).unwrap_err().kind, ErrorKind::Parse);
        let text = format!("{}{inner}{}", open.repeat(1000), close.repeat(1000));
        assert_eq!(render(&text).unwrap(), b"x");
    }
    let text = format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(render(&text).is_err());
    let text = format!("{{{{ {}1{} }}}}", "(".repeat(2000), ")".repeat(2000));
    assert_eq!(render(&text).unwrap(), b"1");
    let chain = format!("{{{{ .m{} }}}}", ".a".repeat(100_000));
    assert!(render(&chain).is_err());
    let json = format!("{{{{ fromJson \"{}\" }}}}", "[".repeat(1_000_000));
    assert_eq!(render(&json).unwrap(), b"<no value>");
}

#[test]
fn patterns_without_end_are_bounded() {
    let text = "{{ regexMatch \"(a*)*b\" (repeat 100000 \"a\") }}";
    assert_eq!(render(text).unwrap(), b"false");
    // Go refuses repetitions beyond a thousand; nested ones grow too large for either.
    assert!(render("{{ mustRegexMatch \"((a{1000}){1000}){1000}\" \"a\" }}").is_err());
    assert!(render("{{ mustRegexMatch \"(?:(?:\\\\p{L}{500}){20})\" \"a\" }}").is_err());
}

#[test]
fn a_bound_is_told_with_its_place() {
    let error = render("a\n{{ range 100000000 }}{{ end }}").unwrap_err();
    assert_eq!((error.line, error.kind), (2, ErrorKind::Limit));
    assert!(
        error
            .to_string()
            .contains("rendering takes more than 300000 steps"),
        "{error}"
    );
}

/// Pieces of templates, so that random texts get past the lexer.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[{}()|.$:=\"`'/* a-z0-9-]{0,12}",
        prop::sample::select(vec![
            "{{",
            "}}",
            "{{-",
            "-}}",
            " if ",
            " range ",
            " with ",
            "{{end}}",
            "{{else}}",
            " $x ",
            " := ",
            " .m.a ",
            " (",
            ") ",
            " | ",
            " printf \"%v\" ",
            " \"s\" ",
            " 1 ",
            " define \"x\" ",
            " template \"x\" ",
            " break ",
            " nil ",
            "/*",
            "*/",
            "`",
            " index ",
            " dict ",
            " list ",
            " toJson ",
            " until 3 ",
            " regexMatch ",
            " date ",
            " semverCompare ",
            " fromJson ",
            " urlParse ",
            " b64dec ",
            " 'a' ",
            " 1e3 ",
        ])
        .prop_map(ToOwned::to_owned),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(piece(), 0..24)) {
        let _ = render(&pieces.concat());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut set = set();
        let text = [b"{{ ", &bytes[..], b" }}"].concat();
        if set.parse("t", text).is_ok() {
            let _ = set.render("t", &Value::Nil, &Still::new(0, 0), &limits());
        }
    }

    #[test]
    fn no_argument_makes_a_function_panic(
        pick in any::<prop::sample::Index>(),
        texts in prop::collection::vec(any::<String>(), 1..6),
        ints in prop::collection::vec(any::<i64>(), 1..6),
    ) {
        let names = FuncMap::sprig().names();
        let name = &names[pick.index(names.len())];
        // Keys take long to make, and are made from no argument but their kind.
        prop_assume!(!name.starts_with("gen") && !matches!(name.as_str(), "bcrypt" | "htpasswd" | "derivePassword"));
        for kinds in 0_u32..64 {
            let mut call = format!("{{{{ {name}");
            for at in 0..3 {
                match kinds >> (2 * at) & 3 {
                    0 => {}
                    1 => call.push_str(&format!(" (fromJson {:?})", serde_json::to_string(&texts[at % texts.len()]).unwrap())),
                    2 => call.push_str(&format!(" {}", ints[at % ints.len()] % 1000)),
                    _ => call.push_str(" (list \"a\" 1 nil (dict \"a\" .))"),
                }
            }
            let _ = render(&format!("{call} }}}}"));
        }
    }

    #[test]
    fn no_format_makes_printf_panic(format in "[%a-zA-Z0-9+# .*\\[\\]-]{0,16}", number in any::<f64>(), int in any::<i64>()) {
        let _ = render(&format!("{{{{ printf {format:?} {number:e} {int} \"é\" (list 1 nil) (dict \"a\" 1.5) 3 }}}}"));
    }
}
