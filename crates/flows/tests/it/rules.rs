//! The rules of each flow: pure, and without a stub. A fact that is missing is *not yet*; no facts lead
//! round in a circle; each *no* and each *yes* has its reason here.
//!
//! Wrong builds that were run, each of which turns one of these red: a release that is not bound to the
//! count of attempts; a deadline that is not looked at when the chain's time is missing; a destination
//! that nothing said is valid; a mapping that is missing, taken for none; a release that is followed where
//! no refund is possible.

use flows::swaps::rules as swap;
use flows::{registry, relay, swap_out};
use kernel::agreed::Agreed;
use kernel::flow::life::{Ruling, Step};
use kernel::flow::table::{S, Table};
use kernel::ids::{AssetId, ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Fact, Facts, Head, Party, Record, System, Terms};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A fact with its name.
type Named = (&'static str, Fact);

/// What the settings say where they let a swap be accepted.
const PROMISED: [Named; 2] = [(swap::ACCEPTING, yes()), (swap::WITHIN_CAPS, yes())];
/// The deadline of records that have one.
const DEADLINE: u64 = 1_000;

/// Takes a fee, where that much is there.
fn fee(terms: &mut Terms, fee: u128) {
    (terms.fee, terms.refund_fee) = (Amount(fee), Amount(fee));
    terms.target.amount = terms.source.amount.minus(terms.fee).unwrap_or(Amount::ZERO);
}

fn record(state: S, change: impl Fn(&mut Terms)) -> Record {
    let party = |name: &str, chain| Party {
        system: System::Chain(ChainId(chain)),
        account: Account::Named(name.into()),
        asset: AssetId(4),
        amount: Amount(1_000),
    };
    let (source, target) = (party("payer", 30), party("payee", 31));
    let owner = TransferOwner::ChainAccount { chain: ChainId(30), account: "payer".into() };
    let mut terms = Terms::between("watcher".into(), owner, source, target);
    terms.deadline = Some(DEADLINE);
    terms.memo = Some("nexus:8CvLySLAWEKDB9SJSUDdRgzAG6ALVcXLzPQREN9Nbf7AzuJkg5P".to_owned());
    fee(&mut terms, 10);
    change(&mut terms);
    Record::new(Id(7), FlowId(0), Head::start(state), Arc::new(terms))
}

fn table(flow: &str) -> Table {
    let found = registry().0.into_iter().find(|table| table.flow == flow);
    found.unwrap_or_else(|| panic!("no flow {flow}"))
}

/// What the rule of a state says.
fn says_of(flow: &str, state: &str, facts: &Facts, change: impl Fn(&mut Terms)) -> Ruling {
    let t = table(flow);
    let Some(s) = t.named(state) else { panic!("no state {state}") };
    let Step::Decide { rule, .. } = t.step(s) else { panic!("{state} decides nothing") };
    (t.rule)(rule, &record(s, change), facts)
}

fn says(flow: &str, state: &str, facts: &[Named]) -> Ruling {
    says_of(flow, state, &facts.iter().cloned().collect(), |_| {})
}

const fn yes() -> Fact {
    Fact::Flag(true)
}

const fn no() -> Fact {
    Fact::Flag(false)
}

const fn n(number: u128) -> Fact {
    Fact::Number(number)
}

/// Every rule that needs a fact waits for it; the others look at the record alone.
#[test]
fn without_facts_nothing_is_decided_but_by_the_record() {
    let by_the_record =
        [("swap_in", "detected"), ("swap_in", "above fees"), ("swap_out", "detected")];
    let wrong: Facts = [
        swap::CHAIN_TIME,
        swap::DESTINATION_VALID,
        swap::ACCEPTING,
        swap::WITHIN_CAPS,
        swap::PAYOUT_RESTED,
        swap::REFUND_RESTED,
        swap::REFUND_REJECTIONS,
        swap::MOST_REFUND_REJECTIONS,
        swap::SENDER_VALID,
        swap::QUARANTINE_ACCOUNT,
        swap::REFUND_RELEASED,
        swap_out::rules::DUST_CREDIT,
        swap_out::rules::CREDIT_POSSIBLE,
        swap_out::rules::PAYOUT_DEADLINE,
        swap_out::rules::MAPPING,
        swap_out::rules::NO_MAPPING,
        relay::rules::REGISTERED,
        relay::rules::RECEIVER_EXISTS,
        relay::rules::ATTEMPTS,
        relay::rules::LATELY,
        relay::rules::BUDGET,
    ]
    .into_iter()
    .map(|name| {
        (name, if name == swap_out::rules::MAPPING { n(1) } else { Fact::Text("1".into()) })
    })
    .collect();
    let mut asked = 0;
    for t in &registry().0 {
        for s in t.all().filter(|s| matches!(t.step(*s), Step::Decide { .. })) {
            let name = t.state(s).name;
            for facts in [Facts::new(), wrong.clone()] {
                let ruling = says_of(t.flow, name, &facts, |_| {});
                let waits = ruling == Ruling::NotYet;
                assert_eq!(waits, !by_the_record.contains(&(t.flow, name)), "{} {name}", t.flow);
            }
            asked += 1;
        }
    }
    assert_eq!(asked, 16);
}

/// What a rule needs for its yes: without any one of these facts it does not say so.
#[test]
fn a_promise_needs_each_of_its_facts() {
    let accepted = [
        (swap::CHAIN_TIME, n(1)),
        (swap::DESTINATION_VALID, yes()),
        (swap::ACCEPTING, yes()),
        (swap::WITHIN_CAPS, yes()),
    ];
    let out = [&accepted[..], &[(swap_out::rules::PAYOUT_DEADLINE, n(1_000))]].concat();
    let refund = [
        (swap::REFUND_REJECTIONS, n(0)),
        (swap::MOST_REFUND_REJECTIONS, n(3)),
        (swap::SENDER_VALID, yes()),
        (swap::REFUND_RESTED, yes()),
    ];
    let registered = [
        (relay::rules::RECEIVER_EXISTS, yes()),
        (relay::rules::ATTEMPTS, n(0)),
        (relay::rules::LATELY, no()),
        (relay::rules::BUDGET, yes()),
    ];
    let again = [(swap::PAYOUT_RESTED, yes()), (swap::CHAIN_TIME, n(1))];
    let credit = [(swap_out::rules::DUST_CREDIT, n(1)), (swap_out::rules::CREDIT_POSSIBLE, yes())];
    let promises: [(&str, &str, &[Named]); 8] = [
        ("swap_out", "credit found", &credit),
        ("swap_in", "ready for processing", &accepted),
        ("swap_in", "debit dead", &again),
        ("swap_in", "to be refunded", &refund),
        ("swap_out", "ready for processing", &out),
        ("swap_out", "payout dead", &again),
        ("swap_out", "refund pending", &refund),
        ("relay", "NEEDS_REGISTRATION", &registered),
    ];
    for (flow, state, facts) in promises {
        assert_eq!(says(flow, state, facts), Ruling::Yes, "{flow} {state}");
        for missing in 0..facts.len() {
            let mut fewer = facts.to_vec();
            let (name, _) = fewer.remove(missing);
            assert_eq!(says(flow, state, &fewer), Ruling::NotYet, "{flow} {state} without {name}");
        }
    }
}

/// Turns red where dust is taken in, or a debit that we cannot credit in time waits for ever.
#[test]
fn a_debit_is_credited_unless_it_is_dust_or_cannot_be() {
    let said = |dust, possible| {
        let facts =
            [(swap_out::rules::DUST_CREDIT, n(dust)), (swap_out::rules::CREDIT_POSSIBLE, possible)];
        let change = |terms: &mut Terms| terms.source.amount = Amount(7);
        says_of("swap_out", "credit found", &facts.into_iter().collect(), change)
    };
    assert_eq!(said(7, yes()), Ruling::Yes);
    assert_eq!(said(8, yes()), Ruling::No, "dust");
    assert_eq!(said(7, no()), Ruling::No, "too late");
}

#[test]
fn a_memo_names_a_nexus_account_or_the_deposit_goes_back() {
    let said = |memo: Option<&str>| {
        let change = |terms: &mut Terms| terms.memo = memo.map(str::to_owned);
        says_of("swap_in", "above fees", &Facts::new(), change)
    };
    for good in ["nexus:8CvLy", "NEXUS:8CvLy", "Nexus: 8CvLy ", " nexus :8CvLy"] {
        assert_eq!(said(Some(good)), Ruling::Yes, "{good}");
    }
    let long = format!("nexus:{}", "8".repeat(129));
    for bad in [
        "",
        "8CvLy",
        "nexus:",
        "nexus: ",
        "solana:8CvLy",
        "nexus:8C vLy",
        "nexus:0OIl",
        "nexus:8:9",
        &long,
    ] {
        assert_eq!(said(Some(bad)), Ruling::No, "{bad}");
    }
    assert_eq!(said(None), Ruling::No);
}

#[test]
fn what_the_fee_eats_is_kept() {
    // before anything else is asked: dust with a bad memo is no matter for an operator
    for (flow, state) in [("swap_in", "detected"), ("swap_out", "detected")] {
        for (fee, ruling) in [(999, Ruling::Yes), (1_000, Ruling::No), (1_001, Ruling::No)] {
            let said = says_of(flow, state, &Facts::new(), |terms| self::fee(terms, fee));
            assert_eq!(said, ruling, "{flow} {fee}");
        }
    }
}

#[test]
fn a_deposit_is_accepted_before_its_deadline_with_an_account() {
    let said = |time: u128, valid: Fact| {
        let facts = [(swap::CHAIN_TIME, n(time)), (swap::DESTINATION_VALID, valid)];
        says("swap_in", "ready for processing", &[&facts[..], &PROMISED].concat())
    };
    assert_eq!(said(1_000, yes()), Ruling::Yes);
    assert_eq!(said(1_001, yes()), Ruling::No, "too late");
    assert_eq!(said(1_000, no()), Ruling::No, "no such account");
    let untimed = [&[(swap::DESTINATION_VALID, yes())][..], &PROMISED].concat();
    assert_eq!(
        says("swap_in", "ready for processing", &untimed),
        Ruling::NotYet,
        "no time, no promise"
    );
    let unending = |terms: &mut Terms| terms.deadline = None;
    let facts = untimed.into_iter().collect();
    assert_eq!(says_of("swap_in", "ready for processing", &facts, unending), Ruling::Yes);
}

/// Turns red where a cap refuses a swap, or where one is promised that the settings only give back.
#[test]
fn settings_refuse_a_swap_and_caps_let_it_wait() {
    for (flow, more) in
        [("swap_in", &[][..]), ("swap_out", &[(swap_out::rules::PAYOUT_DEADLINE, n(9_000))])]
    {
        let said = |accepting: Fact, capped: Fact| {
            let facts = [
                (swap::CHAIN_TIME, n(1)),
                (swap::DESTINATION_VALID, yes()),
                (swap::ACCEPTING, accepting),
                (swap::WITHIN_CAPS, capped),
            ];
            says(flow, "ready for processing", &[&facts[..], more].concat())
        };
        assert_eq!(said(yes(), yes()), Ruling::Yes);
        assert_eq!(said(yes(), no()), Ruling::NotYet);
        assert_eq!(said(no(), yes()), Ruling::No);
    }
}

#[test]
fn a_credit_waits_for_its_mapping_until_the_deadline_and_is_looked_for_once_more() {
    let mapping = (swap_out::rules::MAPPING, Fact::Text("7Vbm".into()));
    let late = (swap::CHAIN_TIME, n(1_001));
    let said = |facts: &[Named]| says("swap_out", "pending_receival", facts);
    assert_eq!(said(std::slice::from_ref(&mapping)), Ruling::Yes);
    assert_eq!(said(&[(swap::CHAIN_TIME, n(1_000))]), Ruling::NotYet);
    assert_eq!(said(std::slice::from_ref(&late)), Ruling::No);
    assert_eq!(said(&[late.clone(), mapping.clone()]), Ruling::Yes);
    let said = |facts: &[Named]| says("swap_out", "trade balance to be checked", facts);
    assert_eq!(said(&[late]), Ruling::NotYet, "age is no proof");
    assert_eq!(said(&[(swap_out::rules::NO_MAPPING, no())]), Ruling::NotYet);
    assert_eq!(said(&[(swap_out::rules::NO_MAPPING, yes())]), Ruling::No);
    assert_eq!(said(&[mapping, (swap_out::rules::NO_MAPPING, yes())]), Ruling::Yes);
}

#[test]
fn a_payout_on_solana_is_accepted_until_its_own_deadline() {
    let said = |time: u128, valid: Fact| {
        let facts = [
            (swap::CHAIN_TIME, n(time)),
            (swap_out::rules::PAYOUT_DEADLINE, n(9_000)),
            (swap::DESTINATION_VALID, valid),
        ];
        says("swap_out", "ready for processing", &[&facts[..], &PROMISED].concat())
    };
    // behind the deadline of the mapping, which was in time
    assert_eq!(said(9_000, yes()), Ruling::Yes);
    assert_eq!(said(9_000, no()), Ruling::No);
    assert_eq!(said(9_001, yes()), Ruling::No, "too late: the money goes back");
}

/// What the rule of a state agrees with its yes.
fn agrees(flow: &str, state: &str, facts: &[Named], change: impl Fn(&mut Terms)) -> Option<Agreed> {
    let t = table(flow);
    let Some(s) = t.named(state).filter(|s| t.accepts(*s)) else {
        panic!("{state} accepts nothing")
    };
    let Step::Decide { rule, .. } = t.step(s) else { panic!("{state} decides nothing") };
    (t.agreement)(rule, &record(s, change), &facts.iter().cloned().collect())
}

#[test]
fn an_accepted_swap_pays_the_account_that_was_named_for_it() {
    let unnamed = |terms: &mut Terms| terms.target.account = Account::Unnamed;
    let account = |agreed: Option<Agreed>| agreed.map(|agreed| agreed.target.account);
    let named = |name: &str| Some(Account::Named(name.into()));
    let until = (swap_out::rules::PAYOUT_DEADLINE, n(9_000));
    let mapped = [(swap_out::rules::MAPPING, Fact::Text("6Vk…".into())), until.clone()];
    let out = ("swap_out", "ready for processing");
    let agreed = agrees(out.0, out.1, &mapped, unnamed).expect("an agreement");
    assert_eq!(agreed.deadline, Some(9_000), "that of the payout");
    assert_eq!(account(Some(agreed)), named("6Vk…"));
    assert_eq!(agrees(out.0, out.1, &[until], unnamed), None, "no account is named");
    assert_eq!(agrees(out.0, out.1, &mapped[..1], unnamed), None, "no deadline, no promise");
    assert_eq!(account(agrees(out.0, out.1, &mapped, |_| {})), named("payee"), "by its terms");
    let memo = "8CvLySLAWEKDB9SJSUDdRgzAG6ALVcXLzPQREN9Nbf7AzuJkg5P";
    assert_eq!(account(agrees("swap_in", "ready for processing", &[], unnamed)), named(memo));
    let agreed = agrees("swap_in", "ready for processing", &[], unnamed).expect("an agreement");
    let amounts = (agreed.target.amount, agreed.fee, agreed.deadline);
    assert_eq!(amounts, (Amount(990), Amount(10), Some(DEADLINE)));
}

/// What is lost was refused by no one: how often it was lost does not count.
#[test]
fn a_dead_payout_is_made_again_after_its_cooldown_until_the_deadline() {
    for (flow, dead) in [("swap_in", "debit dead"), ("swap_out", "payout dead")] {
        let said = |time: u128, rested: Fact| {
            says(flow, dead, &[(swap::CHAIN_TIME, n(time)), (swap::PAYOUT_RESTED, rested)])
        };
        assert_eq!(said(1_000, yes()), Ruling::Yes);
        assert_eq!(said(1_000, no()), Ruling::NotYet);
        assert_eq!(said(1_001, yes()), Ruling::No, "it is given back");
        assert_eq!(said(1_001, no()), Ruling::No);
    }
}

const REFUNDS: [(&str, &str, &str); 2] = [
    ("swap_in", "to be refunded", "to be quarantined"),
    ("swap_out", "refund pending", "to be quarantined"),
];

#[test]
fn money_is_given_back_until_it_is_refused_three_times() {
    for (flow, refund, _) in REFUNDS {
        let facts = |rejections: u128, sender: Fact, rested: Fact| {
            [
                (swap::REFUND_REJECTIONS, n(rejections)),
                (swap::MOST_REFUND_REJECTIONS, n(3)),
                (swap::SENDER_VALID, sender),
                (swap::REFUND_RESTED, rested),
            ]
        };
        let said = |rejections: u128, sender: Fact, rested: Fact| {
            says(flow, refund, &facts(rejections, sender, rested))
        };
        assert_eq!(said(2, yes(), yes()), Ruling::Yes);
        assert_eq!(said(2, yes(), no()), Ruling::NotYet, "after the cooldown");
        assert_eq!(said(2, no(), yes()), Ruling::No);
        assert_eq!(said(3, yes(), yes()), Ruling::No);
        let facts = facts(0, yes(), yes());
        let dust = |terms: &mut Terms| fee(terms, terms.source.amount.0);
        assert_eq!(says_of(flow, refund, &facts.into_iter().collect(), dust), Ruling::No);
    }
}

#[test]
fn a_person_allows_one_more_refund_and_it_is_used_up_by_its_refusal() {
    for (flow, refund, held) in REFUNDS {
        let facts = |rejections: u128, released: u128| {
            [
                (swap::REFUND_REJECTIONS, n(rejections)),
                (swap::SENDER_VALID, yes()),
                (swap::QUARANTINE_ACCOUNT, no()),
                (swap::REFUND_RELEASED, n(released)),
                (swap::REFUND_RESTED, yes()),
                (swap::MOST_REFUND_REJECTIONS, n(3)),
            ]
        };
        assert_eq!(says(flow, held, &facts(3, 3)), Ruling::No, "refund after all");
        assert_eq!(says(flow, refund, &facts(3, 3)), Ruling::Yes);
        assert_eq!(says(flow, held, &facts(4, 3)), Ruling::NotYet, "it was refused too");
        assert_eq!(says(flow, refund, &facts(4, 3)), Ruling::No);
        let mut resting = facts(3, 3).to_vec();
        (resting[2].1, resting[4].1) = (yes(), no());
        assert_eq!(says(flow, held, &resting), Ruling::NotYet, "it is not moved out meanwhile");
        let mut gone = facts(3, 3).to_vec();
        gone[1].1 = no();
        assert_eq!(says(flow, held, &gone), Ruling::NotYet, "it can go nowhere: it stays held");
        gone[2].1 = yes();
        assert_eq!(says(flow, held, &gone), Ruling::Yes, "and is moved out where it can be");
    }
}

#[test]
fn a_receiver_is_registered_where_it_exists_and_money_is_left() {
    let known = |flag| says("relay", "RECEIVED", &[(relay::rules::REGISTERED, flag)]);
    assert_eq!((known(yes()), known(no())), (Ruling::Yes, Ruling::No));
    let facts = |exists: Fact, made: u128, lately: Fact, budget: Fact| {
        [
            (relay::rules::RECEIVER_EXISTS, exists),
            (relay::rules::ATTEMPTS, n(made)),
            (relay::rules::LATELY, lately),
            (relay::rules::BUDGET, budget),
        ]
    };
    let said = |facts: &[Named]| says("relay", "NEEDS_REGISTRATION", facts);
    assert_eq!(said(&facts(yes(), 9, no(), yes())), Ruling::Yes);
    assert_eq!(
        said(&facts(yes(), 9, no(), yes())[..3]),
        Ruling::NotYet,
        "another one registers it"
    );
    let t = table("relay");
    let refused = [
        (facts(yes(), 10, no(), yes()), "REGISTRATION_REFUSED"),
        (facts(no(), 0, no(), yes()), "RECEIVER_NOT_FOUND"),
        (facts(yes(), 0, yes(), yes()), "REGISTRATION_REFUSED"),
        (facts(yes(), 0, no(), no()), "REGISTRATION_REFUSED"),
    ];
    for (facts, code) in refused {
        assert_eq!(said(&facts), Ruling::No, "{facts:?}");
        let facts: Facts = facts.into_iter().collect();
        assert_eq!((t.refusal)(1, &facts), Some(code), "{facts:?}");
    }
}

/// The values that a fact takes in the search below; none is the first.
fn values(name: &str) -> Vec<Fact> {
    if name == swap_out::rules::MAPPING {
        return vec![Fact::Text("7Vbm".into())];
    }
    let numbers: &[u128] = match name {
        swap::CHAIN_TIME => &[1, 1_001],
        swap::REFUND_REJECTIONS | swap::REFUND_RELEASED => &[0, 3],
        _ => return vec![yes(), no()],
    };
    numbers.iter().copied().map(n).collect()
}

/// Every choice of a value, or of none, for each name.
fn all_facts(names: &[&'static str]) -> Vec<Facts> {
    names.iter().fold(vec![Facts::new()], |all, name| {
        let with = |facts: &Facts| {
            let more = values(name).into_iter().map(|value| {
                let mut facts = facts.clone();
                facts.insert(*name, value);
                facts
            });
            std::iter::once(facts.clone()).chain(more).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

/// A worker follows rule after rule in one unit: for no facts whatever may they lead in a circle.
#[test]
fn no_facts_lead_round_in_a_circle() {
    let names = [
        swap::CHAIN_TIME,
        swap::DESTINATION_VALID,
        swap::PAYOUT_RESTED,
        swap::REFUND_RESTED,
        swap::REFUND_REJECTIONS,
        swap::SENDER_VALID,
        swap::QUARANTINE_ACCOUNT,
        swap::REFUND_RELEASED,
    ];
    let mut all = all_facts(&names);
    assert_eq!(all.len(), 6_561);
    for facts in &mut all {
        facts.extend(PROMISED);
        facts.insert(swap::MOST_REFUND_REJECTIONS, n(3));
    }
    let until = (swap_out::rules::PAYOUT_DEADLINE, n(1_000));
    let mapped = (swap_out::rules::MAPPING, Fact::Text("7Vbm".into()));
    let flows = [
        ("swap_in", Vec::new()),
        ("swap_out", vec![mapped, until]),
        ("swap_out", vec![(swap_out::rules::NO_MAPPING, yes())]),
    ];
    for (flow, more) in flows {
        let t = table(flow);
        let decides: Vec<S> =
            t.all().filter(|s| matches!(t.step(*s), Step::Decide { .. })).collect();
        let changes: [fn(&mut Terms); 3] =
            [|_| {}, |terms| fee(terms, terms.source.amount.0), |terms| terms.memo = None];
        for change in changes {
            let record = record(t.start, change);
            for facts in &all {
                let mut facts = facts.clone();
                facts.extend(more.iter().cloned());
                for s in &decides {
                    assert!(straight(&t, *s, &record, &facts), "{flow} {facts:?}");
                }
            }
        }
    }
}

/// True where the rules from a state on come to a state that decides nothing, or wait.
fn straight(t: &Table, mut s: S, record: &Record, facts: &Facts) -> bool {
    let mut seen = BTreeSet::new();
    while let Step::Decide { rule, yes, no } = t.step(s) {
        if !seen.insert(s) {
            return false;
        }
        s = match (t.rule)(rule, record, facts) {
            Ruling::Yes => yes,
            Ruling::No => no,
            Ruling::NotYet => return true,
        };
    }
    true
}
