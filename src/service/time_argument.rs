//! Parses a time argument: an instant, a date, or an age such as 24h.

use super::error::error_body;
use actors::BrokerError;
use api::ErrorBody;
use domain::time::Timestamp;
use jiff::{civil::Date, tz::TimeZone};

/// Longer than any valid time.
const MAX_CHARS: usize = 64;

pub(super) fn parse(field: &'static str, given: &str, now: Timestamp) -> Result<Timestamp, ErrorBody> {
    let chars = given.chars().count();
    if chars > MAX_CHARS {
        let error = BrokerError::TooLong { field, actual: chars, limit: MAX_CHARS, unit: "characters" };
        return Err(error_body(&error));
    }
    let text = given.trim();
    instant(text).or_else(|| age(text, now)).ok_or_else(|| {
        let problem = format!(
            "{given:?} is not a time; expected RFC 3339 (2026-11-16T09:00:00Z), a date (2026-11-16), or an age: a \
             number with s, m, h, d or w (90s, 24h, 7d)"
        );
        ErrorBody::invalid(field, &problem)
    })
}

fn instant(text: &str) -> Option<Timestamp> {
    let at = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        (text.len() == "2026-11-16".len()).then(|| midnight.timestamp())
    })?;
    Some(Timestamp(at.as_millisecond()))
}

fn age(text: &str, now: Timestamp) -> Option<Timestamp> {
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
    use super::parse;
    use domain::time::Timestamp;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn a_time_is_an_instant_a_date_or_an_age() {
        let at = |text| parse("since", text, NOW).unwrap().0;
        assert_eq!(at("1970-01-01T00:00:01Z"), 1_000);
        assert_eq!(at("1970-01-01T01:00:01+01:00"), 1_000);
        assert_eq!(at("1970-01-02"), 86_400_000);
        assert_eq!(at("90s"), NOW.0 - 90_000);
        assert_eq!(at(" 7d "), NOW.0 - 7 * 86_400_000);
        assert_eq!(at("0h"), NOW.0);
    }

    #[test]
    fn anything_else_is_refused_with_the_allowed_formats() {
        for text in ["yesterday", "", "d", "-1d", "1.5h", "7", "7ü", "2026-13-01", "2026-11-16T09:00:00", "\u{202e}"] {
            let refused = parse("until", text, NOW).unwrap_err();
            assert_eq!(refused.code.as_str(), "invalid_argument", "{text}");
            assert!(refused.error.contains("until") && refused.error.contains("7d"), "{}", refused.error);
            assert!(!refused.error.contains('\u{202e}'));
        }
        assert_eq!(parse("since", &"9".repeat(300), NOW).unwrap_err().code.as_str(), "too_long");
    }
}
