//! Checks that a restored Spot and a recovered database are of one instant, and halts the database, so that no
//! money moves before an operator has checked both.

use super::{BackupError, DatabasePoint, Manifest, SpotPoint, halted};
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::journal::{ServiceQueries as _, ServiceStatus, UnitWriter as _};
use kernel::unit::{Unit, Wrote};
use store::postgres::{Lsn, Postgres, WalPosition};

/// Compares the database with the backup that is about to be restored beside it, and halts it.
///
/// # Errors
/// [`BackupError::Apart`]: they are not of one instant, and nothing was written; [`BackupError::Silent`]: the
/// database does not answer.
pub async fn paired(
    store: &Postgres,
    about: &Manifest,
    wanted: &DatabasePoint,
) -> Result<(), BackupError> {
    let pointing = store.wal_position_reader().await.map_err(BackupError::Silent)?;
    let now = pointing.position().await.map_err(BackupError::Silent)?;
    let status = store.service_status().await.map_err(BackupError::Silent)?;
    if let Some(why) = apart(about, wanted, &now, &status) {
        return Err(BackupError::Apart(why));
    }
    let spot = about.spot.as_ref().map_or(0, |spot| spot.highest);
    let facts = format!(
        "this service is a backup of {}: Spot up to operation {spot}, and the database recovered to \
         {}, with transfers up to number {}. What happened afterwards is not in it: compare it with \
         the outside before you resume",
        about.at, wanted.lsn, now.transfers
    );
    let wrote = store.write(vec![Unit::puts(halted(&about.at, facts))]).await.pop();
    match wrote {
        Some(Wrote::Written(_)) => Ok(()),
        Some(Wrote::Unknown(cause)) => Err(BackupError::Silent(cause)),
        Some(Wrote::Refused(refusal)) => Err(BackupError::Silent(refusal.into_cause())),
        Some(Wrote::Lost(_) | Wrote::Full) | None => Err(BackupError::Silent(Cause::of("FULL"))),
    }
}

/// The differences that show that a database and a backup are not of one instant. Whatever is
/// left over is found by the start, which matches what Spot did.
fn apart(
    about: &Manifest,
    wanted: &DatabasePoint,
    now: &WalPosition,
    status: &ServiceStatus,
) -> Option<String> {
    let journal = format!("{:032x}", now.identity.0);
    if journal != about.journal {
        return Some(format!(
            "the database's journal is {journal}, the backup's {}",
            about.journal
        ));
    }
    let system = now.system.to_string();
    if system != wanted.system_identifier {
        return Some(format!(
            "the database's system identifier is {system}, the backup's {}: a dump knows no place in \
             the log. Recover a base backup to {}",
            wanted.system_identifier, wanted.lsn
        ));
    }
    let Ok(place) = wanted.lsn.parse::<Lsn>() else {
        return Some(format!("the backup names no place in a log: {}", wanted.lsn));
    };
    if now.lsn < place {
        return Some(format!(
            "the database ends at {}, before the backup: Spot would have done what no transfer asked \
             for. Recover it to recovery_target_lsn = '{}'",
            now.lsn, wanted.lsn
        ));
    }
    let SpotPoint { identity, highest, .. } = about.spot.as_ref()?;
    let known = status.ledger(LedgerId::SPOT)?;
    if format!("{:032x}", known.identity.0) != *identity {
        return Some("the database knows another Spot than the backup's".to_owned());
    }
    (known.highest > *highest).then(|| {
        format!(
            "the database knows Spot's operations up to {}, the backup has {highest}: Spot would have \
             forgotten what it answered for. Recover the database to recovery_target_lsn = '{}' with \
             recovery_target_inclusive = off, or take a newer backup",
            known.highest, wanted.lsn
        )
    })
}
