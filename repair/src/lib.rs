//! The controller: one budgeted sense, plan, check, act, verify loop over the seams, and the repair ladder.
