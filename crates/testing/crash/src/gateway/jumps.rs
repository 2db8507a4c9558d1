//! The clock campaign: the wall clock of the real binary jumps forward and back while a ledger is away and the process
//! is killed; the clock that only goes on stays as it is.
//!
//! Once the jump is over and the ledger is back, whatever waits for a retry ends within twice the backoff's longest wait
//! of real time; a transfer that waits too long has its case meanwhile; and nothing is lost or done twice.

use super::clients::{self, Load, Sent, TokenRefused};
use super::services::Services;
use super::wall_clock::WallClock;
use super::{oracle, settle};
use crate::rng::Rng;
use crate::{Outcome, clock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use testbed::Fault;

/// The backoff's longest wait.
const CAP: Duration = Duration::from_secs(2);
/// What a retry takes beside its wait: the scan that finds it, the call, and a machine that has more to do.
const WORK: Duration = Duration::from_secs(2);
/// A transfer that waits for its target for longer has a case.
const OVERDUE: Duration = Duration::from_secs(1);
/// How long its case may take: twice as long by a clock that goes at half its speed, and the monitor's look.
const ALARM: Duration = Duration::from_secs(8);
/// Before each jump clients work with a right clock.
const RIGHT: Duration = Duration::from_millis(500);
/// How far the clock jumps, in seconds: in turn.
const JUMPS: [i64; 6] = [3_600, -3_600, 90, 40 * 86_400, -2 * 86_400, 5];

/// What happened in the run.
#[derive(Debug, Default)]
pub struct Jumped {
    /// How often the clock jumped and came back.
    pub jumps: u64,
    /// How often the server was killed, by a wrong clock or behind it.
    pub kills: u64,
    /// Jumps behind which a transfer waited for its target, and had its case.
    pub alarms: u64,
    /// Transfers that waited for a retry when a jump was over.
    pub waited: u64,
    /// The longest that one of them took to end from then on.
    pub longest: Duration,
    /// Transfers that two persons decided.
    pub verdicts: u64,
    /// Transfers by the state in which they ended.
    pub ended: BTreeMap<String, u64>,
}

/// Lets the clock jump this number of times.
///
/// # Errors
/// What stood still, was made or lost, or what stopped the run.
pub fn run(program: &Path, below: &Path, jumps: u64, mut rng: Rng) -> Outcome<Jumped> {
    let folder = below.join("clock");
    std::fs::create_dir_all(&folder).map_err(|fault| format!("{}: {fault}", folder.display()))?;
    let wall = WallClock::compile(&folder)?;
    let mut settings = wall.settings().to_vec();
    settings.extend([
        ("PORTAGE_ENGINE__BACKOFF_CAP_MS", CAP.as_millis().to_string()),
        ("PORTAGE_ALERTS__TARGET_PENDING_SECONDS", OVERDUE.as_secs().to_string()),
    ]);
    let mut services = Services::start(program, folder, &settings)?;
    let load = clients::start(&services, TokenRefused::Repeats, &mut rng)?;
    let mut jumped = Jumped::default();
    let mut ahead = false;
    for seconds in JUMPS.into_iter().cycle() {
        if jumped.jumps == jumps {
            break;
        }
        std::thread::sleep(RIGHT);
        let before = load.sent().len();
        jump(&wall, &mut services, &load, seconds, &mut jumped, &mut rng)?;
        jumped.jumps += 1;
        let opened: Vec<Sent> = load.sent().split_off(before);
        if waits_for_target(&services, &opened)? {
            alarmed(&services, seconds)?;
            jumped.alarms += 1;
        }
        ahead |= case_is_open(&services, "CLOCK")?;
        services.calm();
        retried(&services, &opened, &mut jumped).map_err(|why| {
            format!("{why}: the clock had jumped by {seconds} s, and was right again")
        })?;
    }
    load.over.store(true, Ordering::SeqCst);
    let sent = load.end(services.runtime())?;
    jumped.verdicts = settle(&services, &sent)?;
    jumped.ended = oracle::judge(&services, &sent)?;
    let missing = [
        (!ahead, "a clock that is behind the last write has no case"),
        (jumped.waited == 0, "nothing waited for a retry"),
        (jumped.alarms == 0, "no transfer waited for its target"),
        (!jumped.ended.contains_key("COMMITTED"), "nothing was committed"),
    ];
    match missing.iter().find(|(is, _)| *is) {
        Some((_, what)) if jumps >= 3 => Err(format!("{what}: {jumped:?}")),
        Some(_) | None => Ok(jumped),
    }
}

/// The clock jumps while the ledger of the full form is away, and comes back while it is still away.
#[expect(clippy::too_many_arguments, reason = "the parts of one run")]
fn jump(
    wall: &WallClock,
    services: &mut Services,
    load: &Load,
    seconds: i64,
    jumped: &mut Jumped,
    rng: &mut Rng,
) -> Outcome {
    let [_, spot] = services.hops();
    spot.draw(1, rng.next(), &[Fault::LostRequest]);
    wall.shift(seconds)?;
    load.take_client(services.fresh_client()?);
    std::thread::sleep(Duration::from_millis(300 + rng.below(900)));
    if rng.percent(40) {
        jumped.kills += 1;
        services.kill_and_restart()?;
    }
    wall.shift(0)?;
    load.take_client(services.fresh_client()?);
    std::thread::sleep(Duration::from_millis(rng.below(600)));
    if rng.percent(40) {
        jumped.kills += 1;
        services.kill_and_restart()?;
    }
    load.broken().map_or(Ok(()), Err)
}

/// Whether a transfer waits for its target: after a start while the ledger is away none gets that far.
fn waits_for_target(services: &Services, opened: &[Sent]) -> Outcome<bool> {
    for one in opened {
        let now = services.look(&format!("/transfers/{}", one.id))?;
        if now.get("state").and_then(Value::as_str) == Some("TARGET_PENDING") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A transfer has waited for its target for too long, and the case that says so is open.
fn alarmed(services: &Services, seconds: i64) -> Outcome {
    let mut fault = None;
    let open = clock::until(ALARM, || match case_is_open(services, "TARGET_PENDING") {
        Ok(open) => open.then_some(()),
        Err(why) => {
            fault = Some(why);
            Some(())
        }
    });
    match (fault, open) {
        (Some(why), _) => Err(why),
        (None, Some(())) => Ok(()),
        (None, None) => Err(format!(
            "a ledger is away, and after {ALARM:?} there is no case TARGET_PENDING: the clock had jumped by {seconds} s"
        )),
    }
}

fn case_is_open(services: &Services, kind: &str) -> Outcome<bool> {
    let cases = services.look("/cases?status=open")?;
    let open = cases.get("cases").and_then(Value::as_array).into_iter().flatten();
    Ok(open.into_iter().any(|case| case.get("kind").and_then(Value::as_str) == Some(kind)))
}

/// Whatever was opened before and waits ends soon.
fn retried(services: &Services, opened: &[Sent], jumped: &mut Jumped) -> Outcome {
    let begun = clock::now();
    let mut left: Vec<&Sent> = opened.iter().collect();
    let mut first = true;
    loop {
        let mut open = Vec::new();
        for one in left {
            let now = services.look(&format!("/transfers/{}", one.id))?;
            let text = |field: &str| now.get(field).and_then(Value::as_str).unwrap_or_default();
            // what a kill left without an answer, and the simple form then refuses, waits for persons
            let decided = text("error_class") == "UNANSWERED_BEFORE";
            if !decided && !crate::book::ended(text("state")) {
                open.push((one, now));
            }
        }
        if first {
            jumped.waited += u64::try_from(open.len()).unwrap_or_default();
            first = false;
        }
        let took = begun.elapsed();
        let Some((_, shown)) = open.first() else {
            if took > jumped.longest {
                jumped.longest = took;
            }
            return Ok(());
        };
        if took > CAP * 2 + WORK {
            return Err(format!(
                "{} transfers wait after {took:?}; the first: {shown}",
                open.len()
            ));
        }
        left = open.into_iter().map(|(one, _)| one).collect();
        std::thread::sleep(Duration::from_millis(20));
    }
}
