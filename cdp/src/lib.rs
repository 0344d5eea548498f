//! The wire to Chrome: discovery, launch, sessions, typed commands, lossless bounded events.
