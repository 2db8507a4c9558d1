//! Parses the output of `strace -f -y -xx`.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// What is between its brackets.
    pub args: String,
    /// The line of its entry.
    pub begun: usize,
    /// The line of its return; none, where the trace ends before.
    pub ended: Option<usize>,
    /// What it returned; none, where it failed or did not return.
    pub result: Option<i64>,
    /// It never reached the kernel.
    pub injected: bool,
}

/// Every call of a trace, in the order of their returns; those without one at the end.
pub fn calls(text: &str) -> Vec<Call> {
    let mut open: std::collections::BTreeMap<&str, (usize, String)> = Default::default();
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((pid, rest)) = line.split_once(char::is_whitespace) else { continue };
        let rest = rest.trim_start();
        if let Some(cut) = rest.strip_suffix(" <unfinished ...>") {
            open.insert(pid, (at, cut.to_owned()));
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((_, tail)) = resumed.split_once(" resumed>") else { continue };
            if let Some((begun, head)) = open.remove(pid) {
                all.extend(call(&format!("{head}{tail}"), begun, Some(at)));
            }
        } else {
            all.extend(call(rest, at, Some(at)));
        }
    }
    let unfinished = open.into_values().filter_map(|(begun, head)| call(&head, begun, None));
    all.extend(unfinished);
    all
}

fn call(text: &str, begun: usize, ended: Option<usize>) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let (args, result) = rest.rsplit_once(" = ").unwrap_or((rest, "?"));
    let args = args.trim_end().trim_end_matches(')').to_owned();
    let injected = result.contains("(INJECTED)");
    let number = result.split(|c: char| c != '-' && !c.is_ascii_digit()).next();
    let number = number.and_then(|number| number.parse().ok()).filter(|number| *number >= 0);
    // killed in the middle: the kernel may have done it or not
    let ended = ended.filter(|_| !result.starts_with('?'));
    let (name, result) = (name.to_owned(), number.filter(|_| ended.is_some()));
    Some(Call { name, args, begun, ended, result, injected })
}

impl Call {
    /// The path of the file that the first argument stands for.
    pub fn file(&self) -> Option<String> {
        let (_, rest) = self.args.split_once('<')?;
        let (path, _) = rest.split_once('>')?;
        Some(text(path))
    }

    /// The n-th string among the arguments.
    pub fn string(&self, n: usize) -> Option<Vec<u8>> {
        self.args.split('"').skip(1).step_by(2).nth(n).map(bytes)
    }

    /// The same, as a path.
    pub fn path(&self, n: usize) -> Option<String> {
        self.string(n).map(|path| String::from_utf8_lossy(&path).into_owned())
    }

    /// All strings, one after the other.
    pub fn strings(&self) -> Vec<u8> {
        self.args.split('"').skip(1).step_by(2).flat_map(bytes).collect()
    }

    /// The last argument, a number.
    pub fn last(&self) -> Option<u64> {
        self.args.rsplit(',').next()?.trim().parse().ok()
    }
}

fn text(hex: &str) -> String {
    String::from_utf8_lossy(&bytes(hex)).into_owned()
}

/// `\x41\x42`, and whatever is written plainly.
fn bytes(hex: &str) -> Vec<u8> {
    let mut found = Vec::with_capacity(hex.len() / 4);
    let mut rest = hex.as_bytes();
    loop {
        match rest {
            [b'\\', b'x', high, low, more @ ..] => {
                found.push((digit(*high) << 4) | digit(*low));
                rest = more;
            }
            [plain, more @ ..] => {
                found.push(*plain);
                rest = more;
            }
            [] => return found,
        }
    }
}

const fn digit(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        b'a'..=b'f' => letter - b'a' + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::calls;

    const TRACE: &str = r#"10 openat(AT_FDCWD<\x2f>, "\x2f\x61", O_RDWR|O_CREAT, 0644) = 3<\x2f\x61>
10 pwrite64(3<\x2f\x61>, "\x78\x79", 2, 5 <unfinished ...>
11 fsync(3<\x2f\x61>) = 0 (INJECTED)
10 <... pwrite64 resumed>) = 2
11 writev(9<socket:[1]>, [{iov_base="\x41", iov_len=1}, {iov_base="\x42", iov_len=1}], 2) = 2
12 unlink("\x2f\x62") = -1 ENOENT (No such file or directory)
11 fdatasync(3<\x2f\x61> <unfinished ...>
10 pwrite64(3<\x2f\x61>, "\x7a", 1, 7) = ?
11 +++ killed by SIGKILL +++
"#;

    #[test]
    fn calls_are_put_together_again() {
        let all = calls(TRACE);
        let names: Vec<&str> = all.iter().map(|call| call.name.as_str()).collect();
        let expected = ["openat", "fsync", "pwrite64", "writev", "unlink", "pwrite64", "fdatasync"];
        assert_eq!(names, expected);
        assert_eq!((all[0].path(0), all[0].result), (Some("/a".to_owned()), Some(3)));
        assert!(all[1].injected && !all[2].injected);
        assert_eq!((all[2].begun, all[2].ended, all[2].last()), (1, Some(3), Some(5)));
        assert_eq!(
            (all[2].file(), all[2].string(0)),
            (Some("/a".to_owned()), Some(b"xy".to_vec()))
        );
        assert_eq!(
            (all[3].file(), all[3].strings()),
            (Some("socket:[1]".to_owned()), b"AB".to_vec())
        );
        assert_eq!(all[4].result, None);
        assert_eq!((all[5].ended, all[5].last()), (None, Some(7)));
        assert_eq!(all[6].ended, None);
    }
}
