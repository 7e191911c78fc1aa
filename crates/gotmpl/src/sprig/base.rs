//! Base64 and base32 as Go reads and writes them, complaints included.

const ALPHABET64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ALPHABET32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Standard base64 with padding.
pub(crate) fn encode64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        for at in 0..4 {
            if at <= chunk.len() {
                out.push(ALPHABET64[(bits >> (18 - 6 * at) & 63) as usize]);
            } else {
                out.push(b'=');
            }
        }
    }
    out
}

fn value64(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Reads base64; line ends are skipped, and bits beyond the last byte do not matter.
pub(crate) fn decode64(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let line_end = |at: usize| matches!(text.get(at), Some(b'\r' | b'\n'));
    let mut at = 0;
    let mut bits = 0_u32;
    let mut count = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if let Some(value) = value64(byte) {
            bits = bits << 6 | u32::from(value);
            count += 1;
            if count == 4 {
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
                (bits, count) = (0, 0);
            }
            continue;
        }
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        if byte != b'=' || count < 2 {
            return corrupt(at - 1);
        }
        if count == 2 {
            while line_end(at) {
                at += 1;
            }
            match text.get(at) {
                None => return corrupt(text.len()),
                Some(b'=') => at += 1,
                Some(_) => return corrupt(at - 1),
            }
        }
        while line_end(at) {
            at += 1;
        }
        if at < text.len() {
            return corrupt(at);
        }
        let bytes = (bits << (6 * (4 - count))).to_be_bytes();
        out.extend_from_slice(&bytes[1..count]);
        return Ok(out);
    }
    if count > 0 {
        return corrupt(at - count);
    }
    Ok(out)
}

/// Standard base32 with padding.
pub(crate) fn encode32(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut bits = 0_u64;
        for at in 0..5 {
            bits = bits << 8 | u64::from(chunk.get(at).copied().unwrap_or(0));
        }
        let digits = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            if at < digits {
                out.push(ALPHABET32[(bits >> (35 - 5 * at) & 31) as usize]);
            } else {
                out.push(b'=');
            }
        }
    }
    out
}

/// Reads base32; line ends are skipped.
pub(crate) fn decode32(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base32 data at input byte {at}"));
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut at = 0;
    while at < text.len() {
        let mut bits = 0_u64;
        let mut count = 0;
        let mut ended = false;
        while count < 8 {
            let Some(&byte) = text.get(at) else {
                return corrupt(at - count);
            };
            at += 1;
            let left = text.len() - at;
            if byte == b'=' && count >= 2 && left < 8 {
                if left + count < 7 {
                    return corrupt(text.len());
                }
                for more in 0..7 - count {
                    if text.get(at + more).is_some_and(|&byte| byte != b'=') {
                        return corrupt((at + more).saturating_sub(1));
                    }
                }
                if matches!(count, 1 | 3 | 6) {
                    return corrupt(at - 1);
                }
                ended = true;
                break;
            }
            let Some(value) = ALPHABET32.iter().position(|&known| known == byte) else {
                return corrupt(at - 1);
            };
            bits = bits << 5 | value as u64;
            count += 1;
        }
        let bytes = (bits << (5 * (8 - count))).to_be_bytes();
        out.extend_from_slice(&bytes[3..3 + count * 5 / 8]);
        if ended {
            break;
        }
    }
    Ok(out)
}
