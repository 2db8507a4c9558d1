//! `portage archive`: moves transfers that ended long ago into the archive.

use super::exit::{Exit, Fault};
use super::{Global, output, wait};
use crate::open_store;
use kernel::ids::Millis;
use kernel::ports::journal::UnitWriter as _;

/// Move transfers that ended long ago into the archive.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage archive --older-than 90d\n\n\
    Works on database.url (or DATABASE_URL), beside servers and workers, some thousands at a time. Keys\n\
    and operations stay where they are, for ever: a repeated key is answered as before.")]
pub(super) struct ArchiveArgs {
    /// How long ago they ended: 90d, or 12h.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Millis,
}

const HOUR: Millis = 3_600_000;

/// Days or hours, in milliseconds.
fn age(text: &str) -> Result<Millis, String> {
    let unit = match text.chars().last() {
        Some('d') => Some(24 * HOUR),
        Some('h') => Some(HOUR),
        Some(_) | None => None,
    };
    let number = text.get(..text.len().saturating_sub(1)).and_then(|n| n.parse::<Millis>().ok());
    let age = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    age.filter(|age| *age > 0).ok_or_else(|| "days or hours, as 90d or 12h".to_owned())
}

pub(super) fn run(global: &Global, args: &ArchiveArgs) -> Result<(), Fault> {
    let config = global.settings()?;
    if !config.database.is_set() {
        let what = "database.url is not set: what is kept in data.dir has no archive";
        return Err(Fault::new(Exit::Config, what));
    }
    wait(async {
        let store = open_store::journal(&config).await?;
        let before = store.now().saturating_sub(args.older_than);
        let mut all = 0_u64;
        loop {
            let moved = store.archive(before).await.map_err(|cause| {
                let what = format!("{cause}; {all} were archived, run it again");
                Fault::new(Exit::Unavailable, what)
            })?;
            if moved == 0 {
                break;
            }
            all = all.saturating_add(moved);
        }
        output::print(&format!("archived {all}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{HOUR, age};

    #[test]
    fn an_age_is_days_or_hours() {
        assert_eq!(age("90d"), Ok(90 * 24 * HOUR));
        assert_eq!(age("12h"), Ok(12 * HOUR));
        for text in ["", "d", "90", "0d", "-1d", "1.5d", "90m", "99999999999999999999d", "\u{e4}"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
