//! Says, for both stores, where the rows are that operators' actions wrote (`kernel::audit::replay`).

use kernel::audit::replay::ActionTable;

/// Asks for the key and the columns of a table's rows. `text` makes an expression of a column's name whose value is
/// text.
pub(crate) fn sql(table: ActionTable, text: impl Fn(&str) -> String) -> String {
    let (key, rest) = match table {
        ActionTable::Halts => ("halt", ""),
        ActionTable::Halted => ("name", "WHERE name = 'halted'"),
        ActionTable::Approvals => ("approval_id", ""),
        ActionTable::Assets => ("asset_id", ""),
        ActionTable::NumberedAccounts => ("account_number", ""),
        ActionTable::StatusChanges => ("idempotency_key", ""),
        ActionTable::Statuses => {
            ("user_id", "WHERE account_type = 'FUNDING' AND status <> 'ACTIVE'")
        }
    };
    let columns = std::iter::once(&key).chain(table.columns()).map(|column| text(column));
    let columns: Vec<String> = columns.collect();
    // an account has a row for each asset, and one status
    format!("SELECT DISTINCT {} FROM {} {rest}", columns.join(", "), table.name())
}
