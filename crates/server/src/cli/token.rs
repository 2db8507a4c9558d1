//! `portage token`: mints a token with the development key, and says whether the server takes a token.

use super::exit::{Exit, Fault};
use super::serve::configured_keys;
use super::{Global, output, wait};
use crate::auth::keys::Keys;
use crate::auth::token::Minted;
use crate::auth::verify::{KeyAge, Verifier};
use crate::auth::{Scope, key};
use crate::config::Config;
use crate::runtime::SystemClock;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kernel::ports::clock::Clock;
use kernel::principal::fit_subject;
use std::io;
use std::sync::Arc;

/// Mint a token with the development key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage token --sub 4001 --scope \"transfers:create transfers:read\" --ttl 15m")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    command: Option<TokenCommand>,
    /// The subject: a user's id, or the name of a service or an operator.
    #[arg(long, value_parser = subject, required = true)]
    sub: Option<String>,
    /// What is allowed, space-separated: transfers:create transfers:read transfers:any
    /// relay:create relay:read ops:read ops:act ops:approve admin.
    #[arg(long, value_parser = scopes, required = true)]
    scope: Option<String>,
    /// How long it lives: 90s, 15m, 1h; at most auth.max_lifetime_seconds.
    #[arg(long, default_value = "1h", value_parser = seconds)]
    ttl: u64,
    /// Print an object with the token and its end.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Say who a token's holder is for a server of these settings, or why it is refused.
    Check(CheckArgs),
}

/// Check a token by the settings and keys of the server. Nothing is sent to a server of Portage.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage token check -")]
struct CheckArgs {
    /// The token; `-` reads it from the standard input, where other users of the machine do not see it.
    token: String,
}

pub(super) fn run(global: &Global, args: &TokenArgs) -> Result<(), Fault> {
    if let Some(TokenCommand::Check(args)) = &args.command {
        return check(&global.settings()?, args);
    }
    let (sub, scope) = (args.sub.as_deref().unwrap_or_default(), args.scope.as_deref());
    let token = mint(&global.settings()?, sub, scope.unwrap_or_default(), args.ttl)?;
    if args.json {
        let expires_in = args.ttl;
        return output::print_json(
            &serde_json::json!({ "token": token, "expires_in": expires_in }),
        );
    }
    output::print(&token)
}

/// A token of these settings' key.
///
/// # Errors
/// There is no key, it is not ours that counts, or the server would not take such a token.
pub(super) fn mint(config: &Config, sub: &str, scope: &str, ttl: u64) -> Result<String, Fault> {
    let auth = &config.auth;
    if ttl > auth.max_lifetime_seconds {
        let most = auth.max_lifetime_seconds;
        return Err(Fault::new(Exit::Usage, format!("--ttl: at most {most} seconds")));
    }
    if auth.has_jwks() {
        let sentence = "tokens of this server are signed by the holder of the keys of \
                        auth.jwks_file or auth.jwks_url: take one from there";
        return Err(Fault::new(Exit::Config, sentence));
    }
    let key = development_key(config)?;
    let now = SystemClock::default().now() / 1000;
    let minted = Minted {
        iss: auth.issuer.clone(),
        aud: auth.audience.clone(),
        sub: sub.to_owned(),
        scope: scope.to_owned(),
        iat: now,
        nbf: now,
        exp: now.saturating_add(ttl),
    };
    let typ = auth.typ.first().map_or("at+jwt", String::as_str);
    minted.sign(typ, &key).map_err(|fault| Fault::new(Exit::Software, fault.to_string()))
}

/// The secret that the settings name, or the generated key of the folder.
fn development_key(config: &Config) -> Result<Vec<u8>, Fault> {
    match config.auth.hs256_secret.reveal() {
        "" => Ok(key::read(&config.data.dir, key::AUTH)?),
        secret => Ok(secret.as_bytes().to_vec()),
    }
}

fn check(config: &Config, args: &CheckArgs) -> Result<(), Fault> {
    let token = match args.token.as_str() {
        "-" => io::read_to_string(io::stdin())
            .map_err(|fault| Fault::new(Exit::NoInput, format!("the standard input: {fault}")))?,
        token => token.to_owned(),
    };
    let token = token.trim();
    for part in token.split('.').take(2) {
        // what the token says, before anything is believed of it
        let text =
            URL_SAFE_NO_PAD.decode(part).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        output::print(text.as_deref().unwrap_or("a part that is no text in base64url"))?;
    }
    let auth = &config.auth;
    let checked = wait(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let keys = if auth.has_jwks() {
            configured_keys(auth, Arc::clone(&clock)).await?
        } else {
            Arc::new(Keys::secret(&development_key(config)?, Arc::clone(&clock)))
        };
        Ok(Verifier::over(auth, keys, clock).check(token, KeyAge::Fresh).await)
    })?;
    let typ = auth.typ.join(", ");
    let settings = [
        ("auth.issuer", &*auth.issuer),
        ("auth.audience", &auth.audience),
        ("auth.typ", &typ),
        ("auth.scope_claim", &auth.scope_claim),
        ("auth.user_claim", &auth.user_claim),
    ];
    output::print(&output::pairs(&settings))?;
    let caller = checked.map_err(|why| Fault::new(Exit::NoPerm, format!("refused: {why}")))?;
    let user = caller.user.map_or_else(|| "none".to_owned(), |user| user.to_string());
    let scopes: Vec<_> = caller.scopes.iter().map(|scope| scope.name()).collect();
    let holder =
        [("principal", &*caller.principal), ("user", &user), ("scopes", &scopes.join(" "))];
    output::print(&output::pairs(&holder))
}

fn subject(text: &str) -> Result<String, String> {
    fit_subject(text).map(|()| text.to_owned()).map_err(str::to_owned)
}

fn scopes(text: &str) -> Result<String, String> {
    for word in text.split_whitespace() {
        if Scope::parse(word).is_none() {
            let known: Vec<_> = Scope::ALL.into_iter().map(Scope::name).collect();
            return Err(format!("no scope `{word}`; known: {}", known.join(" ")));
        }
    }
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, text.chars().last()),
        None => (text, Some('s')),
    };
    let factor = match unit {
        Some('h') => 3600,
        Some('m') => 60,
        _ => 1,
    };
    let number: u64 = number.parse().map_err(|_| "as 90s, 15m or 1h".to_owned())?;
    match number.checked_mul(factor) {
        Some(seconds) if seconds > 0 => Ok(seconds),
        _ => Err("above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{scopes, seconds, subject};

    #[test]
    fn times_and_scopes_are_read() {
        assert_eq!(seconds("1h"), Ok(3600));
        assert_eq!(seconds("15m"), Ok(900));
        assert_eq!(seconds("90"), Ok(90));
        for bad in ["", "0s", "h", "-1m", "1d", "99999999999999999999h", "18446744073709551615h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(scopes(" ops:read  admin"), Ok("ops:read admin".to_owned()));
        assert!(subject("4001").is_ok() && subject("").is_err() && subject("a\nb").is_err());
        assert!(scopes("ops:raed").is_err());
    }
}
