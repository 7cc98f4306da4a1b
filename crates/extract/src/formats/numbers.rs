//! Numbers of spreadsheets as people see them: dates, times and percentages instead of what is stored.

/// What a cell's number format makes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NumberFormat {
    #[default]
    General,
    Date,
    Time,
    DateTime,
    /// With so many decimals.
    Percent(u8),
}

impl NumberFormat {
    /// By the number of a built-in format, or by the code of one that the book defines.
    pub(super) fn of(id: u32, code: Option<&str>) -> NumberFormat {
        if let Some(code) = code {
            return NumberFormat::of_code(code);
        }
        match id {
            9 => NumberFormat::Percent(0),
            10 => NumberFormat::Percent(2),
            14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => NumberFormat::Date,
            18..=21 | 32..=35 | 45..=47 | 55 | 56 => NumberFormat::Time,
            22 => NumberFormat::DateTime,
            _ => NumberFormat::General,
        }
    }

    fn of_code(code: &str) -> NumberFormat {
        let mut plain = String::new();
        let mut characters = code.chars();
        // Only the first of up to four sections counts: the one for positive numbers.
        while let Some(character) = characters.next() {
            match character {
                ';' => break,
                '"' => drop(characters.by_ref().find(|c| *c == '"')),
                '\\' | '_' | '*' => drop(characters.next()),
                '[' => {
                    let inside: String = characters.by_ref().take_while(|c| *c != ']').collect();
                    // `[h]` counts hours beyond a day; the rest are colours, conditions and currencies.
                    let lower = inside.to_ascii_lowercase();
                    if !lower.is_empty() && lower.bytes().all(|letter| matches!(letter, b'h' | b'm' | b's')) {
                        plain.push_str(&lower);
                    }
                }
                other => plain.extend(other.to_lowercase()),
            }
        }
        if plain.contains("general") {
            return NumberFormat::General;
        }
        if plain.contains('%') {
            let decimals = plain.split_once('.').map_or(0, |(_, rest)| {
                rest.chars().take_while(|digit| matches!(digit, '0' | '#' | '?')).count()
            });
            return NumberFormat::Percent(decimals.min(10) as u8);
        }
        let days = plain.contains(['y', 'd']) || (plain.contains('m') && !plain.contains(['h', 's']));
        let hours = plain.contains(['h', 's']);
        match (days, hours) {
            (true, true) => NumberFormat::DateTime,
            (true, false) => NumberFormat::Date,
            (false, true) => NumberFormat::Time,
            (false, false) => NumberFormat::General,
        }
    }
}

/// A number as text.
pub(super) fn show(number: f64, format: NumberFormat, since_1904: bool) -> String {
    let in_calendar = (0.0..2_958_466.0).contains(&number);
    match format {
        NumberFormat::Percent(decimals) if number.abs() < 1e12 => {
            format!("{:.*}%", usize::from(decimals), number * 100.0)
        }
        NumberFormat::Date if in_calendar => date(number, since_1904),
        NumberFormat::Time if in_calendar => time(number),
        NumberFormat::DateTime if in_calendar => {
            format!("{} {}", date(number, since_1904), time(number.fract()))
        }
        _ => general(number),
    }
}

fn general(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs();
    if !size.is_finite() || !(1e-6..1e15).contains(&size) {
        return format!("{number}");
    }
    // Fifteen digits are what a spreadsheet holds: 0.1 + 0.2 is 0.3 in it.
    let whole = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(15 - whole).unwrap_or(0);
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `2024-03-01` for the day number that Excel counts from 1900, whose February it gives 29 days.
fn date(number: f64, since_1904: bool) -> String {
    let serial = number.floor() as i64;
    let since_1970 = if since_1904 {
        serial - 24_107
    } else if serial < 60 {
        serial - 25_568
    } else {
        serial - 25_569
    };
    let (year, month, day) = civil(since_1970);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(number: f64) -> String {
    let seconds = (number * 86_400.0).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if seconds == 0 {
        format!("{hours:02}:{minutes:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{seconds:02}")
    }
}

/// Year, month and day of a day number since 1970, by Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{NumberFormat, show};

    #[test]
    fn formats() {
        for (code, format) in [
            ("yyyy-mm-dd", NumberFormat::Date),
            ("[$-409]d\\ mmm;@", NumberFormat::Date),
            ("h:mm AM/PM", NumberFormat::Time),
            ("[h]:mm:ss", NumberFormat::Time),
            ("m/d/yy h:mm", NumberFormat::DateTime),
            ("0.00%", NumberFormat::Percent(2)),
            ("#,##0.00 \"days\"", NumberFormat::General),
            ("[Red]0.0", NumberFormat::General),
            ("General", NumberFormat::General),
        ] {
            assert_eq!(NumberFormat::of(164, Some(code)), format, "{code}");
        }
        assert_eq!(NumberFormat::of(14, None), NumberFormat::Date);
    }

    #[test]
    fn numbers() {
        for (number, format, shown) in [
            (0.1 + 0.2, NumberFormat::General, "0.3"),
            (1200.0, NumberFormat::General, "1200"),
            (-0.5, NumberFormat::General, "-0.5"),
            (0.0, NumberFormat::General, "0"),
            (1e-9, NumberFormat::General, "0.000000001"),
            (123_456.789, NumberFormat::General, "123456.789"),
            (0.001_234_5, NumberFormat::General, "0.0012345"),
            (999_999_999_999_999.0, NumberFormat::General, "999999999999999"),
            (45_352.0, NumberFormat::Date, "2024-03-01"),
            (1.0, NumberFormat::Date, "1900-01-01"),
            (61.0, NumberFormat::Date, "1900-03-01"),
            (45_352.75, NumberFormat::DateTime, "2024-03-01 18:00"),
            (0.5, NumberFormat::Time, "12:00"),
            (0.1534, NumberFormat::Percent(1), "15.3%"),
            (-5.0, NumberFormat::Date, "-5"),
            (f64::NAN, NumberFormat::Date, "NaN"),
            (f64::INFINITY, NumberFormat::Percent(2), "inf"),
        ] {
            assert_eq!(show(number, format, false), shown);
        }
        assert_eq!(show(0.0, NumberFormat::Date, true), "1904-01-01");
    }
}
