//! Go's `fmt`: `print`, `println`, `printf` with its verbs and flags, on [`Value`]s.
//!
//! Duty: the bytes Go would print, its complaints about wrong verbs included.

use crate::error::FuncError;
use crate::number;
use crate::text::Str;
use crate::utf8;
use crate::value::{Elem, Kind, List, Map, Value};

/// Deeper values are taken to hold themselves.
const MAX_DEPTH: u32 = 10_000;

/// The longest text a list or map may give; shared ones may stand for far more than they hold.
const MAX_PRINTED: usize = 16 << 20;

/// Printing failed: a value is nested without end, or the text grew beyond the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

/// The text `%s` gives, as some of Go's messages show a value of any type.
pub(crate) fn as_string(value: &Value) -> String {
    let text = sprintf(b"%s", std::slice::from_ref(value), 1 << 16).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Appends what `fmt.Print` prints for one value.
pub(crate) fn print_value(out: &mut Vec<u8>, value: &Value, bound: usize) -> Result<(), Overflow> {
    match value {
        Value::String(text) => {
            if text.len() > bound {
                return Err(Overflow);
            }
            out.extend_from_slice(text);
            Ok(())
        }
        Value::Int(i) | Value::Int64(i) => {
            push_int(out, *i);
            Ok(())
        }
        Value::Bool(b) => {
            out.extend_from_slice(if *b { b"true" } else { b"false" });
            Ok(())
        }
        _ => {
            let mut printer = Printer::new(out, bound.min(MAX_PRINTED));
            printer.print_arg(value, 'v');
            printer.finish()
        }
    }
}

/// The text `%v` gives.
pub(crate) fn to_text(value: &Value, bound: usize) -> Result<Vec<u8>, Overflow> {
    let mut out = Vec::new();
    print_value(&mut out, value, bound)?;
    Ok(out)
}

/// `fmt.Sprint`: a space between two operands when neither is a string.
pub(crate) fn sprint(values: &[Value], bound: usize) -> Result<Vec<u8>, Overflow> {
    let mut out = Vec::new();
    let mut after_string = false;
    for (at, value) in values.iter().enumerate() {
        let is_string = matches!(value, Value::String(_));
        if at > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        let rest = bound.saturating_sub(out.len());
        print_value(&mut out, value, rest)?;
        after_string = is_string;
    }
    Ok(out)
}

/// `fmt.Sprintln`: spaces between all operands and a newline.
pub(crate) fn sprintln(values: &[Value], bound: usize) -> Result<Vec<u8>, Overflow> {
    let mut out = Vec::new();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let rest = bound.saturating_sub(out.len());
        print_value(&mut out, value, rest)?;
    }
    out.push(b'\n');
    Ok(out)
}

/// `fmt.Sprintf`.
pub(crate) fn sprintf(format: &[u8], values: &[Value], bound: usize) -> Result<Vec<u8>, Overflow> {
    let mut out = Vec::with_capacity(format.len() + 16);
    let mut printer = Printer::new(&mut out, bound);
    printer.run(format, values);
    printer.finish()?;
    Ok(out)
}

/// `fmt.Sprintf`, for hosts that show values in messages.
///
/// # Errors
/// The text would be longer than `bound` bytes, or a value is nested without end.
pub fn format(format: &str, values: &[Value], bound: usize) -> Result<Str, FuncError> {
    sprintf(format.as_bytes(), values, bound)
        .map(Str::from)
        .map_err(|Overflow| FuncError::limit("the value is too large or too deep to print"))
}

fn push_int(out: &mut Vec<u8>, value: i64) {
    let mut buffer = [0_u8; 20];
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[at..]);
}

#[derive(Clone, Copy, Default)]
struct Flags {
    width: Option<usize>,
    precision: Option<usize>,
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%+v`.
    plus_v: bool,
    /// `%#v`.
    sharp_v: bool,
}

/// A format with its values, and how far both are used.
struct Args<'a> {
    format: &'a [u8],
    values: &'a [Value],
    at: usize,
    next: usize,
    /// Whether arguments were taken out of order.
    reordered: bool,
    /// Whether the indexes of this directive make sense.
    good: bool,
}

impl Args<'_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// An argument index in brackets, if there is one; says whether there was.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let (number, width, ok) = argument_index(&self.format[self.at..]);
        self.at += width;
        match number {
            Some(number) if ok && number < self.values.len() => self.next = number,
            _ => self.good = false,
        }
        ok
    }

    /// The next argument, as a width or precision.
    fn int(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let number = match value {
            Value::Int(i) | Value::Int64(i) => *i,
            Value::Uint8(u) => i64::from(*u),
            Value::Uint64(u) => i64::try_from(*u).ok()?,
            _ => return None,
        };
        (number.unsigned_abs() <= 1_000_000).then_some(number)
    }
}

struct Printer<'o> {
    out: &'o mut Vec<u8>,
    bound: usize,
    flags: Flags,
    overflow: bool,
    depth: u32,
}

impl<'o> Printer<'o> {
    fn new(out: &'o mut Vec<u8>, bound: usize) -> Self {
        let bound = out.len().saturating_add(bound);
        Self {
            out,
            bound,
            flags: Flags::default(),
            overflow: false,
            depth: 0,
        }
    }

    fn finish(&self) -> Result<(), Overflow> {
        if self.overflow || self.out.len() > self.bound {
            Err(Overflow)
        } else {
            Ok(())
        }
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Walks a format and prints the values it asks for.
    fn run(&mut self, format: &[u8], values: &[Value]) {
        let mut args = Args {
            format,
            values,
            at: 0,
            next: 0,
            reordered: false,
            good: true,
        };
        while args.at < format.len() {
            let rest = &format[args.at..];
            let plain = rest.iter().position(|&b| b == b'%').unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            args.at += plain;
            if args.at >= format.len() {
                break;
            }
            args.at += 1;
            self.flags = Flags::default();
            args.good = true;
            self.directive(&mut args);
            if self.overflow || self.out.len() > self.bound {
                self.overflow = true;
                return;
            }
        }
        if !args.reordered && args.next < values.len() {
            self.extra(&values[args.next..]);
        }
    }

    fn extra(&mut self, values: &[Value]) {
        self.flags = Flags::default();
        self.text("%!(EXTRA ");
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.text(", ");
            }
            if matches!(value, Value::Nil) {
                self.text("<nil>");
            } else {
                let name = value.type_name();
                self.text(&name);
                self.out.push(b'=');
                self.print_arg(value, 'v');
            }
        }
        self.out.push(b')');
    }

    /// One directive after its `%`.
    fn directive(&mut self, args: &mut Args<'_>) {
        while let Some(byte) = args.peek() {
            match byte {
                b'#' => self.flags.sharp = true,
                b'0' => self.flags.zero = true,
                b'+' => self.flags.plus = true,
                b'-' => self.flags.minus = true,
                b' ' => self.flags.space = true,
                _ => break,
            }
            args.at += 1;
        }
        let mut after_index = args.index();
        if args.peek() == Some(b'*') {
            args.at += 1;
            match args.int() {
                Some(width) => {
                    if width < 0 {
                        self.flags.minus = true;
                    }
                    self.flags.width = Some(width.unsigned_abs() as usize);
                }
                None => self.text("%!(BADWIDTH)"),
            }
            after_index = false;
        } else {
            let (number, too_large) = parse_number(args.format, &mut args.at);
            self.flags.width = number;
            if after_index && (number.is_some() || too_large) {
                args.good = false;
            }
        }
        if args.peek() == Some(b'.') {
            args.at += 1;
            if after_index {
                args.good = false;
            }
            after_index = self.precision(args);
        }
        if !after_index {
            args.index();
        }
        self.verb(args);
    }

    /// The precision after its point. Says whether an argument index came last.
    fn precision(&mut self, args: &mut Args<'_>) -> bool {
        let after_index = args.index();
        if args.peek() == Some(b'*') {
            args.at += 1;
            match args.int() {
                Some(precision) if precision >= 0 => {
                    self.flags.precision = Some(precision as usize);
                }
                // A negative precision is none at all.
                _ => self.text("%!(BADPREC)"),
            }
            return false;
        }
        let (number, _) = parse_number(args.format, &mut args.at);
        self.flags.precision = Some(number.unwrap_or(0));
        after_index
    }

    fn verb(&mut self, args: &mut Args<'_>) {
        if args.at >= args.format.len() {
            self.text("%!(NOVERB)");
            return;
        }
        let (verb, width) = utf8::decode(&args.format[args.at..]);
        args.at += width;
        if verb == '%' {
            self.out.push(b'%');
        } else if !args.good {
            self.bad(verb, "(BADINDEX)");
        } else if let Some(value) = args.values.get(args.next) {
            args.next += 1;
            if matches!(verb, 'v' | 'w') {
                self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
                self.flags.plus_v = std::mem::take(&mut self.flags.plus);
            }
            self.print_arg(value, verb);
        } else {
            self.bad(verb, "(MISSING)");
        }
    }

    fn bad(&mut self, verb: char, what: &str) {
        self.text("%!");
        utf8::push(self.out, verb);
        self.text(what);
    }

    fn bad_verb(&mut self, verb: char, value: &Value) {
        self.text("%!");
        utf8::push(self.out, verb);
        self.out.push(b'(');
        if matches!(value, Value::Nil) {
            self.text("<nil>");
        } else {
            let name = value.type_name();
            self.text(&name);
            self.out.push(b'=');
            self.print_arg(value, 'v');
        }
        self.out.push(b')');
    }

    fn print_arg(&mut self, value: &Value, verb: char) {
        if self.depth > MAX_DEPTH || self.out.len() > self.bound {
            self.overflow = true;
            return;
        }
        if matches!(value, Value::Nil) {
            match verb {
                'T' | 'v' => self.pad(if self.depth > 0 && verb == 'T' {
                    b""
                } else {
                    b"<nil>"
                }),
                _ => self.bad_verb(verb, value),
            }
            return;
        }
        match verb {
            'T' if self.depth == 0 => {
                let name = value.type_name();
                self.fmt_str(name.as_bytes(), 's');
                return;
            }
            'p' if self.depth == 0 => {
                self.fmt_pointer(value);
                return;
            }
            _ => {}
        }
        match value {
            Value::Nil => {}
            Value::Bool(b) => match verb {
                't' | 'v' => self.pad(if *b { b"true" } else { b"false" }),
                _ => self.bad_verb(verb, value),
            },
            Value::Int(i) | Value::Int64(i) => {
                self.integer(value, i.unsigned_abs(), *i < 0, true, verb);
            }
            Value::Uint8(u) => self.integer(value, u64::from(*u), false, false, verb),
            Value::Uint64(u) => self.integer(value, *u, false, false, verb),
            Value::Float(f) => self.float(value, *f, verb),
            Value::Complex(re, im) => self.complex(value, *re, *im, verb),
            Value::String(text) => self.string(value, text, verb),
            Value::Bytes(bytes) => self.bytes(value, bytes, verb),
            // Only errors can be wrapped, and those not here.
            Value::List(_) | Value::Map(_) if verb == 'w' && self.depth == 0 => {
                self.bad_verb(verb, value);
            }
            Value::List(list) => {
                self.nested(|printer| printer.list(list, verb));
            }
            Value::Map(map) => {
                self.nested(|printer| printer.map(map, verb));
            }
            Value::Object(object) => match verb {
                'v' | 's' => {
                    let text = object.print();
                    self.fmt_str(text.as_bytes(), 's');
                }
                'q' | 'x' | 'X' => {
                    let text = Str::from(object.print());
                    self.string(value, &text, verb);
                }
                _ if let Some(integer) = object.integer() => {
                    let number = Value::Int(integer);
                    self.integer(&number, integer.unsigned_abs(), integer < 0, true, verb);
                }
                _ => {
                    let text = object.print();
                    let name = object.type_name().to_owned();
                    self.bad(verb, &format!("({name}={text})"));
                }
            },
        }
    }

    /// Runs one level deeper, on more stack if need be.
    fn nested(&mut self, run: impl FnOnce(&mut Self)) {
        self.depth += 1;
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || run(self));
        self.depth -= 1;
    }

    fn list(&mut self, list: &List, verb: char) {
        let items = list.items();
        if self.flags.sharp_v {
            let name = Value::List(list.clone()).type_name();
            self.text(&name);
            if list.is_nil() {
                self.text("(nil)");
                return;
            }
            self.out.push(b'{');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    self.text(", ");
                }
                self.element(item, list.elem(), verb);
            }
            self.out.push(b'}');
            return;
        }
        self.out.push(b'[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(b' ');
            }
            self.element(item, list.elem(), verb);
            if self.overflow {
                return;
            }
        }
        self.out.push(b']');
    }

    fn map(&mut self, map: &Map, verb: char) {
        let entries = map.entries();
        let (open, close, between) = if self.flags.sharp_v {
            let name = Value::Map(map.clone()).type_name();
            self.text(&name);
            if map.is_nil() {
                self.text("(nil)");
                return;
            }
            ("{", "}", ", ")
        } else {
            ("map[", "]", " ")
        };
        self.text(open);
        for (at, (key, value)) in entries.iter().enumerate() {
            if at > 0 {
                self.text(between);
            }
            let key_value = Value::String(key.clone());
            self.string(&key_value, key, verb);
            self.out.push(b':');
            self.element(value, map.elem(), verb);
            if self.overflow {
                return;
            }
        }
        self.text(close);
    }

    /// An element: a nil interface inside a list or map prints without its verb.
    fn element(&mut self, value: &Value, elem: Elem, verb: char) {
        if matches!(value, Value::Nil) {
            if self.flags.sharp_v {
                let name = elem.type_name();
                self.text(name);
                self.text("(nil)");
            } else {
                self.pad_plain(b"<nil>");
            }
            return;
        }
        self.print_arg(value, verb);
    }

    fn pad_plain(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn pad(&mut self, text: &[u8]) {
        if self.out.len().saturating_add(text.len()) > self.bound {
            self.overflow = true;
            return;
        }
        let Some(width) = self.flags.width else {
            self.out.extend_from_slice(text);
            return;
        };
        let missing = width.saturating_sub(utf8::count(text));
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.out.extend(std::iter::repeat_n(b' ', missing));
        } else {
            // Zeros pad on the left only.
            let fill = if self.flags.zero { b'0' } else { b' ' };
            self.out.extend(std::iter::repeat_n(fill, missing));
            self.out.extend_from_slice(text);
        }
    }

    fn fmt_pointer(&mut self, value: &Value) {
        match value.kind() {
            // Addresses are different in every run of Go as well; this one says that there is one.
            Kind::Slice | Kind::Map | Kind::Pointer => self.text("0xc000000000"),
            _ => self.bad_verb('p', value),
        }
    }

    fn integer(&mut self, value: &Value, abs: u64, negative: bool, signed: bool, verb: char) {
        match verb {
            'v' => {
                if self.flags.sharp_v && !signed {
                    let sharp = std::mem::replace(&mut self.flags.sharp, true);
                    self.fmt_integer(abs, negative, 16, verb, false);
                    self.flags.sharp = sharp;
                } else {
                    self.fmt_integer(abs, negative, 10, verb, false);
                }
            }
            'd' => self.fmt_integer(abs, negative, 10, verb, false),
            'b' => self.fmt_integer(abs, negative, 2, verb, false),
            'o' | 'O' => self.fmt_integer(abs, negative, 8, verb, false),
            'x' => self.fmt_integer(abs, negative, 16, verb, false),
            'X' => self.fmt_integer(abs, negative, 16, verb, true),
            'c' => {
                let mut text = Vec::new();
                utf8::push_code(&mut text, code(abs, negative));
                self.pad(&text);
            }
            'q' => {
                let mut text = Vec::new();
                number::quote_char(&mut text, code(abs, negative), self.flags.plus);
                self.pad(&text);
            }
            'U' => self.fmt_unicode(abs, negative),
            _ => self.bad_verb(verb, value),
        }
    }

    fn fmt_unicode(&mut self, abs: u64, negative: bool) {
        let value = if negative { abs.wrapping_neg() } else { abs };
        let digits = self.flags.precision.unwrap_or(4).clamp(4, 1_000_000);
        let mut text = format!("U+{value:0>digits$X}", digits = digits.min(60_000));
        if self.flags.sharp
            && let Some(c) = u32::try_from(value).ok().and_then(char::from_u32)
            && utf8::is_print(c)
        {
            text.push_str(" '");
            text.push(c);
            text.push('\'');
        }
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text.as_bytes());
        self.flags.zero = zero;
    }

    fn fmt_integer(&mut self, abs: u64, negative: bool, base: u64, verb: char, upper: bool) {
        let mut minimum = 0;
        if let Some(precision) = self.flags.precision {
            minimum = precision;
            if precision == 0 && abs == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                let width = self.flags.width.unwrap_or(0);
                self.out.extend(std::iter::repeat_n(b' ', width));
                self.flags.zero = zero;
                return;
            }
        } else if self.flags.zero && !self.flags.minus && self.flags.width.is_some() {
            minimum = self.flags.width.unwrap_or(0);
            if negative || self.flags.plus || self.flags.space {
                minimum = minimum.saturating_sub(1);
            }
        }
        let mut digits = Vec::new();
        let mut rest = abs;
        loop {
            let digit = (rest % base) as u8;
            digits.push(match digit {
                0..=9 => b'0' + digit,
                _ if upper => b'A' + digit - 10,
                _ => b'a' + digit - 10,
            });
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        while digits.len() < minimum {
            digits.push(b'0');
        }
        if self.flags.sharp {
            match base {
                2 => digits.extend_from_slice(b"b0"),
                8 if digits.last() != Some(&b'0') => digits.push(b'0'),
                16 => digits.extend_from_slice(if upper { b"X0" } else { b"x0" }),
                _ => {}
            }
        }
        if verb == 'O' {
            digits.extend_from_slice(b"o0");
        }
        if negative {
            digits.push(b'-');
        } else if self.flags.plus {
            digits.push(b'+');
        } else if self.flags.space {
            digits.push(b' ');
        }
        digits.reverse();
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(&digits);
        self.flags.zero = zero;
    }

    fn float(&mut self, value: &Value, number: f64, verb: char) {
        match verb {
            'v' => self.fmt_float(number, 'g', None),
            'e' | 'E' | 'f' | 'F' => {
                self.fmt_float(number, if verb == 'F' { 'f' } else { verb }, Some(6));
            }
            'g' | 'G' => self.fmt_float(number, verb, None),
            'b' | 'x' | 'X' => self.fmt_float_bits(number, verb),
            _ => self.bad_verb(verb, value),
        }
    }

    fn fmt_float(&mut self, value: f64, form: char, default: Option<usize>) {
        let precision = self.flags.precision.or(default);
        let mut text = Vec::new();
        number::append_float(&mut text, value, form as u8, precision);
        // A sign always stands first while padding is decided.
        if !matches!(text.first(), Some(b'-' | b'+')) {
            text.insert(0, b'+');
        }
        if self.flags.space && text[0] == b'+' && !self.flags.plus {
            text[0] = b' ';
        }
        let infinite = matches!(text.get(1), Some(b'I' | b'N'));
        if infinite {
            let zero = std::mem::take(&mut self.flags.zero);
            if text[1] == b'N' && !self.flags.space && !self.flags.plus {
                text.remove(0);
            }
            self.pad(&text);
            self.flags.zero = zero;
            return;
        }
        if self.flags.sharp {
            sharpen(&mut text, form, precision);
        }
        self.sign_and_pad(&text);
    }

    fn sign_and_pad(&mut self, text: &[u8]) {
        if self.flags.plus || text[0] != b'+' {
            if self.flags.zero
                && !self.flags.minus
                && let Some(width) = self.flags.width
                && width > text.len()
            {
                self.out.push(text[0]);
                self.out
                    .extend(std::iter::repeat_n(b'0', width - text.len()));
                self.out.extend_from_slice(&text[1..]);
                return;
            }
            self.pad(text);
            return;
        }
        self.pad(&text[1..]);
    }

    fn fmt_float_bits(&mut self, value: f64, verb: char) {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let mut exponent = ((bits >> 52) & 0x7FF) as i32;
        let mut mantissa = bits & ((1 << 52) - 1);
        if exponent == 0x7FF {
            self.fmt_float(value, 'g', None);
            return;
        }
        if exponent == 0 {
            exponent = 1;
        } else {
            mantissa |= 1 << 52;
        }
        let sign = if negative { "-" } else { "+" };
        let text = if verb == 'b' {
            let power = exponent - 1075;
            format!("{sign}{mantissa}p{power:+}")
        } else {
            hex_float(sign, mantissa, exponent, self.flags.precision, verb == 'X')
        };
        let mut text = text.into_bytes();
        if self.flags.space && text[0] == b'+' && !self.flags.plus {
            text[0] = b' ';
        }
        if self.flags.sharp && verb != 'b' {
            sharpen(&mut text, verb, self.flags.precision);
        }
        self.sign_and_pad(&text);
    }

    fn complex(&mut self, value: &Value, re: f64, im: f64, verb: char) {
        match verb {
            'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E' => {
                let plus = self.flags.plus;
                self.out.push(b'(');
                let part = Value::Float(re);
                self.float(&part, re, verb);
                self.flags.plus = true;
                let part = Value::Float(im);
                self.float(&part, im, verb);
                self.text("i)");
                self.flags.plus = plus;
            }
            _ => self.bad_verb(verb, value),
        }
    }

    fn string(&mut self, value: &Value, text: &Str, verb: char) {
        match verb {
            'v' if self.flags.sharp_v => self.fmt_quoted(text),
            'v' | 's' => self.fmt_str(text, verb),
            'x' => self.fmt_hex(text, false),
            'X' => self.fmt_hex(text, true),
            'q' => self.fmt_quoted(text),
            _ => self.bad_verb(verb, value),
        }
    }

    fn bytes(&mut self, value: &Value, bytes: &Str, verb: char) {
        match verb {
            'v' | 'd' => {
                let (open, close, between) = if self.flags.sharp_v {
                    ("[]byte{", "}", ", ")
                } else {
                    ("[", "]", " ")
                };
                self.text(open);
                for (at, &byte) in bytes.iter().enumerate() {
                    if at > 0 {
                        self.text(between);
                    }
                    if self.flags.sharp_v {
                        let sharp = std::mem::replace(&mut self.flags.sharp, true);
                        self.fmt_integer(u64::from(byte), false, 16, verb, false);
                        self.flags.sharp = sharp;
                    } else {
                        self.fmt_integer(u64::from(byte), false, 10, verb, false);
                    }
                }
                self.text(close);
            }
            's' => self.fmt_str(bytes, verb),
            'x' => self.fmt_hex(bytes, false),
            'X' => self.fmt_hex(bytes, true),
            'q' => self.fmt_quoted(bytes),
            _ => {
                let items = bytes.iter().map(|&byte| Value::Uint8(byte)).collect();
                let list = List::typed(Elem::Host("uint8"), items);
                let _ = value;
                self.nested(|printer| printer.list(&list, verb));
            }
        }
    }

    /// The first characters a precision allows.
    fn truncate<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else {
            return text;
        };
        match utf8::chars(text).nth(precision) {
            Some((at, _, _)) => &text[..at],
            None => text,
        }
    }

    fn fmt_str(&mut self, text: &[u8], _verb: char) {
        let text = self.truncate(text);
        self.pad(text);
    }

    fn fmt_quoted(&mut self, text: &[u8]) {
        let text = self.truncate(text);
        let raw = self.flags.sharp
            && std::str::from_utf8(text).is_ok_and(|text| {
                text.chars().all(|c| {
                    c != '`' && c != '\u{7F}' && c != '\u{FEFF}' && (c >= ' ' || c == '\t')
                })
            });
        let mut quoted = Vec::with_capacity(text.len() + 2);
        if raw {
            quoted.push(b'`');
            quoted.extend_from_slice(text);
            quoted.push(b'`');
        } else {
            number::quote(&mut quoted, text, self.flags.plus);
        }
        self.pad(&quoted);
    }

    fn fmt_hex(&mut self, text: &[u8], upper: bool) {
        let count = self
            .flags
            .precision
            .map_or(text.len(), |p| p.min(text.len()));
        let digits: &[u8; 16] = if upper {
            b"0123456789ABCDEF"
        } else {
            b"0123456789abcdef"
        };
        let mut hex = Vec::with_capacity(count * 2 + 2);
        let prefix: &[u8] = match (self.flags.sharp, upper) {
            (true, false) => b"0x",
            (true, true) => b"0X",
            _ => b"",
        };
        if count > 0 {
            hex.extend_from_slice(prefix);
        }
        for (at, &byte) in text[..count].iter().enumerate() {
            if self.flags.space && at > 0 {
                hex.push(b' ');
                hex.extend_from_slice(prefix);
            }
            hex.push(digits[usize::from(byte >> 4)]);
            hex.push(digits[usize::from(byte & 15)]);
        }
        self.pad(&hex);
    }
}

fn code(abs: u64, negative: bool) -> i64 {
    if negative {
        -1
    } else {
        i64::try_from(abs).unwrap_or(-1)
    }
}

/// `%#g` and its kind keep the point and trailing zeros.
fn sharpen(text: &mut Vec<u8>, form: char, precision: Option<usize>) {
    let mut digits = match form {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let hex = matches!(form, 'x' | 'X');
    let mut tail = Vec::new();
    let mut point = false;
    let mut significant = false;
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'.' => point = true,
            b'e' | b'E' if !hex => {
                tail = text.split_off(at);
                break;
            }
            b'p' | b'P' if hex => {
                tail = text.split_off(at);
                break;
            }
            byte => {
                if byte != b'0' {
                    significant = true;
                }
                if significant {
                    digits = digits.saturating_sub(1);
                }
            }
        }
        at += 1;
    }
    if !point {
        if text.len() == 2 && text[1] == b'0' {
            digits = digits.saturating_sub(1);
        }
        text.push(b'.');
    }
    text.extend(std::iter::repeat_n(b'0', digits));
    text.extend_from_slice(&tail);
}

fn hex_float(
    sign: &str,
    mantissa: u64,
    exponent: i32,
    precision: Option<usize>,
    upper: bool,
) -> String {
    let mut mantissa = mantissa;
    let mut power = exponent - 1023;
    if mantissa == 0 {
        power = 0;
    } else {
        while mantissa & (1 << 52) == 0 {
            mantissa <<= 1;
            power -= 1;
        }
    }
    let mut lead = mantissa >> 52;
    let mut fraction = mantissa & ((1 << 52) - 1);
    let mut digits = 13;
    match precision {
        Some(places) if places < 13 => {
            let drop = (13 - places) * 4;
            let unit = 1_u64 << drop;
            let rest = mantissa & (unit - 1);
            let mut kept = mantissa >> drop;
            if rest > unit / 2 || rest == unit / 2 && kept & 1 == 1 {
                kept += 1;
            }
            mantissa = kept << drop;
            if mantissa >= 1 << 53 {
                mantissa >>= 1;
                power += 1;
            }
            lead = mantissa >> 52;
            fraction = (mantissa & ((1 << 52) - 1)) >> drop;
            digits = places;
        }
        Some(_) => {}
        None => {
            while digits > 0 && fraction & 15 == 0 {
                fraction >>= 4;
                digits -= 1;
            }
        }
    }
    let mut text = format!("{sign}0x{lead}");
    if digits > 0 {
        text.push('.');
        text.push_str(&format!("{fraction:0digits$x}"));
    }
    if let Some(places) = precision.filter(|&places| places > 13) {
        text.push_str(&"0".repeat(places.min(1_000_000) - 13));
    }
    let power_sign = if power < 0 { '-' } else { '+' };
    text.push_str(&format!("p{power_sign}{:02}", power.unsigned_abs()));
    if upper { text.to_uppercase() } else { text }
}

/// A width or precision in a format. Numbers above a million are refused, as in Go.
fn parse_number(format: &[u8], at: &mut usize) -> (Option<usize>, bool) {
    let start = *at;
    let mut number = 0_usize;
    while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
        if number > 1_000_000 {
            *at = format.len();
            return (None, true);
        }
        number = number * 10 + usize::from(digit - b'0');
        *at += 1;
    }
    ((*at > start).then_some(number), false)
}

/// `[n]`: the zero-based argument, how many bytes it takes, and whether it was well-formed.
fn argument_index(format: &[u8]) -> (Option<usize>, usize, bool) {
    let Some(end) = format.iter().position(|&byte| byte == b']') else {
        return (None, 1, false);
    };
    let mut at = 1;
    let (number, too_large) = parse_number(&format[..end], &mut at);
    match number {
        Some(number) if at == end && !too_large => (number.checked_sub(1), end + 1, true),
        _ => (None, end + 1, false),
    }
}

#[cfg(test)]
mod tests {
    use super::{print_value, sprint, sprintf};
    use crate::value::Value;

    fn printf(format: &str, values: &[Value]) -> String {
        String::from_utf8(sprintf(format.as_bytes(), values, 1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn wrong_verbs_are_named_with_type_and_value() {
        assert_eq!(printf("%d", &[Value::Float(8080.0)]), "%!d(float64=8080)");
        assert_eq!(printf("%s", &[Value::Nil]), "%!s(<nil>)");
        assert_eq!(printf("%z", &[Value::Int(1)]), "%!z(int=1)");
        assert_eq!(printf("%d", &[]), "%!d(MISSING)");
        assert_eq!(printf("a", &[Value::Int(2)]), "a%!(EXTRA int=2)");
        assert_eq!(printf("%", &[]), "%!(NOVERB)");
    }

    #[test]
    fn floats_turn_to_exponents_where_go_does() {
        let mut out = Vec::new();
        for value in [999_999.0, 1_000_000.0, 123_456.5, 0.000_01, -0.0] {
            print_value(&mut out, &Value::Float(value), 100).unwrap();
            out.push(b' ');
        }
        assert_eq!(out, b"999999 1e+06 123456.5 1e-05 -0 ");
    }

    #[test]
    fn spaces_stand_between_operands_that_are_no_strings() {
        let values = [
            Value::from("a"),
            Value::Int(1),
            Value::Int(2),
            Value::from("b"),
        ];
        assert_eq!(sprint(&values, 100).unwrap(), b"a1 2b");
    }

    #[test]
    fn a_map_that_holds_itself_is_an_error() {
        let map = crate::value::Map::new();
        map.set("self".into(), Value::Map(map.clone()));
        assert!(print_value(&mut Vec::new(), &Value::Map(map.clone()), 1 << 30).is_err());
        map.remove(b"self");
    }
}
