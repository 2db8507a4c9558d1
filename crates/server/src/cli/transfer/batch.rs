//! `portage transfer batch`: creates the transfers of a file, in requests of up to 500.

use super::until::{TRIES, pause};
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, user_number};
use api::user_id::UserIdText;
use client::types::{BatchResult, CreateTransfer};
use client::{Client, Conclusion, Error, state};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Make the transfers of a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer batch payouts.jsonl --user 4001\n\n\
    Each line is a JSON object: from, to, asset, amount, cid (required), and reference, metadata, \
    user_id where wanted. The same file may be sent again: what was made is never made twice. Ends \
    with 0 when all are COMMITTED, 75 where one is under way or unknown, else 65.")]
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

/// A line of the file: a create whose key is required. What else its words have to be the server says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    from: String,
    to: String,
    asset: String,
    amount: String,
    cid: String,
    user_id: Option<UserIdText>,
    reference: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl From<Line> for CreateTransfer {
    fn from(line: Line) -> Self {
        let Line { from, to, asset, amount, cid, user_id, reference, metadata } = line;
        let metadata = Some(metadata).filter(|words| !words.is_empty());
        Self { from, to, asset, amount, cid: Some(cid), user_id, reference, metadata }
    }
}

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
}

pub(super) async fn run(global: &Global, args: &BatchArgs) -> Result<(), Fault> {
    let lines = read(&args.file)?;
    let mut all = Vec::with_capacity(lines.len());
    let mut stopped: Option<String> = None;
    let mut client = None;
    for chunk in chunks(&lines) {
        let told = match &stopped {
            None => piece(global, args, &mut client, chunk).await,
            Some(why) => Ok(unsent(chunk, why)),
        };
        let told = match told {
            Ok(told) => told,
            Err(fault) if all.is_empty() => return Err(fault),
            // what went before was sent, and is told of
            Err(fault) => {
                let told = unsent(chunk, &fault.sentence);
                stopped = Some(fault.sentence);
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
    ended(&all)
}

/// Sends one request's share of the file's lines.
async fn piece(
    global: &Global,
    args: &BatchArgs,
    client: &mut Option<Client>,
    chunk: &[(usize, CreateTransfer)],
) -> Result<Vec<LineResult>, Fault> {
    // a minted token lives for a minute, a long file may take longer; one that was brought is read once
    let known = client.take().filter(|_| args.remote.has_token());
    let client = client.insert(match known {
        Some(known) => known,
        None => args.remote.client(global, Minted::User(args.user), Scope::TransfersCreate)?,
    });
    sent(client, chunk).await
}

/// Every line that is not empty, with its number.
fn read(file: &PathBuf) -> Result<Vec<(usize, CreateTransfer)>, Fault> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin().lock())?
    } else {
        std::fs::read_to_string(file).map_err(|fault| {
            Fault::new(Exit::NoInput, format!("{}: cannot be read: {fault}", file.display()))
        })?
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let unsent = |number: usize, why: String| {
        let sentence = format!("{}:{number}: {why}; nothing was sent", file.display());
        Fault::new(Exit::Data, sentence)
    };
    // lines of one request come in no order: which one of two had the key would be chance
    let mut keys: BTreeMap<String, (usize, Line)> = BTreeMap::new();
    let mut all = Vec::new();
    for (number, text) in lines {
        let line: Line =
            serde_json::from_str(text).map_err(|fault| unsent(number, fault.to_string()))?;
        let (first, same) = keys.entry(line.cid.clone()).or_insert_with(|| (number, line.clone()));
        if *same != line {
            return Err(unsent(
                number,
                format!("`cid`: line {first} has the same for another transfer"),
            ));
        }
        all.push((number, line.into()));
    }
    Ok(all)
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
    LineResult { line, cid, outcome, req_id: None, replayed: false, message: why.to_owned() }
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
            LineResult { line, cid, outcome: t.state, req_id, replayed, message: t.message }
        }
        Err(fault) if fault.concludes() == Conclusion::Unknown => {
            unknown_line(line, new, &fault.to_string())
        }
        Err(Error::Refused { code, sentence, .. }) => {
            LineResult { line, cid, outcome: code, req_id: None, replayed, message: sentence }
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

fn ended(all: &[LineResult]) -> Result<(), Fault> {
    let count = |outcome: &str| all.iter().filter(|one| one.outcome == outcome).count();
    let (done, unsent) = (count(state::PAID), count(NOT_SENT));
    let open = count(state::PENDING) + count(UNKNOWN);
    let said = format!("{done} of {} are COMMITTED", all.len());
    match (open + unsent, all.len() - done) {
        (_, 0) => Ok(()),
        (0, _) => Err(Fault::new(Exit::Data, said)),
        _ => {
            let left = format!("{open} are under way or unknown, {unsent} were not sent");
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
