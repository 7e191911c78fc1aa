//! When two values of a field are the same to the API server.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::schema::Node;

/// Whether two values mean the same at a place.
///
/// Numbers are compared by value, quantities too (`1000m` is `1`); line breaks inside base64 do not count; a null field
/// is an absent one; the order of a set does not count.
pub(super) fn same(left: &Value, right: &Value, node: Node) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => same_maps(left, right, node),
        (Value::Array(left), Value::Array(right)) if node.is_set() => same_sets(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right, node.element()))
        }
        _ if node.is_quantity() => same_quantities(left, right),
        (Value::String(left), Value::String(right)) if node.is_bytes() => {
            without_breaks(left).eq(without_breaks(right))
        }
        (Value::Number(left), Value::Number(right)) => same_numbers(left, right),
        _ => left == right,
    }
}

fn same_maps(left: &Map<String, Value>, right: &Map<String, Value>, node: Node) -> bool {
    let has =
        |map: &Map<String, Value>, name: &str| map.get(name).is_some_and(|found| !found.is_null());
    let covered = left.iter().all(|(name, value)| match right.get(name) {
        Some(other) => same(value, other, node.field(name)),
        None => value.is_null(),
    });
    covered
        && right
            .keys()
            .all(|name| !has(right, name) || has(left, name))
}

fn same_sets(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len() && Members::of(left) == Members::of(right)
}

/// The members of a set, or names of elements, to look one up among many.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members(HashSet<String>);

impl Members {
    pub(super) fn of<'v>(list: impl IntoIterator<Item = &'v Value>) -> Members {
        Members(list.into_iter().map(identity).collect())
    }

    pub(super) fn has(&self, member: &Value) -> bool {
        self.0.contains(&identity(member))
    }

    /// True if it was not there.
    pub(super) fn add(&mut self, member: &Value) -> bool {
        self.0.insert(identity(member))
    }
}

/// A text that two scalars have in common exactly if they are equal.
pub(super) fn identity(value: &Value) -> String {
    match value {
        Value::String(_) => value.to_string(),
        other => text(other),
    }
}

fn without_breaks(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r'))
}

fn same_numbers(left: &Number, right: &Number) -> bool {
    if left == right {
        return true;
    }
    // Two whole numbers are equal only if alike; a float may be a whole number.
    (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64()
}

fn same_quantities(left: &Value, right: &Value) -> bool {
    if left == right {
        return true;
    }
    match (quantity(left), quantity(right)) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

/// Whether two values are the same JSON, wherever they stand; a float that is whole is a whole number.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_numbers(left, right),
        (Value::Object(left), Value::Object(right)) => equal_maps(left, right),
        (Value::Array(left), Value::Array(right)) => equal_lists(left, right),
        _ => left == right,
    }
}

pub(super) fn equal_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let is_equal = |(name, value)| right.get(name).is_some_and(|other| equal(value, other));
    left.len() == right.len() && left.iter().all(is_equal)
}

pub(super) fn equal_lists(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| equal(left, right))
}

/// The value of a quantity in units of 10^-9, rounded away from zero as the server does; none if it is not one, or is
/// larger than can be compared.
fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let (base, exponent) = scale(suffix)?;
    // digits * base * 10^power units
    let power = exponent
        .checked_add(9)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(base)?;
    let nanos = if power >= 0 {
        scaled.checked_mul(10_i128.checked_pow(power.unsigned_abs())?)?
    } else {
        match 10_i128.checked_pow(power.unsigned_abs()) {
            Some(divisor) => scaled / divisor + i128::from(scaled % divisor != 0),
            None => i128::from(scaled != 0),
        }
    };
    Some(if negative { -nanos } else { nanos })
}

/// What a suffix multiplies by: a whole number and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let binary = |power: u32| Some((1_i128 << (10 * power), 0));
    let decimal = |power: i32| Some((1, power));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let power = suffix.strip_prefix(['e', 'E'])?;
            decimal(power.parse().ok()?)
        }
    }
}

/// A scalar as text, for names of elements and for order; composite values as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match whole(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A number that is whole although it may be written as a float.
fn whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    // Beyond 2^53 a float does not tell which whole number was meant.
    let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole and small enough, just checked"
    )]
    let whole = float as i64;
    exact.then_some(whole)
}

/// The value without null fields: what it is once the server has read it.
///
/// Inside lists of which nothing is known nulls are kept; a custom resource may mean them.
pub(super) fn without_nulls(value: &Value, node: Node) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name.clone(), without_nulls(value, node.field(name))))
                .collect()
        }
        Value::Array(elements) if !node.is_unknown() => {
            let element = node.element();
            elements
                .iter()
                .map(|value| without_nulls(value, element))
                .collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::Schema;
    use super::*;

    fn limit() -> Node {
        let path = ["spec", "hard", "cpu"];
        let node = Schema::of("v1", "ResourceQuota").root();
        path.iter().fold(node, |node, name| node.field(name))
    }

    #[test]
    fn quantities_are_compared_by_value() {
        for (left, right) in [
            (json!("1000m"), json!("1")),
            (json!("1000m"), json!(1)),
            (json!("1Gi"), json!(1_073_741_824)),
            (json!("0.5"), json!("500m")),
            (json!("1.5Gi"), json!("1536Mi")),
            (json!("1e3"), json!("1k")),
            (json!("1E"), json!("1000P")),
            (json!("+1"), json!("1.0")),
            (json!(".5"), json!("0.50")),
            (json!("0.0000000001"), json!("1n")),
            (json!("-1"), json!("-1000m")),
            (json!("16Ei"), json!("18446744073709551616")),
        ] {
            assert!(same(&left, &right, limit()), "{left} {right}");
        }
        for (left, right) in [
            (json!("1"), json!("1k")),
            (json!("1M"), json!("1Mi")),
            (json!("1"), json!("-1")),
            (json!("x"), json!("y")),
            (json!("1.2.3"), json!("1.2")),
            (json!(""), json!("0")),
            (json!("1e99999"), json!("1e99998")),
            (json!(true), json!("1")),
        ] {
            assert!(!same(&left, &right, limit()), "{left} {right}");
        }
    }

    #[test]
    fn outside_of_quantities_text_is_text() {
        let data = Schema::of("v1", "ConfigMap")
            .root()
            .field("data")
            .field("cpu");
        assert!(!same(&json!("1000m"), &json!("1"), data));
        assert!(!same(&json!("1"), &json!(1), data));
        assert!(same(&json!(1.0), &json!(1), data));
        assert!(!same(
            &json!(9_007_199_254_740_993_i64),
            &json!(9_007_199_254_740_992_i64),
            data
        ));
    }

    #[test]
    fn nulls_and_line_breaks_do_not_count() {
        let secret = Schema::of("v1", "Secret").root();
        let left = json!({"data": {"a": "YWJj\n", "b": null}});
        let right = json!({"data": {"a": "YWJj"}, "type": null});
        assert!(same(&left, &right, secret));
        assert!(!same(&left, &json!({"data": {"a": "YWJk"}}), secret));
    }
}
