//! Sprig's functions on strings.

use crate::cast;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, int_at, text_at};
use crate::gofmt;
use crate::number;
use crate::text::Str;
use crate::utf8;
use crate::value::{Elem, List, Map, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const INT: Param = Param::Int;
const ANY: Param = Param::Any;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "abbrev",
        params: &[INT, STR],
        rest: None,
        call: abbrev,
    },
    FuncDef {
        name: "abbrevboth",
        params: &[INT, INT, STR],
        rest: None,
        call: abbrev_both,
    },
    FuncDef {
        name: "cat",
        params: &[],
        rest: Some(ANY),
        call: cat,
    },
    FuncDef {
        name: "contains",
        params: &[STR, STR],
        rest: None,
        call: contains,
    },
    FuncDef {
        name: "hasPrefix",
        params: &[STR, STR],
        rest: None,
        call: has_prefix,
    },
    FuncDef {
        name: "hasSuffix",
        params: &[STR, STR],
        rest: None,
        call: has_suffix,
    },
    FuncDef {
        name: "hello",
        params: &[],
        rest: None,
        call: hello,
    },
    FuncDef {
        name: "indent",
        params: &[INT, STR],
        rest: None,
        call: indent,
    },
    FuncDef {
        name: "initials",
        params: &[STR],
        rest: None,
        call: initials,
    },
    FuncDef {
        name: "join",
        params: &[STR, ANY],
        rest: None,
        call: join,
    },
    FuncDef {
        name: "lower",
        params: &[STR],
        rest: None,
        call: lower,
    },
    FuncDef {
        name: "nindent",
        params: &[INT, STR],
        rest: None,
        call: nindent,
    },
    FuncDef {
        name: "nospace",
        params: &[STR],
        rest: None,
        call: nospace,
    },
    FuncDef {
        name: "plural",
        params: &[STR, STR, INT],
        rest: None,
        call: plural,
    },
    FuncDef {
        name: "quote",
        params: &[],
        rest: Some(ANY),
        call: quote,
    },
    FuncDef {
        name: "randAlpha",
        params: &[INT],
        rest: None,
        call: rand_alpha,
    },
    FuncDef {
        name: "randAlphaNum",
        params: &[INT],
        rest: None,
        call: rand_alpha_num,
    },
    FuncDef {
        name: "randAscii",
        params: &[INT],
        rest: None,
        call: rand_ascii,
    },
    FuncDef {
        name: "randNumeric",
        params: &[INT],
        rest: None,
        call: rand_numeric,
    },
    FuncDef {
        name: "repeat",
        params: &[INT, STR],
        rest: None,
        call: repeat,
    },
    FuncDef {
        name: "replace",
        params: &[STR, STR, STR],
        rest: None,
        call: replace,
    },
    FuncDef {
        name: "shuffle",
        params: &[STR],
        rest: None,
        call: shuffle,
    },
    FuncDef {
        name: "sortAlpha",
        params: &[ANY],
        rest: None,
        call: sort_alpha,
    },
    FuncDef {
        name: "split",
        params: &[STR, STR],
        rest: None,
        call: split,
    },
    FuncDef {
        name: "splitList",
        params: &[STR, STR],
        rest: None,
        call: split_list,
    },
    FuncDef {
        name: "splitn",
        params: &[STR, INT, STR],
        rest: None,
        call: splitn,
    },
    FuncDef {
        name: "squote",
        params: &[],
        rest: Some(ANY),
        call: squote,
    },
    FuncDef {
        name: "substr",
        params: &[INT, INT, STR],
        rest: None,
        call: substr,
    },
    FuncDef {
        name: "swapcase",
        params: &[STR],
        rest: None,
        call: swapcase,
    },
    FuncDef {
        name: "title",
        params: &[STR],
        rest: None,
        call: title,
    },
    FuncDef {
        name: "toString",
        params: &[ANY],
        rest: None,
        call: to_string,
    },
    FuncDef {
        name: "toStrings",
        params: &[ANY],
        rest: None,
        call: to_strings,
    },
    FuncDef {
        name: "trim",
        params: &[STR],
        rest: None,
        call: trim,
    },
    FuncDef {
        name: "trimAll",
        params: &[STR, STR],
        rest: None,
        call: trim_all,
    },
    FuncDef {
        name: "trimPrefix",
        params: &[STR, STR],
        rest: None,
        call: trim_prefix,
    },
    FuncDef {
        name: "trimSuffix",
        params: &[STR, STR],
        rest: None,
        call: trim_suffix,
    },
    FuncDef {
        name: "trimall",
        params: &[STR, STR],
        rest: None,
        call: trim_all,
    },
    FuncDef {
        name: "trunc",
        params: &[INT, STR],
        rest: None,
        call: trunc,
    },
    FuncDef {
        name: "untitle",
        params: &[STR],
        rest: None,
        call: untitle,
    },
    FuncDef {
        name: "upper",
        params: &[STR],
        rest: None,
        call: upper,
    },
    FuncDef {
        name: "wrap",
        params: &[INT, STR],
        rest: None,
        call: wrap,
    },
    FuncDef {
        name: "wrapWith",
        params: &[INT, STR, STR],
        rest: None,
        call: wrap_with,
    },
];

fn ok(text: impl Into<Str>) -> Result<Value> {
    Ok(Value::String(text.into()))
}

/// A part of a string; the string itself if it is all of it.
fn part(text: &Str, start: usize, end: usize) -> Result<Value> {
    if start == 0 && end == text.len() {
        return Ok(Value::String(text.clone()));
    }
    ok(text.get(start..end).unwrap_or_default())
}

fn hello(_: &mut Cx<'_>, _: &[Value]) -> Result<Value> {
    ok("Hello!")
}

fn abbreviate(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let len = text.len() as i64;
    if text.is_empty() || width < 4 {
        return Vec::new();
    }
    if len <= width {
        return text.to_vec();
    }
    let mut offset = offset.min(len);
    if len - offset < width - 3 {
        offset = len - (width - 3);
    }
    let cut = |from: i64, to: i64| text.get(from as usize..to as usize).unwrap_or_default();
    if offset <= 4 {
        return [cut(0, width - 3), b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < len {
        let rest = abbreviate(cut(offset, len), 0, width - 3);
        return [b"...", &rest[..]].concat();
    }
    [b"...", cut(len - (width - 3), len)].concat()
}

fn abbrev(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (width, text) = (int_at(args, 0), text_at(args, 1));
    if width < 4 {
        return Ok(Value::String(text));
    }
    ok(abbreviate(&text, 0, width))
}

fn abbrev_both(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (left, right, text) = (int_at(args, 0), int_at(args, 1), text_at(args, 2));
    if right < 4 || left > 0 && right < 7 {
        return Ok(Value::String(text));
    }
    ok(abbreviate(&text, left, right))
}

fn trunc(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (count, text) = (int_at(args, 0), text_at(args, 1));
    let len = text.len() as i64;
    if count < 0 && len.saturating_add(count) > 0 {
        return part(&text, (len + count) as usize, text.len());
    }
    if count >= 0 && len > count {
        return part(&text, 0, count as usize);
    }
    Ok(Value::String(text))
}

fn trim(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    let (start, end) = trim_bounds(&text, utf8::is_space);
    part(&text, start, end)
}

/// Where a string starts and ends without the characters that are to go.
fn trim_bounds(text: &[u8], gone: impl Fn(char) -> bool) -> (usize, usize) {
    let mut start = 0;
    while start < text.len() {
        let (c, width) = utf8::decode(&text[start..]);
        if !gone(c) {
            break;
        }
        start += width;
    }
    let mut end = text.len();
    while end > start {
        let (c, width) = utf8::decode_last(&text[start..end]);
        if !gone(c) {
            break;
        }
        end -= width;
    }
    (start, end)
}

fn trim_all(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (set, text) = (text_at(args, 0), text_at(args, 1));
    let set: Vec<char> = utf8::chars(&set).map(|(_, c, _)| c).collect();
    let (start, end) = trim_bounds(&text, |c| set.contains(&c));
    part(&text, start, end)
}

fn trim_suffix(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (suffix, text) = (text_at(args, 0), text_at(args, 1));
    let end = if text.ends_with(&suffix) {
        text.len() - suffix.len()
    } else {
        text.len()
    };
    part(&text, 0, end)
}

fn trim_prefix(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (prefix, text) = (text_at(args, 0), text_at(args, 1));
    let start = if text.starts_with(&prefix) {
        prefix.len()
    } else {
        0
    };
    part(&text, start, text.len())
}

/// Maps characters; wrong bytes become U+FFFD.
fn map_chars(text: &[u8], mut map: impl FnMut(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (_, c, _) in utf8::chars(text) {
        utf8::push(&mut out, map(c));
    }
    out
}

fn upper(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    ok(map_chars(&text_at(args, 0), utf8::to_upper))
}

fn lower(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    ok(map_chars(&text_at(args, 0), utf8::to_lower))
}

fn title(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut before = ' ';
    ok(map_chars(&text_at(args, 0), |c| {
        let inside = if before.is_ascii() {
            before.is_ascii_alphanumeric() || before == '_'
        } else {
            utf8::is_letter(before) || utf8::is_digit(before) || !utf8::is_space(before)
        };
        before = c;
        if inside { c } else { utf8::to_title(c) }
    }))
}

fn untitle(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    // The first character after each gap turns to lower case.
    let mut gap = true;
    ok(map_chars(&text_at(args, 0), |c| {
        if utf8::is_space(c) {
            gap = true;
            c
        } else if std::mem::take(&mut gap) {
            utf8::to_lower(c)
        } else {
            c
        }
    }))
}

fn swapcase(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut gap = true;
    ok(map_chars(&text_at(args, 0), |c| {
        if utf8::is_upper(c) || utf8::is_title(c) {
            gap = false;
            utf8::to_lower(c)
        } else if utf8::is_lower(c) {
            if std::mem::take(&mut gap) {
                utf8::to_title(c)
            } else {
                utf8::to_upper(c)
            }
        } else {
            gap = utf8::is_space(c);
            c
        }
    }))
}

fn substr(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (start, end, text) = (int_at(args, 0), int_at(args, 1), text_at(args, 2));
    let len = text.len() as i64;
    let out = |what: String| {
        Err(FuncError::new(format!(
            "runtime error: slice bounds out of range {what}"
        )))
    };
    if start < 0 {
        if end < 0 {
            return out(format!("[:{end}]"));
        }
        if end > len {
            return out(format!("[:{end}] with length {len}"));
        }
        return part(&text, 0, end as usize);
    }
    if end < 0 || end > len {
        if start > len {
            return out(format!("[{start}:{len}]"));
        }
        return part(&text, start as usize, text.len());
    }
    if start > end {
        return out(format!("[{start}:{end}]"));
    }
    part(&text, start as usize, end as usize)
}

fn repeated(cx: &Cx<'_>, count: i64, text: &[u8]) -> Result<Vec<u8>> {
    let Ok(count) = usize::try_from(count) else {
        return Err(FuncError::new("strings: negative Repeat count"));
    };
    let Some(size) = count.checked_mul(text.len()) else {
        return Err(FuncError::new("strings: Repeat output length overflow"));
    };
    cx.reserve(size)?;
    cx.spend(size / 128)?;
    Ok(text.repeat(if text.is_empty() { 0 } else { count }))
}

fn repeat(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    ok(repeated(cx, int_at(args, 0), &text_at(args, 1))?)
}

fn indented(cx: &Cx<'_>, args: &[Value], start: &[u8]) -> Result<Value> {
    let (spaces, text) = (int_at(args, 0), text_at(args, 1));
    let pad = repeated(cx, spaces, b" ")?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let size = text
        .len()
        .saturating_add((lines + 1).saturating_mul(pad.len()));
    cx.reserve(size)?;
    cx.spend(size / 128)?;
    let mut out = Vec::with_capacity(size + start.len());
    out.extend_from_slice(start);
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(&pad);
        out.extend_from_slice(line);
    }
    ok(out)
}

fn indent(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    indented(cx, args, b"")
}

fn nindent(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    indented(cx, args, b"\n")
}

/// Finds a part from a place on.
pub(crate) fn find(text: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    if what.is_empty() {
        return Some(from);
    }
    if what.len() == 1 {
        return rest
            .iter()
            .position(|&byte| byte == what[0])
            .map(|at| from + at);
    }
    memchr::memmem::find(rest, what).map(|at| from + at)
}

fn replace(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (old, new, text) = (text_at(args, 0), text_at(args, 1), text_at(args, 2));
    let mut out = Vec::with_capacity(text.len());
    if old.is_empty() {
        let count = utf8::count(&text) + 1;
        cx.reserve(count.saturating_mul(new.len()).saturating_add(text.len()))?;
        cx.spend(count)?;
        for (at, _, width) in utf8::chars(&text) {
            out.extend_from_slice(&new);
            out.extend_from_slice(&text[at..at + width]);
        }
        out.extend_from_slice(&new);
        return ok(out);
    }
    let mut at = 0;
    let mut count = 0_usize;
    while let Some(found) = find(&text, &old, at) {
        count += 1;
        if count.is_multiple_of(1024) {
            cx.spend(512)?;
            cx.reserve(out.len())?;
        }
        out.extend_from_slice(&text[at..found]);
        out.extend_from_slice(&new);
        at = found + old.len();
    }
    if at == 0 {
        return Ok(Value::String(text));
    }
    out.extend_from_slice(&text[at..]);
    cx.spend(out.len() / 128)?;
    ok(out)
}

fn plural(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::String(text_at(
        args,
        if int_at(args, 2) == 1 { 0 } else { 1 },
    )))
}

fn contains(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(
        find(&text_at(args, 1), &text_at(args, 0), 0).is_some(),
    ))
}

fn has_prefix(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(text_at(args, 1).starts_with(&text_at(args, 0))))
}

fn has_suffix(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(text_at(args, 1).ends_with(&text_at(args, 0))))
}

/// All arguments but nil, each as `put` writes it, with blanks between.
fn in_a_row(
    args: &[Value],
    mut put: impl FnMut(&mut Vec<u8>, &Value) -> Result<()>,
) -> Result<Value> {
    let mut out = Vec::new();
    let there = args.iter().filter(|value| !matches!(value, Value::Nil));
    for (at, value) in there.enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        put(&mut out, value)?;
    }
    ok(out)
}

/// Appends what a value prints, within the room there is.
fn print_in_room(cx: &Cx<'_>, out: &mut Vec<u8>, value: &Value) -> Result<()> {
    let rest = cx.room().saturating_sub(out.len());
    Ok(gofmt::print_value(out, value, rest)?)
}

fn quote(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    in_a_row(args, |out, value| {
        let text = cast::to_text(cx, value)?;
        cx.reserve(out.len().saturating_add(text.len()))?;
        cx.spend(text.len() / 32)?;
        number::quote(out, &text, false);
        Ok(())
    })
}

fn squote(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    in_a_row(args, |out, value| {
        out.push(b'\'');
        print_in_room(cx, out, value)?;
        out.push(b'\'');
        Ok(())
    })
}

fn cat(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    in_a_row(args, |out, value| print_in_room(cx, out, value))
}

fn nospace(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    // Each byte is taken for a character of its own, which spoils text beyond ASCII as sprig does.
    let text = text_at(args, 0);
    cx.spend(text.len() / 32)?;
    if !text.iter().any(|&byte| utf8::is_space(char::from(byte))) {
        return Ok(Value::String(text));
    }
    let mut out = Vec::with_capacity(text.len());
    for &byte in text
        .iter()
        .filter(|&&byte| !utf8::is_space(char::from(byte)))
    {
        utf8::push(&mut out, char::from(byte));
    }
    ok(out)
}

fn initials(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    let mut gap = true;
    for &byte in text_at(args, 0).iter() {
        let c = char::from(byte);
        if utf8::is_space(c) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            utf8::push(&mut out, c);
        }
    }
    ok(out)
}

/// Wraps at blanks; longer words are cut only if asked for.
fn wrapped(cx: &Cx<'_>, text: &Str, width: i64, line_end: &[u8], cut: bool) -> Result<Value> {
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let line_end = if line_end.is_empty() { b"\n" } else { line_end };
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while text.len() - at > width {
        if text[at] == b' ' {
            at += 1;
            continue;
        }
        let limit = at + width + 1;
        if let Some(blank) = text[at..limit].iter().rposition(|&byte| byte == b' ') {
            out.extend_from_slice(&text[at..at + blank]);
            out.extend_from_slice(line_end);
            at += blank + 1;
        } else if cut {
            out.extend_from_slice(&text[at..at + width]);
            out.extend_from_slice(line_end);
            at += width;
        } else if let Some(blank) = text[at + width..].iter().position(|&byte| byte == b' ') {
            out.extend_from_slice(&text[at..at + width + blank]);
            out.extend_from_slice(line_end);
            at += width + blank + 1;
        } else {
            out.extend_from_slice(&text[at..]);
            at = text.len();
        }
        if out.len() > 1 << 20 {
            cx.reserve(out.len())?;
        }
    }
    out.extend_from_slice(&text[at..]);
    cx.spend(out.len() / 64)?;
    ok(out)
}

fn wrap(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    wrapped(cx, &text_at(args, 1), int_at(args, 0), b"", false)
}

fn wrap_with(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    wrapped(
        cx,
        &text_at(args, 2),
        int_at(args, 0),
        &text_at(args, 1),
        true,
    )
}

/// Random characters of a set.
fn random_text(cx: &Cx<'_>, count: i64, set: &[u8]) -> Result<Value> {
    let count = usize::try_from(count).unwrap_or(0);
    cx.reserve(count.saturating_mul(2))?;
    cx.spend(count / 8)?;
    let mut out = Vec::with_capacity(count);
    // Bytes beyond the last full run of the set would favour its start.
    let fair = 256 - 256 % set.len();
    let mut bytes = [0; 64];
    while out.len() < count {
        cx.ambient().random(&mut bytes);
        let good = bytes
            .iter()
            .map(|&byte| usize::from(byte))
            .filter(|&byte| byte < fair);
        out.extend(
            good.map(|byte| set[byte % set.len()])
                .take(count - out.len()),
        );
    }
    ok(out)
}

const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ALNUM: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

fn rand_alpha(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    random_text(cx, int_at(args, 0), LETTERS)
}

fn rand_alpha_num(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    random_text(cx, int_at(args, 0), ALNUM)
}

fn rand_numeric(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    random_text(cx, int_at(args, 0), b"0123456789")
}

fn rand_ascii(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let set: Vec<u8> = (b' '..=b'~').collect();
    random_text(cx, int_at(args, 0), &set)
}

fn shuffle(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.reserve(text.len().saturating_mul(4))?;
    cx.spend(text.len())?;
    let mut chars: Vec<char> = utf8::chars(&text).map(|(_, c, _)| c).collect();
    for at in (1..chars.len()).rev() {
        let other = super::random_below(cx, at as u64 + 1) as usize;
        chars.swap(at, other);
    }
    ok(chars.into_iter().collect::<String>())
}

/// Sprig's list of strings: nil is left out of lists, a single value is a list of one.
pub(crate) fn string_list(cx: &Cx<'_>, value: &Value) -> Result<List> {
    match value {
        Value::Nil => Ok(List::typed(Elem::String, Vec::new())),
        Value::List(list) if list.elem() == Elem::String && list.named().is_none() => {
            Ok(list.clone())
        }
        Value::List(list) => {
            let items = list.items();
            cx.spend(items.len())?;
            let mut out = Vec::with_capacity(items.len());
            for item in items.iter().filter(|item| !matches!(item, Value::Nil)) {
                out.push(Value::String(cast::to_text(cx, item)?));
            }
            Ok(List::typed(Elem::String, out))
        }
        Value::Bytes(bytes) => {
            cx.spend(bytes.len())?;
            Ok(List::strings(
                bytes.iter().map(|byte| Str::from(byte.to_string())),
            ))
        }
        other => Ok(List::strings([cast::to_text(cx, other)?])),
    }
}

fn to_strings(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::List(string_list(cx, any_at(args, 0))?))
}

fn to_string(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    ok(cast::to_text(cx, any_at(args, 0))?)
}

fn join(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let between = text_at(args, 0);
    let list = string_list(cx, any_at(args, 1))?;
    let items = list.items();
    let texts = items.iter().filter_map(Value::as_str);
    let size = texts
        .clone()
        .map(|text| text.len() + between.len())
        .fold(0, usize::saturating_add);
    cx.reserve(size)?;
    cx.spend(size / 128)?;
    let mut out = Vec::with_capacity(size);
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.extend_from_slice(&between);
        }
        out.extend_from_slice(text);
    }
    ok(out)
}

fn sort_alpha(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let value = any_at(args, 0);
    match value {
        Value::List(_) | Value::Bytes(_) => {
            let list = string_list(cx, value)?;
            cx.spend(list.len() * 2)?;
            // A list of strings is sorted in place, as all who hold it see.
            list.reorder(|items| {
                items.sort_by(|a, b| match (a, b) {
                    (Value::String(a), Value::String(b)) => a.cmp(b),
                    _ => std::cmp::Ordering::Equal,
                });
            });
            Ok(Value::List(list))
        }
        other => Ok(Value::List(List::strings([cast::to_text(cx, other)?]))),
    }
}

/// `strings.SplitN`: all parts if `limit` is negative, none if it is 0.
pub(crate) fn split_parts(
    cx: &Cx<'_>,
    text: &[u8],
    between: &[u8],
    limit: i64,
) -> Result<Vec<Str>> {
    let mut parts = Vec::new();
    if limit == 0 {
        return Ok(parts);
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if between.is_empty() {
        let mut at = 0;
        while at < text.len() {
            if parts.len() + 1 == limit {
                parts.push(Str::new(&text[at..]));
                break;
            }
            let (_, width) = utf8::decode(&text[at..]);
            parts.push(Str::new(&text[at..at + width]));
            at += width;
        }
        cx.spend(parts.len())?;
        return Ok(parts);
    }
    let mut at = 0;
    while parts.len() + 1 < limit {
        let Some(found) = find(text, between, at) else {
            break;
        };
        parts.push(Str::new(&text[at..found]));
        at = found + between.len();
        if parts.len().is_multiple_of(1024) {
            cx.spend(1024)?;
        }
    }
    parts.push(Str::new(&text[at..]));
    Ok(parts)
}

fn numbered(parts: Vec<Str>) -> Value {
    let entries = parts.into_iter().enumerate();
    Value::Map(Map::typed(
        Elem::String,
        entries
            .map(|(at, part)| (Str::from(format!("_{at}")), Value::String(part)))
            .collect(),
    ))
}

fn split(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(numbered(split_parts(
        cx,
        &text_at(args, 1),
        &text_at(args, 0),
        -1,
    )?))
}

fn splitn(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(numbered(split_parts(
        cx,
        &text_at(args, 2),
        &text_at(args, 0),
        int_at(args, 1),
    )?))
}

fn split_list(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::List(List::strings(split_parts(
        cx,
        &text_at(args, 1),
        &text_at(args, 0),
        -1,
    )?)))
}
