/** Bodies of requests and answers, named as in the API. A newer server may add fields.
 *
 * Amounts are strings in the asset's unit (of the relay: in base units). User ids are strings: a number
 * above 2^53 would become another user's.
 */

/** A transfer between two accounts of one user. */
export interface NewTransfer {
  from: string;
  to: string;
  asset: string;
  amount: string;
  /** With `transfers:any`: for whom. */
  user_id?: string | undefined;
  reference?: string | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
  /** The key, in a batch. */
  cid?: string | undefined;
}

/** One step of a transfer. */
export interface HistoryEntry {
  seq: number;
  at: string;
  from?: string | null;
  to: string;
  event: string;
  detail?: string | null;
}

/** A transfer between two accounts of one user, as an answer or a list shows it. */
export interface Transfer {
  transfer_id: number;
  req_id: string;
  from: string;
  to: string;
  asset: string;
  amount: string;
  state: string;
  message: string;
  cid?: string | null;
  reference?: string | null;
  metadata: Record<string, string>;
  created_at: string;
  updated_at: string;
}

/** A transfer with its history. */
export interface TransferStory extends Transfer {
  retry_count: number;
  error?: string | null;
  history: HistoryEntry[];
}

/** A page, newest first; `next` is the `cursor` of the page after it. */
export interface Page<T> {
  transfers: T[];
  next?: string | null;
}

/** A transfer between two numbered accounts. */
export interface NewAccountTransfer {
  fromAccountNumber: string;
  toAccountNumber: string;
  amount: string;
  currency: string;
  description?: string | undefined;
}

/** An account transfer that is durable; it goes on by itself. */
export interface OpenedAccountTransfer {
  transferId: string;
  status: string;
  createdAt: string;
}

/** An account transfer; a list leaves its history out. */
export interface AccountTransfer extends OpenedAccountTransfer {
  fromAccountNumber: string;
  toAccountNumber: string;
  amount: string;
  currency: string;
  message: string;
  updatedAt: string;
  description?: string | null;
  reason?: string | null;
  history?: HistoryEntry[];
}

/** A payment from the relay's account on NEAR, in base units of the token. */
export interface NewRelayTransfer {
  receiver_id: string;
  amount: string;
}

/** A payment that is durable; it goes on by itself. Its `transfer_id` is its key; operators know it by `req_id`. */
export interface OpenedRelayTransfer extends NewRelayTransfer {
  transfer_id: string;
  req_id: string;
  status: string;
  created_at: string;
  tx_hash?: string | null;
  completed_at?: string | null;
}

/** One event of a payment; an `ERROR` has the fields about what failed and is tried again. */
export interface RelayEvent {
  time: string;
  event: string;
  tx_hash?: string | null;
  error_type?: string | null;
  message?: string | null;
  retry_count?: number | null;
  will_retry?: boolean | null;
}

/** A payment with its events. */
export interface RelayTransfer extends OpenedRelayTransfer {
  updated_at: string;
  retry_count: number;
  error_message?: string | null;
  events: RelayEvent[];
}

/** One asset of one account. */
export interface Balance {
  account: string;
  status: string;
  number?: string | null;
  asset?: string | null;
  available?: string | null;
  frozen?: string | null;
  in_flight?: string | null;
}

/** What a list is narrowed by. */
export type Filters = Readonly<Record<string, string | number | undefined>>;
