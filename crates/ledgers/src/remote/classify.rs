//! Classifies the bytes of an answer, for both forms: exact, listed answers count, everything else is
//! unknown (`spec/api.md`, "Remote ledger"; `sources/internal-transfer-v2.md` §5.4).
//!
//! | status | body | means |
//! |---|---|---|
//! | 200 | `success: true`, no `error` | done |
//! | 200, 400 | `error: "<CODE>"`, no `success` | refused for ever |
//! | 404 | of a key: `error: "NOT_FOUND"` | nothing is stored |
//! | 409 | `error: "WRONG_LEDGER"` | it is another ledger, and executed nothing |
//! | 409 | `error: "STALE_HALT"` | unknown: it did nothing now, and was told of a HALT that we do not know |
//! | any other | any other | unknown |
//!
//! In the full form each of them also names ledger, incarnation and highest, and a result its own
//! key and number. In the simple form an answer says by `req_id` and `leg` what it is about;
//! `simple.rs` decides whether an answer without them counts. Pure: nothing here reads, waits or
//! allocates beyond the body.

use super::asset_codes::AssetCodes;
use super::json::Json;
use super::wire;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op, Operation, StoredOutcome};
use kernel::ports::ledger::{Reply, Stored};
use kernel::record::Account;

/// The maximum number of characters of a refusal's code, all of them visible ASCII.
const CODE: usize = 64;
/// The code that a ledger stores under a fenced key.
const FENCED: &str = "FENCED";
/// The cause of a ledger that does not take our token.
pub(crate) const TOKEN_REFUSED: &str = "TOKEN_REFUSED";
/// Hindrances that a ledger may name in the field `unknown`. The engine knows the first one: the
/// ledger holds something else under the key.
const HINDRANCES: [&str; 8] = [
    "CONTRADICTION",
    "BAD_OPERATION",
    "BELOW_HORIZON",
    "OVERFLOW",
    "DISK_FULL",
    "DISK_BROKEN",
    "GONE",
    "NOT_FOUND",
];

/// An answer as it came over the wire, read to its end.
#[derive(Debug, Clone, Copy)]
pub struct HttpReply<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

/// A reply that names its ledger.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) status: u16,
    pub(crate) known: Known,
    pub(crate) body: Json,
}

/// Why a reply does not count.
pub(crate) const fn bad() -> Cause {
    Cause::of("BAD_REPLY")
}

/// Reads what every answer of the full form has, and takes out what says that nothing is known.
///
/// # Errors
/// The cause, where the reply is no answer.
pub(crate) fn named(reply: HttpReply<'_>, most: usize) -> Result<Named, Cause> {
    let status = reply.status;
    if reply.body.len() > most {
        return Err(Cause::of("BODY_TOO_LARGE"));
    }
    let body = Json::read(reply.body);
    if !matches!(status, 200 | 400 | 404 | 409) {
        let said = body.as_ref().and_then(hindrance);
        return Err(said.unwrap_or_else(|| unlisted(status)));
    }
    let body = body.ok_or_else(bad)?;
    let name = |field| body.text(field);
    let known = match (name("ledger"), name("incarnation"), body.whole("highest")) {
        (Some(ledger), Some(incarnation), Some(highest)) => {
            wire::known(ledger, incarnation, highest).ok_or_else(bad)?
        }
        _ => return Err(if status == 200 { bad() } else { unlisted(status) }),
    };
    Ok(Named { status, known, body })
}

pub(crate) fn unlisted(status: u16) -> Cause {
    // the same for every request until a person mends the settings: it has a name of its own
    let class = if matches!(status, 401 | 403) { TOKEN_REFUSED } else { "HTTP_STATUS" };
    Cause::because(class, format!("status {status}"))
}

/// The hindrance that an object names; a word that is not listed is one all the same.
fn hindrance(json: &Json) -> Option<Cause> {
    let word = json.text("unknown")?;
    let listed = HINDRANCES.into_iter().find(|listed| *listed == word);
    Some(listed.map_or(Cause::of("HINDERED"), Cause::of))
}

/// Whether an answer is of the ledger that was asked, and it knows what it had told before we
/// asked.
pub(crate) fn same(asked: Known, is: Known) -> bool {
    (asked.identity, asked.incarnation) == (is.identity, is.incarnation)
        && asked.highest <= is.highest
}

/// That an answer is about this, where it says what it is about: the contract does not ask every
/// ledger to repeat it.
///
/// # Errors
/// It is about something else.
pub(crate) fn about(named: &Named, field: &str, is: &Json) -> Result<(), Cause> {
    if named.body.get(field).is_none_or(|said| said == is) {
        return Ok(());
    }
    Err(Cause::because("BAD_REPLY", format!("the answer is about another `{field}`")))
}

/// Reads an answer to a request that named the ledger.
pub(crate) fn asked<T>(
    known: Known,
    reply: HttpReply<'_>,
    most: usize,
    read: impl FnOnce(&Named) -> Result<T, Cause>,
) -> Reply<T> {
    let named = match named(reply, most) {
        Ok(named) => named,
        Err(cause) => return Reply::NoAnswer(cause),
    };
    let refusal = if named.status == 409 { named.body.text("error") } else { None };
    let stale = refusal == Some(wire::STALE_HALT);
    if named.status == 409 && !stale && refusal != Some("WRONG_LEDGER") {
        return Reply::NoAnswer(unlisted(409));
    }
    // one that is another ledger, and did not say so, is still another
    if (refusal.is_some() && !stale) || !same(known, named.known) {
        return Reply::OtherLedger(named.known);
    }
    if stale {
        return Reply::NoAnswer(stale_halt(&named.body));
    }
    match read(&named) {
        Ok(said) => Reply::Answered(named.known, said),
        Err(cause) => Reply::NoAnswer(cause),
    }
}

/// The ledger was told of a HALT that this process does not know. It did nothing for this request: an earlier one of
/// the same key may have arrived all the same.
fn stale_halt(body: &Json) -> Cause {
    let told = body.whole("halt").map_or_else(String::new, |number| format!(" {number}"));
    Cause::because(
        Cause::HALTED,
        format!("{}: the ledger was told of HALT{told}", wire::STALE_HALT),
    )
}

/// Reads an answer to a request that named no ledger.
pub(crate) fn told<T>(
    reply: HttpReply<'_>,
    most: usize,
    read: impl FnOnce(&Named) -> Result<T, Cause>,
) -> Reply<T> {
    let said = named(reply, most).and_then(|named| {
        if named.status == 200 { Ok(named) } else { Err(unlisted(named.status)) }
    });
    match said.and_then(|named| Ok((named.known, read(&named)?))) {
        Ok((known, said)) => Reply::Answered(known, said),
        Err(cause) => Reply::NoAnswer(cause),
    }
}

/// The object of one key in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BatchReply {
    key: Key,
    said: Result<(u64, StoredOutcome), Cause>,
    terms: Option<(UserId, String, Amount)>,
}

impl BatchReply {
    /// Reads one object; `None` where not even its key can be read.
    fn read(json: &Json, status: u16, highest: u64) -> Option<Self> {
        let key = wire::key(json.text("req_id")?, json.text("leg")?)?;
        let terms = match (json.get("user_id"), json.get("asset"), json.get("amount")) {
            (None, None, None) => Ok(None),
            _ => terms(json).map(Some).ok_or_else(bad),
        };
        let said = match hindrance(json) {
            Some(cause) => Err(cause),
            None => outcome(json, status, key.leg).and_then(|outcome| {
                let seq = json.whole("seq").filter(|seq| *seq > 0 && *seq <= highest);
                Ok((seq.ok_or_else(bad)?, outcome))
            }),
        };
        match terms {
            Ok(terms) => Some(Self { key, said, terms }),
            Err(cause) => Some(Self { key, said: Err(cause), terms: None }),
        }
    }

    /// Whether it speaks of this operation, as far as it says.
    fn fits(&self, op: &Op, asset_codes: &AssetCodes) -> bool {
        let fenced = matches!(&self.said, Ok((_, StoredOutcome::Fenced)));
        let Some((user, asset, amount)) = &self.terms else { return true };
        fenced
            || (Account::User(*user) == op.account
                && asset_codes.asset(asset) == Some(op.asset)
                && *amount == op.amount)
    }

    /// The answer that it is to an operation.
    fn answer(&self, op: &Op, asset_codes: &AssetCodes) -> Answer {
        match &self.said {
            Ok(_) if !self.fits(op, asset_codes) => Answer::Unknown(bad()),
            Ok((seq, StoredOutcome::Done)) => Answer::Done(Receipt::seq(*seq)),
            Ok((seq, StoredOutcome::Rejected(why))) => {
                Answer::Rejected(why.clone(), Receipt::seq(*seq))
            }
            Ok((seq, StoredOutcome::Fenced)) => {
                Answer::Rejected(Evidence::code(FENCED), Receipt::seq(*seq))
            }
            Err(cause) => Answer::Unknown(cause.clone()),
        }
    }

    /// The operation that it is. Without terms it is known by its key and outcome alone.
    fn operation(self, asset_codes: &AssetCodes) -> Result<Operation, Cause> {
        let (seq, outcome) = self.said?;
        let terms = self.terms.filter(|_| outcome != StoredOutcome::Fenced);
        let (user, asset, amount) = match terms {
            // no asset has the number 0, so one that we do not know equals none of ours
            Some((user, asset, amount)) => {
                (user, asset_codes.asset(&asset).unwrap_or(AssetId(0)), amount)
            }
            None => (UserId(0), AssetId(0), Amount::ZERO),
        };
        let op = Op { key: self.key, account: Account::User(user), other: None, asset, amount };
        Ok(Operation { seq, op, outcome })
    }
}

fn terms(json: &Json) -> Option<(UserId, String, Amount)> {
    let amount = wire::amount(json.text("amount")?)?;
    Some((wire::user(json.text("user_id")?)?, json.text("asset")?.to_owned(), amount))
}

/// Exactly one of `success: true` and `error`.
fn outcome(json: &Json, status: u16, leg: Leg) -> Result<StoredOutcome, Cause> {
    match (json.get("success"), json.get("error")) {
        (Some(Json::Flag(true)), None) if status == 200 => Ok(StoredOutcome::Done),
        (None, Some(Json::Text(code))) if matches!(status, 200 | 400) => {
            if !visible(code) {
                Err(bad())
            } else if !leg.fenceable() {
                // whatever hinders a refund, it is not refused for ever: it is tried again
                Err(Cause::because("REFUND_REFUSED", code.as_str()))
            } else if code == FENCED {
                Ok(StoredOutcome::Fenced)
            } else {
                Ok(StoredOutcome::Rejected(Evidence::code(code.clone())))
            }
        }
        _ => Err(bad()),
    }
}

/// True for a code of visible ASCII that is not too long.
fn visible(code: &str) -> bool {
    (1..=CODE).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The answers to operations, one for each, in their order.
pub fn results(
    known: Known,
    ops: &[Op],
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Reply<Vec<Answer>> {
    asked(known, reply, wire::MANY, |named| {
        let list = named.body.list("results").ok_or_else(bad)?;
        let read = |json| BatchReply::read(json, named.status, named.known.highest).ok_or_else(bad);
        let items: Vec<BatchReply> = list.iter().map(read).collect::<Result<_, _>>()?;
        // a result that was not asked for: this is the answer to something else
        if items.iter().any(|item| !ops.iter().any(|op| op.key == item.key)) {
            return Err(bad());
        }
        let ordered =
            items.len() == ops.len() && items.iter().zip(ops).all(|(item, op)| item.key == op.key);
        let answer = |(n, op): (usize, &Op)| {
            let mut of_key = items.iter().filter(|item| item.key == op.key);
            let one = if ordered { items.get(n) } else { of_key.next() };
            match one {
                // in another order, two results of one key must say the same
                Some(item) if ordered || of_key.all(|other| other == item) => {
                    item.answer(op, asset_codes)
                }
                Some(_) | None => Answer::Unknown(bad()),
            }
        };
        Ok(ops.iter().enumerate().map(answer).collect())
    })
}

/// Reads the answer to a query: the operation stored under a key.
pub fn stored(
    known: Known,
    key: Key,
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Reply<Stored> {
    asked(known, reply, wire::ONE, |named| {
        if named.status == 404 {
            let nothing = named.body.text("error") == Some("NOT_FOUND");
            if !nothing {
                return Err(unlisted(404));
            }
            about(named, "req_id", &Json::Text(key.id.to_string()))?;
            about(named, "leg", &Json::Text(key.leg.name().to_owned()))?;
            return Ok(Stored::Nothing);
        }
        found(key, asset_codes, named)
    })
}

fn found(key: Key, asset_codes: &AssetCodes, named: &Named) -> Result<Stored, Cause> {
    let item = BatchReply::read(&named.body, named.status, named.known.highest);
    let item = item.filter(|item| item.key == key).ok_or_else(bad)?;
    item.operation(asset_codes).map(Stored::Found)
}

/// The result of a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fenced {
    /// This is stored under the key.
    Stored(Stored),
    /// It is fenced, and its number must be asked for.
    Unnumbered,
}

/// Reads the answer to a fence: the operation stored under its key.
pub fn fenced(
    known: Known,
    key: Key,
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Reply<Fenced> {
    asked(known, reply, wire::ONE, |named| {
        let fenced = named.body.get("fenced");
        let other = ["success", "error", "unknown"].iter().any(|n| named.body.get(n).is_some());
        match fenced {
            Some(Json::Flag(true)) if named.status == 200 && !other => {
                let name = |field| named.body.get(field).is_some();
                if name("req_id") || name("leg") || name("seq") {
                    tombstone(key, named).map(Fenced::Stored)
                } else {
                    Ok(Fenced::Unnumbered)
                }
            }
            Some(_) => Err(bad()),
            None => found(key, asset_codes, named).map(Fenced::Stored),
        }
    })
}

/// A fence that says which key it is of.
fn tombstone(key: Key, named: &Named) -> Result<Stored, Cause> {
    let body = &named.body;
    let text = |field| body.text(field).unwrap_or_default();
    let seq = body.whole("seq").filter(|seq| *seq > 0 && *seq <= named.known.highest);
    let seq = seq.filter(|_| wire::key(text("req_id"), text("leg")) == Some(key));
    let account = Account::User(UserId(0));
    let op = Op { key, account, other: None, asset: AssetId(0), amount: Amount::ZERO };
    Ok(Stored::Found(Operation { seq: seq.ok_or_else(bad)?, op, outcome: StoredOutcome::Fenced }))
}

/// Operations above a number, in the order of their numbers. A listing with a hole in its form is
/// none: what matches operations must see all of them.
pub fn operations(
    after: u64,
    limit: usize,
    asset_codes: &AssetCodes,
    reply: HttpReply<'_>,
) -> Reply<Vec<Operation>> {
    told(reply, wire::MANY, |named| {
        let list = named.body.list("operations").ok_or_else(bad)?;
        // the list above another number may leave out what was asked for
        about(named, "after", &Json::Whole(after))?;
        let (mut found, mut last) = (Vec::with_capacity(list.len()), after);
        for json in list {
            let item = BatchReply::read(json, named.status, named.known.highest).ok_or_else(bad)?;
            let whole = item.terms.is_some() || matches!(item.said, Ok((_, StoredOutcome::Fenced)));
            let operation = item.operation(asset_codes)?;
            if !whole || operation.seq <= last {
                return Err(bad());
            }
            last = operation.seq;
            found.push(operation);
        }
        if found.len() > limit { Err(bad()) } else { Ok(found) }
    })
}

/// The content of one answer of the simple form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Simple {
    Done,
    /// An error in these words. By itself it proves nothing.
    Refused(String),
}

/// One answer of the simple form, and whether it says what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleReply {
    pub simple: Simple,
    /// It repeats `req_id` and `leg`: it is about this operation. One that does not may be the
    /// answer of whatever stands before the service, to anything.
    pub named: bool,
    /// It has the mark of what is stored: `stored: true`, or a `seq`. It counts in an answer of the query.
    pub stored: bool,
}

/// The longest error of the simple form, in bytes: it is a sentence there.
const SENTENCE: usize = 256;

/// True for what the simple form may say as an error.
pub fn may_refuse(words: &str) -> bool {
    (1..=SENTENCE).contains(&words.len()) && !words.chars().any(char::is_control)
}

/// The whole body is one result of `id`.
///
/// # Errors
/// Why nothing is known: it is no such body, or names another operation.
pub fn simple(id: &str, leg: Leg, reply: HttpReply<'_>) -> Result<SimpleReply, Cause> {
    if reply.body.len() > wire::ONE {
        return Err(Cause::of("BODY_TOO_LARGE"));
    }
    if !matches!(reply.status, 200 | 400) {
        return Err(unlisted(reply.status));
    }
    let body = Json::read(reply.body).ok_or_else(bad)?;
    let names = |field, own: &str| match body.get(field) {
        None => Ok(false),
        Some(Json::Text(said)) if said == own => Ok(true),
        Some(_) => Err(bad()),
    };
    // both are read, so that neither may name another one
    let (of_id, of_leg) = (names("req_id", id)?, names("leg", leg.name())?);
    let simple = match (body.get("success"), body.get("error")) {
        (Some(Json::Flag(true)), None) if reply.status == 200 => Simple::Done,
        (None, Some(Json::Text(words))) if may_refuse(words) => Simple::Refused(words.clone()),
        _ => return Err(bad()),
    };
    let stored = body.get("stored") == Some(&Json::Flag(true))
        || body.whole("seq").is_some_and(|number| number > 0);
    Ok(SimpleReply { simple, named: of_id && of_leg, stored })
}

/// Whether an answer of the simple form's query says explicitly that the operation is not
/// done: a 200, 400 or 404 without `success: true`. Silence and trouble deny nothing.
pub fn denies(reply: HttpReply<'_>) -> bool {
    let body = Json::read(reply.body);
    let says_done = body.is_some_and(|body| body.get("success") == Some(&Json::Flag(true)));
    matches!(reply.status, 200 | 400 | 404) && reply.body.len() <= wire::ONE && !says_done
}
