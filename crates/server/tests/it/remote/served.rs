//! A Spot core behind its routes, on a real socket, and clients of it.

use kernel::ids::{AssetId, LedgerId};
use kernel::money::Asset;
use ledgers::disk::Folder;
use ledgers::remote::{AssetCodes, Remote, Settings, Token};
use ledgers::spot::Spot;
use server::http::listener::serve::serve;
use server::remote_ledger::{LedgerService, router};
use server::runtime::{SystemRng, Tasks};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub(crate) const TOKEN: &str = "a token for tests, long enough for anybody";

/// The fresh assets by their symbols.
pub(crate) fn symbols() -> AssetCodes {
    AssetCodes::of(Asset::fresh().into_iter().map(|asset| (asset.id, asset.symbol)))
}

/// How a ledger at this address is reached by a test.
pub(crate) fn reached(at: SocketAddr) -> Settings {
    Settings {
        url: format!("http://{at}"),
        token: Token(TOKEN.to_owned()),
        timeout_ms: 5_000,
        connect_timeout_ms: 1_000,
        max_in_flight: 8,
        batch: 1_000,
    }
}

/// A client in the full form.
pub(crate) fn client(id: LedgerId, settings: &Settings) -> Arc<Remote> {
    Arc::new(Remote::new(id, settings, symbols()).expect("a client"))
}

/// A Spot core on a folder. Its last owner may still be closing it.
pub(crate) async fn core(folder: &Path) -> Arc<Spot> {
    let disk = loop {
        match Folder::open(folder) {
            Err(ledgers::SpotOpenError::Locked) => {
                tokio::time::sleep(Duration::from_millis(5)).await
            }
            opened => break opened.expect("the folder opens"),
        }
    };
    let assets: Vec<AssetId> = symbols().assets();
    let fatal = Arc::new(|what| panic!("Spot gave up: {what}"));
    let opened = Spot::open(Arc::new(disk), &SystemRng::default(), assets, 0, fatal).await;
    opened.expect("Spot opens").0
}

/// A core behind its routes, until it is dropped.
pub(crate) struct Served {
    pub spot: Arc<Spot>,
    pub at: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Served {
    /// Serves a core at a free port.
    pub(crate) async fn start(spot: Arc<Spot>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let at = listener.local_addr().expect("its number");
        let ledger_service = LedgerService::new(spot.clone(), symbols(), TOKEN);
        let (stop, stopped) = oneshot::channel::<()>();
        let tasks = Tasks::new(Arc::new(|what| panic!("{what}")));
        let routes = router(Arc::new(ledger_service));
        server::runtime::beside(async move {
            let stop = async { drop(stopped.await) };
            serve(listener, routes, &tasks, stop, Duration::from_millis(50)).await;
        });
        Self { spot, at, _stop: stop }
    }

    /// The core of a folder.
    pub(crate) async fn folder(folder: &Path) -> Self {
        Self::start(core(folder).await).await
    }
}
