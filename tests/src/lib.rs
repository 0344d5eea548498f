//! End-to-end, swap and conformance tests against real Chrome.
