//! The JSON-RPC of a node, behind the front of all chains: the methods that an adapter of swaps calls, and no others.
//!
//! `request` reads what is asked, the other modules answer it in the types of the node's own release, and the endpoint's
//! script decides what of that the caller gets to see.

mod accounts;
mod blocks;
mod control;
mod encode;
mod error;
mod history;
mod request;
mod send;

use super::{
    chain::{Chain, block::Block},
    faults::{Fault, Lie},
    node::Node,
};
use crate::{
    Outcome,
    front::{self, Control, Pause},
};
use axum::body::Body;
use error::RpcError;
use hyper::{Response, StatusCode};
use request::Request;
use serde::Serialize;
use serde_json::{Value, json};
use solana_rpc_client_types::{
    config::{CommitmentConfig, CommitmentLevel, RpcContextConfig},
    response::{Response as RpcResponse, RpcResponseContext},
};

/// One address of the chain.
pub(crate) type EndpointState = front::EndpointState<Node>;

impl front::Node for Node {
    type Lie = Lie;
    type Request = Request;
    type Error = RpcError;

    fn parse(method: &str, params: Value) -> Result<Request, RpcError> {
        request::parse(method, params)
    }

    fn unreadable(why: String) -> RpcError {
        RpcError::parse(&why)
    }

    fn error(error: &RpcError) -> (StatusCode, Value) {
        (StatusCode::OK, error.shown())
    }

    fn transaction(request: &Request) -> Option<String> {
        request.transaction()
    }

    async fn answer(
        endpoint: &EndpointState,
        request: Request,
        fault: Option<Fault>,
    ) -> Result<Value, RpcError> {
        endpoint.answer(request, fault)
    }

    fn page(endpoint: &EndpointState, path: &str) -> Option<Response<Body>> {
        let healthy = || blocks::health(endpoint, &endpoint.node.chain()).is_ok();
        let text = || if healthy() { "ok" } else { "behind" };
        (path == "/health").then(|| Response::new(Body::from(text())))
    }

    fn height(&self) -> u64 {
        self.chain().height()
    }

    fn first_height(&self) -> u64 {
        self.genesis_height
    }

    fn produce(&self) {
        self.make_block();
    }

    fn pause(&self) -> &Pause {
        &self.pause
    }

    fn release(&self) -> usize {
        self.chain().release()
    }

    fn overview(endpoint: &EndpointState) -> Value {
        control::overview(endpoint)
    }

    fn control(endpoint: &EndpointState, control: Control<'_>) -> Option<Outcome<Value>> {
        control::route(endpoint, control)
    }
}

impl EndpointState {
    fn answer(&self, request: Request, fault: Option<Fault>) -> Result<Value, RpcError> {
        let lie = match fault {
            Some(Fault::Lie(Lie::Rejected { code, message, data, forward })) => {
                let error = RpcError::scripted(code, message, data);
                if let (Request::Send(transaction, _), true) = (request, forward) {
                    self.node.chain().pool(*transaction, 0);
                }
                return Err(error);
            }
            other => other,
        };
        let mut chain = self.node.chain();
        match request {
            Request::GenesisHash => Ok(blocks::genesis_hash(&chain, lie.as_ref())),
            Request::Health => blocks::health(self, &chain),
            Request::Version => blocks::version(),
            Request::Slot(context) => Ok(json!(self.context(&chain, &context)?.slot)),
            Request::BlockHeight(context) => Ok(json!(self.context(&chain, &context)?.height)),
            Request::LatestBlockhash(context) => blocks::latest(self.context(&chain, &context)?),
            Request::BlockTime(slot) => blocks::time(self, &chain, slot),
            Request::Account(address, config) => accounts::one(self, &chain, &address, &config),
            Request::Accounts(addresses, config) => {
                accounts::several(self, &chain, &addresses, &config)
            }
            Request::Balance(address, context) => {
                accounts::balance(&chain, self.context(&chain, &context)?, &address)
            }
            Request::TokenBalance(address, commitment) => {
                let context = RpcContextConfig { commitment, min_context_slot: None };
                accounts::token_balance(self.context(&chain, &context)?, &address)
            }
            Request::Rent(size) => Ok(json!(chain.rent(size))),
            Request::PrioritizationFees(addresses) => {
                blocks::prioritization_fees(self, &chain, &addresses)
            }
            Request::Signatures(request) => {
                history::signatures(self, &chain, *request, lie.as_ref())
            }
            Request::Transaction(signature, config) => {
                history::transaction(self, &chain, &signature, config, lie.as_ref())
            }
            Request::Statuses(signatures, search) => {
                history::statuses(self, &chain, &signatures, search, lie.as_ref())
            }
            Request::Send(transaction, config) => {
                send::send(self, &mut chain, *transaction, &config, lie.as_ref())
            }
        }
    }

    /// The block that a commitment means here; without one, the last final block.
    fn bank<'a>(
        &self,
        chain: &'a Chain,
        commitment: Option<CommitmentConfig>,
    ) -> Result<&'a Block, RpcError> {
        let level = commitment.map_or(CommitmentLevel::Finalized, |config| config.commitment);
        let height = chain.height_of(level, self.seen_at(chain.height()));
        chain.block(height).ok_or_else(|| RpcError::block_not_available(height))
    }

    /// The same, which must have reached a slot.
    fn context<'a>(
        &self,
        chain: &'a Chain,
        context: &RpcContextConfig,
    ) -> Result<&'a Block, RpcError> {
        let bank = self.bank(chain, context.commitment)?;
        match context.min_context_slot {
            Some(least) if bank.slot < least => Err(RpcError::min_context_slot(bank.slot)),
            _ => Ok(bank),
        }
    }
}

/// A value with the slot that it is of.
fn at_slot(bank: &Block, value: impl Serialize) -> Result<Value, RpcError> {
    written(&RpcResponse { context: RpcResponseContext::new(bank.slot), value })
}

fn written(value: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(value).map_err(|error| RpcError::parse(&error.to_string()))
}
