//! The pages: health and metrics for machines, the OpenAPI description, and the documentation for readers.

pub mod docs;
pub mod machine;
pub mod openapi;
pub mod worker;
