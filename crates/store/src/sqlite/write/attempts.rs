//! Attempts on chains, as rows.

use super::batch::WriteBatch;
use crate::sqlite::columns::{self, int, most, uint};
use kernel::attempt::{Attempt, AttemptId, Form, Purpose};
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, Millis};
use rusqlite::{Connection, Row, params};

pub(crate) fn name(id: AttemptId) -> String {
    format!("{:032x}", id.0)
}

impl WriteBatch<'_> {
    pub(crate) fn put_attempt(&self, attempt: &Attempt) -> rusqlite::Result<()> {
        let table = self.flows.table(attempt.flow);
        let members: Vec<_> = attempt.members.iter().map(|member| member.id.to_string()).collect();
        let sql = "INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
                   ON CONFLICT (attempt_id) DO UPDATE SET version = ?2, state = ?5, due_at = ?9";
        self.db.prepare_cached(sql)?.execute(params![
            name(attempt.id),
            attempt.version,
            attempt.chain.0,
            table.flow,
            table.state(attempt.state).code,
            &*attempt.lane,
            int(attempt.lock),
            members.join(","),
            attempt.due_at.map(int),
        ])?;
        let stored = self.forms(attempt.id)?;
        for (n, form) in (0_i64..).zip(&attempt.forms).skip(usize::try_from(stored).unwrap_or(0)) {
            self.put_form(attempt.id, n, form)?;
        }
        Ok(())
    }

    /// One more form; the attempt's version goes up with it.
    pub(crate) fn add_form(&self, id: AttemptId, form: &Form) -> rusqlite::Result<()> {
        self.put_form(id, self.forms(id)?, form)?;
        let sql = "UPDATE attempts SET version = version + 1 WHERE attempt_id = ?";
        self.db.prepare_cached(sql)?.execute([name(id)])?;
        Ok(())
    }

    fn forms(&self, id: AttemptId) -> rusqlite::Result<i64> {
        let sql = "SELECT count(*) FROM attempt_forms WHERE attempt_id = ?";
        self.db.prepare_cached(sql)?.query_row([name(id)], |row| row.get(0))
    }

    fn put_form(&self, id: AttemptId, n: i64, form: &Form) -> rusqlite::Result<()> {
        let purpose = match form.purpose {
            Purpose::Pay => "PAY",
            Purpose::Void => "VOID",
        };
        let sql = "INSERT INTO attempt_forms VALUES (?, ?, ?, ?, ?, ?, ?)";
        let (bytes, expires) = (&*form.bytes, int(form.expires));
        let row = params![name(id), n, purpose, form.hash, bytes, form.repeatable, expires];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}

/// Attempts of these flows whose time has come, with their members as they stand.
pub(crate) fn due(
    db: &Connection,
    flows: &Flows,
    (now, names): (Millis, &str),
    limit: usize,
) -> rusqlite::Result<Vec<Attempt>> {
    let sql = format!(
        "SELECT attempt_id, version, chain, flow, state, lane, lock, members, due_at \
         FROM attempts WHERE due_at <= ? AND flow IN ({names}) LIMIT ?"
    );
    let mut ask = db.prepare_cached(&sql)?;
    ask.query_map(params![int(now), most(limit)], |row| attempt(db, flows, row))?.collect()
}

fn attempt(db: &Connection, flows: &Flows, row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let id = u128::from_str_radix(row.get_ref(0)?.as_str()?, 16);
    let id = AttemptId(id.map_err(|_| columns::damaged(0, "not an attempt's id"))?);
    let flow = flows.named(row.get_ref(3)?.as_str()?);
    let flow = flow.ok_or_else(|| columns::damaged(3, "not a flow of ours"))?;
    let state = flows.table(flow).coded(row.get(4)?);
    let members = row.get_ref(7)?.as_str()?.split(',').filter(|id| !id.is_empty());
    let ids = members.map(|id| columns::read_id(7, id)).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Attempt {
        id,
        chain: ChainId(row.get(2)?),
        flow,
        state: state.ok_or_else(|| columns::damaged(4, "not a state of the flow"))?,
        version: row.get(1)?,
        lane: row.get_ref(5)?.as_str()?.into(),
        lock: uint(row.get(6)?),
        members: crate::sqlite::read::transfers::get(db, flows, &ids)?.into(),
        forms: forms(db, id)?,
        due_at: row.get::<_, Option<i64>>(8)?.map(uint),
    })
}

fn forms(db: &Connection, id: AttemptId) -> rusqlite::Result<Vec<Form>> {
    let sql = "SELECT purpose, hash, bytes, repeatable, expires FROM attempt_forms \
               WHERE attempt_id = ? ORDER BY n";
    let read = |row: &Row<'_>| {
        Ok(Form {
            purpose: if row.get_ref(0)?.as_str()? == "PAY" { Purpose::Pay } else { Purpose::Void },
            hash: row.get(1)?,
            bytes: row.get::<_, Vec<u8>>(2)?.into(),
            repeatable: row.get(3)?,
            expires: uint(row.get(4)?),
        })
    };
    db.prepare_cached(sql)?.query_map([name(id)], read)?.collect()
}
