//! Ways out of a HALT over HTTP.

mod losses;
mod proving;
