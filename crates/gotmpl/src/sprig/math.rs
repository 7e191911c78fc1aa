//! Sprig's arithmetic.

use num_bigint::BigInt;
use num_bigint::Sign;

use crate::cast;
use crate::error::FuncError;
use crate::func::{Cx, FuncDef, Param, any_at, int_at, text_at};
use crate::gofmt;
use crate::number;
use crate::value::{Elem, List, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const INT: Param = Param::Int;
const ANY: Param = Param::Any;

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "add",
        params: &[],
        rest: Some(ANY),
        call: add,
    },
    FuncDef {
        name: "add1",
        params: &[ANY],
        rest: None,
        call: add1,
    },
    FuncDef {
        name: "add1f",
        params: &[ANY],
        rest: None,
        call: add1f,
    },
    FuncDef {
        name: "addf",
        params: &[],
        rest: Some(ANY),
        call: addf,
    },
    FuncDef {
        name: "atoi",
        params: &[STR],
        rest: None,
        call: atoi,
    },
    FuncDef {
        name: "biggest",
        params: &[ANY],
        rest: Some(ANY),
        call: max,
    },
    FuncDef {
        name: "ceil",
        params: &[ANY],
        rest: None,
        call: ceil,
    },
    FuncDef {
        name: "div",
        params: &[ANY, ANY],
        rest: None,
        call: div,
    },
    FuncDef {
        name: "divf",
        params: &[ANY],
        rest: Some(ANY),
        call: divf,
    },
    FuncDef {
        name: "float64",
        params: &[ANY],
        rest: None,
        call: float64,
    },
    FuncDef {
        name: "floor",
        params: &[ANY],
        rest: None,
        call: floor,
    },
    FuncDef {
        name: "int",
        params: &[ANY],
        rest: None,
        call: int,
    },
    FuncDef {
        name: "int64",
        params: &[ANY],
        rest: None,
        call: int64,
    },
    FuncDef {
        name: "max",
        params: &[ANY],
        rest: Some(ANY),
        call: max,
    },
    FuncDef {
        name: "maxf",
        params: &[ANY],
        rest: Some(ANY),
        call: maxf,
    },
    FuncDef {
        name: "min",
        params: &[ANY],
        rest: Some(ANY),
        call: min,
    },
    FuncDef {
        name: "minf",
        params: &[ANY],
        rest: Some(ANY),
        call: minf,
    },
    FuncDef {
        name: "mod",
        params: &[ANY, ANY],
        rest: None,
        call: modulo,
    },
    FuncDef {
        name: "mul",
        params: &[ANY],
        rest: Some(ANY),
        call: mul,
    },
    FuncDef {
        name: "mulf",
        params: &[ANY],
        rest: Some(ANY),
        call: mulf,
    },
    FuncDef {
        name: "randInt",
        params: &[INT, INT],
        rest: None,
        call: rand_int,
    },
    FuncDef {
        name: "round",
        params: &[ANY, INT],
        rest: Some(Param::Float),
        call: round,
    },
    FuncDef {
        name: "seq",
        params: &[],
        rest: Some(INT),
        call: seq,
    },
    FuncDef {
        name: "sub",
        params: &[ANY, ANY],
        rest: None,
        call: sub,
    },
    FuncDef {
        name: "subf",
        params: &[ANY],
        rest: Some(ANY),
        call: subf,
    },
    FuncDef {
        name: "toDecimal",
        params: &[ANY],
        rest: None,
        call: to_decimal,
    },
    FuncDef {
        name: "until",
        params: &[INT],
        rest: None,
        call: until,
    },
    FuncDef {
        name: "untilStep",
        params: &[INT, INT, INT],
        rest: None,
        call: until_step,
    },
];

fn int(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(cast::to_int(any_at(args, 0))))
}

fn int64(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int64(cast::to_int(any_at(args, 0))))
}

fn float64(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Float(cast::to_float(any_at(args, 0))))
}

fn atoi(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    // Atoi gives the nearest number where the text has one too large.
    let text = text_at(args, 0);
    Ok(Value::Int(match number::parse_int(&text, 10) {
        Ok(number) => number,
        Err(number::NumError::Syntax) => 0,
        Err(number::NumError::Range) if text.first() == Some(&b'-') => i64::MIN,
        Err(number::NumError::Range) => i64::MAX,
    }))
}

fn fold(args: &[Value], start: i64, run: impl Fn(i64, i64) -> i64) -> Result<Value> {
    Ok(Value::Int64(args.iter().map(cast::to_int).fold(start, run)))
}

fn add(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    fold(args, 0, i64::wrapping_add)
}

fn add1(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    fold(args, 1, i64::wrapping_add)
}

fn mul(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    fold(args, 1, i64::wrapping_mul)
}

fn max(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    fold(args, i64::MIN, i64::max)
}

fn min(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    fold(args, i64::MAX, i64::min)
}

fn sub(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = (cast::to_int(any_at(args, 0)), cast::to_int(any_at(args, 1)));
    Ok(Value::Int64(a.wrapping_sub(b)))
}

fn divided(args: &[Value], run: impl Fn(i64, i64) -> i64) -> Result<Value> {
    let (a, b) = (cast::to_int(any_at(args, 0)), cast::to_int(any_at(args, 1)));
    if b == 0 {
        return Err(FuncError::new("runtime error: integer divide by zero"));
    }
    Ok(Value::Int64(run(a, b)))
}

fn div(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    divided(args, i64::wrapping_div)
}

fn modulo(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    divided(args, i64::wrapping_rem)
}

fn maxf(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    extreme(args, |a, b| a > b)
}

fn minf(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    extreme(args, |a, b| a < b)
}

/// The greatest or least; anything that is no number makes the result none.
fn extreme(args: &[Value], better: impl Fn(f64, f64) -> bool) -> Result<Value> {
    let mut best = cast::to_float(any_at(args, 0));
    for value in args.iter().skip(1).map(cast::to_float) {
        if value.is_nan() || best.is_nan() {
            best = f64::NAN;
        } else if better(value, best)
            || value == best
                && value == 0.0
                && better(
                    if value.is_sign_negative() { -1.0 } else { 1.0 },
                    if best.is_sign_negative() { -1.0 } else { 1.0 },
                )
        {
            best = value;
        }
    }
    Ok(Value::Float(best))
}

fn ceil(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Float(cast::to_float(any_at(args, 0)).ceil()))
}

fn floor(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Float(cast::to_float(any_at(args, 0)).floor()))
}

/// Ten to a whole power by repeated squaring, with the rounding that has.
fn power_of_ten(places: i64) -> f64 {
    if places == 0 {
        return 1.0;
    }
    if places > 400 {
        return f64::INFINITY;
    }
    if places < -400 {
        return 0.0;
    }
    let mut result = 1.0_f64;
    let mut base = 10.0_f64;
    let mut rest = places.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            result *= base;
        }
        base *= base;
        rest >>= 1;
    }
    if places < 0 { 1.0 / result } else { result }
}

fn round(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let value = cast::to_float(any_at(args, 0));
    let on = match args.get(2) {
        Some(Value::Float(on)) => *on,
        _ => 0.5,
    };
    let power = power_of_ten(int_at(args, 1));
    let digit = power * value;
    let rounded = if digit.fract() >= on {
        digit.ceil()
    } else {
        digit.floor()
    };
    Ok(Value::Float(rounded / power))
}

fn to_decimal(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let text = gofmt::to_text(any_at(args, 0), cx.room())?;
    // The name lies: the text is read as octal.
    Ok(Value::Int64(number::parse_int(&text, 8).unwrap_or(0)))
}

/// Numbers from a start to before a stop.
fn steps(cx: &Cx<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>> {
    let (distance, width) = if stop < start {
        if step >= 0 {
            return Ok(Vec::new());
        }
        (i128::from(start) - i128::from(stop), -i128::from(step))
    } else {
        if step <= 0 {
            return Ok(Vec::new());
        }
        (i128::from(stop) - i128::from(start), i128::from(step))
    };
    let count = usize::try_from((distance + width - 1) / width).unwrap_or(usize::MAX);
    cx.reserve(count.saturating_mul(80))?;
    cx.spend(count / 4)?;
    let mut at = i128::from(start);
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        numbers.push(i64::try_from(at).unwrap_or(i64::MAX));
        at += i128::from(step);
    }
    Ok(numbers)
}

fn ints(numbers: Vec<i64>) -> Value {
    Value::List(List::typed(
        Elem::Int,
        numbers.into_iter().map(Value::Int).collect(),
    ))
}

fn until(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let count = int_at(args, 0);
    Ok(ints(steps(cx, 0, count, if count < 0 { -1 } else { 1 })?))
}

fn until_step(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(ints(steps(
        cx,
        int_at(args, 0),
        int_at(args, 1),
        int_at(args, 2),
    )?))
}

fn seq(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let at = |place: usize| int_at(args, place);
    let numbers = match args.len() {
        1 => {
            let way = if at(0) < 1 { -1 } else { 1 };
            steps(cx, 1, at(0).wrapping_add(way), way)?
        }
        2 => {
            let way = if at(1) < at(0) { -1 } else { 1 };
            steps(cx, at(0), at(1).wrapping_add(way), way)?
        }
        3 => {
            let down = at(2) < at(0);
            if down && at(1) > 0 {
                return Ok(Value::from(""));
            }
            steps(
                cx,
                at(0),
                at(2).wrapping_add(if down { -1 } else { 1 }),
                at(1),
            )?
        }
        _ => Vec::new(),
    };
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    Ok(Value::from(texts.join(" ")))
}

fn rand_int(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let (least, most) = (int_at(args, 0), int_at(args, 1));
    let span = most.wrapping_sub(least);
    match u64::try_from(span) {
        Ok(span) if span > 0 => {
            let number = super::random_below(cx, span);
            Ok(Value::Int(least.wrapping_add(number as i64)))
        }
        _ => Err(FuncError::new("invalid argument to Intn")),
    }
}

/// A decimal number: digits times a power of ten. Sprig's float functions calculate so, which keeps 0.1 + 0.2 at 0.3.
#[derive(Clone)]
struct Decimal {
    digits: BigInt,
    exponent: i64,
}

/// How many places division keeps.
const DIVISION_PLACES: i64 = 16;

impl Decimal {
    fn new(value: f64) -> Result<Self> {
        if !value.is_finite() {
            let mut shown = Vec::new();
            number::append_float(&mut shown, value, b'g', None);
            let shown = String::from_utf8_lossy(&shown).into_owned();
            return Err(FuncError::new(format!(
                "Cannot create a Decimal from {shown}"
            )));
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len() as i64);
        let digits: BigInt = mantissa.replace('.', "").parse().unwrap_or_default();
        Ok(Self {
            digits,
            exponent: exponent - fraction,
        })
    }

    /// Both with the same, smaller exponent.
    fn align(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        (self.scaled(exponent), other.scaled(exponent), exponent)
    }

    fn scaled(&self, exponent: i64) -> BigInt {
        &self.digits * ten(self.exponent - exponent)
    }

    fn add(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.align(other);
        Self {
            digits: a + b,
            exponent,
        }
    }

    fn sub(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.align(other);
        Self {
            digits: a - b,
            exponent,
        }
    }

    fn mul(&self, other: &Self) -> Self {
        Self {
            digits: &self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
        }
    }

    /// Division to 16 places, halves away from zero.
    fn div(&self, other: &Self) -> Result<Self> {
        if other.digits.sign() == Sign::NoSign {
            return Err(FuncError::new("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + DIVISION_PLACES;
        let (top, bottom) = if shift >= 0 {
            (&self.digits * ten(shift), other.digits.clone())
        } else {
            (self.digits.clone(), &other.digits * ten(-shift))
        };
        let mut quotient = &top / &bottom;
        let rest: BigInt = (&top - &quotient * &bottom) * 2;
        if rest.magnitude() >= bottom.magnitude() {
            let up = top.sign() == bottom.sign();
            quotient += if up { 1 } else { -1 };
        }
        Ok(Self {
            digits: quotient,
            exponent: -DIVISION_PLACES,
        })
    }

    fn to_float(&self) -> f64 {
        // The parser rounds exactly, as a conversion of the fraction would.
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }
}

fn ten(power: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(0))
}

/// Folds numbers as decimals. The first is where to start.
fn decimals(
    cx: &Cx<'_>,
    first: f64,
    rest: &[Value],
    run: impl Fn(&Decimal, &Decimal) -> Result<Decimal>,
) -> Result<Value> {
    let mut result = Decimal::new(first)?;
    for value in rest {
        result = run(&result, &Decimal::new(cast::to_float(value))?)?;
        // Products grow with every factor.
        cx.spend(1 + result.digits.bits() as usize / 64)?;
    }
    Ok(Value::Float(result.to_float()))
}

fn addf(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    decimals(cx, 0.0, args, |a, b| Ok(a.add(b)))
}

fn add1f(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    decimals(cx, 1.0, args, |a, b| Ok(a.add(b)))
}

fn subf(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    decimals(cx, cast::to_float(any_at(args, 0)), &args[1..], |a, b| {
        Ok(a.sub(b))
    })
}

fn mulf(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    decimals(cx, cast::to_float(any_at(args, 0)), &args[1..], |a, b| {
        Ok(a.mul(b))
    })
}

fn divf(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    decimals(
        cx,
        cast::to_float(any_at(args, 0)),
        &args[1..],
        Decimal::div,
    )
}
