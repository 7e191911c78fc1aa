//! What happened during a command, as typed data.
//!
//! The engine only emits [`Event`]s; text, JSON and whatever comes later
//! subscribe. Nothing here knows how an event looks on a screen.

mod bus;
mod model;

pub use bus::{Bus, Subscriber};
pub use model::{
    Effect, Event, EventKind, Level, Mode, Phase, SizeSource, StepId, StopPoint, Wait,
};
