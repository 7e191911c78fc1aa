//! Sprig's keys, certificates, passwords and ciphers.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use sha2::{Digest as _, Sha256};

use super::base;
use super::der::{self, Reader};
use super::keys::Key;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, int_at, list_at, text_at};
use crate::gofmt;
use crate::gotime::Moment;
use crate::text::Str;
use crate::value::{List, Object, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const INT: Param = Param::Int;
const LIST: Param = Param::List;
const CERT: Param = Param::Host("sprig.certificate");

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "bcrypt",
        params: &[STR],
        rest: None,
        call: bcrypt,
    },
    FuncDef {
        name: "buildCustomCert",
        params: &[STR, STR],
        rest: None,
        call: build_custom_cert,
    },
    FuncDef {
        name: "decryptAES",
        params: &[STR, STR],
        rest: None,
        call: decrypt_aes,
    },
    FuncDef {
        name: "derivePassword",
        params: &[Param::Uint32, STR, STR, STR, STR],
        rest: None,
        call: derive_password,
    },
    FuncDef {
        name: "encryptAES",
        params: &[STR, STR],
        rest: None,
        call: encrypt_aes,
    },
    FuncDef {
        name: "genCA",
        params: &[STR, INT],
        rest: None,
        call: gen_ca,
    },
    FuncDef {
        name: "genCAWithKey",
        params: &[STR, INT, STR],
        rest: None,
        call: gen_ca_with_key,
    },
    FuncDef {
        name: "genPrivateKey",
        params: &[STR],
        rest: None,
        call: gen_private_key,
    },
    FuncDef {
        name: "genSelfSignedCert",
        params: &[STR, LIST, LIST, INT],
        rest: None,
        call: gen_self_signed,
    },
    FuncDef {
        name: "genSelfSignedCertWithKey",
        params: &[STR, LIST, LIST, INT, STR],
        rest: None,
        call: gen_self_signed_with_key,
    },
    FuncDef {
        name: "genSignedCert",
        params: &[STR, LIST, LIST, INT, CERT],
        rest: None,
        call: gen_signed,
    },
    FuncDef {
        name: "genSignedCertWithKey",
        params: &[STR, LIST, LIST, INT, CERT, STR],
        rest: None,
        call: gen_signed_with_key,
    },
    FuncDef {
        name: "htpasswd",
        params: &[STR, STR],
        rest: None,
        call: htpasswd,
    },
    FuncDef {
        name: "randBytes",
        params: &[INT],
        rest: None,
        call: rand_bytes,
    },
    FuncDef {
        name: "uuidv4",
        params: &[],
        rest: None,
        call: uuidv4,
    },
];

fn rand_bytes(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let Ok(count) = usize::try_from(int_at(args, 0)) else {
        return Err(FuncError::new("runtime error: makeslice: len out of range"));
    };
    cx.reserve(count.saturating_mul(3))?;
    cx.spend(count / 16)?;
    let mut bytes = vec![0; count];
    cx.ambient().random(&mut bytes);
    Ok(Value::from(base::encode64(&bytes)))
}

fn uuidv4(cx: &mut Cx<'_>, _: &[Value]) -> Result<Value> {
    let mut bytes = [0; 16];
    cx.ambient().random(&mut bytes);
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(Value::from(text))
}

/// The cost Go's library takes by default.
const BCRYPT_COST: u32 = 10;

fn hashed(cx: &Cx<'_>, password: &[u8]) -> Result<String> {
    // Two dozen of them take the two seconds a rendering has.
    cx.spend(600_000)?;
    if password.len() > 72 {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
                .to_owned(),
        );
    }
    let mut salt = [0; 16];
    cx.ambient().random(&mut salt);
    Ok(
        match ::bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
            Ok(parts) => parts.format_for_version(::bcrypt::Version::TwoA),
            Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
        },
    )
}

fn bcrypt(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(hashed(cx, &text_at(args, 0))?))
}

fn htpasswd(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let name = text_at(args, 0);
    if name.contains(&b':') {
        return Ok(Value::from([b"invalid username: ", &name[..]].concat()));
    }
    let hash = hashed(cx, &text_at(args, 1))?;
    Ok(Value::from([&name[..], b":", hash.as_bytes()].concat()))
}

/// HMAC with SHA-256.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message);
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5C));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// The forms of derived passwords: each letter stands for a class of characters.
fn password_forms(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn password_class(letter: u8) -> &'static [u8] {
    match letter {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// The master password algorithm: a password from a name, a secret and a site.
fn derive_password(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    const SCOPE: &[u8] = b"com.lyndir.masterpassword";
    let counter = match any_at(args, 0) {
        Value::Uint64(counter) => *counter as u32,
        _ => 0,
    };
    let (kind, secret) = (text_at(args, 1), text_at(args, 2));
    let (user, site) = (text_at(args, 3), text_at(args, 4));
    let Some(forms) = password_forms(&kind) else {
        return Ok(Value::from(
            [b"cannot find password template ", &kind[..]].concat(),
        ));
    };
    cx.spend(1_000_000)?;
    let length = |text: &Str| (text.len() as u32).to_be_bytes();
    let salt = [SCOPE, &length(&user), &user[..]].concat();
    let mut key = [0; 64];
    let made = scrypt::Params::new(15, 8, 2)
        .map_err(|error| error.to_string())
        .and_then(|params| {
            scrypt::scrypt(&secret, &salt, &params, &mut key).map_err(|error| error.to_string())
        });
    if let Err(error) = made {
        return Ok(Value::from(format!("failed to derive password: {error}")));
    }
    let message = [SCOPE, &length(&site), &site[..], &counter.to_be_bytes()].concat();
    let seed = hmac(&key, &message);
    let form = forms[usize::from(seed[0]) % forms.len()];
    let password: Vec<u8> = form
        .bytes()
        .zip(&seed[1..])
        .map(|(letter, &byte)| {
            let class = password_class(letter);
            class[usize::from(byte) % class.len()]
        })
        .collect();
    Ok(Value::from(password))
}

fn aes(password: &[u8]) -> Aes256 {
    let mut key = [0; 32];
    let used = password.len().min(32);
    key[..used].copy_from_slice(&password[..used]);
    Aes256::new(&key.into())
}

fn encrypt_aes(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (password, text) = (text_at(args, 0), text_at(args, 1));
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    cx.reserve(text.len().saturating_mul(4))?;
    cx.spend(text.len() / 16)?;
    let cipher = aes(&password);
    let padding = 16 - text.len() % 16;
    let mut content = text.to_vec();
    content.extend(std::iter::repeat_n(padding as u8, padding));
    let mut before = [0; 16];
    cx.ambient().random(&mut before);
    let mut out = before.to_vec();
    for chunk in content.chunks(16) {
        let mut block = before;
        for (byte, plain) in block.iter_mut().zip(chunk) {
            *byte ^= plain;
        }
        let mut block = block.into();
        cipher.encrypt_block(&mut block);
        before = block.into();
        out.extend_from_slice(&before);
    }
    Ok(Value::from(base::encode64(&out)))
}

fn decrypt_aes(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (password, text) = (text_at(args, 0), text_at(args, 1));
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    cx.spend(text.len() / 16)?;
    let data = base::decode64(&text).map_err(FuncError::new)?;
    let Some((mut before, content)) = data.split_at_checked(16) else {
        return Err(FuncError::new(format!(
            "runtime error: slice bounds out of range [:16] with capacity {}",
            data.len()
        )));
    };
    if content.len() % 16 != 0 {
        return Err(FuncError::new("crypto/cipher: input not full blocks"));
    }
    let cipher = aes(&password);
    let mut out: Vec<u8> = Vec::with_capacity(content.len());
    for chunk in content.chunks(16) {
        let mut block = [0; 16];
        block.copy_from_slice(chunk);
        let mut block = block.into();
        cipher.decrypt_block(&mut block);
        let plain: [u8; 16] = block.into();
        out.extend(plain.iter().zip(before).map(|(byte, before)| byte ^ before));
        before = chunk;
    }
    let Some(&padding) = out.last() else {
        return Err(FuncError::new("runtime error: index out of range [-1]"));
    };
    match out.len().checked_sub(usize::from(padding)) {
        Some(end) => out.truncate(end),
        None => {
            let end = out.len() as i64 - i64::from(padding);
            return Err(FuncError::new(format!(
                "runtime error: slice bounds out of range [:{end}]"
            )));
        }
    }
    Ok(Value::from(out))
}

fn gen_private_key(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let kind = text_at(args, 0);
    let key = match &kind[..] {
        b"" | b"rsa" => Key::rsa(cx, 4096)?,
        b"dsa" => Key::dsa(cx)?,
        b"ecdsa" => Key::ec(cx),
        b"ed25519" => Key::ed(cx),
        _ => return Ok(Value::from([b"Unknown type ", &kind[..]].concat())),
    };
    Ok(Value::from(key.to_pem()))
}

/// A certificate with its key, both as PEM.
struct Certificate {
    cert: Str,
    key: Str,
}

impl Object for Certificate {
    fn type_name(&self) -> &str {
        "sprig.certificate"
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Cert" => Some(Value::String(self.cert.clone())),
            "Key" => Some(Value::String(self.key.clone())),
            _ => None,
        }
    }

    fn print(&self) -> String {
        format!("{{{} {}}}", self.cert, self.key)
    }

    fn json(&self) -> Option<Value> {
        Some(Value::map([
            ("Cert", Value::String(self.cert.clone())),
            ("Key", Value::String(self.key.clone())),
        ]))
    }

    fn equal(&self, other: &dyn Object) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.cert == self.cert && other.key == self.key)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What a certificate to be made says.
struct Request {
    name: Str,
    addresses: Vec<IpAddr>,
    names: Vec<Str>,
    days: i64,
    authority: bool,
}

/// Who signs a certificate.
struct Issuer {
    subject: Vec<u8>,
    key_id: Option<Vec<u8>>,
    public: Vec<u8>,
}

fn new_key(cx: &Cx<'_>) -> Result<Key> {
    Key::rsa(cx, 2048)
}

fn given_key(args: &[Value], at: usize) -> Result<Key> {
    Key::from_pem(&text_at(args, at).to_text())
        .map_err(|words| FuncError::new(format!("parsing private key: {words}")))
}

fn text_items(list: &List, refused: &str) -> Result<Vec<Str>> {
    let as_text = |item: &Value| match item {
        Value::String(text) => Ok(text.clone()),
        other => {
            let shown = gofmt::to_text(other, 4096).unwrap_or_default();
            let shown = String::from_utf8_lossy(&shown).into_owned();
            Err(FuncError::new(format!(
                "{refused}: {shown} is not a string"
            )))
        }
    };
    list.items().iter().map(as_text).collect()
}

/// The request in the first four arguments.
fn request(args: &[Value]) -> Result<Request> {
    let mut addresses = Vec::new();
    for text in text_items(&list_at(args, 1), "error parsing ip")? {
        let address = text.as_utf8().and_then(|text| text.parse().ok());
        addresses.push(address.ok_or_else(|| FuncError::new(format!("error parsing ip: {text}")))?);
    }
    let names = text_items(&list_at(args, 2), "error processing alternate dns name")?;
    if let Some(name) = names.iter().find(|name| !name.is_ascii()) {
        let shown = crate::number::quoted(name);
        return Err(FuncError::new(format!(
            "error creating certificate: x509: {shown} cannot be encoded as an IA5String"
        )));
    }
    Ok(Request {
        name: text_at(args, 0),
        addresses,
        names,
        days: int_at(args, 3),
        authority: false,
    })
}

fn gen_ca(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let key = new_key(cx)?;
    authority(cx, args, &key)
}

fn gen_ca_with_key(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let key = given_key(args, 2)?;
    authority(cx, args, &key)
}

fn authority(cx: &Cx<'_>, args: &[Value], key: &Key) -> Result<Value> {
    let request = Request {
        name: text_at(args, 0),
        addresses: Vec::new(),
        names: Vec::new(),
        days: int_at(args, 1),
        authority: true,
    };
    certificate(cx, &request, key, None)
}

fn gen_self_signed(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let request = request(args)?;
    certificate(cx, &request, &new_key(cx)?, None)
}

fn gen_self_signed_with_key(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let key = given_key(args, 4)?;
    certificate(cx, &request(args)?, &key, None)
}

fn gen_signed(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let signer = signer(args)?;
    let request = request(args)?;
    certificate(cx, &request, &new_key(cx)?, Some(&signer))
}

fn gen_signed_with_key(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let key = given_key(args, 5)?;
    let signer = signer(args)?;
    certificate(cx, &request(args)?, &key, Some(&signer))
}

/// The authority in the fifth argument: who it is, and its key.
fn signer(args: &[Value]) -> Result<(Issuer, Key)> {
    let ca = match any_at(args, 4) {
        Value::Object(object) => object.as_any().downcast_ref::<Certificate>(),
        _ => None,
    };
    let ca = ca.ok_or_else(|| FuncError::new("unable to decode certificate"))?;
    let text = ca.cert.to_text();
    let Some((_, bytes)) = der::read_pem(&text) else {
        return Err(FuncError::new("unable to decode certificate"));
    };
    let issuer = issuer(&bytes).ok_or_else(|| {
        FuncError::new(
            "error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate",
        )
    })?;
    let key = Key::from_pem(&ca.key.to_text())
        .map_err(|words| FuncError::new(format!("error parsing private key: {words}")))?;
    Ok((issuer, key))
}

const KEY_ID_OID: &[u8] = &[0x55, 0x1D, 0x0E];
const KEY_USAGE_OID: &[u8] = &[0x55, 0x1D, 0x0F];
const NAMES_OID: &[u8] = &[0x55, 0x1D, 0x11];
const CONSTRAINTS_OID: &[u8] = &[0x55, 0x1D, 0x13];
const AUTHORITY_OID: &[u8] = &[0x55, 0x1D, 0x23];
const EXTENDED_USAGE_OID: &[u8] = &[0x55, 0x1D, 0x25];
const COMMON_NAME_OID: &[u8] = &[0x55, 0x04, 0x03];
const SERVER_OID: &[u8] = &[0x2B, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_OID: &[u8] = &[0x2B, 6, 1, 5, 5, 7, 3, 2];

/// Who a certificate is for: subject, public key and key identifier.
fn issuer(bytes: &[u8]) -> Option<Issuer> {
    let mut outer = Reader(Reader(bytes).expect(der::SEQUENCE)?);
    let mut body = Reader(outer.expect(der::SEQUENCE)?);
    let (tag, _, _) = body.next()?;
    if tag == 0xA0 {
        body.expect(der::INTEGER)?;
    }
    body.expect(der::SEQUENCE)?;
    body.expect(der::SEQUENCE)?;
    body.expect(der::SEQUENCE)?;
    let (_, _, subject) = body.next()?;
    let (_, _, public) = body.next()?;
    let mut key_id = None;
    while let Some((tag, content, _)) = body.next() {
        if tag != 0xA3 {
            continue;
        }
        let mut extensions = Reader(Reader(content).expect(der::SEQUENCE)?);
        while let Some(extension) = extensions.expect(der::SEQUENCE) {
            let mut parts = Reader(extension);
            if parts.expect(der::OID)? != KEY_ID_OID {
                continue;
            }
            let (mut tag, mut content, _) = parts.next()?;
            if tag != der::OCTET_STRING {
                (tag, content, _) = parts.next()?;
            }
            if tag == der::OCTET_STRING {
                key_id = Reader(content)
                    .expect(der::OCTET_STRING)
                    .map(<[u8]>::to_vec);
            }
        }
    }
    Some(Issuer {
        subject: subject.to_vec(),
        key_id,
        public: public.to_vec(),
    })
}

fn subject(name: &[u8]) -> Vec<u8> {
    if name.is_empty() {
        return der::sequence(&[]);
    }
    let printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(byte);
    let tag = if name.iter().all(printable) {
        0x13
    } else {
        0x0C
    };
    let pair = der::sequence(&[
        &der::value(der::OID, COMMON_NAME_OID),
        &der::value(tag, name),
    ]);
    der::sequence(&[&der::value(der::SET, &pair)])
}

/// A time as certificates write it: two digits of the year as long as they tell it.
fn time(moment: &Moment) -> Vec<u8> {
    let year = moment.civil().year;
    if (1950..2050).contains(&year) {
        der::value(0x17, &moment.format(b"060102150405Z"))
    } else {
        der::value(0x18, &moment.format(b"20060102150405Z"))
    }
}

fn extension(oid: &[u8], critical: bool, content: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { &[1, 1, 0xFF] } else { &[] };
    der::sequence(&[
        &der::value(der::OID, oid),
        critical,
        &der::value(der::OCTET_STRING, content),
    ])
}

/// The identifier of a public key: the first bytes of its hash.
fn key_id(public: &[u8]) -> Vec<u8> {
    let bits = Reader(public)
        .expect(der::SEQUENCE)
        .and_then(|body| {
            let mut body = Reader(body);
            body.expect(der::SEQUENCE)?;
            body.expect(der::BIT_STRING)
        })
        .unwrap_or_default();
    let hash = Sha256::digest(bits.get(1..).unwrap_or_default());
    hash[..20].to_vec()
}

fn extensions(request: &Request, own_id: Option<&[u8]>, authority_id: Option<&[u8]>) -> Vec<u8> {
    let mut parts = Vec::new();
    let usage: &[u8] = if request.authority {
        &[3, 2, 2, 0xA4]
    } else {
        &[3, 2, 5, 0xA0]
    };
    parts.push(extension(KEY_USAGE_OID, true, usage));
    let extended = der::sequence(&[
        &der::value(der::OID, SERVER_OID),
        &der::value(der::OID, CLIENT_OID),
    ]);
    parts.push(extension(EXTENDED_USAGE_OID, false, &extended));
    let constraints: &[u8] = if request.authority {
        &[0x30, 3, 1, 1, 0xFF]
    } else {
        &[0x30, 0]
    };
    parts.push(extension(CONSTRAINTS_OID, true, constraints));
    if let Some(id) = own_id {
        parts.push(extension(
            KEY_ID_OID,
            false,
            &der::value(der::OCTET_STRING, id),
        ));
    }
    if let Some(id) = authority_id {
        parts.push(extension(
            AUTHORITY_OID,
            false,
            &der::sequence(&[&der::value(0x80, id)]),
        ));
    }
    if !request.names.is_empty() || !request.addresses.is_empty() {
        let mut names = Vec::new();
        for name in &request.names {
            names.extend(der::value(0x82, name));
        }
        for address in &request.addresses {
            names.extend(match address {
                IpAddr::V4(address) => der::value(0x87, &address.octets()),
                IpAddr::V6(address) => match address.to_ipv4_mapped() {
                    Some(address) => der::value(0x87, &address.octets()),
                    None => der::value(0x87, &address.octets()),
                },
            });
        }
        let names = der::value(der::SEQUENCE, &names);
        parts.push(extension(NAMES_OID, request.name.is_empty(), &names));
    }
    der::value(0xA3, &der::value(der::SEQUENCE, &parts.concat()))
}

/// Makes and signs a certificate; without a signer it signs itself.
fn certificate(
    cx: &Cx<'_>,
    request: &Request,
    key: &Key,
    signer: Option<&(Issuer, Key)>,
) -> Result<Value> {
    let public = key.public().ok_or_else(|| {
        FuncError::new(
            "error creating certificate: x509: certificate private key does not implement crypto.Signer",
        )
    })?;
    let subject = subject(&request.name);
    let own_id = request.authority.then(|| key_id(&public));
    let (issuer_subject, authority_id, signing_key) = match signer {
        Some((issuer, signing_key)) => {
            if signing_key.public().as_ref() != Some(&issuer.public) {
                return Err(FuncError::new(
                    "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
                ));
            }
            let id = if issuer.subject == subject {
                None
            } else {
                issuer.key_id.as_deref()
            };
            (issuer.subject.as_slice(), id, signing_key)
        }
        None => (subject.as_slice(), None, key),
    };
    let mut serial = [0; 16];
    cx.ambient().random(&mut serial);
    let now = cx.ambient().now();
    let start = Moment::utc(now.seconds, 0);
    let end = Moment::utc(
        now.seconds
            .saturating_add(request.days.saturating_mul(86_400)),
        0,
    );
    let algorithm = signing_key.algorithm();
    let body = der::sequence(&[
        &der::value(0xA0, &der::integer(&[2])),
        &der::integer(&serial),
        &algorithm,
        issuer_subject,
        &der::sequence(&[&time(&start), &time(&end)]),
        &subject,
        &public,
        &extensions(request, own_id.as_deref(), authority_id),
    ]);
    let signature = signing_key
        .sign(&body)
        .map_err(|words| FuncError::new(format!("error creating certificate: {words}")))?;
    let whole = der::sequence(&[&body, &algorithm, &der::bit_string(&signature)]);
    Ok(Value::Object(Rc::new(Certificate {
        cert: der::pem("CERTIFICATE", &whole).into(),
        key: key.to_pem().into(),
    })))
}

fn build_custom_cert(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let decode = |at: usize, what: &str| {
        base::decode64(&text_at(args, at))
            .map_err(|_| FuncError::new(format!("unable to decode base64 {what}")))
    };
    let cert = decode(0, "certificate")?;
    let key = decode(1, "private key")?;
    let text = String::from_utf8_lossy(&cert);
    let Some((_, bytes)) = der::read_pem(&text) else {
        return Err(FuncError::new("unable to decode certificate"));
    };
    if issuer(&bytes).is_none() {
        return Err(FuncError::new(
            "error parsing certificate: decodedCert.Bytes: x509: malformed certificate",
        ));
    }
    Key::from_pem(&String::from_utf8_lossy(&key))
        .map_err(|words| FuncError::new(format!("error parsing private key: {words}")))?;
    Ok(Value::Object(Rc::new(Certificate {
        cert: cert.into(),
        key: key.into(),
    })))
}
