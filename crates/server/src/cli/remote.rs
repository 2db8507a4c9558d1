//! Finds the server for a command and the token for its requests: by flags, or by the data folder.

use super::exit::{Exit, Fault};
use super::{Global, token};
use crate::auth::Scope;
use crate::bootstrap;
use crate::config::Config;
use client::Client;
use std::path::{Path, PathBuf};

/// Which server, with which token.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Remote {
    /// The server's address; without it the one that holds the data folder, or, where --data-dir names
    /// none, the listen address of the settings.
    #[arg(long, env = "PORTAGE_URL", value_name = "URL", help_heading = "Server")]
    url: Option<String>,
    /// The token; without it one is minted with the key in the data folder.
    #[arg(
        long,
        env = "PORTAGE_TOKEN",
        value_name = "JWT",
        hide_env_values = true,
        help_heading = "Server"
    )]
    token: Option<String>,
    /// A file with the token, which no list of processes shows; `-` reads it from the standard input.
    #[arg(long, env = "PORTAGE_TOKEN_FILE", value_name = "FILE", help_heading = "Server")]
    token_file: Option<PathBuf>,
    /// The authority that vouches for the server, in PEM; without it this machine's own.
    #[arg(long, env = "PORTAGE_CA", value_name = "FILE", help_heading = "Server")]
    ca: Option<PathBuf>,
}

/// Whose token is minted where none is given.
#[derive(Debug, Clone)]
pub(super) enum Minted {
    /// A user's own; `None` where the command names no user.
    User(Option<u64>),
    /// An operator's, under the usual name.
    Operator,
    /// A person's of this name.
    Named(String),
}

impl Remote {
    /// True where the caller brings a token.
    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    /// True where the caller names a server.
    pub(super) const fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// True where a command that only looks opens the store of these settings, false where it asks the
    /// server that the caller names.
    ///
    /// # Errors
    /// 66: there is no store here, and no server was named.
    pub(super) fn opens(&self, config: &Config) -> Result<bool, Fault> {
        let (database, named) = (config.database.is_set(), self.url.is_some());
        let here = match database {
            true => !named,
            false => config.data.dir.join(store::sqlite::FILE).is_file(),
        };
        if here || named {
            return Ok(here);
        }
        Err(none(&config.data.dir))
    }

    /// The same with the token that its file has: the standard input is read but once.
    pub(super) fn with_token_read(&self) -> Result<Self, Fault> {
        let token = match &self.token_file {
            Some(file) => Some(token_of(file)?),
            None => self.token.clone(),
        };
        Ok(Self { token, token_file: None, ..self.clone() })
    }

    /// A client with the token that was given, or one minted for this.
    pub(super) fn client(
        &self,
        global: &Global,
        minted: Minted,
        scope: Scope,
    ) -> Result<Client, Fault> {
        self.client_for(global, minted, scope, 0)
    }

    /// The same; a token that is minted for it lasts this number of seconds longer than usual.
    pub(super) fn client_for(
        &self,
        global: &Global,
        minted: Minted,
        scope: Scope,
        seconds: u64,
    ) -> Result<Client, Fault> {
        let given = self.with_token_read()?.token;
        if let (Some(url), Some(token)) = (&self.url, &given) {
            // the caller names all of it: settings that are wrong keep no HALT from being sent
            return client_of(url, token, self.ca.as_deref());
        }
        let config = global.settings()?;
        let served = || bootstrap::owner(&config.data.dir).filter(|owner| owner.lives());
        let url = match (&self.url, served(), &global.data_dir) {
            (Some(url), ..) => url.clone(),
            (None, Some(owner), _) => owner.url,
            // a caller who names a folder means its server, and no other that happens to listen
            (None, None, Some(dir)) => return Err(unserved(dir)),
            (None, None, None) => config.server.local_url(config.server.listen),
        };
        let token = match given {
            Some(token) => token,
            None => mint(&config, minted, scope, seconds)?,
        };
        client_of(&url, &token, self.ca.as_deref())
    }
}

/// A client for a server, with the authority in that file where one is given.
pub(super) fn client_of(url: &str, token: &str, ca: Option<&Path>) -> Result<Client, Fault> {
    match ca {
        // an authority for a connection that has none would be a false comfort
        Some(file) => {
            let fault = |fault| Fault::new(Exit::NoInput, format!("{}: {fault}", file.display()));
            Ok(Client::with_ca(url, token, &std::fs::read(file).map_err(fault)?)?)
        }
        None => Ok(Client::new(url, token)?),
    }
}

/// Nothing is kept in the folder, or its database is gone.
pub(super) fn none(dir: &Path) -> Fault {
    match store::sqlite::gone(dir) {
        Some(gone) => Fault::new(Exit::Data, format!("{}: {gone}", dir.display())),
        None => Fault::new(Exit::NoInput, format!("{}: no store here", dir.display())),
    }
}

/// No server serves the folder that was named.
fn unserved(dir: &Path) -> Fault {
    let shown = dir.display();
    let (exit, what) = if dir.is_dir() {
        let start = format!("start it with `portage serve --data-dir {shown}`");
        (Exit::Unavailable, format!("no process serves this folder; {start}"))
    } else {
        (Exit::NoInput, "there is no such folder".to_owned())
    };
    let sentence = format!("nothing was sent: {shown}: {what}, or name a server with --url");
    Fault::new(exit, sentence)
}

/// The token in a file, or on the standard input.
///
/// # Errors
/// 66: it cannot be read, or is empty.
pub(super) fn token_of(file: &Path) -> Result<String, Fault> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let fault = |fault| Fault::new(Exit::NoInput, format!("{}: {fault}", file.display()));
    let token = text.map_err(fault)?.trim().to_owned();
    if token.is_empty() {
        return Err(Fault::new(Exit::NoInput, format!("{}: no token in it", file.display())));
    }
    Ok(token)
}

/// Long enough for one command.
const TTL_SECONDS: u64 = 60;

fn mint(config: &Config, minted: Minted, scope: Scope, seconds: u64) -> Result<String, Fault> {
    let sub = match minted {
        Minted::User(Some(user)) => user.to_string(),
        Minted::User(None) => {
            let sentence = "say whose it is: --user, or a token by --token or PORTAGE_TOKEN";
            return Err(Fault::new(Exit::Usage, sentence));
        }
        Minted::Operator => "operator".to_owned(),
        Minted::Named(name) => name,
    };
    let wanted = TTL_SECONDS.saturating_add(seconds);
    let most = config.auth.max_lifetime_seconds;
    token::mint(config, &sub, scope.name(), if wanted < most { wanted } else { most })
}
