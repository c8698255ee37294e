//! Sections of the configuration: structs that know their keys, documentation and defaults.
//!
//! A crate declares its parameters once, with [`section!`](crate::section!); reading, writing, help texts
//! and error messages all come from that declaration.

use crate::value::{Scalar, nearest};

/// One key of a section.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key's name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What it accepts.
    pub expects: String,
}

/// Why a value was refused. The caller adds file, line and section.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyError {
    /// There is no such key; the nearest valid spelling, if any is near, and all keys.
    Unknown {
        /// The key that was probably meant.
        nearest: Option<&'static str>,
        /// Every key of the section.
        known: Vec<&'static str>,
    },
    /// The value is not of the key's kind.
    Value {
        /// What the key accepts.
        expects: String,
    },
}

impl KeyError {
    /// The error for a `key` that is not among `known`.
    pub fn unknown(key: &str, known: Vec<&'static str>) -> KeyError {
        KeyError::Unknown { nearest: nearest(key, known.iter().copied()), known }
    }
}

/// A group of parameters that belong to one part of the model.
pub trait Section {
    /// The section's name in configuration files.
    fn name(&self) -> &'static str;
    /// What the section describes.
    fn doc(&self) -> &'static str;
    /// Its keys, in order.
    fn keys(&self) -> Vec<Key>;
    /// Sets one key.
    fn set(&mut self, key: &str, value: &Scalar) -> Result<(), KeyError>;
    /// The value of one key, if there is such a key.
    fn get(&self, key: &str) -> Option<Scalar>;
}

/// Declares a parameter struct as a [`Section`]:
/// `pub struct Bus in "bus" { /// doc  t_command: Span = Span(0), }`.
#[macro_export]
macro_rules! section {
    ($(#[doc = $outer:literal])+ pub struct $name:ident in $section:literal {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr,)+
    }) => {
        $(#[doc = $outer])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $doc])+ pub $key: $type,)+ }

        impl Default for $name {
            fn default() -> Self { $name { $($key: $default,)+ } }
        }

        impl $crate::section::Section for $name {
            fn name(&self) -> &'static str { $section }
            fn doc(&self) -> &'static str { concat!($($outer),+).trim_ascii() }
            fn keys(&self) -> Vec<$crate::section::Key> {
                vec![$($crate::section::Key {
                    name: stringify!($key),
                    doc: concat!($($doc),+).trim_ascii(),
                    expects: <$type as $crate::value::Value>::expects(),
                },)+]
            }
            fn set(&mut self, key: &str, value: &$crate::value::Scalar) -> Result<(), $crate::section::KeyError> {
                match key {
                    $(stringify!($key) => {
                        self.$key = <$type as $crate::value::Value>::read(value).ok_or_else(|| {
                            $crate::section::KeyError::Value { expects: <$type as $crate::value::Value>::expects() }
                        })?;
                        Ok(())
                    })+
                    _ => Err($crate::section::KeyError::unknown(key, vec![$(stringify!($key)),+])),
                }
            }
            fn get(&self, key: &str) -> Option<$crate::value::Scalar> {
                match key {
                    $(stringify!($key) => Some($crate::value::Value::write(&self.$key)),)+
                    _ => None,
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Span;

    crate::choices! {
        /// Kinds.
        pub enum Kind {
            /// The first.
            One = "one",
            /// The second.
            Two = "two",
        }
    }

    crate::section! {
        /// A section for the test.
        pub struct Sample in "sample" {
            /// A time.
            t_read: Span = Span(40_000),
            /// A kind.
            kind: Kind = Kind::One,
        }
    }

    #[test]
    fn a_section_reads_and_writes_its_keys() {
        let mut sample = Sample::default();
        sample.set("t_read", &Scalar::Text("2us".into())).unwrap();
        sample.set("kind", &Scalar::Text("two".into())).unwrap();
        assert_eq!((sample.t_read, sample.kind), (Span(2_000), Kind::Two));
        assert_eq!(sample.get("t_read"), Some(Scalar::Text("2us".into())));
        assert_eq!(sample.doc(), "A section for the test.");
        assert_eq!(sample.keys()[0].doc, "A time.");
    }

    #[test]
    fn a_section_names_the_nearest_key_and_what_a_value_may_be() {
        let mut sample = Sample::default();
        let error = sample.set("t_raed", &Scalar::Int(1)).unwrap_err();
        assert_eq!(error, KeyError::Unknown { nearest: Some("t_read"), known: vec!["t_read", "kind"] });
        let error = sample.set("kind", &Scalar::Text("three".into())).unwrap_err();
        assert_eq!(error, KeyError::Value { expects: "one of \"one\", \"two\"".into() });
    }
}
