//! The server's TLS certificate with its key, reloaded when its files are replaced.

use crate::cli::exit::{Exit, Fault};
use crate::config;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{self, ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The interval at which the files are checked.
const EVERY: Duration = Duration::from_secs(10);
/// No chain of certificates is longer.
const MOST: u64 = 1024 * 1024;

/// A certificate that may be replaced while connections are taken.
pub struct Tls {
    files: config::Tls,
    shown: Arc<CertificateResolver>,
    server: Arc<ServerConfig>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The certificate for the next connection.
#[derive(Debug)]
struct CertificateResolver(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// The content of both files.
#[derive(PartialEq, Eq)]
struct CertificateFiles {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Reads both files.
    ///
    /// # Errors
    /// 78, with the file: it cannot be read, others may read the key, or the two do not fit.
    pub fn open(files: &config::Tls) -> Result<Self, Fault> {
        let unfit = |what: String| Fault::new(Exit::Config, what);
        let text = CertificateFiles::read(files).map_err(unfit)?;
        let provider = Arc::new(ring::default_provider());
        let pair = text.pair(files, &provider).map_err(unfit)?;
        let shown = Arc::new(CertificateResolver(RwLock::new(Arc::new(pair))));
        let versions = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|fault| unfit(format!("tls: {fault}")))?;
        let resolver: Arc<dyn server::ResolvesServerCert> = shown.clone();
        let mut server = versions.with_no_client_auth().with_cert_resolver(resolver);
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { files: files.clone(), shown, server: Arc::new(server) })
    }

    /// The settings for new connections; they read the certificate that is current then.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// Looks at the files from time to time.
    pub async fn watch(self: Arc<Self>) {
        let mut seen = CertificateFiles::read(&self.files).ok();
        loop {
            tokio::time::sleep(EVERY).await;
            let this = Arc::clone(&self);
            let read =
                tokio::task::spawn_blocking(move || CertificateFiles::read(&this.files)).await;
            let Ok(text) = read else { continue };
            if let Err(fault) = text.and_then(|text| self.renewed(text, &mut seen)) {
                tracing::error!("{fault}; the last good certificate is still shown");
            }
        }
    }

    /// Shows what the files hold now. A pair that does not fit changes nothing: the two are replaced
    /// one after the other.
    fn renewed(
        &self,
        text: CertificateFiles,
        seen: &mut Option<CertificateFiles>,
    ) -> Result<(), String> {
        if seen.as_ref() == Some(&text) {
            return Ok(());
        }
        let pair = text.pair(&self.files, &ring::default_provider());
        *seen = Some(text);
        let pair = Arc::new(pair?);
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = pair;
        tracing::info!("tls: a new certificate is shown from now on");
        Ok(())
    }
}

impl CertificateFiles {
    fn read(files: &config::Tls) -> Result<Self, String> {
        let named = |key: &str, file: &Path, fault: io::Error| {
            format!("tls.{key}: {}: {fault}", file.display())
        };
        let cert = whole(&files.cert_file, false)
            .map_err(|fault| named("cert_file", &files.cert_file, fault))?;
        let key = whole(&files.key_file, true)
            .map_err(|fault| named("key_file", &files.key_file, fault))?;
        Ok(Self { cert, key })
    }

    fn pair(&self, files: &config::Tls, ring: &CryptoProvider) -> Result<CertifiedKey, String> {
        let named = |key: &str, file: &PathBuf, what: &dyn std::fmt::Display| {
            format!("tls.{key}: {}: {what}", file.display())
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.map_err(|fault| named("cert_file", &files.cert_file, &fault))?;
        if chain.is_empty() {
            return Err(named("cert_file", &files.cert_file, &"no certificate in PEM"));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| named("key_file", &files.key_file, &"no private key in PEM"))?;
        CertifiedKey::from_der(chain, key, ring)
            .map_err(|fault| named("key_file", &files.key_file, &fault))
    }
}

/// A group may read a key (that of the certificates' own user), the rest of the world may not.
fn whole(file: &Path, secret: bool) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let file = File::open(file)?;
    if secret && file.metadata()?.permissions().mode() & 0o027 != 0 {
        let what = "others may read or replace this key: chmod 600 it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    file.take(MOST).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{CertificateFiles, Tls};
    use crate::config;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// The text of the two files.
    #[derive(Clone, Copy)]
    struct Pair {
        cert: &'static str,
        key: &'static str,
    }

    const SERVER: Pair = Pair {
        cert: include_str!("../../../tests/keys/server.pem"),
        key: include_str!("../../../tests/keys/server.key"),
    };
    const OTHER: Pair = Pair {
        cert: include_str!("../../../tests/keys/other.pem"),
        key: include_str!("../../../tests/keys/other.key"),
    };

    fn files(pair: Pair, mode: u32) -> (TempDir, config::Tls) {
        let dir = tempfile::tempdir().unwrap();
        let files = config::Tls {
            cert_file: dir.path().join("cert.pem"),
            key_file: dir.path().join("key.pem"),
        };
        write(&files.cert_file, pair.cert).unwrap();
        write(&files.key_file, pair.key).unwrap();
        set_permissions(&files.key_file, Permissions::from_mode(mode)).unwrap();
        (dir, files)
    }

    fn fault(pair: Pair, mode: u32) -> String {
        let (_dir, files) = files(pair, mode);
        let fault = Tls::open(&files).unwrap_err();
        assert_eq!(fault.exit.code(), 78, "{fault}");
        fault.sentence
    }

    #[test]
    fn a_certificate_and_its_own_key_which_others_cannot_read() {
        for mode in [0o600, 0o400, 0o640, 0o440] {
            let (_dir, files) = files(SERVER, mode);
            assert!(Tls::open(&files).is_ok(), "{mode:o}");
        }
        for mode in [0o644, 0o604, 0o660, 0o620, 0o666] {
            assert!(fault(SERVER, mode).contains("key.pem: others may"), "{mode:o}");
        }
        let wrong = |pair| fault(pair, 0o600);
        let no_certificate = "cert.pem: no certificate";
        assert!(wrong(Pair { key: OTHER.key, ..SERVER }).contains("tls.key_file"));
        assert!(wrong(Pair { cert: "", ..SERVER }).contains(no_certificate));
        assert!(wrong(Pair { cert: SERVER.key, ..SERVER }).contains(no_certificate));
        assert!(wrong(Pair { key: SERVER.cert, ..SERVER }).contains("key.pem: no private key"));
        let missing = config::Tls { cert_file: "/nowhere".into(), key_file: "/nowhere".into() };
        assert!(Tls::open(&missing).unwrap_err().sentence.contains("cert_file: /nowhere"));
    }

    /// Turns red where a renewed certificate waits for a restart, and where half a renewal is shown.
    #[test]
    fn a_new_pair_is_shown_and_half_a_one_is_not() {
        let (_dir, files) = files(SERVER, 0o600);
        let tls = Tls::open(&files).unwrap();
        let shown = || tls.shown.0.read().unwrap().cert.clone();
        let first = shown();
        let mut seen = Some(CertificateFiles::read(&files).unwrap());
        write(&files.cert_file, OTHER.cert).unwrap();
        assert!(tls.renewed(CertificateFiles::read(&files).unwrap(), &mut seen).is_err());
        assert_eq!(shown(), first);
        assert!(
            tls.renewed(CertificateFiles::read(&files).unwrap(), &mut seen).is_ok(),
            "said once"
        );
        write(&files.key_file, OTHER.key).unwrap();
        tls.renewed(CertificateFiles::read(&files).unwrap(), &mut seen).unwrap();
        assert_ne!(shown(), first);
        let second = shown();
        write(&files.cert_file, "").unwrap();
        assert!(tls.renewed(CertificateFiles::read(&files).unwrap(), &mut seen).is_err());
        assert_eq!(shown(), second);
    }
}
