//! Permissions that pages ask the browser for: the place, the clipboard, notifications.

use url::Url;

use super::Policy;
use crate::render::excerpt;

/// A permission of an origin, by its name in the Permissions API.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PagePermission {
    /// Name, such as `geolocation`, `notifications` or `clipboard-read`.
    pub name: String,
    /// Origin, such as `https://maps.test`.
    pub origin: String,
}

/// A permission that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` is not PERMISSION@ORIGIN, such as geolocation@https://maps.test")]
pub struct BadPermission {
    seen: String,
}

impl Policy {
    /// Grants a permission to an origin's pages, stated as `geolocation@https://maps.test`. A page that was not granted one
    /// is denied it, as in a browser without a person.
    ///
    /// # Errors
    /// [`BadPermission`]
    pub fn permitting(mut self, text: &str) -> Result<Self, BadPermission> {
        let bad = || BadPermission { seen: excerpt(text, 100) };
        let (name, origin) = text.split_once('@').ok_or_else(bad)?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let url = Url::parse(origin).ok().filter(|url| url.origin().is_tuple() && is_name).ok_or_else(bad)?;
        let permission = PagePermission { name: name.to_owned(), origin: url.origin().ascii_serialization() };
        if !self.permissions.contains(&permission) {
            self.permissions.push(permission);
        }
        Ok(self)
    }

    /// The permissions that pages are granted.
    #[must_use]
    pub fn permissions(&self) -> &[PagePermission] {
        &self.permissions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_names_what_and_where() {
        let policy = Policy::default().permitting("clipboard-read@https://shop.test/a").unwrap();
        let policy = policy.permitting("clipboard-read@https://shop.test").unwrap();
        let (name, origin) = ("clipboard-read".to_owned(), "https://shop.test".to_owned());
        assert_eq!(policy.permissions(), [PagePermission { name, origin }]);
        for bad in
            ["geolocation", "geolocation@", "@https://shop.test", "geo location@https://shop.test", "camera@data:x"]
        {
            assert!(Policy::default().permitting(bad).unwrap_err().to_string().contains(bad), "{bad}");
        }
    }
}
