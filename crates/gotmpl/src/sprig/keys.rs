//! Private keys: made, written, read, and used to sign.
//!
//! Duty: RSA and DSA on big numbers, P-256 and Ed25519 on their crates, in the forms Go writes.

use ed25519_dalek::Signer as _;
use num_bigint::{BigInt, BigUint};
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use sha2::{Digest as _, Sha256};

use super::der::{self, Reader};
use crate::error::FuncError;
use crate::func::Cx;

type Result<T> = std::result::Result<T, FuncError>;

const RSA_OID: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1];
const RSA_SHA256_OID: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 11];
const EC_OID: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1];
const P256_OID: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7];
const ECDSA_SHA256_OID: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];
const ED25519_OID: &[u8] = &[0x2B, 0x65, 0x70];

/// A private key.
pub(super) enum Key {
    Rsa(Box<Rsa>),
    Ec(Box<p256::ecdsa::SigningKey>),
    Ed(Box<ed25519_dalek::SigningKey>),
    /// P, Q, G, Y and X.
    Dsa(Box<[BigUint; 5]>),
}

pub(super) struct Rsa {
    n: BigUint,
    e: BigUint,
    d: BigUint,
    p: BigUint,
    q: BigUint,
}

/// A random number of at most so many bits.
fn random(cx: &Cx<'_>, bits: usize) -> BigUint {
    let mut bytes = vec![0; bits.div_ceil(8)];
    cx.ambient().random(&mut bytes);
    let extra = bytes.len() * 8 - bits;
    if let Some(first) = bytes.first_mut() {
        *first &= 0xFF_u8 >> extra;
    }
    BigUint::from_bytes_be(&bytes)
}

/// The odd primes below 2000, to rule out most candidates cheaply.
fn small_primes() -> Vec<u32> {
    let mut primes: Vec<u32> = Vec::new();
    for number in (3..2000).step_by(2) {
        if primes.iter().all(|prime| number % prime != 0) {
            primes.push(number);
        }
    }
    primes
}

fn divisible(number: &BigUint, primes: &[u32]) -> bool {
    let zero = BigUint::ZERO;
    primes
        .iter()
        .any(|&prime| number % prime == zero && *number != BigUint::from(prime))
}

/// Miller and Rabin's test with random bases.
fn is_prime(cx: &Cx<'_>, number: &BigUint, rounds: usize) -> bool {
    let one = BigUint::from(1_u8);
    let less = number - &one;
    let twos = less.trailing_zeros().unwrap_or(0);
    let odd = &less >> twos;
    let bits = number.bits() as usize;
    'rounds: for _ in 0..rounds {
        let base = random(cx, bits - 1) + 2_u8;
        let mut power = base.modpow(&odd, number);
        if power == one || power == less {
            continue;
        }
        for _ in 1..twos {
            power = power.modpow(&BigUint::from(2_u8), number);
            if power == less {
                continue 'rounds;
            }
        }
        return false;
    }
    true
}

/// What a key of 2048 bits costs in steps, a tenth of a second: a rendering may make some dozens. Charts with several keys
/// of 4096 bits are real, and Helm takes seconds for them too.
const KEY_STEPS: usize = 400_000;

/// A random prime of exactly so many bits, its two highest bits set.
fn prime(cx: &Cx<'_>, bits: usize, small: &[u32]) -> Result<BigUint> {
    loop {
        cx.spend(20)?;
        let mut candidate = random(cx, bits);
        candidate.set_bit(bits as u64 - 1, true);
        candidate.set_bit(bits as u64 - 2, true);
        candidate.set_bit(0, true);
        // One round tells nearly all that are composite; the others make sure.
        if !divisible(&candidate, small)
            && is_prime(cx, &candidate, 1)
            && is_prime(cx, &candidate, 7)
        {
            return Ok(candidate);
        }
    }
}

fn inverse(number: &BigUint, modulus: &BigUint) -> Option<BigUint> {
    number.modinv(modulus)
}

impl Key {
    /// A new RSA key.
    pub(super) fn rsa(cx: &Cx<'_>, bits: usize) -> Result<Self> {
        // Twice the bits is eight times the work or more.
        cx.spend(if bits > 2048 {
            KEY_STEPS * 4
        } else {
            KEY_STEPS
        })?;
        let small = small_primes();
        let one = BigUint::from(1_u8);
        let e = BigUint::from(65_537_u32);
        loop {
            let p = prime(cx, bits / 2, &small)?;
            let q = prime(cx, bits / 2, &small)?;
            let n = &p * &q;
            let phi = (&p - &one) * (&q - &one);
            if p == q || n.bits() != bits as u64 {
                continue;
            }
            if let Some(d) = inverse(&e, &phi) {
                return Ok(Self::Rsa(Box::new(Rsa { n, e, d, p, q })));
            }
        }
    }

    /// A new key on the curve P-256.
    pub(super) fn ec(cx: &Cx<'_>) -> Self {
        loop {
            let mut bytes = [0; 32];
            cx.ambient().random(&mut bytes);
            if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&bytes) {
                return Self::Ec(Box::new(key));
            }
        }
    }

    /// A new Ed25519 key.
    pub(super) fn ed(cx: &Cx<'_>) -> Self {
        let mut seed = [0; 32];
        cx.ambient().random(&mut seed);
        Self::Ed(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// A new DSA key of 2048 and 256 bits.
    pub(super) fn dsa(cx: &Cx<'_>) -> Result<Self> {
        cx.spend(KEY_STEPS)?;
        let small = small_primes();
        let one = BigUint::from(1_u8);
        let q = prime(cx, 256, &small)?;
        let step = &q << 1;
        let p = loop {
            cx.spend(20)?;
            let mut candidate = random(cx, 2048);
            candidate.set_bit(2047, true);
            let rest = &candidate % &step;
            let candidate: BigUint = candidate - rest + &one;
            if candidate.bits() == 2048
                && !divisible(&candidate, &small)
                && is_prime(cx, &candidate, 1)
                && is_prime(cx, &candidate, 7)
            {
                break candidate;
            }
        };
        let exponent = (&p - &one) / &q;
        let g = (2_u32..)
            .map(|base| BigUint::from(base).modpow(&exponent, &p))
            .find(|g| *g != one)
            .unwrap_or_default();
        let x = random(cx, 320) % (&q - &one) + &one;
        let y = g.modpow(&x, &p);
        Ok(Self::Dsa(Box::new([p, q, g, y, x])))
    }

    /// The key as PEM, in the form of its kind.
    pub(super) fn to_pem(&self) -> String {
        let int = |number: &BigUint| der::integer(&number.to_bytes_be());
        match self {
            Self::Rsa(rsa) => {
                let one = BigUint::from(1_u8);
                let dp = &rsa.d % (&rsa.p - &one);
                let dq = &rsa.d % (&rsa.q - &one);
                let inverse = inverse(&rsa.q, &rsa.p).unwrap_or_default();
                let parts = [
                    &BigUint::ZERO,
                    &rsa.n,
                    &rsa.e,
                    &rsa.d,
                    &rsa.p,
                    &rsa.q,
                    &dp,
                    &dq,
                    &inverse,
                ];
                let body = parts.map(int).concat();
                der::pem("RSA PRIVATE KEY", &der::value(der::SEQUENCE, &body))
            }
            Self::Ec(key) => {
                let secret = key.to_bytes();
                let public = key.verifying_key().to_sec1_point(false);
                let body = der::sequence(&[
                    &der::integer(&[1]),
                    &der::value(der::OCTET_STRING, &secret),
                    &der::value(0xA0, &der::value(der::OID, P256_OID)),
                    &der::value(0xA1, &der::bit_string(public.as_bytes())),
                ]);
                der::pem("EC PRIVATE KEY", &body)
            }
            Self::Ed(key) => {
                let seed = der::value(der::OCTET_STRING, key.as_bytes());
                let body = der::sequence(&[
                    &der::integer(&[0]),
                    &der::sequence(&[&der::value(der::OID, ED25519_OID)]),
                    &der::value(der::OCTET_STRING, &seed),
                ]);
                der::pem("PRIVATE KEY", &body)
            }
            Self::Dsa(numbers) => {
                let body: Vec<u8> =
                    [der::integer(&[0]), numbers.iter().flat_map(int).collect()].concat();
                der::pem("DSA PRIVATE KEY", &der::value(der::SEQUENCE, &body))
            }
        }
    }

    /// Reads a key in any of the forms Go reads.
    pub(super) fn from_pem(text: &str) -> std::result::Result<Self, String> {
        let Some((kind, bytes)) = der::read_pem(text) else {
            return Err("no PEM data in input".to_owned());
        };
        if kind == "PRIVATE KEY" {
            return pkcs8(&bytes).ok_or_else(|| {
                "decoding PEM as PKCS#8: x509: failed to parse private key".to_owned()
            });
        }
        let Some(kind) = kind.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {kind}"));
        };
        let key = match kind {
            "RSA" => pkcs1(&bytes),
            "EC" => sec1(&bytes),
            "DSA" => dsa(&bytes),
            _ => return Err(format!("invalid private key type {kind}")),
        };
        key.ok_or_else(|| {
            format!("parsing {kind} private key from PEM: x509: failed to parse private key")
        })
    }

    /// The public key as certificates hold it; `None` for kinds that cannot stand there.
    pub(super) fn public(&self) -> Option<Vec<u8>> {
        match self {
            Self::Rsa(rsa) => {
                let int = |number: &BigUint| der::integer(&number.to_bytes_be());
                let numbers = der::sequence(&[&int(&rsa.n), &int(&rsa.e)]);
                let algorithm = der::sequence(&[&der::value(der::OID, RSA_OID), &[5, 0]]);
                Some(der::sequence(&[&algorithm, &der::bit_string(&numbers)]))
            }
            Self::Ec(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let algorithm = der::sequence(&[
                    &der::value(der::OID, EC_OID),
                    &der::value(der::OID, P256_OID),
                ]);
                Some(der::sequence(&[
                    &algorithm,
                    &der::bit_string(point.as_bytes()),
                ]))
            }
            Self::Ed(key) => {
                let algorithm = der::sequence(&[&der::value(der::OID, ED25519_OID)]);
                let public = key.verifying_key();
                Some(der::sequence(&[
                    &algorithm,
                    &der::bit_string(public.as_bytes()),
                ]))
            }
            Self::Dsa(_) => None,
        }
    }

    /// How the key's signatures are named.
    pub(super) fn algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) | Self::Dsa(_) => {
                der::sequence(&[&der::value(der::OID, RSA_SHA256_OID), &[5, 0]])
            }
            Self::Ec(_) => der::sequence(&[&der::value(der::OID, ECDSA_SHA256_OID)]),
            Self::Ed(_) => der::sequence(&[&der::value(der::OID, ED25519_OID)]),
        }
    }

    /// The signature of a message.
    pub(super) fn sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, String> {
        match self {
            Self::Rsa(rsa) => rsa.sign(message),
            Self::Ec(key) => {
                let hash = Sha256::digest(message);
                let signature: p256::ecdsa::Signature =
                    key.sign_prehash(&hash).map_err(|error| error.to_string())?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::Ed(key) => Ok(key.sign(message).to_bytes().to_vec()),
            Self::Dsa(_) => {
                Err("x509: certificate private key does not implement crypto.Signer".to_owned())
            }
        }
    }
}

/// What stands before a SHA-256 hash in an RSA signature.
const SHA256_PREFIX: &[u8] = &[
    0x30, 0x31, 0x30, 0x0D, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20,
];

impl Rsa {
    fn sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let size = (self.n.bits() as usize).div_ceil(8);
        let hash = Sha256::digest(message);
        let Some(fill) = size
            .checked_sub(SHA256_PREFIX.len() + hash.len() + 3)
            .filter(|&f| f >= 8)
        else {
            return Err("crypto/rsa: message too long for RSA key size".to_owned());
        };
        let padded = [
            &[0, 1][..],
            &vec![0xFF; fill],
            &[0],
            SHA256_PREFIX,
            &hash[..],
        ]
        .concat();
        let message = BigUint::from_bytes_be(&padded);
        let signature = self.power(&message);
        let bytes = signature.to_bytes_be();
        let mut out = vec![0; size.saturating_sub(bytes.len())];
        out.extend(bytes);
        Ok(out)
    }

    /// The private operation, by both primes apart.
    fn power(&self, message: &BigUint) -> BigUint {
        let one = BigUint::from(1_u8);
        let Some(inverse) = inverse(&self.q, &self.p) else {
            return message.modpow(&self.d, &self.n);
        };
        let by_p = message.modpow(&(&self.d % (&self.p - &one)), &self.p);
        let by_q = message.modpow(&(&self.d % (&self.q - &one)), &self.q);
        let p = BigInt::from(self.p.clone());
        let apart = (BigInt::from(by_p) - BigInt::from(by_q.clone())) * BigInt::from(inverse);
        let mut rest = apart % &p;
        if rest < BigInt::ZERO {
            rest += &p;
        }
        by_q + rest.magnitude() * &self.q
    }
}

fn number(reader: &mut Reader<'_>) -> Option<BigUint> {
    let bytes = reader.expect(der::INTEGER)?;
    // Keys hold no negative numbers, and none so large that calculating with it takes long.
    if bytes.first().is_none_or(|&first| first >= 0x80) || bytes.len() > 2100 {
        return None;
    }
    Some(BigUint::from_bytes_be(bytes))
}

fn pkcs1(bytes: &[u8]) -> Option<Key> {
    let mut reader = Reader(Reader(bytes).expect(der::SEQUENCE)?);
    number(&mut reader)?;
    let n = number(&mut reader)?;
    let e = number(&mut reader)?;
    let d = number(&mut reader)?;
    let p = number(&mut reader)?;
    let q = number(&mut reader)?;
    let good = &p * &q == n && p.bits() > 1 && q.bits() > 1 && p.bit(0) && q.bit(0);
    good.then(|| Key::Rsa(Box::new(Rsa { n, e, d, p, q })))
}

fn sec1(bytes: &[u8]) -> Option<Key> {
    let mut reader = Reader(Reader(bytes).expect(der::SEQUENCE)?);
    number(&mut reader)?;
    let secret = reader.expect(der::OCTET_STRING)?;
    if let Some((0xA0, curve, _)) = reader.next()
        && Reader(curve).expect(der::OID)? != P256_OID
    {
        return None;
    }
    let key = p256::ecdsa::SigningKey::from_slice(secret).ok()?;
    Some(Key::Ec(Box::new(key)))
}

fn dsa(bytes: &[u8]) -> Option<Key> {
    let mut reader = Reader(Reader(bytes).expect(der::SEQUENCE)?);
    number(&mut reader)?;
    let mut numbers = [const { BigUint::ZERO }; 5];
    for place in &mut numbers {
        *place = number(&mut reader)?;
    }
    Some(Key::Dsa(Box::new(numbers)))
}

fn pkcs8(bytes: &[u8]) -> Option<Key> {
    let mut reader = Reader(Reader(bytes).expect(der::SEQUENCE)?);
    number(&mut reader)?;
    let mut algorithm = Reader(reader.expect(der::SEQUENCE)?);
    let inner = reader.expect(der::OCTET_STRING)?;
    match algorithm.expect(der::OID)? {
        RSA_OID => pkcs1(inner),
        EC_OID if algorithm.expect(der::OID)? == P256_OID => sec1(inner),
        ED25519_OID => {
            let seed = Reader(inner).expect(der::OCTET_STRING)?.try_into().ok()?;
            Some(Key::Ed(Box::new(ed25519_dalek::SigningKey::from_bytes(
                seed,
            ))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::{Key, SHA256_PREFIX};
    use crate::ambient::Still;
    use crate::func::{Cx, FuncMap};
    use crate::template::{Limits, Run, TemplateSet};

    fn with_cx(run: impl FnOnce(&Cx<'_>)) {
        let ambient = Still::new(0, 3);
        let limits = Limits::default();
        let set = TemplateSet::new("t", FuncMap::new());
        run(&Cx {
            run: &Run::new(&ambient, &limits),
            set: &set,
            depth: 0,
        });
    }

    #[test]
    fn rsa_signatures_are_undone_by_the_public_key() {
        with_cx(|cx| {
            let key = Key::rsa(cx, 1024).unwrap();
            let signature = BigUint::from_bytes_be(&key.sign(b"message").unwrap());
            let Key::Rsa(rsa) = key else {
                panic!("an RSA key")
            };
            let plain = signature.modpow(&rsa.e, &rsa.n).to_bytes_be();
            assert!(plain.starts_with(&[1, 0xFF]));
            let hash = plain.len() - 32;
            assert_eq!(&plain[hash - SHA256_PREFIX.len()..hash], SHA256_PREFIX);
        });
    }

    #[test]
    fn keys_are_read_back_from_their_text() {
        with_cx(|cx| {
            for key in [Key::rsa(cx, 512).unwrap(), Key::ec(cx), Key::ed(cx)] {
                let text = key.to_pem();
                let read = Key::from_pem(&text).unwrap();
                assert_eq!(read.to_pem(), text);
                assert_eq!(read.public(), key.public());
            }
        });
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "x",
            "-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----\n",
        ] {
            assert!(Key::from_pem(text).is_err());
        }
    }
}
