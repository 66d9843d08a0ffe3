//! The answer to a challenge of no CA, given for the duration of a check as a run gives one.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use thiserror::Error;

use super::port::PortError;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::{Obstacle, Token};
use crate::solver::http01::{MadeUpTokenError, Webroot, WebrootError};
use crate::solver::listener::{Answers, FolderError, Hits, Listener, TokenFolder};
use crate::trust::Bounds;
use crate::workspace::Scratch;
use crate::workspace::run::RunError;

/// Why nothing could be found out.
#[derive(Debug, Error)]
pub enum ServedCheckError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Scratch(#[from] io::Error),
    #[error(transparent)]
    Tokens(#[from] FolderError),
    #[error("another run of certctl answers for this name")]
    Answered,
    #[error(transparent)]
    Token(#[from] MadeUpTokenError),
    #[error(transparent)]
    Webroot(#[from] WebrootError),
}

/// The listener of a run, with the test token.
pub(super) struct Served {
    pub(super) listener: Result<Listener, PortError>,
    _presented: Presented,
    _scratch: Scratch,
}

/// A token that is presented until this is dropped: another run at the port would wait for it, and a
/// web server would serve it.
pub(super) struct Presented {
    place: Place,
    token: Token,
    answer: String,
}

/// Where a token is presented.
enum Place {
    Folder(TokenFolder),
    Webroot(Webroot),
}

impl Presented {
    /// TLS-ALPN-01 has one answer for a name: that of a run is left to it.
    fn in_folder(
        folder: TokenFolder,
        token: &Token,
        answer: &str,
    ) -> Result<Self, ServedCheckError> {
        if folder.find(token).is_some() {
            return Err(ServedCheckError::Answered);
        }
        folder.put(token, answer)?;
        Ok(Self::at(Place::Folder(folder), token, answer))
    }

    pub(super) fn in_webroot(
        path: &Path,
        bounds: &Bounds,
        token: &Token,
        answer: &str,
    ) -> Result<Self, Obstacle> {
        let put = Webroot::open(path, bounds).and_then(|webroot| {
            webroot.put(token, answer)?;
            Ok(Self::at(Place::Webroot(webroot), token, answer))
        });
        put.map_err(|error| Webroot::obstacle(path, &error))
    }

    fn at(place: Place, token: &Token, answer: &str) -> Self {
        Self { place, token: token.clone(), answer: answer.to_owned() }
    }

    /// Idempotent.
    pub(super) fn withdraw(&self) -> Result<(), ServedCheckError> {
        match &self.place {
            Place::Folder(folder) => folder.remove(&self.token)?,
            Place::Webroot(webroot) => drop(webroot.remove(&self.token, &self.answer)?),
        }
        Ok(())
    }
}

impl Drop for Presented {
    fn drop(&mut self) {
        if let Err(error) = self.withdraw() {
            tracing::debug!(%error, "the token of a check is left behind");
        }
    }
}

impl Served {
    /// Answers for the token at these addresses until this is dropped.
    pub(super) fn start(
        listen: Result<Vec<SocketAddr>, PortError>,
        answers: impl FnOnce(&TokenFolder, &Hits) -> Answers,
        token: &Token,
        answer: &str,
    ) -> Result<Self, ServedCheckError> {
        let scratch = Scratch::new("check")?;
        let folder = TokenFolder::open_shared(&scratch.path().join("http01"))?;
        let presented = Presented::in_folder(folder.clone(), token, answer)?;
        let answers = answers(&folder, &Hits::new(|| SystemClock.now()));
        let listener =
            listen.and_then(|addresses| Ok(Listener::bind(&addresses, Vec::new(), answers)?));
        Ok(Self { listener, _presented: presented, _scratch: scratch })
    }

    /// Ends it: the addresses that were bound, or why that failed.
    pub(super) fn addresses(self) -> Result<Vec<SocketAddr>, PortError> {
        self.listener.map(|bound| bound.addresses().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::solver::http01::made_up_token;

    #[tokio::test]
    async fn no_other_run_sees_the_token_of_a_check_that_has_ended() {
        let root = tempfile::tempdir().unwrap();
        let shared = root.path().join("certctl/http01");
        let folder = TokenFolder::open_beside(&root.path().join("http01"), root.path()).unwrap();
        let (token, answer) = (made_up_token().unwrap(), "answer");
        let presented = Presented::in_folder(folder.clone(), &token, answer).unwrap();
        let hits = Hits::new(|| SystemClock.now());
        let any = [SocketAddr::from(([127, 0, 0, 1], 0))];
        let listener = Listener::bind(&any, Vec::new(), Answers::http(&folder, &hits)).unwrap();
        let [address] = *listener.addresses() else { panic!("one address") };
        let of_port = shared.join(format!(".{}", address.port()));
        assert_eq!(fs::read_dir(&of_port).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 2);
        drop(presented);
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    }

    /// A CA may be about to ask for it.
    #[test]
    fn the_answer_of_a_run_is_left_to_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name| TokenFolder::open_beside(&root.path().join(name), root.path()).unwrap();
        let (run, check) = (folder("run"), folder("check"));
        let token = Token::of_server_name("www.example.com");
        run.put(&token, "of the run").unwrap();
        let refused = Presented::in_folder(check.clone(), &token, "of the check");
        assert!(matches!(refused, Err(ServedCheckError::Answered)));
        let found = check.find(&token).unwrap();
        assert_eq!(found.key_authorization, "of the run");
        run.remove(&token).unwrap();
        assert!(Presented::in_folder(check, &token, "of the check").is_ok());
    }
}
