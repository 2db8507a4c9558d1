//! How the layers of settings are read and laid over each other, and how a fault in one is named.

use crate::config::{Config, Error};
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The global flags of the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--data-dir`
    pub data_dir: Option<PathBuf>,
    /// `serve --listen`
    pub listen: Option<SocketAddr>,
}

/// The file that is read where no other is named, if it is there.
const FILE: &str = "portage.toml";
const PREFIX: &str = "PORTAGE_";
const ENVIRONMENT: &str = "environment";

/// Lays the flags over the environment, over the file, over the defaults.
///
/// # Errors
/// As [`Config::load`], but for what [`Config`] checks of the whole.
pub fn load(
    flags: &Flags,
    env: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, Error> {
    let defaults = Figment::from(Serialized::defaults(Config::default()));
    let file = match &flags.config {
        Some(file) if !file.is_file() => return Err(Error::NoFile(file.clone())),
        Some(file) => file.as_path(),
        None => Path::new(FILE),
    };
    let env: Vec<(String, String)> = env.into_iter().collect();
    let variables = Variables::read(&env, &defaults);
    let filed = if file.exists() { defaults.merge(Toml::file_exact(file)) } else { defaults };
    let read = filed.merge(variables).extract::<Config>();
    let mut config = read.map_err(|fault| Error::Bad(named(&fault, file)))?;
    port_alias(&mut config, &env)?;
    if let Some(dir) = &flags.data_dir {
        config.data.dir.clone_from(dir);
    }
    if let Some(listen) = flags.listen {
        config.server.listen = listen;
    }
    Ok(config)
}

/// `SERVER_PORT`, the sources' own name for the port of `server.listen`.
fn port_alias(config: &mut Config, env: &[(String, String)]) -> Result<(), Error> {
    let find = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let Some(text) = find("SERVER_PORT") else { return Ok(()) };
    let port = text
        .trim()
        .parse::<u16>()
        .map_err(|_| Error::Bad(format!("SERVER_PORT: `{text}` is not a port")))?;
    if find("PORTAGE_SERVER__LISTEN").is_some() && config.server.listen.port() != port {
        let what = "SERVER_PORT and PORTAGE_SERVER__LISTEN name different ports: keep one";
        return Err(Error::Bad(what.to_owned()));
    }
    config.server.listen.set_port(port);
    Ok(())
}

/// `PORTAGE_<SECTION>__<KEY>` of the environment. Names without `__` are not settings: orchestrators
/// set such for services of our name (`PORTAGE_PORT`), and the command line has two of its own.
struct Variables(Dict);

impl Variables {
    fn read(env: &[(String, String)], defaults: &Figment) -> Self {
        let mut all = Dict::new();
        for (name, text) in env {
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            let Some((section, key)) = key.split_once("__") else { continue };
            let (section, key) = (section.to_lowercase(), key.to_lowercase());
            let value = value(defaults.find_value(&format!("{section}.{key}")).ok(), text);
            let keys = all.entry(section).or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, keys) = keys {
                keys.insert(key, value);
            }
        }
        Self(all)
    }
}

/// A variable's value, of the kind that its default has: a secret of digits stays a text.
fn value(default: Option<Value>, text: &str) -> Value {
    match default {
        Some(Value::String(..)) => Value::from(text),
        Some(Value::Array(..)) if !text.trim_start().starts_with('[') => {
            text.split(',').map(|part| part.trim().to_owned()).collect::<Vec<String>>().into()
        }
        _ => text.parse().unwrap_or_else(|never| match never {}),
    }
}

impl Provider for Variables {
    fn metadata(&self) -> Metadata {
        Metadata::named(ENVIRONMENT)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.0.clone())]))
    }
}

/// What is wrong, where: the variable, or the file with its line.
fn named(fault: &figment::Error, file: &Path) -> String {
    let mut path = fault.path.clone();
    let what = if let figment::error::Kind::UnknownField(key, known) = &fault.kind {
        if path.last() != Some(key) {
            path.push(key.clone());
        }
        format!("no such setting; known here: {}", known.join(", "))
    } else {
        fault.kind.to_string()
    };
    let key = path.join(".");
    match fault.metadata.as_ref().map(|source| source.name.as_ref()) {
        Some(ENVIRONMENT) => {
            format!("{PREFIX}{}: {what}", path.join("__").to_uppercase())
        }
        _ => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            match line(&text, &path) {
                Some(line) => format!("{}:{line}: {key}: {what}", file.display()),
                None if key.is_empty() => format!("{}: {what}", file.display()),
                None => format!("{key}: {what}"),
            }
        }
    }
}

/// The line of a TOML text on which a key (or its section) stands, from 1.
fn line(text: &str, path: &[String]) -> Option<usize> {
    let mut section = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            name.trim().clone_into(&mut section);
            if path.join(".") == section {
                return Some(number);
            }
        } else if let Some((key, _)) = line.split_once('=') {
            let key = key.trim().trim_matches(['"', '\'']);
            let whole =
                if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
            if whole == path.join(".") {
                return Some(number);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Config, Error, Flags, load};

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn with(text: &str, pairs: &[(&str, &str)]) -> Result<Config, Error> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("portage.toml");
        std::fs::write(&file, text).unwrap();
        load(&Flags { config: Some(file), ..Flags::default() }, env(pairs))
    }

    fn fault(text: &str, pairs: &[(&str, &str)]) -> String {
        with(text, pairs).unwrap_err().to_string()
    }

    #[test]
    fn defaults_below_file_below_environment_below_flags() {
        let text = "[server]\nlisten = \"127.0.0.1:4000\"\n[engine]\nring = 5\nfuse = false\n";
        let config = with(text, &[("PORTAGE_ENGINE__RING", "7")]).unwrap();
        assert_eq!(config.server.listen.port(), 4000);
        assert_eq!((config.engine.ring, config.engine.fuse), (7, false));
        assert_eq!(config.transfer.sync_timeout_ms, 500);
        assert_eq!(with(text, &[("SERVER_PORT", "81")]).unwrap().server.listen.port(), 81);
        let flags = Flags { data_dir: Some("d".into()), ..Flags::default() };
        let config = load(&flags, env(&[("PORTAGE_DATA__DIR", "e")])).unwrap();
        assert_eq!(config.data.dir.to_str(), Some("d"));
    }

    #[test]
    fn a_text_stays_a_text() {
        let digits = "01234567890123456789012345678901";
        let config = with(
            "",
            &[
                ("PORTAGE_AUTH__HS256_SECRET", digits),
                ("PORTAGE_AUTH__ISSUER", "true"),
                ("PORTAGE_AUTH__TYP", "at+jwt, JWT"),
                ("PORTAGE_URL", "http://x"),
                ("PORTAGE_PORT", "tcp://10.0.0.1:80"),
            ],
        )
        .unwrap();
        assert_eq!(config.auth.hs256_secret.reveal(), digits);
        assert_eq!(config.auth.issuer, "true");
        assert_eq!(config.auth.typ, ["at+jwt", "JWT"]);
        assert!(!format!("{config:?}").contains(digits), "masked");
        assert!(!serde_json::to_string(&config).unwrap().contains(digits), "masked");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let found = fault("[server]\nlisten = \"127.0.0.1:1\"\nlistn = 3\n", &[]);
        assert!(found.contains("portage.toml:3: server.listn: no such setting"), "{found}");
        let found = fault("\n[sever]\nx = 1\n", &[]);
        assert!(found.contains("portage.toml:2: sever: no such setting"), "{found}");
        let found = fault("", &[("PORTAGE_ENGINE__RINK", "3")]);
        assert!(found.starts_with("PORTAGE_ENGINE__RINK: no such setting"), "{found}");
    }

    #[test]
    fn a_wrong_kind_is_named_too() {
        let found = fault("[engine]\nring = \"many\"\n", &[]);
        assert!(found.contains("portage.toml:2: engine.ring"), "{found}");
        let found = fault("", &[("PORTAGE_ENGINE__RING", "-1")]);
        assert!(found.starts_with("PORTAGE_ENGINE__RING"), "{found}");
        assert!(fault("[engine\n", &[]).contains("portage.toml"));
        let found = fault("", &[("SERVER_PORT", "1"), ("PORTAGE_SERVER__LISTEN", "127.0.0.1:2")]);
        assert!(found.contains("different ports"), "{found}");
        let missing = Flags { config: Some("nowhere.toml".into()), ..Flags::default() };
        assert!(matches!(load(&missing, env(&[])), Err(Error::NoFile(_))));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let faults = [
            ("PORTAGE_SERVER__LISTEN", "0.0.0.0:3000", "loopback"),
            ("PORTAGE_AUTH__HS256_SECRET", "short", "32 bytes"),
            ("PORTAGE_AUTH__LEEWAY_SECONDS", "6", "at most 5"),
            ("PORTAGE_AUTH__ISSUER", "a|b", "auth.issuer"),
            ("PORTAGE_ENGINE__BACKOFF_CAP_MS", "1", "backoff"),
        ];
        for (name, value, says) in faults {
            let config = with("", &[(name, value)]).unwrap();
            let [broken] = &config.broken()[..] else { panic!("{name}: {:?}", config.broken()) };
            let found = format!("{}: {}", broken.key, broken.rule);
            assert!(found.contains(says), "{name}: {found}");
        }
        assert_eq!(Config::default().broken(), []);
    }
}
