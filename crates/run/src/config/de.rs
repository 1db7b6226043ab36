//! Reads typed values out of a [`Node`]: the type asked for decides what a
//! scalar means.

use serde::Deserializer;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Node, Value};

/// Why a value is wrong: what its key accepts.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Accepted(String);

impl serde::de::Error for Accepted {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self(expected.to_string())
    }

    fn invalid_value(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self(expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
        Self(match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => "nothing".to_owned(),
        })
    }
}

impl<'de> IntoDeserializer<'de, Accepted> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Accepted;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Accepted> {
        match &self.value {
            _ if self.is_null() => visitor.visit_unit(),
            Value::Scalar { text, .. } => visitor.visit_borrowed_str(text),
            Value::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Value::Map(entries) => visitor
                .visit_map(MapDeserializer::new(entries.iter().map(|(key, node)| (key.as_str(), node)))),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Accepted> {
        match &self.value {
            Value::Scalar { text, .. } if text == "true" => visitor.visit_bool(true),
            Value::Scalar { text, .. } if text == "false" => visitor.visit_bool(false),
            _ => Err(Accepted::custom("`true` or `false`")),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Accepted> {
        let number = match &self.value {
            Value::Scalar { text, .. } => text.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => visitor.visit_u32(number),
            None => Err(Accepted::custom("a whole number")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Accepted> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Accepted> {
        match &self.value {
            Value::Scalar { text, .. } => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => Err(Accepted::unknown_variant("", variants)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Accepted> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
