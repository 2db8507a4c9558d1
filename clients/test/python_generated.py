"""Runs the Python client that was generated from a server's description: URL TOKEN."""

import sys

from portage_client import AuthenticatedClient
from portage_client.api.transfers import create_transfer, create_transfers, list_transfers
from portage_client.models import CreateTransfer, CreateTransfers

url, token = sys.argv[1:3]
client = AuthenticatedClient(base_url=url, token=token)


def move(cid: str, amount: str = "1") -> CreateTransfer:
    return CreateTransfer(from_="FUNDING", to="SPOT", asset="USDT", amount=amount, cid=cid)


first = create_transfer.sync_detailed(client=client, body=move("gen-py-1"))
again = create_transfer.sync_detailed(client=client, body=move("gen-py-1"))
assert first.parsed.req_id == again.parsed.req_id and again.headers["idempotency-replayed"] == "true"
poor = create_transfer.sync_detailed(client=client, body=move("gen-py-2", "999999"))
assert poor.status_code == 422 and poor.parsed.code == "INSUFFICIENT_BALANCE", poor
every = [move("gen-py-1"), move("gen-py-3", "999999"), move("gen-py-1", "3")]
results = create_transfers.sync(client=client, body=CreateTransfers(transfers=every)).results
assert [one.status for one in results] == [200, 422, 409], results
assert results[0].req_id == first.parsed.req_id and results[1].state == "FAILED", results
page = list_transfers.sync(client=client, limit=100)
assert sum(one.cid == "gen-py-1" for one in page.transfers) == 1
print("ok generated python: create, repeat, refusal, batch, list")
