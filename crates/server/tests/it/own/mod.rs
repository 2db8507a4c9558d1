//! The services of the guide "put your own ledger behind it", run as they stand there, and
//! `portage spot serve`: processes behind a server that is one, too, and killed as such.

mod fixture;
mod gateway;
mod guide;
mod process;
pub(crate) mod script;
mod suite;
mod tls;
