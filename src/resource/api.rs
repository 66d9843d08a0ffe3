//! The names of certctl's own in manifests and documents. They are no domain: the one that would
//! fit belongs to another product.

/// The prefix of the keys of local settings: `certctl/output-dir`.
pub const ANNOTATION_PREFIX: &str = "certctl/";

/// The annotation, after the prefix, that names the challenge type of `http01` solvers.
pub const SOLVER: &str = "solver";

/// The `apiVersion` of documents that cert-manager has none for.
pub const API_VERSION: &str = "certctl/v1";

/// The `groupName` of the webhook solvers that certctl brings.
pub const SOLVER_GROUP: &str = "certctl";
