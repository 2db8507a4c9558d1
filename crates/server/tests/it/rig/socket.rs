//! The rig's server behind a real socket, for clients that may be cut off.

use super::Rig;
use super::http::token;
use client::Client;

impl Rig {
    /// Listens until this life ends, and tells where.
    pub(crate) fn listen(&self) -> String {
        let life = self.life();
        let listener = life.run(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let router = life.router.clone();
        life.runtime().spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    /// A client of that server with a user's own token.
    pub(crate) fn client(&self, url: &str, user: u64, scope: &str) -> Client {
        let token = token(user, scope, self.life().app.clock.now());
        Client::new(url, &token).expect("a client")
    }

    /// Nothing new is begun from now on.
    pub(crate) fn drain(&self) {
        self.life().app.draining.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
