//! `portage token`: mints a token with the development key.

use super::exit::{Exit, Fault};
use super::{Global, output};
use crate::auth::token::Minted;
use crate::auth::{Scope, key};
use crate::config::Config;
use crate::runtime::SystemClock;
use kernel::ports::clock::Clock;
use kernel::principal::fit_subject;

/// Mint a token with the development key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage token --sub 4001 --scope \"transfers:create transfers:read\" --ttl 15m")]
pub(super) struct TokenArgs {
    /// The subject: a user's id, or the name of a service or an operator.
    #[arg(long, value_parser = subject)]
    sub: String,
    /// What is allowed, space-separated: transfers:create transfers:read transfers:any
    /// relay:create relay:read ops:read ops:act ops:approve admin.
    #[arg(long, value_parser = scopes)]
    scope: String,
    /// How long it lives: 90s, 15m, 1h; at most auth.max_lifetime_seconds.
    #[arg(long, default_value = "1h", value_parser = seconds)]
    ttl: u64,
    /// Print an object with the token and its end.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(global: &Global, args: &TokenArgs) -> Result<(), Fault> {
    let token = mint(&global.settings()?, &args.sub, &args.scope, args.ttl)?;
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
    let key = match auth.hs256_secret.reveal() {
        "" => key::read(&config.data.dir, key::AUTH)?,
        secret => secret.as_bytes().to_vec(),
    };
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
