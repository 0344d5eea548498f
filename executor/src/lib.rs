//! Step to outcome: resolve, check, arm, act, await, gather evidence.
