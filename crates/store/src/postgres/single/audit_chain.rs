//! Adds rows to the audit chains of external movements and operators' actions. Each statement that
//! inserts such a row is followed at once by [`SingleTransaction::append_to_chain`], which reads the
//! row as the proof will read it; its transaction holds the chains' lock from its beginning.

use super::SingleTransaction;
use crate::audit_chain::{AuditChain, ChainTable};
use crate::postgres::columns::int;
use crate::postgres::error::StoreError;
use crate::postgres::read::audit_chain::{read, sql};
use kernel::audit::proof::StoredEntry;
use kernel::audit::{genesis, link};

impl SingleTransaction<'_> {
    /// Links the row of that number to its chain, as a member of this write's unit.
    pub(crate) async fn append_to_chain(
        &mut self,
        chain: AuditChain,
        at: i64,
    ) -> Result<(), StoreError> {
        let ChainTable { table, number, .. } = chain.table();
        let last = sql(chain, "WHERE entry IS NOT NULL ORDER BY entry DESC LIMIT 1");
        let last = self.row(&last, &[]).await?.map(|row| read(&row)).transpose()?;
        let end = |(_, last): (u64, StoredEntry)| (last.entry.seq.saturating_add(1), last.hash);
        let (seq, prev) = last.map_or_else(|| (0, genesis(chain.id())), end);
        let this = self.row(&sql(chain, "WHERE {number} = $1"), &[&at]).await?;
        let (_, mut stored) = read(&this.ok_or(StoreError::Damaged("an entry without a row"))?)?;
        stored.entry.seq = seq;
        let hash = link(prev, &stored.entry);
        let put = format!(
            "UPDATE {table} SET entry = $2, hash = $3, audit_lane = $4, audit_unit = $5 \
             WHERE {number} = $1"
        );
        let unit = int(self.workspace.numbers.unit);
        let (entry, lane) = (i64::from(seq), self.workspace.numbers.lane);
        self.execute(&put, &[&at, &entry, &hash.as_slice(), &lane, &unit]).await?;
        self.workspace.changes.entries.push((chain.order(), seq, hash));
        Ok(())
    }
}
