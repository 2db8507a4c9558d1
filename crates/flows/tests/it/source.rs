//! The strict-FSM source's table (§2.2) restated with the library that the source names, and every
//! pair of state and answer compared with ours.
//!
//! Repaired where the source contradicts itself: its listing leaves out the two PENDING states that
//! its own §2.1 and §2.2 have, and lets a refund fail into its own state, which is an unknown answer.

use flows::internal::State;
use kernel::flow::life::Via;
use kernel::flow::table::Table;
use rust_fsm::{StateMachine, StateMachineImpl, state_machine};

state_machine! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    strict_fsm(Init)

    Init(CasOk) => SourcePending,
    SourcePending => { AdapterOk => SourceDone, AdapterFail => Failed, AdapterUnknown => SourcePending },
    SourceDone(CasOk) => TargetPending,
    TargetPending => { AdapterOk => Committed, AdapterFail => Compensating, AdapterUnknown => TargetPending },
    Compensating => { AdapterOk => RolledBack, AdapterUnknown => Compensating },
}

/// The library knows the states that an arrow mentions; these are all of ours.
const fn theirs(state: State) -> strict_fsm::State {
    match state {
        State::Init => strict_fsm::State::Init,
        State::SourcePending => strict_fsm::State::SourcePending,
        State::SourceDone => strict_fsm::State::SourceDone,
        State::TargetPending => strict_fsm::State::TargetPending,
        State::Committed => strict_fsm::State::Committed,
        State::Failed => strict_fsm::State::Failed,
        State::Compensating => strict_fsm::State::Compensating,
        State::RolledBack => strict_fsm::State::RolledBack,
    }
}

/// What the source calls an answer of ours; it has no word for the others.
const fn input(via: Via) -> Option<strict_fsm::Input> {
    match via {
        Via::Claim => Some(strict_fsm::Input::CasOk),
        Via::Done => Some(strict_fsm::Input::AdapterOk),
        Via::Rejected => Some(strict_fsm::Input::AdapterFail),
        Via::Unknown => Some(strict_fsm::Input::AdapterUnknown),
        Via::Yes | Via::No | Via::Dead => None,
    }
}

#[test]
fn every_pair_of_state_and_answer_agrees() {
    use kernel::flow::life::Word;
    let table = Table::of::<State>();
    let answers =
        [Via::Claim, Via::Yes, Via::No, Via::Done, Via::Rejected, Via::Dead, Via::Unknown];
    let mut pairs = 0;
    for (s, state) in table.all().zip(State::ALL) {
        for via in answers {
            let ours = table.edges(s).into_iter().find(|edge| edge.0 == via);
            let ours = ours.map(|(_, to)| theirs(State::ALL[usize::from(to)]));
            let their =
                input(via).and_then(|input| strict_fsm::Impl::transition(&theirs(*state), &input));
            assert_eq!(ours, their, "{} on {via:?}", state.name());
            pairs += usize::from(ours.is_some());
        }
    }
    assert_eq!(pairs, 10);
}

#[test]
fn both_begin_at_the_same_state() {
    use kernel::flow::life::Life;
    let machine: StateMachine<strict_fsm::Impl> = StateMachine::new();
    assert_eq!(*machine.state(), theirs(State::START));
}
