//! Numbers as Go's JSON writes them.

use serde_json::Number;

/// The JSON text of a number as Go writes it: plain decimals between 1e-6 and 1e21, else an
/// exponent without padding.
pub fn json_number(number: &Number) -> String {
    if let Some(value) = number.as_i64() {
        return value.to_string();
    }
    if let Some(value) = number.as_u64() {
        return value.to_string();
    }
    json_float(number.as_f64().unwrap_or_default())
}

/// The same for a double.
pub(super) fn json_float(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let size = value.abs();
    if (1e-6..1e21).contains(&size) {
        // Rust prints the shortest digits that read back as the same double, without exponent.
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => {
            format!("{mantissa}e+{exponent}")
        }
        _ => text,
    }
}

/// A double as Go's `strconv` formats it with `g` and the shortest digits: an exponent of at
/// least two digits when it is below -4 or above 5.
pub(super) fn yaml_float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    shortest(&format!("{value:e}"), &format!("{value}"))
}

/// A double as a key of a map, which go-yaml cuts to single precision first.
pub(super) fn key_float(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return yaml_float(value);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "that is what happens to keys"
    )]
    let value = value as f32;
    if value.is_infinite() {
        return yaml_float(f64::from(value));
    }
    shortest(&format!("{value:e}"), &format!("{value}"))
}

/// A double where a text is wanted: as a key, but for the words of what is no number.
pub(super) fn text_float(value: f64) -> String {
    match key_float(value).as_str() {
        ".nan" => "NaN".to_owned(),
        ".inf" => "+Inf".to_owned(),
        "-.inf" => "-Inf".to_owned(),
        text => text.to_owned(),
    }
}

/// Chooses between the two forms of the same digits by the exponent.
fn shortest(scientific: &str, decimal: &str) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return decimal.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return decimal.to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::{json_float, yaml_float};

    #[test]
    fn json_switches_to_an_exponent_at_1e21() {
        for (value, text) in [
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (-0.0, "-0"),
            (123456789.125, "123456789.125"),
        ] {
            assert_eq!(json_float(value), text);
        }
    }

    #[test]
    fn yaml_writes_the_shortest_form() {
        for (value, text) in [
            (1e21, "1e+21"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.1, "-0.1"),
            (1.5, "1.5"),
            (123456.5, "123456.5"),
            (1234567.5, "1.2345675e+06"),
        ] {
            assert_eq!(yaml_float(value), text);
        }
    }
}
