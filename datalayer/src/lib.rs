//! Step log, artifacts, run reader, judge.
