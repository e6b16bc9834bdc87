//! File names with `*` and `?`.

/// Whether a name is of the pattern: `*` stands for any characters, `?` for one, all others for themselves.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last `*` stands, and how much of the name is left to what follows it.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(char) if *char == '?' || *char == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|char| *char == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name) in [
            ("a.csv", "a.csv"),
            ("*.csv", "a.csv"),
            ("jobs-*-?.csv", "jobs-2025-01-b.csv"),
            ("*", ""),
            ("a*b*c", "axxbyybc"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a.csv", "b.csv"), ("*.csv", "a.parquet"), ("?.csv", ".csv"), ("a*b", "ab.csv"), ("", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
