//! Loads the roots of trust by which a client checks a provider's server: the machine's own
//! (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others).

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// The TLS settings of a client. Without `https` it trusts no server, and reads no root.
///
/// # Errors
/// Why the machine's roots cannot be used, as a sentence.
pub(super) fn trust(https: bool) -> Result<ClientConfig, String> {
    let unfit = |fault: rustls::Error| format!("TLS cannot be used: {fault}");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(unfit)?;
    let builder = if https {
        builder.with_platform_verifier().map_err(unfit)?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
