//! The parameters of functions, for the measure of those that are tuples.

/// How many parameters of the functions in this text have a tuple as their type. Closures and `let` may take
/// tuples apart; a trait's method counts like any other function.
pub(super) fn tuple_parameters(text: &str) -> usize {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let functions = code.match_indices("fn ").filter(|(at, _)| begins(*at));
    let lists = functions.filter_map(|(at, word)| parameters(&code[at + word.len()..]));
    lists.flat_map(|list| items(list)).filter(|item| is_tuple(item)).count()
}

/// The list of parameters of the function whose name this text begins with.
fn parameters(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let list = match after.starts_with('<') {
        true => enclosed(after)?.1,
        false => after,
    };
    if list.starts_with('(') { Some(enclosed(list)?.0) } else { None }
}

/// What the bracket that the text begins with encloses, and what follows the bracket that closes it.
fn enclosed(text: &str) -> Option<(&str, &str)> {
    let mut depth = Depth::default();
    let end = text.char_indices().find(|(_, c)| depth.after(*c) == 0)?.0;
    Some((text.get(1..end)?, text.get(end + 1..)?))
}

/// The parts of a list between its own commas, not those within brackets.
fn items(list: &str) -> Vec<&str> {
    let mut depth = Depth::default();
    list.split(|c| depth.after(c) == 0 && c == ',').collect()
}

/// Whether a parameter is of a tuple, owned or borrowed.
fn is_tuple(parameter: &str) -> bool {
    let mut depth = Depth::default();
    let named = parameter.split_once(|c| depth.after(c) == 0 && c == ':');
    let Some((_, mut of)) = named else { return false };
    of = of.trim();
    if let Some(borrowed) = of.strip_prefix('&') {
        let lifetime = borrowed.starts_with('\'').then(|| borrowed.split_once(' ')).flatten();
        of = lifetime.map_or(borrowed, |(_, rest)| rest);
        of = of.strip_prefix("mut ").unwrap_or(of);
    }
    let inside = of.starts_with('(').then(|| enclosed(of)).flatten();
    inside.is_some_and(|(inside, _)| items(inside).len() > 1)
}

/// How many brackets are open.
#[derive(Default)]
struct Depth {
    open: usize,
    last: char,
}

impl Depth {
    /// How many are open after one more character. The end of an arrow closes nothing.
    fn after(&mut self, c: char) -> usize {
        match c {
            '(' | '[' | '{' | '<' => self.open += 1,
            '>' if matches!(self.last, '-' | '=') => {}
            ')' | ']' | '}' | '>' => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.last = c;
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::tuple_parameters;

    #[test]
    fn a_tuple_is_counted_by_its_type_whatever_its_pattern() {
        assert_eq!(tuple_parameters("fn a((now, own): (Option<i64>, i64), (b, c): (u8, u8)) {"), 2);
        assert_eq!(tuple_parameters("fn a(key: (UserId, AssetId)) -> u8;"), 1);
        assert_eq!(
            tuple_parameters("fn a<'a, F: Fn(u8) -> u8>(\n    &self,\n    b: &'a (u8, u8),\n"),
            0
        );
        assert_eq!(
            tuple_parameters("fn a<'a, F: Fn(u8) -> u8>(\n    &self,\n    b: &'a (u8, u8),\n)"),
            1
        );
        assert_eq!(tuple_parameters("fn a(Pair { b, c }: Pair, (d, e): &mut (u8, u8)) {}"), 1);
    }

    #[test]
    fn closures_bindings_and_lists_of_tuples_are_no_tuple_parameters() {
        assert_eq!(tuple_parameters("let f = |(a, b): (u8, u8)| a; let (a, b): (u8, u8) = c;"), 0);
        assert_eq!(tuple_parameters("fn a(b: &[(u8, u8)], c: Vec<(u8, u8)>) -> (u8, u8) {"), 0);
        assert_eq!(
            tuple_parameters("fn a(b: &(dyn Fn(u8, u8) -> u8 + Sync), c: fn(u8, (u8, u8)))"),
            0
        );
        assert_eq!(tuple_parameters("// fn a(b: (u8, u8))\n/// fn a(b: (u8, u8))\n"), 0);
    }
}
