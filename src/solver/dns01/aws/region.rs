//! Regions and their hosts.

/// A region's name, valid as part of a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Region(String);

impl Region {
    /// From a setting; None when it is not a region's name.
    pub(in super::super) fn new(name: &str) -> Option<Self> {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = !name.is_empty() && name.len() <= 32 && name.chars().all(is_part);
        is_name.then(|| Self(name.to_owned()))
    }

    /// As in the setting.
    pub(in super::super) fn name(&self) -> &str {
        &self.0
    }

    /// The base URL of Route 53, and the region that requests to it are signed for: it is one
    /// service for all regions of a partition.
    pub(in super::super) fn route53(&self) -> (&'static str, &'static str) {
        if self.0.starts_with("cn-") {
            ("https://route53.amazonaws.com.cn", "cn-northwest-1")
        } else if self.0.starts_with("us-gov-") {
            ("https://route53.us-gov.amazonaws.com", "us-gov-west-1")
        } else {
            ("https://route53.amazonaws.com", "us-east-1")
        }
    }

    /// The base URL of the region's Security Token Service.
    pub(in super::super) fn sts(&self) -> String {
        let end = if self.0.starts_with("cn-") { ".cn" } else { "" };
        format!("https://sts.{}.amazonaws.com{end}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_region_has_its_hosts() {
        let (east, gov) = (("https://route53.amazonaws.com", "us-east-1"), "us-gov-west-1");
        let cases = [
            ("us-east-1", east, "https://sts.us-east-1.amazonaws.com"),
            ("eu-west-3", east, "https://sts.eu-west-3.amazonaws.com"),
            (
                "cn-north-1",
                ("https://route53.amazonaws.com.cn", "cn-northwest-1"),
                "https://sts.cn-north-1.amazonaws.com.cn",
            ),
            (
                "us-gov-east-1",
                ("https://route53.us-gov.amazonaws.com", gov),
                "https://sts.us-gov-east-1.amazonaws.com",
            ),
        ];
        for (name, route53, sts) in cases {
            let region = Region::new(name).unwrap();
            assert_eq!((region.route53(), region.sts().as_str()), (route53, sts));
        }
        for name in ["", "EU", "a.b", "a/b", "evil.test/#"] {
            assert_eq!(Region::new(name), None);
        }
    }
}
