//! Renders durations, ages and local times as text for people.

use jiff::{Timestamp, tz::TimeZone};

pub(crate) fn duration(ms: u64) -> String {
    match ms {
        ..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m {}s", ms / 60_000, ms / 1_000 % 60),
        3_600_000..86_400_000 => format!("{}h {}m", ms / 3_600_000, ms / 60_000 % 60),
        _ => format!("{}d {}h", ms / 86_400_000, ms / 3_600_000 % 24),
    }
}

/// A timestamp in local time.
pub(crate) fn format_local(at: impl Into<Timestamp>) -> String {
    at.into().to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A timestamp in local time without the year, for lists.
pub(crate) fn format_local_short(at: impl Into<Timestamp>) -> String {
    at.into().to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S").to_string()
}

/// The time since a timestamp in one unit: `14m`.
pub(crate) fn format_age(at: impl Into<Timestamp>) -> String {
    let seconds = Timestamp::now().duration_since(at.into()).as_secs().max(0);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, format_age};

    #[test]
    fn durations_are_short() {
        let spans = [999, 59_999, 61_500, 3_660_000, 90_000_000].map(duration);
        assert_eq!(spans, ["999ms", "59s", "1m 1s", "1h 1m", "1d 1h"]);
    }

    #[test]
    fn an_age_has_one_unit_and_is_never_negative() {
        let ago = |seconds: i64| format_age(jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds));
        assert_eq!([ago(-60), ago(7_300), ago(200_000)], ["0s", "2h", "2d"]);
    }
}
