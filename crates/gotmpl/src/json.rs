//! JSON as Go's `encoding/json` writes and reads it.
//!
//! Duty: the bytes `json.Marshal` gives for values, and values for texts with Go's complaints.

use crate::error::FuncError;
use crate::number;
use crate::text::Str;
use crate::utf8;
use crate::value::{List, Map, Object, Value};

/// How JSON is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonStyle {
    /// Whether `<`, `>` and `&` stay as they are; Go escapes them by default.
    pub raw: bool,
    /// How many blanks each level is indented by; 0 is all on one line.
    pub indent: usize,
}

/// Deeper values are taken to hold themselves.
const MAX_DEPTH: usize = 10_000;

/// The longest text a value may give; shared lists and maps may stand for far more than they hold.
const MAX_WRITTEN: usize = 64 << 20;

/// Writes a value as JSON, map keys sorted.
///
/// # Errors
/// The value holds what JSON cannot: infinite numbers, itself, or an object without a JSON form; or the text would be
/// longer than `bound` bytes or 64 MiB.
pub fn to_json(value: &Value, style: JsonStyle, bound: usize) -> Result<Vec<u8>, FuncError> {
    let mut writer = Writer {
        out: Vec::new(),
        style,
        bound: bound.min(MAX_WRITTEN),
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    style: JsonStyle,
    bound: usize,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), FuncError> {
        if depth > MAX_DEPTH {
            return Err(FuncError::limit("json: the value is nested too deeply"));
        }
        if self.out.len() > self.bound {
            return Err(FuncError::limit("json: the value is too large"));
        }
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(b) => self
                .out
                .extend_from_slice(if *b { b"true" } else { b"false" }),
            Value::Int(i) | Value::Int64(i) => self.text(&i.to_string()),
            Value::Uint8(u) => self.text(&u.to_string()),
            Value::Uint64(u) => self.text(&u.to_string()),
            Value::Float(f) => self.float(*f)?,
            Value::Complex(..) => {
                return Err(FuncError::new("json: unsupported type: complex128"));
            }
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => {
                let encoded = crate::sprig::base::encode64(bytes);
                self.out.push(b'"');
                self.out.extend_from_slice(&encoded);
                self.out.push(b'"');
            }
            Value::List(list) if list.is_nil() => self.out.extend_from_slice(b"null"),
            Value::Map(map) if map.is_nil() => self.out.extend_from_slice(b"null"),
            Value::List(list) => {
                stacker::maybe_grow(64 * 1024, 1 << 20, || self.list(list, depth))?;
            }
            Value::Map(map) => stacker::maybe_grow(64 * 1024, 1 << 20, || self.map(map, depth))?,
            Value::Object(object) => self.object(&**object, depth)?,
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn line(&mut self, depth: usize) {
        if self.style.indent > 0 {
            self.out.push(b'\n');
            self.out
                .extend(std::iter::repeat_n(b' ', depth * self.style.indent));
        }
    }

    fn list(&mut self, list: &List, depth: usize) -> Result<(), FuncError> {
        let items = list.items();
        if items.is_empty() {
            self.out.extend_from_slice(b"[]");
            return Ok(());
        }
        self.out.push(b'[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.line(depth + 1);
            self.value(item, depth + 1)?;
        }
        self.line(depth);
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, object: &dyn Object, depth: usize) -> Result<(), FuncError> {
        if let Some(fields) = object.json_fields() {
            return self.entries(fields.iter().map(|(key, item)| (key, item)), depth);
        }
        match object.json() {
            Some(inner) => self.value(&inner, depth + 1),
            None => {
                let name = object.type_name();
                Err(FuncError::new(format!("json: unsupported type: {name}")))
            }
        }
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<(), FuncError> {
        self.entries(map.entries().iter(), depth)
    }

    fn entries<'e>(
        &mut self,
        entries: impl ExactSizeIterator<Item = (&'e Str, &'e Value)>,
        depth: usize,
    ) -> Result<(), FuncError> {
        if entries.len() == 0 {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        self.out.push(b'{');
        for (at, (key, item)) in entries.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.line(depth + 1);
            self.string(key);
            self.out.push(b':');
            if self.style.indent > 0 {
                self.out.push(b' ');
            }
            self.value(item, depth + 1)?;
        }
        self.line(depth);
        self.out.push(b'}');
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), FuncError> {
        if !value.is_finite() {
            let mut shown = Vec::new();
            number::append_float(&mut shown, value, b'g', None);
            let shown = String::from_utf8_lossy(&shown).into_owned();
            return Err(FuncError::new(format!("json: unsupported value: {shown}")));
        }
        let abs = value.abs();
        if abs != 0.0 && !(1e-6..1e21).contains(&abs) {
            let mut shown = Vec::new();
            number::append_float(&mut shown, value, b'e', None);
            // JSON's exponent has no padding where it is negative: e-9, not e-09.
            let end = shown.len();
            if end >= 4
                && shown[end - 4] == b'e'
                && shown[end - 3] == b'-'
                && shown[end - 2] == b'0'
            {
                shown[end - 2] = shown[end - 1];
                shown.pop();
            }
            self.out.extend_from_slice(&shown);
        } else {
            number::append_float(&mut self.out, value, b'f', None);
        }
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        let mut plain = 0;
        for (at, c, width) in utf8::chars(text) {
            let escape: &[u8] = match c {
                '"' => b"\\\"",
                '\\' => b"\\\\",
                '\n' => b"\\n",
                '\r' => b"\\r",
                '\t' => b"\\t",
                '\u{8}' => b"\\b",
                '\u{C}' => b"\\f",
                '<' if !self.style.raw => b"\\u003c",
                '>' if !self.style.raw => b"\\u003e",
                '&' if !self.style.raw => b"\\u0026",
                '\u{2028}' => b"\\u2028",
                '\u{2029}' => b"\\u2029",
                utf8::REPLACEMENT if width == 1 => b"\\ufffd",
                _ if c < ' ' => b"",
                _ => continue,
            };
            self.out.extend_from_slice(&text[plain..at]);
            if escape.is_empty() {
                let code = format!("\\u{:04x}", u32::from(c));
                self.out.extend_from_slice(code.as_bytes());
            } else {
                self.out.extend_from_slice(escape);
            }
            plain = at + width;
        }
        self.out.extend_from_slice(&text[plain..]);
        self.out.push(b'"');
    }
}

/// Reads one JSON value; all numbers become `float64`, and the last of equal keys wins.
///
/// # Errors
/// The text is no JSON, in Go's words.
pub fn from_json(text: &[u8]) -> Result<Value, FuncError> {
    let mut reader = Reader {
        text,
        at: 0,
        range: None,
    };
    let value = reader.document().map_err(FuncError::new)?;
    match reader.range {
        Some(number) => Err(FuncError::new(format!(
            "json: cannot unmarshal number {number} into Go value of type float64"
        ))),
        None => Ok(value),
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// The first number that does not fit.
    range: Option<String>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, String> {
        self.space();
        let value = self.value(0)?;
        self.space();
        match self.peek() {
            None => Ok(value),
            Some(byte) => invalid(byte, "after top-level value"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<u8, String> {
        match self.peek() {
            Some(byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err("unexpected end of JSON input".to_owned()),
        }
    }

    /// The next byte where a word or number is cut short: to Go the end is then a blank.
    fn within(&mut self, place: &str) -> Result<u8, String> {
        match self.peek() {
            Some(byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => invalid(b' ', place),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        let byte = self.next()?;
        match byte {
            b'{' => stacker::maybe_grow(64 * 1024, 1 << 20, || self.object(depth)),
            b'[' => stacker::maybe_grow(64 * 1024, 1 << 20, || self.array(depth)),
            b'"' => Ok(Value::String(self.string()?.into())),
            b't' => self.literal(b"true", Value::Bool(true)),
            b'f' => self.literal(b"false", Value::Bool(false)),
            b'n' => self.literal(b"null", Value::Nil),
            b'-' | b'0'..=b'9' => self.number(byte),
            _ => invalid(byte, "looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &[u8], value: Value) -> Result<Value, String> {
        for &wanted in &word[1..] {
            let word = String::from_utf8_lossy(word);
            let place = format!("in literal {word} (expecting '{}')", char::from(wanted));
            let byte = self.within(&place)?;
            if byte != wanted {
                return invalid(byte, &place);
            }
        }
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let map = Map::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(map));
        }
        loop {
            self.space();
            let byte = self.next()?;
            if byte != b'"' {
                return invalid(byte, "looking for beginning of object key string");
            }
            let key = Str::from(self.string()?);
            self.space();
            let byte = self.next()?;
            if byte != b':' {
                return invalid(byte, "after object key");
            }
            self.space();
            let value = self.value(depth + 1)?;
            map.set(key, value);
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Value::Map(map)),
                byte => return invalid(byte, "after object key:value pair"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Value::list(items)),
                byte => return invalid(byte, "after array element"),
            }
        }
    }

    fn string(&mut self) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        loop {
            let start = self.at;
            while self
                .peek()
                .is_some_and(|b| (0x20..0x80).contains(&b) && b != b'"' && b != b'\\')
            {
                self.at += 1;
            }
            out.extend_from_slice(&self.text[start..self.at]);
            let byte = self.next()?;
            match byte {
                b'"' => return Ok(out),
                b'\\' => self.escape(&mut out)?,
                0x80.. => {
                    let (c, width) = utf8::decode(&self.text[self.at - 1..]);
                    utf8::push(&mut out, c);
                    self.at += width - 1;
                }
                _ => return invalid(byte, "in string literal"),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let byte = self.within("in string escape code")?;
        out.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xD800..0xDC00).contains(&code) {
                    let back = self.at;
                    if self.text[self.at..].starts_with(b"\\u") {
                        self.at += 2;
                        let low = self.hex()?;
                        if (0xDC00..0xE000).contains(&low) {
                            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                        } else {
                            // Half a pair stands for nothing, and what follows is read again.
                            self.at = back;
                        }
                    }
                }
                utf8::push_code(out, i64::from(code));
                return Ok(());
            }
            _ => return invalid(byte, "in string escape code"),
        });
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.within("in \\u hexadecimal character escape")?;
            match char::from(byte).to_digit(16) {
                Some(digit) => code = code * 16 + digit,
                None => return invalid(byte, "in \\u hexadecimal character escape"),
            }
        }
        Ok(code)
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self, first: u8) -> Result<Value, String> {
        let start = self.at - 1;
        let lead = if first == b'-' {
            let byte = self.within("in numeric literal")?;
            if !byte.is_ascii_digit() {
                return invalid(byte, "in numeric literal");
            }
            byte
        } else {
            first
        };
        if lead != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            let byte = self.within("after decimal point in numeric literal")?;
            if !byte.is_ascii_digit() {
                return invalid(byte, "after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            const PLACE: &str = "in exponent of numeric literal";
            let mut byte = self.within(PLACE)?;
            if matches!(byte, b'+' | b'-') {
                byte = self.within(PLACE)?;
            }
            if !byte.is_ascii_digit() {
                return invalid(byte, PLACE);
            }
            self.digits();
        }
        let text = &self.text[start..self.at];
        match number::parse_float(text) {
            Ok(float) => Ok(Value::Float(float)),
            Err(_) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.range.get_or_insert(text);
                Ok(Value::Nil)
            }
        }
    }
}

fn invalid<T>(byte: u8, place: &str) -> Result<T, String> {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let mut text = Vec::new();
            utf8::push(&mut text, char::from(byte));
            let quoted = number::quoted(&text);
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    };
    Err(format!("invalid character {shown} {place}"))
}

#[cfg(test)]
mod tests {
    use super::{JsonStyle, from_json, to_json};
    use crate::value::Value;

    fn write(value: &Value) -> String {
        String::from_utf8(to_json(value, JsonStyle::default(), 1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let list = [1e6, 1e21, 1e-7, 0.000_001, 1.5].map(Value::Float).to_vec();
        assert_eq!(
            write(&Value::list(list)),
            "[1000000,1e+21,1e-7,0.000001,1.5]"
        );
    }

    #[test]
    fn what_go_reads_is_written_back() {
        let text = br#"{"a":[1,true,null,"\u00e9\ud83d\ude00<"],"b":{}}"#;
        assert_eq!(
            write(&from_json(text).unwrap()),
            "{\"a\":[1,true,null,\"é😀\\u003c\"],\"b\":{}}"
        );
    }

    #[test]
    fn errors_are_told_as_go_tells_them() {
        for (text, wanted) in [
            ("", "unexpected end of JSON input"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "nul",
                "invalid character ' ' in literal null (expecting 'l')",
            ),
            (
                "nuL",
                "invalid character 'L' in literal null (expecting 'l')",
            ),
            ("1 x", "invalid character 'x' after top-level value"),
        ] {
            assert_eq!(from_json(text.as_bytes()).unwrap_err().to_string(), wanted);
        }
    }
}
