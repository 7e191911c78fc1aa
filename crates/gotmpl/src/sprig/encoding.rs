//! Sprig's encodings and checksums.

use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};

use super::base;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, text_at};
use crate::value::Value;

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "adler32sum",
        params: &[STR],
        rest: None,
        call: adler32sum,
    },
    FuncDef {
        name: "b32dec",
        params: &[STR],
        rest: None,
        call: b32dec,
    },
    FuncDef {
        name: "b32enc",
        params: &[STR],
        rest: None,
        call: b32enc,
    },
    FuncDef {
        name: "b64dec",
        params: &[STR],
        rest: None,
        call: b64dec,
    },
    FuncDef {
        name: "b64enc",
        params: &[STR],
        rest: None,
        call: b64enc,
    },
    FuncDef {
        name: "sha1sum",
        params: &[STR],
        rest: None,
        call: sha1sum,
    },
    FuncDef {
        name: "sha256sum",
        params: &[STR],
        rest: None,
        call: sha256sum,
    },
    FuncDef {
        name: "sha512sum",
        params: &[STR],
        rest: None,
        call: sha512sum,
    },
];

/// Lower-case hexadecimal.
fn hex(bytes: &[u8]) -> Value {
    let digits = b"0123456789abcdef";
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(digits[usize::from(byte >> 4)]);
        out.push(digits[usize::from(byte & 15)]);
    }
    Value::from(out)
}

fn sha1sum(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    Ok(hex(&Sha1::digest(&text[..])))
}

fn sha256sum(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    Ok(hex(&Sha256::digest(&text[..])))
}

fn sha512sum(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    Ok(hex(&Sha512::digest(&text[..])))
}

fn adler32sum(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    let (mut low, mut high) = (1_u32, 0_u32);
    for &byte in text.iter() {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    Ok(Value::from((high << 16 | low).to_string()))
}

fn b64enc(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    cx.reserve(text.len() * 2)?;
    Ok(Value::from(base::encode64(&text)))
}

/// What cannot be decoded gives the complaint as the text.
fn decoded(result: std::result::Result<Vec<u8>, String>) -> Value {
    match result {
        Ok(bytes) => Value::from(bytes),
        Err(words) => Value::from(words),
    }
}

fn b64dec(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    Ok(decoded(base::decode64(&text)))
}

fn b32enc(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    cx.reserve(text.len() * 2)?;
    Ok(Value::from(base::encode32(&text)))
}

fn b32dec(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = text_at(args, 0);
    cx.spend(text.len() / 64)?;
    Ok(decoded(base::decode32(&text)))
}
