//! Azure's clouds: their token endpoints and their management APIs.

/// One cloud.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cloud {
    /// The token endpoint.
    pub(super) authority: &'static str,
    /// Azure Resource Manager.
    pub(super) management: &'static str,
    /// The audience of a token for Resource Manager.
    pub(super) audience: &'static str,
}

/// The cloud that `environment` names, in any case; empty is the public one.
pub(super) fn cloud(environment: &str) -> Option<&'static Cloud> {
    let named = |name: &str| environment.trim().eq_ignore_ascii_case(name);
    if environment.trim().is_empty() {
        return Some(&PUBLIC);
    }
    CLOUDS.iter().find(|(names, _)| names.iter().any(|name| named(name))).map(|(_, cloud)| cloud)
}

/// With the names that Microsoft's own tools know too.
const CLOUDS: [(&[&str], Cloud); 3] = [
    (&["AzurePublicCloud", "AzureCloud"], PUBLIC),
    (&["AzureChinaCloud"], CHINA),
    (&["AzureUSGovernmentCloud", "AzureUSGovernment"], GOVERNMENT),
];

const PUBLIC: Cloud = Cloud {
    authority: "https://login.microsoftonline.com",
    management: "https://management.azure.com",
    audience: "https://management.azure.com",
};

const CHINA: Cloud = Cloud {
    authority: "https://login.chinacloudapi.cn",
    management: "https://management.chinacloudapi.cn",
    audience: "https://management.core.chinacloudapi.cn",
};

const GOVERNMENT: Cloud = Cloud {
    authority: "https://login.microsoftonline.us",
    management: "https://management.usgovcloudapi.net",
    audience: "https://management.core.usgovcloudapi.net",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_environment_is_a_cloud() {
        let cases = [
            ("", Some(&PUBLIC)),
            ("AzurePublicCloud", Some(&PUBLIC)),
            ("AZURECHINACLOUD", Some(&CHINA)),
            ("AzureUSGovernmentCloud", Some(&GOVERNMENT)),
            ("AzureGermanCloud", None),
        ];
        for (name, expected) in cases {
            assert_eq!(cloud(name), expected, "{name}");
        }
    }
}
