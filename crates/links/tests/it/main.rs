//! Tests of the links over real files.

mod in_process;
