//! Live page to observation: candidates, context labels, identity, sketch, rendering.
