//! What rules read of facts: by name and type. A fact that is missing, or of another type, is none: the
//! rule says *not yet*.

use kernel::flow::life::Ruling;
use kernel::record::{Fact, Facts};

/// What a fact says that is yes or no.
pub(crate) fn flag(facts: &Facts, name: &str) -> Option<bool> {
    match facts.get(name)? {
        Fact::Flag(flag) => Some(*flag),
        Fact::Number(_) | Fact::Text(_) => None,
    }
}

/// A time, a count, an amount.
pub(crate) fn number(facts: &Facts, name: &str) -> Option<u128> {
    match facts.get(name)? {
        Fact::Number(number) => Some(*number),
        Fact::Flag(_) | Fact::Text(_) => None,
    }
}

/// A name; an empty one names nothing.
pub(crate) fn text<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    match facts.get(name)? {
        Fact::Text(text) => Some(&**text).filter(|text| !text.is_empty()),
        Fact::Flag(_) | Fact::Number(_) => None,
    }
}

/// The ruling of a plain answer.
pub(crate) const fn yes_no(yes: bool) -> Ruling {
    if yes { Ruling::Yes } else { Ruling::No }
}
