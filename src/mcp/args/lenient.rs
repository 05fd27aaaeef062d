//! Reads what models send when they err harmlessly: a number or a boolean in quotes, an empty
//! string for nothing, one string where a list is meant, JSON inside a string.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Value, json};
use std::{fmt, marker::PhantomData};

/// Nothing, `null` and `""` all mean "left out".
pub(super) fn text<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(input)?.filter(|text| !text.is_empty()))
}

pub(super) fn whole<'de, D, N>(input: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    let read = |value: &Value| match value {
        Value::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let value = Value::deserialize(input)?;
    if value.is_null() {
        return Ok(None);
    }
    match read(&value).and_then(|number| N::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(unexpected(&value, "a whole number of 0 or more")),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole_float(number: f64) -> Option<u64> {
    let fits = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    fits.then_some(number as u64)
}

pub(super) fn decimal<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(input)?;
    let read = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.map(Some).ok_or_else(|| unexpected(&value, "a number"))
}

pub(super) fn flag<'de, D: Deserializer<'de>>(input: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag)),
        Value::String(text) if text == "true" => Ok(Some(true)),
        Value::String(text) if text == "false" => Ok(Some(false)),
        value @ (Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Err(unexpected(&value, "true or false"))
        }
    }
}

pub(super) fn list<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Vec<String>>, D::Error> {
    const EXPECTED: &str = "a list of strings";
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        Value::String(text) => {
            Ok(Some(serde_json::from_str(&text).unwrap_or_else(|_| vec![text])).filter(|list| !list.is_empty()))
        }
        Value::Array(items) if items.is_empty() => Ok(None),
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    Err(unexpected(&other, EXPECTED))
                }
            })
            .collect::<Result<_, _>>()
            .map(Some),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(unexpected(&value, EXPECTED)),
    }
}

/// A JSON object, or a string that holds one.
pub(super) fn object<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Value>, D::Error> {
    const EXPECTED: &str = "a JSON object, or a string that holds one";
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        value @ Value::Object(_) => Ok(Some(value)),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(value @ Value::Object(_)) => Ok(Some(value)),
            Ok(_) | Err(_) => Err(unexpected(&Value::String(text), EXPECTED)),
        },
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Err(unexpected(&value, EXPECTED)),
    }
}

/// The named fields of an object. Serde on its own would take a list for them, too.
pub(super) fn fields<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Fields<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }
    input.deserialize_any(Fields(PhantomData))
}

/// A list of objects; a string among them is one that has nothing but a title. The whole may be JSON inside a string.
pub(super) fn items<'de, D, T>(input: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    const EXPECTED: &str = "a list of objects";
    let list = match Value::deserialize(input)? {
        Value::Null => return Ok(None),
        Value::Array(items) => items,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            Ok(_) | Err(_) => return Err(unexpected(&Value::String(text), EXPECTED)),
        },
        value @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => return Err(unexpected(&value, EXPECTED)),
    };
    let read = |(n, item): (usize, Value)| {
        let item = match item {
            Value::String(title) => json!({ "title": title }),
            item @ Value::Object(_) => item,
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                return Err(unexpected(&other, EXPECTED));
            }
        };
        T::deserialize(item).map_err(|error| D::Error::custom(format_args!("item {n}: {error}")))
    };
    list.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn unexpected<E: Error>(value: &Value, expected: &str) -> E {
    let came = match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => format!("boolean {flag}"),
        Value::Number(number) => format!("number {number}"),
        Value::String(text) => format!("string {:?}", domain::text::truncate(text, 60)),
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(fields) => format!("an object with {} fields", fields.len()),
    };
    E::custom(format_args!("{came} came, expected {expected}"))
}
