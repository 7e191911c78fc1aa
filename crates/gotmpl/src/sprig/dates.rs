//! Sprig's functions on times and durations.

use std::any::Any;
use std::rc::Rc;

use crate::error::FuncError;
use crate::func::{Cx, FuncDef, MethodDef, Param, any_at, int_at, text_at};
use crate::gotime::{self, Moment};
use crate::text::Str;
use crate::value::{Kind, Object, Value};

type Result<T> = std::result::Result<T, FuncError>;

const STR: Param = Param::String;
const ANY: Param = Param::Any;
const TIME: Param = Param::Host("time.Time");

pub(crate) const TABLE: &[FuncDef] = &[
    FuncDef {
        name: "ago",
        params: &[ANY],
        rest: None,
        call: ago,
    },
    FuncDef {
        name: "date",
        params: &[STR, ANY],
        rest: None,
        call: date,
    },
    FuncDef {
        name: "dateInZone",
        params: &[STR, ANY, STR],
        rest: None,
        call: date_in_zone,
    },
    FuncDef {
        name: "dateModify",
        params: &[STR, TIME],
        rest: None,
        call: date_modify,
    },
    FuncDef {
        name: "date_in_zone",
        params: &[STR, ANY, STR],
        rest: None,
        call: date_in_zone,
    },
    FuncDef {
        name: "date_modify",
        params: &[STR, TIME],
        rest: None,
        call: date_modify,
    },
    FuncDef {
        name: "duration",
        params: &[ANY],
        rest: None,
        call: duration,
    },
    FuncDef {
        name: "durationRound",
        params: &[ANY],
        rest: None,
        call: duration_round,
    },
    FuncDef {
        name: "htmlDate",
        params: &[ANY],
        rest: None,
        call: html_date,
    },
    FuncDef {
        name: "htmlDateInZone",
        params: &[ANY, STR],
        rest: None,
        call: html_date_in_zone,
    },
    FuncDef {
        name: "mustDateModify",
        params: &[STR, TIME],
        rest: None,
        call: must_date_modify,
    },
    FuncDef {
        name: "mustToDate",
        params: &[STR, STR],
        rest: None,
        call: must_to_date,
    },
    FuncDef {
        name: "must_date_modify",
        params: &[STR, TIME],
        rest: None,
        call: must_date_modify,
    },
    FuncDef {
        name: "now",
        params: &[],
        rest: None,
        call: now,
    },
    FuncDef {
        name: "toDate",
        params: &[STR, STR],
        rest: None,
        call: to_date,
    },
    FuncDef {
        name: "unixEpoch",
        params: &[TIME],
        rest: None,
        call: unix_epoch,
    },
];

/// A time as templates see it, Go's `time.Time`: a moment and the zone it is shown in.
#[derive(Clone, Debug)]
pub struct Time(Moment);

impl Time {
    /// Reads a time by a layout of Go; without an offset it is in UTC. `None` if the text does not fit the layout.
    #[must_use]
    pub fn parse(layout: &str, text: &str) -> Option<Self> {
        let utc = |_| (0, Str::from("UTC"));
        gotime::parse(layout.as_bytes(), text.as_bytes(), utc)
            .ok()
            .map(Self)
    }

    /// The time that a value is.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        moment_of(value).cloned().map(Self)
    }

    /// The name of its zone, such as `UTC`.
    #[must_use]
    pub fn zone(&self) -> &Str {
        &self.0.zone
    }

    /// The same moment in a zone of this name that is not away from UTC.
    #[must_use]
    pub fn in_zone_named(self, zone: &str) -> Self {
        Self(Moment {
            offset: 0,
            zone: Str::from(zone),
            is_utc: false,
            ..self.0
        })
    }

    /// The time as a layout of Go shows it.
    #[must_use]
    pub fn format(&self, layout: &str) -> Vec<u8> {
        self.0.format(layout.as_bytes())
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Self {
        Self::Object(Rc::new(time))
    }
}

fn object(moment: Moment) -> Value {
    Time(moment).into()
}

fn moment_of(value: &Value) -> Option<&Moment> {
    match value {
        Value::Object(object) => object.as_any().downcast_ref::<Time>().map(|time| &time.0),
        _ => None,
    }
}

fn current(cx: &Cx<'_>) -> Moment {
    let now = cx.ambient().now();
    Moment::utc(now.seconds, now.nanos)
}

/// The same moment seen from a zone; one that is not known counts as UTC.
fn in_zone(cx: &Cx<'_>, moment: &Moment, zone: &str) -> Moment {
    match cx.ambient().zone(zone, moment.seconds) {
        Some(offset) => Moment {
            offset: offset.seconds,
            is_utc: &offset.name[..] == b"UTC",
            zone: offset.name,
            ..moment.clone()
        },
        None => Moment::utc(moment.seconds, moment.nanos),
    }
}

fn local(cx: &Cx<'_>, moment: &Moment) -> Moment {
    in_zone(cx, moment, "Local")
}

fn now(cx: &mut Cx<'_>, _: &[Value]) -> Result<Value> {
    let now = current(cx);
    Ok(object(local(cx, &now)))
}

/// What sprig takes for a time: times and integers; all else is now.
fn given(cx: &Cx<'_>, value: &Value) -> Moment {
    match value {
        Value::Int(seconds) | Value::Int64(seconds) => Moment::utc(*seconds, 0),
        other => moment_of(other).cloned().unwrap_or_else(|| current(cx)),
    }
}

fn formatted(cx: &Cx<'_>, layout: &[u8], value: &Value, zone: &str) -> Result<Value> {
    cx.spend(layout.len() / 32)?;
    let moment = in_zone(cx, &given(cx, value), zone);
    Ok(Value::from(moment.format(layout)))
}

fn date(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    formatted(cx, &text_at(args, 0), any_at(args, 1), "Local")
}

fn date_in_zone(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    formatted(
        cx,
        &text_at(args, 0),
        any_at(args, 1),
        &text_at(args, 2).to_text(),
    )
}

fn html_date(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    formatted(cx, b"2006-01-02", any_at(args, 0), "Local")
}

fn html_date_in_zone(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    formatted(
        cx,
        b"2006-01-02",
        any_at(args, 0),
        &text_at(args, 1).to_text(),
    )
}

fn modified(args: &[Value]) -> std::result::Result<Value, String> {
    let nanos = gotime::parse_duration(&text_at(args, 0))?;
    Ok(moment_of(any_at(args, 1)).map_or(Value::Nil, |moment| object(moment.plus(nanos))))
}

fn date_modify(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(modified(args).unwrap_or_else(|_| any_at(args, 1).clone()))
}

fn must_date_modify(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    modified(args).map_err(FuncError::new)
}

fn read(cx: &Cx<'_>, args: &[Value]) -> std::result::Result<Moment, String> {
    gotime::parse(&text_at(args, 0), &text_at(args, 1), |seconds| {
        let here = cx.ambient().zone("Local", seconds);
        here.map_or((0, Str::from("UTC")), |offset| {
            (offset.seconds, offset.name)
        })
    })
    .map_err(|error| error.0)
}

fn to_date(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    Ok(object(read(cx, args).unwrap_or_else(|_| Moment::zero())))
}

fn must_to_date(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    read(cx, args).map(object).map_err(FuncError::new)
}

fn unix_epoch(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let seconds = moment_of(any_at(args, 0)).map_or(0, |moment| moment.seconds);
    Ok(Value::from(seconds.to_string()))
}

fn ago(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let nanos = current(cx).since(&given(cx, any_at(args, 0)));
    // Rounded to seconds, halves away from zero.
    let second = 1_000_000_000;
    let rest = nanos % second;
    let mut rounded = nanos - rest;
    if rest.abs() * 2 >= second {
        rounded = rounded.saturating_add(second * rest.signum());
    }
    Ok(Value::from(gotime::duration_text(rounded)))
}

fn duration(_: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let seconds = match any_at(args, 0) {
        Value::String(text) => match crate::number::parse_int(text, 10) {
            Ok(seconds) => seconds,
            Err(crate::number::NumError::Range) if text.first() == Some(&b'-') => i64::MIN,
            Err(crate::number::NumError::Range) => i64::MAX,
            Err(crate::number::NumError::Syntax) => 0,
        },
        Value::Int64(seconds) => *seconds,
        _ => 0,
    };
    Ok(Value::from(gotime::duration_text(
        seconds.wrapping_mul(1_000_000_000),
    )))
}

fn duration_round(cx: &mut Cx<'_>, args: &[Value]) -> Result<Value> {
    let nanos = match any_at(args, 0) {
        Value::String(text) => gotime::parse_duration(text).unwrap_or(0),
        Value::Int64(nanos) => *nanos,
        other => moment_of(other).map_or(0, |moment| current(cx).since(moment)),
    };
    let abs = nanos.unsigned_abs();
    const HOUR: u64 = 3_600_000_000_000;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
    ];
    let found = units.iter().find(|(unit, _)| abs > *unit);
    Ok(Value::from(
        found.map_or("0s".to_owned(), |(unit, name)| {
            format!("{}{name}", abs / unit)
        }),
    ))
}

/// Gives what a method says about its time.
fn answer(value: &Value, run: impl FnOnce(&Moment) -> Value) -> Result<Value> {
    moment_of(value)
        .map(run)
        .ok_or_else(|| FuncError::new("no time"))
}

/// A method without arguments that asks for a number.
macro_rules! number_methods {
    ($($name:literal => $kind:ident($run:expr)),* $(,)?) => {
        [$(MethodDef {
            name: $name,
            params: &[],
            rest: None,
            call: |_, this, _| {
                answer(this, |moment| {
                    let run: fn(&Moment) -> i64 = $run;
                    Value::$kind(run(moment))
                })
            },
        }),*]
    };
}

const NUMBER_METHODS: &[MethodDef] = &number_methods! {
    "Unix" => Int64(|moment| moment.seconds),
    "UnixMilli" => Int64(|moment| moment.seconds.wrapping_mul(1_000) + i64::from(moment.nanos / 1_000_000)),
    "UnixMicro" => Int64(|moment| moment.seconds.wrapping_mul(1_000_000) + i64::from(moment.nanos / 1_000)),
    "UnixNano" => Int64(|moment| moment.seconds.wrapping_mul(1_000_000_000).wrapping_add(i64::from(moment.nanos))),
    "Year" => Int(|moment| moment.civil().year),
    "Day" => Int(|moment| i64::from(moment.civil().day)),
    "Hour" => Int(|moment| i64::from(moment.civil().hour)),
    "Minute" => Int(|moment| i64::from(moment.civil().minute)),
    "Second" => Int(|moment| i64::from(moment.civil().second)),
    "Nanosecond" => Int(|moment| i64::from(moment.nanos)),
    "YearDay" => Int(|moment| i64::from(moment.civil().yearday)),
};

/// A name out of a fixed list that is a number to Go, as months and days of the week are.
struct Named {
    type_name: &'static str,
    name: &'static str,
    number: u32,
}

impl Object for Named {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Int
    }

    fn print(&self) -> String {
        self.name.to_owned()
    }

    fn integer(&self) -> Option<i64> {
        Some(i64::from(self.number))
    }

    fn equal(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| other.name == self.name && other.type_name == self.type_name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

const METHODS: &[MethodDef] = &[
    MethodDef {
        name: "Format",
        params: &[STR],
        rest: None,
        call: |_, this, args| answer(this, |moment| Value::from(moment.format(&text_at(args, 0)))),
    },
    MethodDef {
        name: "String",
        params: &[],
        rest: None,
        call: |_, this, _| answer(this, |moment| Value::from(moment.text())),
    },
    MethodDef {
        name: "UTC",
        params: &[],
        rest: None,
        call: |_, this, _| {
            answer(this, |moment| {
                object(Moment::utc(moment.seconds, moment.nanos))
            })
        },
    },
    MethodDef {
        name: "Local",
        params: &[],
        rest: None,
        call: |cx, this, _| answer(this, |moment| object(local(cx, moment))),
    },
    MethodDef {
        name: "IsZero",
        params: &[],
        rest: None,
        call: |_, this, _| {
            answer(this, |moment| {
                Value::Bool(moment.seconds == gotime::ZERO_SECONDS && moment.nanos == 0)
            })
        },
    },
    MethodDef {
        name: "Month",
        params: &[],
        rest: None,
        call: |_, this, _| {
            answer(this, |moment| {
                let number = moment.civil().month;
                let name = gotime::month_name(number);
                Value::Object(Rc::new(Named {
                    type_name: "time.Month",
                    name,
                    number,
                }))
            })
        },
    },
    MethodDef {
        name: "Weekday",
        params: &[],
        rest: None,
        call: |_, this, _| {
            answer(this, |moment| {
                let number = moment.civil().weekday;
                let name = gotime::day_name(number);
                Value::Object(Rc::new(Named {
                    type_name: "time.Weekday",
                    name,
                    number,
                }))
            })
        },
    },
    MethodDef {
        name: "AddDate",
        params: &[Param::Int, Param::Int, Param::Int],
        rest: None,
        call: |_, this, args| {
            answer(this, |moment| {
                object(moment.add_date(int_at(args, 0), int_at(args, 1), int_at(args, 2)))
            })
        },
    },
    MethodDef {
        name: "After",
        params: &[TIME],
        rest: None,
        call: |_, this, args| compare(this, args, std::cmp::Ordering::is_gt),
    },
    MethodDef {
        name: "Before",
        params: &[TIME],
        rest: None,
        call: |_, this, args| compare(this, args, std::cmp::Ordering::is_lt),
    },
    MethodDef {
        name: "Equal",
        params: &[TIME],
        rest: None,
        call: |_, this, args| compare(this, args, std::cmp::Ordering::is_eq),
    },
];

fn compare(
    this: &Value,
    args: &[Value],
    test: impl FnOnce(std::cmp::Ordering) -> bool,
) -> Result<Value> {
    let key = |moment: &Moment| (moment.seconds, moment.nanos);
    match (moment_of(this), moment_of(any_at(args, 0))) {
        (Some(a), Some(b)) => Ok(Value::Bool(test(key(a).cmp(&key(b))))),
        _ => Err(FuncError::new("no time")),
    }
}

impl Object for Time {
    fn type_name(&self) -> &str {
        "time.Time"
    }

    fn method(&self, name: &str) -> Option<&'static MethodDef> {
        METHODS
            .iter()
            .chain(NUMBER_METHODS)
            .find(|method| method.name == name)
    }

    fn print(&self) -> String {
        self.0.text()
    }

    fn json(&self) -> Option<Value> {
        Some(Value::from(
            self.0.format(b"2006-01-02T15:04:05.999999999Z07:00"),
        ))
    }

    fn equal(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| other.0 == self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
