//! The grammar of `--set`, `--set-string`, `--set-file`, `--set-json` and `--set-literal`.
//!
//! `a.b[0].c=value,d={x,y}`: points nest, brackets index, commas separate, a backslash takes the
//! next character as it is. Rules and error texts are those of Helm 3.22 (`pkg/strvals`).

use serde_json::{Map, Value};

/// Deeper names are refused.
const MAX_LEVEL: usize = 30;
/// Greater indexes are refused.
const MAX_INDEX: i64 = 65_536;

/// A text that is no list of assignments; the message is Helm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SetError {
    message: String,
}

fn fail<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Error(SetError {
        message: message.into(),
    }))
}

/// Why a part of the text ended early.
#[derive(Debug)]
enum Stop {
    /// The text is over.
    End,
    Error(SetError),
}

/// What the right side of `=` becomes.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// Numbers, booleans and null are recognised.
    Typed,
    /// Every leaf is a text.
    Text,
    /// The text names something whose content is the value.
    Content(&'a dyn Fn(&str) -> Result<Value, String>),
    /// JSON.
    Json,
    /// Everything behind the first `=`; names know no escapes and no commas.
    Literal,
}

/// Applies a `--set` text to `values`. What was assigned before an error stays.
///
/// # Errors
///
/// Helm's words for what is wrong.
pub fn set(values: &mut Map<String, Value>, text: &str) -> Result<(), SetError> {
    run(values, text, Kind::Typed)
}

/// Applies a `--set-string` text: every leaf is a text.
///
/// # Errors
///
/// As [`set`].
pub fn set_string(values: &mut Map<String, Value>, text: &str) -> Result<(), SetError> {
    run(values, text, Kind::Text)
}

/// Applies a `--set-file` text; `read` gives the content of a path.
///
/// # Errors
///
/// As [`set`], and what `read` says.
pub fn set_file(
    values: &mut Map<String, Value>,
    text: &str,
    read: &dyn Fn(&str) -> Result<Value, String>,
) -> Result<(), SetError> {
    run(values, text, Kind::Content(read))
}

/// Applies a `--set-json` text: the right sides are JSON, whose numbers are doubles.
///
/// # Errors
///
/// As [`set`], and for broken JSON.
pub fn set_json(values: &mut Map<String, Value>, text: &str) -> Result<(), SetError> {
    run(values, text, Kind::Json)
}

fn run(values: &mut Map<String, Value>, text: &str, kind: Kind<'_>) -> Result<(), SetError> {
    let mut parser = Parser {
        chars: text.chars().collect(),
        at: 0,
        kind,
    };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// Applies one `--set-literal` text: everything behind the first `=` is the value.
///
/// # Errors
///
/// As [`set`].
pub fn set_literal(values: &mut Map<String, Value>, text: &str) -> Result<(), SetError> {
    run(values, text, Kind::Literal)
}

/// A value of `--set` without quotes: true, false and null in any case, integers without a
/// leading zero, else a text.
fn typed(text: &str) -> Value {
    if text.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    if text.eq_ignore_ascii_case("null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::from(0);
    }
    if let (false, Ok(number)) = (text.starts_with('0'), text.parse::<i64>()) {
        return Value::from(number);
    }
    Value::String(text.to_owned())
}

/// Go's words for a value that is not the table or list it should be.
fn conversion(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

const TABLE: &str = "map[string]interface {}";
const LIST: &str = "[]interface {}";

fn insert(values: &mut Map<String, Value>, key: &str, value: Value) {
    // A name without characters is passed over in silence.
    if !key.is_empty() {
        values.insert(key.to_owned(), value);
    }
}

/// Puts a value at an index, filling up with null.
fn insert_at(list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
    if index < 0 {
        return fail(format!("negative {index} index not allowed"));
    }
    if index > MAX_INDEX {
        return fail(format!(
            "index of {index} is greater than maximum supported index of {MAX_INDEX}"
        ));
    }
    let at = usize::try_from(index).unwrap_or(usize::MAX);
    if list.len() <= at {
        list.resize(at + 1, Value::Null);
    }
    list[at] = value;
    Ok(())
}

/// What stands at an index, if the list reaches so far.
fn at_index(list: &[Value], index: i64) -> Option<&Value> {
    list.get(usize::try_from(index).ok()?)
}

/// The table at a name, to be filled; an absent one is new.
fn inner_table(found: Option<&Value>) -> Result<Map<String, Value>, Stop> {
    match found {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(other) => fail(conversion(other, TABLE)),
    }
}

/// The list at a name, to be filled; an absent one is new.
fn inner_list(found: Option<&Value>) -> Result<Vec<Value>, Stop> {
    match found {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list.clone()),
        Some(other) => fail(conversion(other, LIST)),
    }
}

/// The table at an index; anything else there gives way to a new one.
fn table_at(list: &mut [Value], index: i64) -> Map<String, Value> {
    let item = usize::try_from(index).ok().and_then(|at| list.get_mut(at));
    match item {
        Some(Value::Object(map)) => map.clone(),
        Some(other) => {
            *other = Value::Object(Map::new());
            Map::new()
        }
        None => Map::new(),
    }
}

fn check_level(level: usize) -> Result<(), Stop> {
    if level > MAX_LEVEL {
        return fail(format!(
            "value name nested level is greater than maximum supported nested level of {MAX_LEVEL}"
        ));
    }
    Ok(())
}

/// An index by Go's rules for decimal numbers.
fn index_of(text: &str) -> Result<i64, Stop> {
    text.parse::<i64>().or_else(|error| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                "value out of range"
            }
            _ => "invalid syntax",
        };
        fail(format!(
            "error parsing index: strconv.Atoi: parsing {text:?}: {why}"
        ))
    })
}

/// An index with its bracket.
fn closed_index((text, closed): (String, Option<char>)) -> Result<i64, Stop> {
    if closed.is_none() {
        return fail("error parsing index: EOF");
    }
    index_of(&text)
}

/// Characters as Go shows a list of them.
fn runes(text: &str) -> String {
    let shown: Vec<String> = text.chars().map(|c| format!("{c:?}")).collect();
    format!("[{}]", shown.join(" "))
}

struct Parser<'a> {
    chars: Vec<char>,
    at: usize,
    kind: Kind<'a>,
}

impl Parser<'_> {
    fn read(&mut self) -> Option<char> {
        let found = self.chars.get(self.at).copied();
        self.at += usize::from(found.is_some());
        found
    }

    /// Reads up to one of `stops`, which is consumed and returned; `None` at the end.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut out = String::new();
        while let Some(c) = self.read() {
            if stops.contains(&c) {
                return (out, Some(c));
            }
            if c == '\\' && !self.literal() {
                match self.read() {
                    Some(next) => out.push(next),
                    None => return (out, None),
                }
            } else {
                out.push(c);
            }
        }
        (out, None)
    }

    fn literal(&self) -> bool {
        matches!(self.kind, Kind::Literal)
    }

    fn key(&mut self, values: &mut Map<String, Value>, level: usize) -> Result<(), Stop> {
        let stops: &[char] = if self.literal() {
            &['=', '[', '.']
        } else {
            &['=', '[', ',', '.']
        };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => fail(format!("key {key:?} has no value")),
            Some('[') => {
                let index = closed_index(self.until(&[']']))?;
                let mut list = inner_list(values.get(&key))?;
                let result = self.item(&mut list, index, level);
                insert(values, &key, Value::Array(list));
                result
            }
            Some('=') => {
                let value = self.value()?;
                let end = value.1;
                insert(values, &key, value.0);
                if end { Err(Stop::End) } else { Ok(()) }
            }
            Some(',') => {
                insert(values, &key, Value::String(String::new()));
                fail(format!("key {key:?} has no value (cannot end with ,)"))
            }
            Some(_) => {
                check_level(level + 1)?;
                let mut inner = inner_table(values.get(&key))?;
                let result = self.key(&mut inner, level + 1);
                let empty = inner.is_empty();
                if !empty {
                    insert(values, &key, Value::Object(inner));
                }
                match result {
                    Ok(()) if empty => fail(format!("key map {key:?} has no value")),
                    other => other,
                }
            }
        }
    }

    /// The right side of `=`, and whether there was none because the text is over.
    fn value(&mut self) -> Result<(Value, bool), Stop> {
        match self.kind {
            Kind::Json => return self.json(),
            Kind::Literal => {
                let rest = self.chars[self.at..].iter().collect();
                self.at = self.chars.len();
                return Ok((Value::String(rest), false));
            }
            Kind::Typed | Kind::Text | Kind::Content(_) => {}
        }
        if self.at >= self.chars.len() {
            return Ok((Value::String(String::new()), true));
        }
        if self.chars[self.at] == '{' {
            self.at += 1;
            return self.list().map(|list| (list, false));
        }
        let (text, _) = self.until(&[',']);
        Ok((self.leaf(&text)?, false))
    }

    fn leaf(&self, text: &str) -> Result<Value, Stop> {
        match self.kind {
            Kind::Typed => Ok(typed(text)),
            Kind::Content(read) => read(text).or_else(fail),
            Kind::Text | Kind::Json | Kind::Literal => Ok(Value::String(text.to_owned())),
        }
    }

    fn list(&mut self) -> Result<Value, Stop> {
        let mut list = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            match stop {
                None => return fail("list must terminate with '}'"),
                Some(stop) => {
                    list.push(self.leaf(&text)?);
                    if stop == '}' {
                        // A comma behind the bracket may be left out.
                        if self.chars.get(self.at) == Some(&',') {
                            self.at += 1;
                        }
                        return Ok(Value::Array(list));
                    }
                }
            }
        }
    }

    fn json(&mut self) -> Result<(Value, bool), Stop> {
        let rest: String = self.chars[self.at..].iter().collect();
        if rest.is_empty() || rest.starts_with(',') {
            self.at += usize::from(!rest.is_empty());
            return Ok((Value::Null, rest.is_empty()));
        }
        let mut stream = serde_json::Deserializer::from_str(&rest).into_iter::<Value>();
        let value = match stream.next() {
            Some(Ok(value)) => doubles(value),
            Some(Err(error)) => return fail(json_error(&rest, &error)),
            None => return fail("EOF"),
        };
        self.at += rest[..stream.byte_offset()].chars().count();
        // Blanks and a comma may follow; anything else is taken for the next name.
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        if self.chars.get(self.at) == Some(&',') {
            self.at += 1;
        }
        Ok((value, false))
    }

    fn item(&mut self, list: &mut Vec<Value>, index: i64, level: usize) -> Result<(), Stop> {
        if index < 0 {
            return fail(format!("negative {index} index not allowed"));
        }
        let (text, stop) = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            return fail(format!(
                "unexpected data at end of array index: {}",
                runes(&text)
            ));
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let (value, end) = self.value()?;
                insert_at(list, index, value)?;
                if end { Err(Stop::End) } else { Ok(()) }
            }
            Some('[') => {
                let next = closed_index(self.until(&[']']))?;
                let mut inner = inner_list(at_index(list, index).filter(|item| !item.is_null()))?;
                self.item(&mut inner, next, level)?;
                insert_at(list, index, Value::Array(inner))
            }
            Some(_) => {
                let mut inner = table_at(list, index);
                self.key(&mut inner, level)?;
                insert_at(list, index, Value::Object(inner))
            }
        }
    }
}

/// Broken JSON in Go's words, as far as they can be told.
fn json_error(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected EOF".to_owned();
    }
    let column = error.column().saturating_sub(1);
    let found = text.chars().nth(column).unwrap_or(' ');
    if error.to_string().starts_with("number out of range") {
        let number: String = text.chars().take_while(|c| !",]} ".contains(*c)).collect();
        return format!("json: cannot unmarshal number {number} into Go value of type float64");
    }
    format!("invalid character {found:?} looking for beginning of value")
}

/// JSON numbers are doubles to Go.
fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, doubles(value)))
                .collect(),
        ),
        other => other,
    }
}
