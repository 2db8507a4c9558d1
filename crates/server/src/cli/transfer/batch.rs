//! `portage transfer batch`: creates the transfers of a file, in requests of up to 500.

use super::until::{TRIES, pause};
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, user_number};
use crate::http::middleware::{body, caller};
use crate::json;
use client::types::{BatchResult, CreateTransfer};
use client::{Client, Conclusion, Error, state};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Make the transfers of a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer batch payouts.jsonl --user 4001\n\n\
    Each line is a JSON object: from, to, asset, amount, cid (required), and reference, metadata, \
    user_id where wanted. Every line is checked before the first one is sent. The same file may be \
    sent again: what was made is never made twice. Ends with 0 when all are COMMITTED, 75 where one \
    is under way, unknown, or was turned away for now, 64 where a line does not fit, else 65.")]
pub(in crate::cli) struct BatchArgs {
    /// The file; `-` reads what comes in.
    file: PathBuf,
    /// Whose money, where no token is given.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON, one line for each.
    #[arg(long)]
    json: bool,
}

/// Sent at once: half of what a batch may hold, so that long words fit into its mebibyte too.
const CHUNK: usize = 500;
/// The same limit in bytes, as written.
const BYTES: usize = 900_000;

/// The result of one line of the file.
#[derive(Debug, Serialize)]
struct LineResult {
    line: usize,
    cid: String,
    /// A state, or a code, or UNKNOWN, or NOT_SENT.
    outcome: String,
    req_id: Option<String>,
    replayed: bool,
    message: String,
    /// It was refused for now: the service is halted, takes nothing in, or was asked too often.
    #[serde(skip)]
    turned_away: bool,
}

pub(super) async fn run(global: &Global, args: &BatchArgs) -> Result<(), Fault> {
    let lines = read(&args.file)?;
    let mut all = Vec::with_capacity(lines.len());
    let mut stopped: Option<Fault> = None;
    let mut client = None;
    check_users(client_of(global, args, &mut client)?, &args.file, &lines).await?;
    for chunk in chunks(&lines) {
        let told = match &stopped {
            None => match client_of(global, args, &mut client) {
                Ok(client) => sent(client, chunk).await,
                Err(fault) => Err(fault),
            },
            Some(fault) => Ok(unsent(chunk, &fault.sentence)),
        };
        let told = match told {
            Ok(told) => told,
            Err(fault) if all.is_empty() => return Err(fault),
            // what went before was sent, and is told of
            Err(fault) => {
                let told = unsent(chunk, &fault.sentence);
                stopped = Some(fault);
                told
            }
        };
        if args.json {
            for one in &told {
                let line = serde_json::to_string(one)
                    .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
                output::print(&line)?;
            }
        }
        all.extend(told);
    }
    if !args.json {
        output::print(&table(&all))?;
    }
    ended(&all, stopped.as_ref())
}

/// The client of the next request.
fn client_of<'c>(
    global: &Global,
    args: &BatchArgs,
    client: &'c mut Option<Client>,
) -> Result<&'c Client, Fault> {
    // a minted token lives for a minute, a long file may take longer; one that was brought is read once
    let known = client.take().filter(|_| args.remote.has_token());
    Ok(client.insert(match known {
        Some(known) => known,
        None => args.remote.client(global, Minted::User(args.user), Scope::TransfersCreate)?,
    }))
}

/// Has the server look at whose money the lines move, before any of them is sent: one of another user fails its whole
/// request. Of a token that may act for two users every other one fits, so three lines show all.
async fn check_users(
    client: &Client,
    file: &Path,
    lines: &[(usize, CreateTransfer)],
) -> Result<(), Fault> {
    let mut shown: Vec<&(usize, CreateTransfer)> = Vec::new();
    for line in lines {
        let named = shown.iter().filter(|(_, one)| one.user_id.is_some()).count();
        let is_new = shown.iter().all(|(_, one)| one.user_id != line.1.user_id);
        if is_new && (named < 2 || line.1.user_id.is_none()) {
            shown.push(line);
        }
    }
    if shown.iter().all(|(_, one)| one.user_id.is_none()) {
        return Ok(());
    }
    for (number, new) in shown {
        match client.dry_run(new).await {
            Err(error @ Error::Refused { status: 400 | 401 | 403, .. }) => {
                let fault = Fault::from(error);
                let sentence = unsent_line(file, *number, &fault.sentence).sentence;
                return Err(Fault { sentence, ..fault });
            }
            Err(error @ (Error::Unreachable(_) | Error::Unfit(_))) => return Err(error.into()),
            // what else it says is of the line alone
            Ok(_) | Err(Error::Refused { .. } | Error::Unknown(_)) => {}
        }
    }
    Ok(())
}

/// Every line that is not empty, with its number.
fn read(file: &Path) -> Result<Vec<(usize, CreateTransfer)>, Fault> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin().lock())?
    } else {
        std::fs::read_to_string(file).map_err(|fault| {
            Fault::new(Exit::NoInput, format!("{}: cannot be read: {fault}", file.display()))
        })?
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    // lines of one request come in no order: which one of two had the key would be chance
    let mut keys: BTreeMap<String, (usize, CreateTransfer)> = BTreeMap::new();
    let mut all = Vec::new();
    for (number, text) in lines {
        let (cid, new) = create_of(text).map_err(|why| unsent_line(file, number, &why))?;
        let (first, same) = keys.entry(cid).or_insert_with(|| (number, new.clone()));
        if *same != new {
            let why = format!("`cid`: line {first} has the same for another transfer");
            return Err(unsent_line(file, number, &why));
        }
        all.push((number, new));
    }
    Ok(all)
}

/// A line that keeps the whole file from being sent.
fn unsent_line(file: &Path, number: usize, why: &str) -> Fault {
    let sentence = format!("{}:{number}: {why}; nothing was sent", file.display());
    Fault::new(Exit::Usage, sentence)
}

/// The create of a line with its key, held to what the server asks of an item before it looks at any of them: one that
/// does not fit would fail the whole request in which it is sent.
fn create_of(text: &str) -> Result<(String, CreateTransfer), String> {
    if text.len() > body::MOST {
        return Err(format!("above {} bytes", body::MOST));
    }
    if !text.trim_start().starts_with('{') {
        return Err("a line is a JSON object".to_owned());
    }
    // the line within the file is named before it
    let within = |why: String| why.replace(" line 1 column ", " column ");
    let unread = |_| within(body::fault::<CreateTransfer>(text.as_bytes()));
    let mut new: CreateTransfer = serde_json::from_str(text).map_err(unread)?;
    json::plain(text.as_bytes()).map_err(|fault| within(fault.to_string()))?;
    let cid = new.cid.clone().ok_or("missing field `cid`")?;
    body::visible("cid", &cid, body::KEY).map_err(|refusal| refusal.sentence)?;
    if let Some(id) = new.user_id {
        caller::user(id).map_err(|refusal| refusal.sentence)?;
    }
    new.metadata = new.metadata.filter(|words| !words.is_empty());
    Ok((cid, new))
}

/// Pieces that fit into one request each.
fn chunks(lines: &[(usize, CreateTransfer)]) -> Vec<&[(usize, CreateTransfer)]> {
    let (mut pieces, mut rest, mut bytes, mut count) = (Vec::new(), lines, 0, 0);
    for (_, new) in lines {
        let size = serde_json::to_string(new).map_or(BYTES, |text| text.len() + 1);
        if count > 0 && (count == CHUNK || bytes + size > BYTES) {
            let (piece, others) = rest.split_at(count);
            pieces.push(piece);
            (rest, bytes, count) = (others, 0, 0);
        }
        bytes += size;
        count += 1;
    }
    pieces.extend(Some(rest).filter(|rest| !rest.is_empty()));
    pieces
}

/// Sends a piece until nothing in it is unknown, but not for ever. Once a try was unclear, a later
/// one that was not sent, or turned away, says nothing of it.
async fn sent(
    client: &Client,
    piece: &[(usize, CreateTransfer)],
) -> Result<Vec<LineResult>, Fault> {
    let all: Vec<CreateTransfer> = piece.iter().map(|(_, new)| new.clone()).collect();
    // filled once a try was unclear; what an earlier one told of stays told
    let mut last: Vec<LineResult> = Vec::new();
    for tries in 1..=TRIES {
        match client.create_many(&all).await {
            Ok(results) => {
                let lines = piece.iter().zip(&results);
                last = lines.map(|((line, new), result)| told(*line, new, result)).collect();
            }
            Err(_) if !last.is_empty() => {}
            Err(fault) if fault.concludes() == Conclusion::Unknown => {
                let why = fault.to_string();
                let unknown =
                    |(line, new): &(usize, CreateTransfer)| unknown_line(*line, new, &why);
                last = piece.iter().map(unknown).collect();
            }
            Err(fault) => return Err(fault.into()),
        }
        if last.iter().all(|one| one.outcome != UNKNOWN) {
            break;
        }
        if tries < TRIES {
            pause(tries).await;
        }
    }
    Ok(last)
}

const UNKNOWN: &str = "UNKNOWN";
const NOT_SENT: &str = "NOT_SENT";

fn unknown_line(line: usize, new: &CreateTransfer, why: &str) -> LineResult {
    let (cid, outcome) = (new.cid.clone().unwrap_or_default(), UNKNOWN.to_owned());
    let message = why.to_owned();
    LineResult { line, cid, outcome, req_id: None, replayed: false, message, turned_away: false }
}

/// Lines of which nothing was opened, because the way to the server ended before.
fn unsent(piece: &[(usize, CreateTransfer)], why: &str) -> Vec<LineResult> {
    let one = |(line, new): &(usize, CreateTransfer)| LineResult {
        outcome: NOT_SENT.to_owned(),
        ..unknown_line(*line, new, why)
    };
    piece.iter().map(one).collect()
}

fn told(line: usize, new: &CreateTransfer, result: &BatchResult) -> LineResult {
    let replayed = result.replayed;
    let cid = new.cid.clone().unwrap_or_default();
    match client::created(result) {
        Ok(created) => {
            let t = created.transfer;
            let req_id = Some(t.req_id);
            let (outcome, message) = (t.state, t.message);
            LineResult { line, cid, outcome, req_id, replayed, message, turned_away: false }
        }
        Err(fault) if fault.concludes() == Conclusion::Unknown => {
            unknown_line(line, new, &fault.to_string())
        }
        Err(Error::Refused { status, code, sentence, .. }) => {
            let turned_away = matches!(status, 429 | 503);
            let (outcome, req_id, message) = (code, None, sentence);
            LineResult { line, cid, outcome, req_id, replayed, message, turned_away }
        }
        Err(other) => unknown_line(line, new, &other.to_string()),
    }
}

fn table(all: &[LineResult]) -> String {
    let row = |one: &LineResult| {
        [
            one.line.to_string(),
            one.cid.clone(),
            one.outcome.clone(),
            one.req_id.clone().unwrap_or_default(),
            if one.replayed { "yes".to_owned() } else { String::new() },
        ]
    };
    let titles = [">line", "cid", "outcome", "req_id", "replayed"];
    output::table(titles, all.iter().map(row).collect())
}

/// How the command ends. `stopped`: the fault that ended the way to the server before all lines were sent.
fn ended(all: &[LineResult], stopped: Option<&Fault>) -> Result<(), Fault> {
    let count = |outcome: &str| all.iter().filter(|one| one.outcome == outcome).count();
    let (done, unsent) = (count(state::PAID), count(NOT_SENT));
    let open = count(state::PENDING) + count(UNKNOWN);
    let later = all.iter().filter(|one| one.turned_away).count();
    let said = format!("{done} of {} are COMMITTED", all.len());
    let passes = |fault: &&Fault| matches!(fault.exit, Exit::TempFail | Exit::Unavailable);
    if let Some(fault) = stopped.filter(|fault| !passes(fault)) {
        let sentence = format!("{said}, {unsent} were not sent: {}", fault.sentence);
        return Err(Fault { sentence, ..fault.clone() });
    }
    match (open + unsent + later, all.len() - done) {
        (_, 0) => Ok(()),
        (0, _) => Err(Fault::new(Exit::Data, said)),
        _ => {
            let left = format!(
                "{open} are under way or unknown, {later} were turned away for now, {unsent} were not sent"
            );
            Err(Fault::new(Exit::TempFail, format!("{said}, {left}; send the same file again")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, CHUNK, chunks, read};

    /// Turns red where a key that two different lines have is sent: one of them would be paid by chance.
    #[test]
    fn two_lines_of_one_key_are_one_transfer() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lines");
        let line = |cid: &str, amount: &str| {
            format!(
                r#"{{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"{amount}","cid":"{cid}"}}"#
            )
        };
        let of = |lines: [String; 3]| {
            std::fs::write(&file, lines.join("\n")).unwrap();
            read(&file)
        };
        assert_eq!(of([line("a", "1"), line("b", "1"), line("a", "1")]).unwrap().len(), 3);
        let fault = of([line("a", "1"), line("b", "1"), line("a", "2")]).unwrap_err();
        assert!(fault.sentence.contains(":3: `cid`: line 1 has the same"), "{fault:?}");
        assert!(fault.sentence.ends_with("nothing was sent"), "{fault:?}");
    }

    #[test]
    fn pieces_hold_everything_once_and_fit() {
        let new = client::new_transfer("FUNDING", "SPOT", "USDT", "1");
        for (count, words) in [(0, 0), (1, 0), (CHUNK, 0), (CHUNK + 1, 0), (1300, 0), (700, 8)] {
            let mut one = new.clone();
            for n in 0..words {
                one.metadata.get_or_insert_default().insert(n.to_string(), "é".repeat(128));
            }
            let lines: Vec<_> = (1..=count).map(|n| (n, one.clone())).collect();
            let pieces = chunks(&lines);
            assert_eq!(pieces.concat(), lines);
            for piece in pieces {
                let all: Vec<_> = piece.iter().map(|(_, new)| new).collect();
                let bytes = serde_json::to_string(&all).unwrap().len();
                assert!(!piece.is_empty() && piece.len() <= CHUNK && bytes <= BYTES + 2, "{bytes}");
            }
        }
    }
}
