//! The XML of Amazon's services: documents of a few hundred elements, attributes ignored. A
//! document type is refused, and with it every entity but the five predefined ones.

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::Event;

/// An element, its text, and the elements in it. Names are without a prefix.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Element {
    pub(in super::super) name: String,
    /// Its own text, without surrounding white space.
    pub(in super::super) text: String,
    /// What is in it.
    pub(in super::super) children: Vec<Element>,
}

impl Element {
    /// The root of a document. The error contains nothing of the document.
    pub(in super::super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "this is not XML in UTF-8")?;
        let mut reader = Reader::from_str(text);
        // The document itself is at the bottom; elements that are open lie above it.
        let mut open = vec![Self::default()];
        loop {
            let at = reader.buffer_position();
            let broken = |what: &str| format!("this is not XML: {what} at byte {at}");
            let event = reader.read_event().map_err(|_| broken("a mistake"))?;
            let text = match event {
                Event::Start(start) => {
                    if open.len() > DEEPEST {
                        return Err(broken("too many elements in each other"));
                    }
                    let name = start.local_name().into_inner().to_owned();
                    open.push(Self { name, ..Self::default() });
                    continue;
                }
                Event::Empty(empty) => {
                    let name = empty.local_name().into_inner().to_owned();
                    let parent = open.last_mut().ok_or_else(|| broken("a mistake"))?;
                    parent.children.push(Self { name, ..Self::default() });
                    continue;
                }
                Event::End(_) => {
                    let mut done = open.pop().ok_or_else(|| broken("a mistake"))?;
                    let text = done.text.trim().to_owned();
                    done.text = text;
                    let parent = open.last_mut().ok_or_else(|| broken("a mistake"))?;
                    parent.children.push(done);
                    continue;
                }
                Event::Text(text) => text.xml10_content().into_owned(),
                Event::CData(text) => text.xml10_content().into_owned(),
                Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                    Ok(Some(c)) => c.to_string(),
                    Ok(None) => match &*reference.xml10_content() {
                        "amp" => "&".to_owned(),
                        "lt" => "<".to_owned(),
                        "gt" => ">".to_owned(),
                        "quot" => "\"".to_owned(),
                        "apos" => "'".to_owned(),
                        _ => return Err(broken("an unknown entity")),
                    },
                    Err(_) => return Err(broken("a bad reference")),
                },
                Event::DocType(_) => return Err(broken("a document type")),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => continue,
                Event::Eof => break,
            };
            let element = open.last_mut().ok_or_else(|| broken("a mistake"))?;
            element.text.push_str(&text);
        }
        let (Some(document), true) = (open.pop(), open.is_empty()) else {
            return Err("this is not XML: it ends too early".to_owned());
        };
        let mut roots = document.children.into_iter();
        match (roots.next(), roots.next()) {
            (Some(root), None) if document.text.trim().is_empty() => Ok(root),
            _ => Err("this is not an XML document".to_owned()),
        }
    }

    /// The first element of this name in it.
    pub(in super::super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text at the end of a path of names; empty when there is none.
    pub(in super::super) fn text_at(&self, path: &[&str]) -> &str {
        let end = path.iter().try_fold(self, |element, name| element.child(name));
        end.map_or("", |element| element.text.as_str())
    }
}

/// Escapes a text for an element.
pub(in super::super) fn escaped(text: &str) -> String {
    escape(text).into_owned()
}

const DEEPEST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_tree_of_texts() {
        let document = "<?xml version=\"1.0\"?>\n<!-- c --><a xmlns=\"urn:x\">\n <p:b>1 &lt; 2 &#38; \
                        &quot;<![CDATA[<x>]]></p:b>\n <b/>\n <c><d> deep </d></c></a>\n";
        let a = Element::read(document.as_bytes()).unwrap();
        assert_eq!(a.name, "a");
        assert_eq!(a.text_at(&["b"]), "1 < 2 & \"<x>");
        assert_eq!(a.text_at(&["c", "d"]), "deep");
        assert_eq!((a.text_at(&["c", "e"]), a.children.len()), ("", 3));
        let again = Element::read(format!("<a>{}</a>", escaped("\"<&>'\"")).as_bytes()).unwrap();
        assert_eq!(again.text, "\"<&>'\"");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        let deep = "<a>".repeat(40);
        let cases = [
            ("", "this is not an XML document"),
            ("CANARY", "this is not an XML document"),
            ("{\"a\":1}", "this is not an XML document"),
            ("<a/><b/>", "this is not an XML document"),
            ("<a><b></b>", "this is not XML: it ends too early"),
            ("<a></b>", "this is not XML: a mistake at byte 3"),
            ("<!DOCTYPE a [<!ENTITY x \"y\">]><a/>", "this is not XML: a document type at byte 0"),
            ("<a>&x;</a>", "this is not XML: an unknown entity at byte 3"),
            (deep.as_str(), "this is not XML: too many elements in each other at byte 96"),
        ];
        for (document, expected) in cases {
            assert_eq!(Element::read(document.as_bytes()).unwrap_err(), expected, "{document}");
        }
        assert_eq!(Element::read(&[0xff]).unwrap_err(), "this is not XML in UTF-8");
    }
}
