//! Times as callers give them: an instant, a date, or how long ago.

use crate::mcp::refusal::Refused;
use actors::BrokerError;
use domain::time::Timestamp;
use jiff::{civil::Date, tz::TimeZone};

/// More than any time is long.
const MAX_CHARS: usize = 64;

pub(super) fn read(field: &'static str, given: &str, now: Timestamp) -> Result<Timestamp, Refused> {
    let chars = given.chars().count();
    if chars > MAX_CHARS {
        return Err(BrokerError::TooLong { field, actual: chars, limit: MAX_CHARS, unit: "characters" }.into());
    }
    let text = given.trim();
    instant(text).or_else(|| ago(text, now)).ok_or_else(|| {
        let problem = format!(
            "{given:?} is no time; expected RFC 3339 (2026-11-16T09:00:00Z), a date (2026-11-16), or how long ago: \
             a number with s, m, h, d or w (90s, 24h, 7d)"
        );
        Refused::invalid(field, &problem)
    })
}

fn instant(text: &str) -> Option<Timestamp> {
    let at = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        (text.len() == "2026-11-16".len()).then(|| midnight.timestamp())
    })?;
    Some(Timestamp(at.as_millisecond()))
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let number: i64 = number.parse::<u32>().ok()?.into();
    Some(Timestamp(now.0.saturating_sub(number * seconds * 1_000)))
}

#[cfg(test)]
mod tests {
    use super::read;
    use domain::time::Timestamp;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn a_time_is_an_instant_a_date_or_how_long_ago() {
        let at = |text| read("since", text, NOW).unwrap().0;
        assert_eq!(at("1970-01-01T00:00:01Z"), 1_000);
        assert_eq!(at("1970-01-01T01:00:01+01:00"), 1_000);
        assert_eq!(at("1970-01-02"), 86_400_000);
        assert_eq!(at("90s"), NOW.0 - 90_000);
        assert_eq!(at(" 7d "), NOW.0 - 7 * 86_400_000);
        assert_eq!(at("0h"), NOW.0);
    }

    #[test]
    fn anything_else_is_refused_with_what_is_allowed() {
        for text in ["yesterday", "", "d", "-1d", "1.5h", "7", "7ü", "2026-13-01", "2026-11-16T09:00:00", "\u{202e}"] {
            let refused = read("until", text, NOW).unwrap_err();
            assert_eq!(refused.code, "invalid_argument", "{text}");
            assert!(refused.error.contains("until") && refused.error.contains("7d"), "{}", refused.error);
            assert!(!refused.error.contains('\u{202e}'));
        }
        assert_eq!(read("since", &"9".repeat(300), NOW).unwrap_err().code, "too_long");
    }
}
