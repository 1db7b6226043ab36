//! Reads typed values out of a [`Node`]: the type asked for decides what a
//! scalar means.

use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::node::{Node, Value};

/// Why a value is wrong: what its key accepts.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Accepted {
    pub(super) text: String,
    /// Where it is: keys and numbers of items, the innermost first.
    pub(super) path: Vec<Part>,
}

/// A step from a value to one that is inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Key(String),
    Item(usize),
}

impl Accepted {
    fn only(text: String) -> Self {
        Self { text, path: Vec::new() }
    }

    fn inside(mut self, part: Part) -> Self {
        self.path.push(part);
        self
    }
}

impl serde::de::Error for Accepted {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::only(message.to_string())
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::only(expected.to_string())
    }

    fn invalid_value(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::only(expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
        Self::only(match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => "nothing".to_owned(),
        })
    }
}

/// A map as it is read; the value belongs to the key that was asked for last.
struct Entries<'de> {
    rest: std::slice::Iter<'de, (String, Node)>,
    value: Option<&'de (String, Node)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Accepted;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Accepted> {
        self.value = self.rest.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Accepted> {
        let Some((key, node)) = self.value else { return Err(Accepted::custom("a value without a key")) };
        seed.deserialize(node).map_err(|error| error.inside(Part::Key(key.clone())))
    }
}

struct Items<'de>(std::iter::Enumerate<std::slice::Iter<'de, Node>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Accepted;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Accepted> {
        let Some((at, node)) = self.0.next() else { return Ok(None) };
        seed.deserialize(node).map(Some).map_err(|error| error.inside(Part::Item(at)))
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Accepted;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Accepted> {
        match &self.value {
            _ if self.is_null() => visitor.visit_unit(),
            Value::Scalar { text, .. } => visitor.visit_borrowed_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Map(entries) => visitor.visit_map(Entries { rest: entries.iter(), value: None }),
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
