//! The typed action grammar: values, their pure semantics, their schemas, policy, and the seam traits.
