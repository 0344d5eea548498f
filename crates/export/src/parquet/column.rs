//! Values of Rust as columns of Arrow.
//!
//! Types are those that DuckDB, polars, pyarrow and `datasets` read alike: text, 64-bit integers and floats, booleans,
//! times in microseconds UTC, lists and structs; vectors are lists of fixed size. No maps, no dictionaries, no durations.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, ListArray, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use cuebook_datalayer::embedding::DIMENSIONS;

/// A type whose values make a column.
pub(super) trait Column: Sized {
    /// `true` if a value may be absent.
    const IS_NULLABLE: bool = false;

    fn data_type() -> DataType;

    /// The values as an array; `None` is null.
    fn array(values: &[Option<&Self>]) -> ArrayRef;

    fn field(name: &str) -> Field {
        Field::new(name, Self::data_type(), Self::IS_NULLABLE)
    }
}

/// A vector, written as a list of fixed size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vector(pub(super) [f32; DIMENSIONS]);

/// Milliseconds since 1970, written as a timestamp in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) u64);

/// Types that have an array of their own.
macro_rules! plain {
    ($($type:ty => $data:expr, $array:ty, |$value:ident| $convert:expr;)+) => { $(
        impl Column for $type {
            fn data_type() -> DataType { $data }

            fn array(values: &[Option<&Self>]) -> ArrayRef {
                Arc::new(<$array>::from_iter(values.iter().map(|value| value.map(|$value| $convert))))
            }
        }
    )+ };
}

plain! {
    String => DataType::Utf8, StringArray, |value| value.as_str();
    &'static str => DataType::Utf8, StringArray, |value| *value;
    bool => DataType::Boolean, BooleanArray, |value| *value;
    i64 => DataType::Int64, Int64Array, |value| *value;
    f64 => DataType::Float64, Float64Array, |value| *value;
}

impl Column for Vector {
    fn data_type() -> DataType {
        let size = i32::try_from(DIMENSIONS).unwrap_or(i32::MAX);
        DataType::FixedSizeList(Arc::new(Field::new("element", DataType::Float32, false)), size)
    }

    fn array(values: &[Option<&Self>]) -> ArrayRef {
        let DataType::FixedSizeList(element, size) = Self::data_type() else { unreachable!("it is a list") };
        // An absent one takes its place, too.
        let numbers = values.iter().flat_map(|value| value.map_or([0.0; DIMENSIONS], |vector| vector.0));
        let numbers = Arc::new(Float32Array::from_iter_values(numbers));
        Arc::new(FixedSizeListArray::new(element, size, numbers, nulls(values)))
    }
}

impl Column for Time {
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
    }

    fn array(values: &[Option<&Self>]) -> ArrayRef {
        let micros = |time: &Self| i64::try_from(time.0).unwrap_or(i64::MAX).saturating_mul(1_000);
        let values = TimestampMicrosecondArray::from_iter(values.iter().map(|value| value.map(micros)));
        Arc::new(values.with_timezone("UTC"))
    }
}

impl<T: Column> Column for Option<T> {
    const IS_NULLABLE: bool = true;

    fn data_type() -> DataType {
        T::data_type()
    }

    fn array(values: &[Option<&Self>]) -> ArrayRef {
        T::array(&values.iter().map(|value| value.and_then(Option::as_ref)).collect::<Vec<_>>())
    }
}

impl<T: Column> Column for Vec<T> {
    fn data_type() -> DataType {
        DataType::List(Arc::new(T::field("element")))
    }

    fn array(values: &[Option<&Self>]) -> ArrayRef {
        let lengths = values.iter().map(|value| value.map_or(0, Vec::len));
        let items: Vec<Option<&T>> =
            values.iter().flat_map(|value| value.iter().copied().flatten().map(Some)).collect();
        let offsets = OffsetBuffer::from_lengths(lengths);
        Arc::new(ListArray::new(Arc::new(T::field("element")), offsets, T::array(&items), nulls(values)))
    }
}

/// Which values are absent.
pub(super) fn nulls<T>(values: &[Option<&T>]) -> Option<NullBuffer> {
    let present = values.iter().map(Option::is_some).collect::<NullBuffer>();
    (present.null_count() > 0).then_some(present)
}

/// A struct array of these columns.
pub(super) fn structure(fields: Fields, columns: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(StructArray::new(fields, columns, nulls))
}

/// Declares structs of this visibility whose members are columns, in this order. Its user imports `Column`, `nulls` and `structure`.
macro_rules! rows {
    ($vis:vis, $( $(#[$doc:meta])* $name:ident { $( $(#[$field_doc:meta])* $field:ident: $type:ty, )+ } )+) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $( $(#[$field_doc])* $vis $field: $type, )+ }

        impl Column for $name {
            fn data_type() -> arrow_schema::DataType {
                arrow_schema::DataType::Struct(
                    [$( <$type as Column>::field(stringify!($field)) ),+].into_iter().collect(),
                )
            }

            fn array(values: &[Option<&Self>]) -> arrow_array::ArrayRef {
                let arrow_schema::DataType::Struct(fields) = Self::data_type() else { unreachable!("it is a struct") };
                let columns = vec![$(
                    <$type as Column>::array(
                        &values.iter().map(|value| value.map(|row| &row.$field)).collect::<Vec<_>>(),
                    )
                ),+];
                structure(fields, columns, nulls(values))
            }
        }
    )+ };
}
pub(super) use rows;

#[cfg(test)]
mod tests {
    use arrow_array::{Array as _, RecordBatch};

    use super::*;

    rows! { pub(super),
        Inner { word: String, count: Option<i64>, }
        Outer { at: Time, inner: Option<Inner>, list: Vec<Inner>, share: f64, is: bool, tag: &'static str, }
    }

    #[test]
    fn values_are_in_their_places_and_nulls_are_null() {
        let inner = |word: &str, count| Inner { word: word.to_owned(), count };
        let rows = [
            Outer { at: Time(1), inner: None, list: vec![], share: 0.5, is: true, tag: "a" },
            Outer {
                at: Time(2),
                inner: Some(inner("x", None)),
                list: vec![inner("y", Some(1)), inner("z", None)],
                share: 1.0,
                is: false,
                tag: "b",
            },
        ];
        let array = Outer::array(&rows.iter().map(Some).collect::<Vec<_>>());
        let batch = RecordBatch::from(array.as_any().downcast_ref::<StructArray>().unwrap());
        assert_eq!(batch.num_rows(), 2);
        let inner = batch.column_by_name("inner").unwrap();
        assert!(inner.is_null(0) && inner.is_valid(1));
        let list = batch.column_by_name("list").unwrap().as_any().downcast_ref::<ListArray>().unwrap();
        assert_eq!((list.value_length(0), list.value_length(1)), (0, 2));
        assert_eq!(list.values().as_any().downcast_ref::<StructArray>().unwrap().column(1).null_count(), 1);
    }
}
