//! The operators' route that takes a backup while the server runs.

use crate::backup::{Backup, BackupError, BackupService};
use crate::http::App;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::RequireAdmin;
use crate::http::middleware::error::Refusal;
use api::backup::{BackupMade, NewBackup};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use std::sync::Arc;

/// Takes one consistent point of journal and Spot. It answers when all of it is durable, and goes on
/// when the caller goes away.
#[utoipa::path(
    post, path = "/api/v1/ops/backup", tag = "ops", request_body = NewBackup,
    operation_id = "take_backup", security(("token" = ["admin"])),
    responses(
        (status = 201, body = BackupMade, description = "It is durable"),
        (status = 400, body = Problem, description = "No name: `BAD_REQUEST`"),
        (status = 409, body = Problem, description = "There is one of that name: `DUPLICATE_REQUEST`"),
        (status = 503, body = Problem, description = "Another one is being made, or there is no room: `OVERLOADED`"),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireAdmin(caller): RequireAdmin,
    body: Body,
) -> Result<Response, Refusal> {
    let form: NewBackup = body.read()?;
    if !BackupService::is_valid_name(&form.dir) {
        return Err(Refusal::bad(
            "field `dir`: a name of 1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or \
             a digit",
        ));
    }
    tracing::info!(principal = %caller.principal, dir = form.dir, "a backup is asked for");
    let busy = || Refusal::because(Code::Overloaded, "Another backup is being made; wait for it");
    match app.backups.back_up(&form.dir).await.ok_or_else(busy)? {
        Ok(made) => Ok((StatusCode::CREATED, Json(shown(&made))).into_response()),
        Err(BackupError::Exists(_)) => {
            let sentence = format!("There is a backup `{}` already", form.dir);
            Err(Refusal::because(Code::DuplicateRequest, sentence))
        }
        Err(BackupError::Full(_)) => {
            Err(Refusal::because(Code::Overloaded, "There is no room for a backup; none was made"))
        }
        Err(fault @ (BackupError::Elsewhere | BackupError::Silent(_) | BackupError::Apart(_))) => {
            Err(Refusal::because(Code::SystemError, format!("No backup was made: {fault}")))
        }
        // the path and the system's words are in the log
        Err(BackupError::Io(..)) => {
            Err(Refusal::because(Code::SystemError, "No backup was made; the log says why"))
        }
    }
}

fn shown(made: &Backup) -> BackupMade {
    let Backup { dir, manifest, stood_still_us } = made;
    BackupMade {
        dir: dir.display().to_string(),
        at: manifest.at.clone(),
        transfers: manifest.transfers,
        spot: manifest.spot.as_ref().map(|spot| spot.highest),
        lsn: manifest.database.as_ref().map(|place| place.lsn.clone()),
        bytes: manifest.bytes(),
        stood_still_us: *stood_still_us,
    }
}
