//! The TLS settings of the client: the authorities that it trusts for a server's certificate. TLS 1.2 and 1.3,
//! never less.

use crate::error::{Error, whole};
use rustls::client::WantsClientCert;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// The authorities that this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
///
/// # Errors
/// [`Error::Unfit`]: they cannot be read.
pub fn machine() -> Result<ClientConfig, Error> {
    Ok(done(builder()?.with_platform_verifier().map_err(unfit)?))
}

/// These authorities and no others: certificates in PEM.
///
/// # Errors
/// [`Error::Unfit`]: no certificate, or one that is none.
pub fn only(pem: &[u8]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|fault| Error::Unfit(whole(&fault)))?;
        roots.add(certificate).map_err(unfit)?;
    }
    if roots.is_empty() {
        return Err(Error::Unfit("no certificate in PEM".to_owned()));
    }
    Ok(done(builder()?.with_root_certificates(roots)))
}

/// No authority: for connections without TLS, for which no root need be read.
///
/// # Errors
/// [`Error::Unfit`]: TLS cannot be used at all.
pub fn no_authority() -> Result<ClientConfig, Error> {
    Ok(done(builder()?.with_root_certificates(RootCertStore::empty())))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_safe_default_protocol_versions().map_err(unfit)
}

fn done(builder: ConfigBuilder<ClientConfig, WantsClientCert>) -> ClientConfig {
    builder.with_no_client_auth()
}

fn unfit(fault: rustls::Error) -> Error {
    Error::Unfit(format!("TLS cannot be used: {fault}"))
}
