//! The topics of `certctl help`.

use crate::cli::{Verbs, man};

/// A part of the manual that is not about one verb.
#[derive(Debug)]
pub struct Topic {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its contents, in a few words.
    pub about: &'static str,
    /// The page of the manual that it is, or is a part of.
    file: &'static str,
    /// The sections; all of them when empty.
    sections: &'static [&'static str],
}

/// The topics, by name.
pub const TOPICS: &[Topic] = &[
    Topic { name: "exit-codes", about: "Exit codes", file: "certctl-exit-codes.7", sections: &[] },
    Topic {
        name: "failures",
        about: "How to be alerted when a renewal fails",
        file: "certctl-failures.7",
        sections: &[],
    },
    Topic {
        name: "files",
        about: "Files and folders that certctl reads and writes",
        file: "certctl.1",
        sections: &["FILES"],
    },
    Topic {
        name: "flags",
        about: "Global options, environment variables, config.toml",
        file: "certctl.1",
        sections: &["GLOBAL OPTIONS", "ENVIRONMENT", "CONFIGURATION"],
    },
    Topic {
        name: "hooks",
        about: "Programs that certctl runs: hooks and exec solvers",
        file: "certctl-hooks.7",
        sections: &[],
    },
    Topic {
        name: "manifests",
        about: "Fields and annotations of the manifests",
        file: "certctl.yaml.5",
        sections: &[],
    },
    Topic {
        name: "port-80",
        about: "How to issue when port 80 is in use",
        file: "certctl-port-80.7",
        sections: &[],
    },
    Topic {
        name: "renewal",
        about: "When a certificate is renewed, and how to test it",
        file: "certctl-renewal.7",
        sections: &[],
    },
];

impl Topic {
    /// The topic of this name, which may also be that of its page.
    pub fn find(word: &str) -> Option<&'static Self> {
        let is_page = |topic: &Self| {
            topic.sections.is_empty()
                && topic.file.rsplit_once('.').is_some_and(|(name, _)| name == word)
        };
        TOPICS.iter().find(|topic| topic.name == word || is_page(topic))
    }

    /// Its text, for man(1).
    pub fn source(&self, verbs: &Verbs) -> String {
        let pages = man::pages(verbs);
        let page = pages.iter().find(|page| page.file == self.file);
        let mut is_wanted = false;
        let mut text = String::new();
        for line in page.map_or("", |page| &page.text).lines() {
            if let Some(title) = line.strip_prefix(".SH ") {
                let title = title.trim_matches('"');
                let is_listed = self.sections.is_empty() || self.sections.contains(&title);
                is_wanted = is_listed && title != "NAME";
            }
            if is_wanted {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::{Arguments, VERBS};

    #[test]
    fn each_topic_has_its_sections_and_is_no_verb() {
        let tree = Arguments::command();
        for topic in TOPICS {
            assert!(tree.find_subcommand(topic.name).is_none(), "{}", topic.name);
            let source = topic.source(&VERBS);
            for section in topic.sections {
                let heading = [format!(".SH {section}\n"), format!(".SH \"{section}\"\n")];
                assert!(heading.iter().any(|line| source.contains(line)), "{section}: {source}");
            }
            assert!(source.lines().count() > 10, "{}: {source}", topic.name);
        }
    }

    #[test]
    fn every_page_that_is_not_about_a_verb_is_a_topic() {
        for page in man::pages(&VERBS).iter().filter(|page| !page.file.ends_with(".1")) {
            assert!(TOPICS.iter().any(|topic| topic.file == page.file), "{}", page.file);
        }
    }

    #[test]
    fn a_topic_is_found_by_its_name_and_by_that_of_its_page() {
        for (word, name) in [
            ("hooks", Some("hooks")),
            ("certctl-hooks", Some("hooks")),
            ("certctl.yaml", Some("manifests")),
            ("certctl", None),
            ("issue", None),
        ] {
            assert_eq!(Topic::find(word).map(|topic| topic.name), name, "{word}");
        }
    }
}
