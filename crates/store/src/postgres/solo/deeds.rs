//! Adding to the chains of external movements and operators' actions. Whoever inserts a row calls
//! [`Alone::deed`] right after it, which reads it as the proof will; its transaction holds the chains'
//! lock from its beginning.

use super::super::deeds::{read, sql};
use super::super::fault::Fault;
use super::super::text::int;
use super::Alone;
use crate::deeds::{Deeds, Shape};
use kernel::audit::proof::Stored;
use kernel::audit::{genesis, link};

impl Alone<'_> {
    /// Links the row of that number to its chain, as a member of this write's unit.
    pub(super) async fn deed(&mut self, chain: Deeds, at: i64) -> Result<(), Fault> {
        let Shape { table, number, .. } = chain.shape();
        let last = sql(chain, "WHERE entry IS NOT NULL ORDER BY entry DESC LIMIT 1");
        let last = self.row(&last, &[]).await?.map(|row| read(&row)).transpose()?;
        let end = |(_, last): (u64, Stored)| (last.entry.seq.saturating_add(1), last.hash);
        let (seq, prev) = last.map_or_else(|| (0, genesis(chain.id())), end);
        let this = self.row(&sql(chain, "WHERE {number} = $1"), &[&at]).await?;
        let (_, mut stored) = read(&this.ok_or(Fault::Damaged("a deed without a row"))?)?;
        stored.entry.seq = seq;
        let hash = link(prev, &stored.entry);
        let put = format!(
            "UPDATE {table} SET entry = $2, hash = $3, audit_lane = $4, audit_unit = $5 \
             WHERE {number} = $1"
        );
        let unit = int(self.board.numbers.unit);
        let (entry, lane) = (i64::from(seq), self.board.numbers.lane);
        self.execute(&put, &[&at, &entry, &hash.as_slice(), &lane, &unit]).await?;
        self.board.changes.entries.push((chain.order(), seq, hash));
        Ok(())
    }
}
