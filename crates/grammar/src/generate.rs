//! Strategies for property tests, as a trait. [`arbitrary`](crate::arbitrary) implements it for the types of the language.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy};

use crate::shared::Shared;

/// A type of which property tests make values.
pub trait Generate: Debug + Sized + 'static {
    /// Any value of the type. A recursive type goes through a `Vec` or a `Box`, which build the strategy of what they
    /// hold when it is needed.
    fn strategy() -> BoxedStrategy<Self>;
}

/// Any value of a type.
///
/// ```
/// use cuebook_grammar::{arbitrary, step::Step};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let step = arbitrary::any::<Step>().new_tree(&mut TestRunner::default()).unwrap().current();
/// assert!(serde_json::to_value(&step).unwrap().get("type").is_some());
/// ```
pub fn any<T: Generate>() -> BoxedStrategy<T> {
    T::strategy()
}

/// Structs by their fields, each of which may be anything, or what follows its `=`.
macro_rules! structs {
    (@values) => { proptest::strategy::Just(()) };
    (@values $field:ident = $own:expr, $($rest:tt)*) => { ($own, $crate::generate::structs!(@values $($rest)*)) };
    (@values $field:ident, $($rest:tt)*) => {
        ($crate::generate::any(), $crate::generate::structs!(@values $($rest)*))
    };
    (@names) => { () };
    (@names $field:ident $($rest:ident)*) => { ($field, $crate::generate::structs!(@names $($rest)*)) };
    ($( $name:ident { $( $field:ident $(= $own:expr)?, )* } )+) => { $(
        impl $crate::generate::Generate for $name {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy as _;
                let values = $crate::generate::structs!(@values $( $field $(= $own)?, )*);
                values.prop_map(|$crate::generate::structs!(@names $($field)*)| Self { $($field),* }).boxed()
            }
        }
    )+ };
}
pub(crate) use structs;

impl<T: Generate> Generate for Option<T> {
    fn strategy() -> BoxedStrategy<Self> {
        option::of(any()).boxed()
    }
}

impl<T: Generate> Generate for Box<T> {
    fn strategy() -> BoxedStrategy<Self> {
        Just(()).prop_flat_map(|()| any::<T>()).prop_map(Self::new).boxed()
    }
}

impl<T: Generate> Generate for Vec<T> {
    fn strategy() -> BoxedStrategy<Self> {
        (0_usize..3).prop_flat_map(|length| vec(any(), length)).boxed()
    }
}

impl<T: Generate + Clone> Generate for Shared<T> {
    fn strategy() -> BoxedStrategy<Self> {
        any::<Vec<T>>().prop_map(Self::from).boxed()
    }
}

impl<A: Generate, B: Generate> Generate for (A, B) {
    fn strategy() -> BoxedStrategy<Self> {
        (any(), any()).boxed()
    }
}

impl<K: Generate + Ord, V: Generate> Generate for BTreeMap<K, V> {
    fn strategy() -> BoxedStrategy<Self> {
        btree_map(any(), any(), 0..3).boxed()
    }
}
