//! How items become changes: pure, on a [`super::board::Board`].

mod guards;
mod legs;
mod touch;
mod unit;

pub(crate) use legs::answer;
