//! A certificate for `trying.test` that nobody trusts, made for these tests.

/// Self-signed, until 2126; X.509 in base64.
pub(super) const CERTIFICATE: &str = "MIIBmzCCAUGgAwIBAgIUfgiBTlod5GxLAswJ8ID8MrxprHEwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLdHJ5aW5nLnRlc3QwIBcN\
    MjYxMTIyMTgwMTI0WhgPMjEyNjEwMjkxODAxMjRaMBYxFDASBgNVBAMMC3RyeWluZy50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D\
    AQcDQgAEmMaMUyLrZMXNzUPfEWR8mfdgXwPeb8+3jsVLTt3sJxvVj4/foZuHBym5+f57vpscoo6FaBXdVWNealYQ3QyxVqNrMGkw\
    HQYDVR0OBBYEFLF7vqpxOqZZCnyFIxWPa9NYe8PIMB8GA1UdIwQYMBaAFLF7vqpxOqZZCnyFIxWPa9NYe8PIMA8GA1UdEwEB/wQF\
    MAMBAf8wFgYDVR0RBA8wDYILdHJ5aW5nLnRlc3QwCgYIKoZIzj0EAwIDSAAwRQIgRyK00hZ7JH4eiDC/Q911jQzmHShIs3rqB1yj\
    Yy4vUxECIQDmHz81eOc/nadTBf62iOadGl1LXkJg9w1m2hx6Xkc+fA==";

/// Its key, PKCS #8 in base64. It protects nothing.
pub(super) const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCI42FnemwCDxik02BFwoN6UyaqQTir0UWF/z24dQUX6hRANCAASY\
    xoxTIutkxc3NQ98RZHyZ92BfA95vz7eOxUtO3ewnG9WPj9+hm4cHKbn5/nu+mxyijoVoFd1VY15qVhDdDLFW";
