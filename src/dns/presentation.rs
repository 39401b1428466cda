//! The escapes of RFC 1035 §5.1, shared by names and character strings.
//!
//! Which octets need an escape differs between the two and is decided by the callers.

/// Reads one escape: `rest` begins after the backslash. Gives the octet and the number of
/// bytes read, or `None` where no escape is well formed (`\1`, `\999`, a final backslash).
pub(super) fn unescape(rest: &[u8]) -> Option<(u8, usize)> {
    match *rest {
        [a, b, c, ..] if [a, b, c].iter().all(u8::is_ascii_digit) => {
            let value =
                [a, b, c].iter().fold(0_u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
            Some((u8::try_from(value).ok()?, 3))
        }
        [octet, ..] if !octet.is_ascii_digit() => Some((octet, 1)),
        _ => None,
    }
}

/// Appends `\DDD`.
pub(super) fn push_decimal(out: &mut String, octet: u8) {
    out.push('\\');
    for divisor in [100, 10, 1] {
        out.push(char::from(b'0' + octet / divisor % 10));
    }
}
