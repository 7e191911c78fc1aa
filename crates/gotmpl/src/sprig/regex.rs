//! Sprig's regular expressions: Go's syntax and ways of matching, on the regex crate.

use std::rc::Rc;

use regex::bytes::{Regex, RegexBuilder};

use super::goregex;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, int_at, text_at};
use crate::number;
use crate::text::Str;
use crate::utf8;
use crate::value::{Elem, List, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const INT: Param = Param::Int;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "mustRegexFind",
        params: &[STR, STR],
        rest: None,
        call: must_find,
    },
    FuncDef {
        name: "mustRegexFindAll",
        params: &[STR, STR, INT],
        rest: None,
        call: must_find_all,
    },
    FuncDef {
        name: "mustRegexMatch",
        params: &[STR, STR],
        rest: None,
        call: must_match,
    },
    FuncDef {
        name: "mustRegexReplaceAll",
        params: &[STR, STR, STR],
        rest: None,
        call: must_replace_all,
    },
    FuncDef {
        name: "mustRegexReplaceAllLiteral",
        params: &[STR, STR, STR],
        rest: None,
        call: must_replace_literal,
    },
    FuncDef {
        name: "mustRegexSplit",
        params: &[STR, STR, INT],
        rest: None,
        call: must_split,
    },
    FuncDef {
        name: "regexFind",
        params: &[STR, STR],
        rest: None,
        call: find,
    },
    FuncDef {
        name: "regexFindAll",
        params: &[STR, STR, INT],
        rest: None,
        call: find_all,
    },
    FuncDef {
        name: "regexMatch",
        params: &[STR, STR],
        rest: None,
        call: matches,
    },
    FuncDef {
        name: "regexQuoteMeta",
        params: &[STR],
        rest: None,
        call: quote_meta,
    },
    FuncDef {
        name: "regexReplaceAll",
        params: &[STR, STR, STR],
        rest: None,
        call: replace_all,
    },
    FuncDef {
        name: "regexReplaceAllLiteral",
        params: &[STR, STR, STR],
        rest: None,
        call: replace_literal,
    },
    FuncDef {
        name: "regexSplit",
        params: &[STR, STR, INT],
        rest: None,
        call: split,
    },
];

/// A pattern that was looked at before: ready, or what is wrong with it.
pub(crate) type Pattern = std::result::Result<Regex, String>;

/// How much memory one pattern may take.
const PATTERN_BYTES: usize = 4 << 20;

fn pattern(cx: &Cx<'_>, text: &Str) -> Rc<Pattern> {
    if let Some(known) = cx.run.patterns.borrow().get(text) {
        return Rc::clone(known);
    }
    let compiled = Rc::new(compile(text, PATTERN_BYTES));
    if let Ok(mut patterns) = cx.run.patterns.try_borrow_mut()
        && patterns.len() < 256
    {
        patterns.insert(text.clone(), Rc::clone(&compiled));
    }
    compiled
}

/// Reads a pattern that may take so many bytes.
pub(crate) fn compile(text: &[u8], bytes: usize) -> Pattern {
    let translated = goregex::translate(text)
        .map_err(|(what, part)| format!("error parsing regexp: {what}: `{part}`"))?;
    RegexBuilder::new(&translated)
        .size_limit(bytes)
        .dfa_size_limit(bytes)
        .build()
        .map_err(|_| "error parsing regexp: expression too large".to_owned())
}

/// The pattern, or Go's complaint; functions without `must` tell it as a panic of `MustCompile`.
fn ready(cx: &Cx<'_>, args: &[Value], must: bool) -> Result<Rc<Pattern>> {
    let text = text_at(args, 0);
    let subject = text_at(args, 1);
    cx.spend(16 + subject.len() / 64)?;
    let pattern = pattern(cx, &text);
    match &*pattern {
        Ok(_) => Ok(pattern),
        Err(words) if must => Err(FuncError::new(words.clone())),
        Err(words) => {
            let shown = text.to_text();
            let raw = !shown
                .chars()
                .any(|c| c == '`' || c < ' ' && c != '\t' || c == '\u{7F}');
            let shown = if raw {
                format!("`{shown}`")
            } else {
                number::quoted(&text)
            };
            Err(FuncError::new(format!("regexp: Compile({shown}): {words}")))
        }
    }
}

/// Runs a function on a pattern that is known to be good.
fn with<T>(pattern: &Pattern, run: impl FnOnce(&Regex) -> Result<T>) -> Result<T> {
    match pattern {
        Ok(regex) => run(regex),
        Err(words) => Err(FuncError::new(words.clone())),
    }
}

/// All matches as Go finds them: an empty one right after another does not count.
fn all_matches(cx: &Cx<'_>, regex: &Regex, text: &[u8], limit: i64) -> Result<Vec<(usize, usize)>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = None;
    while found.len() < limit && at <= text.len() {
        let Some(hit) = regex.find_at(text, at) else {
            break;
        };
        let mut counts = true;
        if hit.end() == at {
            counts = before != Some(hit.start());
            let (_, width) = utf8::decode(&text[at..]);
            at = if width > 0 {
                at + width
            } else {
                text.len() + 1
            };
        } else {
            at = hit.end();
        }
        before = Some(hit.end());
        if counts {
            cx.spend(2)?;
            found.push((hit.start(), hit.end()));
        }
    }
    Ok(found)
}

fn matches(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    match must_match(cx, args) {
        Err(error) if !error.is_limit() => Ok(Value::Bool(false)),
        other => other,
    }
}

fn must_match(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let pattern = ready(cx, args, true)?;
    with(&pattern, |regex| {
        Ok(Value::Bool(regex.is_match(&text_at(args, 1))))
    })
}

fn find_with(cx: &Cx<'_>, args: &[Value], must: bool) -> Result<Value> {
    let pattern = ready(cx, args, must)?;
    let text = text_at(args, 1);
    with(&pattern, |regex| {
        Ok(Value::string(
            regex
                .find(&text)
                .map(|hit| hit.as_bytes())
                .unwrap_or_default(),
        ))
    })
}

fn find(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    find_with(cx, args, false)
}

fn must_find(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    find_with(cx, args, true)
}

fn find_all_with(cx: &Cx<'_>, args: &[Value], must: bool) -> Result<Value> {
    let pattern = ready(cx, args, must)?;
    let text = text_at(args, 1);
    with(&pattern, |regex| {
        let found = all_matches(cx, regex, &text, int_at(args, 2))?;
        if found.is_empty() {
            return Ok(Value::List(List::nil(Elem::String)));
        }
        let parts = found
            .into_iter()
            .map(|(start, end)| Str::new(&text[start..end]));
        Ok(Value::List(List::strings(parts)))
    })
}

fn find_all(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    find_all_with(cx, args, false)
}

fn must_find_all(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    find_all_with(cx, args, true)
}

fn replace_with(cx: &Cx<'_>, args: &[Value], must: bool, literal: bool) -> Result<Value> {
    let pattern = ready(cx, args, must)?;
    let (text, new) = (text_at(args, 1), text_at(args, 2));
    let expand = !literal && new.contains(&b'$');
    with(&pattern, |regex| {
        let mut out = Vec::with_capacity(text.len());
        let mut locations = regex.capture_locations();
        let mut done = 0;
        let mut at = 0;
        while at <= text.len() {
            let Some(hit) = regex.captures_read_at(&mut locations, &text, at) else {
                break;
            };
            out.extend_from_slice(&text[done..hit.start()]);
            if hit.end() > done || hit.start() == 0 {
                if expand {
                    expand_into(&mut out, regex, &locations, &text, &new);
                } else {
                    out.extend_from_slice(&new);
                }
            }
            done = hit.end();
            cx.spend(2)?;
            if out.len() > 1 << 16 {
                cx.reserve(out.len())?;
            }
            let (_, width) = utf8::decode(&text[at..]);
            at = if at + width > hit.end() {
                at + width
            } else if at + 1 > hit.end() {
                at + 1
            } else {
                hit.end()
            };
        }
        if done == 0 && out.is_empty() {
            return Ok(Value::String(text.clone()));
        }
        out.extend_from_slice(&text[done..]);
        Ok(Value::String(out.into()))
    })
}

/// Puts groups in for `$1`, `${name}` and their kind; the longest name counts.
fn expand_into(
    out: &mut Vec<u8>,
    regex: &Regex,
    found: &regex::bytes::CaptureLocations,
    text: &[u8],
    new: &[u8],
) {
    let mut rest = new;
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.first() == Some(&b'$') {
            out.push(b'$');
            rest = &rest[1..];
            continue;
        }
        let braces = rest.first() == Some(&b'{');
        let body = if braces { &rest[1..] } else { rest };
        let mut end = 0;
        for (place, c, width) in utf8::chars(body) {
            if !(c == '_' || utf8::is_letter(c) || utf8::is_digit(c)) {
                break;
            }
            end = place + width;
        }
        let closed = !braces || body.get(end) == Some(&b'}');
        if end == 0 || !closed {
            out.push(b'$');
            continue;
        }
        let name = &body[..end];
        rest = if braces {
            &body[end + 1..]
        } else {
            &body[end..]
        };
        let group = if name.iter().all(u8::is_ascii_digit) {
            number::parse_int(name, 10)
                .ok()
                .and_then(|number| usize::try_from(number).ok())
        } else {
            let named = |known: Option<&str>| known.is_some_and(|known| known.as_bytes() == name);
            regex.capture_names().position(named)
        };
        if let Some((start, end)) = group.and_then(|group| found.get(group)) {
            out.extend_from_slice(&text[start..end]);
        }
    }
    out.extend_from_slice(rest);
}

fn replace_all(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    replace_with(cx, args, false, false)
}

fn must_replace_all(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    replace_with(cx, args, true, false)
}

fn replace_literal(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    replace_with(cx, args, false, true)
}

fn must_replace_literal(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    replace_with(cx, args, true, true)
}

fn split_with(cx: &Cx<'_>, args: &[Value], must: bool) -> Result<Value> {
    let pattern = ready(cx, args, must)?;
    let (text, limit) = (text_at(args, 1), int_at(args, 2));
    with(&pattern, |regex| {
        if limit == 0 {
            return Ok(Value::List(List::nil(Elem::String)));
        }
        if text.is_empty() && !text_at(args, 0).is_empty() {
            return Ok(Value::List(List::strings([Str::default()])));
        }
        let mut parts = Vec::new();
        let (mut start, mut end) = (0, 0);
        for (from, to) in all_matches(cx, regex, &text, limit)? {
            if limit > 0 && parts.len() as i64 == limit - 1 {
                break;
            }
            end = from;
            if to != 0 {
                parts.push(Str::new(&text[start..end]));
            }
            start = to;
        }
        if end != text.len() {
            parts.push(Str::new(&text[start..]));
        }
        Ok(Value::List(List::strings(parts)))
    })
}

fn split(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    split_with(cx, args, false)
}

fn must_split(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    split_with(cx, args, true)
}

fn quote_meta(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    let mut out = Vec::with_capacity(text.len());
    for &byte in text.iter() {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    Ok(Value::String(out.into()))
}
