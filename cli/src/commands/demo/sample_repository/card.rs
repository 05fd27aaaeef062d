//! Payment by card.

use std::fmt;

/// The number of a card: 12 to 19 digits with a valid last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardNumber(String);

impl CardNumber {
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let is_number = digits.len() >= 12 && digits.len() <= 19 && digits.bytes().all(|b| b.is_ascii_digit());
        (is_number && luhn(&digits)).then_some(Self(digits))
    }
}

/// Only the last four digits.
impl fmt::Display for CardNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "•••• {}", &self.0[self.0.len() - 4..])
    }
}

fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let value = u32::from(digit - b'0') << (at % 2);
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum % 10 == 0
}
